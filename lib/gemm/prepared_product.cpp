// SPDX-License-Identifier: Apache-2.0
//
// Steps on a stack of tiles; which kernel does them is the table's.
#include "lib/gemm/prepared_product.h"

#include <algorithm>
#include <mutex>

namespace binade {
namespace {

constexpr auto group_rows = static_cast<std::size_t>(tile_rows);
constexpr auto group_columns = static_cast<std::size_t>(tile_columns);

std::size_t up_to_step(std::size_t n, std::size_t step) { return (n + step - 1) / step * step; }

/// The format of a finished sum: every step leaves its own on top.
Format final_format(const SumProgram& program, const GemmModel& g) {
  const SumStep& last = program.steps.back();
  return last.kind == StepKind::products ? g.types.d : last.format;
}

std::size_t depth_of(const SumProgram& program) {
  std::size_t depth = 0, most = 0;
  for (const SumStep& step : program.steps) {
    if (step.kind == StepKind::push_zero || step.kind == StepKind::push_c) ++depth;
    if (step.kind == StepKind::add) --depth;
    most = std::max(most, depth);
  }
  return most;
}

DecodedLines decoded_lines(const OperandReading& reading, const Format& f, const Format& as,
                           std::span<const std::uint64_t> codes, std::size_t k) {
  const std::size_t lines = k == 0 ? 0 : codes.size() / k;
  const std::size_t line_bytes = k * reading.packing.operand_bytes;
  DecodedLines out{std::vector<std::byte>(lines * line_bytes), std::vector<std::uint8_t>(lines)};
  parallel_for(lines, 16, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      std::byte* to = out.operands.data() + i * line_bytes;
      out.usable[i] =
          reading.kernel->decode(reading.packing, f, as, codes.data() + i * k, k, to) ? 1 : 0;
    }
  });
  return out;
}

}  // namespace

OperandReading reading_of(const GemmModel& model, const Kernels& kernels) {
  const DotTypes& types = model.types;
  for (const ProductKernel* kernel : {kernels.dot_blocks, kernels.chains, kernels.integers}) {
    const Packing packing = kernel->packing(model);
    if (packing.known) return {kernel, packing, types.a, types.b};
  }
  return {kernels.dots, kernels.dots->packing(model), types.a, types.b};
}

DecodedOperands decoded(const OperandReading& reading, std::span<const std::uint64_t> a,
                        std::span<const std::uint64_t> b, std::size_t k) {
  return {decoded_lines(reading, reading.a, reading.packing.a, a, k),
          decoded_lines(reading, reading.b, reading.packing.b, b, k)};
}

PreparedProduct::PreparedProduct(const GemmModel& model, const ProductShape& shape,
                                 const Kernels& kernels)
    : shape_(shape), kernels_(&kernels), reading_(reading_of(model, kernels)) {
  walk_sum(model, static_cast<int>(shape.k), program_);
  depth_ = depth_of(program_);
  epilogue_ = epilogue_plan(model, final_format(program_, model), shape.has_c, shape.has_bias,
                            shape.scale_log2);
  const auto k = static_cast<std::size_t>(model.k);
  std::vector<std::size_t> place(k);
  for (std::size_t i = 0; i < k; ++i) {
    place[i] = static_cast<std::size_t>(reading_.kernel->place(model, static_cast<int>(i)));
  }
  places_.resize(program_.order.size());
  for (std::size_t first = 0; first < places_.size(); first += k) {
    for (std::size_t i = 0; i < k; ++i) places_[first + i] = program_.order[first + place[i]];
  }
}

void PreparedProduct::pack(const std::byte* operands, std::size_t number, std::size_t lines,
                           bool is_column, std::byte* group) const {
  reading_.kernel->pack(
      {operands, places_.data(), places_.size(), &reading_.packing, is_column, number, lines},
      group);
}

PreparedProduct::PackedGroups PreparedProduct::packed(const std::vector<std::uint64_t>& codes,
                                                      std::size_t lines, std::size_t k,
                                                      bool are_columns) const {
  const Packing& p = reading_.packing;
  const std::size_t height = are_columns ? group_columns : group_rows;
  const std::size_t step = are_columns ? p.column_step : p.row_step;
  const std::size_t groups = (lines + height - 1) / height;
  const std::size_t line_bytes = places_.size() * (are_columns ? p.column_bytes : p.row_bytes);
  PackedGroups out{{}, up_to_step(std::min(lines, height), step) * line_bytes, {}};
  out.bytes.resize(groups * out.group_bytes);
  out.unusable.resize(groups);
  std::vector<std::vector<std::byte>> space(thread_count());
  const Format& f = are_columns ? reading_.b : reading_.a;
  const Format& as = are_columns ? p.b : p.a;
  parallel_for(groups, 1, [&](std::size_t begin, std::size_t end, std::size_t slot) {
    space[slot].resize(k * p.operand_bytes);
    for (std::size_t at = begin; at < end; ++at) {
      const std::size_t here = std::min(height, lines - at * height);
      for (std::size_t i = 0; i < here; ++i) {
        const std::uint64_t* line = codes.data() + (at * height + i) * k;
        const bool usable = reading_.kernel->decode(p, f, as, line, k, space[slot].data());
        if (!usable) out.unusable[at] |= std::uint32_t{1} << i;
        pack(space[slot].data(), i, up_to_step(here, step), are_columns,
             out.bytes.data() + at * out.group_bytes);
      }
    }
  });
  return out;
}

void PreparedProduct::convert(TileSums& sums, const ProductTile& tile, const Format& from,
                              const Format& to) const {
  if (from == to) return;
  for (std::size_t i = 0; i < static_cast<std::size_t>(tile.row_count); ++i) {
    for (std::size_t j = 0; j < static_cast<std::size_t>(tile.column_count); ++j) {
      sums[i][j] = binade::convert(sums[i][j], from, to, detail::to_nearest).bits;
    }
  }
}

void PreparedProduct::run(const ProductTile& tile, const TileTerms& terms, TileSums* stack,
                          TileMask& left) const {
  const auto rows = static_cast<std::size_t>(tile.row_count);
  const auto columns = static_cast<std::size_t>(tile.column_count);
  const GemmModel& g = epilogue_.model;
  const DotTypes& types = g.types;
  std::array<Format, 48> held;
  std::size_t depth = 0;
  for (const SumStep& step : program_.steps) {
    switch (step.kind) {
      case StepKind::push_zero:
        for (std::size_t i = 0; i < rows; ++i) {
          std::fill_n(stack[depth][i].data(), columns, zero_bits(step.format, false));
        }
        held[depth++] = step.format;
        break;
      case StepKind::push_c:
        for (std::size_t i = 0; i < rows; ++i) {
          std::uint64_t* to = stack[depth][i].data();
          if (terms.c != nullptr) {
            std::copy_n(terms.c + i * terms.c_stride, columns, to);
          } else {
            std::fill_n(to, columns, zero_bits(g.c, false));
          }
        }
        convert(stack[depth], tile, g.c, step.format);
        held[depth++] = step.format;
        break;
      case StepKind::add:
        --depth;
        for (std::size_t i = 0; i < rows; ++i) {
          kernels_->add_sums({stack[depth - 1][i].data(), columns, held[depth - 1]},
                             {stack[depth][i].data(), columns, held[depth]}, step.format);
        }
        held[depth - 1] = step.format;
        break;
      case StepKind::convert:
        convert(stack[depth - 1], tile, held[depth - 1], step.format);
        held[depth - 1] = step.format;
        break;
      case StepKind::products: {
        const bool at_once = types.c == types.d;
        const int turns = at_once ? 1 : step.instructions;
        ProductTile some = tile;
        some.first = step.first;
        some.instructions = at_once ? step.instructions : 1;
        for (int turn = 0; turn < turns; ++turn) {
          convert(stack[depth - 1], tile, held[depth - 1], types.c);
          reading_.kernel->run(g, some, stack[depth - 1], left);
          held[depth - 1] = types.d;
          some.first += static_cast<std::size_t>(g.k);
        }
        break;
      }
    }
  }
  for (std::size_t i = 0; i < rows; ++i) {
    const std::uint64_t* c = terms.c == nullptr ? nullptr : terms.c + i * terms.c_stride;
    kernels_->epilogue({&epilogue_, c, terms.bias, columns}, stack[0][i].data());
  }
}

std::uint64_t PreparedProduct::defined(const GemmElement<std::uint64_t>& x) const {
  const EpilogueRow row{&epilogue_, x.has_c ? &x.c : nullptr, x.has_bias ? &x.bias : nullptr, 1};
  return epilogue_of(row, 0, element_sum(epilogue_.model, x).bits);
}

PreparedProduct::Space PreparedProduct::space() const {
  const Packing& p = reading_.packing;
  return {std::make_unique_for_overwrite<TileSums[]>(depth_),
          std::vector<std::byte>(places_.size() * p.row_bytes * p.row_step),
          std::vector<std::byte>(places_.size() * p.column_bytes * p.column_step)};
}

std::uint64_t PreparedProduct::element(const DecodedOperands& operands, std::size_t i,
                                       std::size_t j, const GemmElement<std::uint64_t>& x,
                                       Space& space) const {
  const bool is_empty = shape_.k == 0;
  if (!is_empty && (operands.a.usable[i] == 0 || operands.b.usable[j] == 0)) return defined(x);
  const Packing& p = reading_.packing;
  const std::size_t line_bytes = shape_.k * p.operand_bytes;
  pack(operands.a.operands.data() + i * line_bytes, 0, p.row_step, false, space.row.data());
  pack(operands.b.operands.data() + j * line_bytes, 0, p.column_step, true, space.column.data());
  TileMask left{};
  run({space.row.data(), space.column.data(), places_.size(), 0, 0, 1, 1},
      {x.has_c ? &x.c : nullptr, 0, x.has_bias ? &x.bias : nullptr}, space.stack.get(), left);
  return left[0] != 0 ? defined(x) : space.stack[0][0][0];
}

std::vector<std::uint64_t> PreparedProduct::all(const GemmOperands& x,
                                                const GemmProgress& progress) const {
  std::vector<std::uint64_t> d(x.m * x.n);
  const PackedGroups rows = packed(x.a, x.m, x.k, false);
  const PackedGroups columns = packed(x.b, x.n, x.k, true);
  const std::size_t down = rows.unusable.size();
  std::vector<std::unique_ptr<TileSums[]>> stacks(thread_count());
  std::mutex telling;
  std::size_t done = 0;
  const auto tile = [&](std::size_t at, std::size_t slot) {
    const std::size_t group = at % down, panel = at / down;
    const std::size_t i = group * group_rows, j = panel * group_columns;
    const std::size_t height = std::min(group_rows, x.m - i);
    const std::size_t width = std::min(group_columns, x.n - j);
    if (!stacks[slot]) stacks[slot] = std::make_unique_for_overwrite<TileSums[]>(depth_);
    TileSums* stack = stacks[slot].get();
    TileMask left{};
    for (std::size_t row = 0; row < height; ++row) {
      left[row] =
          (rows.unusable[group] >> row & 1) != 0 ? ~std::uint32_t{0} : columns.unusable[panel];
    }
    run({rows.bytes.data() + group * rows.group_bytes,
         columns.bytes.data() + panel * columns.group_bytes, places_.size(), 0, 0,
         static_cast<int>(height), static_cast<int>(width)},
        {x.c.empty() ? nullptr : x.c.data() + i * x.n + j, x.n,
         x.bias.empty() ? nullptr : x.bias.data() + j},
        stack, left);
    for (std::size_t row = 0; row < height; ++row) {
      std::copy_n(stack[0][row].data(), width, d.data() + (i + row) * x.n + j);
      for (std::size_t column = 0; column < width; ++column) {
        if ((left[row] >> column & 1) == 0) continue;
        d[(i + row) * x.n + j + column] = defined(x.element(i + row, j + column));
      }
    }
    return height * width;
  };
  constexpr std::size_t products_at_once = std::size_t{1} << 18;
  const std::size_t grain =
      std::clamp<std::size_t>(products_at_once / (group_rows * group_columns * (x.k + 1)), 1, 32);
  parallel_for(down * columns.unusable.size(), grain,
               [&](std::size_t begin, std::size_t end, std::size_t slot) {
                 std::size_t elements = 0;
                 for (std::size_t at = begin; at < end; ++at) elements += tile(at, slot);
                 if (!progress) return;
                 const std::lock_guard lock(telling);
                 done += elements;
                 progress(done / x.n);
               });
  return d;
}

}  // namespace binade

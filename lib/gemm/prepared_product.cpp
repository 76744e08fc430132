// SPDX-License-Identifier: Apache-2.0
//
// Computes tiles of D from packed groups of lines. Either the steps of the sum run on a stack of
// encodings, with the kernel's instructions, or the kernel does all steps in floats. The table of
// kernels decides which (emulate/fast/kernels.h).
#include "lib/gemm/prepared_product.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>

#include "lib/gemm/code_words.h"
#include "lib/gemm/special_terms.h"

namespace binade {
namespace {

/// Writes a line of numbers, which lie on the grid of f, as encodings.
void words_of_line(const ValueLines& lines, std::size_t line, const Format& f, std::uint64_t* out) {
  std::vector<float> values(lines.offsets.size());
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = lines.at(line, k);
  words_of_floats(fastest_kernels(), values.data(), values.size(), {f}, out);
}
std::vector<std::uint64_t> words(const ValueLines& lines, const Format& f) {
  const std::size_t k = lines.offsets.size();
  std::vector<std::uint64_t> out(lines.starts.size() * k);
  parallel_for(lines.starts.size(), 16, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) words_of_line(lines, i, f, out.data() + i * k);
  });
  return out;
}

/// Writes n elements of D, of which `index` is the first one's number, rounded to its format if
/// they are to become encodings.
void deliver(const Kernels& kernels, const Quantizer& to, const float* d, std::size_t n,
             std::uint64_t index, std::uint64_t* out) {
  words_of_floats(kernels, d, n, to, out, index);
}
void deliver(const Kernels&, const Quantizer&, const float* d, std::size_t n, std::uint64_t,
             float* out) {
  std::copy_n(d, n, out);
}
/// Writes one element of D from its encoding.
void deliver(std::uint64_t code, std::uint64_t& out) { out = code; }
void deliver(std::uint64_t code, float& out) {
  out = std::bit_cast<float>(static_cast<std::uint32_t>(code));
}

/// Returns the NaN of a finished sum: a chain's is quiet, that of every other operation is
/// NVIDIA's. No walk ends in a conversion.
std::uint64_t nan_of(const SumProgram& program, const GemmModel& g) {
  const bool is_quiet = program.steps.back().kind == StepKind::products && is_chain(g.model) &&
                        !g.model.c_last && !g.model.through_f32;
  return nan_bits(final_format(program, g), is_quiet ? NanResult::quiet : NanResult::nvidia);
}

}  // namespace

void run_products(const OperandReading& reading, const GemmModel& g, const ProductTile& x,
                  TileSums& sums, TileMask& left) {
  if (!reading.packing.in_values) return reading.kernel->run(g, x, sums, left);
  const Kernels& kernels = fastest_kernels();
  const auto rows = static_cast<std::size_t>(x.row_count);
  const auto columns = static_cast<std::size_t>(x.column_count);
  TileValues c, values;
  floats_of_words(kernels, sums[0].data(), rows * group_columns, g.types.c, c.rows[0].data());
  std::ranges::fill(c.rows[0].data() + rows * group_columns,
                    c.rows[0].data() + group_rows * group_columns, 0.0F);
  const std::array<SumStep, 2> steps{
      {{StepKind::push_c, g.types.c, {}, 0, 0}, {StepKind::products, {}, {}, 0, x.instructions}}};
  reading.kernel->sum(g, steps, x, c, &values);
  TileSums results;
  words_of_floats(kernels, values.rows[0].data(), rows * group_columns, {g.types.d},
                  results[0].data());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const std::uint32_t bit = std::uint32_t{1} << j;
      if (std::isnan(values.rows[i][j])) left[i] |= bit;
      if ((left[i] & bit) == 0) sums[i][j] = results[i][j];
    }
  }
}

void ProductDetours::add(const ProductDetours& other) {
  vectors.wide += other.vectors.wide;
  vectors.alone += other.vectors.alone;
  settled += other.settled;
  defined += other.defined;
}

PreparedProduct::PreparedProduct(const GemmModel& model, const ProductShape& shape,
                                 const Kernels& kernels)
    : shape_(shape),
      kernels_(&kernels),
      reading_(reading_of(model, shape.k == 0 ? binade::kernels(Level::reference) : kernels)) {
  // Of a model whose tiles differ, `product` prepares one of each.
  walk_sum(model, static_cast<int>(shape.k), {}, program_);
  depth_ = program_.depth();
  nan_ = nan_of(program_, model);
  output_ = output_quantizer(model.epilogue);
  epilogue_ = epilogue_plan(model, final_format(program_, model), shape.has_c, shape.has_bias,
                            shape.scale_log2, shape.scaled);
  const auto k = static_cast<std::size_t>(model.k);
  std::vector<std::size_t> place(k);
  for (std::size_t i = 0; i < k; ++i) {
    place[i] = static_cast<std::size_t>(reading_.kernel->place(model, static_cast<int>(i)));
  }
  places_.resize(program_.order.size());
  for (std::size_t first = 0; first < places_.size(); first += k) {
    for (std::size_t i = 0; i < k; ++i) places_[first + i] = program_.order[first + place[i]];
  }
  const auto run = static_cast<std::size_t>(scale_run(model));
  if (run == 0) return;
  run_count_ = (shape.k + run - 1) / run;
  if (!is_scaled(model.model)) {
    runs_.resize(run_count_);
    std::iota(runs_.begin(), runs_.end(), 0);
    return;
  }
  for (std::size_t first = 0; first < places_.size(); first += run) {
    const auto some = std::span(places_).subspan(first, run);
    const auto at = std::ranges::find_if(some, [](std::int32_t x) { return x >= 0; });
    runs_.push_back(at == some.end() ? -1 : *at / static_cast<std::int32_t>(run));
  }
}

/// Returns the scales of lines, run_count_ each, in groups of `height` lines: [group][run][line];
/// nothing for null, which are all 1.
std::vector<std::uint32_t> PreparedProduct::grouped_scales(const std::uint32_t* scales,
                                                           std::size_t lines,
                                                           std::size_t height) const {
  if (scales == nullptr) return {};
  const DotModel& model = epilogue_.model.model;
  const auto taken = [&](std::uint32_t scale) {
    return is_scaled(model) ? detail::scale_code(scale, model.scaling.format) : scale;
  };
  const std::uint32_t one = taken(std::bit_cast<std::uint32_t>(1.0F));
  const std::size_t n = runs_.size();
  std::vector<std::uint32_t> out((lines + height - 1) / height * n * height, one);
  for (std::size_t line = 0; line < lines; ++line) {
    std::uint32_t* const to = out.data() + line / height * n * height + line % height;
    for (std::size_t at = 0; at < n; ++at) {
      if (runs_[at] < 0) continue;
      to[at * height] = taken(scales[line * run_count_ + static_cast<std::size_t>(runs_[at])]);
    }
  }
  return out;
}

/// The matrices of a product, or of a box of D; c, bias and scales are null if there is none.
/// `place` is that of the first element, and rows of C and of D lie place.columns apart.
struct PreparedProduct::Matrices {
  OperandLines a, b;
  const std::uint64_t *c = nullptr, *bias = nullptr;
  const std::uint64_t *a_scale = nullptr, *b_scale = nullptr;
  ElementPlace place{0, 0, a.count, b.count};
  /// Scales of runs of K, `runs` for each line.
  const std::uint32_t *a_runs = nullptr, *b_runs = nullptr;
  std::size_t runs = 0;

  /// Returns those of a box of this many rows and columns, whose first element is (i, j).
  Matrices box(std::size_t i, std::size_t j, std::size_t rows, std::size_t columns) const {
    const auto behind = [](const auto* x, std::size_t at) { return x == nullptr ? x : x + at; };
    return {a.some(i, rows),
            b.some(j, columns),
            behind(c, i * place.columns + j),
            behind(bias, j),
            behind(a_scale, i),
            behind(b_scale, j),
            at(i, j),
            behind(a_runs, i * runs),
            behind(b_runs, j * runs),
            runs};
  }
  ElementPlace at(std::size_t i, std::size_t j) const {
    return {place.row + i, place.column + j, place.rows, place.columns};
  }

  GemmElement<std::uint64_t> element(std::size_t i, std::size_t j) const {
    return {.k = static_cast<int>(a.k),
            .c = c == nullptr ? 0 : c[i * place.columns + j],
            .bias = bias == nullptr ? 0 : bias[j],
            .has_c = c != nullptr,
            .has_bias = bias != nullptr,
            .a_scale = a_scale == nullptr ? 0 : a_scale[i],
            .b_scale = b_scale == nullptr ? 0 : b_scale[j],
            .has_a_scale = a_scale != nullptr,
            .has_b_scale = b_scale != nullptr,
            .place = at(i, j),
            .a_runs = a_runs == nullptr ? nullptr : a_runs + i * runs,
            .b_runs = b_runs == nullptr ? nullptr : b_runs + j * runs};
  }
};

/// A tile of D with its part of C, whose rows lie c_stride apart, of the bias and of the scales;
/// null if there is none. `place` is that of its first element.
struct PreparedProduct::Tile {
  ProductTile products;
  ElementPlace place{};
  const std::uint64_t* c = nullptr;
  std::size_t c_stride = 0;
  const std::uint64_t* bias = nullptr;
  const TileSpecials* specials = nullptr;
  const std::uint64_t *a_scale = nullptr, *b_scale = nullptr;

  std::size_t rows() const { return static_cast<std::size_t>(products.row_count); }
  std::size_t columns() const { return static_cast<std::size_t>(products.column_count); }
  const std::uint64_t* c_row(std::size_t i) const { return c == nullptr ? c : c + i * c_stride; }
  std::uint64_t index(std::size_t i) const { return place.index() + i * place.columns; }
  /// Turns the sums of row i into D.
  void finish(const Kernels& kernels, const EpiloguePlan& plan, std::size_t i,
              std::uint64_t* sums) const {
    std::array<std::uint64_t, group_columns> of_row;
    if (a_scale != nullptr) of_row.fill(a_scale[i]);
    kernels.epilogue({&plan, c_row(i), bias, columns(),
                      a_scale == nullptr ? a_scale : of_row.data(), b_scale, index(i)},
                     sums);
  }
};

void PreparedProduct::convert(TileSums& sums, const ProductTile& tile, const Format& from,
                              const Format& to) const {
  if (from == to) return;
  for (std::size_t i = 0; i < static_cast<std::size_t>(tile.row_count); ++i) {
    for (std::size_t j = 0; j < static_cast<std::size_t>(tile.column_count); ++j) {
      sums[i][j] = binade::convert(sums[i][j], from, to, detail::to_nearest).bits;
    }
  }
}

/// Adds to sums of `of_left` those of `of_right` times the scales of the step's run of K.
void PreparedProduct::add_scaled(const SumStep& step, const ProductTile& tile, TileSums& left,
                                 const TileSums& right, const Format& of_left,
                                 const Format& of_right) const {
  const auto columns = static_cast<std::size_t>(tile.column_count);
  const std::uint32_t *const a = tile.scales.rows, *const b = tile.scales.columns;
  std::array<std::uint32_t, group_columns> of_row;
  for (std::size_t i = 0; i < static_cast<std::size_t>(tile.row_count); ++i) {
    if (a != nullptr) of_row.fill(a[step.first * group_rows + i]);
    const RowScales scales{epilogue_.model.sum.scaling, a == nullptr ? a : of_row.data(),
                           b == nullptr ? b : b + step.first * group_columns};
    kernels_->add_scaled_sums({left[i].data(), columns, of_left},
                              {right[i].data(), columns, of_right}, scales, step.format);
  }
}

void PreparedProduct::run_encodings(const Tile& tile, TileSums* stack, TileMask& left) const {
  const std::size_t rows = tile.rows(), columns = tile.columns();
  const GemmModel& g = epilogue_.model;
  const DotTypes& types = g.types;
  std::array<Format, most_accumulators> held;
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
          if (tile.c != nullptr) {
            std::copy_n(tile.c_row(i), columns, to);
          } else {
            std::fill_n(to, columns, zero_bits(g.c, false));
          }
        }
        convert(stack[depth], tile.products, g.c, step.format);
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
      case StepKind::add_scaled:
        --depth;
        add_scaled(step, tile.products, stack[depth - 1], stack[depth], held[depth - 1],
                   held[depth]);
        held[depth - 1] = step.format;
        break;
      case StepKind::convert:
        convert(stack[depth - 1], tile.products, held[depth - 1], step.format);
        held[depth - 1] = step.format;
        break;
      case StepKind::products: {
        const bool at_once = types.c == types.d;
        const int turns = at_once ? 1 : step.instructions;
        ProductTile some = tile.products;
        some.first = step.first;
        some.instructions = at_once ? step.instructions : 1;
        for (int turn = 0; turn < turns; ++turn) {
          convert(stack[depth - 1], tile.products, held[depth - 1], types.c);
          reading_.kernel->run(g, some, stack[depth - 1], left);
          held[depth - 1] = types.d;
          some.first += static_cast<std::size_t>(g.k);
        }
        break;
      }
    }
  }
  for (std::size_t i = 0; i < rows; ++i) {
    tile.finish(*kernels_, epilogue_, i, stack[0][i].data());
  }
}

template <class Out>
void PreparedProduct::run_values(const Tile& tile, Space& space, TileMask& left, Out* d,
                                 std::size_t stride) const {
  const GemmModel& g = epilogue_.model;
  TileValues& c = space.values[depth_];
  if (g.sum.c_first && tile.c != nullptr) {
    for (std::size_t i = 0; i < tile.rows(); ++i) {
      floats_of_words(*kernels_, tile.c_row(i), tile.columns(), g.c, c.rows[i].data());
    }
  }
  reading_.kernel->sum(g, program_.steps, tile.products, c, space.values.get());
  TileValues& sums = space.values[0];
  if (tile.specials != nullptr) tile.specials->apply(sums, left);
  for (std::size_t i = 0; i < tile.rows(); ++i) {
    finish_values(tile, i, sums.rows[i].data(), d + i * stride);
  }
}

template <class Out>
void PreparedProduct::finish_values(const Tile& tile, std::size_t row, const float* sums,
                                    Out* d) const {
  const std::size_t n = tile.columns();
  const EpiloguePlan& plan = epilogue_;
  const GemmModel& g = plan.model;
  const std::uint64_t* const c_row = tile.c_row(row);
  std::array<float, group_columns> c, bias, out;
  if (plan.is_float) {
    if (plan.with_c) floats_of_words(*kernels_, c_row, n, g.c, c.data());
    if (plan.has_bias) floats_of_words(*kernels_, tile.bias, n, g.bias, bias.data());
    kernels_->epilogue_f32({&plan, sums, c.data(), bias.data(), n}, out.data());
  } else {
    std::copy_n(sums, n, out.data());
  }
  if ((plan.is_float || plan.is_nothing) && !any_special(out.data(), n)) {
    return deliver(*kernels_, output_, out.data(), n, tile.index(row), d);
  }
  std::array<std::uint64_t, group_columns> codes;
  words_of_floats(*kernels_, sums, n, {plan.sum}, codes.data());
  for (std::size_t i = 0; i < n; ++i) codes[i] = std::isnan(sums[i]) ? nan_ : codes[i];
  tile.finish(*kernels_, plan, row, codes.data());
  for (std::size_t i = 0; i < n; ++i) deliver(codes[i], d[i]);
}

template <class Out>
void PreparedProduct::run(const Tile& tile, Space& space, TileMask& left, Out* d,
                          std::size_t stride) const {
  if (reading_.packing.in_values) return run_values(tile, space, left, d, stride);
  run_encodings(tile, space.sums.get(), left);
  for (std::size_t i = 0; i < tile.rows(); ++i) {
    for (std::size_t j = 0; j < tile.columns(); ++j) {
      deliver(space.sums[0][i][j], d[i * stride + j]);
    }
  }
}

std::uint64_t PreparedProduct::defined(const GemmElement<std::uint64_t>& x) const {
  const EpilogueRow row{&epilogue_,
                        x.has_c ? &x.c : nullptr,
                        x.has_bias ? &x.bias : nullptr,
                        1,
                        x.has_a_scale ? &x.a_scale : nullptr,
                        x.has_b_scale ? &x.b_scale : nullptr,
                        x.place.index()};
  return epilogue_of(row, 0, element_sum(epilogue_.model, x).bits);
}

std::uint64_t PreparedProduct::defined(const Matrices& x, std::size_t i, std::size_t j) const {
  GemmElement<std::uint64_t> element = x.element(i, j);
  const std::size_t k = shape_.k;
  if (!x.a.are_values()) {
    element.a = x.a.codes + i * k;
    element.b = x.b.codes + j * k;
    return defined(element);
  }
  std::vector<std::uint64_t> a(k), b(k);
  words_of_line(x.a.values, i, reading_.a, a.data());
  words_of_line(x.b.values, j, reading_.b, b.data());
  element.a = a.data();
  element.b = b.data();
  return defined(element);
}

PreparedProduct::Space PreparedProduct::space() const {
  const Packing& p = reading_.packing;
  return {p.in_values ? nullptr : std::make_unique_for_overwrite<TileSums[]>(depth_),
          // The last accumulator holds C.
          p.in_values ? std::make_unique<TileValues[]>(depth_ + 1) : nullptr,
          std::vector<std::byte>(places_.size() * p.row_bytes * p.row_step),
          std::vector<std::byte>(places_.size() * p.column_bytes * p.column_step),
          {}};
}

std::uint64_t PreparedProduct::element(const DecodedOperands& operands, std::size_t i,
                                       std::size_t j, const GemmElement<std::uint64_t>& x,
                                       Space& space) const {
  const bool is_empty = shape_.k == 0;
  const bool is_usable = is_empty || (operands.a.usable[i] != 0 && operands.b.usable[j] != 0);
  if (!is_usable || is_streamed(epilogue_.model)) return defined(x);
  const Packing& p = reading_.packing;
  const std::size_t line_bytes = shape_.k * p.operand_bytes;
  const auto pack = [&](const DecodedLines& lines, std::size_t line, bool are_columns,
                        std::byte* group) {
    reading_.kernel->pack({.operands = lines.operands.data() + line * line_bytes,
                           .count = 1,
                           .lines = are_columns ? p.column_step : p.row_step,
                           .places = places_.data(),
                           .length = places_.size(),
                           .packing = &p,
                           .are_columns = are_columns},
                          group);
  };
  pack(operands.a, i, false, space.row.data());
  pack(operands.b, j, true, space.column.data());
  TileMask left{};
  std::uint64_t d = 0;
  const std::vector<std::uint32_t> a_runs = grouped_scales(x.a_runs, 1, group_rows);
  const std::vector<std::uint32_t> b_runs = grouped_scales(x.b_runs, 1, group_columns);
  ProductTile tile{space.row.data(), space.column.data(), places_.size(), 0, 0, 1, 1};
  tile.scales = {a_runs.empty() ? nullptr : a_runs.data(),
                 b_runs.empty() ? nullptr : b_runs.data()};
  run({.products = tile,
       .place = x.place,
       .c = x.has_c ? &x.c : nullptr,
       .bias = x.has_bias ? &x.bias : nullptr,
       .a_scale = x.has_a_scale ? &x.a_scale : nullptr,
       .b_scale = x.has_b_scale ? &x.b_scale : nullptr},
      space, left, &d, 1);
  return left[0] != 0 ? defined(x) : d;
}

template <class Out>
void PreparedProduct::product(const Matrices& x, Out* d, const Done& done,
                              ProductDetours* detours) const {
  const GemmModel& g = epilogue_.model;
  if (!is_streamed(g)) return box(x, d, done, detours);
  const StreamK& stream = g.sum.splits[0].stream;
  const auto down = static_cast<std::size_t>(stream.tile_m);
  const auto across = static_cast<std::size_t>(stream.tile_n);
  const std::size_t m = x.a.count, n = x.b.count;
  const auto model_at = [&](std::size_t i, std::size_t j) {
    return model_of_tile(g, static_cast<int>(shape_.k), x.at(i, j));
  };
  std::optional<PreparedProduct> here;
  for (std::size_t i = 0; i < m; i += down) {
    for (std::size_t j = 0, end = 0; j < n; j = end) {
      const GemmModel model = model_at(i, j);
      for (end = j + across; end < n && model_at(i, end) == model;) end += across;
      end = std::min(end, n);
      if (!here || here->epilogue_.model != model) here.emplace(model, shape_, *kernels_);
      here->box(x.box(i, j, std::min(down, m - i), end - j), d + i * n + j, done, detours);
    }
  }
}

template <class Out>
void PreparedProduct::box(const Matrices& x, Out* d, const Done& done,
                          ProductDetours* detours) const {
  const std::size_t m = x.a.count, n = x.b.count, k = shape_.k, stride = x.place.columns;
  const PackedGroups rows = packed_groups(reading_, places_, x.a, false);
  const PackedGroups columns = packed_groups(reading_, places_, x.b, true);
  const std::size_t down = rows.unusable.size();
  std::vector<std::optional<Space>> spaces(thread_count());
  std::mutex reporting;
  // With sparse operands an infinity or a NaN of b may meet an a that is left out, and then is in
  // no product.
  // Of sums that are multiplied by scales, they give what the scales make of them.
  const bool drops = reading_.packing.specials == SpecialOperands::dropped &&
                     reading_.packing.sparse_group == 0 && run_count_ == 0;
  const std::vector<std::uint32_t> row_scales = grouped_scales(x.a_runs, m, group_rows);
  const std::vector<std::uint32_t> column_scales = grouped_scales(x.b_runs, n, group_columns);
  const auto scales_of = [this](const std::vector<std::uint32_t>& scales, std::size_t number,
                                std::size_t height) {
    return scales.empty() ? nullptr : scales.data() + number * height * runs_.size();
  };
  const auto tile = [&](std::size_t at, std::size_t slot) {
    const std::size_t group = at % down, panel = at / down;
    const std::size_t i = group * group_rows, j = panel * group_columns;
    Tile some{{rows.bytes.get() + group * rows.group_bytes,
               columns.bytes.get() + panel * columns.group_bytes, places_.size(), 0, 0,
               static_cast<int>(std::min(group_rows, m - i)),
               static_cast<int>(std::min(group_columns, n - j))},
              x.at(i, j),
              x.c == nullptr ? nullptr : x.c + i * stride + j,
              stride,
              x.bias == nullptr ? nullptr : x.bias + j,
              nullptr,
              x.a_scale == nullptr ? nullptr : x.a_scale + i,
              x.b_scale == nullptr ? nullptr : x.b_scale + j};
    if (!spaces[slot]) spaces[slot] = space();
    ProductDetours& here = spaces[slot]->detours;
    some.products.detours = &here.vectors;
    some.products.of_rows = rows.range;
    some.products.of_columns = columns.range;
    some.products.scales = {scales_of(row_scales, group, group_rows),
                            scales_of(column_scales, panel, group_columns)};
    TileMask left{};
    const bool any_unusable = (rows.unusable[group] | columns.unusable[panel]) != 0;
    TileSpecials specials;
    if (any_unusable && drops) {
      specials = tile_specials(reading_, {x.a, rows, group}, {x.b, columns, panel});
      some.specials = &specials;
    } else if (any_unusable) {
      for (std::size_t row = 0; row < some.rows(); ++row) {
        left[row] =
            (rows.unusable[group] >> row & 1) != 0 ? ~std::uint32_t{0} : columns.unusable[panel];
      }
    }
    run(some, *spaces[slot], left, d + i * stride + j, stride);
    for (std::size_t row = 0; row < some.rows(); ++row) {
      here.settled += k * static_cast<std::size_t>(std::popcount(specials.any(row) & ~left[row]));
      for (std::size_t column = 0; column < some.columns() && left[row] != 0; ++column) {
        if ((left[row] >> column & 1) == 0) continue;
        deliver(defined(x, i + row, j + column), d[(i + row) * stride + j + column]);
        here.defined += k;
      }
    }
    return some.rows() * some.columns();
  };
  constexpr std::size_t products_at_once = std::size_t{1} << 18;
  const std::size_t grain =
      std::clamp<std::size_t>(products_at_once / (group_rows * group_columns * (k + 1)), 1, 32);
  parallel_for(down * columns.unusable.size(), grain,
               [&](std::size_t begin, std::size_t end, std::size_t slot) {
                 std::size_t elements = 0;
                 for (std::size_t at = begin; at < end; ++at) elements += tile(at, slot);
                 if (!done) return;
                 const std::lock_guard lock(reporting);
                 done(elements);
               });
  if (detours != nullptr) {
    for (const std::optional<Space>& one : spaces) {
      if (one) detours->add(one->detours);
    }
  }
}

std::vector<std::uint64_t> PreparedProduct::all(const GemmOperands& x, const GemmProgress& progress,
                                                ProductDetours* detours) const {
  std::vector<std::uint64_t> d(x.m * x.n);
  std::size_t elements = 0;
  const auto report = [&](std::size_t more) {
    elements += more;
    progress(elements / x.n);
  };
  const std::size_t runs = x.runs.count(x.k);
  for (const GroupedRows& rows : grouped_rows(x.groups, x.m)) {
    const std::size_t i = rows.first, j = rows.group * x.n;
    const auto from = [](const auto& all, std::size_t at) {
      return all.empty() ? nullptr : all.data() + at;
    };
    product({.a = {.codes = x.a.data() + i * x.k, .count = rows.count, .k = x.k},
             .b = {.codes = x.b.data() + j * x.k, .count = x.n, .k = x.k},
             .c = from(x.c, i * x.n),
             .bias = from(x.bias, j),
             .a_scale = from(x.a_scale, i),
             .b_scale = from(x.b_scale, j),
             .place = {i, 0, x.m, x.n},
             .a_runs = from(x.runs.a, i * runs),
             .b_runs = from(x.runs.b, j * runs),
             .runs = runs},
            d.data() + i * x.n, progress ? Done(report) : Done(), detours);
  }
  return d;
}

void PreparedProduct::all(const GemmValues& x, float* d) const {
  if (x.a.starts.empty() || x.b.starts.empty()) return;
  std::vector<std::uint64_t> bias(x.bias.size());
  std::ranges::transform(x.bias, bias.begin(), [](float one) { return bits_of(one); });
  Matrices matrices{.a = {.values = x.a, .count = x.a.starts.size(), .k = shape_.k},
                    .b = {.values = x.b, .count = x.b.starts.size(), .k = shape_.k},
                    .bias = bias.empty() ? nullptr : bias.data()};
  if (reading_.packing.in_values) return product(matrices, d);
  const std::vector<std::uint64_t> a = words(x.a, reading_.a), b = words(x.b, reading_.b);
  matrices.a = {.codes = a.data(), .count = matrices.a.count, .k = shape_.k};
  matrices.b = {.codes = b.data(), .count = matrices.b.count, .k = shape_.k};
  product(matrices, d);
}

}  // namespace binade

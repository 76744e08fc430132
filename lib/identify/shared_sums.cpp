// SPDX-License-Identifier: Apache-2.0
//
// Builds the graph, in which a node is found again by what it is made of, and computes it in a loop
// over the nodes.
#include "lib/identify/shared_sums.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace binade {
namespace {

/// Most operands that are packed at a time.
constexpr std::size_t most_packed = std::size_t{1} << 20;

/// Returns whether a model adds c, rounded to nearest, to a chain in binary32 that begins at +0.
bool is_chain_before_c(const DotModel& x) {
  return x.recipe == Recipe::fma_chain && x.c_last && x.through_f32;
}

}  // namespace

std::optional<GemmModel> model_of_steps(const GemmModel& g) {
  const bool pairs = g.model.recipe == Recipe::pairwise;
  if (!pairs && !is_chain_before_c(g.model)) return std::nullopt;
  GemmModel out{.model = g.model, .types = g.types, .k = pairs ? 2 : g.k};
  out.model.recipe = Recipe::fma_chain;
  if (pairs) out.model.rounding = Rounding::ties_to_even;
  out.model.c_last = out.model.through_f32 = false;
  out.types.c = out.types.d = binary32;
  return out;
}

Multiplier multiplier_of(const GemmModel& model, const OperandReading& reading,
                         const DecodedOperands& operands) {
  Multiplier out{model, reading, &operands};
  for (int i = 0; i < model.k; ++i) out.places.push_back(reading.kernel->place(model, i));
  return out;
}

int SharedSums::node(const SumNode& x, std::span<const std::int32_t> order) {
  auto format = std::ranges::find(formats_, x.format);
  if (format == formats_.end()) format = formats_.insert(format, x.format);
  std::uint64_t hash = order.size();
  const auto mix = [&hash](auto word) {
    hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 32;
  };
  mix(x.kind);
  mix(x.left);
  mix(x.right);
  mix(format - formats_.begin());
  mix(x.operands);
  mix(x.run);
  mix(x.scaling.order);
  mix(x.scaling.fused);
  for (const std::int32_t place : order) mix(place);
  const auto [at, is_new] = known_.try_emplace(hash, static_cast<int>(nodes_.size()));
  if (!is_new) return at->second;
  nodes_.push_back(x);
  if (!order.empty()) {
    std::vector<std::int32_t>& all = operands_[x.operands].order;
    nodes_.back().first = all.size();
    all.insert(all.end(), order.begin(), order.end());
  }
  return at->second;
}

int SharedSums::converted(int from, const Format& to) {
  if (format(from) == to) return from;
  return node({.kind = SumNode::Kind::convert, .left = from, .format = to});
}

/// Adds in binary32 if that is faster and gives the same: for sums in binary32, and for formats of
/// precision p with 2p
/// + 2 <= 24, where rounding twice is rounding once (Figueroa, SIGNUM Newsletter 30, 1995).
int SharedSums::added(int left, int right, const Format& to) {
  const auto is_float = [](const Format& f) { return !is_integer(f) && fits_in(f, binary32); };
  const bool alike = format(left) == to && format(right) == to;
  const bool once = to == binary32 || (alike && 2 * to.precision + 2 <= binary32.precision);
  if (by_definition() || !once || !is_float(format(left)) || !is_float(format(right))) {
    return node({.kind = SumNode::Kind::add, .left = left, .right = right, .format = to});
  }
  left = converted(left, binary32);
  right = converted(right, binary32);
  return converted(
      node({.kind = SumNode::Kind::add, .left = left, .right = right, .format = binary32}), to);
}

int SharedSums::run_of_products(int c, const Multiplier& x, std::span<const int> order) {
  const std::size_t k = x.places.size();
  placed_.clear();
  for (std::size_t first = 0; first < order.size(); first += k) {
    for (const int place : x.places)
      placed_.push_back(order[first + static_cast<std::size_t>(place)]);
  }
  auto of = std::ranges::find(operands_, &x, &PackedOperands::by);
  if (of == operands_.end()) of = operands_.insert(of, {&x});
  return node({.kind = SumNode::Kind::products,
               .left = c,
               .format = x.model.types.d,
               .operands = static_cast<std::size_t>(of - operands_.begin()),
               .instructions = static_cast<int>(order.size() / k)},
              placed_);
}

/// Adds the nodes of instructions that follow each other, beginning with node c.
int SharedSums::products(int c, const GemmModel& g, const Multiplier& multiplier,
                         const Multiplier* steps, std::span<const int> order) {
  const DotTypes& types = g.types;
  if (steps == nullptr && types.c == types.d) {
    return run_of_products(converted(c, types.c), multiplier, order);
  }
  const auto k = static_cast<std::size_t>(g.k);
  for (; !order.empty(); order = order.subspan(k)) {
    c = converted(c, types.c);
    if (steps == nullptr) {
      c = run_of_products(c, multiplier, order.first(k));
      continue;
    }
    if (g.model.recipe == Recipe::pairwise) {
      // Each pair begins at -0, which changes no product.
      for (std::size_t i = 0; i < k; i += 2) {
        if (i % 4 == 0) c = converted(c, binary32);
        const int from = node({.kind = SumNode::Kind::minus_zero, .format = binary32});
        c = added(c, run_of_products(from, *steps, order.subspan(i, 2)), binary32);
        if (i % 4 == 2) c = converted(c, types.d);
      }
    } else {
      const int zero = node({.kind = SumNode::Kind::zero, .format = binary32});
      c = converted(added(run_of_products(zero, *steps, order.first(k)), c, binary32), types.d);
    }
  }
  return c;
}

int SharedSums::add(const GemmModel& g, const Multiplier& multiplier, const Multiplier* steps) {
  program_.steps.clear();
  program_.order.clear();
  walk_sum(g, static_cast<int>(run_.k), {}, program_);
  stack_.clear();
  for (const SumStep& step : program_.steps) {
    switch (step.kind) {
      case StepKind::push_zero:
        stack_.push_back(node({.kind = SumNode::Kind::zero, .format = step.format}));
        break;
      case StepKind::push_c: {
        const SumNode::Kind kind = run_.c.empty() ? SumNode::Kind::zero : SumNode::Kind::c;
        stack_.push_back(converted(node({.kind = kind, .format = g.c}), step.format));
        break;
      }
      case StepKind::add: {
        const int right = stack_.back();
        stack_.pop_back();
        stack_.back() = added(stack_.back(), right, step.format);
        break;
      }
      case StepKind::add_scaled: {
        const int right = stack_.back();
        stack_.pop_back();
        stack_.back() = node({.kind = SumNode::Kind::add_scaled,
                              .left = stack_.back(),
                              .right = right,
                              .format = step.format,
                              .scaling = g.sum.scaling,
                              .run = step.first});
        break;
      }
      case StepKind::convert: stack_.back() = converted(stack_.back(), step.format); break;
      case StepKind::products: {
        const auto size = static_cast<std::size_t>(step.instructions * g.k);
        stack_.back() = products(stack_.back(), g, multiplier, steps,
                                 std::span(program_.order).subspan(step.first, size));
        break;
      }
    }
  }
  return stack_[0];
}

std::optional<int> SharedSums::finished(int sum, const GemmModel& g) {
  const Epilogue& e = g.epilogue;
  const Format& f = e.compute;
  const bool with_c = !run_.c.empty() && !g.sum.c_first && e.beta != 0;
  // fma(1, sum, 1·c) is sum + c, except that NaNs of binary64 keep their bits.
  const bool is_sum = e.beta == 1 && !is_integer(f) && fits_in(g.c, f) && e.out != binary64;
  const bool scales = e.alpha != 1 || !run_.bias.empty() || (with_c && !is_sum);
  const bool nearest = e.rounding == Rounding::ties_to_even;
  const bool multiplies = !run_.a_scale.empty() || !run_.b_scale.empty();
  if (multiplies || is_integer(this->format(sum))) return std::nullopt;
  if (by_definition() || scales || e.saturate || !nearest) return std::nullopt;
  if (e.activation != Activation::none) return std::nullopt;
  if (e.sum) sum = converted(sum, *e.sum);
  if (with_c) {
    const int c = node({.kind = SumNode::Kind::c, .format = g.c});
    sum = added(converted(sum, f), converted(c, f), f);
  }
  if (e.through) sum = converted(sum, *e.through);
  return converted(sum, e.out);
}

const EpiloguePlan& SharedSums::conversion(const Format& from, const Format& to) {
  const auto same = std::ranges::find_if(conversions_, [&](const EpiloguePlan& x) {
    return x.sum == from && x.model.epilogue.out == to;
  });
  if (same != conversions_.end()) return *same;
  GemmModel g;
  g.epilogue.compute = binary32;
  g.epilogue.out = to;
  conversions_.push_back(epilogue_plan(g, from, false, false));
  return conversions_.back();
}

void SharedSums::convert(std::uint64_t* values, const Format& from, const Format& to) {
  const bool narrows = from == binary64 && to == binary32;
  const bool widens = to == binary32 && from.storage_bits() == 16 && !is_integer(from);
  if (!narrows && !widens) {
    return kernels_.epilogue({&conversion(from, to), nullptr, nullptr, columns_}, values);
  }
  std::array<std::uint32_t, tile_columns> out;
  if (narrows) {
    std::array<double, tile_columns> in;
    for (std::size_t i = 0; i < columns_; ++i) in[i] = std::bit_cast<double>(values[i]);
    EventCounts unread;
    kernels_.encode_f64(in.data(), reinterpret_cast<std::byte*>(out.data()), columns_, 0,
                        {.format = to, .attributes = detail::to_nearest}, unread);
  } else {
    std::array<std::uint16_t, tile_columns> in;
    for (std::size_t i = 0; i < columns_; ++i) in[i] = static_cast<std::uint16_t>(values[i]);
    std::array<float, tile_columns> numbers;
    kernels_.decode_f32(reinterpret_cast<const std::byte*>(in.data()), numbers.data(), columns_,
                        from);
    std::transform(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(columns_),
                   out.begin(), [](float x) { return std::bit_cast<std::uint32_t>(x); });
  }
  for (std::size_t i = 0; i < columns_; ++i) {
    const bool is_nan = std::isnan(std::bit_cast<float>(out[i]));
    values[i] = is_nan ? binade::convert(values[i], from, to, detail::to_nearest).bits : out[i];
  }
}

std::size_t SharedSums::lanes() const {
  std::size_t products = 1;
  for (const PackedOperands& x : operands_) products += x.order.size();
  return std::clamp<std::size_t>(most_packed / products, 1, group_columns);
}

std::uint32_t SharedSums::pack(const PackedOperands& x, bool are_columns, std::size_t first,
                               std::size_t count, std::size_t lines, std::byte* to) const {
  const Packing& packing = x.by->reading.packing;
  const DecodedLines& from = are_columns ? x.by->operands->b : x.by->operands->a;
  const std::size_t line_bytes = run_.k * packing.operand_bytes;
  x.by->reading.kernel->pack({.operands = from.operands.data() + first * line_bytes,
                              .line_bytes = line_bytes,
                              .count = count,
                              .lines = lines,
                              .places = x.order.data(),
                              .length = x.order.size(),
                              .packing = &packing,
                              .are_columns = are_columns},
                             to);
  std::uint32_t unusable = 0;
  for (std::size_t i = 0; i < count && run_.k != 0; ++i) {
    if (from.usable[first + i] == 0) unusable |= std::uint32_t{1} << i;
  }
  return unusable;
}

void SharedSums::add_scales(PackedOperands& x, bool are_columns, std::size_t first,
                            std::size_t count) const {
  const std::vector<std::uint32_t>& from = are_columns ? run_.runs.b : run_.runs.a;
  if (x.shares() == 0 || from.empty()) return;
  const Format& f = x.by->model.model.scaling.format;
  const std::size_t height = are_columns ? group_columns : group_rows;
  const auto share = static_cast<std::size_t>(x.by->model.model.scaling.share);
  std::vector<std::uint32_t>& to = are_columns ? x.column_scales : x.row_scales;
  const std::size_t begin = to.size();
  to.resize(begin + x.shares() * height, detail::scale_code(std::bit_cast<std::uint32_t>(1.0F), f));
  for (std::size_t at = 0; at < x.shares(); ++at) {
    const auto places = std::span(x.order).subspan(at * share, share);
    const auto place = std::ranges::find_if(places, [](std::int32_t one) { return one >= 0; });
    if (place == places.end()) continue;
    const std::size_t run = static_cast<std::size_t>(*place) / run_.runs.length;
    for (std::size_t line = 0; line < count; ++line) {
      const std::uint32_t scale = run_.runs.of_line(from, first + line, run_.k)[run];
      to[begin + at * height + line] = detail::scale_code(scale, f);
    }
  }
}

void SharedSums::pack_elements(PackedOperands& x, std::span<const std::size_t> elements) const {
  const Packing& packing = x.by->reading.packing;
  x.row_bytes = x.order.size() * packing.row_bytes * packing.row_step;
  x.column_bytes = x.order.size() * packing.column_bytes * packing.column_step;
  x.rows.resize(elements.size() * x.row_bytes);
  x.columns.resize(elements.size() * x.column_bytes);
  for (std::size_t at = 0; at < elements.size(); ++at) {
    const std::uint32_t row = pack(x, false, run_.row(elements[at]), 1, packing.row_step,
                                   x.rows.data() + at * x.row_bytes);
    const std::uint32_t column = pack(x, true, run_.column(elements[at]), 1, packing.column_step,
                                      x.columns.data() + at * x.column_bytes);
    x.unusable[0] |= (row | column) << at;
    add_scales(x, false, run_.row(elements[at]), 1);
    add_scales(x, true, run_.column(elements[at]), 1);
  }
}

void SharedSums::pack_tile(PackedOperands& x, std::size_t i, std::size_t j) const {
  const Packing& packing = x.by->reading.packing;
  const auto in_steps = [](std::size_t n, std::size_t step) {
    return (n + step - 1) / step * step;
  };
  const std::size_t lines = in_steps(rows_, packing.row_step);
  const std::size_t column_lines = in_steps(columns_, packing.column_step);
  x.rows.assign(lines * x.order.size() * packing.row_bytes, {});
  x.columns.assign(column_lines * x.order.size() * packing.column_bytes, {});
  const std::uint32_t columns = pack(x, true, j, columns_, column_lines, x.columns.data());
  const std::uint32_t rows = pack(x, false, i, rows_, lines, x.rows.data());
  add_scales(x, false, i, rows_);
  add_scales(x, true, j, columns_);
  for (std::size_t row = 0; row < rows_; ++row) {
    x.unusable[row] = (rows >> row & 1) != 0 ? ~std::uint32_t{0} : columns;
  }
}

void SharedSums::multiply(const SumNode& x, bool is_tile, std::uint64_t* values,
                          TileMask& left) const {
  const PackedOperands& of = operands_[x.operands];
  ProductTile tile{
      of.rows.data(), of.columns.data(), of.order.size(), x.first, x.instructions, 1, 1};
  for (std::size_t row = 0; row < rows_; ++row) left[row] |= of.unusable[row];
  // Scales of element number `at`, or of the tile.
  const auto scales_at = [&of](std::size_t at) {
    const auto from = [&](const std::vector<std::uint32_t>& scales, std::size_t height) {
      return scales.empty() ? nullptr : scales.data() + at * of.shares() * height;
    };
    return TileScales{from(of.row_scales, group_rows), from(of.column_scales, group_columns)};
  };
  TileSums sums;
  if (is_tile) {
    tile.row_count = static_cast<int>(rows_);
    tile.column_count = static_cast<int>(columns_);
    tile.scales = scales_at(0);
    std::copy_n(values, stride(), sums[0].data());
    run_products(of.by->reading, of.by->model, tile, sums, left);
    std::copy_n(sums[0].data(), stride(), values);
    return;
  }
  for (std::size_t at = 0; at < columns_; ++at) {
    if ((left[0] >> at & 1) != 0) continue;
    tile.rows = of.rows.data() + at * of.row_bytes;
    tile.columns = of.columns.data() + at * of.column_bytes;
    tile.scales = scales_at(at);
    TileMask mask{};
    sums[0][0] = values[at];
    run_products(of.by->reading, of.by->model, tile, sums, mask);
    values[at] = sums[0][0];
    if (mask[0] != 0) left[0] |= std::uint32_t{1} << at;
  }
}

template <class FirstC>
void SharedSums::compute_nodes(bool is_tile, const FirstC& c_of) {
  values_.resize(nodes_.size() * stride());
  left_.assign(nodes_.size(), {});
  for (std::size_t at = 0; at < nodes_.size(); ++at) {
    const SumNode& x = nodes_[at];
    std::uint64_t* out = values_.data() + at * stride();
    TileMask& left_here = left_[at];
    if (x.left >= 0) {
      std::copy_n(values(x.left, 0), stride(), out);
      for (std::size_t row = 0; row < rows_; ++row) {
        left_here[row] = left(x.left, row) | (x.right < 0 ? 0 : left(x.right, row));
      }
    }
    if (x.kind == SumNode::Kind::products) multiply(x, is_tile, out, left_here);
    for (std::size_t row = 0; row < rows_; ++row, out += group_columns) {
      switch (x.kind) {
        case SumNode::Kind::zero:
        case SumNode::Kind::minus_zero:
          std::fill_n(out, columns_, zero_bits(x.format, x.kind == SumNode::Kind::minus_zero));
          break;
        case SumNode::Kind::c:
          for (std::size_t column = 0; column < columns_; ++column) out[column] = c_of(row, column);
          break;
        case SumNode::Kind::products: break;
        case SumNode::Kind::add:
          kernels_.add_sums({out, columns_, format(x.left)},
                            {values(x.right, row), columns_, format(x.right)}, x.format);
          break;
        case SumNode::Kind::add_scaled:
          kernels_.add_scaled_sums({out, columns_, format(x.left)},
                                   {values(x.right, row), columns_, format(x.right)},
                                   scales_of(x, row), x.format);
          break;
        case SumNode::Kind::convert: convert(out, format(x.left), x.format); break;
      }
    }
  }
}

void SharedSums::gather_scales(const auto& row_of, const auto& column_of) {
  const RunScales& runs = run_.runs;
  const auto gather = [&](const std::vector<std::uint32_t>& from, std::vector<std::uint32_t>& to,
                          const auto& line_of) {
    const std::size_t count = runs.count(run_.k);
    to.resize(from.empty() ? 0 : count * stride());
    for (std::size_t row = 0; row < rows_ && !from.empty(); ++row) {
      for (std::size_t column = 0; column < columns_; ++column) {
        const std::uint32_t* const scales = runs.of_line(from, line_of(row, column), run_.k);
        for (std::size_t at = 0; at < count; ++at) {
          to[at * stride() + row * group_columns + column] = scales[at];
        }
      }
    }
  };
  gather(runs.a, a_scales_, row_of);
  gather(runs.b, b_scales_, column_of);
}

RowScales SharedSums::scales_of(const SumNode& x, std::size_t row) const {
  const auto at = [&](const std::vector<std::uint32_t>& scales) {
    return scales.empty() ? nullptr : scales.data() + x.run * stride() + row * group_columns;
  };
  return {x.scaling, at(a_scales_), at(b_scales_)};
}

void SharedSums::compute(std::span<const std::size_t> elements) {
  rows_ = 1;
  columns_ = elements.size();
  for (PackedOperands& x : operands_) {
    x.unusable = {};
    x.row_scales.clear();
    x.column_scales.clear();
    pack_elements(x, elements);
  }
  gather_scales([&](std::size_t, std::size_t at) { return run_.row(elements[at]); },
                [&](std::size_t, std::size_t at) { return run_.column(elements[at]); });
  compute_nodes(false, [&](std::size_t, std::size_t at) { return run_.c[elements[at]]; });
}

void SharedSums::compute_tile(std::size_t i, std::size_t j) {
  rows_ = std::min(group_rows, run_.m - i);
  columns_ = std::min(group_columns, run_.n - j);
  for (PackedOperands& x : operands_) {
    x.row_scales.clear();
    x.column_scales.clear();
    pack_tile(x, i, j);
  }
  gather_scales([&](std::size_t row, std::size_t) { return i + row; },
                [&](std::size_t, std::size_t column) { return j + column; });
  compute_nodes(true, [&](std::size_t row, std::size_t column) {
    return run_.c[(i + row) * run_.n + j + column];
  });
}

}  // namespace binade

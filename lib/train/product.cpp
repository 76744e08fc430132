// SPDX-License-Identifier: Apache-2.0
//
// Products of the training engine. Operands are packed so that a dot product reads both along K;
// then Eigen multiplies blocks of rows of fixed size, or lib/gemm's emulation multiplies. Either
// way the bytes are the same for any number of threads and, because the cache sizes that Eigen
// assumes are fixed, on any machine.
#include "lib/train/product.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "lib/gemm/prepared_product.h"
#include "lib/parallel/parallel.h"
#include "lib/text/error.h"

namespace binade {
namespace {

template <class T>
std::vector<T> rows_of(const MatrixView<T>& view) {
  std::vector<T> out(view.rows * view.columns);
  const std::size_t grain = 1 + (std::size_t{1} << 13) / (view.columns + 1);
  parallel_for(view.rows, grain, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      const T* from = view.data + i * view.row_stride;
      T* to = out.data() + i * view.columns;
      if (view.column_stride == 1) {
        std::copy_n(from, view.columns, to);
        continue;
      }
      for (std::size_t j = 0; j < view.columns; ++j) to[j] = from[j * view.column_stride];
    }
  });
  return out;
}

/// Returns the rows of a view one after another: the view's own memory if they lie so, else a copy
/// in `space`.
template <class T>
const T* dense_rows(const MatrixView<T>& view, std::vector<T>& space) {
  if (view.column_stride == 1 && view.row_stride == view.columns) return view.data;
  space = rows_of(view);
  return space.data();
}

template <class T>
using Rows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using Columns = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;

template <class T>
std::vector<T> reference(const T* a, const T* b, std::size_t m, std::size_t n, std::size_t k,
                         std::span<const T> bias) {
  // Eigen divides K into blocks by the cache sizes of the machine, unless they are set.
  static const bool pinned = [] {
    Eigen::setCpuCacheSizes(32 << 10, 256 << 10, 2 << 20);
    return true;
  }();
  static_cast<void>(pinned);
  std::vector<T> out(m * n);
  const auto at = [](std::size_t i) { return static_cast<Eigen::Index>(i); };
  const Eigen::Map<const Columns<T>> right(b, at(k), at(n));
  parallel_for(m, 64, [&](std::size_t begin, std::size_t end, std::size_t) {
    const Eigen::Map<const Rows<T>> left(a + begin * k, at(end - begin), at(k));
    Eigen::Map<Rows<T>> result(out.data() + begin * n, at(end - begin), at(n));
    result.noalias() = left * right;
    for (std::size_t i = begin; i < end && !bias.empty(); ++i) {
      for (std::size_t j = 0; j < n; ++j) out[i * n + j] += bias[j];
    }
  });
  return out;
}

/// Returns the largest magnitude; NaN are ignored.
template <class T>
double amax_of(const std::vector<T>& values) {
  T amax = 0;
  for (const T x : values) amax = std::max(amax, std::abs(x));
  return static_cast<double>(amax);
}

/// An operand as the instruction gets it: scaled and rounded. In formats of up to 8 bits, values
/// beyond the range and infinities become the largest finite number (PTX's cvt to FP8 is always
/// .satfinite), and only the tally shows them. In wider formats they are infinite.
template <class T>
struct Operand {
  std::vector<T> values;  ///< times 2^scale_log2, on the format's grid
  int scale_log2 = 0;
  EventCounts counts{};
};

template <class T>
Operand<T> operand(std::vector<T> values, const Format& format, OperandScale scale) {
  Operand<T> out{.values = std::move(values)};
  if (scale == OperandScale::amax) out.scale_log2 = amax_scale_log2(amax_of(out.values), format);
  if (out.scale_log2 != 0) {
    const T factor = static_cast<T>(std::ldexp(1.0, out.scale_log2));
    for (T& x : out.values) x *= factor;
  }
  const Saturation saturation = format.bits() <= 8 ? Saturation::finite : Saturation::none;
  out.counts = quantize_all(Quantizer{.format = format, .attributes = {.saturation = saturation}},
                            std::span(out.values));
  return out;
}

/// Measures how rounding changed an operand, as Transformer Engine's autoswitch does.
template <class T>
OperandLoss loss_of(const std::vector<T>& before, const Operand<T>& operand) {
  std::vector<float> from(before.begin(), before.end()),
      to(operand.values.begin(), operand.values.end());
  const float inverse = static_cast<float>(std::ldexp(1.0, -operand.scale_log2));
  for (float& x : to) x *= inverse;
  return operand_loss(from, to);
}

/// Returns the plan of the first rule that fits the call, after skipping `skipped` rules that fit;
/// null if there is none.
const ProductPlan* plan_of(const ProductSettings& settings, const ProductCall& call,
                           std::size_t skipped = 0) {
  const auto at = static_cast<std::size_t>(call.pass);
  const auto fits = [&call](const ProductRule& rule) {
    return rule.dtype == call.dtype && (call.weights || !rule.weights_only);
  };
  const auto sums = std::ranges::find_if(settings.sum_rules, fits);
  if (call.keeps_sums && sums != settings.sum_rules.end()) return &sums->plans[at];
  for (const ProductRule& rule : settings.rules) {
    if (fits(rule) && skipped-- == 0) return &rule.plans[at];
  }
  return nullptr;
}

/// A product's operands, packed.
template <class T>
struct Packed {
  std::size_t m = 0, n = 0, k = 0;
  std::vector<T> a, b;
};

template <class T>
struct RoundedOperands {
  Operand<T> a, b;
};

/// Scales and rounds the operands for a plan's model. With `keeps` the packed operands are copied,
/// else moved from.
template <class T>
RoundedOperands<T> operands_of(const ProductPlan& plan, Packed<T>& x, bool keeps) {
  const auto one = [&plan, keeps](std::vector<T>& values, const Format& format) {
    return operand(keeps ? values : std::move(values), format, plan.scale);
  };
  return {one(x.a, plan.model->types.a), one(x.b, plan.model->types.b)};
}

template <class T>
std::vector<T> emulated(const ProductPlan& plan, const Format& dtype, const Packed<T>& x,
                        const RoundedOperands<T>& rounded, std::span<const T> bias) {
  GemmModel model = *plan.model;
  model.epilogue = {.out = binary32};
  model.bias = binary32;
  const ProductShape shape{.k = x.k,
                           .has_bias = !bias.empty(),
                           .scale_log2 = -rounded.a.scale_log2 - rounded.b.scale_log2};
  const PreparedProduct product(model, shape);
  const LinePlaces rows = LinePlaces::dense(x.m, x.k), columns = LinePlaces::dense(x.n, x.k);
  const auto multiplied = [&](const std::vector<float>& a, const std::vector<float>& b,
                              std::span<const float> of_bias) {
    std::vector<float> d(x.m * x.n);
    product.all({rows.of(a.data()), columns.of(b.data()), of_bias}, d.data());
    return d;
  };
  std::vector<T> out;
  if constexpr (std::is_same_v<T, float>) {
    out = multiplied(rounded.a.values, rounded.b.values, bias);
  } else {
    // binary32 holds the types of operands and sums.
    const auto floats = [](std::span<const T> values) {
      return std::vector<float>(values.begin(), values.end());
    };
    const std::vector<float> d =
        multiplied(floats(rounded.a.values), floats(rounded.b.values), floats(bias));
    out.assign(d.begin(), d.end());
  }
  round_to(dtype, std::span(out));
  return out;
}

/// Returns whether autoswitch decides that the product leaves its plan for that of the next rule.
template <class T>
bool switches(const ProductSettings& settings, const ProductCall& call, const Packed<T>& x,
              const RoundedOperands<T>& rounded) {
  if (x.a.empty() || x.b.empty()) return false;
  const std::array losses{loss_of(x.a, rounded.a), loss_of(x.b, rounded.b)};
  return settings.autoswitch->decide(call.layer, pass_names[static_cast<std::size_t>(call.pass)],
                                     losses);
}

}  // namespace

int amax_scale_log2(double amax, const Format& format) {
  if (amax == 0 || std::isinf(amax)) return 0;
  const double ratio = value_of<double>(max_bits(format, false), format) / amax;
  return std::clamp(std::ilogb(ratio), -126, 126);
}

template <std::floating_point T>
std::vector<T> product(const ProductSettings& settings, const ProductCall& call,
                       const MatrixView<T>& a, const MatrixView<T>& b, std::span<const T> bias) {
  if (a.columns != b.rows || (!bias.empty() && bias.size() != b.columns)) {
    throw Error(fmt::format("product of {} × {} and {} × {} with {} biases: the shapes do not fit",
                            a.rows, a.columns, b.rows, b.columns, bias.size()));
  }
  const std::size_t m = a.rows, n = b.columns, k = a.columns;
  EventCounts a_counts, b_counts;
  const ProductPlan* plan = plan_of(settings, call);
  const std::uint64_t multiply_adds = m * n * k;
  const Format result = call.keeps_sums ? Carrier<T>::format : call.dtype;
  std::vector<T> out;
  if (plan != nullptr && plan->model) {
    Packed<T> packed{m, n, k, rows_of(a), rows_of(b.transposed())};
    const bool may_switch = settings.autoswitch != nullptr && plan->scale != OperandScale::none;
    RoundedOperands<T> rounded = operands_of(*plan, packed, may_switch);
    if (may_switch && switches(settings, call, packed, rounded)) {
      plan = plan_of(settings, call, 1);
      if (plan != nullptr && plan->model) rounded = operands_of(*plan, packed, false);
    }
    if (plan != nullptr && plan->model) {
      out = emulated(*plan, result, packed, rounded, bias);
      a_counts = rounded.a.counts;
      b_counts = rounded.b.counts;
    }
  }
  if (plan == nullptr || !plan->model) {
    std::vector<T> a_space, b_space;
    out = reference(dense_rows(a, a_space), dense_rows(b.transposed(), b_space), m, n, k, bias);
    round_to(result, std::span(out));
  }
  if (settings.tally != nullptr) {
    const auto at = static_cast<std::size_t>(call.pass);
    settings.tally->products[at] += 1;
    settings.tally->multiply_adds[at] += multiply_adds;
    settings.tally->a[at] += a_counts;
    settings.tally->b[at] += b_counts;
  }
  return out;
}

template std::vector<float> product(const ProductSettings&, const ProductCall&,
                                    const MatrixView<float>&, const MatrixView<float>&,
                                    std::span<const float>);
template std::vector<double> product(const ProductSettings&, const ProductCall&,
                                     const MatrixView<double>&, const MatrixView<double>&,
                                     std::span<const double>);

}  // namespace binade

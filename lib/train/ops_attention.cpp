// SPDX-License-Identifier: Apache-2.0
//
// Attention by the three methods of attention.h: fused, or made of other ops in float or in the
// dtype of the inputs.
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>

#include "lib/amp/autocast.h"
#include "lib/train/functions.h"
#include "lib/train/kernels.h"
#include "lib/train/ops.h"

namespace binade {
namespace {

constexpr std::string_view attention_name = "scaled_dot_product_attention";

/// Returns a mask that is -∞ where the key is later than the query, else 0.
template <std::floating_point T>
Tensor<T> causal_mask(std::size_t queries, std::size_t keys, const Format& dtype) {
  Tensor<T> mask({queries, keys}, dtype);
  for (std::size_t i = 0; i < queries; ++i) {
    for (std::size_t j = i + 1; j < keys; ++j) {
      mask.values[i * keys + j] = -std::numeric_limits<T>::infinity();
    }
  }
  return mask;
}

/// Sizes of the inputs: q (…, m, d), k (…, n, d), v (…, n, w); batches is the product of the
/// leading sizes.
struct Sizes {
  std::size_t batches = 0, m = 0, n = 0, d = 0, w = 0;
};

template <std::floating_point T>
Sizes sizes_of(const Tape<T>& tape, const OpInputs& op) {
  const Shape &q = tape.shape(op[0]), &k = tape.shape(op[1]), &v = tape.shape(op[2]);
  const std::size_t dimensions = q.size();
  const auto same_start = [&q, dimensions](const Shape& other) {
    return other.size() == dimensions && std::equal(q.begin(), q.end() - 2, other.begin());
  };
  if (dimensions < 2 || !same_start(k) || q.back() == 0 || q.back() != k.back() ||
      k[dimensions - 2] == 0) {
    throw shapes_do_not_fit(attention_name, q, k);
  }
  if (!same_start(v) || v[dimensions - 2] != k[dimensions - 2])
    throw shapes_do_not_fit(attention_name, k, v);
  const std::size_t m = q[dimensions - 2], d = q.back();
  return {m == 0 ? 0 : elements(q) / (m * d), m, k[dimensions - 2], d, v.back()};
}

// Fused attention (FlashAttention).

template <std::floating_point T>
using View = MatrixView<T>;

template <std::floating_point T>
View<T> part(const std::vector<T>& all, std::size_t batch, std::size_t rows, std::size_t columns) {
  return View<T>::dense(all.data() + batch * rows * columns, rows, columns);
}

template <std::floating_point T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

template <std::floating_point T>
std::vector<T> turned(const std::vector<T>& x, std::size_t rows, std::size_t columns) {
  std::vector<T> out(x.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) out[j * rows + i] = x[i * columns + j];
  }
  return out;
}

/// Returns q·kᵀ of one batch, masked but not yet multiplied by the scale.
template <std::floating_point T>
std::vector<T> scores_of(const ProductSettings& settings, const Format& dtype, const View<T>& q,
                         const View<T>& k, bool causal) {
  std::vector<T> s = product<T>(
      settings, {.pass = Pass::fprop, .dtype = dtype, .weights = false, .keeps_sums = true}, q,
      k.transposed());
  for (std::size_t i = 0; causal && i < q.rows; ++i) {
    for (std::size_t j = i + 1; j < k.rows; ++j) {
      s[i * k.rows + j] = -std::numeric_limits<T>::infinity();
    }
  }
  return s;
}

template <std::floating_point T>
Var flash_attention(Tape<T>& tape, const OpInputs& op, const Sizes& of, bool causal) {
  const Var q = op[0], k = op[1], v = op[2];
  const Format dtype = op.dtype;
  const T scale = 1 / std::sqrt(static_cast<T>(of.d));
  const auto log_sums = std::make_shared<std::vector<T>>();  // log-sum-exp of each row
  std::vector<T> out;
  for (std::size_t b = 0; b < of.batches; ++b) {
    std::vector<T> p = scores_of(tape.products(), dtype, part(tape.values(q), b, of.m, of.d),
                                 part(tape.values(k), b, of.n, of.d), causal);
    std::vector<T> sums(of.m), tops(of.m);
    for_rows(of.m, of.n, [&](std::size_t i) {
      T* row = p.data() + i * of.n;
      T top = -std::numeric_limits<T>::infinity();
      for (std::size_t j = 0; j < of.n; ++j) top = std::max(top, row[j]);
      if (top == -std::numeric_limits<T>::infinity()) top = 0;
      for (std::size_t j = 0; j < of.n; ++j)
        row[j] = exp_of(std::fma(row[j], scale, -(top * scale)));
      sums[i] = pairwise_sum(row, of.n);
      tops[i] = top * scale;
    });
    round_to(dtype, std::span(p));
    std::vector<T> o =
        product<T>(tape.products(),
                   {.pass = Pass::fprop, .dtype = dtype, .weights = false, .keeps_sums = true},
                   View<T>::dense(p.data(), of.m, of.n), part(tape.values(v), b, of.n, of.w));
    for (std::size_t i = 0; i < of.m; ++i) {
      // As in FlashAttention, a row whose keys are all masked gives 0, and its probabilities are 0
      // in the backward pass.
      const bool sees = sums[i] != 0 && !std::isnan(sums[i]);
      const T inverse = sees ? 1 / sums[i] : T{1};
      for (std::size_t j = 0; j < of.w; ++j) o[i * of.w + j] *= inverse;
      log_sums->push_back(sees ? tops[i] + log_of(sums[i]) : std::numeric_limits<T>::infinity());
    }
    append(out, o);
  }
  Shape shape = tape.shape(q);
  shape.back() = of.w;
  return record_result(
      tape, attention_name, op, std::move(shape), std::move(out),
      [=](Tape<T>& t, Var result, const std::vector<T>& g) {
        std::vector<T> dq, dk, dv;
        for (std::size_t b = 0; b < of.batches; ++b) {
          const View<T> qs = part(t.values(q), b, of.m, of.d),
                        ks = part(t.values(k), b, of.n, of.d);
          const View<T> vs = part(t.values(v), b, of.n, of.w), d_out = part(g, b, of.m, of.w);
          const View<T> o = part(t.values(result), b, of.m, of.w);
          const auto call = [&](Pass pass) {
            return ProductCall{.pass = pass, .dtype = dtype, .weights = false, .keeps_sums = true};
          };
          std::vector<T> p = scores_of(t.products(), dtype, qs, ks, causal);
          std::vector<T> ds = product<T>(t.products(), call(Pass::dgrad), d_out, vs.transposed());
          for_rows(of.m, of.n, [&](std::size_t i) {
            std::vector<T> both(of.w);
            for (std::size_t j = 0; j < of.w; ++j) {
              both[j] = d_out.data[i * of.w + j] * o.data[i * of.w + j];
            }
            const T delta = pairwise_sum(both.data(), of.w);
            const T log_sum = (*log_sums)[b * of.m + i];
            for (std::size_t j = 0; j < of.n; ++j) {
              T &probability = p[i * of.n + j], &slope = ds[i * of.n + j];
              probability = exp_of(std::fma(probability, scale, -log_sum));
              slope = probability * (slope - delta);
            }
          });
          round_to(dtype, std::span(p));
          round_to(dtype, std::span(ds));
          const View<T> rounded = View<T>::dense(p.data(), of.m, of.n);
          const View<T> slopes = View<T>::dense(ds.data(), of.m, of.n);
          // The product is transposed, because the gradient must be the left factor, as in matmul.
          append(dv,
                 turned(product<T>(t.products(), call(Pass::wgrad), d_out.transposed(), rounded),
                        of.w, of.n));
          append(dq, product<T>(t.products(), call(Pass::dgrad), slopes, ks));
          append(dk, product<T>(t.products(), call(Pass::wgrad), slopes.transposed(), qs));
        }
        for (std::vector<T>* x : {&dq, &dk}) {
          for (T& element : *x) element *= scale;
        }
        t.add_gradient(q, std::move(dq));
        t.add_gradient(k, std::move(dk));
        t.add_gradient(v, std::move(dv));
      });
}

// Attention that is made of other ops.

template <std::floating_point T>
Var swapped(Tape<T>& tape, Var x) {
  std::vector<std::size_t> order(tape.shape(x).size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return permute(tape, x, order);
}

template <std::floating_point T>
Var masked(Tape<T>& tape, Var scores, const Sizes& of, bool causal) {
  if (!causal) return scores;
  return add(tape, scores, tape.constant(causal_mask<T>(of.m, of.n, tape.dtype(scores))));
}

template <std::floating_point T>
Var math_attention(Tape<T>& tape, const OpInputs& op, const Sizes& of, bool causal) {
  const Format wide = fits_in(op.dtype, binary32) ? binary32 : op.dtype;
  const T root = static_cast<T>(std::sqrt(1 / std::sqrt(static_cast<double>(of.d))));
  const Var q = scale(tape, tape.cast(op[0], wide), root);
  const Var k = scale(tape, swapped(tape, tape.cast(op[1], wide)), root);
  const Var scores = masked(tape, matmul(tape, q, k), of, causal);
  const Var out = matmul(tape, softmax(tape, scores), tape.cast(op[2], wide));
  return tape.cast(out, op.dtype);
}

template <std::floating_point T>
Var low_precision_attention(Tape<T>& tape, const OpInputs& op, const Sizes& of, bool causal) {
  const Var q = scale(tape, op[0], 1 / std::sqrt(static_cast<T>(of.d)));
  const Var scores = masked(tape, matmul(tape, q, swapped(tape, op[1])), of, causal);
  return matmul(tape, softmax(tape, scores), op[2]);
}

}  // namespace

template <std::floating_point T>
Var scaled_dot_product_attention(Tape<T>& tape, Var q, Var k, Var v, bool causal,
                                 std::optional<Attention> kind) {
  const Attention attention = kind.value_or(tape.products().attention);
  const OpInputs op = op_inputs(tape, attention_name, {q, k, v});
  const Sizes of = sizes_of(tape, op);
  if (attention == Attention::flash) {
    return flash_attention(tape, op, of, causal);
  }
  std::optional<Autocast> parts;
  if (autocast_enabled(autocast_device())) {
    parts.emplace(autocast_device(), Autocast::Options{.enabled = false});
  }
  tape.report_announced(of.batches * of.m * of.w);
  const LayerScope parts_of(attention_name);
  return attention == Attention::math ? math_attention(tape, op, of, causal)
                                      : low_precision_attention(tape, op, of, causal);
}

template Var scaled_dot_product_attention(Tape<float>&, Var, Var, Var, bool,
                                          std::optional<Attention>);
template Var scaled_dot_product_attention(Tape<double>&, Var, Var, Var, bool,
                                          std::optional<Attention>);

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Attention by its parts, each rounded to the op's dtype: two products, a scale, a mask and a softmax.
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "lib/amp/autocast.h"
#include "lib/train/kernels.h"
#include "lib/train/ops.h"

namespace binade {
namespace {

/// 0 where a key is not later than the query, -∞ elsewhere.
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

}  // namespace

template <std::floating_point T>
Var scaled_dot_product_attention(Tape<T>& tape, Var q, Var k, Var v, bool causal) {
  constexpr std::string_view name = "scaled_dot_product_attention";
  const OpInputs op = op_inputs(tape, name, {q, k, v});
  std::optional<Autocast> parts;
  if (autocast_enabled(autocast_device())) {
    parts.emplace(autocast_device(), Autocast::Options{.enabled = false});
  }
  const Shape queries = tape.shape(op[0]), keys = tape.shape(op[1]);
  if (queries.size() < 2 || queries.size() != keys.size() || queries.back() == 0 ||
      tape.shape(op[2]).empty()) {
    throw shapes_do_not_fit(name, queries, keys);
  }
  tape.report_announced(tape.value(op[0]).size() / queries.back() * tape.shape(op[2]).back());
  const LayerScope parts_of(name);
  const std::size_t dimensions = queries.size();
  std::vector<std::size_t> swapped(dimensions);
  for (std::size_t i = 0; i < dimensions; ++i) swapped[i] = i;
  std::swap(swapped[dimensions - 1], swapped[dimensions - 2]);
  const T factor = 1 / std::sqrt(static_cast<T>(queries.back()));
  Var scores = scale(tape, matmul(tape, op[0], permute(tape, op[1], swapped)), factor);
  if (causal) {
    const Var mask =
        tape.constant(causal_mask<T>(queries[dimensions - 2], keys[dimensions - 2], op.dtype));
    scores = add(tape, scores, mask);
  }
  return matmul(tape, softmax(tape, scores), op[2]);
}

template Var scaled_dot_product_attention(Tape<float>&, Var, Var, Var, bool);
template Var scaled_dot_product_attention(Tape<double>&, Var, Var, Var, bool);

}  // namespace binade

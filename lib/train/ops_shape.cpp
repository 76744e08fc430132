// SPDX-License-Identifier: Apache-2.0
//
// Ops that move values: reshape, permute, select, and embedding, which takes rows of a table. Their
// forward passes are exact in any dtype.
#include "lib/text/shape.h"
#include "lib/train/kernels.h"
#include "lib/train/ops.h"

namespace binade {
namespace {

bool is_permutation_of(const std::vector<std::size_t>& order, std::size_t n) {
  std::vector<bool> seen(n);
  for (const std::size_t i : order) {
    if (i >= n || seen[i]) return false;
    seen[i] = true;
  }
  return order.size() == n && n > 0;
}

}  // namespace

template <std::floating_point T>
Var reshape(Tape<T>& tape, Var x, Shape shape) {
  if (elements(shape) != tape.values(x).size()) {
    throw shapes_do_not_fit("reshape", tape.shape(x), shape);
  }
  return tape.record("reshape", tape.dtype(x), std::move(shape), tape.values(x), {x},
                     [x](Tape<T>& t, const std::vector<T>& g) { t.add_gradient(x, g); });
}

template <std::floating_point T>
Var permute(Tape<T>& tape, Var x, const std::vector<std::size_t>& order) {
  const Shape from = tape.shape(x);
  if (!is_permutation_of(order, from.size())) throw shapes_do_not_fit("permute", from, order);
  Shape shape(from.size());
  std::vector<std::size_t> back(from.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    shape[i] = from[order[i]];
    back[order[i]] = i;
  }
  return tape.record("permute", tape.dtype(x), shape, permuted(tape.values(x), from, order), {x},
                     [x, shape, back](Tape<T>& t, const std::vector<T>& g) {
                       t.add_gradient(x, permuted(g, shape, back));
                     });
}

template <std::floating_point T>
Var embedding(Tape<T>& tape, Var weight_in, const std::vector<std::int32_t>& indices) {
  const OpInputs op = op_inputs(tape, "embedding", {weight_in});
  const Var weight = op[0];
  const Shape& w = tape.shape(weight);
  if (w.size() != 2) throw shapes_do_not_fit("embedding", w, {indices.size()});
  const std::size_t words = w[0], width = w[1];
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || static_cast<std::size_t>(indices[i]) >= words) {
      throw Error(
          fmt::format("embedding: index {} at {} is none of the {} rows", indices[i], i, words));
    }
  }
  std::vector<T> out(indices.size() * width);
  const T* from = tape.values(weight).data();
  for_rows(indices.size(), width, [&](std::size_t i) {
    std::copy_n(from + static_cast<std::size_t>(indices[i]) * width, width, out.data() + i * width);
  });
  return tape.record("embedding", op.dtype, {indices.size(), width}, std::move(out), op.inputs,
                     [weight, indices, words, width](Tape<T>& t, const std::vector<T>& g) {
                       std::vector<T> dw(words * width);
                       // Threads share the columns, so that a row's terms are added in the order of
                       // the indices.
                       parallel_for(
                           width, 64, [&](std::size_t begin, std::size_t end, std::size_t) {
                             for (std::size_t i = 0; i < indices.size(); ++i) {
                               T* to = dw.data() + static_cast<std::size_t>(indices[i]) * width;
                               for (std::size_t j = begin; j < end; ++j) to[j] += g[i * width + j];
                             }
                           });
                       t.add_gradient(weight, std::move(dw));
                     });
}

template <std::floating_point T>
Var select(Tape<T>& tape, Var x, std::size_t i) {
  Shape shape = tape.shape(x);
  if (shape.empty() || i >= shape.front()) {
    throw Error(
        fmt::format("select {} of a tensor of shape {}: there is none", i, shape_text(shape)));
  }
  shape.erase(shape.begin());
  const std::size_t size = elements(shape), all = tape.values(x).size();
  const auto begin = tape.values(x).begin() + static_cast<std::ptrdiff_t>(i * size);
  std::vector<T> out(begin, begin + static_cast<std::ptrdiff_t>(size));
  return tape.record("select", tape.dtype(x), std::move(shape), std::move(out), {x},
                     [x, i, size, all](Tape<T>& t, const std::vector<T>& g) {
                       std::vector<T> dx(all);
                       std::ranges::copy(g, dx.begin() + static_cast<std::ptrdiff_t>(i * size));
                       t.add_gradient(x, std::move(dx));
                     });
}

#define BINADE_SHAPES(T)                                                   \
  template Var reshape(Tape<T>&, Var, Shape);                              \
  template Var permute(Tape<T>&, Var, const std::vector<std::size_t>&);    \
  template Var embedding(Tape<T>&, Var, const std::vector<std::int32_t>&); \
  template Var select(Tape<T>&, Var, std::size_t);
BINADE_SHAPES(float)
BINADE_SHAPES(double)
#undef BINADE_SHAPES

}  // namespace binade

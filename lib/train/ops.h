// SPDX-License-Identifier: Apache-2.0
//
// The ops of the engine, with PyTorch's names, meaning and shapes (the last dimension is
// contiguous). Each runs in the dtype that autocast or its inputs choose (tape.h), computes in T,
// and rounds once to that dtype. All are differentiable in their tensor arguments. An op throws
// Error if the shapes of its arguments do not fit, and as op_inputs does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/train/tape.h"

namespace binade {

// Products (ops_linear.cpp, ops_conv.cpp).

/// Returns x·weightᵀ + bias: x (…, in), weight (out, in), bias (out) or none → (…, out).
template <std::floating_point T>
Var linear(Tape<T>& tape, Var x, Var weight, std::optional<Var> bias = {});
/// Returns a·b: a (…, m, k), b (…, k, n) with the same leading sizes → (…, m, n). The gradient of a
/// is computed as the pass dgrad, the gradient of b as wgrad (product.h).
template <std::floating_point T>
Var matmul(Tape<T>& tape, Var a, Var b);

struct Window {
  std::size_t size = 1, stride = 1, padding = 0;
};
/// Convolution: x (n, c, h, w), weight (o, c, size, size), bias (o) or none → (n, o, oh, ow). It is
/// computed as a matrix product whose K runs over (filter row, filter column, channel), channels
/// fastest, as in NHWC kernels of GPUs.
template <std::floating_point T>
Var conv2d(Tape<T>& tape, Var x, Var weight, std::optional<Var> bias, const Window& window);
/// Returns softmax(q·kᵀ/√d + mask)·v for q (…, m, d), k (…, n, d), v (…, n, w) → (…, m, w), where d
/// and n are not 0; with `causal`, keys later than the query are masked. As in PyTorch, autocast
/// casts q, k and v to its low dtype and is off within. `kind` says where the op rounds; without it
/// ProductSettings::attention of the tape does.
template <std::floating_point T>
Var scaled_dot_product_attention(Tape<T>& tape, Var q, Var k, Var v, bool causal,
                                 std::optional<Attention> kind = {});

// Elementwise (ops_elementwise.cpp). Of two shapes the one that equals the end of the other is
// repeated along the other's leading dimensions; a single element is repeated to any shape.

template <std::floating_point T>
Var add(Tape<T>& tape, Var a, Var b);
template <std::floating_point T>
Var sub(Tape<T>& tape, Var a, Var b);
template <std::floating_point T>
Var mul(Tape<T>& tape, Var a, Var b);
template <std::floating_point T>
Var div(Tape<T>& tape, Var a, Var b);
/// Returns x·factor in x's dtype.
template <std::floating_point T>
Var scale(Tape<T>& tape, Var x, T factor);
template <std::floating_point T>
Var exp(Tape<T>& tape, Var x);
template <std::floating_point T>
Var log(Tape<T>& tape, Var x);
/// Returns x^exponent, by repeated multiplication; a negative exponent gives the reciprocal of
/// x^-exponent, and 0 gives 1 for any x.
template <std::floating_point T>
Var pow(Tape<T>& tape, Var x, int exponent);

// Activations (ops_activation.cpp).

template <std::floating_point T>
Var relu(Tape<T>& tape, Var x);
template <std::floating_point T>
Var tanh(Tape<T>& tape, Var x);
template <std::floating_point T>
Var sigmoid(Tape<T>& tape, Var x);
/// Returns x·Φ(x), where Φ, the normal distribution function, is computed by erf (not by GELU's
/// tanh approximation).
template <std::floating_point T>
Var gelu(Tape<T>& tape, Var x);
/// Softmax over the last dimension, which must not be empty; the largest value of a row is
/// subtracted first.
template <std::floating_point T>
Var softmax(Tape<T>& tape, Var x);
/// Logarithm of softmax, computed as one op.
template <std::floating_point T>
Var log_softmax(Tape<T>& tape, Var x);

// Normalisation (ops_norm.cpp). Means and variances are computed in T; the variances are biased
// (divided by n).

/// Normalises over the last dimension; weight and bias have its size, and their dtype may be wider
/// than x's.
template <std::floating_point T>
Var layer_norm(Tape<T>& tape, Var x, Var weight, Var bias, T eps = static_cast<T>(1e-5));
/// Normalises x (n, c, h, w) over each of `groups` groups of channels; weight and bias have shape
/// (c).
template <std::floating_point T>
Var group_norm(Tape<T>& tape, Var x, std::size_t groups, Var weight, Var bias,
               T eps = static_cast<T>(1e-5));
/// Running statistics of batch_norm, one mean and one unbiased variance (divided by n - 1) per
/// channel.
template <std::floating_point T>
struct RunningStatistics {
  std::vector<T> mean, variance;
  T momentum = static_cast<T>(0.1);
};
/// Normalises x (n, c, h, w) or (n, c) per channel. With `training` by the batch's own statistics,
/// which also update `running` and need two values of each channel; otherwise by `running`.
template <std::floating_point T>
Var batch_norm(Tape<T>& tape, Var x, Var weight, Var bias, RunningStatistics<T>& running,
               bool training, T eps = static_cast<T>(1e-5));

// Pooling (ops_pool.cpp) of x (n, c, h, w) over square windows. The padding may be half of a window
// at most.

/// Returns the largest value in each window, or NaN if there is one; padding is left out.
template <std::floating_point T>
Var max_pool2d(Tape<T>& tape, Var x, const Window& window);
/// Returns the sum of each window divided by size²: padding counts as zeros.
template <std::floating_point T>
Var avg_pool2d(Tape<T>& tape, Var x, const Window& window);

// Ops that move values (ops_shape.cpp); their forward pass computes nothing.

template <std::floating_point T>
Var reshape(Tape<T>& tape, Var x, Shape shape);
/// Dimension i of the result is dimension order[i] of x.
template <std::floating_point T>
Var permute(Tape<T>& tape, Var x, const std::vector<std::size_t>& order);
/// Returns x[i]; the result has one dimension fewer.
template <std::floating_point T>
Var select(Tape<T>& tape, Var x, std::size_t i);
/// Returns the rows of weight (v, d) that `indices` names, as (indices.size(), d). Throws Error for
/// an index that is no row. The gradients of a row that is named several times are added in T.
template <std::floating_point T>
Var embedding(Tape<T>& tape, Var weight, const std::vector<std::int32_t>& indices);

// Reductions and losses (ops_loss.cpp). Each returns a scalar of shape (1); sums are added in the
// order of pairwise_sum. The sum of no values is 0, their mean NaN.

template <std::floating_point T>
Var sum(Tape<T>& tape, Var x);
template <std::floating_point T>
Var mean(Tape<T>& tape, Var x);
/// Returns the mean of -log_probabilities[i, target[i]]. Throws Error if there is no row or a
/// target is none of the classes.
template <std::floating_point T>
Var nll_loss(Tape<T>& tape, Var log_probabilities, const std::vector<std::int32_t>& target);
/// Returns nll_loss(log_softmax(logits)) for logits (n, classes).
template <std::floating_point T>
Var cross_entropy(Tape<T>& tape, Var logits, const std::vector<std::int32_t>& target);
/// Returns the mean of (x - target)². This loss and the next throw Error unless x and target have
/// one shape and values.
template <std::floating_point T>
Var mse_loss(Tape<T>& tape, Var x, Var target);
/// Returns the mean of max(x, 0) - x·target + log(1 + exp(-|x|)).
template <std::floating_point T>
Var binary_cross_entropy_with_logits(Tape<T>& tape, Var x, Var target);

}  // namespace binade

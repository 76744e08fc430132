// SPDX-License-Identifier: Apache-2.0
//
// The ops of the engine, by PyTorch's names and with its meaning; shapes are PyTorch's, rows last. Each
// runs in the dtype that autocast or its inputs choose (tape.h), computes in T, and rounds once to that
// dtype. All are differentiable in their tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/train/tape.h"

namespace binade {

// Products (ops_linear.cpp, ops_conv.cpp).

/// x·Wᵀ + b: x (…, in), weight (out, in), bias (out) or none → (…, out).
template <std::floating_point T>
Var linear(Tape<T>& tape, Var x, Var weight, std::optional<Var> bias = {});
/// a (…, m, k), b (…, k, n), the same leading sizes → (…, m, n). dA is a dgrad, dB a wgrad.
template <std::floating_point T>
Var matmul(Tape<T>& tape, Var a, Var b);

struct Window {
  std::size_t size = 1, stride = 1, padding = 0;
};
/// x (n, c, h, w), weight (o, c, size, size), bias (o) or none → (n, o, oh, ow), as an implicit product
/// with K = (kernel row, kernel column, channel), channels fastest, as NHWC kernels have it.
template <std::floating_point T>
Var conv2d(Tape<T>& tape, Var x, Var weight, std::optional<Var> bias, const Window& window);
/// softmax(q·kᵀ/√d + mask)·v: q, k, v (…, t, d); causal: later positions are masked. Under autocast q, k and v
/// are cast to the low dtype and autocast is off within, as PyTorch's. Without `kind` it is the tape's
/// ProductSettings::attention.
template <std::floating_point T>
Var scaled_dot_product_attention(Tape<T>& tape, Var q, Var k, Var v, bool causal,
                                 std::optional<Attention> kind = {});

// Elementwise (ops_elementwise.cpp): the shorter shape, where it is the other's end, is repeated.

template <std::floating_point T>
Var add(Tape<T>& tape, Var a, Var b);
template <std::floating_point T>
Var sub(Tape<T>& tape, Var a, Var b);
template <std::floating_point T>
Var mul(Tape<T>& tape, Var a, Var b);
template <std::floating_point T>
Var div(Tape<T>& tape, Var a, Var b);
/// x·factor, in x's dtype.
template <std::floating_point T>
Var scale(Tape<T>& tape, Var x, T factor);
template <std::floating_point T>
Var exp(Tape<T>& tape, Var x);
template <std::floating_point T>
Var log(Tape<T>& tape, Var x);
/// x^exponent for a whole exponent, by repeated multiplication.
template <std::floating_point T>
Var pow(Tape<T>& tape, Var x, int exponent);

// Activations (ops_activation.cpp).

template <std::floating_point T>
Var relu(Tape<T>& tape, Var x);
template <std::floating_point T>
Var tanh(Tape<T>& tape, Var x);
template <std::floating_point T>
Var sigmoid(Tape<T>& tape, Var x);
/// x·Φ(x) by erf.
template <std::floating_point T>
Var gelu(Tape<T>& tape, Var x);
/// Over the last dimension, the largest value subtracted first.
template <std::floating_point T>
Var softmax(Tape<T>& tape, Var x);
template <std::floating_point T>
Var log_softmax(Tape<T>& tape, Var x);

// Normalisation (ops_norm.cpp). Statistics are biased variances, in T.

/// Over the last dimension; weight and bias (last), which may be of a wider dtype than x.
template <std::floating_point T>
Var layer_norm(Tape<T>& tape, Var x, Var weight, Var bias, T eps = static_cast<T>(1e-5));
/// x (n, c, h, w) in groups of channels; weight, bias (c).
template <std::floating_point T>
Var group_norm(Tape<T>& tape, Var x, std::size_t groups, Var weight, Var bias,
               T eps = static_cast<T>(1e-5));
/// Running statistics of batch_norm, in T; the variance kept is the unbiased one.
template <std::floating_point T>
struct RunningStatistics {
  std::vector<T> mean, variance;
  T momentum = static_cast<T>(0.1);
};
/// x (n, c, h, w) or (n, c) by channel; training: the batch's statistics, which `running` learns of.
template <std::floating_point T>
Var batch_norm(Tape<T>& tape, Var x, Var weight, Var bias, RunningStatistics<T>& running,
               bool training, T eps = static_cast<T>(1e-5));

// Pooling (ops_pool.cpp): x (n, c, h, w).

template <std::floating_point T>
Var max_pool2d(Tape<T>& tape, Var x, const Window& window);
template <std::floating_point T>
Var avg_pool2d(Tape<T>& tape, Var x, const Window& window);

// Shapes and look-up (ops_shape.cpp): no arithmetic forward.

template <std::floating_point T>
Var reshape(Tape<T>& tape, Var x, Shape shape);
/// Dimension i of the result is dimension order[i] of x.
template <std::floating_point T>
Var permute(Tape<T>& tape, Var x, const std::vector<std::size_t>& order);
/// x[i], without the first dimension.
template <std::floating_point T>
Var select(Tape<T>& tape, Var x, std::size_t i);
/// Rows of weight (v, d) → (indices.size(), d); gradients of a row used twice are added in T.
template <std::floating_point T>
Var embedding(Tape<T>& tape, Var weight, const std::vector<std::int32_t>& indices);

// Reductions and losses (ops_loss.cpp): scalars of shape (1); sums in halves (pairwise_sum).

template <std::floating_point T>
Var sum(Tape<T>& tape, Var x);
template <std::floating_point T>
Var mean(Tape<T>& tape, Var x);
/// Mean of -log_probabilities[i, target[i]].
template <std::floating_point T>
Var nll_loss(Tape<T>& tape, Var log_probabilities, const std::vector<std::int32_t>& target);
/// nll_loss of log_softmax: logits (n, classes).
template <std::floating_point T>
Var cross_entropy(Tape<T>& tape, Var logits, const std::vector<std::int32_t>& target);
template <std::floating_point T>
Var mse_loss(Tape<T>& tape, Var x, Var target);
/// Mean of max(x, 0) - x·t + log(1 + exp(-|x|)).
template <std::floating_point T>
Var binary_cross_entropy_with_logits(Tape<T>& tape, Var x, Var target);

}  // namespace binade

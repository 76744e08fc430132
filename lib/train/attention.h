// SPDX-License-Identifier: Apache-2.0
//
// The places where scaled_dot_product_attention of half-precision tensors rounds: they depend on
// the kernel that PyTorch chooses. On binary32 tensors the kernels differ in the order of sums and,
// with tf32, in which operands are rounded to tf32. The math path of PyTorch 2.0 to 2.4 is none of
// these rows: it multiplies q and k by the root of the scale and rounds each product.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace binade {

enum class Attention : std::uint8_t {
  /// FlashAttention-2 (Dao-AILab/flash-attention, flash_fwd_kernel.h, flash_bwd_kernel.h) with all
  /// keys in one block.
  /// Forward: scores, their exponentials and the sums are float, whatever accumulator other
  /// products have; the
  /// exponentials are rounded before they are multiplied by v; the output is divided by the sum of
  /// the unrounded
  /// exponentials and rounded once. Backward: the probabilities are recomputed in float from scores
  /// and log-sum-exp
  /// and rounded before the product that gives dV; their gradient, less rowsum(dO · O), is rounded
  /// before the
  /// products that give dQ and dK. On an H100, cuDNN's kernel and the memory-efficient kernel,
  /// which PyTorch uses on
  /// older GPUs, gave the same elements but for 26 of the 55 296 recorded ones.
  flash,
  /// _scaled_dot_product_attention_math of PyTorch 2.5 and later: q, k and v are widened to float,
  /// q and k are
  /// multiplied by the root of the scale, everything is computed in float, and the output and the
  /// three gradients
  /// are rounded once.
  math,
  /// _scaled_dot_product_attention of PyTorch 1.13 on half-precision tensors: q / √d, the scores,
  /// the masked scores,
  /// the softmax and the output are each rounded. (Under that version's autocast the softmax was
  /// cast to binary32.)
  low_precision,
};

/// The name of an Attention in options, and what it is, for help texts.
struct AttentionRow {
  std::string_view name, what;
};
inline constexpr std::array<AttentionRow, 3> attentions{
    {{"flash", "FlashAttention-2, as in PyTorch 2.11 on GPUs: scores and softmax in float"},
     {"math", "PyTorch 2.5's math path: q, k, v widened to float"},
     {"low_precision", "PyTorch 1.13 on FP16 tensors: scores, mask and softmax each rounded"}}};

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Whose attention: where scaled_dot_product_attention of half-precision tensors rounds, by the kernel that
// PyTorch takes. In binary32 they differ in the order of sums and, with tf32, in what is rounded to it. PyTorch 2.0 to
// 2.4 have a math path that is none of these: the root of the scale times q and k, each rounded.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace binade {

enum class Attention : std::uint8_t {
  /// FlashAttention-2 (Dao-AILab/flash-attention, flash_fwd_kernel.h, flash_bwd_kernel.h), all keys in one block:
  /// scores, their exponentials and sums in float, whatever accumulator other products have; exponentials rounded
  /// before they meet v, the output divided by their unrounded sum and rounded once. On an H100 cuDNN's and the
  /// memory-efficient kernel, which older GPUs take, give the same: all but 26 of 55 296 recorded
  /// elements. Backward: probabilities recomputed in float from scores and
  /// log-sum-exp, rounded before dV; their gradient, less rowsum(dO · O), rounded before dQ and dK.
  flash,
  /// _scaled_dot_product_attention_math of PyTorch 2.5 and later: q, k, v widened to float, everything in
  /// float, q and k times the root of the scale, the output and the three gradients rounded once.
  math,
  /// _scaled_dot_product_attention of PyTorch 1.13 on half-precision tensors: q / √d, scores, mask, softmax and output
  /// each rounded. (Under its autocast the softmax was cast to binary32.)
  low_precision,
};

struct AttentionRow {
  std::string_view name, what;
};
inline constexpr std::array<AttentionRow, 3> attentions{
    {{"flash", "FlashAttention-2, as in PyTorch 2.11 on GPUs: scores and softmax in float"},
     {"math", "PyTorch 2.5's math path: q, k, v widened to float"},
     {"low_precision", "PyTorch 1.13's of FP16 tensors: scores, mask and softmax each rounded"}}};

}  // namespace binade

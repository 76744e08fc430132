// SPDX-License-Identifier: Apache-2.0
//
// How many bytes a training needs: per parameter, by training mode and optimizer, and for the
// activations that are kept for the backward pass. This is arithmetic only: allocator overhead,
// fragmentation and workspaces are not counted.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace binade {

/// How a training keeps its weights, gradients and activations. Each number is in bytes per
/// element; 0 means that the mode keeps no such copy.
struct TrainingMode {
  std::string_view name;
  int weights;      ///< the weights of the model itself
  int master;       ///< a wider copy of the weights, which the optimizer updates
  int casts;        ///< narrow copies of the weights for the products, kept until the step ends
  int gradients;    ///< .grad of the weights
  int activations;  ///< an activation kept for the backward pass, in the products' format
  std::string_view what, source;

  /// Bytes of the copy that the optimizer updates. Its moments have the same type, since PyTorch
  /// makes them by zeros_like(p).
  constexpr int stepped() const { return master != 0 ? master : weights; }
};

inline constexpr std::array<TrainingMode, 8> training_modes{{
    {"fp32", 4, 0, 0, 4, 4, "O0: all binary32", "PyTorch's default types"},
    {"amp", 4, 0, 2, 4, 2, "O1, native autocast: binary32 weights, cached binary16 casts",
     "PyTorch: parameters and .grad stay FP32, casts cached until the outermost scope ends"},
    {"o2", 2, 4, 0, 2, 2, "O2: binary16 model, binary32 master weights",
     "ZeRO (1910.02054) 3.1: 2 + 2 + 12 with Adam; Apex adds 4 while FP32 gradients exist"},
    {"o3", 2, 0, 0, 2, 2, "O3: all binary16, no master weights", "Apex O3"},
    {"bf16_master", 2, 4, 0, 2, 2, "bfloat16 model, binary32 master weights",
     "as O2; 4 instead of 2 where gradients are summed in FP32"},
    {"bf16", 2, 0, 0, 2, 2, "all bfloat16, no master weights", "model.to(bfloat16)"},
    {"fp8", 4, 0, 2, 4, 1, "binary32 weights, e4m3 copies for the products",
     "Transformer Engine: a copy and its transpose (8-bit products want both operands K-major)"},
    {"fp8_bf16", 2, 0, 2, 2, 1, "bfloat16 weights, e4m3 copies for the products",
     "Transformer Engine: the same over a bfloat16 model"},
}};

struct OptimizerMoments {
  std::string_view name;
  int moments;  ///< values kept per parameter
};
/// One row for each of optimizers(), and one more for an optimizer that is called otherwise when it
/// has a momentum.
std::span<const OptimizerMoments> optimizer_moments();

struct BytesPerParameter {
  int weights = 0, master = 0, casts = 0, gradients = 0, moments = 0;

  constexpr int total() const { return weights + master + casts + gradients + moments; }
  friend constexpr bool operator==(const BytesPerParameter&, const BytesPerParameter&) = default;
};

/// Returns the bytes per parameter. With `fp32_moments` a moment takes 4 bytes; otherwise it takes
/// what the weight copy that the optimizer updates takes.
constexpr BytesPerParameter bytes_per_parameter(const TrainingMode& mode,
                                                const OptimizerMoments& optimizer,
                                                bool fp32_moments = false) {
  return {mode.weights, mode.master, mode.casts, mode.gradients,
          optimizer.moments * (fp32_moments ? 4 : mode.stepped())};
}

/// The size of a training. Each number may be at most `largest_count`, so that it times its bytes
/// stays below 2^64.
struct TrainingSize {
  std::uint64_t parameters = 0;
  std::uint64_t activations_per_sample = 0;  ///< elements kept for the backward pass
  std::uint64_t batch = 1;                   ///< samples

  friend constexpr bool operator==(const TrainingSize&, const TrainingSize&) = default;
};
inline constexpr std::uint64_t largest_count = std::uint64_t{1} << 53;

/// Memory in bytes.
struct MemoryUse {
  std::uint64_t state = 0;        ///< weights, copies, gradients and moments of all parameters
  std::uint64_t activations = 0;  ///< activations of the whole batch

  constexpr std::uint64_t total() const { return state + activations; }
};

/// Returns the memory that the training needs; nothing if the sum does not fit into 63 bits.
std::optional<MemoryUse> memory_use(const TrainingMode& mode, const BytesPerParameter& bytes,
                                    const TrainingSize& size);

/// Returns the largest number of parameters that fits into `memory` bytes beside the activations of
/// `size`; 0 if not even the activations fit.
std::uint64_t most_parameters(const TrainingMode& mode, const BytesPerParameter& bytes,
                              const TrainingSize& size, std::uint64_t memory);

/// Returns the largest batch, in samples, that fits into `memory` bytes beside the state of
/// `size`'s parameters; 0 if not even the state fits, nothing if a sample has no activations, so
/// that any batch would fit.
std::optional<std::uint64_t> largest_batch(const TrainingMode& mode, const BytesPerParameter& bytes,
                                           const TrainingSize& size, std::uint64_t memory);

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Bytes that training takes: per parameter by mode and optimizer, and the activations kept for the
// backward pass. Arithmetic only; no allocator, no fragmentation, no workspace.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace binade {

/// How weights, gradients and activations are kept. Bytes per element; 0: there is none.
struct TrainingMode {
  std::string_view name;
  int weights;      ///< the model's own
  int master;       ///< a wider copy that the optimizer steps
  int casts;        ///< narrow copies made for the products, kept until the step's end
  int gradients;    ///< .grad of the weights
  int activations;  ///< per activation kept for backward, in the products' format
  std::string_view what, source;

  /// What the optimizer steps, and so the type of its moments: PyTorch makes them zeros_like(p).
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
/// Of optimizers(), and behind one that has another name with a momentum that name: sgd, momentum, adam, adamw.
std::span<const OptimizerMoments> optimizer_moments();

struct BytesPerParameter {
  int weights = 0, master = 0, casts = 0, gradients = 0, moments = 0;

  constexpr int total() const { return weights + master + casts + gradients + moments; }
  friend constexpr bool operator==(const BytesPerParameter&, const BytesPerParameter&) = default;
};

/// `fp32_moments`: 4 bytes each, whatever is stepped.
constexpr BytesPerParameter bytes_per_parameter(const TrainingMode& mode,
                                                const OptimizerMoments& optimizer,
                                                bool fp32_moments = false) {
  return {mode.weights, mode.master, mode.casts, mode.gradients,
          optimizer.moments * (fp32_moments ? 4 : mode.stepped())};
}

/// What is trained. Products stay below 2^64 while each number is at most `largest_count`.
struct TrainingSize {
  std::uint64_t parameters = 0;
  std::uint64_t activations_per_sample = 0;  ///< elements kept for backward
  std::uint64_t batch = 1;                   ///< samples

  friend constexpr bool operator==(const TrainingSize&, const TrainingSize&) = default;
};
inline constexpr std::uint64_t largest_count = std::uint64_t{1} << 53;

struct MemoryUse {
  std::uint64_t state = 0;  ///< everything per parameter
  std::uint64_t activations = 0;

  constexpr std::uint64_t total() const { return state + activations; }
};

/// Nothing where the sum does not fit 63 bits.
std::optional<MemoryUse> memory_use(const TrainingMode& mode, const BytesPerParameter& bytes,
                                    const TrainingSize& size);

/// The largest model that fits beside the activations of `size`; 0: none.
std::uint64_t most_parameters(const TrainingMode& mode, const BytesPerParameter& bytes,
                              const TrainingSize& size, std::uint64_t memory);

/// The largest batch that fits beside the state of `size`; nothing without activations.
std::optional<std::uint64_t> largest_batch(const TrainingMode& mode, const BytesPerParameter& bytes,
                                           const TrainingSize& size, std::uint64_t memory);

}  // namespace binade

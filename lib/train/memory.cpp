// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of memory.h. The table of optimizers gives the numbers of moments; products are
// computed in 128 bits, so that no size wraps around.
#include "lib/train/memory.h"

#include <vector>

#include "emulate/codec.h"
#include "lib/train/optimizers.h"

namespace binade {
namespace {

uint128 state_bytes(const BytesPerParameter& bytes, const TrainingSize& size) {
  return static_cast<uint128>(size.parameters) * static_cast<unsigned>(bytes.total());
}

uint128 sample_bytes(const TrainingMode& mode, const TrainingSize& size) {
  return static_cast<uint128>(size.activations_per_sample) *
         static_cast<unsigned>(mode.activations);
}

}  // namespace

std::span<const OptimizerMoments> optimizer_moments() {
  static const std::vector<OptimizerMoments> rows = [] {
    std::vector<OptimizerMoments> out;
    for (const OptimizerRow& row : optimizers()) {
      out.push_back({row.name, moments_of(row, false)});
      if (!row.with_momentum.empty()) out.push_back({row.with_momentum, moments_of(row, true)});
    }
    return out;
  }();
  return rows;
}

std::optional<MemoryUse> memory_use(const TrainingMode& mode, const BytesPerParameter& bytes,
                                    const TrainingSize& size) {
  const uint128 state = state_bytes(bytes, size);
  const uint128 activation_bytes = sample_bytes(mode, size) * size.batch;
  if ((state + activation_bytes) >> 63 != 0) return std::nullopt;
  return MemoryUse{static_cast<std::uint64_t>(state), static_cast<std::uint64_t>(activation_bytes)};
}

std::uint64_t most_parameters(const TrainingMode& mode, const BytesPerParameter& bytes,
                              const TrainingSize& size, std::uint64_t memory) {
  const uint128 activation_bytes = sample_bytes(mode, size) * size.batch;
  if (activation_bytes > memory) return 0;
  return (memory - static_cast<std::uint64_t>(activation_bytes)) /
         static_cast<unsigned>(bytes.total());
}

std::optional<std::uint64_t> largest_batch(const TrainingMode& mode, const BytesPerParameter& bytes,
                                           const TrainingSize& size, std::uint64_t memory) {
  const uint128 sample = sample_bytes(mode, size);
  if (sample == 0) return std::nullopt;
  const uint128 state = state_bytes(bytes, size);
  if (state > memory) return 0;
  return static_cast<std::uint64_t>((memory - state) / sample);
}

}  // namespace binade

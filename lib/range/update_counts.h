// SPDX-License-Identifier: Apache-2.0
//
// Updates beside the weights they are subtracted from: how many are too small to be seen by a weight
// that is kept in 16 bits. Counted exactly, element by element; summaries of the two cannot say it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emulate/format.h"
#include "lib/number/exact_sum.h"

namespace binade {

/// The formats a weight may be kept in without a master copy.
inline constexpr std::array<NamedFormat, 2> weight_formats{
    {{"binary16", binary16, ""}, {"bfloat16", bfloat16, ""}}};

/// With h the weight rounded to the format (ties to even), an update u is lost where h - u, computed
/// exactly and rounded, is h again.
struct LostUpdates {
  std::uint64_t lost = 0;
  std::uint64_t overflow = 0;  ///< of the updates: h is not finite; never counted as lost
  ExactSum lost_squares;       ///< sum u² over the lost ones

  friend bool operator==(const LostUpdates&, const LostUpdates&) = default;
};

struct UpdateCounts {
  std::uint64_t values = 0;      ///< elements of the weight
  std::uint64_t updates = 0;     ///< of them, u finite and not zero, and the weight finite
  std::uint64_t below_2_11 = 0;  ///< of the updates: |u| < 2^-11·|weight|
  ExactSum squares;              ///< sum u² over the updates
  std::array<LostUpdates, weight_formats.size()> kept_in;

  friend bool operator==(const UpdateCounts&, const UpdateCounts&) = default;
};

void merge(UpdateCounts& a, const UpdateCounts& b);

/// sqrt(sum u² over the lost / sum u² over all); 0 without updates.
double lost_l2(const UpdateCounts& counts, std::size_t format);

/// Adds one element, given by its encodings: the definition.
void add_update(UpdateCounts& counts, std::uint64_t weight, const Format& weight_format,
                std::uint64_t update, const Format& update_format);

/// Equally many elements of a weight and its update, little-endian, at any alignment.
struct UpdateElements {
  const std::byte* weights;
  Format weight_format;
  const std::byte* updates;
  Format update_format;
  std::size_t n;
};

/// Adds them on all threads, to the counts of each (thread_count() of them).
void add_updates(std::vector<UpdateCounts>& slots, const UpdateElements& elements);

/// All of them together.
UpdateCounts merged(const std::vector<UpdateCounts>& slots);

}  // namespace binade

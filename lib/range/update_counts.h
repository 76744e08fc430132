// SPDX-License-Identifier: Apache-2.0
//
// Updates, compared with the weights that they are subtracted from: how many are too small to
// change a weight that is kept in 16 bits. They are counted exactly, element by element, because
// the summaries of the two tensors do not hold the pairs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "emulate/format.h"
#include "lib/number/exact_sum.h"

namespace binade {

/// The formats that a weight may be kept in without a master copy in float32.
inline constexpr std::array<NamedFormat, 2> weight_formats{
    {{"binary16", binary16, ""}, {"bfloat16", bfloat16, ""}}};

/// Lost updates of weights in one format. With h the weight rounded to the format (ties to even),
/// an update u is lost if h - u, computed exactly and then rounded, is h again.
struct LostUpdates {
  std::uint64_t lost = 0;
  std::uint64_t overflow = 0;  ///< updates whose h is not finite; they are never counted as lost
  ExactSum lost_squares;       ///< sum of u² over the lost updates

  friend bool operator==(const LostUpdates&, const LostUpdates&) = default;
};

/// What became of updates that were asked for, whatever format the weight has: those that left the
/// weight as it was are lost. Whoever watches a training fills it; pairs of tensors do not tell
/// what was asked for.
struct HeldUpdates {
  /// Sizes of lost updates u beside a weight's ulp: at 0 those with |u| >= ulp, at k those with
  /// 2^-k·ulp <= |u| < 2^(1-k)·ulp, at the last place all smaller ones.
  static constexpr std::size_t sizes = 32;

  std::uint64_t asked = 0;    ///< elements with a gradient and a learning rate that are not zero
  std::uint64_t lost = 0;     ///< of these
  std::uint64_t unknown = 0;  ///< of the lost, those whose size the optimizer's states do not tell
  std::uint64_t decay_asked = 0;  ///< elements that weight decay was to change
  std::uint64_t decay_lost = 0;   ///< of these
  std::uint64_t idle = 0;         ///< elements with a gradient, at a learning rate of zero
  std::array<std::uint64_t, sizes> lost_by_size{};

  /// Returns the least x from -30 to 1 for which half of the lost updates of a known size, or more,
  /// are below 2^x of their weight's ulp; nothing if there are none.
  std::optional<int> median_log2_of_ulp() const;
  bool any() const { return asked != 0 || decay_asked != 0 || idle != 0; }
  friend bool operator==(const HeldUpdates&, const HeldUpdates&) = default;
};

struct UpdateCounts {
  std::uint64_t values = 0;      ///< elements of the weight
  std::uint64_t updates = 0;     ///< elements with a finite non-zero u and a finite weight
  std::uint64_t below_2_11 = 0;  ///< updates with |u| < 2^-11·|weight|; no update of a zero
  ExactSum squares;              ///< sum of u² over the updates
  /// The updates that a weight kept in each of weight_formats loses.
  std::array<LostUpdates, weight_formats.size()> kept_in;
  HeldUpdates held;

  friend bool operator==(const UpdateCounts&, const UpdateCounts&) = default;
};

/// Adds b to a.
void merge(HeldUpdates& a, const HeldUpdates& b);
void merge(UpdateCounts& a, const UpdateCounts& b);

/// Returns sqrt(sum of u² over the lost updates / sum of u² over all updates), where `format` is an
/// index into weight_formats, as root_share_of() rounds it; 0 if there are no updates.
double lost_l2(const UpdateCounts& counts, std::size_t format);

/// Adds one element, given by its encodings. This is the definition of the counts.
void add_update(UpdateCounts& counts, std::uint64_t weight, const Format& weight_format,
                std::uint64_t update, const Format& update_format);

/// Elements of a weight and as many of its update, little-endian, at any alignment.
struct UpdateElements {
  const std::byte* weights;
  Format weight_format;
  const std::byte* updates;
  Format update_format;
  std::size_t n;
};

/// Adds the elements on all threads. `slots` has the counts of each thread, thread_count() in all.
void add_updates(std::vector<UpdateCounts>& slots, const UpdateElements& elements);

/// Returns the sum of the counts of all threads.
UpdateCounts merged(const std::vector<UpdateCounts>& slots);

}  // namespace binade

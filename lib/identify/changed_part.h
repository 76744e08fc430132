// SPDX-License-Identifier: Apache-2.0
//
// A mistake in some of the elements alone, where a model gives the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/gemm/gemm.h"
#include "lib/identify/change.h"

namespace binade {

/// A change, with the smaller case on which it was measured and to which it may refer.
struct PartChange {
  Change change;
  std::shared_ptr<const KernelCase> part;
};

/// Returns the change under which a model gives most of these elements, of which it gives none as
/// the case is, if one brings them nearer. It is counted on some of them.
std::optional<PartChange> change_of_part(const KernelCase& given,
                                         std::span<const std::size_t> wrong,
                                         const GemmModel& model);

/// Whether a mistake makes so many of those equal that are wrong without it that it is their
/// cause: half of two lines, or of two groups, is equal by chance.
inline bool is_cause_of(std::size_t equal, std::size_t wrong) { return 3 * equal >= 2 * wrong; }

/// Returns a change and where the elements lie that a model gets wrong without it: by the sign of
/// the model's sums, or by rows and columns.
std::string part_words(const KernelCase& given, std::span<const std::size_t> wrong,
                       const std::vector<std::uint64_t>& emulated, const Change& change,
                       std::size_t equal);

}  // namespace binade

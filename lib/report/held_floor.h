// SPDX-License-Identifier: Apache-2.0
//
// Gradients that lie at the floor of the format that a run held them in. What was smaller there is
// zero, asks for no loss scale any more, and leaves open from which scale on too little is lost.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "lib/report/named_tensors.h"
#include "lib/report/tensor_report.h"

namespace binade {

/// log2 of the multiples of the smallest subnormal up to which a value lies at the floor, and the
/// share of the L2 norm in such values from which on what became zero may matter: normally
/// distributed values with this share, and a deviation of about 50 smallest subnormals, lose 0.05 %
/// of their norm.
inline constexpr int floor_binades = 4;
inline constexpr double floor_share = 0.1;

/// Returns whether any of the tensors is in binary16, so that others, in binary32, may be sums or
/// casts of what was.
bool any_in_half(std::span<const NamedTensor> tensors);

/// Returns the narrow format that gradients of a dtype were held in, if any. With `any_half`, those
/// in binary32 of which no value lies below binary16's floor are taken for ones that were held in
/// binary16, if they have at least 64 values: others have smaller ones. nonzero: how many of their
/// values are finite and not zero. least_exponent: that of the smallest of these, times the loss
/// scale in use.
std::optional<Format> held_in(std::string_view dtype, bool any_half, std::uint64_t nonzero,
                              int least_exponent);

/// Returns the share of the L2 norm in values that lie at a format's floor at a scale; nothing
/// without a finite value that is not zero.
std::optional<double> share_at_floor(const RangeSummary& summary, const Norms& of,
                                     const Format& format, int scale_log2);

/// Returns whether a tensor is a gradient that binds a loss scale, more than floor_share of its L2
/// norm lies at the floor of its dtype, and some of its values are zero. Gradients of a counted run
/// are divided by the loss scale in use, and so is the floor.
bool lies_at_floor(const TensorReport& tensor, const NamedTensor& named, bool any_half);

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// A RangeSummary as bytes, exactly, to be kept beside a checkpoint, or sent from rank to rank and
// merged there.
//
//   "binade.range/1\n\0"                                   16 bytes: name and version
//   values, zeros, nan, inf, negative                      uint64 each; all integers are little-endian
//   smallest, largest                                      exponent int64, significand uint64 (0: there is none)
//   number of columns, and for each:                       uint64
//     format's name (16 bytes, zeros after it), scale_log2 (int64),
//     first limb, number of limbs, limbs                   of its squared error, in units of 2^-2304, uint64
//   number of binades, and for each, rising:               uint64
//     exponent (int64), 9 counts (uint64), 9 sums (uint128), sum of squares (3 limbs)
//   FNV-1a of all bytes above, 64 bits
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "lib/range/summary.h"

namespace binade {

/// Returns the bytes of a summary. Throws Error if one of its columns is in a format that is not in
/// report_formats. Equal summaries give equal bytes.
std::vector<std::byte> bytes_of(const RangeSummary& summary);

/// Returns the summary whose bytes these are. Throws Error for any other bytes, also for bytes with
/// a right checksum whose numbers break an inequality that holds for every set of values.
RangeSummary summary_from_bytes(std::span<const std::byte> bytes);

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// A part of a report as a file of counts: what one of several processes has counted. All parts
// together add up to what a single process would count.
//
//   "binade.part/1\n\0\0"                       16 bytes
//   binade's version, options, inputs           a text each (part_bytes.h)
//   part, parts                                 which part it is, from 1, and of how many
//   number of tensors, and for each:            those of this part, in the order of the inputs
//     number of the tensor, summary             among the floating tensors of all inputs, from 0; a
//                                               text (lib/range/summary_bytes.h)
//   number of updates, and for each:            those of this part, in the order of the inputs
//     number of the update, counts              among the pairs of weight and update of all inputs,
//                                               from 0; a text (counts_bytes.h)
//   the checksum                              FNV-1a of all bytes before it (counts_file.h)
//
// Each number and the checksum is an integer of 64 bits, little-endian (counts_bytes.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "lib/report/counts_bytes.h"

namespace binade {

/// A part's number, from 1, and the number of parts.
struct PartOf {
  std::uint64_t part = 1, parts = 1;
};
/// The most parts that a report may be cut into.
inline constexpr std::uint64_t most_parts = 65536;

inline constexpr CountsKind part_kind{
    .magic = {"binade.part/1\n\0\0", 16},
    .any_version = "binade.part/",
    .noun = "part of a report",
    .where_from = "name files that this binade's report --part wrote",
    .again = "make the part again (binade report --part)"};

}  // namespace binade

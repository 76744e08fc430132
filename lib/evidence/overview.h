// SPDX-License-Identifier: Apache-2.0
//
// The instructions of an architecture, grouped by what they compute and how anyone knows it, as
// `binade architectures` shows them.
#pragma once

#include <string>
#include <vector>

#include "lib/evidence/evidence.h"

namespace binade {

/// Instructions of one model about which the same is known.
struct InstructionGroup {
  std::vector<Instruction> instructions;
  Knowledge known;
};

/// Returns the groups of an architecture, in the order of the tables. For wgmma and tcgen05 they
/// hold only the widest n of each m.
std::vector<InstructionGroup> groups_of(int sm);

/// Returns the instructions of a group: "mma k8 k16, wmma k16"; with the scales that products
/// share, "mma k64 ue4m3/16".
std::string shapes_text(const InstructionGroup& group);
/// Returns the types of a group: "f16 → f32", "fp8 → f16", "f16, c f32 → f16".
std::string types_text(const InstructionGroup& group);
/// Returns L, F and the floor of a fused sum, or words for another recipe, in 13 columns.
std::string numbers_text(const DotModel& model);
/// Returns how a sum is rounded: "cut", "nearest, + c", "cut to 14 b".
std::string rounded_text(const Instruction& instruction);

/// Returns the table of an architecture, at most 120 columns wide: a head, and for each group a
/// line with a letter for each aspect. Sparse groups of which nothing more is known than of dense
/// ones are a line for their family. sm must be one of the table of architectures, here and in
/// evidence_in_full.
std::string overview_text(int sm);
/// Returns what the letters and columns mean.
std::string overview_legend();
/// Returns every aspect of every group with its evidence, source and rivals, and the ranges of the
/// recorded rows.
std::string evidence_in_full(int sm);
/// Returns what the names of the rivals mean.
std::string evidence_legend();

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// The instructions of an architecture, gathered by what they compute and how anyone knows: what
// `binade architectures` shows.
#pragma once

#include <string>
#include <vector>

#include "lib/evidence/evidence.h"

namespace binade {

/// Instructions of one model, of which the same is known.
struct InstructionGroup {
  std::vector<Instruction> instructions;
  Knowledge known;
};

/// In the order of the tables; of wgmma and tcgen05 the widest n of each m only.
std::vector<InstructionGroup> groups_of(int sm);

/// "mma k8 k16, wmma k16"
std::string shapes_text(const InstructionGroup& group);
/// "f16 → f32", "fp8 → f16", "f16, c f32 → f16"
std::string types_text(const InstructionGroup& group);
/// L, F and floor in columns, or what else it is: 13 columns.
std::string numbers_text(const DotModel& model);
/// "cut", "nearest, + c", "cut to 13 bits"
std::string rounded_text(const Instruction& instruction);

/// An architecture in at most 120 columns: head, a line a group, a letter an aspect.
std::string overview_text(int sm);
/// What the letters mean.
std::string overview_legend();
/// Every aspect of every group: word, source, rows, rivals; and the ranges of the rows.
std::string evidence_in_full(int sm);
/// What the rivals are.
std::string evidence_legend();

}  // namespace binade

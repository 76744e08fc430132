// SPDX-License-Identifier: Apache-2.0
//
// What is recorded of a device's Tensor Core instructions: which rows of each, a file per instruction.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/device/recording.h"
#include "lib/device/row_plan.h"

namespace binade {

/// Every instruction of an architecture in every form that has results of its own: integers that wrap
/// and that saturate, both operations of b1, f64 in all four roundings, wgmma without c, with minus a
/// and with minus b.
std::vector<Instruction> recorded_instructions(int sm);

/// Rows of an instruction with the plan that makes them; without a plan they are kept in the file, and
/// without rows the instruction is passed over.
struct RowsToRecord {
  RowPlan plan;
  Dots dots;
  std::string note = {};  ///< for who waits
};
using RowSource = std::function<RowsToRecord(const Instruction& instruction)>;

/// The rows that are recorded of an instruction: many where its model is in question, fewer of forms
/// that share it (wmma, sparse ones) or are settled (f64, integers), so that those of sm_90 take less
/// than 10 MB.
RowPlan recorded_rows(const Instruction& instruction);

/// One instruction: written, skipped or kept.
struct RecordedFile {
  std::string instruction;
  std::string path;     ///< empty: skipped
  std::string skipped;  ///< why
  std::uint64_t rows = 0;
  std::string note = {};  ///< of the rows' source
  bool kept = false;      ///< it was there and was left alone
};
using RecordSink = std::function<void(const RecordedFile& file)>;

struct RecordWhat {
  std::string folder;  ///< that is there
  std::string words;   ///< only instructions whose name has this in it; empty: all
  std::string date;    ///< for the metadata
  std::uint64_t seed = 1;
  bool resume = false;  ///< leave instructions alone whose file is there
};

/// Writes FOLDER/INSTRUCTION.safetensors for each; files that are there are replaced, or kept. The rows are those of
/// recorded_rows, or of `source`. Error where the architecture is unknown.
void record_dots(Device& device, const RecordWhat& what, const RecordSink& sink,
                 const RowSource& source = {});

/// What a recording says of where it comes from.
RecordingInfo origin_of(const DeviceInfo& device, const std::string& date);

}  // namespace binade

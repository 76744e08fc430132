// SPDX-License-Identifier: Apache-2.0
//
// Recording a device's Tensor Core instructions: which instructions, which rows of each, and one
// file for each instruction.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/device/kept_recording.h"
#include "lib/device/recording.h"
#include "lib/device/row_plan.h"

namespace binade {

/// Returns every instruction of an architecture in every form whose results may differ: integers
/// that wrap and that saturate, both operations of b1, f64 in all four roundings, wgmma without c,
/// with minus a and with minus b.
std::vector<Instruction> instruction_forms(int sm);

/// Rows of an instruction and the plan that makes them. If the plan is empty, the file will hold
/// the operands too; if there are no rows, the instruction is not recorded.
struct RowsToRecord {
  RowPlan plan;
  Dots dots;
  std::string note = {};  ///< a remark for RecordedFile::note
};
using RowSource = std::function<RowsToRecord(const Instruction& instruction)>;

/// Returns the rows that are recorded of an instruction: many where they decide its model, fewer of
/// instructions that share another's model (wmma, sparse ones) or whose model is settled (f64,
/// integers), so that the recordings of sm_90 take less than 10 MB.
RowPlan recorded_rows(const Instruction& instruction);

/// What became of one instruction: its file was written, skipped or kept.
struct RecordedFile {
  std::string instruction;
  std::string path;     ///< file that was written; empty if none was
  std::string skipped;  ///< reason why the device could not run it; empty if it could
  std::uint64_t rows = 0;
  std::string note = {};  ///< RowsToRecord::note
  bool kept = false;      ///< whether its recording was there already and was left unchanged
};
using RecordSink = std::function<void(const RecordedFile& file)>;

struct RecordWhat {
  std::string folder;  ///< where files are written; it exists
  std::string words;   ///< only instructions whose name contains this are recorded; empty: all
  std::string date;    ///< for the metadata
  std::uint64_t seed = 1;
  bool resume =
      false;  ///< whether whole recordings of this run that are there are left as they are
  DamageTold damaged = [](const std::string&) {};  ///< of a file that is recorded anew on resuming
};

/// Writes FOLDER/INSTRUCTION.safetensors for each instruction and calls `sink` after each that has
/// rows. The rows are those of recorded_rows, or of `source` if it is given. Existing files are
/// replaced, or, with `resume`, kept if they are whole recordings of this run (is_recorded). Throws
/// Error if the device's architecture is unknown, if a file cannot be written or, before anything
/// is recorded, if resuming finds a whole recording of other settings.
void record_dots(Device& device, const RecordWhat& what, const RecordSink& sink,
                 const RowSource& source = {});

/// Returns the metadata of a recording that describe the device and the date.
RecordingInfo origin_of(const DeviceInfo& device, const std::string& date);

}  // namespace binade

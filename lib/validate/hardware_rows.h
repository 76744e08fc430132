// SPDX-License-Identifier: Apache-2.0
//
// Reads a folder of public hardware rows: sets.json lists the sets, and files
// {GPU}_{input}_{field}.npy hold their rows.
#pragma once

#include <string>
#include <vector>

#include "lib/gemm/dot_files.h"

namespace binade {

struct HardwareSet {
  std::string source;  ///< "FOLDER: H200 fp16 to fp32"
  Instruction instruction;
  std::string gpu;
  bool independent = true;  ///< false: sets.json says that it copies another set
  DotFiles files;
  std::uint64_t rows = 0;  ///< 0: sets.json does not say
};

/// Returns whether the folder has a sets.json.
bool holds_hardware_rows(const std::string& folder);

/// Returns the sets of a folder, in the order of sets.json. Throws Error with the set and the key
/// that is wrong, or if sets.json is no JSON list or an empty one.
std::vector<HardwareSet> read_hardware_sets(const std::string& folder);

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// A counted run as a file of counts: run.binade.
//
//   "binade.run/1\n\0\0\0"                      16 bytes
//   every, notes                                Watched::every, a list of texts
//   first value that was not finite             a text, JSON (watched.h); empty: none
//   windows                                     a list: first, last, steps, bits of the loss scale
//                                               (binary64; 0: none)
//   columns of squared errors                   a list: format's name, log2 of the scale
//   tensors, by rising step                     a list: step, layer, role, dtype's name, whether it
//                                               has a shape, shape, values
//   updates, by rising step                     a list: step, layer, counts (a text)
//   summaries, in the order of the tensors      each a text (lib/range/summary_bytes.h)
//   the checksum
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/io/input_file.h"
#include "lib/report/counts_tensor_file.h"

namespace binade {

/// Writes the run and its summaries, one for each of its tensors. Throws Error as check_run() does,
/// or if the file cannot be written.
void write_run(const RunCounts& run, const std::vector<RangeSummary>& summaries,
               const std::string& path);

/// Opens a file that begins as a counted run. Throws Error if it is damaged. Everything is checked,
/// the checksum of the file included, but the numbers in the summaries, which are checked when each
/// is read.
std::unique_ptr<TensorFile> open_run(const std::shared_ptr<const InputFile>& file);

}  // namespace binade

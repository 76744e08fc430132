// SPDX-License-Identifier: Apache-2.0
//
// Which recordings of a run that was interrupted are done: files that can be read wholly and are
// what the run that goes on would write. What the device gave is theirs; device, instruction, rows
// and seed must be the same.
#pragma once

#include <functional>
#include <string>

#include "lib/device/recording.h"
#include "lib/device/scalar_recording.h"

namespace binade {

/// Called with the Error of a file that is there and is no whole recording.
using DamageTold = std::function<void(const std::string& error)>;

/// Returns whether the file is the recording that a run with the metadata `wanted` would write: all
/// of them count but date, sass and, where a generator makes the inputs, input_hash, which is then
/// the file's own to keep. Returns false if there is no file, and if it is damaged or incomplete,
/// which `damaged` is told. Throws Error, which names the setting that differs, for the recording
/// of other settings, and FileError if the file cannot be read.
bool is_recorded(const std::string& path, const RecordingInfo& wanted,
                 const Instruction& instruction, const DamageTold& damaged);

/// The same for a scalar instruction; the hash and the values of d are not compared.
bool is_recorded(const std::string& path, const ScalarRecording& wanted, const DamageTold& damaged);

}  // namespace binade

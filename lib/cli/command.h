// SPDX-License-Identifier: Apache-2.0
//
// The commands of the program as rows of a table: each file in this folder whose name ends in _command.cpp defines one
// row, and program.cpp lists them.
#pragma once

#include "lib/cli/parser.h"

namespace binade {

/// Exit statuses of the program, besides 0 for success.
inline constexpr int exit_different = 1;     ///< two things were compared and differ
inline constexpr int exit_bad_input = 2;     ///< arguments or files cannot be used
inline constexpr int exit_no_hardware = 77;  ///< the device that was requested is not there
inline constexpr int exit_skipped = 77;  ///< nothing could be measured, because data are missing

/// A command. `define` declares its options on `app` and sets a callback that does the work; the callback sets `status`,
/// the exit status, or throws Error, which ends the program with exit_bad_input.
struct Command {
  const char* name;
  const char* summary;  ///< a phrase for the list of commands in `binade --help`
  const char* about;    ///< whole sentences, with which the command's own --help begins
  void (*define)(App app, int& status);
};

extern const Command report_command;
extern const Command merge_command;
extern const Command formats_command;
extern const Command show_command;
extern const Command quantize_command;
extern const Command arith_command;
extern const Command check_command;
extern const Command cases_command;
extern const Command architectures_command;
extern const Command gemm_command;
extern const Command identify_command;
extern const Command validate_command;
extern const Command explain_command;
extern const Command experiment_command;
extern const Command train_command;
extern const Command sweep_command;
extern const Command device_command;
extern const Command record_command;
extern const Command advise_command;
extern const Command autocast_command;
extern const Command completion_command;

}  // namespace binade

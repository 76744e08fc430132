// SPDX-License-Identifier: Apache-2.0
//
// The subcommands of the program as a table: each file in this folder that ends in _command.cpp
// defines one row.
#pragma once

#include "lib/cli/options.h"

namespace binade {

/// Exit statuses of the program, besides 0.
inline constexpr int exit_different = 1;     ///< compared, and different
inline constexpr int exit_bad_input = 2;     ///< arguments or files that cannot be used
inline constexpr int exit_no_hardware = 77;  ///< asked for a device that is not there
inline constexpr int exit_skipped = 77;      ///< nothing could be measured: data are missing

/// `define` declares the options on `app` and sets a callback that does the work; the callback
/// sets `status`, or throws Error, which ends the program with exit_bad_input.
struct Command {
  const char* name;
  const char* summary;
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

}  // namespace binade

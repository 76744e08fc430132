// SPDX-License-Identifier: Apache-2.0
//
// The commands of the program as rows of a table. lib/meson.build lists their names;
// NAME_command.cpp in this folder defines the row of NAME.
#pragma once

#include <array>

#include "lib/cli/parser.h"

namespace binade {

/// Exit statuses of the program, besides 0 for success.
inline constexpr int exit_different = 1;     ///< two things were compared and differ
inline constexpr int exit_bad_input = 2;     ///< arguments or files cannot be used
inline constexpr int exit_no_hardware = 77;  ///< the device that was requested is not there
inline constexpr int exit_skipped = 77;  ///< nothing could be measured, because data are missing

/// A command. `define` declares its options on `app` and sets a callback that does the work; the
/// callback sets `status`, the exit status, or throws Error, which ends the program with
/// exit_bad_input.
struct Command {
  const char* name;
  const char* summary;  ///< a phrase for the list of commands in `binade --help`
  const char* about;    ///< whole sentences, with which the command's own --help begins
  void (*define)(App app, int& status);
  const char*
      tour;  ///< where the command is shown at work: a link in Markdown, as README.md has it
};

#define BINADE_DECLARED(name) extern const Command name##_command;
BINADE_COMMANDS(BINADE_DECLARED)
#undef BINADE_DECLARED

/// The table, in the order of `binade --help`.
inline constexpr std::array commands{
#define BINADE_ROW(name) &name##_command,
    BINADE_COMMANDS(BINADE_ROW)
#undef BINADE_ROW
};

}  // namespace binade

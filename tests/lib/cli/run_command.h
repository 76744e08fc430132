// SPDX-License-Identifier: Apache-2.0
//
// Runs one row of the program's table of commands inside a test and catches what it prints.
#pragma once

#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "lib/cli/command.h"
#include "lib/text/error.h"

namespace binade {

/// Returns what a command printed, or "error: " and the message of the Error that it threw or the
/// exit status that it returned.
inline std::string output_of(const Command& command, const std::vector<std::string>& arguments) {
  std::ostringstream printed;
  std::streambuf* const before = std::cout.rdbuf(printed.rdbuf());
  std::string error;
  try {
    int status = -1;
    const Program program("", "binade", "");
    command.define(program.add_subcommand(command.name, ""), status);
    std::vector<const char*> words{"binade", command.name};
    for (const std::string& argument : arguments) words.push_back(argument.c_str());
    program.parse(static_cast<int>(words.size()), words.data());
    if (status != 0) error = "status " + std::to_string(status);
  } catch (const Error& e) {
    error = e.what();
  }
  std::cout.rdbuf(before);
  return error.empty() ? printed.str() : "error: " + error;
}

}  // namespace binade

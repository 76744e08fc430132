// SPDX-License-Identifier: Apache-2.0
//
// The program's commands as a table, and the one place where an exception becomes a line on
// standard error and an exit status.
#include "lib/program.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "emulate/fast/kernels.h"
#include "lib/cli/command.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"
#include "lib/version.h"

namespace {

constexpr const char* description =
    "binade tells what becomes of numbers in FP16, BF16, TF32 and FP8, and computes what Tensor "
    "Cores compute, bit for bit. Start with `binade report GRADIENTS.safetensors -o report.html`; "
    "`binade COMMAND --help` explains a command.";

std::string statuses_and_environment() {
  return "Exit status (each command's help says what they mean for it):\n"
         "  0   it did its work\n"
         "  1   things that it compared differ\n"
         "  2   an argument or a file cannot be used; a line on standard error says what, where "
         "and "
         "what to do\n"
         "  77  there is no GPU, or data are missing\n\n"
         "Environment:\n"
         "  BINADE_THREADS  number of threads (default: one for each processor)\n"
         "  BINADE_ISA      the most that kernels may use: " +
         binade::alternatives(binade::names_of(binade::levels)) +
         " (default: what the\n"
         "                  machine has); results are the same\n"
         "  BINADE_DATA     folder of the experiments' data\n"
         "  NO_COLOR        if it is set, colours are switched off";
}

/// Throws Error if the first argument is no command, with the name that is spelled nearest. CLI11
/// itself would say that a command is missing.
void check_first_word(int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string_view> names;
  for (const binade::Command* command : binade::commands) names.emplace_back(command->name);
  if (std::ranges::find(names, argv[1]) != names.end()) return;
  throw binade::Error("no command '" + binade::printable(argv[1]) + "'" +
                      binade::did_you_mean(argv[1], names) + "; there are " +
                      binade::listed(names));
}

/// Opens something for each standard stream that the caller closed, so that no file that is opened
/// later takes its place: reading ends at once, what is written to standard error is lost, and what
/// is written to standard output fails, also by its name /dev/stdout. Where there is no /dev, as in
/// an empty chroot, it is a pipe that nobody writes to. Returns whether standard output was closed.
bool fill_standard_streams() {
  bool output_was_closed = false;
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    const bool output = stream == STDOUT_FILENO;
    output_was_closed = output_was_closed || output;
    if (open(output ? "/dev/full" : "/dev/null", O_RDWR) >= 0) continue;
    if (std::array<int, 2> ends{}; pipe(ends.data()) == 0) close(ends[1]);
  }
  return output_was_closed;
}

int end_with(const char* line) {
  std::fflush(stdout);
  std::fprintf(stderr, "binade: %s\n", line);
  return binade::exit_bad_input;
}

/// Ends with what an exception that is no Error says, and what to do about it.
int end_with(const std::exception& error, std::string_view what_to_do) {
  return end_with(
      (binade::printable(error.what(), std::string::npos) + std::string(what_to_do)).c_str());
}

/// run_program() as long as there is memory. Throws std::bad_alloc, also from handlers of others.
int run_within_memory(int argc, const char* const* argv,
                      const std::function<void()>& on_exception) {
  const bool output_was_closed = fill_standard_streams();
  int status = 0;
  try {
    const binade::Program program(description, "binade", binade::version);
    for (const binade::Command* command : binade::commands) {
      command->define(program.add_subcommand(command->name, command->summary, command->about),
                      status);
    }
    program.footer(statuses_and_environment());
    check_first_word(argc, argv);
    program.parse(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout.flush()) {
      throw std::system_error(errno, std::generic_category(), "cannot write to standard output");
    }
  } catch (const binade::Error& error) {
    return end_with(error.what());
  } catch (const std::system_error& error) {  // the flush above, fmt::print, file names
    if (output_was_closed && std::ferror(stdout) != 0) {
      return end_with(
          "cannot write to standard output: it is closed; open it, or send it to a file");
    }
    if (std::ferror(stdout) != 0) {
      const std::string why = error.code().message();
      return end_with(
          ("cannot write to standard output: " + why + "; make room, or try again").c_str());
    }
    return end_with(error, "; make room, or try again");
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    if (on_exception) on_exception();
    return end_with(error, " (this should not happen; please report it)");
  }
  return status;
}

}  // namespace

int binade::run_program(int argc, const char* const* argv,
                        const std::function<void()>& on_exception) {
  try {
    return run_within_memory(argc, argv, on_exception);
  } catch (const std::bad_alloc&) {
    return end_with(out_of_memory);
  }
}

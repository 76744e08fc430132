// SPDX-License-Identifier: Apache-2.0
//
// The parser of the command line. Its classes have the names and functions of CLI11's, whose header
// only parser.cpp includes, because that costs more to compile than a command does. App and Option
// are handles, which are copied freely; what they point to lives as long as the Program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/cli/command_tree.h"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
class Option;
}  // namespace CLI

namespace binade {

struct OptionNotes;
struct ProgramNotes;

/// An option or a positional argument of a command. Each function adds a condition on its values,
/// or a property of its help, and returns the option again.
class Option {
 public:
  Option(CLI::Option* option, OptionNotes* notes) : option_(option), notes_(notes) {}

  Option required() const;
  Option capture_default_str() const;  ///< --help shows the variable's present value as the default
  Option group(const std::string& name) const;
  Option type_name(const std::string& name) const;
  Option delimiter(char between) const;
  Option expected(int values) const;
  Option expected(int least, int most) const;
  Option take_all() const;
  Option allow_extra_args(bool allow) const;
  Option needs(Option other) const;
  Option needs(const std::string& other) const;
  Option excludes(Option other) const;
  Option excludes(const std::string& other) const;

  Option positive() const;                 ///< values must be above 0
  Option within(int low, int high) const;  ///< values must lie in [low, high], both included
  Option within(std::uint64_t low, std::uint64_t high) const;
  Option one_of(const std::vector<std::string>& words) const;

  /// Has shells offer these words for a value; others may be given, too. They are made only when
  /// somebody asks for them.
  Option suggest(std::function<std::vector<std::string>()> words) const;
  /// The same for an option without delimiter() whose command takes lists with commas apart by
  /// itself.
  Option suggest_list(std::function<std::vector<std::string>()> words) const;
  /// Has shells offer files and folders. --help shows the type of an option (not of a positional)
  /// as FILE.
  Option suggest_files() const;

 private:
  CLI::Option* option_;
  OptionNotes* notes_;
};

/// The program, a command, or a command of a command (`binade validate dots`).
class App {
 public:
  App(CLI::App* app, ProgramNotes* notes) : app_(app), notes_(notes) {}

  /// Declares an option ("-r,--rounding") or a positional ("FILE"). `value` is written when the
  /// command line is parsed, so it must live until then. parser.cpp lists the types that T may be.
  template <typename T>
  Option add_option(const std::string& name, T& value, const std::string& help = "") const;
  /// Declares an option whose value names a file or a folder that the command writes. --help shows
  /// its type as OUT, by which a test finds it and checks that the command passes it to
  /// prepare_outputs.
  Option add_output(const std::string& name, std::string& value, const std::string& help) const;
  Option add_flag(const std::string& name, bool& value, const std::string& help = "") const;
  /// Declares a flag that may be given a value: alone it means the word `alone`; behind `=`, or in
  /// the next argument if that is one of `words`, stands another.
  Option add_flag(const std::string& name, std::string& value, std::string_view alone,
                  const std::vector<std::string>& words, const std::string& help) const;
  /// `summary` is a phrase for the list of commands; `about` is the paragraph with which the
  /// command's own help begins.
  App add_subcommand(const std::string& name, const std::string& summary,
                     const std::string& about = "") const;
  void require_subcommand(std::size_t least, std::size_t most) const;
  /// The text with which --help ends. Commands that are added later inherit it.
  void footer(const std::string& text) const;
  void allow_extras() const;  ///< words that no option took are kept for remaining()
  /// `act` is called once everything is parsed; it may throw.
  void callback(std::function<void()> act) const;

  std::size_t count(const std::string& option) const;  ///< how often the option was given
  std::vector<std::string> remaining() const;   ///< words that no option took, after allow_extras
  std::vector<std::string> long_names() const;  ///< names of all options: --help, --out …
  std::string chosen_subcommand() const;        ///< its name; empty if none was given
  CommandTree whole_program() const;            ///< all commands of the program that this is of

 protected:
  Option option_of(CLI::Option* option) const;

  CLI::App* app_;
  ProgramNotes* notes_;
};

/// The whole command line.
class Program : public App {
 public:
  Program(const std::string& description, const std::string& name,
          const std::string& version_number);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Parses the command line and calls the callbacks of the commands in it; or prints what --help
  /// or --version asks for. Exactly one command must be given. Throws Error if the arguments are
  /// wrong, and what a callback throws.
  void parse(int argc, const char* const* argv) const;

 private:
  std::unique_ptr<CLI::App> owned_;
  std::unique_ptr<ProgramNotes> owned_notes_;
};

}  // namespace binade

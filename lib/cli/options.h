// SPDX-License-Identifier: Apache-2.0
//
// The command line's parser, with CLI11's words for everything, and without CLI11: only options.cpp reads
// that header, which costs more to compile than a command does. App and Option are handles, copied freely;
// what they point to lives as long as the Program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
class Option;
}  // namespace CLI

namespace binade {

/// What an option is held to; each returns the option again.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required() const;
  Option capture_default_str() const;  ///< --help shows the value that the variable has now
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

  Option positive() const;
  Option within(int low, int high) const;
  Option within(std::uint64_t low, std::uint64_t high) const;
  Option one_of(const std::vector<std::string>& words) const;

 private:
  CLI::Option* option_;
};

/// A command or a command of a command.
class App {
 public:
  explicit App(CLI::App* app) : app_(app) {}

  /// `value` is written when the command line is parsed. options.cpp lists the types.
  template <typename T>
  Option add_option(const std::string& name, T& value, const std::string& help = "") const;
  /// A file or folder that the command writes: --help calls it OUT, and a test wants it to have been tried by
  /// prepare_outputs.
  Option add_output(const std::string& name, std::string& value, const std::string& help) const;
  Option add_flag(const std::string& name, bool& value, const std::string& help = "") const;
  App add_subcommand(const std::string& name, const std::string& summary) const;
  void require_subcommand(std::size_t least, std::size_t most) const;
  void footer(const std::string& text) const;
  void allow_extras() const;
  /// Called once everything is parsed; may throw.
  void callback(std::function<void()> act) const;

  std::size_t count(const std::string& option) const;  ///< how often it was given
  std::vector<std::string> remaining() const;          ///< words that no option took
  std::vector<std::string> long_names() const;         ///< of all options, each with its --
  std::string chosen_subcommand() const;               ///< empty: none

 protected:
  CLI::App* app_;
};

/// The whole command line.
class Program : public App {
 public:
  Program(const std::string& description, const std::string& name, const std::string& version);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Parses, and calls the callbacks; or prints what --help and --version ask for. Error where the
  /// arguments are wrong.
  void parse(int argc, const char* const* argv) const;

 private:
  std::unique_ptr<CLI::App> owned_;
};

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// The commands and options of the program as a value, with all that --help says of them. The parser
// makes it (parser.h), from what commands have declared; writers of shell completions and of the
// manual page read it.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace binade {

/// An option, a flag or a positional argument of a command.
struct OptionRow {
  std::vector<std::string> names =
      {};  ///< {"-o", "--html"}; of a positional its one name, {"FILE"}
  bool positional = false;
  std::string type = {};           ///< of a value, such as TEXT or OUT; empty for a flag
  std::string condition = {};      ///< on its values, such as "above 0"; empty if there is none
  std::string default_value = {};  ///< as --help shows it; empty if it shows none
  std::string help = {};
  std::string group = {};  ///< heading in --help under which the option stands
  bool required = false;
  bool repeats = false;                 ///< may be given several times
  int least = 0;                        ///< how many values it takes at least when it is given once
  int most = 0;                         ///< and at most: 0 for a flag, or `unlimited`
  std::vector<std::string> needs = {};  ///< names of options without which it cannot be given
  std::vector<std::string> excludes = {};  ///< names of options with which it cannot be given
  std::vector<std::string> words = {};     ///< what shells offer for a value
  bool list = false;   ///< a value may be several of these words, separated by commas
  bool files = false;  ///< a value names a file or a folder

  static constexpr int unlimited = std::numeric_limits<int>::max();
  bool is_flag() const { return most == 0; }
};

/// The program, a command, or a command of a command.
struct CommandTree {
  std::string name = {};     ///< with those of the commands above it: "binade validate dots"
  std::string word = {};     ///< its own name: "dots"
  std::string summary = {};  ///< a phrase for the list of commands
  std::string about = {};    ///< whole sentences, with which its --help begins
  std::string usage = {};    ///< binade validate dots [OPTIONS]
  std::string footer = {};   ///< with which its --help ends
  std::vector<OptionRow> options = {};  ///< positionals, too, in the order of --help
  std::vector<CommandTree> commands = {};
};

}  // namespace binade

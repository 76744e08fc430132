// SPDX-License-Identifier: Apache-2.0
//
// Writers of shell completions: each makes of the program's commands a script that a shell reads,
// and that knows commands, options, and the words and files that options take. A script does not
// call the program.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/cli/command_tree.h"

namespace binade {

std::string bash_completion(const CommandTree& program);
std::string zsh_completion(const CommandTree& program);
std::string fish_completion(const CommandTree& program);

// What the writers have in common.

/// Calls `act` for the command and all below it.
void for_each_command(const CommandTree& command,
                      const std::function<void(const CommandTree&)>& act);

/// The word between single quotes, as bash and zsh read it.
std::string shell_quoted(std::string_view word);

/// The beginning of an option's help, which fits in a line beside its name.
std::string brief_help(const OptionRow& option);

/// The different lists of words that options take.
class WordLists {
 public:
  explicit WordLists(const CommandTree& program);
  const std::vector<std::vector<std::string>>& all() const { return lists_; }
  std::size_t number_of(const OptionRow& option) const;  ///< from 0; the option has words

 private:
  std::vector<std::vector<std::string>> lists_;
};

}  // namespace binade

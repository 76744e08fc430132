// SPDX-License-Identifier: Apache-2.0
//
// Quoting, short helps and lists of words for the writers of completions.
#include "lib/cli/completion.h"

#include <algorithm>

#include "lib/text/paragraph.h"

namespace binade {

void for_each_command(const CommandTree& command,
                      const std::function<void(const CommandTree&)>& act) {
  act(command);
  for (const CommandTree& below : command.commands) for_each_command(below, act);
}

std::string shell_quoted(std::string_view word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string brief_help(const OptionRow& option) {
  constexpr std::size_t most_columns = 76;
  const std::string& help = option.help;
  std::size_t end = help.size();
  for (const char* const after : {"; ", ". ", " (default"}) end = std::min(end, help.find(after));
  std::string brief = help.substr(0, end);
  if (columns_of(brief) <= most_columns) return brief;
  std::size_t cut = most_columns;
  while (columns_of(brief.substr(0, cut)) < most_columns - 1) ++cut;  // some are more than a byte
  cut = brief.rfind(' ', cut);
  return brief.substr(0, cut == std::string::npos ? most_columns : cut) + " …";
}

WordLists::WordLists(const CommandTree& program) {
  for_each_command(program, [this](const CommandTree& command) {
    for (const OptionRow& option : command.options) {
      const bool known = std::ranges::find(lists_, option.words) != lists_.end();
      if (!option.words.empty() && !known) lists_.push_back(option.words);
    }
  });
}

std::size_t WordLists::number_of(const OptionRow& option) const {
  return static_cast<std::size_t>(std::ranges::find(lists_, option.words) - lists_.begin());
}

}  // namespace binade

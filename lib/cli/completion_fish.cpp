// SPDX-License-Identifier: Apache-2.0
//
// Writes the completion for fish: a function that tells at which command, option or positional the
// cursor stands, and a `complete` line for every command, option and positional, which asks it.
#include "lib/cli/completion.h"

namespace binade {
namespace {

constexpr const char* fish_head =
    R"(# Completion of binade for fish, written by `binade completion fish`. To have it in every shell:
#   binade completion fish > ~/.config/fish/completions/binade.fish

)";

constexpr const char* fish_functions = R"(
# Finds the command at which the cursor stands, how many positionals stand before it, and an option that may have another
# value there; once for each line, since every `complete` below asks for them.
function __binade_find
    set -l line (commandline -cp)
    test "$line" = "$__binade_line"; and return
    set -g __binade_line $line
    set -g __binade_path binade
    set -g __binade_position 0
    set -g __binade_option ''
    set -l must 0
    set -l may 0
    set -l plain 0
    set -l words (commandline -opc)
    for word in $words[2..-1]
        if test $must -gt 0
            set must (math $must - 1)
            set may (math $may - 1)
        else if test $plain = 0; and string match -q -- '--' "$word"
            set plain 1
            set may 0
        else if test $plain = 0; and string match -q -- '-?*' "$word"
            set __binade_option $word
            set -l values (__binade_values $__binade_path $word)
            set must $values[1]
            set may $values[2]
        else if test $may -gt 0
            set may (math $may - 1)
        else if test $__binade_position = 0; and contains -- "$word" (__binade_commands $__binade_path)
            set __binade_path "$__binade_path $word"
        else
            set __binade_position (math $__binade_position + 1)
        end
    end
    test $may -gt 0; or set __binade_option ''
end

# Whether the cursor stands at the command $argv[1]; with a number beside it, at the positional of this number, from 0, or
# one behind it if there is a + on the number; with an option beside it, at a further value of this option.
function __binade_at
    __binade_find
    test "$argv[1]" = "$__binade_path"; or return 1
    switch "$argv[2]"
        case ''
            return 0
        case '-*'
            contains -- $argv[2] $__binade_option
        case '*+'
            test -z "$__binade_option"; and test $__binade_position -ge (string trim -r -c + $argv[2])
        case '*'
            test -z "$__binade_option"; and test $__binade_position = $argv[2]
    end
end

# The words $argv behind the finished words of a list with commas.
function __binade_list
    set -l before (string match -r '.*,' -- (commandline -ct | string replace -r '^--[^=]*=' ''))
    for word in $argv
        string match -q -- "*,$word,*" ",$before"; or printf '%s\n' "$before$word"
    end
end

complete -c binade -f
)";

std::string fish_quoted(std::string_view word) {
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string fish_at(const CommandTree& command, const std::string& where = "") {
  return "complete -c binade -n " + fish_quoted("__binade_at " + fish_quoted(command.name) +
                                                (where.empty() ? "" : " ") + where);
}

/// The arguments of `complete` for what an option takes.
std::string fish_takes(const OptionRow& option, const WordLists& lists) {
  if (option.words.empty()) return option.files ? " -F" : " -f";
  const std::string words = "__binade_words " + std::to_string(lists.number_of(option));
  return " -f -k -a '(" + (option.list ? "__binade_list (" + words + ")" : words) + ")'";
}

std::string fish_option(const CommandTree& command, const OptionRow& option,
                        const WordLists& lists) {
  std::string out;
  std::string names;
  for (const std::string& name : option.names) {
    names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  const std::string takes = option.is_flag() ? "" : fish_takes(option, lists);
  const std::string needs_value = option.least > 0 ? " -r" : "";
  out += fish_at(command) + names + needs_value + takes + " -d " + fish_quoted(brief_help(option)) +
         "\n";
  if (option.most > option.least || option.most > 1) {  // values that may stand behind it
    for (const std::string& name : option.names) out += fish_at(command, name) + takes + "\n";
  }
  return out;
}

std::string fish_positional(const CommandTree& command, const OptionRow& option, int position,
                            const WordLists& lists) {
  const bool many = option.most == OptionRow::unlimited;
  const std::string takes = fish_takes(option, lists);
  return fish_at(command, std::to_string(position) + (many ? "+" : "")) + takes + "\n";
}

std::string fish_lines(const CommandTree& command, const WordLists& lists) {
  std::string out;
  for (const CommandTree& below : command.commands) {
    out += fish_at(command, "0") + " -a " + below.word + " -d " + fish_quoted(below.summary) + "\n";
  }
  int position = 0;
  for (const OptionRow& option : command.options) {
    out += option.positional ? fish_positional(command, option, position++, lists)
                             : fish_option(command, option, lists);
  }
  return out;
}

std::string fish_words_function(const WordLists& lists) {
  std::string out = "function __binade_words\n    switch $argv[1]\n";
  for (std::size_t i = 0; i < lists.all().size(); ++i) {
    out += "        case " + std::to_string(i) + "\n            printf '%s\\n'";
    for (const std::string& word : lists.all()[i]) out += " " + fish_quoted(word);
    out += "\n";
  }
  return out + "    end\nend\n";
}

/// The functions that print the commands of a command, and how many values at least and at most an
/// option takes.
std::string fish_tables(const CommandTree& program) {
  std::string commands = "\nfunction __binade_commands\n    switch $argv[1]\n";
  std::string values = "\nfunction __binade_values\n    switch \"$argv\"\n";
  for_each_command(program, [&](const CommandTree& command) {
    if (!command.commands.empty()) {
      commands += "        case " + fish_quoted(command.name) + "\n            printf '%s\\n'";
      for (const CommandTree& below : command.commands) commands += " " + below.word;
      commands += "\n";
    }
    for (const OptionRow& option : command.options) {
      if (option.positional || option.is_flag()) continue;
      values += "        case";
      for (const std::string& name : option.names) {
        values += " " + fish_quoted(command.name + " " + name);
      }
      values += "\n            printf '%s\\n' " + std::to_string(option.least) + " " +
                std::to_string(option.most) + "\n";
    }
  });
  return commands + "    end\nend\n" + values +
         "        case '*'\n            printf '%s\\n' 0 0\n    end\nend\n";
}

}  // namespace

std::string fish_completion(const CommandTree& program) {
  const WordLists lists(program);
  std::string out = fish_head + fish_words_function(lists) + fish_tables(program) + fish_functions;
  for_each_command(program, [&](const CommandTree& command) { out += fish_lines(command, lists); });
  return out;
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Writes the completion for zsh: for each command a function that gives its options, with their
// help, and its positionals to zsh's own _arguments.
#include "lib/cli/completion.h"

#include <algorithm>

namespace binade {
namespace {

constexpr const char* zsh_head = R"(#compdef binade
# Completion of binade for zsh, written by `binade completion zsh`. To have it in every shell, save it as a file _binade in a
# folder of $fpath:
#   binade completion zsh > ~/.zfunc/_binade      (and in ~/.zshrc, before compinit: fpath=(~/.zfunc $fpath))

)";

constexpr const char* zsh_functions = R"(
# Offers the words of the list whose number is the last argument; what stands before it are options of compadd.
_binade_words() {
  local -a words_of_list
  _binade_list $argv[-1]
  if [[ $words_of_list[-1] == *= ]]; then
    compadd "${@[1,-2]}" -S '' -a words_of_list
  else
    compadd "${@[1,-2]}" -a words_of_list
  fi
}

# The same, of a list with commas.
_binade_several() {
  local -a words_of_list finished
  _binade_list $argv[-1]
  if compset -P '*,'; then
    finished=(${(s:,:)IPREFIX##*=})
    words_of_list=(${words_of_list:|finished})
  fi
  compset -S ',*'
  compadd "${@[1,-2]}" -qS , -a words_of_list
}

)";

constexpr const char* zsh_end = R"(if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _binade "$@"
else
  compdef _binade binade
fi
)";

std::string zsh_escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_function_of(const CommandTree& command) {
  std::string name = "_" + command.name;
  std::ranges::replace(name, ' ', '_');
  return name;
}

/// What _arguments reads of a value: its name and what completes it.
std::string zsh_value(const OptionRow& option, const WordLists& lists) {
  const std::string& name = option.positional ? option.names[0] : option.type;
  std::string action = option.files ? "_files" : " ";
  if (!option.words.empty()) {
    action = (option.list ? "_binade_several " : "_binade_words ") +
             std::to_string(lists.number_of(option));
  }
  return ":" + zsh_escaped(name, ":") + ":" + action;
}

std::string zsh_option(const OptionRow& option, const WordLists& lists) {
  const bool ends = option.names.back() == "--help" || option.names.back() == "--version";
  std::string excluded = ends ? "- *" : "";
  if (!ends) {
    std::vector<std::string> names = option.excludes;
    if (!option.repeats) names.insert(names.begin(), option.names.begin(), option.names.end());
    for (const std::string& name : names) excluded += (excluded.empty() ? "" : " ") + name;
  }
  std::string values;
  if (option.most == OptionRow::unlimited) {
    values = ":*-*" + zsh_value(option, lists);
  } else {
    for (int i = 0; i < option.most; ++i) {
      values += (i < option.least ? "" : ":") + zsh_value(option, lists);
    }
  }
  std::string out;
  for (const std::string& name : option.names) {
    const bool equals = !option.is_flag() && name.starts_with("--");
    const std::string spec = (excluded.empty() ? "" : "(" + excluded + ")") +
                             (option.repeats ? "*" : "") + name + (equals ? "=" : "") + "[" +
                             zsh_escaped(brief_help(option), "[]") + "]" + values;
    out += "    " + shell_quoted(spec) + " \\\n";
  }
  return out;
}

std::string zsh_function(const CommandTree& command, const WordLists& lists) {
  const std::string name = zsh_function_of(command);
  std::string out;
  std::string positionals;
  std::string commands;
  std::string calls;
  int position = 1;
  for (const OptionRow& option : command.options) {
    if (!option.positional) {
      out += zsh_option(option, lists);
      continue;
    }
    const bool many = option.most == OptionRow::unlimited;
    const std::string at = many ? "*" : std::to_string(position++);
    const std::string spec = at + (option.required || many ? "" : ":") + zsh_value(option, lists);
    positionals += "    " + shell_quoted(spec) + " \\\n";
  }
  if (!command.commands.empty()) {
    positionals += "    '1:command:" + name + "_commands' \\\n    '*:: :->below' \\\n";
    commands = name + "_commands() {\n  local -a commands=(\n";
    calls = "  if [[ $state == below ]]; then\n    case $line[1] in\n";
    for (const CommandTree& below : command.commands) {
      const std::string row = below.word + ":" + zsh_escaped(below.summary, "");
      commands += "    " + shell_quoted(row) + "\n";
      calls += "      " + below.word + ") " + zsh_function_of(below) + " && status_of=0 ;;\n";
    }
    commands += "  )\n  _describe -t commands command commands \"$@\"\n}\n\n";
    calls += "    esac\n  fi\n";
  }
  return commands + name + "() {\n  local curcontext=$curcontext state line status_of=1\n" +
         "  local -A opt_args\n  _arguments -s -S -C \\\n" + out + positionals +
         "    && status_of=0\n" + calls + "  return status_of\n}\n\n";
}

}  // namespace

std::string zsh_completion(const CommandTree& program) {
  const WordLists lists(program);
  std::string out = std::string(zsh_head) + "_binade_list() {\n  case $1 in\n";
  for (std::size_t i = 0; i < lists.all().size(); ++i) {
    out += "    " + std::to_string(i) + ") words_of_list=(";
    for (const std::string& word : lists.all()[i]) {
      out += (&word == lists.all()[i].data() ? "" : " ") + shell_quoted(word);
    }
    out += ") ;;\n";
  }
  out += std::string("  esac\n}\n") + zsh_functions;
  for_each_command(program,
                   [&](const CommandTree& command) { out += zsh_function(command, lists); });
  return out + zsh_end;
}

}  // namespace binade

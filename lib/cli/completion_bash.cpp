// SPDX-License-Identifier: Apache-2.0
//
// Writes the completion for bash: tables of the commands and options, and functions that find in
// them what the word under the cursor may be. They do not need the package bash-completion.
#include "lib/cli/completion.h"

namespace binade {
namespace {

constexpr const char* bash_head =
    R"(# Completion of binade for bash, written by `binade completion bash`. To have it in this shell:
#   source <(binade completion bash)
# and in every shell, the same in ~/.bashrc.

)";

// Variables of _binade that the other functions read and set: of the command its `commands`,
// `options` and, one by one, what its `positionals` take; of an option or a positional what it
// `takes`, and how many values, `least` and `most`. What is taken is files, words:N or list:N with
// the words of list N, or nothing that is known.
constexpr const char* bash_functions = R"(
# Adds to COMPREPLY what begins with $2, for what takes $1. It writes $3 before each word.
_binade_offer() {
  local word done='' words=()
  case $1 in
    files)
      # Left to readline, which knows how to quote names; where it does not complete, they are listed here.
      compopt -o default 2>/dev/null && return
      while IFS= read -r word; do COMPREPLY+=("$3$word"); done < <(compgen -f -- "$2")
      return ;;
    words:*) _binade_words "${1#*:}" ;;
    list:*)
      _binade_words "${1#*:}"
      [[ $2 == *,* ]] && done=${2%,*},
      compopt -o nospace 2>/dev/null ;;
  esac
  for word in ${words[@]+"${words[@]}"}; do
    [[ ,$done == *",$word,"* ]] && continue
    [[ $done$word == "$2"* ]] && COMPREPLY+=("$3$done$word")
    [[ $word == *= ]] && compopt -o nospace 2>/dev/null
  done
}

_binade() {
  local IFS=$' \t\n' commands options positionals takes least most
  local i piece glue='' typed=() current path=binade must=0 may=0 position=0 plain='' kind='' word
  COMPREPLY=()
  # Bash splits words such as --html=a.html and a.npz:x, which are put together again.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    piece=${COMP_WORDS[i]}
    if [[ -n $piece && -z ${piece//[=:@]/} && ${#typed[@]} -gt 0 ]]; then
      typed[${#typed[@]}-1]+=$piece
      glue=1
    elif [[ -n $glue ]]; then
      typed[${#typed[@]}-1]+=$piece
      glue=''
    else
      typed+=("$piece")
    fi
  done
  current=${typed[${#typed[@]}-1]}
  unset "typed[${#typed[@]}-1]"

  for word in ${typed[@]+"${typed[@]}"}; do
    if ((must > 0)); then
      must=$((must - 1)) may=$((may - 1))
    elif [[ -z $plain && $word == -- ]]; then
      plain=1 may=0
    elif [[ -z $plain && $word == -?* ]]; then
      _binade_option "$path" "${word%%=*}"
      kind=$takes must=$least may=$most
      [[ $word == *=* ]] && must=0 may=0
    elif ((may > 0)); then
      may=$((may - 1))
    else
      _binade_command "$path"
      if [[ $position == 0 && " ${commands[*]} " == *" $word "* ]]; then
        path+=" $word"
      else
        position=$((position + 1))
      fi
    fi
  done

  _binade_command "$path"
  if ((must == 0)) && [[ -z $plain && $current == --*=* ]]; then
    _binade_option "$path" "${current%%=*}"
    _binade_offer "$takes" "${current#*=}" "${current%%=*}="
  elif ((must == 0)) && [[ -z $plain && $current == -* ]]; then
    for word in "${options[@]}"; do
      [[ $word == "$current"* ]] && COMPREPLY+=("$word")
    done
  elif ((may > 0)); then
    _binade_offer "$kind" "$current" ''
  else
    if ((position == 0)); then
      for word in ${commands[@]+"${commands[@]}"}; do
        [[ $word == "$current"* ]] && COMPREPLY+=("$word")
      done
    fi
    i=${#positionals[@]}
    if ((i > 0)); then
      ((position >= i)) && [[ ${positionals[i-1]} == *'*' ]] && position=$((i - 1))
      kind=${positionals[position]-}
      _binade_offer "${kind%\*}" "$current" ''
    fi
  fi

  # Readline replaces only what stands behind the last = or : of the word.
  piece=${COMP_WORDS[COMP_CWORD]}
  [[ -n $piece && -z ${piece//[=:@]/} ]] && piece=''
  word=${current%"$piece"}
  for i in ${COMPREPLY[@]+"${!COMPREPLY[@]}"}; do COMPREPLY[i]=${COMPREPLY[i]#"$word"}; done
}

complete -F _binade binade
)";

std::string bash_array(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + shell_quoted(word);
  return "(" + out + ")";
}

std::string bash_takes(const OptionRow& option, const WordLists& lists) {
  if (!option.words.empty()) {
    return (option.list ? "list:" : "words:") + std::to_string(lists.number_of(option));
  }
  return option.files ? "files" : "";
}

std::string bash_words_function(const WordLists& lists) {
  std::string out = "_binade_words() {\n  case $1 in\n";
  for (std::size_t i = 0; i < lists.all().size(); ++i) {
    out += "    " + std::to_string(i) + ") words=" + bash_array(lists.all()[i]) + " ;;\n";
  }
  return out + "  esac\n}\n";
}

std::string bash_command_function(const CommandTree& program, const WordLists& lists) {
  std::string out = "_binade_command() {\n  commands=() options=() positionals=()\n  case $1 in\n";
  for_each_command(program, [&](const CommandTree& command) {
    std::vector<std::string> commands, options, positionals;
    for (const CommandTree& below : command.commands) commands.push_back(below.word);
    for (const OptionRow& option : command.options) {
      if (option.positional) {
        const bool many = option.most == OptionRow::unlimited;
        positionals.push_back(bash_takes(option, lists) + (many ? "*" : ""));
      } else {
        options.insert(options.end(), option.names.begin(), option.names.end());
      }
    }
    out += "    " + shell_quoted(command.name) + ")\n";
    if (!commands.empty()) out += "      commands=" + bash_array(commands) + "\n";
    out += "      options=" + bash_array(options) + "\n";
    if (!positionals.empty()) out += "      positionals=" + bash_array(positionals) + "\n";
    out += "      ;;\n";
  });
  return out + "  esac\n}\n";
}

std::string bash_option_function(const CommandTree& program, const WordLists& lists) {
  std::string out = "_binade_option() {\n  takes='' least=0 most=0\n  case \"$1 $2\" in\n";
  for_each_command(program, [&](const CommandTree& command) {
    for (const OptionRow& option : command.options) {
      if (option.positional || option.is_flag()) continue;
      out += "    ";
      for (const std::string& name : option.names) {
        out +=
            (&name == option.names.data() ? "" : " | ") + shell_quoted(command.name + " " + name);
      }
      out += ") takes='" + bash_takes(option, lists) + "' least=" + std::to_string(option.least) +
             " most=" + std::to_string(option.most) + " ;;\n";
    }
  });
  return out + "  esac\n}\n";
}

}  // namespace

std::string bash_completion(const CommandTree& program) {
  const WordLists lists(program);
  return bash_head + bash_words_function(lists) + "\n" + bash_command_function(program, lists) +
         "\n" + bash_option_function(program, lists) + bash_functions;
}

}  // namespace binade

# SPDX-License-Identifier: Apache-2.0
"""Real shells that say what they would offer for command lines, once a completion script was sourced. Each line ends where
the cursor is; the answer is a list of (word, what is shown beside it)."""

import os
import re
import shlex
import subprocess

BASH = r"""
source "$1"
while IFS= read -r line; do
  IFS=$'\t' read -ra COMP_WORDS <<<"$line"
  [[ $line == *$'\t' ]] && COMP_WORDS+=('')
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _binade binade "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
  printf '[[request]]\n'
  for word in "${COMPREPLY[@]}"; do printf '%s\n' "$word"; done
done
"""

FISH = r"""
source $argv[1]
while read -l line
    printf '[[request]]\n'
    complete -C "$line"
end
"""

# A widget asks zsh's completion for each line, and compadd, through which every word goes, writes down what it adds.
ZSH_SHELL = r"""
PROMPT= RPROMPT=
autoload -Uz compinit && compinit -u -d $ZDOTDIR/dump
source $SCRIPT
compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
  local -a hits shown
  local at=${@[(i)-d]} i
  (( at < $# )) && shown=("${(@P)@[at+1]}")
  builtin compadd -A hits -D shown "$@"
  for ((i = 1; i <= $#hits; i++)); do print -r -- "$IPREFIX$hits[i]"$'\t'"$shown[i]" >> $ANSWERS; done
  builtin compadd "$@"
}
zle -C capture list-choices _main_complete
answer() {
  local line
  while IFS= read -r line; do
    print -r -- '[[request]]' >> $ANSWERS
    BUFFER=$line CURSOR=$#line
    zle capture
  done < $REQUESTS
  print -r -- '[[end]]' >> $ANSWERS
  exit
}
zle -N answer
bindkey '^T' answer
print READY
"""
ZSH = r"""
zmodload zsh/zpty
zpty -b shell "TERM=xterm zsh -f -i"
zpty -w shell "stty columns 200; source $START"
zpty -r -m shell out '*READY*'
zpty -w -n shell $'\x14'
while ! grep -qxF '[[end]]' $ANSWERS; do sleep 0.05; zpty -t shell || break; zpty -r -t shell out; done
"""


def split_by_bash(line):
    """The line as words between tabs, split as bash splits it for completions: also at = : and @."""
    return "\t".join(piece for word in line.split(" ") for piece in re.findall(r"[=:@]+|[^=:@]+|^$", word))


def finished(command, folder, **how):
    """What a shell prints that must be silent on stderr."""
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False, **how)
    assert result.returncode == 0 and not result.stderr, (command[0], result.returncode, result.stderr)
    return result.stdout


def zsh_answers(script, lines, folder, scratch):
    names = {name: os.path.join(scratch, name.lower()) for name in ("START", "REQUESTS", "ANSWERS")}
    for name, text in (("START", ZSH_SHELL), ("REQUESTS", "\n".join(lines) + "\n"), ("ANSWERS", "")):
        with open(names[name], "w", encoding="utf-8") as file:
            file.write(text)
    finished(["zsh", "-f", "-c", ZSH], folder, env=os.environ | names | {"SCRIPT": script, "ZDOTDIR": scratch})
    with open(names["ANSWERS"], encoding="utf-8") as file:
        return file.read().removesuffix("[[end]]\n")


def ask(shell, script, lines, folder, scratch):
    """Line → what the shell offers for it in this folder; files of its own go to the folder scratch."""
    if shell == "zsh":
        text = zsh_answers(script, lines, folder, scratch)
    elif shell == "bash":
        text = finished(["bash", "--norc", "-c", BASH, "bash", script], folder,
                        input="".join(split_by_bash(line) + "\n" for line in lines))
    else:
        text = finished(["fish", "--no-config", "-c", FISH, script], folder, input="".join(line + "\n" for line in lines),
                        env=os.environ | {"HOME": scratch})
    answers = text.split("[[request]]\n")[1:]
    assert len(answers) == len(lines), (len(answers), len(lines), text[-500:])
    rows = [[tuple((row + "\t").split("\t")[:2]) for row in answer.splitlines()] for answer in answers]
    if shell == "zsh":  # which quotes what it adds
        rows = [[("".join(shlex.split(word)), shown) for word, shown in answer] for answer in rows]
    return dict(zip(lines, rows, strict=True))

// SPDX-License-Identifier: Apache-2.0
//
// `binade completion`: the shells' completions and the manual page, from the commands and options
// that the program has.
#include <cstdio>
#include <memory>
#include <string>

#include "lib/cli/command.h"
#include "lib/cli/completion.h"
#include "lib/cli/man_page.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"
#include "lib/version.h"

namespace binade {
namespace {

struct CompletionRow {
  std::string_view name;
  std::string (*write)(const CommandTree& program);
};

constexpr CompletionRow completion_rows[]{
    {"bash", bash_completion},
    {"zsh", zsh_completion},
    {"fish", fish_completion},
    {"man", [](const CommandTree& program) { return man_page(program, version); }}};

void print_completion(App app, const std::string& name) {
  for (const CompletionRow& row : completion_rows) {
    if (row.name != name) continue;
    const std::string text = row.write(app.whole_program());
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  const std::vector<std::string_view> names = names_of(completion_rows);
  throw Error("no completion for '" + printable(name) + "'" + did_you_mean(name, names) +
              "; there are " + listed(names));
}

void define_completion(App app, int& /*unused*/) {
  const auto name = std::make_shared<std::string>();
  app.add_option("SHELL", *name, "bash, zsh or fish; or man, for the manual page")
      .required()
      .suggest([] { return words_of_table(completion_rows); });
  app.footer(
      "\nTo have completions in every new shell, and the page for `man binade`:\n"
      "  bash  source <(binade completion bash)   as a line of ~/.bashrc\n"
      "  zsh   binade completion zsh > ~/.zfunc/_binade\n"
      "        with fpath=(~/.zfunc $fpath) in ~/.zshrc, before compinit\n"
      "  fish  binade completion fish > ~/.config/fish/completions/binade.fish\n"
      "  man   binade completion man > ~/.local/share/man/man1/binade.1\n"
      "A script does not run the program; make it anew after an update.\n\n"
      "Exit status: 0 it was printed, 2 an argument is wrong.\n\n"
      "Examples:\n"
      "  source <(binade completion bash)\n"
      "  binade completion man | man -l -");
  app.callback([app, name] { print_completion(app, *name); });
}

}  // namespace

const Command completion_command{
    "completion", "print completions for bash, zsh or fish, or the manual page",
    "Prints a script with which bash, zsh or fish completes binade's commands, options and their "
    "values, or the manual page binade(1). All are made from the commands that this program has.",
    define_completion, "[completion](lib/cli/README.md#completions-and-the-manual-page)"};

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Prints the completion or the manual page, as its argument says, of a program whose helps and
// words are full of characters that shells and roff read otherwise. What a shell or roff would run
// in them makes a file named canary.
#include <cstdio>
#include <string>
#include <string_view>

#include "lib/cli/completion.h"
#include "lib/cli/man_page.h"

namespace {

using binade::CommandTree;
using binade::OptionRow;

const std::string odd =
    R"(of $HOME $(touch canary) `touch canary` "q" 'a' [b] c:d \e %f !g & h | i < j > k * ~ ^)";

CommandTree made_program() {
  const OptionRow help{.names = {"-h", "--help"}, .help = "help", .group = "Options"};
  const OptionRow value{.names = {"-x", "--odd-value"},
                        .type = "TEXT",
                        .help = "another " + odd,
                        .group = "Group " + odd,
                        .least = 1,
                        .most = 1,
                        .words = {"plain", "a:b", "c$HOME", "d'e", "[f]", "g*", "`touch canary`",
                                  "$(touch canary)", "h i", "j\\k", "l\"m"}};
  const OptionRow flag{.names = {"--odd-flag"}, .help = odd, .group = "Options"};
  const OptionRow file{
      .names = {"FILE"}, .positional = true, .help = odd, .most = 1, .files = true};
  const CommandTree command{.name = "binade odd",
                            .word = "odd",
                            .summary = odd,
                            .about = ".TH " + odd,
                            .usage = "binade odd [OPTIONS] FILE",
                            .footer = "'br\n.br " + odd + "\n  .br " + odd + "\n  x  " + odd,
                            .options = {file, help, value, flag}};
  return {.name = "binade",
          .word = "binade",
          .about = "binade is made. It is short.",
          .usage = "binade",
          .footer = "Exit status:\n  0  good\n\nEnvironment:\n  HOME  yours",
          .options = {help},
          .commands = {command}};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view shell = argc > 1 ? argv[1] : "";
  const CommandTree program = made_program();
  const std::string text = shell == "bash"   ? binade::bash_completion(program)
                           : shell == "zsh"  ? binade::zsh_completion(program)
                           : shell == "fish" ? binade::fish_completion(program)
                                             : binade::man_page(program, "1");
  std::fwrite(text.data(), 1, text.size(), stdout);
}

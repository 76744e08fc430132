// SPDX-License-Identifier: Apache-2.0
//
// The sections of the manual page, and the commands and options in them.
#include "lib/cli/man_page.h"

#include <algorithm>
#include <vector>

#include "lib/cli/completion.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

std::string bold(std::string_view text) { return "\\fB" + roff_escaped(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff_escaped(text) + "\\fR"; }

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

/// What --help says of an option beside its text.
std::string facts_of(const OptionRow& option) {
  std::vector<std::string> facts;
  if (option.required) facts.push_back("required");
  if (!option.condition.empty()) facts.push_back(option.condition);
  if (!option.default_value.empty()) facts.push_back("default: " + option.default_value);
  if (!option.needs.empty()) facts.push_back("needs " + joined(option.needs));
  if (!option.excludes.empty()) facts.push_back("not with " + joined(option.excludes));
  std::string out;
  for (const std::string& fact : facts) out += (out.empty() ? "" : "; ") + fact;
  return out.empty() ? out : " [" + out + "]";
}

std::string man_option(const OptionRow& option) {
  std::string tag;
  for (const std::string& name : option.names) {
    tag += (tag.empty() ? "" : ", ") + (option.positional ? italic(name) : bold(name));
  }
  const bool told = option.positional && option.type == "TEXT";  // by the name
  const int times = option.most == OptionRow::unlimited ? 1 : option.most;
  for (int i = 0; i < times && !told; ++i) tag += " " + italic(option.type);
  if (option.most == OptionRow::unlimited) tag += " ...";
  return ".TP\n" + tag + "\n" + roff_paragraph(option.help + facts_of(option));
}

/// Options under their headings. Every command has --help, which the page has once.
std::string man_options(const CommandTree& command) {
  std::vector<std::string> groups;
  std::string out;
  for (const OptionRow& option : command.options) {
    if (option.names.back() == "--help") continue;
    const std::string group = option.positional ? "" : option.group;
    if (std::ranges::find(groups, group) == groups.end()) {
      groups.push_back(group);
      if (!group.empty() && group != "Options") out += ".PP\n" + roff_paragraph(group + ":");
    }
    out += man_option(option);
  }
  return out;
}

std::string man_command(const CommandTree& command) {
  const std::string arguments = command.usage.substr(command.name.size());
  return ".SS " + roff_escaped(command.name) + "\n" + bold(command.name) + roff_escaped(arguments) +
         "\n.PP\n" + roff_paragraph(command.about) + man_options(command) +
         (command.footer.empty() ? "" : ".PP\n" + man_footer(command.footer));
}

/// What stands in the program's help below the line that begins with this word, up to an empty
/// line.
std::string section_of_footer(const CommandTree& program, std::string_view heading) {
  const std::string& text = program.footer;
  const std::size_t from = std::min(text.find('\n', text.find(heading)), text.size() - 1) + 1;
  return man_footer(text.substr(from, text.find("\n\n", from) - from));
}

/// The first example of a command's help, with the command's summary.
std::string man_example(const CommandTree& command) {
  const std::size_t heading = command.footer.find("\nExample");
  if (heading == std::string::npos) return "";
  const std::size_t from = command.footer.find("\n  binade ", heading);
  if (from == std::string::npos) return "";
  std::size_t end = command.footer.find('\n', from + 1);
  while (end != std::string::npos && command.footer[end - 1] == '\\') {
    end = command.footer.find('\n', end + 1);
  }
  std::string summary = command.summary + ":";
  if (summary[0] >= 'a' && summary[0] <= 'z') summary[0] = static_cast<char>(summary[0] - 32);
  return man_footer(summary + command.footer.substr(from, end - from));
}

}  // namespace

std::string man_page(const CommandTree& program, std::string_view of_version) {
  constexpr std::string_view shown[]{"binade report",        "binade show",     "binade quantize",
                                     "binade validate gemm", "binade identify", "binade train"};
  const std::string& about = program.about;
  const std::string name = program.name + " ";  // with which the paragraph begins, too
  std::string out =
      ".\\\" Written by `binade completion man` from the program's own commands.\n"
      ".TH BINADE 1 \"\" \"" +
      roff_escaped(name + std::string(of_version)) +
      "\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\n" + roff_escaped(name) + "\\- " +
      roff_escaped(about.substr(name.size(), about.find(". ") - name.size())) + "\n.SH SYNOPSIS\n" +
      bold("binade") + " " + italic("COMMAND") + " [" + italic("OPTIONS") + "] [" +
      italic("ARGUMENTS") + "]\n.br\n" + bold("binade") + " " + italic("COMMAND") + " " +
      bold("--help") + "\n.SH DESCRIPTION\n" + roff_paragraph(about) + ".PP\nThe commands:\n";
  for (const CommandTree& command : program.commands) {
    out += ".TP 15\n" + bold(command.word) + "\n" + roff_paragraph(command.summary);
    if (&command == program.commands.data()) out += ".PD 0\n";
  }
  out += ".PD\n";
  out += ".SH OPTIONS\n";
  for (const OptionRow& option : program.options) out += man_option(option);
  out += ".SH COMMANDS\n";
  std::string examples;
  for_each_command(program, [&](const CommandTree& command) {
    if (&command != &program) out += man_command(command);
    if (std::ranges::find(shown, command.name) != std::end(shown)) {
      examples += (examples.empty() ? "" : ".PP\n") + man_example(command);
    }
  });
  out +=
      ".SH EXIT STATUS\n" + section_of_footer(program, "Exit status") + ".SH ENVIRONMENT\n" +
      section_of_footer(program, "Environment") + ".SH EXAMPLES\n" + examples +
      ".SH SEE ALSO\n"
      "The help of each command (\\fBbinade\\fR \\fICOMMAND\\fR \\fB\\-\\-help\\fR), and the same\n"
      "functions in Python (\\fBhelp(binade)\\fR).\n";
  return out;
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// The parser of the command line by means of CLI11, whose header only this file includes.
#include "lib/cli/parser.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>

#include "lib/text/error.h"
#include "lib/text/idle_option.h"
#include "lib/text/paragraph.h"

namespace binade {

/// What CLI11 does not keep of an option.
struct OptionNotes {
  std::string condition;  ///< on its values
  std::function<std::vector<std::string>()> words;
  bool list = false;
  bool files = false;
};
struct ProgramNotes {
  std::map<std::string, std::vector<std::string>> words_of_flags;  ///< by name, "--round"
  std::map<const CLI::Option*, OptionNotes> of;
  std::vector<std::function<void()>> decoders;  ///< of the variables that hold text
};

Option Option::required() const { return Option(option_->required(), notes_); }
Option Option::capture_default_str() const {
  return Option(option_->capture_default_str(), notes_);
}
Option Option::group(const std::string& name) const { return Option(option_->group(name), notes_); }
Option Option::type_name(const std::string& name) const {
  return Option(option_->type_name(name), notes_);
}
Option Option::delimiter(char between) const { return Option(option_->delimiter(between), notes_); }
Option Option::expected(int least, int most) const {
  option_->expected(least, most);
  return *this;
}
Option Option::expected(int values) const { return Option(option_->expected(values), notes_); }
Option Option::take_all() const { return Option(option_->take_all(), notes_); }
Option Option::allow_extra_args(bool allow) const {
  return Option(option_->allow_extra_args(allow), notes_);
}
Option Option::needs(Option other) const { return Option(option_->needs(other.option_), notes_); }
Option Option::needs(const std::string& other) const {
  return Option(option_->needs(other), notes_);
}
Option Option::excludes(const std::string& other) const {
  return Option(option_->excludes(other), notes_);
}
Option Option::excludes(Option other) const {
  return Option(option_->excludes(other.option_), notes_);
}

Option Option::positive() const {
  const auto check = [](const std::string& text) {
    double value = 0;
    const bool positive = CLI::detail::lexical_cast(text, value) && value > 0;
    return positive ? "" : "Value " + text + " is not positive";
  };
  option_->check(CLI::Validator(check, "POSITIVE"));
  notes_->condition = "above 0";
  return *this;
}
Option Option::within(int low, int high) const {
  option_->check(CLI::Range(low, high));
  notes_->condition = std::to_string(low) + " to " + std::to_string(high);
  return *this;
}
Option Option::within(std::uint64_t low, std::uint64_t high) const {
  option_->check(CLI::Range(low, high));
  notes_->condition = std::to_string(low) + " to " + std::to_string(high);
  return *this;
}
Option Option::one_of(const std::vector<std::string>& words) const {
  option_->check(CLI::IsMember(words));
  notes_->condition = "one of " + CLI::detail::join(words, ", ");
  return suggest([words] { return words; });
}

Option Option::suggest(std::function<std::vector<std::string>()> words) const {
  notes_->words = std::move(words);
  return *this;
}
Option Option::suggest_list(std::function<std::vector<std::string>()> words) const {
  notes_->list = true;
  return suggest(std::move(words));
}
Option Option::suggest_files() const {
  notes_->files = true;
  if (option_->nonpositional()) option_->type_name("FILE");
  return *this;
}

namespace {

/// Stands before a character of the command line that CLI11 must not see as the first of a value:
/// it would take the list [a,b] apart, take {} for no value at all, and ++ for the end of a
/// command, where we have names of files and globs.
constexpr char literal_mark = '\x7f';

std::string encoded(std::string_view text) {
  std::string code(text == "++" ? 1 : 0, literal_mark);
  for (const char c : text) {
    if (c == '[' || c == '{' || c == literal_mark) code += literal_mark;
    code += c;
  }
  return code;
}

std::string decoded(std::string_view code) {
  std::string text;
  for (std::size_t at = 0; at < code.size(); ++at) {
    if (code[at] == literal_mark && at + 1 < code.size()) ++at;
    text += code[at];
  }
  return text;
}

void decode(std::string& text) { text = decoded(text); }
void decode(std::vector<std::string>& texts) {
  for (std::string& text : texts) decode(text);
}

/// The type of one of an option's values.
template <typename T>
struct OneOf {
  using Type = T;
};
template <typename T>
struct OneOf<std::optional<T>> : OneOf<T> {};
template <typename T>
struct OneOf<std::vector<T>> : OneOf<T> {};

/// Why the text is no std::uint64_t; empty if it is one. CLI11 would read -1, and numbers from 2^64
/// on, as the largest unsigned number.
std::string refuse_beyond(const std::string& text) {
  if (text.starts_with('-')) return "Value " + text + " is negative";
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  const std::size_t from = is_hex ? 2 : text.starts_with('+') ? 1 : 0;
  std::uint64_t value = 0;
  const auto read =
      std::from_chars(text.data() + from, text.data() + text.size(), value, is_hex ? 16 : 10);
  return read.ec == std::errc::result_out_of_range ? "Value " + text + " is above 2^64 - 1" : "";
}

/// Why the text begins with zeros, which CLI11 would read as octal (010 as 8); empty if it does
/// not.
std::string refuse_octal(const std::string& text) {
  const std::size_t digit = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  const bool zeros = text.size() > digit + 1 && text[digit] == '0' &&
                     text.find_first_not_of("0123456789", digit) == std::string::npos;
  return zeros ? "Value " + text + " begins with 0; write it without" : "";
}

/// CLI11 has one description for a command: we store the summary as its first line, the paragraph
/// about it behind that.
std::string description_of(const std::string& summary, const std::string& about) {
  return summary + "\n" + about;
}

/// CLI11's help, except that a list of commands shows their summaries, a command's own help begins
/// with the paragraph about it, and the texts of options are broken into lines.
class HelpLayout : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override {
    const std::string text = app->get_description();
    return wrapped(text.substr(text.find('\n') + 1), 0, columns) + "\n";
  }
  std::string make_subcommand(const CLI::App* app) const override {
    const std::string text = app->get_description();
    return "  " + left_aligned(app->get_name(), get_column_width() - 2) +
           text.substr(0, text.find('\n')) + "\n";
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    if (option->get_description().empty()) return "";
    std::string text = wrapped(option->get_description(), 0, columns - get_column_width());
    text.pop_back();  // the last end of line, which CLI11 writes
    return text;
  }

 private:
  static constexpr std::size_t columns = 110;
};

/// The names of the command's options in a set of CLI11's, in the order of --help.
std::vector<std::string> names_in(const std::set<CLI::Option*>& set, const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
    const bool in = std::ranges::find(set, option) != set.end();
    if (in) names.push_back(option->get_name());
  }
  return names;
}

OptionRow row_of(const CLI::Option& option, const CLI::App& app, const OptionNotes& notes) {
  OptionRow row{.positional = option.get_positional(),
                .condition = notes.condition,
                .default_value = option.get_default_str(),
                .help = option.get_description(),
                .group = option.get_group(),
                .required = option.get_required(),
                .repeats = option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll,
                .least = option.get_items_expected_min(),
                .most = option.get_items_expected_max(),
                .needs = names_in(option.get_needs(), app),
                .excludes = names_in(option.get_excludes(), app),
                .words = notes.words ? notes.words() : std::vector<std::string>(),
                .list = notes.list || option.get_delimiter() == ',',
                .files = notes.files};
  for (const std::string& name : option.get_snames()) row.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) row.names.push_back("--" + name);
  if (row.positional) row.names = {option.get_name(true)};
  const std::string type =
      option.get_type_name();  // the validators' descriptions stand behind a colon
  row.type = row.most == 0 ? "" : type.substr(0, type.find(':'));
  if (row.most >= CLI::detail::expected_max_vector_size) {
    row.most = option.get_allow_extra_args() || row.positional ? OptionRow::unlimited : 1;
  }
  return row;
}

CommandTree tree_of(const CLI::App& app, const std::string& above, const ProgramNotes& notes) {
  const std::string text = app.get_description();
  const std::size_t end = text.find('\n');
  CommandTree tree{.name = above + app.get_name(),
                   .word = app.get_name(),
                   .summary = text.substr(0, end),
                   .about = text.substr(end + 1),
                   .footer = app.get_footer()};
  const std::string usage = HelpLayout().make_usage(&app, tree.name);  // Usage: binade …
  tree.usage = usage.substr(usage.find(tree.name), usage.find('\n') - usage.find(tree.name));
  for (const bool positional : {true, false}) {
    for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
      if (option->get_positional() != positional) continue;
      const auto found = notes.of.find(option);
      tree.options.push_back(
          row_of(*option, app, found == notes.of.end() ? OptionNotes() : found->second));
    }
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    tree.commands.push_back(tree_of(*command, tree.name + " ", notes));
  }
  return tree;
}

/// Throws Error if an option of the commands above was given, which is theirs alone: `validate
/// --json dots`.
void refuse_options_before(const CLI::App& app) {
  const CLI::App* const above = app.get_parent();
  if (above == nullptr) return;
  std::vector<IdleOption> before;
  for (const CLI::Option* option : above->get_options([](const CLI::Option*) { return true; })) {
    before.push_back(
        {option->get_name(), option->count() > 0, "before " + app.get_name(), "give it behind"});
  }
  refuse_idle(before);
}

}  // namespace

Option App::option_of(CLI::Option* option) const { return {option, &notes_->of[option]}; }

CommandTree App::whole_program() const {
  const CLI::App* top = app_;
  while (top->get_parent() != nullptr) top = top->get_parent();
  return tree_of(*top, "", *notes_);
}

template <typename T>
Option App::add_option(const std::string& name, T& value, const std::string& help) const {
  CLI::Option* const option = app_->add_option(name, value, help);
  using One = typename OneOf<T>::Type;
  if constexpr (std::is_integral_v<One>) option->check(CLI::Validator(refuse_octal, ""));
  if constexpr (std::is_unsigned_v<One>) option->check(CLI::Validator(refuse_beyond, ""));
  if constexpr (std::is_same_v<One, std::string>) {
    notes_->decoders.emplace_back([&value] { decode(value); });
  }
  return option_of(option);
}

// The types of all options; a new one goes here.
template Option App::add_option(const std::string&, int&, const std::string&) const;
template Option App::add_option(const std::string&, std::uint64_t&, const std::string&) const;
template Option App::add_option(const std::string&, double&, const std::string&) const;
template Option App::add_option(const std::string&, std::string&, const std::string&) const;
template Option App::add_option(const std::string&, std::optional<int>&, const std::string&) const;
template Option App::add_option(const std::string&, std::optional<std::int64_t>&,
                                const std::string&) const;
template Option App::add_option(const std::string&, std::optional<std::uint64_t>&,
                                const std::string&) const;
template Option App::add_option(const std::string&, std::vector<int>&, const std::string&) const;
template Option App::add_option(const std::string&, std::vector<std::size_t>&,
                                const std::string&) const;
template Option App::add_option(const std::string&, std::vector<std::string>&,
                                const std::string&) const;

Option App::add_output(const std::string& name, std::string& value, const std::string& help) const {
  CLI::Option* const option = app_->add_option(name, value, help)->type_name("OUT");
  option->check(CLI::Validator(
      [](const std::string& text) { return text.empty() ? "the file has no name" : ""; }, ""));
  notes_->of[option].files = true;
  notes_->decoders.emplace_back([&value] { decode(value); });
  return option_of(option);
}

Option App::add_flag(const std::string& name, bool& value, const std::string& help) const {
  return option_of(app_->add_flag(name, value, help));
}

Option App::add_flag(const std::string& name, std::string& value, std::string_view alone,
                     const std::vector<std::string>& words, const std::string& help) const {
  CLI::Option* const option = app_->add_flag(name, value, help);
  option->transform(
      [word = std::string(alone)](std::string text) { return text == "true" ? word : text; });
  notes_->words_of_flags[name] = words;
  return option_of(option);
}

App App::add_subcommand(const std::string& name, const std::string& summary,
                        const std::string& about) const {
  return App(app_->add_subcommand(name, description_of(summary, about)), notes_);
}

void App::require_subcommand(std::size_t least, std::size_t most) const {
  app_->require_subcommand(least, most);
}

void App::footer(const std::string& text) const { app_->footer(text); }
void App::allow_extras() const { app_->allow_extras(); }
void App::callback(std::function<void()> act) const {
  app_->callback([app = app_, notes = notes_, act = std::move(act)] {
    refuse_options_before(*app);
    for (const auto& decode_value : std::exchange(notes->decoders, {})) decode_value();
    act();
  });
}

std::size_t App::count(const std::string& option) const { return app_->count(option); }
std::vector<std::string> App::remaining() const {
  std::vector<std::string> words = app_->remaining();
  decode(words);
  return words;
}

std::vector<std::string> App::long_names() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app_->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string App::chosen_subcommand() const {
  const auto chosen = app_->get_subcommands();
  return chosen.empty() ? "" : chosen[0]->get_name();
}

Program::Program(const std::string& description, const std::string& name,
                 const std::string& version_number)
    : App(nullptr, nullptr),
      owned_(std::make_unique<CLI::App>(description_of("", description), name)),
      owned_notes_(std::make_unique<ProgramNotes>()) {
  app_ = owned_.get();
  notes_ = owned_notes_.get();
  app_->formatter(std::make_shared<HelpLayout>());
  app_->set_version_flag("--version", name + " " + version_number);
  app_->require_subcommand(1, 1);
}

Program::~Program() = default;

void Program::parse(int argc, const char* const* argv) const {
  constexpr std::size_t longest_complaint = 1000;  // CLI11 repeats values, and lists of words
  std::vector<std::string> words(argv, argv + argc);
  std::vector<const char*> code;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const auto flag = notes_->words_of_flags.find(words[i]);
    if (flag == notes_->words_of_flags.end()) continue;
    if (std::ranges::find(flag->second, words[i + 1]) == flag->second.end()) continue;
    words[i] += "=" + words[i + 1];
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  for (std::string& word : words) code.push_back((word = encoded(word)).c_str());
  try {
    app_->parse(static_cast<int>(code.size()), code.data());
  } catch (const CLI::Success& asked) {
    app_->exit(asked);
  } catch (const CLI::ParseError& wrong) {
    const std::string command = chosen_subcommand();
    throw Error(printable(decoded(wrong.what()), longest_complaint) + "; see " + app_->get_name() +
                (command.empty() ? "" : " " + command) + " --help");
  }
}

}  // namespace binade

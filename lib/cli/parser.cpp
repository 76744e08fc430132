// SPDX-License-Identifier: Apache-2.0
//
// The parser of the command line by means of CLI11, whose header only this file includes.
#include "lib/cli/parser.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <optional>
#include <type_traits>

#include "lib/text/error.h"
#include "lib/text/paragraph.h"

namespace binade {

Option Option::required() const { return Option(option_->required()); }
Option Option::capture_default_str() const { return Option(option_->capture_default_str()); }
Option Option::group(const std::string& name) const { return Option(option_->group(name)); }
Option Option::type_name(const std::string& name) const { return Option(option_->type_name(name)); }
Option Option::delimiter(char between) const { return Option(option_->delimiter(between)); }
Option Option::expected(int least, int most) const {
  option_->expected(least, most);
  return *this;
}
Option Option::expected(int values) const { return Option(option_->expected(values)); }
Option Option::take_all() const { return Option(option_->take_all()); }
Option Option::allow_extra_args(bool allow) const {
  return Option(option_->allow_extra_args(allow));
}
Option Option::needs(Option other) const { return Option(option_->needs(other.option_)); }
Option Option::needs(const std::string& other) const { return Option(option_->needs(other)); }
Option Option::excludes(const std::string& other) const { return Option(option_->excludes(other)); }
Option Option::excludes(Option other) const { return Option(option_->excludes(other.option_)); }

Option Option::positive() const {
  const auto check = [](const std::string& text) {
    double value = 0;
    const bool positive = CLI::detail::lexical_cast(text, value) && value > 0;
    return positive ? "" : "Value " + text + " is not positive";
  };
  return Option(option_->check(CLI::Validator(check, "POSITIVE")));
}
Option Option::within(int low, int high) const {
  return Option(option_->check(CLI::Range(low, high)));
}
Option Option::within(std::uint64_t low, std::uint64_t high) const {
  return Option(option_->check(CLI::Range(low, high)));
}
Option Option::one_of(const std::vector<std::string>& words) const {
  return Option(option_->check(CLI::IsMember(words)));
}

namespace {

/// The type of one of an option's values.
template <typename T>
struct OneOf {
  using Type = T;
};
template <typename T>
struct OneOf<std::optional<T>> : OneOf<T> {};
template <typename T>
struct OneOf<std::vector<T>> : OneOf<T> {};

/// Why the text is no std::uint64_t; empty if it is one. CLI11 would read -1, and numbers from 2^64 on, as the largest
/// unsigned number.
std::string refuse_beyond(const std::string& text) {
  if (text.starts_with('-')) return "Value " + text + " is negative";
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  const std::size_t from = is_hex ? 2 : text.starts_with('+') ? 1 : 0;
  std::uint64_t value = 0;
  const auto read =
      std::from_chars(text.data() + from, text.data() + text.size(), value, is_hex ? 16 : 10);
  return read.ec == std::errc::result_out_of_range ? "Value " + text + " is above 2^64 - 1" : "";
}

/// Why the text begins with zeros, which CLI11 would read as octal (010 as 8); empty if it does not.
std::string refuse_octal(const std::string& text) {
  const std::size_t digit = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  const bool zeros = text.size() > digit + 1 && text[digit] == '0' &&
                     text.find_first_not_of("0123456789", digit) == std::string::npos;
  return zeros ? "Value " + text + " begins with 0; write it without" : "";
}

/// CLI11 has one description for a command: we store the summary as its first line, the paragraph about it behind that.
std::string description_of(const std::string& summary, const std::string& about) {
  return summary + "\n" + about;
}

/// CLI11's help, except that a list of commands shows their summaries, a command's own help begins with the paragraph about
/// it, and the texts of options are broken into lines.
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

}  // namespace

template <typename T>
Option App::add_option(const std::string& name, T& value, const std::string& help) const {
  CLI::Option* const option = app_->add_option(name, value, help);
  using One = typename OneOf<T>::Type;
  if constexpr (std::is_integral_v<One>) option->check(CLI::Validator(refuse_octal, ""));
  if constexpr (std::is_unsigned_v<One>) option->check(CLI::Validator(refuse_beyond, ""));
  return Option(option);
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
  return Option(option);
}

Option App::add_flag(const std::string& name, bool& value, const std::string& help) const {
  return Option(app_->add_flag(name, value, help));
}

App App::add_subcommand(const std::string& name, const std::string& summary,
                        const std::string& about) const {
  return App(app_->add_subcommand(name, description_of(summary, about)));
}

void App::require_subcommand(std::size_t least, std::size_t most) const {
  app_->require_subcommand(least, most);
}

void App::footer(const std::string& text) const { app_->footer(text); }
void App::allow_extras() const { app_->allow_extras(); }
void App::callback(std::function<void()> act) const { app_->callback(std::move(act)); }

std::size_t App::count(const std::string& option) const { return app_->count(option); }
std::vector<std::string> App::remaining() const { return app_->remaining(); }

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
                 const std::string& version)
    : App(nullptr), owned_(std::make_unique<CLI::App>(description_of("", description), name)) {
  app_ = owned_.get();
  app_->formatter(std::make_shared<HelpLayout>());
  app_->set_version_flag("--version", name + " " + version);
  app_->require_subcommand(1, 1);
}

Program::~Program() = default;

void Program::parse(int argc, const char* const* argv) const {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& asked) {
    app_->exit(asked);
  } catch (const CLI::ParseError& wrong) {
    const std::string command = chosen_subcommand();
    throw Error(std::string(wrong.what()) + "; see " + app_->get_name() +
                (command.empty() ? "" : " " + command) + " --help");
  }
}

}  // namespace binade

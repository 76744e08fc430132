// SPDX-License-Identifier: Apache-2.0
//
// RE2, whose automata are as large as the expression: it keeps what it has learned of them within a
// bound, and searches without that where it is reached.
#include "lib/report/name_pattern.h"

#include <re2/re2.h>
#include <re2/stringpiece.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::int64_t most_bytes_of_automata = 512 << 10;

re2::RE2::Options pattern_options() {
  re2::RE2::Options options;
  options.set_max_mem(most_bytes_of_automata);
  options.set_log_errors(false);
  options.set_dot_nl(true);
  options.set_never_capture(true);
  return options;
}

/// Returns a name with U+FFFD for each byte that is no part of a UTF-8 character, since those are
/// no characters to RE2.
std::string in_characters(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const std::size_t length = utf8_character(name);
    out += length > 0 ? name.substr(0, length) : std::string_view("\uFFFD");
    name.remove_prefix(length > 0 ? length : 1);
  }
  return out;
}

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

/// Throws Error for what `grep -E` reads in a way of its own and RE2 as these very characters.
void refuse_words_of_grep(const std::string& start, std::string_view expression) {
  bool in_brackets = false;
  for (std::size_t i = 0; i + 1 < expression.size(); ++i) {
    const char next = expression[i + 1];
    if (!in_brackets && expression[i] == '{' && next == ',') {
      throw Error(start + "a repetition without its smallest number; write {0,");
    }
    if (in_brackets && expression[i] == '[' && (next == '.' || next == '=')) {
      throw Error(start + "regular expressions have no [" + next + " " + next +
                  "] for a character; write the character itself");
    }
    if (!in_brackets && expression[i] == '[') {
      in_brackets = true;
      i += next == '^' ? 1 : 0;
      i += i + 1 < expression.size() && expression[i + 1] == ']' ? 1 : 0;  // the first is a letter
      continue;
    }
    if (in_brackets && expression[i] == '[' && next == ':') {
      i = std::min(expression.find(":]", i + 2), expression.size() - 2) + 1;
      continue;
    }
    if (expression[i] == ']') in_brackets = false;
    if (expression[i] != '\\') continue;
    if (std::string_view("<>`'").find(next) != std::string_view::npos) {
      throw Error(start + "regular expressions have no \\" + next +
                  "; write \\b for the edge of a word, ^ and $ for the ends");
    }
    ++i;
  }
}

}  // namespace

struct NamePattern::Compiled {
  explicit Compiled(std::string_view text) : expression(piece(text), pattern_options()) {}
  re2::RE2 expression;
};

NamePattern::NamePattern(const std::string& start, std::string_view expression) {
  refuse_words_of_grep(start, expression);
  compiled_ = std::make_unique<const Compiled>(expression);
  const re2::RE2& read = compiled_->expression;
  if (read.error_code() == re2::RE2::ErrorRepeatSize) {
    throw Error(start + printable(read.error()) +
                "; a repetition {m,n} has m up to n, and n up to 1000 in all");
  }
  if (read.ok() ? steps() > most_steps : read.error_code() == re2::RE2::ErrorPatternTooLarge) {
    throw Error(start + "an expression of more than " + std::to_string(most_steps) +
                " letters, repetitions and classes such as \\pL written out; write a shorter one");
  }
  if (!read.ok()) {
    throw Error(start + printable(read.error()) +
                "; write a regular expression as for Perl or RE2");
  }
}

NamePattern::~NamePattern() = default;

bool NamePattern::is_in(std::string_view name) const {
  return re2::RE2::PartialMatch(piece(in_characters(name)), compiled_->expression);
}

int NamePattern::steps() const { return compiled_->expression.ProgramSize(); }

}  // namespace binade

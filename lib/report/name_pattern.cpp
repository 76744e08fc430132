// SPDX-License-Identifier: Apache-2.0
//
// RE2, whose automata are as large as the expression: it keeps what it has learned of them within a bound, and searches
// without that where it is reached.
#include "lib/report/name_pattern.h"

#include <re2/re2.h>
#include <re2/stringpiece.h>

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

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

/// Throws Error for what `grep -E` reads in a way of its own and RE2 as these very characters.
void refuse_words_of_grep(const std::string& start, std::string_view expression) {
  for (std::size_t i = 0; i + 1 < expression.size(); ++i) {
    const char next = expression[i + 1];
    if (expression[i] == '{' && next == ',') {
      throw Error(start + "a repetition without its smallest number; write {0,");
    }
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
  const bool too_large = read.ok() ? steps() > most_steps
                                   : read.error_code() == re2::RE2::ErrorPatternTooLarge ||
                                         read.error_code() == re2::RE2::ErrorRepeatSize;
  if (too_large) {
    throw Error(start + "an expression of more than " + std::to_string(most_steps) +
                " letters, repetitions written out; write a shorter one");
  }
  if (!read.ok()) {
    throw Error(start + printable(read.error()) +
                "; write a regular expression as for grep -E or RE2");
  }
}

NamePattern::~NamePattern() = default;

bool NamePattern::is_in(std::string_view name) const {
  return re2::RE2::PartialMatch(piece(name), compiled_->expression);
}

int NamePattern::steps() const { return compiled_->expression.ProgramSize(); }

}  // namespace binade

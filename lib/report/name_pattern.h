// SPDX-License-Identifier: Apache-2.0
//
// A regular expression that is looked for in names. Both may be hostile: neither the time nor the
// memory of a search grows faster than the length of the name.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace binade {

class NamePattern {
 public:
  /// Reads an expression in the syntax of RE2, which is Perl's without back references and without
  /// looking around, and that of `grep -E` where no backslash stands in brackets. `^` and `$` are
  /// the ends of the name, `.` is any character, also a byte of a name that is not UTF-8. Throws
  /// Error, which begins with `start`, for another expression, if it takes more than `most_steps`,
  /// or if this build has no RE2.
  NamePattern(const std::string& start, std::string_view expression);
  ~NamePattern();
  NamePattern(const NamePattern&) = delete;
  NamePattern& operator=(const NamePattern&) = delete;

  bool is_in(std::string_view name) const;

  /// Returns how many steps a byte of a name takes at most: what a letter of the expression takes
  /// is one, written out as often as {3} and {1,200} say.
  int steps() const;

  static constexpr int most_steps = 1000;

 private:
  struct Compiled;
  std::unique_ptr<const Compiled> compiled_;
};

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// NamePattern in a build without RE2: it refuses every expression.
#include "lib/report/name_pattern.h"
#include "lib/text/error.h"

namespace binade {

struct NamePattern::Compiled {};

NamePattern::NamePattern(const std::string& start, std::string_view) {
  throw Error(
      start +
      "this build of binade reads no regular expressions; configure with -Dre2=enabled and RE2");
}

NamePattern::~NamePattern() = default;

bool NamePattern::is_in(std::string_view) const { return false; }

int NamePattern::steps() const { return 0; }

}  // namespace binade

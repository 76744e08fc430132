// SPDX-License-Identifier: Apache-2.0
//
// Lists of words written as one text.
#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace binade::test {

/// Returns the words of a text that blanks divide, and then those that hold blanks or nothing.
inline std::vector<std::string> words(const std::string& text,
                                      const std::vector<std::string>& odd = {}) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  out.insert(out.end(), odd.begin(), odd.end());
  return out;
}

}  // namespace binade::test

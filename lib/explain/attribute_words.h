// SPDX-License-Identifier: Apache-2.0
//
// The attributes of an operation (rounding, saturation, NaN results …) as words, which are the same in every command
// and in Python.
#pragma once

#include <string>
#include <vector>

#include "emulate/attributes.h"

namespace binade {

/// The words that a user gives; the defaults are those of Attributes.
struct AttributeOptions {
  std::string rounding = "ties_to_even";
  std::string saturation = "none";
  std::string nan = "quiet";
  std::string tininess = "after";
  bool flush_results = false;
  bool flush_operands = false;
  int random_bits = 32;
};

/// Returns the attributes that these words name. Throws Error with the option, the word that was given, all possible
/// words and the one spelled most like it.
Attributes attributes_of(const AttributeOptions& options);

/// All words for each attribute.
struct AttributeWords {
  std::vector<std::string> rounding, saturation, nan, tininess;
};
AttributeWords attribute_words();

}  // namespace binade

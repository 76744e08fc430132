// SPDX-License-Identifier: Apache-2.0
//
// The attributes of an operation (rounding, saturation, NaN results …) as words, which are the same
// in every command and in Python.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "emulate/attributes.h"
#include "emulate/format.h"
#include "lib/format/format_spec.h"

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

/// Returns the attributes that these words name. Throws Error with the option, the word that was
/// given, all possible words and the one spelled most like it; or if random bits were given, other
/// than the default, for another rounding than stochastic.
Attributes attributes_of(const AttributeOptions& options);

/// Returns the attributes of elements of block formats, of which the format and the rule of the
/// scales say all but the rounding. Throws Error as attributes_of does, or if another attribute was
/// given.
Attributes element_attributes_of(const AttributeOptions& options);

/// Throws Error if an attribute has no effect on results in any of these formats, one or more: a
/// rule for NaNs where none has a NaN to choose, or flushing where none has a zero.
void check_effects(const Attributes& attributes, std::span<const NamedOrCustom> formats);
/// Throws Error if a seed was given, other than the default, and nothing is drawn from it.
void check_seed(const Attributes& attributes, std::uint64_t seed);
/// Throws Error if the random number of a rounding was given, and the rounding uses none.
void check_random(const Attributes& attributes, bool given);

/// All words for each attribute.
struct AttributeWords {
  std::vector<std::string> rounding, saturation, nan, tininess;
};
AttributeWords attribute_words();

}  // namespace binade

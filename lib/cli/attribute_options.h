// SPDX-License-Identifier: Apache-2.0
//
// The attributes of an operation as command-line options, the same words in every command.
#pragma once

#include <string>

#include "emulate/attributes.h"
#include "lib/cli/options.h"

namespace binade {

/// What the user typed.
struct AttributeOptions {
  std::string rounding = "ties_to_even";
  std::string saturation = "none";
  std::string nan = "quiet";
  std::string tininess = "after";
  bool flush_results = false;
  bool flush_operands = false;
  int random_bits = 32;
};

/// Declare options of a command. `options` must live as long as the command.
void add_rounding(App app, AttributeOptions& options);
void add_saturation(App app, AttributeOptions& options);
void add_nan(App app, AttributeOptions& options);
void add_tininess(App app, AttributeOptions& options);
void add_flush_results(App app, AttributeOptions& options);
void add_flush_operands(App app, AttributeOptions& options);
void add_random_bits(App app, AttributeOptions& options);

/// Error with the option, what was typed, what there is and what is near.
Attributes attributes_of(const AttributeOptions& options);

}  // namespace binade

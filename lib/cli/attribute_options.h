// SPDX-License-Identifier: Apache-2.0
//
// The attributes of an operation as command-line options, the same words in every command.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "emulate/attributes.h"

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
void add_rounding(CLI::App& app, AttributeOptions& options);
void add_saturation(CLI::App& app, AttributeOptions& options);
void add_nan(CLI::App& app, AttributeOptions& options);
void add_tininess(CLI::App& app, AttributeOptions& options);
void add_flush_results(CLI::App& app, AttributeOptions& options);
void add_flush_operands(CLI::App& app, AttributeOptions& options);
void add_random_bits(CLI::App& app, AttributeOptions& options);

/// Error with the option, what was typed, what there is and what is near.
Attributes attributes_of(const AttributeOptions& options);

}  // namespace binade

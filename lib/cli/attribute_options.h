// SPDX-License-Identifier: Apache-2.0
//
// The attributes of an operation as command-line options, the same words in every command.
#pragma once

#include "lib/cli/options.h"
#include "lib/explain/attribute_words.h"

namespace binade {

/// Declare options of a command. `options` must live as long as the command.
void add_rounding(App app, AttributeOptions& options);
void add_saturation(App app, AttributeOptions& options);
void add_nan(App app, AttributeOptions& options);
void add_tininess(App app, AttributeOptions& options);
void add_flush_results(App app, AttributeOptions& options);
void add_flush_operands(App app, AttributeOptions& options);
void add_random_bits(App app, AttributeOptions& options);

}  // namespace binade

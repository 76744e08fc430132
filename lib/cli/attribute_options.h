// SPDX-License-Identifier: Apache-2.0
//
// The attributes of an operation (rounding, saturation, NaNs, flushing) as command-line options,
// which are spelled alike in every command.
#pragma once

#include "lib/cli/parser.h"
#include "lib/explain/attribute_words.h"

namespace binade {

/// Each declares one option of the command `app`. `options` must live as long as the command.
void add_rounding(App app, AttributeOptions& options);        ///< -r, --rounding
void add_saturation(App app, AttributeOptions& options);      ///< --saturation
void add_nan(App app, AttributeOptions& options);             ///< --nan
void add_tininess(App app, AttributeOptions& options);        ///< --tininess
void add_flush_results(App app, AttributeOptions& options);   ///< --ftz
void add_flush_operands(App app, AttributeOptions& options);  ///< --daz
void add_random_bits(App app, AttributeOptions& options);     ///< --random-bits

}  // namespace binade

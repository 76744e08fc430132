// SPDX-License-Identifier: Apache-2.0
//
// Declares each attribute of an operation as an option of a command, with its help.
#include "lib/cli/attribute_options.h"

#include "emulate/attributes.h"
#include "lib/text/spelling.h"

namespace binade {

void add_rounding(App app, AttributeOptions& options) {
  app.add_option(
         "-r,--rounding", options.rounding,
         "how a value between two numbers of the format is rounded: " +
             alternatives(names_of(roundings)) +
             ". PTX's names (rn, rz, …) and TestFloat's (near_even, minMag, …) are understood, too")
      .suggest([] { return attribute_words().rounding; })
      .capture_default_str();
}

void add_saturation(App app, AttributeOptions& options) {
  app.add_option("--saturation", options.saturation,
                 "none: an overflow or an infinity becomes infinity, or what the format has in its "
                 "place; finite: it becomes the largest finite number")
      .suggest([] { return attribute_words().saturation; })
      .capture_default_str();
}

void add_nan(App app, AttributeOptions& options) {
  app.add_option("--nan", options.nan,
                 "which NaN a result is: quiet (7E00 in binary16), nvidia (7FFF in binary16; in "
                 "FP8 that of cuda_fp8.h) or propagate (sign and payload of the operand's NaN)")
      .suggest([] { return attribute_words().nan; })
      .capture_default_str();
}

void add_tininess(App app, AttributeOptions& options) {
  app.add_option("--tininess", options.tininess,
                 "before or after: whether underflow is detected before rounding or after it")
      .suggest([] { return attribute_words().tininess; })
      .capture_default_str();
}

void add_flush_results(App app, AttributeOptions& options) {
  app.add_flag("--ftz", options.flush_results,
               "a subnormal result becomes a zero with its sign (FTZ)");
}

void add_flush_operands(App app, AttributeOptions& options) {
  app.add_flag("--daz", options.flush_operands,
               "a subnormal operand counts as a zero with its sign (DAZ)");
}

void add_random_bits(App app, AttributeOptions& options) {
  app.add_option("--random-bits", options.random_bits,
                 "how many random bits stochastic rounding draws for each value, 1 to 32")
      .capture_default_str();
}

}  // namespace binade

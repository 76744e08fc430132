// SPDX-License-Identifier: Apache-2.0
//
// Each attribute as one option of a command.
#include "lib/cli/attribute_options.h"

namespace binade {

void add_rounding(App app, AttributeOptions& options) {
  app.add_option("-r,--rounding", options.rounding,
                 "ties_to_even, ties_to_away, toward_zero, toward_positive, toward_negative, "
                 "to_odd, stochastic; or PTX's rn, rz, …, or TestFloat's near_even, minMag, …")
      .capture_default_str();
}

void add_saturation(App app, AttributeOptions& options) {
  app.add_option("--saturation", options.saturation,
                 "none, or finite: overflow and infinity give the largest finite number")
      .capture_default_str();
}

void add_nan(App app, AttributeOptions& options) {
  app.add_option("--nan", options.nan,
                 "NaN results: quiet (7E00), nvidia (7FFF; in FP8 as cuda_fp8.h) or propagate")
      .capture_default_str();
}

void add_tininess(App app, AttributeOptions& options) {
  app.add_option("--tininess", options.tininess, "underflow is detected before or after rounding")
      .capture_default_str();
}

void add_flush_results(App app, AttributeOptions& options) {
  app.add_flag("--ftz", options.flush_results, "flush subnormal results to zero");
}

void add_flush_operands(App app, AttributeOptions& options) {
  app.add_flag("--daz", options.flush_operands, "treat subnormal operands as zero");
}

void add_random_bits(App app, AttributeOptions& options) {
  app.add_option("--random-bits", options.random_bits,
                 "bits that stochastic rounding draws per value, 1 to 32")
      .capture_default_str();
}

}  // namespace binade

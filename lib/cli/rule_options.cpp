// SPDX-License-Identifier: Apache-2.0
//
// Declares the options --zero-raises, --floor and --cut-to-zero.
#include "lib/cli/rule_options.h"

namespace binade {

void add_rule_options(App app, RuleChoice& rules) {
  const char* const group = "Rules of fused sums, in place of the table's";
  app.add_option("--zero-raises", rules.zero_raises,
                 "whether a product that is zero counts when the terms of a sum are aligned to "
                 "their largest exponent: never; single: it does, and a factor of zero has the "
                 "exponent -126 (MMA-Sim, arXiv 2511.10909v1); emin: it does, and a factor of zero "
                 "has the least exponent of its format")
      .suggest([] {
        return std::vector<std::string>(zero_raises_names.begin(), zero_raises_names.end());
      })
      .type_name("RULE")
      .group(group);
  app.add_option("--floor", rules.floor,
                 "the least exponent to which terms are aligned, should all of theirs be smaller: "
                 "-600 to 300 (MMA-Sim v1 has -126), or none")
      .type_name("E")
      .group(group);
  app.add_option("--cut-to-zero", rules.cut_to_zero,
                 "the sign of the zero to which a negative sum is rounded or flushed: positive, or "
                 "negative (MATLAB-tensor-core); what alignment has cut to zero before has no sign")
      .suggest([] {
        return std::vector<std::string>(cut_to_zero_names.begin(), cut_to_zero_names.end());
      })
      .type_name("SIGN")
      .group(group);
}

}  // namespace binade

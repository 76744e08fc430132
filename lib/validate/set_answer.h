// SPDX-License-Identifier: Apache-2.0
//
// What `binade validate --replay` and `--device` tell of each set of rows and of all of them, as
// text and as JSON.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/instruction/rule_choice.h"
#include "lib/validate/gemm_answer.h"
#include "lib/validate/replay.h"

namespace binade {

/// What the sets were compared with, and whether the evidence for it is told.
struct SetQuestion {
  RuleChoice rules;
  bool evidence = false;
};

/// Lines with the counts of a set of dot products, its first differences, and the evidence or what
/// its rows touch; or why it was skipped.
std::string set_text(const CheckedSet& set, const Dots& dots, const SetQuestion& asked);
std::string set_text(const CheckedScalar& set);
std::string set_text(const std::string& source, const GemmValidation& product,
                     const ValidateGemmOptions& options);

/// The same as JSON: entries of "compared" of binade.validate_replay/1 and validate_device/1.
nlohmann::ordered_json set_json(const CheckedSet& set, const Dots& dots, const SetQuestion& asked);
nlohmann::ordered_json set_json(const CheckedScalar& set);
nlohmann::ordered_json set_json(const std::string& source, const GemmValidation& product,
                                const ValidateGemmOptions& options);

/// The last line, with the counts of all sets.
std::string totals_text(const SetTotals& totals, const RuleChoice& rules);
/// The document of a schema, of `device` if it names one.
nlohmann::ordered_json sets_json(const char* schema, const std::string& device,
                                 const RuleChoice& rules, const SetTotals& totals,
                                 const nlohmann::ordered_json& compared);

}  // namespace binade

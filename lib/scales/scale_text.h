// SPDX-License-Identifier: Apache-2.0
//
// What was found of a quantizer, in words and as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/scales/scale_search.h"

namespace binade {

/// Rules that no block tells apart, under one reading of the arrays.
struct ExplainingRules {
  const ScaleRuleFit* first = nullptr;  ///< one of them, whose reading, order and codes all share
  std::vector<std::string_view> rules = {};
  std::vector<Rounding> roundings = {};  ///< that no element tells apart
};

std::vector<ExplainingRules> explaining_rules(const ScaleFinding& x);

/// The rules that explain every bit of each of several tensors.
struct JointRules {
  std::size_t tensors = 0;
  std::vector<std::string_view> rules = {};

  void add(const ScaleFinding& x);
};

/// Returns the last line of what is printed of several tensors; of one, nothing.
std::string joint_text(const JointRules& joint);

/// Returns the text that `binade scales` prints of a tensor; `show` limits the groups of rules.
std::string scales_text(const ScaleFinding& x, const Quantized& given, std::size_t show);
/// Returns what the document binade.scales/1 has of a tensor, and the document of all tensors and
/// of what is left of each_quantized().
nlohmann::ordered_json scales_json(const ScaleFinding& x, const Quantized& given, std::size_t show);
nlohmann::ordered_json scales_document(const nlohmann::ordered_json& tensors,
                                       const JointRules& joint,
                                       const std::vector<std::string>& left);

/// Returns "none", "unique" or "several".
std::string_view scale_conclusion_name(ScaleConclusion conclusion);

/// Returns "mxfp4, axis 1, scales row_major".
std::string scale_reading_text(const ScaleFinding& x, const ScaleRuleFit& fit);

/// Returns how far a stored scale is from the expected one: "1 binade above"; empty if one of them
/// is no positive number.
std::string binades_text(const ScaleDifference& x, const Format& scale);

/// Returns a scale for a sentence: "0.75 (3F400000)".
std::string scale_number(std::uint32_t code, const Format& format);

/// Returns the places of a block and of an element: "(0, 3)".
std::string block_place(const ScaleReading& reading, std::uint64_t block);
std::string element_place(const ScaleReading& reading, std::uint64_t element);

/// Returns the call of `binade quantize` that gives these codes and scales; empty if there is none.
std::string quantize_call(const ScaleFinding& x, const Quantized& given,
                          const ExplainingRules& rules);

}  // namespace binade

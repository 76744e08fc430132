// SPDX-License-Identifier: Apache-2.0
//
// Which rules of conversion explain every code that a converter gave. Finite numbers, infinities
// and NaNs are decided apart, because a converter may treat each in a way of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/identify/conversion.h"
#include "lib/identify/conversion_sample.h"

namespace binade {

/// An element whose code is not the one that a rule gives.
struct CodeDifference {
  std::uint64_t element = 0, input = 0, expected = 0, found = 0;
};

/// Another value of an attribute, with how many elements contradict it, and the first of them.
struct ExcludedChoice {
  std::string words;
  std::uint64_t elements = 0;
  std::optional<CodeDifference> first = {};
};

/// An attribute of the simplest rule that explains all: its value and the others.
struct DecidedAttribute {
  std::string name, value;
  std::vector<ExcludedChoice> others = {};
  std::string open = {};  ///< why nothing decides it: "no input overflows"; else empty
};

/// What the infinities or the NaNs among the inputs became.
struct SpecialCodes {
  std::uint64_t elements = 0;
  std::vector<std::string> rules = {};  ///< that explain all of them, the simplest first
  std::string nearest = {};             ///< if none does: the rule that explains most
  std::uint64_t equal = 0;              ///< elements that it explains
  std::vector<CodeDifference> first = {};
};

/// A suspicion, and the finite numbers whose codes it would explain, of how many; 0 of 0 if it
/// explains none by itself.
struct ConversionHypothesis {
  std::string words;
  std::uint64_t equal = 0, elements = 0;
};

enum class ConversionConclusion : std::uint8_t { none, unique, several };

struct ConversionFinding {
  std::uint64_t elements = 0, finite = 0;
  Reached reached = {};
  std::uint64_t tried = 0;  ///< rules that differ on what the inputs reach
  /// Those that explain every finite number, the simplest first; of rules that differ in other
  /// attributes than formats and roundings only the simplest, since `decided` tells of these.
  std::vector<Conversion> explaining = {};
  /// Rules that compute the same as the first of `explaining` for every number, not only for these.
  std::vector<Conversion> same = {};
  std::uint64_t unchecked = 0;  ///< rules that explain a sample, and were not compared on the rest
  std::vector<DecidedAttribute> decided = {};  ///< of the first of `explaining`
  std::optional<Conversion> nearest = {};      ///< if none explains every finite number
  std::uint64_t equal = 0;                     ///< finite numbers that it explains
  std::vector<CodeDifference> first = {};      ///< the first that it does not
  std::vector<ConversionHypothesis> hypotheses = {};
  SpecialCodes infinities = {}, nans = {};

  ConversionConclusion conclusion() const;
};

/// Searches the rules, on all threads. The same arrays give the same finding.
ConversionFinding identify_conversion(const Converted& given);

/// Returns what infinities, or NaNs, became; `elements` are those that hold them.
SpecialCodes codes_of_infinities(const Converted& given,
                                 const std::vector<std::uint64_t>& elements);
SpecialCodes codes_of_nans(const Converted& given, const std::vector<std::uint64_t>& elements);

/// Returns suspicions that explain more of the finite numbers than `equal` elements, those that
/// explain most first.
std::vector<ConversionHypothesis> conversion_hypotheses(const Converted& given,
                                                        const std::vector<CodePair>& pairs,
                                                        std::uint64_t equal);

}  // namespace binade

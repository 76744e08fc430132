// SPDX-License-Identifier: Apache-2.0
//
// Which scale rule explains every scale and every code of a quantizer. Scales are searched first:
// they follow from the amaxes of their blocks, whatever the codes are. Then codes, under the scales
// that were found:
//
//     readings × rules × orders     scales, block by block
//     those that give all of them   codes, by the rule's own steps, in every rounding and order of halves
//     else                          the nearest, and what may have happened, each on all blocks
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulate/block_quantize.h"
#include "lib/scales/scale_reading.h"

namespace binade {

/// How many of something are equal, and the first one that is not.
struct ScaleAgreement {
  std::uint64_t equal = 0, of = 0;
  std::optional<std::uint64_t> first = {};
  std::uint64_t nans = 0;   ///< NaNs in both that differ in their bits alone
  std::uint64_t zeros = 0;  ///< scales of code 0 in both, which are equal whatever a rule does

  bool is_whole() const { return equal == of; }
  double share() const {
    return of == 0 ? 1 : static_cast<double>(equal) / static_cast<double>(of);
  }

  /// Returns the share of those that are not zeros in both.
  double speaks() const {
    return of == zeros ? 0 : static_cast<double>(equal - zeros) / static_cast<double>(of - zeros);
  }
  /// Returns whether NaNs' bits are all that differs, and do.
  bool is_whole_but_nans() const { return nans > 0 && equal + nans == of; }

  friend bool operator==(const ScaleAgreement&, const ScaleAgreement&) = default;
};

/// A block's scale that is not the one that a rule gives: codes of the scales' format.
struct ScaleDifference {
  std::uint64_t block = 0;
  std::uint32_t amax = 0;  ///< bits of binary32
  std::uint32_t expected = 0, stored = 0;

  friend bool operator==(const ScaleDifference&, const ScaleDifference&) = default;
};

/// An element's code that is not the expected one.
struct ElementDifference {
  std::uint64_t element = 0, block = 0;
  std::uint32_t x = 0;      ///< bits of binary32
  std::uint32_t scale = 0;  ///< under which it is expected: a code of the scales' format
  std::uint32_t expected = 0, stored = 0;

  friend bool operator==(const ElementDifference&, const ElementDifference&) = default;
};

/// How the scale of a tensor goes with a rule.
enum class TensorScaleFit : std::uint8_t {
  none,      ///< the format has none
  absent,    ///< none is given, so that nothing was compared
  equal,     ///< it is what the rule gives
  imagined,  ///< it is not; another one was taken in its place
};

/// A scale of the tensor that is tried.
struct TensorScaleChoice {
  TensorScale scale = {};
  TensorScaleFit fit = TensorScaleFit::none;
  TensorScalePart part = TensorScalePart::decode;  ///< what the stored one is, if it is equal
  std::string words = {};                          ///< of one that is imagined
  /// It is imagined, but what is stored but for another way of dividing: an ulp from it.
  bool is_near_stored = false;

  /// What is told of it beside what may have happened.
  std::string told() const {
    return fit == TensorScaleFit::imagined && !is_near_stored ? words : std::string();
  }
};

/// A scale rule, held against a reading of what is stored.
struct ScaleRuleFit {
  std::size_t reading = 0, order = 0;
  std::vector<const NamedScaleRule*> rules = {};  ///< all that explain the same; the first is
  const NamedScaleRule* rule = nullptr;           ///< this
  TensorScaleChoice tensor = {};
  /// Whose element step made the codes; the rule's own but where another's alone explains them.
  const NamedScaleRule* step = nullptr;
  Rounding rounding = Rounding::ties_to_even;  ///< to_even: as the step says
  const CodeReading* codes = nullptr;
  ScaleAgreement scales = {}, elements = {};
  double weight = 1;         ///< of the order: StoredScales::weight()
  std::uint64_t filled = 0;  ///< places that fill it up and hold other bits than 0
  std::uint64_t blocks = 0;  ///< whose scale and codes are all equal
  std::optional<ScaleDifference> scale = {};
  std::optional<ElementDifference> element = {};

  /// Returns how much scales speak for it.
  double speaks() const { return scales.speaks() * weight; }
  /// Returns whether all scales are the rule's, that of the tensor too.
  bool is_whole_so_far() const {
    return scales.is_whole() && tensor.fit != TensorScaleFit::imagined;
  }
};

/// What a hypothesis would make equal.
enum class ExplainedPart : std::uint8_t { scales, codes, tensor_scale };

/// What may have happened, and how much it makes equal.
struct ScaleHypothesis {
  std::string words;
  ExplainedPart part = ExplainedPart::scales;
  std::uint64_t equal = 0, of = 0;
  std::string_view kind{};  ///< of change, for scripts: "reciprocal"
  std::size_t reading = 0, order = 0;
  const NamedScaleRule* rule = nullptr;  ///< that gives the scales, or whose step gives the codes
  double factor = 0;                     ///< stored scales over the rule's; 0: no factor
};

enum class ScaleConclusion : std::uint8_t { none, unique, several };

struct ScaleFinding {
  std::vector<ScaleReading> readings = {};
  std::uint64_t rules = 0;    ///< pairs of a reading and a rule whose scales were compared
  std::uint64_t codings = 0;  ///< ways of making codes that were compared
  /// Those that give every scale, every code and, where it is given, the scale of the tensor.
  std::vector<ScaleRuleFit> explaining = {};
  std::vector<ScaleRuleFit> nearest = {};        ///< others, those that explain most first
  std::vector<ScaleHypothesis> hypotheses = {};  ///< where none explains all

  ScaleConclusion conclusion() const {
    return explaining.empty()       ? ScaleConclusion::none
           : explaining.size() == 1 ? ScaleConclusion::unique
                                    : ScaleConclusion::several;
  }
};

/// Searches, on all threads. `show` limits the nearest. Throws Error if nothing can be read from
/// the sizes.
ScaleFinding identify_scales(const Quantized& given,
                             const std::optional<NamedOrCustomBlock>& format, std::size_t show);

}  // namespace binade

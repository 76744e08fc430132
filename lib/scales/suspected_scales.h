// SPDX-License-Identifier: Apache-2.0
//
// Suspicions of scales: those of a rule with one change, which most blocks have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/scales/scale_work.h"

namespace binade {

/// Scales that a suspicion gives, held against stored ones.
struct SuspectedScales {
  std::size_t reading = 0, order = 0;
  const NamedScaleRule* rule = nullptr;
  TensorScaleChoice tensor = {};
  NumbersTaken taken = NumbersTaken::as_given;
  std::string words;
  ScaleAgreement scales = {};
  std::string_view kind = {};
  double factor = 0;
  double weight = 1;                   ///< of the order: StoredScales::weight()
  std::optional<Format> element = {};  ///< for which scales are made, if not the reading's
  bool is_measured = false;            ///< its factor is found by these scales themselves
  RowsMoved rows = {};
  bool is_freed = false;           ///< blocks of zeros, which have one scale, count as equal
  std::vector<bool> unequal = {};  ///< a mark for each block that is left unequal

  double speaks() const { return scales.speaks() * weight; }
};

/// Returns the scales that a rule makes, perhaps for another element format than the reading's.
BlockScales scales_for(const ReadingWork& work, const NamedScaleRule& rule,
                       const TensorScale& tensor, const std::optional<Format>& element);

/// Returns "numbers rounded to bfloat16 first", or "" of numbers as they are.
std::string taken_words(NumbersTaken taken);

/// Returns the parts that are not empty, with commas between them.
std::string joined_words(const std::vector<std::string>& parts);

/// Returns "mxfp4 along axis 1, row_major".
std::string reading_words(const ReadingWork& work, std::size_t order);

/// Adds everything that may have happened to the scales of reading number `number`.
void try_scales_of(const Quantized& given, const ScaleReading& reading, std::size_t number,
                   std::vector<SuspectedScales>& out);

}  // namespace binade

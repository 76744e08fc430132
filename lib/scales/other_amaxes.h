// SPDX-License-Identifier: Apache-2.0
//
// What an amax that is not the tensor's may be: another number of the tensor, that of a part, the
// tensor's rounded or by a factor. One number is all there is to know it by, so that all are told
// that it may be:
//
//     tensor     1.5 -3    max|x| 3       as stored   1.5      perhaps max(x), not max|x|, or that
//                0.5  1                                        of part 1 of 2 of the columns
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "lib/scales/scale_work.h"

namespace binade {

/// An amax that is looked for: any for which `is` returns true, such as `some`.
struct WantedAmax {
  std::uint32_t some = 0;
  std::function<bool(std::uint32_t)> is = {};
};

/// What an amax is beside that of the tensor.
struct FoundAmax {
  std::uint32_t amax = 0;
  double factor = 0;  ///< over the tensor's
  std::string words = {};
  bool is_known = false;   ///< it is a number that something gives, or by a known factor
  bool is_number = false;  ///< it is a number that something gives
};

/// Returns "perhaps max(x), not max|x|, or that of part 1 of 2 of the rows"; else "1.5 times the
/// tensor's", "1.314 times the tensor's".
FoundAmax amax_found(const ReadingWork& work, const ScaleRule& rule, const WantedAmax& wanted);

/// Returns what an amax is of which a rule gives a stored part of the scale of a tensor.
std::string amax_words(const ReadingWork& work, const ScaleRule& rule, TensorScalePart part,
                       std::uint32_t stored);

}  // namespace binade

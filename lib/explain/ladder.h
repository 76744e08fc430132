// SPDX-License-Identifier: Apache-2.0
//
// A block as columns of bits: one row for each term, one column for each binary weight, and a line
// below which the hardware keeps nothing. The pictures on a terminal and as SVG are both drawn from
// it.
#pragma once

#include <vector>

#include "lib/explain/explanation.h"

namespace binade {

enum class BitFate : std::uint8_t {
  kept,
  cut_by_alignment,
  cut_by_floor,
  rounded_off,  ///< a bit of the sum that rounding removed
};

/// The weights of the columns, as exponents of two: highest … unit are kept, unit - 1 … lowest are
/// cut.
struct Ladder {
  int highest = 0;
  int unit = 0;
  int floor_unit = 0;  ///< the unit without the floor; equal to `unit` if the floor does not decide
  int lowest = 0;

  BitFate fate(int weight) const {
    return weight >= unit         ? BitFate::kept
           : weight >= floor_unit ? BitFate::cut_by_floor
                                  : BitFate::cut_by_alignment;
  }
  int kept_columns() const { return highest - unit + 1; }
  int cut_columns() const { return unit - lowest; }
};

/// Returns the ladder of a block for which has_ladder is true, with all places in which its terms,
/// its sum or its result have bits.
Ladder ladder_of(const ExplainedBlock& block);

/// Returns whether a block has a picture: not one of integers, nor one with a NaN or an infinity
/// among its terms, nor one whose terms are all zero.
bool has_ladder(const ExplainedBlock& block);

/// Returns the weight of the last place of a block's result in the block's grid, or the block's
/// unit if the result is an infinity; bits of the sum below it are rounded off.
int last_place(const ExplainedBlock& block);

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// A block as columns of bits: one row a term, one column a weight, and the line below which the hardware
// keeps nothing. Both pictures, on a terminal and as SVG, are drawn from it.
#pragma once

#include <vector>

#include "lib/explain/explanation.h"

namespace binade {

enum class BitFate : std::uint8_t {
  kept,
  cut_by_alignment,
  cut_by_floor,
  rounded_off,  ///< of the sum
};

/// Weights of the columns: highest … unit are kept, unit - 1 … lowest cut.
struct Ladder {
  int highest = 0;
  int unit = 0;
  int floor_unit = 0;  ///< the unit without the floor; the unit where the floor does not decide
  int lowest = 0;

  BitFate fate(int weight) const {
    return weight >= unit         ? BitFate::kept
           : weight >= floor_unit ? BitFate::cut_by_floor
                                  : BitFate::cut_by_alignment;
  }
  int kept_columns() const { return highest - unit + 1; }
  int cut_columns() const { return unit - lowest; }
};

/// Of a block that is not special, with the places that its terms, its sum and its result have bits in.
Ladder ladder_of(const ExplainedBlock& block);

/// Whether a block has a picture: not of integers, no NaN or infinity among its terms.
bool has_ladder(const ExplainedBlock& block);

/// Weight of the last place of a block's result; bits of the sum below are rounded off.
int last_place(const ExplainedBlock& block);

}  // namespace binade

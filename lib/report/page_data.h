// SPDX-License-Identifier: Apache-2.0
//
// What a report's page holds. Less than its JSON: the page of a run of 1000 layers and 200 steps has 5 MB.
//
// One line of JSON, then bytes. Tables of tensors are columns; their binades stand one after another: `rows` says
// how many a tensor has, `exponent` each one's distance from the one before (the first's from 0), `count` the values
// by segment, `mean` and `mean_square` those of m - 1 and m² - 1 over its values x = ±m·2^exponent, m in [1, 2), in
// millionths. Counts are whole, so the page is exact in them at any scale; L1 and L2 are right to six digits.
//
// Along the steps of a run are planes, bytes in [series][step], each the difference from the step before modulo 256:
// share_code() of the shares at scale 1, and of whole numbers the high and the low byte of number + 32768, 0 where there
// is none.
//
// What sets an end of a step's loss scale is told by its series, and of the report's by its row in the page's tables.
#pragma once

#include <cstdint>
#include <string>

#include "lib/report/report.h"

namespace binade {

std::string page_data(const Report& report);

/// A share in a byte: 0 of nothing, 250 of all, else 1 to 249, the nearest whole 250·share^(1/4); 255 of none.
std::uint8_t share_code(std::uint64_t count, std::uint64_t whole);
std::uint8_t share_code(double share);

}  // namespace binade

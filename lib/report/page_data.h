// SPDX-License-Identifier: Apache-2.0
//
// The data of a report's HTML page. They are smaller than its JSON: the page of a run of 1000
// layers and 200 steps has 5 MB.
//
// The data are one line of JSON, followed by bytes. Tables of tensors are stored as columns. The
// binades of all tensors follow one another: `rows` is the number of binades of each tensor,
// `exponent` the distance of each binade from the one before (for a tensor's first, from 0),
// `count` the number of values by segment, and `mean` and `mean_square` the means of m - 1 and m² -
// 1 over its values x = ±m·2^exponent, m in [1, 2), in millionths. Counts are integers, so the
// page's counts are exact at any scale; L1 and L2 norms are right to six digits.
//
// Figures along the steps of a run are stored as planes: bytes in the order [series][step], each
// the difference modulo 256 from the step before. Shares at scale 1 are one plane of share_code().
// Integers are two planes, the high and the low byte of number + 32768, with 0 where there is none.
//
// What sets an end of the loss scale is given as a series for a step, and as a row of the page's
// tables for the report.
#pragma once

#include <cstdint>
#include <string>

#include "lib/report/report.h"

namespace binade {

/// Returns the data of a report's page.
std::string page_data(const Report& report);

/// Returns a share as a byte: 0 for none of the whole, 250 for all of it, else the integer nearest
/// to 250·share^(1/4), but at least 1 and at most 249; 255 if the whole is 0.
std::uint8_t share_code(std::uint64_t count, std::uint64_t whole);
std::uint8_t share_code(double share);

}  // namespace binade

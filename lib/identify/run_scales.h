// SPDX-License-Identifier: Apache-2.0
//
// Scales of runs of K in numbers, and the mistakes that a kernel can make with them.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "lib/identify/change.h"

namespace binade {

/// What a kernel may take in the place of a scale.
struct ScalePower {
  const char* words;
  double (*as)(double);
};
inline constexpr std::array scale_powers{
    ScalePower{"left out", [](double) { return 1.0; }},
    ScalePower{"applied twice", [](double x) { return x * x; }},
    ScalePower{"divided by, in place of multiplied", [](double x) { return 1 / x; }},
    ScalePower{
        "rounded up to powers of two",
        [](double x) { return std::copysign(std::exp2(std::ceil(std::log2(std::abs(x)))), x); }},
    ScalePower{
        "rounded down to powers of two",
        [](double x) { return std::copysign(std::exp2(std::floor(std::log2(std::abs(x)))), x); }},
    ScalePower{"rounded to powers of two, by their logarithm", [](double x) {
                 return std::copysign(std::exp2(std::round(std::log2(std::abs(x)))), x);
               }}};

/// Returns the numbers of A, or of B, line after line, each times the scale of its run of K.
std::vector<double> scaled_numbers(const KernelCase& x, bool of_b);

/// Returns the scale of element k's run in a line of A, or of B; 1 without such scales.
double run_factor(const KernelRun& run, bool of_b, std::size_t line, std::size_t k);

/// Returns mistakes with the scales of runs of K: other powers of them, or those of other runs or
/// lines. None without such scales. They refer to the case's arrays.
std::vector<Change> run_scale_changes(const KernelCase& x);

/// Returns whether the change sums whole runs of K of this length, of which the last may be a part,
/// so that each keeps its scale.
bool keeps_runs(const Change& x, std::size_t length);

}  // namespace binade

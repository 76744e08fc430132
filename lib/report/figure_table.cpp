// SPDX-License-Identifier: Apache-2.0
//
// The table of figures: how each is computed, and the words of the text, the schema and the README
// for it.
#include "lib/report/figure_table.h"

#include <algorithm>
#include <array>

namespace binade {
namespace {

std::optional<double> part_of(const FigureInput& x, double Losses::*which) {
  return x.report.lost ? std::optional((*x.report.lost).*which) : std::nullopt;
}

FigureValue squared_errors(const FigureInput& x) {
  std::vector<ExactSum> out;
  const Format format = *find_format(x.report.name);
  for (const int scale : x.options.scales_log2) {
    const auto column = std::ranges::find(x.summary.columns, ErrorColumn{format, scale});
    out.push_back(total_squared_error(
        x.summary, static_cast<std::size_t>(column - x.summary.columns.begin())));
  }
  return out;
}

constexpr auto all_figures = std::to_array<FigureRow>({
    {"to_zero", FigureKind::count, "to zero", "of non-zero values",
     "Values that are not zero and become zero.",
     "the share of the non-zero values that round to zero",
     [](const FigureInput& x) -> FigureValue { return x.report.to_zero; }},
    {"subnormal", FigureKind::count, "subnormal", "of non-zero values",
     "Values that become a subnormal number.",
     "the share of the non-zero values that become subnormal (smaller than the smallest normal "
     "number, so with fewer bits)",
     [](const FigureInput& x) -> FigureValue { return x.report.subnormal; }},
    {"overflow", FigureKind::count, "overflow", "of non-zero values",
     "Finite values that overflow.",
     "the share of the non-zero values that exceed the format's range",
     [](const FigureInput& x) -> FigureValue { return x.report.overflow; }},
    {"lost_l1", FigureKind::part, "lost l1", "of sum |x|",
     "Sum of the magnitudes of what becomes zero, as a share of that of all finite values.",
     R"(what goes with the values that round to zero, as a share of Σ|x|; 0 only if no value does)",
     [](const FigureInput& x) -> FigureValue { return part_of(x, &Losses::l1); }},
    {"lost_l2", FigureKind::part, "lost l2", "of sqrt(sum x²)",
     "L2 norm of what becomes zero, as a share of the L2 norm of all finite values.",
     "the same as a share of the norm √Σx²",
     [](const FigureInput& x) -> FigureValue { return part_of(x, &Losses::l2); }},
    {"clipped_l1", FigureKind::part, "clipped l1", "of sum |x|",
     "Sum of what magnitudes of overflowing values exceed the largest number by, as a share of the "
     "sum of the magnitudes of all finite values.",
     R"(the share of Σ|x| that would be cut off if each value that overflows became the largest finite number)",
     [](const FigureInput& x) -> FigureValue { return part_of(x, &Losses::clipped_l1); }},
    {"sqnr_db", FigureKind::decibels, "SQNR", "overflow saturated",
     "Signal to quantization noise in dB at each scale, by its exponent of two, what overflows "
     "taken "
     "as the largest number; null where there is no error.",
     "the ratio of signal to rounding noise, 10 log₁₀(Σx² / Σerror²), where a value that overflows "
     "counts as the "
     "largest finite number",
     [](const FigureInput& x) -> FigureValue { return x.report.sqnr_db; }},
    {"squared_error", FigureKind::sum, nullptr, nullptr,
     "Sum of the squares of rounding errors at each scale, by its exponent of two, exactly.",
     "Σerror² at each scale, in the JSON alone", squared_errors},
    {"headroom", FigureKind::binades, "headroom to overflow", nullptr,
     "Binades between the largest value and overflow.",
     "the largest power of two by which the largest magnitude can be multiplied without overflow",
     [](const FigureInput& x) -> FigureValue { return x.report.headroom; }},
    {"band_27_24", FigureKind::count, nullptr, nullptr,
     "Of binary16: values from 2^-27 up to 2^-24.",
     R"(the share of the non-zero values with 2^-27 ≤ |x| < 2^-24, the three binades below 2^-24, the smallest positive )"
     "number of binary16. A loss scale of 8 lifts all of them to it or above",
     [](const FigureInput& x) -> FigureValue { return *x.report.band_27_24; }, true, true},
    {"rne_zero", FigureKind::count, nullptr, nullptr,
     "Of binary16: values that are not zero, up to 2^-25.",
     R"(the share of the non-zero values with |x| ≤ 2^-25, which ties to even round to zero in binary16. The number )"
     "differs from band_27_24, whose upper binade rounds to 2^-24",
     [](const FigureInput& x) -> FigureValue { return *x.report.rne_zero; }, false, true},
});

}  // namespace

std::span<const FigureRow> figure_rows() { return all_figures; }

}  // namespace binade

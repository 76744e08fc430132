// SPDX-License-Identifier: Apache-2.0
//
// A value of at most 2^floor_binades smallest subnormals is at most half of one, and rounds to
// zero, once it is divided by 2^(floor_binades + 1).
#include "lib/report/held_floor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "lib/report/used_scale.h"

namespace binade {
namespace {

struct Held {
  std::string_view dtype;
  Format format;
};
constexpr std::array<Held, 2> narrow_dtypes{{{"F16", binary16}, {"BF16", bfloat16}}};

}  // namespace

std::optional<Format> held_in(std::string_view dtype, bool any_half, std::uint64_t nonzero,
                              int least_exponent) {
  constexpr std::uint64_t fewest = 64;
  const auto at = std::ranges::find(narrow_dtypes, dtype, &Held::dtype);
  if (at != narrow_dtypes.end()) return at->format;
  const bool may_be_half = any_half && dtype == "F32" && nonzero >= fewest &&
                           least_exponent >= binary16.quantum_exponent();
  return may_be_half ? std::optional(binary16) : std::nullopt;
}

std::optional<double> share_at_floor(const RangeSummary& summary, const Norms& of,
                                     const Format& format, int scale_log2) {
  const std::optional<Losses> lost = losses(summary, of, format, scale_log2 - floor_binades - 1);
  return lost ? std::optional(lost->l2) : std::nullopt;
}

bool any_in_half(std::span<const NamedTensor> tensors) {
  return std::ranges::any_of(
      tensors, [](const NamedTensor& t) { return t.place.info().dtype.name == "F16"; });
}

bool lies_at_floor(const TensorReport& tensor, const NamedTensor& named, bool any_half) {
  const RangeSummary& s = tensor.summary;
  if (!tensor.role || !is_gradient(*tensor.role) || !named.binds_scale) return false;
  if (s.zeros == 0 || s.nonzero() == 0) return false;
  const double used = named.by_run ? used_scale(named).value_or(1) : 1;
  const int scale_log2 = std::clamp(static_cast<int>(std::lround(std::log2(used))),
                                    lowest_scale_log2, highest_scale_log2);
  const std::optional<Format> format =
      held_in(tensor.dtype, any_half, s.nonzero(), s.binades.begin()->first + scale_log2);
  return format && share_at_floor(s, tensor.norms, *format, scale_log2).value_or(0) > floor_share;
}

}  // namespace binade

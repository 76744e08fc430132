// SPDX-License-Identifier: Apache-2.0
//
// A value of at most 2^floor_binades smallest subnormals is at most half of one, and rounds to zero, once it is divided by
// 2^(floor_binades + 1).
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

std::optional<Format> held_in(const TensorReport& tensor, bool any_half, int scale_log2) {
  constexpr std::uint64_t fewest = 64;
  const auto at = std::ranges::find(narrow_dtypes, tensor.dtype, &Held::dtype);
  if (at != narrow_dtypes.end()) return at->format;
  const RangeSummary& s = tensor.summary;
  const bool may_be_half = any_half && tensor.dtype == "F32" && s.nonzero() >= fewest &&
                           s.binades.begin()->first + scale_log2 >= binary16.quantum_exponent();
  return may_be_half ? std::optional(binary16) : std::nullopt;
}

}  // namespace

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
  const std::optional<Format> format = held_in(tensor, any_half, scale_log2);
  return format &&
         losses(s, tensor.norms, *format, scale_log2 - floor_binades - 1)->l2 > floor_share;
}

}  // namespace binade

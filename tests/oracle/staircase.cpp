// SPDX-License-Identifier: Apache-2.0
//
// Builds staircases. Between two neighbouring numbers of the format the outcome changes a few times
// at most and never changes back: bisection finds each change.
#include "tests/oracle/staircase.h"

#include <bit>

namespace oracle {
namespace {

constexpr Spec binary32{8, 24, 127};
constexpr std::uint32_t infinity_bits = 0x7F800000;

class Builder {
 public:
  Builder(const Oracle& oracle, const Rules& rules) : oracle_(oracle), rules_(rules) {}

  /// One interval whose outcomes form a staircase.
  void add(std::uint32_t first, std::uint32_t last) {
    const Outcome end = at(last);
    Outcome here = at(first);
    while (!(here == end)) {
      push(first, here);
      std::uint32_t same = first;
      std::uint32_t different = last;
      while (different - same > 1) {
        const std::uint32_t middle = same + (different - same) / 2;
        (at(middle) == here ? same : different) = middle;
      }
      first = different;
      here = at(first);
    }
    push(first, here);
  }

  std::vector<Step> steps;

 private:
  Outcome at(std::uint32_t pattern) const {
    return oracle_.round(value_of(pattern, binary32), rules_);
  }
  void push(std::uint32_t first, const Outcome& outcome) {
    if (steps.empty() || !(steps.back().outcome == outcome)) steps.push_back({first, outcome});
  }
  const Oracle& oracle_;
  const Rules& rules_;
};

/// The finite magnitudes of the format as float32 patterns, ascending, and Inf.
std::vector<std::uint32_t> grid(const Spec& spec) {
  std::vector<std::uint32_t> patterns;
  const std::uint64_t codes = std::uint64_t{1} << (spec.exponent_bits + spec.precision - 1);
  for (std::uint64_t code = 0; code < codes; ++code) {
    const Value value = value_of(code << spec.padding, spec);
    if (value.kind != Kind::number) break;
    patterns.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(to_double(value))));
  }
  patterns.push_back(infinity_bits);
  return patterns;
}

}  // namespace

std::vector<Step> staircase(const Oracle& oracle, const Rules& rules) {
  const std::vector<std::uint32_t> patterns = grid(oracle.spec());
  Builder builder(oracle, rules);
  for (const std::uint32_t sign : {0x00000000U, 0x80000000U}) {
    for (std::size_t i = 0; i + 1 < patterns.size(); ++i) {
      const std::uint32_t low = sign | patterns[i];
      const std::uint32_t high = sign | patterns[i + 1];
      builder.add(low, low);
      if (high - low > 1) builder.add(low + 1, high - 1);
    }
    builder.add(sign | infinity_bits, sign | infinity_bits);
    builder.add(sign | 0x7F800001, sign | 0x7FBFFFFF);  // signaling
    builder.add(sign | 0x7FC00000, sign | 0x7FFFFFFF);
  }
  return std::move(builder.steps);
}

}  // namespace oracle

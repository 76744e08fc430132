// SPDX-License-Identifier: Apache-2.0
//
// Test cases of functions: every combination of the edges of the operands' types, the cases that
// aims make, and random ones.
#include "lib/cases/hard_cases.h"

#include <algorithm>
#include <utility>

#include "lib/cases/aims.h"

namespace binade {
namespace {

constexpr int cases_per_aim = 256;

/// Returns, without signs and padding, encodings at which a format's arithmetic changes: zero, the
/// smallest and largest subnormals and normals, 1, infinity, NaN. With `all` there are more:
/// neighbours, powers of two, ties to integers.
std::vector<std::uint64_t> edges(const Format& f, bool all) {
  const std::uint64_t one = f.fraction_mask() + 1;  // lowest bit of the exponent field
  const std::uint64_t last = ((f.exponent_mask() << f.fraction_bits()) | f.fraction_mask());
  std::vector<std::uint64_t> raw{0, 1, one - 1, one, one + 1, last, last - 1};
  const auto add = [&](const Exact& x) { raw.push_back(encoded(x, f) >> f.padding_bits); };
  const auto beside = [&](std::uint64_t bits) {
    for (const std::uint64_t step : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
      raw.push_back((bits >> f.padding_bits) + step);
    }
  };
  add(power(0));
  add(power(-f.precision));
  raw.push_back(max_bits(f, false) >> f.padding_bits);
  raw.push_back(f.exponent_mask() << f.fraction_bits());      // Inf, or the top binade
  raw.push_back(f.exponent_mask() << f.fraction_bits() | 1);  // a signaling NaN, or a number there
  if (all) {
    raw.insert(raw.end(), {2, 3});
    for (const int e : {f.emin() / 2, 1, f.precision, f.precision - 1, 1 - f.precision, f.emax(),
                        f.emax() / 2, f.quantum_exponent() / 2, -1}) {
      add(power(e));
    }
    beside(encoded(power(0), f));
    beside(max_bits(f, false));
    beside(f.exponent_mask() << f.fraction_bits() << f.padding_bits);
    add({.kind = Kind::finite, .exponent = -1, .significand = 3});
    add({.kind = Kind::finite, .significand = 3});
    raw.insert(raw.end(), {one / 2, 2 * one - 1, last - one / 2, last - one / 2 + 1});
  }
  std::erase_if(raw, [&](std::uint64_t x) { return x > last; });
  std::ranges::sort(raw);
  raw.erase(std::unique(raw.begin(), raw.end()), raw.end());
  return raw;
}

std::vector<std::uint64_t> edges(const IntegerType& type) {
  std::vector<std::uint64_t> out{0, type.mask()};
  for (int k = 0; k < type.bits; ++k) {
    const std::uint64_t power_of_two = std::uint64_t{1} << k;
    for (const std::uint64_t x : {power_of_two, power_of_two - 1, power_of_two + 1}) {
      out.push_back(x & type.mask());
      out.push_back((std::uint64_t{0} - x) & type.mask());
    }
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// Returns the edges of a type, with both signs for numbers; `all` is as above.
std::vector<std::uint64_t> edges(const ValueType& type, bool all) {
  if (type.kind == ValueType::Kind::integer) return edges(type.integer);
  std::vector<std::uint64_t> out;
  for (const std::uint64_t raw : edges(type.format, all)) {
    const std::uint64_t bits = raw << type.format.padding_bits;
    out.push_back(bits);
    if (type.format.has_sign) out.push_back(opposite(bits, type.format));
  }
  return out;
}

/// Returns the function of one lane: for a PTX instruction, the arithmetic or the conversion that
/// it does, with lanes 1 and without random bits.
TestFunction one_lane(const TestFunction& function) {
  if (!function.is_ptx()) return function;
  TestFunction out = function;
  if (function.act == Act::cvt) {
    out.act = Act::convert;
    out.cvt.lanes = out.result.lanes = 1;
    out.operands = {{.kind = ValueType::Kind::number, .format = function.cvt.from}};
    return out;
  }
  out.act = function.ptx.extremum ? Act::extremum : Act::arithmetic;
  out.operation = function.ptx.operation;
  out.ptx.lanes = out.result.lanes = 1;
  for (ValueType& type : out.operands) type.lanes = 1;
  return out;
}

Target target_of(const TestFunction& function) {
  Target out;
  for (std::size_t i = 0; i < function.operands.size(); ++i) {
    const ValueType& type = function.operands[i];
    out.from[i] = type.format;
    if (type.kind == ValueType::Kind::integer) out.integer = type.integer;
  }
  out.to = function.result.format;
  if (function.result.kind == ValueType::Kind::truth) out.to = out.from[0];
  if (function.result.kind == ValueType::Kind::integer) out.integer = function.result.integer;
  return out;
}

int operand_bits(const TestFunction& function) {
  int bits = 0;
  for (const ValueType& type : function.operands) {
    bits +=
        type.kind == ValueType::Kind::integer ? type.integer.bits : type.lanes * type.format.bits();
  }
  return bits;
}

std::vector<TestOperands> all_cases(const TestFunction& function) {
  std::vector<TestOperands> out;
  const std::uint64_t count = std::uint64_t{1} << operand_bits(function);
  out.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    TestOperands operands{};
    std::uint64_t rest = i;
    for (std::size_t k = function.operands.size(); k-- > 0;) {
      const ValueType& type = function.operands[k];
      const bool integer = type.kind == ValueType::Kind::integer;
      const int width = integer ? type.integer.bits : type.format.bits();
      const int padding = integer ? 0 : type.format.padding_bits;
      for (int lane = 0; lane < type.lanes; ++lane) {
        const std::uint64_t bits = rest & ((std::uint64_t{1} << width) - 1);
        operands[k] |= bits << padding << (lane * type.lane_bits());
        rest >>= width;
      }
    }
    out.push_back(operands);
  }
  return out;
}

std::vector<TestOperands> crossed_edges(const TestFunction& function) {
  std::vector<TestOperands> out{{}};
  for (std::size_t k = 0; k < function.operands.size(); ++k) {
    const auto points = edges(function.operands[k], function.operands.size() < 3);
    std::vector<TestOperands> next;
    next.reserve(out.size() * points.size());
    for (const TestOperands& before : out) {
      for (const std::uint64_t bits : points) {
        next.push_back(before);
        next.back()[k] = bits;
      }
    }
    out = std::move(next);
  }
  return out;
}

/// Writes the operands of one lane to their places in the operands of all lanes.
void place(const TestFunction& function, int lane, const TestOperands& one, TestOperands& all) {
  if (function.act == Act::cvt && !function.cvt.packed_source) {
    all[static_cast<std::size_t>(function.cvt.lanes - 1 - lane)] = one[0];
    return;
  }
  const auto inputs = function.act == Act::cvt ? 1 : function.operands.size();
  for (std::size_t k = 0; k < inputs; ++k) {
    all[k] |= one[k] << (lane * function.operands[k].lane_bits());
  }
}

/// Writes the random bits of a conversion that draws some.
void place_random(const TestFunction& function, std::uint64_t rbits, TestOperands& all) {
  if (function.act != Act::cvt || function.cvt.random == RandomLayout::none) return;
  all[static_cast<std::size_t>(function.cvt.operand_count())] = rbits;
}

/// Returns cases of all lanes of a PTX instruction: each lane gets the same cases in another order.
std::vector<TestOperands> in_lanes(const std::vector<TestOperands>& cases,
                                   const TestFunction& function, std::uint64_t seed) {
  std::vector<TestOperands> out(cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (int lane = 0; lane < function.result.lanes; ++lane) {
      const std::size_t other = i * 7919 + static_cast<std::size_t>(lane);
      place(function, lane, cases[lane == 0 ? i : other % cases.size()], out[i]);
    }
    Draw draw(seed, (std::uint64_t{3} << 62) + i);
    const std::uint64_t ends = i % 8 == 0 ? 0 : 0xFFFFFFFF;
    place_random(function, i % 4 == 0 ? ends : draw.bits(32), out[i]);
  }
  return out;
}

std::uint64_t random_operand(Draw& draw, const ValueType& type, int near, int kind) {
  if (type.kind == ValueType::Kind::integer) {
    const std::uint64_t x = draw.bits(draw.between(1, type.integer.bits));
    return (draw.flip() ? std::uint64_t{0} - x : x) & type.integer.mask();
  }
  const Format& f = type.format;
  switch (kind) {
    case 0: return draw.bits(f.bits()) << f.padding_bits;
    case 1: return encoded(some_number(draw, f, near), f);
    case 2: return encoded(odd_number(draw, draw.between(1, 4), near), f);
    default: {
      const auto points = edges(type, true);
      return points[draw.bits(31) % points.size()];
    }
  }
}

TestOperands random_lane(Draw& draw, const TestFunction& function) {
  const Target t = target_of(function);
  const bool uniform = draw.between(0, 2) == 0;
  const int e = some_exponent(draw, t.from[0]);
  TestOperands out{};
  for (std::size_t k = 0; k < function.operands.size(); ++k) {
    const int width = function.operands[k].format.precision + 2;
    const int near = e + draw.between(-width, width);
    // One operand in 32 is an edge, so that infinities and NaNs meet every kind of number.
    const int kind = uniform ? 0 : draw.between(0, 31) == 0 ? 3 : draw.between(1, 2);
    out[k] = random_operand(draw, function.operands[k], near, kind);
  }
  return out;
}

}  // namespace

bool is_exhaustive(const TestFunction& function) {
  return operand_bits(function) <= exhaustive_bits;
}

std::vector<TestOperands> hard_cases(const TestFunction& function, std::uint64_t seed) {
  if (is_exhaustive(function)) return all_cases(function);
  const TestFunction lane = one_lane(function);
  std::vector<TestOperands> out = crossed_edges(lane);
  const Target target = target_of(lane);
  std::uint64_t stream = std::uint64_t{1} << 63;  // random cases draw the streams below
  for (const AimedAt& row : aims()) {
    const bool meant =
        row.act == lane.act && (row.act != Act::arithmetic || row.operation == lane.operation);
    for (int i = 0; meant && i < cases_per_aim; ++i) {
      Draw draw(seed, stream++);
      const Operands made = row.aim(draw, target);
      out.push_back({made[0], made[1], made[2]});
    }
  }
  return function.is_ptx() ? in_lanes(out, function, seed) : out;
}

TestOperands random_case(const TestFunction& function, std::uint64_t seed, std::uint64_t index) {
  Draw draw(seed, index);
  const TestFunction one = one_lane(function);
  if (!function.is_ptx()) return random_lane(draw, one);
  TestOperands out{};
  for (int lane = 0; lane < function.result.lanes; ++lane) {
    place(function, lane, random_lane(draw, one), out);
  }
  place_random(function, draw.bits(32), out);
  return out;
}

}  // namespace binade

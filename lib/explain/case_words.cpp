// SPDX-License-Identifier: Apache-2.0
//
// Writes one case as a small table of names, encodings, values and flags.
#include "lib/explain/case_words.h"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "lib/explain/rounding_words.h"
#include "lib/number/encoding_text.h"
#include "lib/number/number_text.h"
#include "lib/text/paragraph.h"

namespace binade {
namespace {

struct Row {
  std::string name, encoding, value, flags = {};
};

std::string integer_text(std::uint64_t bits, const IntegerType& type) {
  const Exact x = from_integer(bits, type);
  return fmt::format("{}{}", x.negative ? "-" : "", static_cast<std::uint64_t>(x.significand));
}

std::string number_text(std::uint64_t bits, const Format& f) {
  const bool signaling = decode(bits, f).signaling;
  return signaling ? "signaling NaN" : value_with_digits(bits, f);
}

std::string text_of(std::uint64_t bits, const ValueType& type) {
  switch (type.kind) {
    case ValueType::Kind::integer: return integer_text(bits, type.integer);
    case ValueType::Kind::truth: return bits != 0 ? "true" : "false";
    case ValueType::Kind::number: break;
  }
  return number_text(bits, type.format);
}

Row row_of(std::string name, std::uint64_t bits, const ValueType& type) {
  return {std::move(name), hexadecimal(bits, type.digits()), text_of(bits, type)};
}

/// Returns the magnitude of x. If x is sticky, half a unit stands for the bits below its
/// significand: it lies between the same neighbours.
Decimal magnitude_of(const Exact& x) {
  Decimal out{.integer = {}, .twos = x.exponent, .fives = 0};
  const bool rest = x.sticky;
  for (uint128 n = x.significand; n != 0; n >>= 32) {
    out.integer.push_back(static_cast<std::uint32_t>(n));
  }
  if (!rest) return out;
  Decimal half{.integer = {1}, .twos = x.exponent - 1, .fives = 0};
  // significand + 1/2 = (2 significand + 1) / 2
  Natural twice;
  std::uint32_t carry = 1;
  for (const std::uint32_t word : out.integer) {
    twice.push_back(word << 1 | carry);
    carry = word >> 31;
  }
  if (carry != 0) twice.push_back(carry);
  half.integer = twice;
  return half;
}

Literal literal_of(const Exact& x) {
  Literal out{.text = {}, .kind = x.kind, .negative = x.negative};
  if (x.kind == Kind::finite) out.magnitude = magnitude_of(x);
  if (x.kind == Kind::nan) out.special = x;
  return out;
}

/// Returns "-2.8720703125", "inf", "NaN"; a number with too many digits is rounded, with "about"
/// before it.
std::string exact_value(const Exact& x) {
  const std::string sign = x.negative ? "-" : "";
  switch (x.kind) {
    case Kind::zero: return sign + "0";
    case Kind::infinite: return sign + "inf";
    case Kind::nan: return "NaN";
    case Kind::finite: break;
  }
  const Decimal magnitude = magnitude_of(x);
  if (x.sticky) return "about " + sign + short_text(magnitude, 20);
  const std::string text = concise_text(magnitude, 24);
  constexpr std::string_view about = "about ";
  if (!text.starts_with(about)) return sign + text;
  return "about " + sign + short_text(magnitude, 20);
}

/// Adds the row of the exact result: its value, how it rounds, and what the operation itself
/// raised.
void add_exact_result(std::vector<Row>& rows, const Exact& exact, const NamedOrCustom& to,
                      const Attributes& attributes, bool signaling, std::uint32_t random = 0) {
  const bool invalid = (exact.flags & Flag::invalid) != 0;
  const bool pole = (exact.flags & Flag::divide_by_zero) != 0;
  if (invalid && exact.kind == Kind::nan) {
    const char* why = signaling ? "NaN: a signaling NaN raises invalid" : "no number: invalid";
    rows.push_back({"exact", "", why});
    return;
  }
  const std::string words = round_literal(literal_of(exact), to, attributes, random).words;
  const std::string value = exact_value(exact) + (pole ? ", divided by zero" : "");
  rows.push_back({"exact", "", value + (words == "exact" || words.empty() ? "" : ": " + words)});
}

std::string flags_text(Flags flags) {
  const std::vector<std::string> names = names_of_flags(flags);
  return names.empty() ? "no flags" : fmt::format("{}", fmt::join(names, ", "));
}

Row verdict(const char* name, const TestResult& result, bool has_flags, const ValueType& type) {
  Row row = row_of(name, result.bits, type);
  if (has_flags) {
    row.encoding += fmt::format(" {:02X}", result.flags);
    row.flags = flags_text(result.flags);
  }
  return row;
}

constexpr std::array<std::string_view, 4> relation_names{"a < b", "a = b", "a > b", "unordered"};

/// Returns one lane of a case of packed numbers, as a case of its own.
Mismatch in_lane(const Mismatch& m, const TestFunction& function, int lane) {
  const auto part = [lane](std::uint64_t bits, const ValueType& type) {
    const int width = type.lane_bits();
    return bits >> (lane * width) & (~std::uint64_t{0} >> (64 - width));
  };
  Mismatch out = m;
  out.stream.result.bits = part(m.stream.result.bits, function.result);
  out.ours.bits = part(m.ours.bits, function.result);
  if (function.act == Act::cvt) {
    const auto& [a, b, e, f, rbits] = m.stream.operands;
    out.stream.operands = {lane_operand(function.cvt, {a, b, e, f}, lane)};
    return out;
  }
  for (std::size_t i = 0; i < function.operands.size(); ++i) {
    out.stream.operands[i] = part(m.stream.operands[i], function.operands[i]);
  }
  return out;
}

/// Returns the first lane whose results do not agree.
int different_lane(const Mismatch& m, const TestFunction& function, const Comparing& comparing) {
  TestFunction one = function;
  one.result.lanes = 1;
  for (int lane = 0; lane < function.result.lanes; ++lane) {
    const Mismatch part = in_lane(m, function, lane);
    if (!values_agree(part.stream.result, part.ours, one, comparing)) return lane;
  }
  return 0;
}

/// Adds the random bits that one lane of a conversion draws, if it draws some, and the row of its
/// exact result.
void add_exact_result_of_cvt(std::vector<Row>& rows, const TestFunction& function,
                             const TestOperands& operands, int lane) {
  const PtxCvt& cvt = function.cvt;
  const auto& [a, b, e, f, last] = operands;
  const std::uint64_t bits = lane_operand(cvt, {a, b, e, f}, lane);
  const auto rbits =
      static_cast<std::uint32_t>(operands[static_cast<std::size_t>(cvt.operand_count())]);
  if (cvt.random != RandomLayout::none) {
    rows.push_back(row_of("rbits", rbits, function.operands.back()));
  }
  const Exact exact = clamped(decode_operand(bits, cvt.from, cvt.attributes), cvt.clamp);
  add_exact_result(rows, exact, {spec_of(cvt.to), cvt.to}, cvt.attributes, exact.signaling,
                   random_of(cvt, rbits, lane));
}

std::string laid_out(const std::vector<Row>& rows) {
  std::size_t encoding = 0;
  std::size_t value = 0;
  for (const Row& row : rows) {
    encoding = std::max(encoding, row.encoding.size());
    if (!row.flags.empty()) value = std::max(value, columns_of(row.value));
  }
  std::string out;
  for (const Row& row : rows) {
    std::string line =
        "  " + left_aligned(row.name, 8) + left_aligned(row.encoding, encoding) + "  ";
    line += row.flags.empty() ? row.value : left_aligned(row.value, value) + "  " + row.flags;
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

}  // namespace

std::string explained(const Mismatch& mismatch, const TestFunction& function,
                      const TestSettings& settings, const Comparing& comparing) {
  const bool packed = function.result.lanes > 1;
  const int lane = packed ? different_lane(mismatch, function, comparing) : 0;
  const Mismatch m = packed ? in_lane(mismatch, function, lane) : mismatch;
  std::string head = fmt::format("line {}: {}", mismatch.line, function.name);
  for (std::size_t i = 0; i < function.operands.size(); ++i) {
    head += " " + hexadecimal(mismatch.stream.operands[i], function.operands[i].digits());
  }
  if (packed) head += fmt::format(", lane {}", lane);

  std::vector<Row> rows;
  bool signaling = false;
  const bool cvt = function.act == Act::cvt;
  for (std::size_t i = 0; i < (cvt ? 1 : function.operands.size()); ++i) {
    ValueType type = function.operands[i];
    type.lanes = 1;
    const auto apart = static_cast<std::size_t>(cvt ? function.cvt.operand_count() - 1 - lane : 0);
    const std::size_t word = cvt && !function.cvt.packed_source ? apart : i;
    rows.push_back(row_of(operand_name(function, word), m.stream.operands[i], type));
    signaling = signaling || (type.kind == ValueType::Kind::number &&
                              decode(m.stream.operands[i], type.format).signaling);
  }
  ValueType result = function.result;
  result.lanes = 1;
  if (function.act == Act::compare) {
    const auto operand = [&](std::size_t i) {
      return decode_operand(m.stream.operands[i], function.operands[i].format, settings.attributes);
    };
    const Exact a = operand(0);
    const Exact b = operand(1);
    rows.push_back({"", "", std::string(relation_names[static_cast<std::size_t>(compare(a, b))])});
  } else if (cvt) {
    add_exact_result_of_cvt(rows, function, mismatch.stream.operands, lane);
  } else if (function.act == Act::ptx) {
    const TestOperands& x = m.stream.operands;
    add_exact_result(rows, exact_lane(function.ptx, {x[0], x[1], x[2]}),
                     {spec_of(result.format), result.format}, function.ptx.attributes, signaling);
  } else if (function.act != Act::to_integer) {
    add_exact_result(rows, exact_result(function, m.stream.operands, settings),
                     {spec_of(result.format), result.format}, settings.attributes, signaling);
  }
  const bool has_flags = function.has_flags() && mismatch.stream.has_flags;
  rows.push_back(verdict("binade", m.ours, has_flags, result));
  rows.push_back(verdict("stream", m.stream.result, has_flags, result));
  return head + "\n" + laid_out(rows);
}

}  // namespace binade

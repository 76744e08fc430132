// SPDX-License-Identifier: Apache-2.0
//
// Parsing the names of test functions, and evaluating the functions.
#include "lib/testfloat/test_function.h"

#include <algorithm>
#include <optional>

#include "lib/format/format_spec.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

struct ShortName {
  std::string_view name;
  Format format;
};
constexpr std::array<ShortName, 4> testfloat_formats{
    {{"f16", binary16}, {"f32", binary32}, {"f64", binary64}, {"bf16", bfloat16}}};

struct NamedInteger {
  std::string_view name;
  IntegerType type;
};
constexpr std::array<NamedInteger, 8> integers{{{"i32", {32, true}},
                                                {"ui32", {32, false}},
                                                {"i64", {64, true}},
                                                {"ui64", {64, false}},
                                                {"i16", {16, true}},
                                                {"ui16", {16, false}},
                                                {"i8", {8, true}},
                                                {"ui8", {8, false}}}};

struct Comparison {
  std::string_view name;
  std::string_view predicate;
};
constexpr std::array<Comparison, 6> testfloat_comparisons{
    {{"eq", "compareQuietEqual"},
     {"le", "compareSignalingLessEqual"},
     {"lt", "compareSignalingLess"},
     {"eq_signaling", "compareSignalingEqual"},
     {"le_quiet", "compareQuietLessEqual"},
     {"lt_quiet", "compareQuietLess"}}};

/// An operation that may stand after a format in a name.
struct Named {
  std::string_view name;
  Act act;
  std::size_t row;  ///< index in the table of its kind
  std::size_t operands;
};

std::vector<Named> named_acts() {
  std::vector<Named> out;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].testfloat.empty()) continue;  // listed with the extrema
    const auto count = static_cast<std::size_t>(operations[i].operands);
    out.push_back({operations[i].testfloat, Act::arithmetic, i, count});
  }
  out.push_back({"roundToInt", Act::round_to_integral, 0, 1});
  for (const Comparison& row : testfloat_comparisons) {
    const auto found = std::ranges::find(predicates, row.predicate, &Predicate::name);
    out.push_back(
        {row.name, Act::compare, static_cast<std::size_t>(found - predicates.begin()), 2});
  }
  for (std::size_t i = 0; i < predicates.size(); ++i) {
    out.push_back({predicates[i].name, Act::compare, i, 2});
  }
  for (std::size_t i = 0; i < extrema.size(); ++i) {
    out.push_back({extrema[i].name, Act::extremum, i, 2});
  }
  return out;
}

ValueType number(const Format& format, int lanes = 1) {
  return {.kind = ValueType::Kind::number, .format = format, .lanes = lanes};
}

std::optional<ValueType> find_integer(std::string_view name) {
  for (const NamedInteger& row : integers) {
    if (row.name == name) return ValueType{.kind = ValueType::Kind::integer, .integer = row.type};
  }
  return std::nullopt;
}

Format format_named(std::string_view name) {
  for (const ShortName& row : testfloat_formats) {
    if (row.name == name) return row.format;
  }
  if (find_integer(name)) {
    throw Error("'" + printable(name) +
                "' is an integer type; here stands a floating-point format");
  }
  return parse_format(name).format;
}

ValueType type_named(std::string_view name) {
  if (const auto integer = find_integer(name)) return *integer;
  return number(format_named(name));
}

std::optional<TestFunction> ptx_function(std::string_view name) {
  if (const std::optional<PtxCvt> cvt = find_ptx_cvt(name)) {
    TestFunction out{.name = std::string(name), .act = Act::cvt, .cvt = *cvt};
    const int lanes = cvt->packed_source ? cvt->lanes : 1;
    const auto words = static_cast<std::size_t>(cvt->operand_count());
    out.operands.assign(words, number(cvt->from, lanes));
    if (cvt->random != RandomLayout::none) {
      out.operands.push_back({.kind = ValueType::Kind::integer, .integer = {32, false}});
    }
    out.result = number(cvt->to, cvt->lanes);
    return out;
  }
  const std::optional<PtxScalar> ptx = find_ptx_scalar(name);
  if (!ptx) return std::nullopt;
  TestFunction out{.name = std::string(name), .act = Act::ptx, .ptx = *ptx};
  for (int i = 0; i < ptx->operands; ++i) {
    out.operands.push_back(number(ptx->from[static_cast<std::size_t>(i)], ptx->lanes));
  }
  out.result = number(ptx->to, ptx->lanes);
  return out;
}

/// Returns the longest operation that a name ends in after an underscore.
std::optional<Named> act_at_end(std::string_view name) {
  std::optional<Named> best;
  for (const Named& row : named_acts()) {
    const bool fits = name.size() > row.name.size() + 1 && name.ends_with(row.name) &&
                      name[name.size() - row.name.size() - 1] == '_';
    if (fits && (!best || row.name.size() > best->name.size())) best = row;
  }
  return best;
}

std::vector<Format> formats_in(std::string_view list) {
  std::vector<Format> out;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    out.push_back(format_named(list.substr(begin, end - begin)));
    if (end == list.size()) return out;
    begin = end + 1;
  }
}

TestFunction operation_function(std::string_view name, std::string_view left, const Named& row,
                                const std::optional<Format>& to) {
  std::vector<Format> from = formats_in(left.substr(0, left.size() - row.name.size() - 1));
  if (from.size() == 1) from.resize(row.operands, from[0]);
  if (from.size() != row.operands) {
    throw Error("'" + printable(name) + "': " + std::string(row.name) + " has " +
                std::to_string(row.operands) + " operands, not " + std::to_string(from.size()) +
                "; give one format for all, or one for each");
  }
  TestFunction out{.name = std::string(name), .act = row.act};
  for (const Format& f : from) out.operands.push_back(number(f));
  if (row.act == Act::compare) {
    if (to) throw Error("'" + printable(name) + "': a comparison gives 0 or 1; leave out _to_…");
    out.predicate = predicates[row.row];
    out.result = {.kind = ValueType::Kind::truth};
    return out;
  }
  if (!to && std::ranges::any_of(from, [&](const Format& f) { return f != from[0]; })) {
    throw Error("'" + printable(name) +
                "': operands of different formats need that of the result; add _to_FORMAT");
  }
  out.result = number(to ? *to : from[0]);
  if (row.act == Act::arithmetic) out.operation = operations[row.row].operation;
  if (row.act == Act::extremum) out.extremum = extrema[row.row];
  return out;
}

TestFunction conversion_function(std::string_view name, const ValueType& from,
                                 const ValueType& to) {
  const bool from_integer = from.kind == ValueType::Kind::integer;
  const bool to_integer = to.kind == ValueType::Kind::integer;
  if (from_integer && to_integer) {
    throw Error("'" + printable(name) + "': one of the two types must be a floating-point format");
  }
  return {.name = std::string(name),
          .act = from_integer ? Act::from_integer
                 : to_integer ? Act::to_integer
                              : Act::convert,
          .operands = {from},
          .result = to};
}

Error unknown_function(std::string_view name) {
  if (name.find('.') != std::string_view::npos) {
    return Error("'" + printable(name) +
                 "' is no scalar PTX instruction with its qualifiers in PTX's order; there are "
                 "add, sub, mul, fma, min, max and cvt, as in fma.rn.ftz.relu.f16x2");
  }
  const std::string start = std::string(name.substr(0, name.find('_'))).append("_");
  std::vector<std::string> known;
  for (const std::string& operation : test_operations()) known.push_back(start + operation);
  const std::vector<std::string_view> views(known.begin(), known.end());
  const std::string hint = did_you_mean(name, views);
  return Error("no test function '" + printable(name) + "'" + hint +
               "; names are like f16_add, bf16_mulAdd, f32_to_e4m3, f64_to_i32, fma.rn.relu.f16");
}

Exact operand(const TestFunction& function, const TestOperands& bits, std::size_t i,
              const Attributes& attributes) {
  if (i >= function.operands.size()) return {};
  const ValueType& type = function.operands[i];
  if (type.kind == ValueType::Kind::integer) return from_integer(bits[i], type.integer);
  return decode_operand(bits[i], type.format, attributes);
}

}  // namespace

int ValueType::bits() const {
  switch (kind) {
    case Kind::number: return lanes > 1 ? lanes * lane_bits() : format.bits() + format.padding_bits;
    case Kind::integer: return integer.bits;
    case Kind::truth: return 1;
  }
  return 0;
}

int ValueType::digits() const {
  switch (kind) {
    case Kind::number: return lanes * lane_bits() / 4;
    case Kind::integer: return integer.bits / 4;
    case Kind::truth: return 1;
  }
  return 0;
}

std::vector<std::string> test_operations() {
  std::vector<std::string> out;
  for (const Named& row : named_acts()) out.emplace_back(row.name);
  return out;
}

TestFunction parse_test_function(std::string_view name) {
  if (const auto ptx = ptx_function(name)) return *ptx;
  const std::size_t to = name.rfind("_to_");
  if (to == std::string_view::npos) {
    const std::optional<Named> row = act_at_end(name);
    if (!row) throw unknown_function(name);
    return operation_function(name, name, *row, std::nullopt);
  }
  const std::string_view left = name.substr(0, to);
  const std::string_view right = name.substr(to + 4);
  if (const std::optional<Named> row = act_at_end(left)) {
    return operation_function(name, left, *row, format_named(right));
  }
  return conversion_function(name, type_named(left), type_named(right));
}

std::string operand_name(const TestFunction& function, std::size_t i) {
  const ValueType& type = function.operands[i];
  if (function.act != Act::cvt) return {"abc"[i]};
  return type.kind == ValueType::Kind::integer ? "rbits" : std::string{"abef"[i]};
}

Exact exact_result(const TestFunction& function, const TestOperands& operands,
                   const TestSettings& settings) {
  const Attributes& attributes = settings.attributes;
  const Exact a = operand(function, operands, 0, attributes);
  const Exact b = operand(function, operands, 1, attributes);
  switch (function.act) {
    case Act::arithmetic:
      return compute(function.operation, a, b, operand(function, operands, 2, attributes),
                     attributes.rounding);
    case Act::round_to_integral: return round_to_integral(a, attributes.rounding, settings.exact);
    case Act::extremum: return extremum(function.extremum, a, b);
    default: return a;
  }
}

TestResult evaluate(const TestFunction& function, const TestOperands& operands,
                    const TestSettings& settings) {
  const Attributes& attributes = settings.attributes;
  switch (function.act) {
    case Act::ptx: return {compute(function.ptx, {operands[0], operands[1], operands[2]}), 0};
    case Act::cvt: {
      const auto words = static_cast<std::size_t>(function.cvt.operand_count());
      return {compute(function.cvt, {operands[0], operands[1], operands[2], operands[3]},
                      static_cast<std::uint32_t>(operands[words])),
              0};
    }
    case Act::compare: {
      const Exact a = operand(function, operands, 0, attributes);
      const Exact b = operand(function, operands, 1, attributes);
      return {function.predicate.holds(compare(a, b)) ? std::uint64_t{1} : 0,
              comparison_flags(a, b, function.predicate.signaling)};
    }
    case Act::to_integer: {
      const Exact a = operand(function, operands, 0, attributes);
      const Projected out =
          to_integer(a, function.result.integer, attributes.rounding, settings.exact);
      return {out.bits, out.flags};
    }
    default: {
      const Exact exact = exact_result(function, operands, settings);
      const Projected out = project(exact, function.result.format, attributes);
      return {out.bits, out.flags};
    }
  }
}

const char* const test_function_help =
    "OP names a function of Berkeley TestFloat, the same for any format, or a PTX instruction:\n"
    "  FORMAT_add sub mul mulAdd div rem sqrt roundToInt    f16_mulAdd, bf16_div, e4m3_sqrt\n"
    "  FORMAT_eq le lt eq_signaling le_quiet lt_quiet       f32_le; also compareQuietUnordered …\n"
    "  FORMAT_minimum maximum minimumNumber …               the eight of IEEE 754-2019 9.6\n"
    "  TYPE_to_TYPE                                         f32_to_e4m3, f64_to_ui32, i64_to_f16\n"
    "  FORMAT,FORMAT_mul_to_FORMAT                          e4m3,e5m2_mul_to_f16\n"
    "  add sub mul fma min max, with PTX's qualifiers       fma.rn.ftz.relu.f16x2, min.NaN.bf16\n"
    "  cvt between floating-point types, as PTX names it    cvt.rn.satfinite.e4m3x2.f32, operands "
    "a b\n"
    "FORMAT: f16 f32 f64 bf16 tf32 e4m3 e5m2 … (binade formats), or your own: e5m7_add.\n"
    "TYPE: a FORMAT, or ui8 ui16 ui32 ui64 i8 i16 i32 i64.";

}  // namespace binade

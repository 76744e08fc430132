// SPDX-License-Identifier: Apache-2.0
//
// Rows for each matrix and each other type of its width.
#include "lib/identify/misread.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "emulate/instruction_shapes.h"
#include "emulate/project.h"
#include "lib/identify/change_fit.h"
#include "lib/identify/fnuz_read.h"

namespace binade {
namespace {

using Codes = std::vector<std::uint64_t>;

/// A type as which a matrix may have been read, and the one in which its numbers are given to
/// models: itself, or binary16 for the formats of AMD, which no instruction of the tables takes.
struct OtherType {
  std::string words;
  Format read{}, given{};
};

std::vector<OtherType> types_like(const Format& f) {
  std::vector<OtherType> out;
  const auto add = [&out](const Format& other) {
    out.push_back({std::string(type_name(other)), other, other});
  };
  if (is_integer(f)) {
    if (f == s8) add(u8);
    if (f == u8) add(s8);
    return out;
  }
  for (const Format& other : {binary16, bfloat16, e4m3, e5m2}) {
    if (other != f && other.storage_bits() == f.storage_bits()) add(other);
  }
  if (f == e4m3) out.push_back({"e4m3fnuz", e4m3fnuz, binary16});
  if (f == e5m2) out.push_back({"e5m2fnuz", e5m2fnuz, binary16});
  return out;
}

/// The codes of a matrix, whose lines have k numbers each, converted from one format to another.
auto converted_codes(const Codes& codes, std::size_t k, const Format& from, const Format& to) {
  return [&codes, k, from, to](std::size_t line, std::size_t at) {
    const std::uint64_t code = codes[line * k + at];
    return from == to ? code : convert(code, from, to).bits;
  };
}

std::uint64_t with_bytes_swapped(std::uint64_t code, int bits) {
  std::uint64_t out = 0;
  for (int at = 0; at < bits; at += 8) out = out << 8 | (code >> at & 0xFF);
  return out;
}

/// A, B or both, read as other types. Where one of them is given in binary16, so is the other.
/// Where no code has more in fnuz, fnuz_read.h tells it by the instructions of the format itself.
void add_operands(std::vector<Change>& out, const KernelCase& x) {
  const KernelTypes& t = x.types;
  const auto add = [&](const char* which, const OtherType* of_a, const OtherType* of_b) {
    const OtherType& one = of_a != nullptr ? *of_a : *of_b;
    Change change{.words = fmt::format("{} read as {}", which, one.words)};
    const bool is_given = one.given == one.read;
    const auto take = [&](const OtherType* type, const Codes& codes, const Format& own, auto& to,
                          std::optional<Format>& as) {
      if (type == nullptr && is_given) return;
      const Format read = type == nullptr ? own : type->read;
      to = converted_codes(codes, x.run.k, read, one.given);
      as = one.given;
    };
    take(of_a, x.run.a, t.a, change.a, change.as_a);
    take(of_b, x.run.b, t.b, change.b, change.as_b);
    out.push_back(std::move(change));
  };
  const auto concerns = [](const OtherType& type, const Codes& codes, const Format& f) {
    return type.given == type.read || has_more_in_fnuz(codes, f);
  };
  for (const OtherType& type : types_like(t.a)) {
    if (concerns(type, x.run.a, t.a)) add("A", &type, nullptr);
    const bool of_both = concerns(type, x.run.a, t.a) || concerns(type, x.run.b, t.b);
    if (t.a == t.b && of_both) add("A and B", &type, &type);
  }
  for (const OtherType& type : types_like(t.b)) {
    if (concerns(type, x.run.b, t.b)) add("B", nullptr, &type);
  }
}

/// D as bits of other types, as narrower numbers, and as sums of integers.
void add_results(std::vector<Change>& out, const KernelCase& x) {
  const KernelRun& run = x.run;
  const auto as_it_is = [&run](std::size_t at) { return run.d[at]; };
  for (const OtherType& type : types_like(x.types.d)) {
    if (type.given != type.read) continue;
    out.push_back({.words = fmt::format("D holds bits of {}", type.words)});
    out.back().d = as_it_is;
    out.back().as_d = type.read;
  }
  if (std::optional<Change> rounded = rounded_d(x)) out.push_back(std::move(*rounded));
  // Sums under scales are no integers.
  if (x.types.d != binary32 || !run.a_scale.empty() || !run.b_scale.empty()) return;
  out.push_back({.words = "D holds bits of s32, read as f32"});
  out.back().d = as_it_is;
  out.back().as_c = out.back().as_d = s32;
  out.push_back({.words = "D holds the sums of s32 as numbers of f32"});
  out.back().d = [&run](std::size_t at) {
    const double value = number_in(run.d[at], binary32);
    const bool whole = std::abs(value) < 0x1p31 && std::trunc(value) == value;
    if (!whole) return std::uint64_t{0x80000000};
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(static_cast<std::int32_t>(value)));
  };
  out.back().as_c = out.back().as_d = s32;
}

/// Bytes whose zero is in the middle of their range, taken for such whose zero is 0, or the other
/// way round.
void add_biased_bytes(std::vector<Change>& out, const KernelCase& x) {
  for (const bool of_a : {true, false}) {
    const Format& f = of_a ? x.types.a : x.types.b;
    if (f != u8 && f != s8) continue;
    out.push_back({.words = fmt::format("{}'s numbers {} by 128, as with a zero point of {}",
                                        of_a ? "A" : "B", f == u8 ? "less" : "greater",
                                        f == u8 ? 128 : -128)});
    (of_a ? out.back().a : out.back().b) = [&codes = of_a ? x.run.a : x.run.b, k = x.run.k](
                                               std::size_t line, std::size_t at) {
      return codes[line * k + at] ^ 0x80;
    };
    (of_a ? out.back().as_a : out.back().as_b) = f == u8 ? s8 : u8;
  }
}

void add_swapped_bytes(std::vector<Change>& out, const KernelCase& x) {
  if (const int bits = x.types.d.storage_bits(); bits > 8) {
    out.push_back({.words = "D's bytes swapped"});
    out.back().d = [&run = x.run, bits](std::size_t at) {
      return with_bytes_swapped(run.d[at], bits);
    };
  }
  for (const bool of_a : {true, false}) {
    const int bits = (of_a ? x.types.a : x.types.b).storage_bits();
    if (bits <= 8) continue;
    out.push_back({.words = of_a ? "A's bytes swapped" : "B's bytes swapped"});
    (of_a ? out.back().a : out.back().b) = [&codes = of_a ? x.run.a : x.run.b, k = x.run.k, bits](
                                               std::size_t line, std::size_t at) {
      return with_bytes_swapped(codes[line * k + at], bits);
    };
  }
}

}  // namespace

std::vector<Change> misread_changes(const KernelCase& given) {
  std::vector<Change> out;
  add_operands(out, given);
  for (Change& change : read_as_fnuz(given)) out.push_back(std::move(change));
  add_results(out, given);
  add_biased_bytes(out, given);
  add_swapped_bytes(out, given);
  return out;
}

}  // namespace binade

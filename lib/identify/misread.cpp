// SPDX-License-Identifier: Apache-2.0
//
// Rows for each matrix and each other type of its width.
#include "lib/identify/misread.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
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

/// A number's bits with parts of so many exchanged, the last first.
std::uint64_t with_parts_swapped(std::uint64_t code, int bits, int part) {
  std::uint64_t out = 0;
  for (int at = 0; at < bits; at += part) {
    out = out << part | (code >> at & ((std::uint64_t{1} << part) - 1));
  }
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

/// The bytes, or the halves, of D's or an operand's numbers in another order.
void add_swapped_parts(std::vector<Change>& out, const KernelCase& x) {
  struct Part {
    int bits;
    const char* words;
  };
  const auto parts_of = [](const Format& f) {
    std::vector<Part> parts;
    const int bits = f.storage_bits();
    if (bits > 8) parts.push_back({8, "'s bytes swapped"});
    if (bits > 16) parts.push_back({bits / 2, "'s halves swapped"});
    return parts;
  };
  const KernelRun& run = x.run;
  for (const Part& part : parts_of(x.types.d)) {
    out.push_back({.words = std::string("D") + part.words});
    out.back().d = [&run, all = x.types.d.storage_bits(), bits = part.bits](std::size_t at) {
      return with_parts_swapped(run.d[at], all, bits);
    };
  }
  for (const bool of_a : {true, false}) {
    const Format& f = of_a ? x.types.a : x.types.b;
    for (const Part& part : parts_of(f)) {
      out.push_back({.words = std::string(of_a ? "A" : "B") + part.words});
      (of_a ? out.back().a : out.back().b) = [&codes = of_a ? run.a : run.b, k = run.k,
                                              all = f.storage_bits(),
                                              bits = part.bits](std::size_t line, std::size_t at) {
        return with_parts_swapped(codes[line * k + at], all, bits);
      };
    }
  }
}

/// Bytes of which one half is taken for a number of four bits.
void add_nibbles(std::vector<Change>& out, const KernelCase& x) {
  for (const bool of_a : {true, false}) {
    const Format& f = of_a ? x.types.a : x.types.b;
    if (f != u8 && f != s8) continue;
    for (const bool low : {true, false}) {
      for (const bool is_signed : {true, false}) {
        out.push_back({.words = fmt::format("of {}'s bytes the {} four bits alone, as {}signed",
                                            of_a ? "A" : "B", low ? "lower" : "upper",
                                            is_signed ? "" : "un")});
        (of_a ? out.back().a : out.back().b) = [&codes = of_a ? x.run.a : x.run.b, k = x.run.k, low,
                                                is_signed](std::size_t line, std::size_t at) {
          const std::uint64_t bits = codes[line * k + at] >> (low ? 0 : 4) & 0xF;
          return is_signed && bits > 7 ? bits | 0xF0 : bits;
        };
        (of_a ? out.back().as_a : out.back().as_b) = is_signed ? s8 : u8;
      }
    }
  }
}

/// Numbers of a floating-point operand that all are integers of a few bits, taken for those of the
/// other sign, or without their zero point.
void add_misread_integers(std::vector<Change>& out, const KernelCase& x) {
  for (const bool of_a : {true, false}) {
    const Format& f = of_a ? x.types.a : x.types.b;
    if (is_integer(f)) continue;
    const Codes& codes = of_a ? x.run.a : x.run.b;
    double low = 0, high = 0;
    const bool whole = std::ranges::all_of(codes, [&](std::uint64_t code) {
      const double value = number_in(code, f);
      low = std::min(low, value);
      high = std::max(high, value);
      return std::trunc(value) == value && std::abs(value) < 256;
    });
    if (!whole) continue;
    const auto add = [&](std::string words, auto other) {
      out.push_back({.words = fmt::format("{}'s {}", of_a ? "A" : "B", words)});
      (of_a ? out.back().a : out.back().b) = [&codes, k = x.run.k, f, other](std::size_t line,
                                                                             std::size_t at) {
        const double value = other(number_in(codes[line * k + at], f));
        return convert(std::bit_cast<std::uint64_t>(value), binary64, f).bits;
      };
    };
    for (const int bits : {4, 8}) {
      const double half = std::ldexp(1.0, bits - 1), all = 2 * half;
      if (low < 0 && low >= -half && high < half) {
        add(fmt::format("integers of {} bits taken as unsigned: those below 0 greater by {}", bits,
                        all),
            [all](double value) { return value < 0 ? value + all : value; });
        add(fmt::format("numbers greater by {}, a zero point that was not subtracted", half),
            [half](double value) { return value + half; });
      }
      if (low >= 0 && high >= half && high < all) {
        add(fmt::format("integers of {} bits taken as signed: those from {} on less by {}", bits,
                        half, all),
            [half, all](double value) { return value < half ? value : value - all; });
        add(fmt::format("numbers less by {}, as if they had a zero point", half),
            [half](double value) { return value - half; });
      }
    }
  }
}

}  // namespace

std::vector<Change> misread_changes(const KernelCase& given) {
  std::vector<Change> out;
  add_operands(out, given);
  for (Change& change : read_as_fnuz(given)) out.push_back(std::move(change));
  add_results(out, given);
  add_biased_bytes(out, given);
  add_nibbles(out, given);
  add_misread_integers(out, given);
  add_swapped_parts(out, given);
  return out;
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// The bias of e4m3fnuz is 8 and that of e5m2fnuz 16 (emulate/format.h), one more than OCP's, so
// that each number is half as large.
#include "lib/identify/fnuz_read.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "emulate/instruction_shapes.h"
#include "lib/identify/change_fit.h"

namespace binade {
namespace {

constexpr std::uint64_t minus_zero = 0x80, nan_of_ocp = 0x7F;  // of formats of 8 bits

auto fnuz_codes(const std::vector<std::uint64_t>& codes, std::size_t k) {
  return [&codes, k](std::size_t line, std::size_t at) {
    const std::uint64_t code = codes[line * k + at];
    return code == minus_zero ? nan_of_ocp : code;
  };
}

}  // namespace

bool has_more_in_fnuz(const std::vector<std::uint64_t>& codes, const Format& f) {
  return std::ranges::any_of(
      codes, [&](std::uint64_t code) { return !std::isfinite(number_in(code, f)); });
}

std::vector<Change> read_as_fnuz(const KernelCase& given) {
  const KernelTypes& t = given.types;
  const KernelRun& run = given.run;
  const auto has_other = [](const Format& f, const std::vector<std::uint64_t>& codes) {
    return (f == e4m3 || f == e5m2) && !has_more_in_fnuz(codes, f);
  };
  const bool other_a = has_other(t.a, run.a), other_b = has_other(t.b, run.b);
  const bool marked_a = std::ranges::find(run.a, minus_zero) != run.a.end();
  const bool marked_b = std::ranges::find(run.b, minus_zero) != run.b.end();
  std::vector<Change> out;
  const auto add = [&](std::string words, bool a, bool b) {
    Change x{.words = std::move(words)};
    if (a) x.a = fnuz_codes(run.a, run.k);
    if (b) x.b = fnuz_codes(run.b, run.k);
    x.alpha = a && b ? 0.25 : 0.5;
    if (a ? marked_a || (b && marked_b) : marked_b) {  // one NaN for any other
      x.d = [&run, f = t.d](std::size_t at) {
        const bool is_nan = std::isnan(number_in(run.d[at], f));
        return is_nan ? (std::uint64_t{1} << (f.storage_bits() - 1)) - 1 : run.d[at];
      };
    }
    out.push_back(std::move(x));
  };
  const auto name = [](const Format& f) { return fmt::format("{}fnuz", type_name(f)); };
  if (other_a && marked_a) add("A read as " + name(t.a), true, false);
  if (other_b && marked_b) add("B read as " + name(t.b), false, true);
  // Without a -0 that became a NaN, nothing but the factor is known.
  const bool maybe_a = other_a && !marked_a, maybe_b = other_b && !marked_b;
  if (maybe_a || maybe_b) {
    const char* const which = maybe_a && maybe_b ? "A or B" : maybe_a ? "A" : "B";
    add(fmt::format("the sum scaled by 1/2, as where {} is read as {}", which,
                    name(maybe_a ? t.a : t.b)),
        maybe_a, !maybe_a);
  }
  if (other_a && other_b && t.a == t.b) {
    add(marked_a || marked_b
            ? "A and B read as " + name(t.a)
            : fmt::format("the sum scaled by 1/4, as where A and B are read as {}", name(t.a)),
        true, true);
  }
  return out;
}

}  // namespace binade

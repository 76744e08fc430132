// SPDX-License-Identifier: Apache-2.0
//
// Looks attributes up in tables of words.
#include "lib/explain/attribute_words.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "emulate/project.h"
#include "lib/text/error.h"
#include "lib/text/idle_option.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

template <typename T>
struct Named {
  std::string_view name;
  T value;
};

constexpr std::array<Named<Saturation>, 2> saturations{
    {{"none", Saturation::none}, {"finite", Saturation::finite}}};
constexpr std::array<Named<NanResult>, 3> nan_results{{{"quiet", NanResult::quiet},
                                                       {"nvidia", NanResult::nvidia},
                                                       {"propagate", NanResult::propagate}}};
constexpr std::array<Named<Tininess>, 2> tininesses{
    {{"after", Tininess::after_rounding}, {"before", Tininess::before_rounding}}};

Error unknown_choice(std::string_view option, std::string_view word,
                     const std::vector<std::string_view>& known) {
  const std::string hint = did_you_mean(word, known);
  return Error(std::string(option) + " " + printable(word) + ": no such choice" + hint +
               (hint.empty() ? "; " : " ") + "there are " + listed(known));
}

template <typename Table>
auto look_up(const Table& table, std::string_view option, std::string_view word) {
  for (const auto& row : table) {
    if (row.name == word) return row.value;
  }
  throw unknown_choice(option, word, names_of(table));
}

/// A setting of stochastic rounding, and whether it was given for another one.
IdleOption not_drawn(const char* name, Rounding rounding, bool given) {
  return {name, given && rounding != Rounding::stochastic,
          "with --rounding " + std::string(rounding_name(rounding)), "choose stochastic"};
}

/// Whether a result in this format can be another NaN by this rule than by NanResult::quiet.
bool gives_other_nans(NanResult rule, const Format& f) {
  if (!f.has_nan()) return false;
  // NVIDIA's rule keeps signs, too: of binary64's NaNs in 8 bits, and of infinities for which a NaN
  // stands.
  const bool for_infinity = rule == NanResult::nvidia && f.specials == Specials::nan_only;
  const NanResult widest =
      for_infinity ? NanResult::propagate : attributes_between(binary64, f, {.nan = rule}).nan;
  return nan_bits(f, widest, true, ~std::uint64_t{0}) != nan_bits(f, NanResult::quiet);
}

/// What a format has of NaNs, so that a rule has no effect.
std::string nans_of(const Format& f) {
  if (!f.has_nan()) return "which has no NaN";
  return f.specials == Specials::ieee && f.has_sign ? "which has one positive NaN"
                                                    : "which has one NaN";
}

}  // namespace

Attributes attributes_of(const AttributeOptions& options) {
  const std::optional<Rounding> rounding = find_rounding(options.rounding);
  if (!rounding) throw unknown_choice("--rounding", options.rounding, names_of(roundings));
  if (options.random_bits < 1 || options.random_bits > 32) {
    throw Error("--random-bits " + std::to_string(options.random_bits) +
                ": stochastic rounding takes from 1 to 32 random bits");
  }
  const AttributeOptions usual;
  refuse_idle(
      std::array{not_drawn("--random-bits", *rounding, options.random_bits != usual.random_bits)});
  return {.rounding = *rounding,
          .saturation = look_up(saturations, "--saturation", options.saturation),
          .flush_results = options.flush_results,
          .flush_operands = options.flush_operands,
          .tininess = look_up(tininesses, "--tininess", options.tininess),
          .nan = look_up(nan_results, "--nan", options.nan),
          .random_bits = options.random_bits};
}

Attributes element_attributes_of(const AttributeOptions& options) {
  const AttributeOptions usual;
  const std::string because = "with a block format, whose rules say it";
  refuse_idle(std::array{
      IdleOption{"--saturation", options.saturation != usual.saturation, because},
      IdleOption{"--nan", options.nan != usual.nan, because},
      IdleOption{"--ftz", options.flush_results, because},
      IdleOption{"--daz", options.flush_operands, because},
  });
  Attributes out = attributes_of(options);
  out.saturation = Saturation::finite;
  return out;
}

void check_effects(const Attributes& a, std::span<const NamedOrCustom> into) {
  const Format& first = into[0].format;
  const std::string on = "on " + printable(into[0].name) + ", ";
  const auto has_choice = [&](const NamedOrCustom& x) { return gives_other_nans(a.nan, x.format); };
  const auto has_zero = [](const NamedOrCustom& x) { return x.format.has_zero; };
  refuse_idle(std::array{
      IdleOption{"--nan", a.nan != Attributes{}.nan && std::ranges::none_of(into, has_choice),
                 on + nans_of(first)},
      IdleOption{"--ftz", a.flush_results && std::ranges::none_of(into, has_zero),
                 on + "which has no zero"},
  });
}

void check_seed(const Attributes& a, std::uint64_t seed) {
  refuse_idle(std::array{not_drawn("--seed", a.rounding, seed != 0)});
}

void check_random(const Attributes& a, bool given) {
  refuse_idle(std::array{not_drawn("--random", a.rounding, given)});
}

AttributeWords attribute_words() {
  return {words_of_table(roundings), words_of_table(saturations), words_of_table(nan_results),
          words_of_table(tininesses)};
}

}  // namespace binade

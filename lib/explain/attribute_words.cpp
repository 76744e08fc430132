// SPDX-License-Identifier: Apache-2.0
//
// Looks attributes up in tables of words.
#include "lib/explain/attribute_words.h"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

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

void check_effects(const Attributes& a, const Format& format, const std::string& what) {
  refuse_idle(std::array{IdleOption{"--nan", a.nan != Attributes{}.nan && !format.has_nan(),
                                    "on " + what + ", which has no NaN"}});
}

void check_seed(const Attributes& a, std::uint64_t seed) {
  refuse_idle(std::array{not_drawn("--seed", a.rounding, seed != 0)});
}

AttributeWords attribute_words() {
  return {words_of_table(roundings), words_of_table(saturations), words_of_table(nan_results),
          words_of_table(tininesses)};
}

}  // namespace binade

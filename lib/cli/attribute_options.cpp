// SPDX-License-Identifier: Apache-2.0
//
// Options to attributes, by tables of words.
#include "lib/cli/attribute_options.h"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/text/error.h"
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

}  // namespace

void add_rounding(App app, AttributeOptions& options) {
  app.add_option("-r,--rounding", options.rounding,
                 "ties_to_even, ties_to_away, toward_zero, toward_positive, toward_negative, "
                 "to_odd, stochastic; or PTX's rn, rz, …, or TestFloat's near_even, minMag, …")
      .capture_default_str();
}

void add_saturation(App app, AttributeOptions& options) {
  app.add_option("--saturation", options.saturation,
                 "none, or finite: overflow and infinity give the largest finite number")
      .capture_default_str();
}

void add_nan(App app, AttributeOptions& options) {
  app.add_option("--nan", options.nan,
                 "NaN results: quiet (7E00), nvidia (7FFF; in FP8 as cuda_fp8.h) or propagate")
      .capture_default_str();
}

void add_tininess(App app, AttributeOptions& options) {
  app.add_option("--tininess", options.tininess, "underflow is detected before or after rounding")
      .capture_default_str();
}

void add_flush_results(App app, AttributeOptions& options) {
  app.add_flag("--ftz", options.flush_results, "flush subnormal results to zero");
}

void add_flush_operands(App app, AttributeOptions& options) {
  app.add_flag("--daz", options.flush_operands, "treat subnormal operands as zero");
}

void add_random_bits(App app, AttributeOptions& options) {
  app.add_option("--random-bits", options.random_bits,
                 "bits that stochastic rounding draws per value, 1 to 32")
      .capture_default_str();
}

Attributes attributes_of(const AttributeOptions& options) {
  const std::optional<Rounding> rounding = find_rounding(options.rounding);
  if (!rounding) throw unknown_choice("--rounding", options.rounding, names_of(roundings));
  if (options.random_bits < 1 || options.random_bits > 32) {
    throw Error("--random-bits " + std::to_string(options.random_bits) +
                ": stochastic rounding takes from 1 to 32 random bits");
  }
  return {.rounding = *rounding,
          .saturation = look_up(saturations, "--saturation", options.saturation),
          .flush_results = options.flush_results,
          .flush_operands = options.flush_operands,
          .tininess = look_up(tininesses, "--tininess", options.tininess),
          .nan = look_up(nan_results, "--nan", options.nan),
          .random_bits = options.random_bits};
}

}  // namespace binade

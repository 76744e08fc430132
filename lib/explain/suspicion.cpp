// SPDX-License-Identifier: Apache-2.0
//
// Each mistake predicts a difference; those whose prediction fits are reported.
#include "lib/explain/suspicion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/explain/explanation_words.h"

namespace binade {
namespace {

struct Suspicion {
  double rest = 0;  ///< the part of the difference that the mistake leaves unexplained
  std::string words;
};

constexpr double explained_enough = 1e-3;
constexpr std::size_t most_told = 3;

class Suspect {
 public:
  explicit Suspect(const Explanation& x)
      : x_(x), difference_(value_of(*x.hardware) - value_of(x.result)) {}

  std::vector<Suspicion> found() {
    for (const std::optional<Typed>& scale : {x_.a_scale, x_.b_scale}) {
      if (scale && is_number(*scale)) factor_ = value_of(*scale) * factor_;
    }
    const double size = std::abs(to_double(difference_));
    const double error = x_.sum_error() ? std::abs(to_double(factor_ * *x_.sum_error())) : 0;
    const double ulp = std::ldexp(1.0, ulp_exponent(value_of(x_.result), x_.result.format));
    if (size < 64 * error || size < 64 * ulp) return {};
    // A chain has many partial sums, some of which are near to any number.
    chain_enough_ = std::min(explained_enough, 16 * std::max(error, ulp) / size);
    if (value_of(*x_.hardware).is_zero()) {
      consider(-value_of(x_.result), "0: was it written at all?");
    }
    consider(-value_of(x_.result) - value_of(x_.result), "the sum with the other sign");
    if (x_.c) consider(-value_of(*x_.c), "the sum without c");
    steps();
    std::ranges::stable_sort(found_, {}, &Suspicion::rest);
    return found_;
  }

 private:
  void consider(const ExactNumber& predicted, std::string words, double enough = explained_enough) {
    if (predicted.is_zero()) return;
    const double off = std::abs(to_double(difference_ - predicted));
    // Beside a much larger sum any small number is near any other one.
    if (off > std::abs(to_double(value_of(*x_.hardware))) / 64) return;
    const double rest = off / std::abs(to_double(difference_));
    if (rest < enough) found_.push_back({rest, std::move(words)});
  }

  void steps() {
    int number = 0;
    const ExplainedBlock* last = nullptr;
    for (const Step& step : x_.steps) {
      if (const auto* operation = std::get_if<ExplainedOperation>(&step)) {
        chained(*operation);
        if (last != nullptr) promoted(*operation, number, *last);
      }
      const auto* block = std::get_if<ExplainedBlock>(&step);
      if (block == nullptr || block->special) continue;
      ++number;
      last = block;
      const ExactNumber of_sum = std::exchange(factor_, factor_ * block->factor);
      for (std::size_t i = 1; i < block->terms.size(); ++i) product(block->terms[i]);
      factor_ = of_sum;
      // A sum that a promotion multiplies by scales is none of D's.
      const bool is_sum = block->factor == exact_number(1);
      if (is_sum && is_number(block->result)) {
        consider(factor_ * value_of(block->result) - value_of(x_.result),
                 fmt::format("the sum after block {}, {}: did it stop there?", number,
                             places_text(*block)));
      }
    }
  }
  /// A promotion by scales, after a block.
  void promoted(const ExplainedOperation& x, int number, const ExplainedBlock& last) {
    const bool ends = x.action == Action::add || x.action == Action::multiply_add;
    if (x.role != Role::promote || !ends || !is_number(x.result)) return;
    if (last.factor == exact_number(1)) return;
    consider(
        factor_ * value_of(x.result) - value_of(x_.result),
        fmt::format("the sum after block {}, {}: did it stop there?", number, places_text(last)));
  }
  void product(const ExplainedTerm& term) {
    if (term.kind != Kind::finite) return;
    product(fmt::format("the {} of k {}", term.group.empty() ? "product" : "group", term.place),
            term.exact, explained_enough);
  }
  void product(const std::string& name, const ExactNumber& unscaled, double enough) {
    const ExactNumber exact = factor_ * unscaled;
    consider(-exact, "the sum without " + name, enough);
    consider(exact, "the sum with " + name + " twice", enough);
    consider(-exact - exact, "the sum with " + name + " subtracted", enough);
  }
  /// An operation of a chain: a product, and the sum after it.
  void chained(const ExplainedOperation& x) {
    if (x.role != Role::chain || x.place < 0) return;
    const bool multiplies = x.action == Action::multiply || x.action == Action::multiply_add;
    if (multiplies && is_number(x.operands[0]) && is_number(x.operands[1])) {
      product(fmt::format("the product of k {}", x.place),
              value_of(x.operands[0]) * value_of(x.operands[1]), chain_enough_);
    }
    if (x.action == Action::multiply || !is_number(x.result)) return;
    consider(factor_ * value_of(x.result) - value_of(x_.result),
             fmt::format("the sum after the product of k {}: did it stop there?", x.place),
             chain_enough_);
  }

  const Explanation& x_;
  ExactNumber difference_;
  ExactNumber factor_ = exact_number(1);  ///< of the sum: the product of its scales
  double chain_enough_ = explained_enough;
  std::vector<Suspicion> found_;
};

}  // namespace

std::vector<std::string> suspicions(const Explanation& x) {
  const bool different = x.hardware && x.hardware->bits != x.result.bits;
  if (!different || !is_number(*x.hardware) || !is_number(x.result)) return {};
  if (value_of(*x.hardware) == value_of(x.result)) return {};
  std::vector<std::string> out;
  for (const Suspicion& suspicion : Suspect(x).found()) {
    if (out.size() < most_told) out.push_back(suspicion.words);
  }
  return out;
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Optimizers worked out by hand: lost updates, master weights, Kahan's compensation, stochastic
// rounding and clipping. tests/outside/torch_optimizer_test.py compares them with PyTorch's.
#include "lib/train/optimizer.h"

#include <doctest/doctest.h>

#include <cmath>

#include "emulate/philox.h"
#include "lib/text/error.h"

namespace binade::optimizer_test {
namespace {

using Floats = std::vector<float>;

Parameter<float> parameter_of(const Format& dtype, const Floats& values, Floats gradient) {
  Parameter<float> out;
  out.name = "w";
  out.value = Tensor<float>({values.size()}, dtype, values);
  out.gradient = std::move(gradient);
  return out;
}

/// One step without clipping or unscaling.
void step(Optimizer<float>& optimizer) {
  static_cast<void>(optimizer.gradients());
  optimizer.step();
}

TEST_CASE("sgd changes a weight by minus lr times the gradient") {
  Parameter<float> p = parameter_of(binary32, {1, -2, 0.5F}, {4, 0, -1});
  Optimizer<float> sgd({&p}, {.lr = 0.125});
  step(sgd);
  CHECK(p.value.values == Floats{0.5F, -2, 0.625F});
  CHECK(sgd.update(0) == Floats{0.5F, 0, -0.125F});
  CHECK(sgd.counts().weights == 3);
  CHECK(sgd.counts().asked == 2);
  CHECK(sgd.counts().lost == 0);
}

TEST_CASE("momentum and nesterov by hand, over three steps") {
  for (const bool nesterov : {false, true}) {
    Parameter<float> p = parameter_of(binary32, {0}, {1});
    Optimizer<float> sgd({&p}, {.lr = 1, .momentum = 0.5, .nesterov = nesterov});
    // Buffers 1, 1.5, 1.75; nesterov's changes are 1 + half of them.
    Floats seen;
    for (int i = 0; i < 3; ++i) {
      step(sgd);
      seen.push_back(p.value.values[0]);
    }
    CHECK(seen == (nesterov ? Floats{-1.5F, -3.25F, -5.125F} : Floats{-1, -2.5F, -4.25F}));
  }
}

TEST_CASE("updates that binary16 loses are counted, and those below 2^-11 of the weight") {
  // Half a step of binary16 at 1 is 2^-11 upward and 2^-12 downward; ties go to the even weight 1.
  const Floats gradient{0x1p-11F, -0x1p-11F, 0x1p-12F, -0x1p-10F, 0x1.8p-12F, 0, 0x1p-24F, 1};
  const Floats w{1, 1, 1, 1, 1, 1, 0, 0};
  const Floats after{0x1.ffcp-1F, 1, 1, 0x1.004p0F, 0x1.ffcp-1F, 1, -0x1p-24F, -1};
  Parameter<float> p = parameter_of(binary16, w, gradient);
  Optimizer<float> sgd({&p}, {.lr = 1, .master_weights = false});
  step(sgd);
  CHECK(p.value.values == after);
  CHECK(sgd.counts().weights == 8);
  CHECK(sgd.counts().asked == 7);
  CHECK(sgd.counts().lost == 2);
  CHECK(sgd.counts().below_2_11 == 2);  // at 2^-11 itself the even neighbour decides
}

TEST_CASE("a master keeps what its rounded weight does not show") {
  Parameter<float> p = parameter_of(binary16, {1}, {-0x1p-13F});
  Optimizer<float> sgd({&p}, {.lr = 1});
  CHECK(sgd.gradients()[0].dtype == binary32);
  Floats seen;
  StepCounts counts;
  for (int i = 0; i < 8; ++i) {
    step(sgd);
    seen.push_back(p.value.values[0]);
    counts += sgd.counts();
  }
  // 1 + 5·2^-13 is the first beyond the tie 1 + 2^-11.
  const float next = 1 + 0x1p-10F;
  CHECK(seen == Floats{1, 1, 1, 1, next, next, next, next});
  CHECK(counts.asked == 8);
  CHECK(counts.lost == 0);  // the master took all of them
  CHECK(counts.not_shown == 7);
  // What binary32 cannot take either is lost, with a master as without.
  Parameter<float> tiny = parameter_of(binary16, {1}, {-0x1p-25F});
  Optimizer<float> tiny_steps({&tiny}, {.lr = 1});
  step(tiny_steps);
  CHECK(tiny_steps.counts().lost == 1);
  CHECK(tiny_steps.counts().not_shown == 0);
  // Without one the weight never moves.
  Parameter<float> alone = parameter_of(binary16, {1}, {-0x1p-13F});
  Optimizer<float> without({&alone}, {.lr = 1, .master_weights = false});
  CHECK(without.gradients()[0].dtype == binary16);
  for (int i = 0; i < 8; ++i) step(without);
  CHECK(alone.value.values[0] == 1);
  CHECK(without.counts().lost == 1);
  CHECK(without.counts().not_shown == 0);
  // Kahan's compensation holds what the weight does not show.
  Parameter<float> compensated = parameter_of(binary16, {1}, {-0x1p-13F});
  Optimizer<float> kahan({&compensated},
                         {.lr = 1, .master_weights = false, .update = UpdateRule::kahan});
  StepCounts held;
  for (int i = 0; i < 8; ++i) {
    step(kahan);
    held += kahan.counts();
  }
  CHECK(held.lost == 0);
  CHECK(held.not_shown == 7);
  CHECK(compensated.value.values[0] == next);
}

TEST_CASE("gradients of masters are copies: unscaling them leaves the parameter's") {
  Parameter<float> p = parameter_of(binary16, {1}, {512});
  Optimizer<float> sgd({&p}, {.lr = 1});
  auto gradients = sgd.gradients();
  gradients[0].values[0] *= 0x1p-10F;
  sgd.step();
  CHECK(p.gradient == Floats{512});
  CHECK(p.value.values[0] == 0.5F);
}

TEST_CASE("Kahan's compensation moves a weight as a master would, within an ulp") {
  Parameter<float> p = parameter_of(binary16, {1}, {-0x1p-13F});
  Optimizer<float> kahan({&p}, {.lr = 1, .master_weights = false, .update = UpdateRule::kahan});
  Floats seen;
  for (int i = 1; i <= 64; ++i) {
    step(kahan);
    const float w = p.value.values[0];
    seen.push_back(w);
    CHECK(std::abs(w - (1 + static_cast<float>(i) * 0x1p-13F)) <= 0x1p-11F);
  }
  // By hand: the sum so far is 1 until the part kept is past the tie of 2^-11, at the fifth.
  CHECK(Floats(seen.begin(), seen.begin() + 5) == Floats{1, 1, 1, 1, 1 + 0x1p-10F});
  CHECK(seen.back() == 1 + 0x1p-7F);
}

TEST_CASE("stochastic rounding takes word i of the step's and parameter's stream") {
  const std::uint64_t seed = 7;
  const std::size_t n = 999;
  Parameter<float> other = parameter_of(binary16, {1}, {0});
  // A third of binary16's step at 1.
  const float third = 0x1p-10F / 3;
  Parameter<float> p = parameter_of(binary16, Floats(n, 1), Floats(n, -third));
  Optimizer<float> sgd(
      {&other, &p},
      {.lr = 1, .master_weights = false, .update = UpdateRule::stochastic, .seed = seed});
  step(sgd);
  // The exact sum rounds up where the word reaches what is left of the step.
  const double share = static_cast<double>(third) / 0x1p-10;
  std::size_t up = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double word = std::ldexp(random_word(seed, 1 << 20 | 1, i), -32);
    CHECK(p.value.values[i] == (word + share >= 1 ? 1 + 0x1p-10F : 1));
    up += p.value.values[i] > 1 ? 1 : 0;
  }
  CHECK(up > 0);
  CHECK(up < n);
  CHECK(sgd.counts().lost == n - up);
}

TEST_CASE("stochastic rounding is unbiased within five binomial deviations, over steps") {
  const std::size_t n = 4096;
  const int steps = 16;
  Parameter<float> p = parameter_of(binary16, Floats(n, 1), Floats(n, -0x1p-13F));
  Optimizer<float> sgd({&p}, {.lr = 1, .master_weights = false, .update = UpdateRule::stochastic});
  for (int i = 0; i < steps; ++i) step(sgd);
  double moved = 0;  // in steps of 2^-10, each taken with probability 1/8
  for (const float w : p.value.values) moved += static_cast<double>(w - 1) * 0x1p10;
  const double draws = static_cast<double>(n) * steps;
  CHECK(std::abs(moved - draws / 8) < 5 * std::sqrt(draws * (1.0 / 8) * (7.0 / 8)));
  bool differ = false;
  for (const float w : p.value.values) differ = differ || w != p.value.values[0];
  CHECK(differ);
}

TEST_CASE("stochastic rounding moves weights by changes that binary32 would lose") {
  const std::size_t n = 1 << 18;
  const int steps = 4;
  Parameter<float> p = parameter_of(binary16, Floats(n, 1), Floats(n, -0x1p-26F));
  Optimizer<float> sgd({&p}, {.lr = 1, .master_weights = false, .update = UpdateRule::stochastic});
  for (int i = 0; i < steps; ++i) step(sgd);
  double moved = 0;  // in steps of 2^-10, each taken with probability 2^-16: 16 of them
  for (const float w : p.value.values) moved += static_cast<double>(w - 1) * 0x1p10;
  CHECK(std::abs(moved - 16) < 5 * 4);
  CHECK(moved > 0);
}

TEST_CASE("binary32 weights draw nothing: stochastic is nearest there with masters") {
  Parameter<float> a = parameter_of(binary16, {1, 3}, {0x1p-5F, 0x1p-12F});
  Parameter<float> b = a;
  Optimizer<float> nearest({&a}, {.lr = 1});
  Optimizer<float> stochastic({&b}, {.lr = 1, .update = UpdateRule::stochastic});
  step(nearest);
  step(stochastic);
  CHECK(a.value.values == b.value.values);
}

TEST_CASE("the first step of adam is lr in the gradient's direction, whatever its size") {
  for (const char* name : {"adam", "adamw"}) {
    Parameter<float> p = parameter_of(binary32, {0, 0, 0}, {1e-3F, -100, 0});
    Optimizer<float> adam({&p}, {.name = name, .lr = 0.5});
    step(adam);
    CHECK(p.value.values[0] == doctest::Approx(-0.5).epsilon(1e-4));
    CHECK(p.value.values[1] == doctest::Approx(0.5).epsilon(1e-6));
    CHECK(p.value.values[2] == 0);
  }
}

TEST_CASE("adamw decays weights apart from the gradient, adam within it") {
  Parameter<float> a = parameter_of(binary32, {2}, {0});
  Optimizer<float> adamw({&a}, {.name = "adamw", .lr = 0.25, .weight_decay = 0.5});
  step(adamw);
  CHECK(a.value.values[0] == 1.75F);
  CHECK(adamw.counts().asked == 1);  // the decay
  CHECK(adamw.update(0) == std::vector<float>{0.25F});
  Parameter<float> b = parameter_of(binary32, {2}, {0});
  Optimizer<float> adam({&b}, {.name = "adam", .lr = 0.25, .weight_decay = 0.5});
  step(adam);
  CHECK(b.value.values[0] == doctest::Approx(1.75).epsilon(1e-6));
  CHECK(adam.counts().asked == 1);
}

TEST_CASE(
    "adam's eps of 1e-8 is 0 in binary16: where the second moment is too, the weight is infinite") {
  Parameter<float> p = parameter_of(binary16, {1, 1}, {0x1p-14F, 1});
  Optimizer<float> adam({&p}, {.name = "adam", .lr = 0x1p-4, .master_weights = false});
  step(adam);
  // v = 0.001·2^-28 is 0 in binary16, so the change is -lr·m / 0.
  CHECK(std::isinf(p.value.values[0]));
  CHECK(p.value.values[1] == doctest::Approx(0.9375).epsilon(1e-3));
}

TEST_CASE("parameters that backward did not reach stay, and zero_grad takes gradients away") {
  Parameter<float> p = parameter_of(binary32, {1}, {1}), q = parameter_of(binary32, {1}, {});
  Optimizer<float> sgd({&p, &q}, {.lr = 1, .weight_decay = 0.5});
  step(sgd);
  CHECK(q.value.values[0] == 1);
  CHECK(sgd.update(0).size() == 1);
  CHECK(sgd.update(1).empty());
  CHECK(sgd.counts().weights == 1);
  sgd.zero_grad();
  CHECK(p.gradient.empty());
  step(sgd);
  CHECK(p.value.values[0] == -0.5F);
  CHECK(sgd.update(0).empty());  // not the last step's
  CHECK(sgd.counts().weights == 0);
}

TEST_CASE("a parameter's first step is its own, however late backward reaches it") {
  for (const OptimizerOptions& options :
       {OptimizerOptions{.name = "adam"}, OptimizerOptions{.momentum = 0.5}}) {
    Parameter<float> p = parameter_of(binary32, {1}, {1}), late = parameter_of(binary32, {1}, {});
    Optimizer<float> both({&p, &late}, options);
    for (int i = 0; i < 10; ++i) step(both);
    CHECK(late.value.values[0] == 1);
    late.gradient = {1};
    step(both);
    Parameter<float> fresh = parameter_of(binary32, {1}, {1});
    Optimizer<float> alone({&fresh}, options);
    step(alone);
    CHECK(fresh.value.values[0] < 1);
    CHECK(late.value.values == fresh.value.values);
  }
}

TEST_CASE("clipping multiplies all gradients by max_norm / (norm + 1e-6), and never up") {
  Parameter<float> p = parameter_of(binary32, {0, 0}, {3, 0});
  Parameter<float> q = parameter_of(binary32, {0}, {-4});
  Optimizer<float> sgd({&p, &q}, {.lr = 1});
  const auto gradients = sgd.gradients();
  CHECK(clip_grad_norm<float>(gradients, 100) == 5);
  CHECK(p.gradient == Floats{3, 0});
  CHECK(clip_grad_norm<float>(gradients, 2.5) == 5);
  const float reciprocal = 1 / (5 + 1e-6F), factor = reciprocal * 2.5F;
  CHECK(p.gradient == Floats{3 * factor, 0});
  CHECK(q.gradient == Floats{-4 * factor});
}

TEST_CASE("clipped gradients of binary16 stay on its grid") {
  Parameter<float> p = parameter_of(binary16, {0, 0, 0}, {1, 1.5F, 1 + 0x1p-10F});
  Optimizer<float> sgd({&p}, {.lr = 1, .master_weights = false});
  clip_grad_norm<float>(sgd.gradients(), 1);
  Floats rounded = p.gradient;
  round_to(binary16, std::span(rounded));
  CHECK(p.gradient == rounded);
  CHECK(p.gradient[0] < 0.5F);
}

TEST_CASE("weights of a format that binary32 does not hold are refused") {
  Parameter<float> p = parameter_of(binary64, {1}, {1});
  Optimizer<float> sgd({&p}, {.lr = 1, .master_weights = false});
  CHECK_THROWS_AS(step(sgd), Error);
}

TEST_CASE("gradients of bfloat16 are clipped in bfloat16, as PyTorch clips them") {
  // torch.nn.utils.clip_grad_norm_ of 1.13: norm 5.09375, gradients 0.4140625, 0.55078125, 0,
  // 0.1376953125.
  Parameter<float> p = parameter_of(bfloat16, {0, 0, 0, 0}, {3, 4, 0, 1});
  Optimizer<float> sgd({&p}, {.lr = 1, .master_weights = false});
  const auto gradients = sgd.gradients();
  CHECK(clip_grad_norm<float>(gradients, 0.7) == 5.09375F);
  CHECK(p.gradient == Floats{0.4140625F, 0.55078125F, 0, 0.1376953125F});
}

TEST_CASE(
    "the factor of clipping is PyTorch's reciprocal times max_norm, in each gradient's dtype") {
  // By torch 1.13: bfloat16 [2, 7] to 0.75; bfloat16 3 beside binary32 7 to 1. (Its CPU kernels
  // round max_norm to bfloat16, those of CUDA do not: 0.75 is the same in both.)
  Parameter<float> p = parameter_of(bfloat16, {0, 0}, {2, 7});
  Optimizer<float> sgd({&p}, {.lr = 1, .master_weights = false});
  clip_grad_norm<float>(sgd.gradients(), 0.75);
  CHECK(p.gradient == Floats{0.20703125F, 0.7265625F});
  Parameter<float> low = parameter_of(bfloat16, {0}, {3}), wide = parameter_of(binary32, {0}, {7});
  Optimizer<float> both({&low, &wide}, {.lr = 1, .master_weights = false});
  clip_grad_norm<float>(both.gradients(), 1);
  CHECK(low.gradient == Floats{0.392578125F});
}

TEST_CASE("a decay that a weight of bfloat16 does not take is asked and lost") {
  Parameter<float> p = parameter_of(bfloat16, {1}, {0});
  Optimizer<float> adamw(
      {&p}, {.name = "adamw", .lr = 1e-3, .weight_decay = 0.1, .master_weights = false});
  step(adamw);
  CHECK(p.value.values[0] == 1);
  CHECK(adamw.counts().asked == 1);
  CHECK(adamw.counts().lost == 1);
  CHECK(adamw.update(0)[0] == doctest::Approx(1e-4).epsilon(1e-3));
}

}  // namespace
}  // namespace binade::optimizer_test

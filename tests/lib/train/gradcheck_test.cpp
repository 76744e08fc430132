// SPDX-License-Identifier: Apache-2.0
//
// gradcheck itself: it counts every element, finds gradients that are wrong in one place, and its
// figures for x³ are those that follow from the formats' spacings.
#include "lib/train/gradcheck.h"

#include <cmath>
#include <limits>

#include "lib/train/ops.h"
#include "tests/lib/train/gradients.h"

namespace binade::gradcheck_test {
namespace {

using test::check_gradients;
using test::Doubles;
using test::drawn;
using test::Vars;

/// x², whose gradient at element `at` is `error` too large.
Differentiable<double> wrong_square(std::size_t at, double error) {
  return [at, error](Doubles& tape, const Vars& v) {
    const Var x = v[0];
    std::vector<double> squares = tape.values(x);
    for (double& value : squares) value *= value;
    return tape.record("square", binary64, tape.shape(x), squares, {x},
                       [x, at, error](Doubles& t, const std::vector<double>& g) {
                         std::vector<double> dx = t.values(x);
                         for (std::size_t i = 0; i < dx.size(); ++i) dx[i] *= 2 * g[i];
                         dx[at] += g[at] * error;
                         t.add_gradient(x, dx);
                       });
  };
}

TEST_CASE("a gradient that is wrong in one element fails in that element alone") {
  const Tensor<double> x = drawn<double>({5}, 1, 0.5, 2);
  const GradcheckReport right = gradcheck<double>(wrong_square(3, 0), {x}, binary64);
  CHECK(right.elements == 25);
  CHECK(right.inputs == 5);
  CHECK(right.all_passed());
  CHECK(right.zero_numerators == 20);  // y[i] does not know of x[j]
  const GradcheckReport wrong = gradcheck<double>(wrong_square(3, 0.01), {x}, binary64);
  CHECK(wrong.passed == 24);
  CHECK(wrong.worst_abs == doctest::Approx(0.01).epsilon(1e-4));
}

TEST_CASE("an error up to atol + rtol times the difference passes, as PyTorch has it") {
  const Tensor<double> one({1}, binary64, {1});  // gradient 2: 1e-5 + 2e-3 is allowed
  CHECK(gradcheck<double>(wrong_square(0, 0.002), {one}, binary64).all_passed());
  CHECK_FALSE(gradcheck<double>(wrong_square(0, 0.00202), {one}, binary64).all_passed());
  CHECK(gradcheck<double>(wrong_square(0, -0.002), {one}, binary64).all_passed());
}

TEST_CASE("a gradient that is not there, or not a number, fails") {
  const Tensor<double> x = drawn<double>({3}, 2, 0.5, 1);
  const Differentiable<double> cut = [](Doubles& t, const Vars& v) {
    return t.record("cut", binary64, t.shape(v[0]), t.values(v[0]), {v[0]},
                    [](Doubles&, const std::vector<double>&) {});
  };
  CHECK(gradcheck(cut, {x}, binary64).passed == 6);
  const GradcheckReport nan =
      gradcheck<double>(wrong_square(0, std::numeric_limits<double>::quiet_NaN()), {x}, binary64);
  CHECK(nan.passed == 6);  // 0·NaN is NaN for every output
  CHECK(std::isinf(nan.worst_abs));
}

TEST_CASE("no elements are no pass") {
  const Differentiable<double> same = [](Doubles& t, const Vars& v) { return scale(t, v[0], 1.0); };
  CHECK_FALSE(gradcheck(same, {Tensor<double>({0})}, binary64).all_passed());
}

TEST_CASE("every element of every input is moved") {
  const auto product = [](Doubles& t, const Vars& v) { return matmul(t, v[0], v[1]); };
  const GradcheckReport report =
      gradcheck<double>(product, {drawn<double>({2, 3}, 3), drawn<double>({3, 4}, 4)}, binary64);
  CHECK(report.inputs == 6 + 12);
  CHECK(report.elements == 8 * 18);
  CHECK(report.all_passed());
}

/// x³ at n points of [-2, 2).
template <std::floating_point T>
GradcheckReport of_cube(const Format& dtype, double eps) {
  GradcheckReport all;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const GradcheckReport one =
        gradcheck<T>([](Tape<T>& t, const Vars& v) { return pow(t, v[0], 3); },
                     {drawn<T>({1}, 100 + i)}, dtype, {.eps = eps});
    all.elements += one.elements;
    all.passed += one.passed;
    all.unmoved += one.unmoved;
    all.zero_numerators += one.zero_numerators;
  }
  return all;
}

TEST_CASE("binary32 needs a wider step than binary64, and binary16 does not move") {
  CHECK(of_cube<double>(binary64, 1e-6).all_passed());
  const GradcheckReport single = of_cube<float>(binary32, 1e-6);
  CHECK(single.passed < 40);
  CHECK(single.unmoved == 0);
  CHECK(of_cube<float>(binary32, 1e-3).passed >= 199);
  const GradcheckReport half = of_cube<float>(binary16, 1e-6);
  CHECK(half.unmoved >= 195);  // all but |x| < 2^-8
  CHECK(half.zero_numerators >= half.unmoved - 2);
}

}  // namespace
}  // namespace binade::gradcheck_test

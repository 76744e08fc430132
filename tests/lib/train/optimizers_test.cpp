// SPDX-License-Identifier: Apache-2.0
//
// The table of optimizers: a row says what its steps do. optimizer_test.cpp has steps worked out by
// hand.
#include "lib/train/optimizers.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "emulate/philox.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"
#include "lib/train/optimizer.h"

namespace binade::optimizers_test {
namespace {

using Floats = std::vector<float>;

TEST_CASE("an optimizer looks at the options that its row names, and at no others") {
  struct Option {
    std::string name;
    void (*change)(OptimizerOptions&);
  };
  const std::array<Option, 6> options{
      {{"momentum", [](OptimizerOptions& o) { o.momentum = 0.25; }},
       {"nesterov", [](OptimizerOptions& o) { o.nesterov = !o.nesterov; }},
       {"beta1", [](OptimizerOptions& o) { o.beta1 = 0.5; }},
       {"beta2", [](OptimizerOptions& o) { o.beta2 = 0.5; }},
       {"eps", [](OptimizerOptions& o) { o.eps = 1; }},
       {"weight_decay", [](OptimizerOptions& o) { o.weight_decay = 0.25; }}}};
  const auto weights_after = [](const OptimizerOptions& o) {
    Parameter<float> p{.name = "w", .value = Tensor<float>({64}, binary32, Floats(64, 1))};
    Optimizer<float> optimizer({&p}, o);
    for (std::uint64_t i = 0; i < 4; ++i) {
      p.gradient.clear();
      for (std::uint64_t j = 0; j < 64; ++j) {
        p.gradient.push_back(std::ldexp(static_cast<float>(random_word(1, i, j)), -31) - 1);
      }
      optimizer.step();
    }
    return p.value.values;
  };
  for (const OptimizerRow& row : optimizers()) {
    CAPTURE(std::string(row.name));
    const OptimizerOptions usual{.name = std::string(row.name), .momentum = 0.5, .beta2 = 0.75};
    std::ptrdiff_t known = 0;
    for (const Option& option : options) {
      CAPTURE(option.name);
      known += std::ranges::count(row.options, option.name);
      OptimizerOptions changed = usual;
      option.change(changed);
      CHECK((weights_after(changed) != weights_after(usual)) == row.takes(option.name));
    }
    CHECK(known == std::ssize(row.options));
  }
}

TEST_CASE("a name that there is not is refused with those that there are") {
  const std::string error = "optimizer adamx: there is none; did you mean adam?; there are " +
                            listed(names_of(optimizers()));
  CHECK_THROWS_WITH_AS(Optimizer<float>({}, {.name = "adamx"}), error.c_str(), Error);
}

}  // namespace
}  // namespace binade::optimizers_test

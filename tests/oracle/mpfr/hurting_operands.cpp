// SPDX-License-Identifier: Apache-2.0
//
// The operands that are hard for each family of functions, about five thousand of each at most.
#include "tests/oracle/mpfr/hurting_operands.h"

#include <map>

#include "tests/oracle/mpfr/encodings.h"

namespace mpfr_oracle {
namespace {

struct Hunt {
  const Function& function;
  const Format& format;  // of the first operand, or of the result where that is an integer
  Encodings encodings;
  Engine& engine;
  const Sink& sink;
};

std::uint64_t any_sign(const Hunt& hunt, std::uint64_t container) {
  return (hunt.engine() & 1) != 0 ? hunt.encodings.negated(container) : container;
}

Number value(const Hunt& hunt, std::uint64_t container) { return hunt.encodings.value(container); }

void cross_edges(const Hunt& hunt) {
  const auto edges = hunt.encodings.signed_edges();
  for (const std::uint64_t x : edges) {
    for (const std::uint64_t y : edges) hunt.sink({x, y, 0});
  }
}

// Returns addends that make a tie, a sticky bit or a cancellation with x: half units of its last
// place, bits far below that, and x itself with its neighbours.
std::vector<std::uint64_t> addends(const Hunt& hunt, const Number& x) {
  const Encodings& encodings = hunt.encodings;
  std::vector<std::uint64_t> found = encodings.around(encodings.quantum_of(x, -1));
  const int far = -hunt.format.precision - static_cast<int>(below(hunt.engine, 20));
  for (const int shift : {-2, 0, far}) {
    found.push_back(encodings.nearest(encodings.quantum_of(x, shift)));
  }
  found.push_back(encodings.step(0, 1));
  for (const std::uint64_t same : encodings.around(x)) found.push_back(same);
  return found;
}

void sums(const Hunt& hunt) {
  cross_edges(hunt);
  std::vector<std::uint64_t> firsts = hunt.encodings.edges();
  for (int i = 0; i < 80; ++i) firsts.push_back(moderate_operand(hunt.format, hunt.engine));
  for (const std::uint64_t x : firsts) {
    if (mpfr_number_p(value(hunt, x).get()) == 0) continue;
    for (const std::uint64_t y : addends(hunt, value(hunt, x))) {
      hunt.sink({x, y, 0});
      hunt.sink({hunt.encodings.negated(y), x, 0});
    }
  }
}

// Pairs whose product is near a threshold, and pairs whose product is a tie.
void factor_pairs(const Hunt& hunt, int count,
                  const std::function<void(std::uint64_t, std::uint64_t)>& pair) {
  const auto thresholds = hunt.encodings.thresholds();
  for (int i = 0; i < count; ++i) {
    const std::uint64_t x = moderate_operand(hunt.format, hunt.engine);
    if (mpfr_regular_p(value(hunt, x).get()) == 0) continue;
    for (const Number& threshold : thresholds) {
      const Number factor = quotient(threshold, value(hunt, x));
      for (const std::uint64_t y : hunt.encodings.around(factor)) pair(any_sign(hunt, x), y);
    }
    const int bits =
        1 + static_cast<int>(below(hunt.engine, static_cast<std::uint64_t>(hunt.format.precision)));
    const auto short_x = short_operand(hunt.format, bits, hunt.engine);
    const auto short_y = short_operand(hunt.format, hunt.format.precision + 1 - bits, hunt.engine);
    pair(short_x, short_y);
  }
}

void products(const Hunt& hunt) {
  cross_edges(hunt);
  factor_pairs(hunt, 36, [&](std::uint64_t x, std::uint64_t y) { hunt.sink({x, y, 0}); });
}

void quotients(const Hunt& hunt) {
  cross_edges(hunt);
  const auto thresholds = hunt.encodings.thresholds();
  for (int i = 0; i < 40; ++i) {
    const std::uint64_t y = (i & 1) != 0 ? moderate_operand(hunt.format, hunt.engine)
                                         : short_operand(hunt.format, 3, hunt.engine);
    if (mpfr_regular_p(value(hunt, y).get()) == 0) continue;
    for (const Number& threshold : thresholds) {
      const Number dividend = product(threshold, value(hunt, y));
      for (const std::uint64_t x : hunt.encodings.around(dividend)) {
        hunt.sink({any_sign(hunt, x), y, 0});
      }
    }
  }
}

// Few edges combined with each other, with the sum's addends of both signs.
void cross_three(const Hunt& hunt) {
  const Encodings& encodings = hunt.encodings;
  const auto edges = encodings.few_edges();
  for (const std::uint64_t x : edges) {
    for (const std::uint64_t y : edges) {
      for (const std::uint64_t z : edges) {
        hunt.sink({x, any_sign(hunt, y), z});
        hunt.sink({any_sign(hunt, x), y, encodings.negated(z)});
      }
    }
  }
}

// Returns an addend of whose last place `exact`, a product of few bits, is an odd number of half
// units.
Number addend_for_a_tie(const Hunt& hunt, const Number& exact) {
  const Number drawn = value(hunt, moderate_operand(hunt.format, hunt.engine));
  const auto width = static_cast<mpfr_exp_t>(mpfr_min_prec(exact.get()));
  const mpfr_exp_t last_bit = mpfr_get_exp(exact.get()) - width;
  const mpfr_exp_t wanted = last_bit + 1 + hunt.format.precision;
  return product(drawn, power_of_two(wanted - mpfr_get_exp(drawn.get())));
}

void fused_ties(const Hunt& hunt) {
  for (int i = 0; i < 60; ++i) {
    const std::uint64_t x = short_operand(hunt.format, 2, hunt.engine);
    const std::uint64_t y = short_operand(hunt.format, 3, hunt.engine);
    const Number exact = product(value(hunt, x), value(hunt, y));
    if (mpfr_regular_p(exact.get()) == 0) continue;
    for (const std::uint64_t z : hunt.encodings.around(addend_for_a_tie(hunt, exact))) {
      hunt.sink({any_sign(hunt, x), y, z});
    }
  }
}

void fused(const Hunt& hunt) {
  const Encodings& encodings = hunt.encodings;
  cross_three(hunt);
  for (int i = 0; i < 50; ++i) {
    const std::uint64_t x = moderate_operand(hunt.format, hunt.engine);
    const std::uint64_t y = moderate_operand(hunt.format, hunt.engine);
    const Number exact = product(value(hunt, x), value(hunt, y));
    if (mpfr_number_p(exact.get()) == 0) continue;
    for (const std::uint64_t z : addends(hunt, exact)) hunt.sink({x, y, any_sign(hunt, z)});
    const auto nearest = encodings.nearest(exact);
    hunt.sink({x, y, encodings.negated(nearest)});
    const Number larger = product(exact, power_of_two(hunt.format.precision));
    for (const std::uint64_t z : encodings.around(larger)) hunt.sink({x, y, any_sign(hunt, z)});
  }
  fused_ties(hunt);
  const auto thirds = encodings.few_edges();
  const auto least_normal = encodings.nearest(power_of_two(hunt.format.least_exponent()));
  factor_pairs(hunt, 12, [&](std::uint64_t x, std::uint64_t y) {
    hunt.sink({x, y, any_sign(hunt, thirds[below(hunt.engine, thirds.size())])});
    hunt.sink({x, y, any_sign(hunt, least_normal)});
  });
}

// Quotients of few units and a half, large quotients, and their neighbours.
void remainders(const Hunt& hunt) {
  cross_edges(hunt);
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t y = (i & 1) != 0 ? moderate_operand(hunt.format, hunt.engine)
                                         : short_operand(hunt.format, 3, hunt.engine);
    const auto large =
        static_cast<mpfr_exp_t>(below(hunt.engine, std::uint64_t{1} << hunt.format.exponent_bits));
    const Number multiples[] = {Number(53, 0.5),
                                Number(53, 1),
                                Number(53, 1.5),
                                Number(53, 2.5),
                                Number(53, static_cast<double>(below(hunt.engine, 64)) + 0.5),
                                sum(power_of_two(hunt.format.fraction_bits()), Number(53, 0.5)),
                                power_of_two(large)};
    for (const Number& multiple : multiples) {
      for (const std::uint64_t x : hunt.encodings.around(product(value(hunt, y), multiple))) {
        hunt.sink({any_sign(hunt, x), y, 0});
      }
    }
  }
}

void roots(const Hunt& hunt) {
  for (const std::uint64_t x : hunt.encodings.signed_edges()) hunt.sink({x, 0, 0});
  for (int i = 0; i < 700; ++i) {
    const std::uint64_t drawn = moderate_operand(hunt.format, hunt.engine);
    const Number root = value(hunt, drawn);
    if (mpfr_regular_p(root.get()) == 0) continue;
    const Number midway = sum(root, hunt.encodings.quantum_of(root, -1));
    for (const Number* tried : {&root, &midway}) {
      for (const std::uint64_t x : hunt.encodings.around(product(*tried, *tried))) {
        hunt.sink({x, 0, 0});
      }
    }
  }
}

void integral(const Hunt& hunt) {
  for (const std::uint64_t x : hunt.encodings.signed_edges()) hunt.sink({x, 0, 0});
  const int precision = hunt.format.precision;
  for (const int exponent :
       {-60, -1, 0, 1, 2, 3, 8, precision - 2, precision - 1, precision, 31, 32, 63, 64}) {
    for (const double beside :
         {-2., -1.5, -1., -0.75, -0.5, -0.25, 0., 0.25, 0.5, 0.75, 1., 1.5, 2.}) {
      for (const std::uint64_t x :
           hunt.encodings.around(sum(power_of_two(exponent), Number(53, beside)))) {
        hunt.sink({x, 0, 0});
        hunt.sink({hunt.encodings.negated(x), 0, 0});
      }
    }
  }
  for (int i = 0; i < 200; ++i) {
    const auto halves = static_cast<double>(below(hunt.engine, std::uint64_t{1} << (1 + i % 52)));
    for (const std::uint64_t x : hunt.encodings.around(Number(53, halves / 2))) {
      hunt.sink({any_sign(hunt, x), 0, 0});
    }
  }
}

void comparisons(const Hunt& hunt) {
  cross_edges(hunt);
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t x = random_operand(hunt.function.operands[0], 0, hunt.engine);
    for (const int steps : {-1, 0, 1}) hunt.sink({x, hunt.encodings.step(x, steps), 0});
    hunt.sink({x, hunt.encodings.negated(x), 0});
  }
}

void beside_integer(const Hunt& hunt, std::uint64_t integer) {
  const int bits = hunt.function.operands[0].integer->bits;
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - bits);
  for (const std::uint64_t beside : {~std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{1}}) {
    hunt.sink({(integer + beside) & mask, 0, 0});
    hunt.sink({(beside - integer) & mask, 0, 0});
  }
}

// Powers of two plus what makes them a tie in the result, and integers at the result's overflow.
void from_integers(const Hunt& hunt) {
  const int precision = hunt.format.precision;
  for (int power = 0; power < hunt.function.operands[0].integer->bits; ++power) {
    const std::uint64_t one = std::uint64_t{1} << power;
    beside_integer(hunt, one);
    for (const int below_top : {precision - 1, precision, precision + 1}) {
      const std::uint64_t tie = power < below_top ? 0 : one >> below_top;
      for (const std::uint64_t base : {one + tie, one - tie, one + 3 * tie}) {
        beside_integer(hunt, base);
      }
    }
  }
  for (const Number& threshold : hunt.encodings.thresholds()) {
    if (mpfr_fits_uintmax_p(threshold.get(), MPFR_RNDN) == 0) continue;
    beside_integer(hunt, mpfr_get_uj(threshold.get(), MPFR_RNDN));
  }
}

// The result's numbers, the midpoints between them, and the operand's numbers beside both.
void conversions(const Hunt& hunt) {
  const Encodings results(*hunt.function.result.format);
  const Kind result_kind = hunt.function.result;
  std::vector<Number> targets = results.thresholds();
  std::vector<std::uint64_t> drawn = results.edges();
  for (int i = 0; i < 200; ++i) drawn.push_back(random_operand(result_kind, 0, hunt.engine));
  for (const std::uint64_t encoding : drawn) {
    const Number number = results.value(encoding);
    if (mpfr_number_p(number.get()) == 0) continue;
    targets.push_back(number);
    targets.push_back(sum(number, results.quantum_of(number, -1)));
  }
  for (const std::uint64_t x : hunt.encodings.signed_edges()) hunt.sink({x, 0, 0});
  for (const Number& target : targets) {
    for (const std::uint64_t x : hunt.encodings.around(target)) {
      hunt.sink({x, 0, 0});
      hunt.sink({hunt.encodings.negated(x), 0, 0});
    }
  }
}

}  // namespace

void hurting_operands(const Function& function, Engine& engine, const Sink& sink) {
  static const std::map<FunctionFamily, void (*)(const Hunt&)> hunts = {
      {FunctionFamily::sum, sums},
      {FunctionFamily::product, products},
      {FunctionFamily::quotient, quotients},
      {FunctionFamily::fused, fused},
      {FunctionFamily::remainder, remainders},
      {FunctionFamily::root, roots},
      {FunctionFamily::to_integer, integral},
      {FunctionFamily::comparison, comparisons},
      {FunctionFamily::from_integer, from_integers},
      {FunctionFamily::conversion, conversions},
  };
  const Format* operand = function.operands[0].format;
  const Format& format = operand != nullptr ? *operand : *function.result.format;
  hunts.at(function.family)({function, format, Encodings(format), engine, sink});
}

}  // namespace mpfr_oracle

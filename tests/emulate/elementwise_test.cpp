// SPDX-License-Identifier: Apache-2.0
//
// Elementwise operations on arrays: outputs and counts against the oracle, element by element. How
// the array is divided changes no element.
#include "emulate/elementwise.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "emulate/fast/kernels.h"
#include "tests/emulate/arithmetic_judge.h"
#include "tests/emulate/operand_draw.h"

namespace binade::elementwise_test {
namespace {

using test::Random;

template <class T>
using Columns = std::array<std::vector<T>, 3>;

template <class T>
Columns<T> draw_columns(Random& random, Operation operation, const OperandFormats& from,
                        const Format& to, std::size_t n) {
  Columns<T> out;
  for (std::size_t i = 0; i < n; ++i) {
    const Operands bits = test::draw_operands(random, operation, from, to);
    for (std::size_t k = 0; k < 3; ++k) out[k].push_back(value_of<T>(bits[k], from[k]));
  }
  return out;
}

template <class T>
oracle::Value oracle_value(T x) {
  return oracle::value_of(bits_of(x),
                          oracle::named_spec(sizeof(T) == 4 ? "binary32" : "binary64").spec);
}

bool same_value(const oracle::Value& a, const oracle::Value& b) {
  return a.kind == b.kind && a.negative == b.negative && oracle::is_zero(a) == oracle::is_zero(b) &&
         (oracle::is_zero(a) ||
          (a.high == b.high && a.low == b.low && a.rest == b.rest && a.exponent == b.exponent));
}

struct Judged {
  EventCounts counts;
  std::uint64_t different = 0;
};

/// Compares every element and every count with its definition.
template <class T>
Judged judged(const Columns<T>& in, const std::vector<T>& out, const Elementwise& how) {
  const oracle::Oracle judge(test::spec_of(how.to), oracle::Oracle::Method::division);
  const int count = how.operation == Operation::square_root    ? 1
                    : how.operation == Operation::multiply_add ? 3
                                                               : 2;
  const oracle::Rules rules = test::rules_of(how.attributes);
  Judged result;
  for (std::size_t i = 0; i < out.size(); ++i) {
    oracle::Value given[3];
    oracle::Value x[3];
    bool nan = false;
    bool inf = false;
    for (int k = 0; k < count; ++k) {
      const auto column = static_cast<std::size_t>(k);
      const T value = in[column][i];
      const double least = std::ldexp(1.0, how.from[column].emin());
      given[k] = x[k] = oracle_value(value);
      nan = nan || std::isnan(value);
      inf = inf || std::isinf(value);
      const bool subnormal = value != 0 && std::abs(value) < least && how.from[column].has_zero;
      if (how.attributes.flush_operands && subnormal) {
        x[k] = oracle_value(std::copysign(T{0}, value));
      }
    }
    const auto operation = test::oracle_operation(how.operation);
    const oracle::Computed exact = oracle::compute(operation, x[0], x[1], x[2], rules.way);
    const oracle::Computed unflushed =
        oracle::compute(operation, given[0], given[1], given[2], rules.way);
    const std::uint32_t word = random_word(how.seed, how.stream, i);
    const oracle::Outcome o = judge.round(exact.value, rules, word);
    const oracle::Value y = oracle::value_of(o.bits, judge.spec());
    const double want = oracle::to_double(y);
    const auto got = static_cast<double>(out[i]);
    const bool same =
        std::isnan(want) ? std::isnan(got) : got == want && std::signbit(got) == std::signbit(want);
    result.different += same ? 0 : 1;
    EventCounts& c = result.counts;
    c.values += 1;
    c.nan_in += nan ? 1 : 0;
    c.inf_in += inf && !nan ? 1 : 0;
    const bool invalid = exact.invalid || o.invalid;
    c.invalid += invalid ? 1 : 0;
    if (nan || inf || invalid) continue;
    const bool is_number = unflushed.value.kind != oracle::Kind::nan;
    const bool nonzero = is_number && !oracle::is_zero(unflushed.value);
    c.to_zero += nonzero && y.kind == oracle::Kind::number && oracle::is_zero(y) ? 1 : 0;
    c.subnormal += oracle::is_subnormal(o.bits, judge.spec()) ? 1 : 0;
    c.overflow += o.overflow ? 1 : 0;
    c.saturated += o.overflow && how.attributes.saturation == Saturation::finite ? 1 : 0;
    oracle::Value unsigned_flushed = exact.value;
    oracle::Value unsigned_given = unflushed.value;
    if (oracle::is_zero(unsigned_flushed) && oracle::is_zero(unsigned_given)) {
      unsigned_flushed.negative = unsigned_given.negative = false;
    }
    const bool flushing_changed = is_number && !same_value(unsigned_flushed, unsigned_given);
    c.inexact += o.inexact || flushing_changed ? 1 : 0;
  }
  return result;
}

template <class T>
void check(const std::vector<Format>& choice, std::size_t n) {
  Random random(sizeof(T));
  EventCounts all;
  std::uint64_t different = 0;
  for (int round = 0; round < 60; ++round) {
    const auto pick = [&] { return choice[random() % choice.size()]; };
    Elementwise how{.operation = operations[random() % operations.size()].operation,
                    .from = {pick(), pick(), pick()},
                    .to = pick(),
                    .attributes = test::draw_attributes(random),
                    .seed = random(),
                    .stream = random()};
    if (random() % 2 == 0) how.from[1] = how.from[2] = how.to = how.from[0];
    how.attributes.flush_operands = round % 3 == 0;
    const Columns<T> in = draw_columns<T>(random, how.operation, how.from, how.to, n);
    std::vector<T> out(n);
    EventCounts counts;
    elementwise(in[0].data(), in[1].data(), in[2].data(), out.data(), n, 0, how, counts);
    const Judged want = judged(in, out, how);
    different += want.different;
    CHECK(counts == want.counts);
    all += counts;
  }
  CHECK(different == 0);
  for (const std::uint64_t count : {all.nan_in, all.inf_in, all.invalid, all.to_zero, all.subnormal,
                                    all.overflow, all.saturated, all.inexact}) {
    CHECK(count > 20);
  }
}

TEST_CASE("add, multiply and multiply_add of float arrays give the oracle's values and counts") {
  check<float>({binary16, bfloat16, e4m3, e5m2, tf32, binary32, e4m3fnuz, e2m3}, 1500);
}

TEST_CASE("double arrays, binary64's too, give the oracle's values and counts") {
  check<double>({binary64, binary32, binary16, e5m2, Format{7, 30, 50}}, 1500);
}

TEST_CASE("what raises invalid counts as invalid, with NaN operands too, and as nothing else") {
  const auto counted = [](Operation operation, float a, float b, float c, const Format& to = e4m3) {
    const Elementwise how{.operation = operation, .to = to, .attributes = {.flush_operands = true}};
    float out = 0;
    EventCounts counts;
    elementwise<float>(&a, &b, &c, &out, 1, 0, how, counts);
    return counts;
  };
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const EventCounts nan_in{.values = 1, .nan_in = 1};
  const EventCounts invalid_nan{.values = 1, .nan_in = 1, .invalid = 1};
  CHECK(counted(Operation::multiply_add, 0, inf, nan) == invalid_nan);
  CHECK(counted(Operation::multiply_add, 1, inf, nan) == nan_in);
  CHECK(counted(Operation::add, 1, nan, 0) == nan_in);
  CHECK(counted(Operation::add, 1, nan, 0, e2m1) == invalid_nan);
  CHECK(counted(Operation::add, 1, std::numeric_limits<float>::signaling_NaN(), 0) == invalid_nan);
  // With flushed operands 0 / 0, not 1; and the root of -0, not of a negative number.
  CHECK(counted(Operation::divide, 1e-40F, 1e-40F, 0) == EventCounts{.values = 1, .invalid = 1});
  CHECK(counted(Operation::square_root, -1e-40F, 0, 0) == EventCounts{.values = 1});
}

TEST_CASE("subnormal operands under DAZ count as what they were") {
  const Elementwise how{.operation = Operation::multiply, .attributes = {.flush_operands = true}};
  const float a[] = {0x1p-20F, 0x1p-20F, 1.0F};
  const float b[] = {1.0F, 0.0F, 1.0F};
  float out[3];
  EventCounts counts;
  elementwise<float>(a, b, nullptr, out, 3, 0, how, counts);
  CHECK(out[0] == 0);
  CHECK(counts == EventCounts{.values = 3, .to_zero = 1, .inexact = 1});
}

TEST_CASE("an array cut in pieces gives the same values and counts, stochastically rounded") {
  Random random(5);
  const Elementwise how{.operation = Operation::multiply_add,
                        .attributes = {.rounding = Rounding::stochastic},
                        .seed = 3,
                        .stream = 9};
  const Columns<float> in = draw_columns<float>(random, how.operation, how.from, how.to, 1000);
  std::vector<float> whole(1000);
  std::vector<float> pieces(1000);
  EventCounts counts_whole;
  EventCounts counts_pieces;
  const Kernels& table = kernels(Level::reference);
  table.elementwise_f32(in[0].data(), in[1].data(), in[2].data(), whole.data(), 1000, 0, how,
                        counts_whole);
  for (std::size_t begin = 0; begin < 1000;) {
    const std::size_t n = std::min<std::size_t>(1 + random() % 100, 1000 - begin);
    table.elementwise_f32(in[0].data() + begin, in[1].data() + begin, in[2].data() + begin,
                          pieces.data() + begin, n, begin, how, counts_pieces);
    begin += n;
  }
  for (std::size_t i = 0; i < 1000; ++i) REQUIRE(bits_of(whole[i]) == bits_of(pieces[i]));
  CHECK(counts_whole == counts_pieces);
}

TEST_CASE("the result may replace an operand") {
  Random random(6);
  const Elementwise how{.operation = Operation::add};
  Columns<float> in = draw_columns<float>(random, how.operation, how.from, how.to, 500);
  std::vector<float> out(500);
  EventCounts counts;
  elementwise<float>(in[0].data(), in[1].data(), nullptr, out.data(), 500, 0, how, counts);
  elementwise<float>(in[0].data(), in[1].data(), nullptr, in[0].data(), 500, 0, how, counts);
  for (std::size_t i = 0; i < 500; ++i) REQUIRE(bits_of(in[0][i]) == bits_of(out[i]));
}

TEST_CASE("every operation reads its operands, no more and no fewer") {
  struct Row {
    Operation operation;
    int operands;
    float value;
  };
  const float a = 16;
  const float b = 4;
  const float c = 3;
  for (const Row& row : {Row{Operation::add, 2, 20},
                         {Operation::subtract, 2, 12},
                         {Operation::multiply, 2, 64},
                         {Operation::divide, 2, 4},
                         {Operation::remainder, 2, 0},
                         {Operation::square_root, 1, 4},
                         {Operation::multiply_add, 3, 67},
                         {Operation::minimum, 2, 4},
                         {Operation::maximum, 2, 16},
                         {Operation::minimum_number, 2, 4},
                         {Operation::maximum_number, 2, 16}}) {
    REQUIRE(operand_count(row.operation) == row.operands);
    float out = -1;
    EventCounts counts;
    elementwise<float>(&a, row.operands > 1 ? &b : nullptr, row.operands > 2 ? &c : nullptr, &out,
                       1, 0, {.operation = row.operation}, counts);
    CHECK(out == row.value);
    CHECK(counts == EventCounts{.values = 1});
  }
}

TEST_CASE("a format without a zero has no subnormals: DAZ leaves what lies below it") {
  const Elementwise how{.operation = Operation::multiply,
                        .from = {e8m0, binary16, binary16},
                        .attributes = {.flush_operands = true}};
  const float a = 0x1p-130F;
  const float b = 0x1p120F;
  float out = -1;
  EventCounts counts;
  elementwise<float>(&a, &b, nullptr, &out, 1, 0, how, counts);
  CHECK(out == 0x1p-10F);
  CHECK(counts == EventCounts{.values = 1});
}

}  // namespace
}  // namespace binade::elementwise_test

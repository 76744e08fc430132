// SPDX-License-Identifier: Apache-2.0
//
// 2·10^8 operations between random formats, half of them user-made, under random attributes
// (all roundings, saturation, FTZ, DAZ, NaN rules) and both tininess rules, against exact
// arithmetic that shares no line with the emulator. `--slice N` runs one in N; `--threads N`.
#include <array>
#include <atomic>
#include <cstdio>
#include <mutex>

#include "tests/emulate/arithmetic_judge.h"
#include "tests/emulate/operand_draw.h"
#include "tests/outside/patterns.h"

namespace {

using namespace binade;
using test::Random;

constexpr std::uint64_t rounds = 100000;
constexpr int cases_per_round = 1000;  // each under two tininess rules

struct Total {
  std::array<std::uint64_t, operations.size()> of_operation{};
  std::uint64_t judged = 0, differences = 0, ties = 0, subnormal = 0, tininess_matters = 0,
                overflow = 0, invalid = 0;
};

/// Tests one operation with one choice of formats on many operands.
void run_round(std::uint64_t seed, Total& total, std::mutex& mutex) {
  Random random(seed);
  const std::size_t row = random() % operations.size();
  const Operation operation = operations[row].operation;
  OperandFormats from{};
  for (Format& f : from) f = test::draw_format(random);
  Format to = test::draw_format(random);
  if (random() % 2 == 0) from[1] = from[2] = to = from[0];
  test::OperationJudge judge(operation, from, to, test::OperationJudge::Method::division);
  for (int i = 0; i < cases_per_round; ++i) {
    const Operands bits = test::draw_operands(random, operation, from, to);
    judge.check(bits, test::draw_attributes(random), static_cast<std::uint32_t>(random()));
  }
  const std::scoped_lock lock(mutex);
  if (judge.differences > 0 && total.differences < 20) std::fputs(judge.report.c_str(), stdout);
  total.of_operation[row] += 2 * judge.seen.cases;
  total.judged += 2 * judge.seen.cases;
  total.differences += judge.differences;
  total.ties += judge.seen.ties;
  total.subnormal += judge.seen.subnormal;
  total.tininess_matters += judge.seen.tininess_matters;
  total.overflow += judge.seen.overflow;
  total.invalid += judge.seen.invalid;
}

unsigned long long printable(std::uint64_t x) { return x; }

}  // namespace

int main(int argc, char** argv) {
  const outside::Options options = outside::options_of(argc, argv);
  Total total;
  std::mutex mutex;
  const std::uint64_t count = rounds / options.slice;
  outside::in_parallel(options.threads, count,
                       [&](std::uint64_t i) { run_round(0xB1ADE + i, total, mutex); });
  bool all = true;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    std::printf("%-13s %12llu operations\n", operations[i].name.data(),
                printable(total.of_operation[i]));
    all = all && total.of_operation[i] > 0;
  }
  std::printf(
      "%llu operations, %llu different; %llu ties, %llu subnormal, %llu where tininess "
      "matters, %llu overflows, %llu invalid\n",
      printable(total.judged), printable(total.differences), printable(total.ties),
      printable(total.subnormal), printable(total.tininess_matters), printable(total.overflow),
      printable(total.invalid));
  const bool enough = total.judged == 2 * count * cases_per_round && total.ties > 0 &&
                      total.subnormal > 0 && total.tininess_matters > 0 && total.overflow > 0 &&
                      total.invalid > 0;
  return all && enough && total.differences == 0 ? 0 : 1;
}

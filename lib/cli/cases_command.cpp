// SPDX-License-Identifier: Apache-2.0
//
// `binade cases`: writes test cases with binade's results, against which others can test their
// arithmetic units.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "lib/cases/hard_cases.h"
#include "lib/cli/command.h"
#include "lib/cli/stream_options.h"
#include "lib/parallel/parallel.h"
#include "lib/testfloat/test_stream.h"
#include "lib/text/error.h"
#include "lib/text/idle_option.h"

namespace binade {
namespace {

struct CasesOptions {
  StreamOptions stream;
  std::uint64_t count = 100000;
  std::uint64_t seed = 1;
};

/// Writes the lines of the cases 0 to n - 1 in order; operands_of(i) makes the operands of case i,
/// on any thread.
template <class OperandsOf>
void write_lines(std::uint64_t n, const TestFunction& function, const TestSettings& settings,
                 OperandsOf&& operands_of) {
  constexpr std::uint64_t piece = 4096;
  const std::uint64_t round = piece * 16 * thread_count();
  for (std::uint64_t first = 0; first < n; first += round) {
    const std::uint64_t count = std::min(round, n - first);
    std::vector<std::string> texts((count + piece - 1) / piece);
    parallel_for(texts.size(), 1, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t t = begin; t < end; ++t) {
        const std::uint64_t stop = std::min(count, (t + 1) * piece);
        for (std::uint64_t i = t * piece; i < stop; ++i) {
          const TestOperands operands = operands_of(first + i);
          write_test_case(texts[t], {operands, evaluate(function, operands, settings)}, function);
        }
      }
    });
    for (const std::string& text : texts) fmt::print("{}", text);
  }
}

void cases(App app, const CasesOptions& options) {
  const TestFunction function = parse_test_function(options.stream.function);
  const TestSettings settings = settings_of(app, options.stream, function);
  const CasesOptions usual;
  const std::string all_there = "on " + function.name + ", of which every case is written";
  refuse_idle(std::array{
      IdleOption{"--count", is_exhaustive(function) && options.count != usual.count, all_there},
      IdleOption{"--seed", is_exhaustive(function) && options.seed != usual.seed, all_there},
  });
  const std::vector<TestOperands> hard = hard_cases(function, options.seed);
  write_lines(hard.size(), function, settings, [&](std::uint64_t i) { return hard[i]; });
  if (is_exhaustive(function)) return;
  write_lines(options.count, function, settings,
              [&](std::uint64_t i) { return random_case(function, options.seed, i); });
}

void define_cases(App app, int&) {
  const auto options = std::make_shared<CasesOptions>();
  app.add_option("function", options->stream.function,
                 "the function whose cases are written; its names are explained below")
      .required()
      .type_name("OP");
  app.add_option(
         "-n,--count", options->count,
         "number of random cases, which follow the hard ones. If the operands of the function have "
         "at most 18 bits together, every case is written once, and neither this number nor --seed "
         "is taken")
      .capture_default_str();
  app.add_option("--seed", options->seed, "seed of the random cases, from 0 to 2^64 - 1")
      .capture_default_str();
  add_stream_options(app, options->stream);
  app.footer("\n" + std::string(test_function_help) +
             "\n\nLines have TestFloat's form: operands, result and exception flags in hexadecimal "
             "(3C00 1000 3C00 01); those of\nPTX instructions have no flags. The same arguments "
             "write the same lines on every machine.\n"
             "Exit status: 0 the cases were written, 2 an argument is wrong.\n\nExamples:\n"
             "  binade cases bf16_mulAdd -r toward_zero > bf16_mulAdd.txt\n"
             "  binade cases f32_to_e4m3 --saturation finite -n 1000000 | my_test");
  app.callback([app, options] { cases(app, *options); });
}

}  // namespace

const Command cases_command{
    "cases", "write test cases (TestFloat's form): hard ones, then random",
    "Writes test cases of a function to standard output, in the form of Berkeley TestFloat, with "
    "the results and flags that binade gives: first those whose results are hard to round or lie "
    "at the ends of the range, then random ones.",
    &define_cases, "[arithmetic](emulate/README.md#is-your-arithmetic-unit-right)"};

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// A program that reads lines of cases for one function, in Berkeley TestFloat's form, and writes
// them with the result and the flags that MPFR gives for their operands.
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>

#include "tests/oracle/mpfr/lines.h"

namespace mpfr_oracle {
namespace {

constexpr const char* usage =
    "usage: mpfr_cases FUNCTION [--rounding near_even|minMag|min|max|near_maxMag|odd]\n"
    "         [--tininess before|after] [--exact|--notexact] [--saturation none|finite] < CASES\n"
    "       mpfr_cases --list\n";

struct Options {
  std::string function;
  Environment environment;
};

bool one_of(const std::string& word, const char* no, const char* yes) {
  if (word != no && word != yes) throw std::invalid_argument(word);
  return word == yes;
}

Rounding rounding(const std::string& word) {
  const auto found = rounding_named(word);
  if (!found) throw std::invalid_argument(word);
  return *found;
}

Options parse(int argc, char** argv) {
  Options out;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--exact" || word == "--notexact") {
      out.environment.exact = word == "--exact";
    } else if (out.function.empty() && word.rfind("--", 0) != 0) {
      out.function = word;
    } else if (++i; word == "--rounding") {
      out.environment.rounding = rounding(value);
    } else if (word == "--tininess") {
      out.environment.tiny_before = one_of(value, "after", "before");
    } else if (word == "--saturation") {
      out.environment.saturate = one_of(value, "none", "finite");
    } else {
      throw std::invalid_argument(word);
    }
  }
  return out;
}

void write_cases(const Function& function, const Environment& environment) {
  std::ios::sync_with_stdio(false);
  std::string text;
  for (std::string line; std::getline(std::cin, line);) {
    const Operands operands = operands_of(function, line);
    text.clear();
    append_line(function, operands, function.evaluate(environment, operands), text);
    std::cout << text;
  }
  if (!std::cout.flush()) throw std::runtime_error("cannot write the cases");
}

int run(int argc, char** argv) {
  const std::vector<Function> functions = all_functions();
  const std::string first = argc == 2 ? argv[1] : "";
  if (first == "--list") {
    for (const Function& function : functions) std::puts(function.name.c_str());
    return 0;
  }
  const Options options = parse(argc, argv);
  const Function* function = function_named(functions, options.function);
  if (function == nullptr) throw std::invalid_argument(options.function);
  write_cases(*function, options.environment);
  return 0;
}

}  // namespace
}  // namespace mpfr_oracle

int main(int argc, char** argv) {
  try {
    return mpfr_oracle::run(argc, argv);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "mpfr_cases: '%s' is not understood\n%s", error.what(),
                 mpfr_oracle::usage);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mpfr_cases: %s\n", error.what());
  }
  return 2;
}

// SPDX-License-Identifier: Apache-2.0
//
// A program that writes cases for one function, computed with MPFR, in Berkeley TestFloat's form:
// all operands where they have 16 bits or less together, else hard operands and random ones.
#include <charconv>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>

#include "tests/oracle/mpfr/hurting_operands.h"
#include "tests/oracle/mpfr/lines.h"
#include "tests/oracle/mpfr/selftest.h"

namespace mpfr_oracle {
namespace {

constexpr const char* usage =
    "usage: mpfr_cases FUNCTION [--rounding near_even|minMag|min|max|near_maxMag|odd]\n"
    "         [--tininess before|after] [--exact|--notexact] [--saturation none|finite]\n"
    "         [--count N] [--seed S]\n"
    "       mpfr_cases --list | --selftest\n";

struct Options {
  std::string function;
  Environment environment;
  std::uint64_t count = 1000;
  std::uint64_t seed = 1;
};

bool one_of(const std::string& word, const char* no, const char* yes) {
  if (word != no && word != yes) throw std::invalid_argument(word);
  return word == yes;
}

std::uint64_t number(const std::string& word) {
  std::uint64_t parsed = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), parsed);
  if (error != std::errc() || end != word.data() + word.size()) throw std::invalid_argument(word);
  return parsed;
}

Rounding rounding(const std::string& word) {
  const auto found = rounding_named(word);
  if (!found) throw std::invalid_argument(word);
  return *found;
}

using Setter = void (*)(Options&, const std::string&);

const std::map<std::string, Setter>& setters() {
  static const std::map<std::string, Setter> table = {
      {"--rounding",
       [](Options& o, const std::string& v) { o.environment.rounding = rounding(v); }},
      {"--tininess",
       [](Options& o, const std::string& v) {
         o.environment.tiny_before = one_of(v, "after", "before");
       }},
      {"--saturation",
       [](Options& o, const std::string& v) {
         o.environment.saturate = one_of(v, "none", "finite");
       }},
      {"--count", [](Options& o, const std::string& v) { o.count = number(v); }},
      {"--seed", [](Options& o, const std::string& v) { o.seed = number(v); }},
  };
  return table;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto setter = setters().find(word);
    if (word == "--exact" || word == "--notexact") {
      options.environment.exact = word == "--exact";
    } else if (setter != setters().end() && i + 1 < argc) {
      setter->second(options, argv[++i]);
    } else if (options.function.empty() && word.rfind("--", 0) != 0) {
      options.function = word;
    } else {
      throw std::invalid_argument(word);
    }
  }
  return options;
}

int operand_bits(const Function& function) {
  int total = 0;
  for (const Kind& kind : function.operands) total += kind.bits();
  return total;
}

void all_operands(const Function& function, const Sink& sink) {
  for (std::uint64_t code = 0; code < std::uint64_t{1} << operand_bits(function); ++code) {
    Operands operands{};
    std::uint64_t rest = code;
    for (std::size_t i = function.operands.size(); i-- > 0;) {
      const Format& format = *function.operands[i].format;
      operands[i] = (rest & ((format.sign_bit() << 1) - 1)) << format.shift;
      rest >>= format.bits();
    }
    sink(operands);
  }
}

void random_operands(const Function& function, std::uint64_t count, Engine& engine,
                     const Sink& sink) {
  for (std::uint64_t i = 0; i < count; ++i) {
    Operands operands{};
    std::uint64_t previous = engine();
    for (std::size_t j = 0; j < function.operands.size(); ++j) {
      previous = operands[j] = random_operand(function.operands[j], previous, engine);
    }
    sink(operands);
  }
}

void write_cases(const Function& function, const Options& options) {
  std::string text;
  const auto flush = [&] {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
      throw std::runtime_error("cannot write the cases");
    }
    text.clear();
  };
  const Sink sink = [&](const Operands& operands) {
    append_line(function, operands, function.evaluate(options.environment, operands), text);
    if (text.size() > 60000) flush();
  };
  Engine engine(options.seed);
  if (operand_bits(function) <= 16) {
    all_operands(function, sink);
  } else {
    hurting_operands(function, engine, sink);
    random_operands(function, options.count, engine, sink);
  }
  flush();
  if (std::fflush(stdout) != 0) throw std::runtime_error("cannot write the cases");
}

int run(int argc, char** argv) {
  const std::vector<Function> functions = all_functions();
  const std::string first = argc == 2 ? argv[1] : "";
  if (first == "--selftest") return selftest() == 0 ? 0 : 1;
  if (first == "--list") {
    for (const Function& function : functions) std::puts(function.name.c_str());
    return 0;
  }
  const Options options = parse(argc, argv);
  const Function* function = function_named(functions, options.function);
  if (function == nullptr) throw std::invalid_argument(options.function);
  write_cases(*function, options);
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

// SPDX-License-Identifier: Apache-2.0
//
// `binade check`: compares the results in a stream of test cases with the emulator's, bit for bit,
// or tells which rules of conversion explain the codes of a converter.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <system_error>

#include "lib/cli/check_codes.h"
#include "lib/cli/command.h"
#include "lib/cli/stream_options.h"
#include "lib/explain/case_words.h"
#include "lib/testfloat/test_stream.h"
#include "lib/text/error.h"
#include "lib/text/idle_option.h"

namespace binade {
namespace {

struct CheckOptions {
  StreamOptions stream;
  ConversionFiles files;
  bool nan_bits = false, json = false;
  std::size_t show = 5;
};

/// Throws Error if the options are neither those of a stream nor those of arrays.
void check_options(App app, const CheckOptions& options) {
  const bool stream = !options.stream.function.empty();
  if (stream && app.count("--in") + app.count("--codes") > 0) {
    throw Error(
        "--testfloat checks lines of standard input, --in and --codes check arrays; give "
        "one or the other");
  }
  if (!stream && (options.files.in.empty() || options.files.codes.empty())) {
    throw Error(
        "nothing to check; give --testfloat OP and lines of cases, or --in and --codes with "
        "what a converter was given and what it gave");
  }
  for (const char* name : {"--format", "--dtype", "--json"}) {
    refuse_idle(std::array{IdleOption{name, stream && app.count(name) > 0, "with --testfloat"}});
  }
  for (const char* name : {"--rounding", "--tininess", "--exact", "--saturation", "--ftz", "--daz",
                           "--nan", "--nan-bits"}) {
    refuse_idle(std::array{IdleOption{name, !stream && app.count(name) > 0,
                                      "with --in and --codes: it is what is found out"}});
  }
}

std::size_t read_standard_input(std::span<char> out) {
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, out.data(), out.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "cannot read standard input");
    }
  }
}

/// Throws Error if an option changes nothing of how results are compared.
void check_comparison(const CheckOptions& options, const TestFunction& function,
                      const TestSettings& settings) {
  const bool no_bits = function.act == Act::compare ||
                       (function.act != Act::to_integer && !function.result.format.has_nan());
  refuse_idle(std::array{
      IdleOption{"--nan-bits", options.nan_bits && no_bits,
                 "on " + function.name + ", whose results are no NaNs"},
      IdleOption{"--nan", !options.nan_bits && settings.attributes.nan != Attributes{}.nan,
                 "without --nan-bits, since any NaN then equals any other"},
  });
}

/// Returns "3011 cases, 51 mismatches: 48 in their values, 3 in their flags alone".
std::string counts_text(const StreamCheck& x) {
  std::string out = fmt::format("{} cases, {} mismatches", x.cases, x.mismatches());
  if (x.wrong_flags > 0) {
    out +=
        fmt::format(": {} in their values, {} in their flags alone", x.wrong_values, x.wrong_flags);
  }
  if (x.without_flags > 0) {
    out +=
        fmt::format("; {} lines have no flags: their values alone were compared", x.without_flags);
  }
  return out;
}

int check(App app, const CheckOptions& options) {
  check_options(app, options);
  if (options.stream.function.empty()) {
    return check_codes(options.files, options.json, options.show);
  }
  const TestFunction function = parse_test_function(options.stream.function);
  const TestSettings settings = settings_of(app, options.stream, function);
  check_comparison(options, function, settings);
  if (isatty(STDIN_FILENO) != 0) {
    fmt::print(stderr, "binade: reading cases of {} from the terminal; Ctrl-D ends them\n",
               function.name);
  }
  const Comparing comparing{.nan_bits = options.nan_bits};
  const StreamCheck result =
      check_stream(function, settings, comparing, &read_standard_input, options.show);
  for (const Mismatch& mismatch : result.first) {
    fmt::print("{}\n", explained(mismatch, function, settings, comparing));
  }
  if (result.mismatches() > result.first.size() && !result.first.empty()) {
    fmt::print("… {} more (--show N)\n\n", result.mismatches() - result.first.size());
  }
  fmt::print("{}\n", counts_text(result));
  return result.mismatches() == 0 ? 0 : exit_different;
}

void define_check(App app, int& status) {
  const auto options = std::make_shared<CheckOptions>();
  app.add_option("--testfloat", options->stream.function,
                 "the function of which the lines on standard input are cases; its names are "
                 "explained below")
      .type_name("OP");
  add_stream_options(app, options->stream);
  app.add_flag("--nan-bits", options->nan_bits,
               "compare also the bits of NaNs, and integer results of invalid conversions "
               "(default: any NaN equals any other, and such integers are not compared)");
  app.add_option(
         "--show", options->show,
         "how many of the cases that differ to explain, or of the rules and elements to show")
      .capture_default_str();
  add_code_options(app, options->files);
  app.add_flag("--json", options->json, "print JSON instead of text (--in and --codes)");
  app.footer(
      "\n" + std::string(test_function_help) +
      "\n\nLines have TestFloat's form: operands, result and exception flags in hexadecimal "
      "(3C00 1000 3C00 01). Lines\nwithout flags compare values alone; those of PTX "
      "instructions never have any.\n"
      "\nOf a converter's arrays, roundings, overflow, flushing, signs of zero and chains of "
      "formats are tried on all finite\nnumbers, infinities and NaNs apart. Where nothing "
      "explains every code, the nearest rule is told with the first\nelements that differ, and "
      "hypotheses with their shares.\n"
      "Exit status: 0 all cases agree, or rules explain every code; 1 some differ, or none "
      "does; 2 an argument is wrong\nor a line is malformed.\n\nExamples:\n"
      "  testfloat_gen -rminMag f16_mulAdd | binade check --testfloat f16_mulAdd -r minMag\n"
      "  binade check --testfloat f32_to_e4m3 --saturation finite < my_converter.txt\n"
      "  binade check --in x.npy --codes codes.npy --format e4m3");
  app.callback([app, &status, options] { status = check(app, *options); });
}

}  // namespace

const Command check_command{
    "check", "compare test cases with binade's results, or identify a converter",
    "Reads test cases of a function from standard input, in the form of Berkeley TestFloat, and "
    "compares the results and flags in them with binade's. Prints the number of cases that differ, "
    "and explains the first of them. Or takes two arrays, what a converter was given and what it "
    "gave, "
    "and tells which rules of conversion explain every code.",
    &define_check, "[arithmetic](emulate/README.md#is-your-arithmetic-unit-right)"};

}  // namespace binade

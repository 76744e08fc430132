// SPDX-License-Identifier: Apache-2.0
//
// Declares the options that `binade check` and `binade cases` share, and reads them.
#include "lib/cli/stream_options.h"

#include <array>

#include "lib/text/error.h"
#include "lib/text/idle_option.h"

namespace binade {
namespace {

/// Throws Error if a setting has no effect on any case of the function.
void check_effects(const TestSettings& s, const TestFunction& function) {
  const Attributes usual, &a = s.attributes;
  const bool to_integer = function.act == Act::to_integer;
  const bool rounds_to_integer = to_integer || function.act == Act::round_to_integral;
  const bool to_format = function.act != Act::compare && !to_integer;
  const std::string on = "on " + function.name;
  const std::string without_format =
      on + ", whose result is " + (to_integer ? "an integer" : "a truth value");
  refuse_idle(std::array{
      IdleOption{"--rounding", function.act == Act::compare && a.rounding != usual.rounding,
                 without_format},
      IdleOption{"--exact", s.exact && !rounds_to_integer, on + ", which rounds to no integer"},
      IdleOption{"--tininess", !to_format && a.tininess != usual.tininess, without_format},
      IdleOption{"--saturation", !to_format && a.saturation != usual.saturation, without_format},
      IdleOption{"--ftz", !to_format && a.flush_results, without_format},
      IdleOption{"--nan", !to_format && a.nan != usual.nan, without_format},
  });
  if (to_format) check_effects(a, function.result.format, function.name);
}

}  // namespace

void add_stream_options(App app, StreamOptions& options) {
  add_rounding(app, options.attributes);
  add_tininess(app, options.attributes);
  app.add_flag("--exact,!--notexact", options.exact,
               "whether rounding to an integer raises the flag inexact if the value changes "
               "(default: --notexact)");
  add_saturation(app, options.attributes);
  add_flush_results(app, options.attributes);
  add_flush_operands(app, options.attributes);
  add_nan(app, options.attributes);
}

TestSettings settings_of(App app, const StreamOptions& options, const TestFunction& function) {
  const TestSettings settings{attributes_of(options.attributes), options.exact};
  if (settings.attributes.rounding == Rounding::stochastic) {
    throw Error("--rounding stochastic: a test stream has no random words; choose another");
  }
  if (function.act != Act::ptx) {
    check_effects(settings, function);
    return settings;
  }
  for (const char* name :
       {"--rounding", "--tininess", "--exact", "--saturation", "--ftz", "--daz", "--nan"}) {
    if (app.count(name) == 0) continue;
    const std::string option = name == std::string_view("--exact") ? "--exact or --notexact" : name;
    throw Error(option + ": " + function.name +
                " is a PTX instruction, its name says everything; leave the option out");
  }
  return settings;
}

}  // namespace binade

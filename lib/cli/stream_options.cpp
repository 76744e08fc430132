// SPDX-License-Identifier: Apache-2.0
//
// Declares the options that `binade check` and `binade cases` share, and reads them.
#include "lib/cli/stream_options.h"

#include "lib/testfloat/test_effects.h"
#include "lib/text/error.h"
#include "lib/text/idle_option.h"

namespace binade {

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
  if (!function.is_ptx()) {
    refuse_idle(idle_settings(function, settings));
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

// SPDX-License-Identifier: Apache-2.0
//
// What `binade check` and `binade cases` have in common: a function of Berkeley TestFloat or PTX,
// and the attributes under which it is evaluated.
#pragma once

#include <string>

#include "lib/cli/attribute_options.h"
#include "lib/testfloat/test_function.h"

namespace binade {

struct StreamOptions {
  std::string function;
  AttributeOptions attributes;
  bool exact = false;  ///< rounding to an integer raises the flag inexact
};

/// Declares --rounding, --tininess, --exact, --notexact, --saturation, --ftz, --daz and --nan.
/// `options` must live as long as the command.
void add_stream_options(App app, StreamOptions& options);

/// The settings that the options say. Throws Error for an unknown value, for stochastic rounding,
/// for an option that changes no case of the function, and for any beside a PTX instruction, whose
/// name says everything.
TestSettings settings_of(App app, const StreamOptions& options, const TestFunction& function);

}  // namespace binade

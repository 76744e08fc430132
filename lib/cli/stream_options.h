// SPDX-License-Identifier: Apache-2.0
//
// What `check` and `cases` have in common: the function, and the settings under which it is run.
#pragma once

#include <string>

#include "lib/cli/attribute_options.h"
#include "lib/testfloat/test_function.h"

namespace binade {

struct StreamOptions {
  std::string function;
  AttributeOptions attributes;
  bool exact = false;
};

/// --rounding, --tininess, --exact, --notexact, --saturation, --ftz, --daz, --nan.
void add_stream_options(App app, StreamOptions& options);

/// Error where an option makes no sense for the function.
TestSettings settings_of(App app, const StreamOptions& options, const TestFunction& function);

}  // namespace binade

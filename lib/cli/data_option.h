// SPDX-License-Identifier: Apache-2.0
//
// The option --data, the folder of the data that experiments and trainings read.
#pragma once

#include <string>

#include "lib/cli/parser.h"

namespace binade {

/// Declares --data FOLDER. `folder` must live as long as the command.
void add_data_option(App app, std::string& folder);

}  // namespace binade

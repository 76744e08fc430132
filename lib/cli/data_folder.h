// SPDX-License-Identifier: Apache-2.0
//
// Where the committed data lie, as experiments, trainings and sweeps are told.
#pragma once

#include <string>
#include <vector>

#include "lib/cli/options.h"
#include "lib/io/output_paths.h"

namespace binade {

/// --data FOLDER.
void add_data_option(App app, std::string& folder);

/// Where the data lie that were installed beside this code. Until it is told: in the folder the program was built from.
void set_default_data_folder(std::string folder);

/// What was given, else BINADE_DATA, else the default.
std::string data_folder(const std::string& given);

/// The files that a training may read: of that folder, and of what BINADE_TEXT and BINADE_FASHION_MNIST name.
std::vector<InputPath> data_files(const std::string& given);

}  // namespace binade

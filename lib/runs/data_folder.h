// SPDX-License-Identifier: Apache-2.0
//
// The folder of the data that experiments, trainings and sweeps read: the option --data and the
// variable BINADE_DATA.
#pragma once

#include <string>
#include <vector>

#include "lib/io/output_paths.h"

namespace binade {

/// Sets the folder that is used if the user names none: that of the installed data. Until it is
/// set, this is the folder in the source tree from which the program was built.
void set_default_data_folder(std::string folder);

/// The folder to read: `given` if it is not empty, else the variable BINADE_DATA if it is set and
/// not empty, else the default.
std::string data_folder(const std::string& given);

/// The files that a training may read, each with the name of the option or variable that it comes
/// from: those of data_folder(given), and those that BINADE_TEXT and BINADE_FASHION_MNIST name (a
/// file or a folder each). Files of a variable that is not set, and those of a folder that cannot
/// be listed, are not among them.
std::vector<InputPath> data_files(const std::string& given);

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// The option and the environment variable of the data folder.
#include "lib/cli/data_folder.h"

#include <cstdlib>

namespace binade {

void add_data_option(App app, std::string& folder) {
  app.add_option("--data", folder, "folder of the committed data (default: experiments/data)");
}

std::string data_folder(const std::string& given) {
  if (!given.empty()) return given;
  const char* folder = std::getenv("BINADE_DATA");
  return folder != nullptr && *folder != '\0' ? folder : BINADE_DATA_FOLDER;
}

}  // namespace binade

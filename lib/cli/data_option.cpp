// SPDX-License-Identifier: Apache-2.0
//
// Declares the option --data, the folder of data.
#include "lib/cli/data_option.h"

namespace binade {

void add_data_option(App app, std::string& folder) {
  app.add_option("--data", folder,
                 "folder of the data that come with binade (default: the variable BINADE_DATA, "
                 "else the data installed with the program, else experiments/data)")
      .suggest_files();
}

}  // namespace binade

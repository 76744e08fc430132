// SPDX-License-Identifier: Apache-2.0
//
// Finds the folder of the data, by option, environment variable or default, and lists its files.
#include "lib/runs/data_folder.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "lib/io/own_folder.h"

namespace binade {
namespace {

namespace fs = std::filesystem;

/// Returns the folder of the data that were installed with the program; if there is none, as beside
/// a program that was built and not installed, that of the sources.
std::string installed_data_folder() {
  const fs::path program = own_folder();
  const fs::path installed = (program / BINADE_DATA_FROM_BINDIR).lexically_normal();
  std::error_code unseen;
  return !program.empty() && fs::is_directory(installed, unseen) ? installed.string()
                                                                 : BINADE_DATA_FOLDER;
}

std::string& default_data_folder() {
  static std::string folder = installed_data_folder();
  return folder;
}

/// Adds the file `place`, or the files of the folder `place`; adds nothing if the folder cannot be
/// listed, since the reader of the data reports that.
void add_files(const std::string& name, const fs::path& place, std::vector<InputPath>& out) {
  std::error_code failed;
  if (!fs::is_directory(place, failed)) {
    out.push_back({name, place.string()});
    return;
  }
  for (auto at = fs::directory_iterator(place, failed); !failed && at != fs::directory_iterator();
       at.increment(failed)) {
    out.push_back({name, at->path().string()});
  }
}

}  // namespace

void set_default_data_folder(std::string folder) { default_data_folder() = std::move(folder); }

std::string data_folder(const std::string& given) {
  if (!given.empty()) return given;
  const char* folder = std::getenv("BINADE_DATA");
  return folder != nullptr && *folder != '\0' ? folder : default_data_folder();
}

std::vector<InputPath> data_files(const std::string& given) {
  std::vector<InputPath> out;
  add_files("--data", data_folder(given), out);
  for (const char* name : {"BINADE_TEXT", "BINADE_FASHION_MNIST"}) {
    if (const char* place = std::getenv(name)) add_files(name, place, out);
  }
  return out;
}

}  // namespace binade

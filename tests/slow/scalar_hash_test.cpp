// SPDX-License-Identifier: Apache-2.0
//
// The hashes of all recorded cases of scalar instructions, 2^32 and more of each, against the
// emulator on all cores. Arguments are recordings and folders of them. The exit status is 0 if all
// are equal, 1 if some differ, 2 for a fault, and 77 if there is no recording of an emulated scalar
// instruction.
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "lib/text/error.h"
#include "lib/validate/scalar.h"

namespace {

namespace fs = std::filesystem;
using namespace binade;

std::vector<std::string> recordings_in(const char* path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<std::string> out;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
    const std::string name = entry.path().string();
    if (entry.path().extension() == ".safetensors" && is_scalar_recording(name)) {
      out.push_back(name);
    }
  }
  return out;
}

int run(const std::vector<std::string>& paths) {
  std::size_t compared = 0, different = 0;
  for (const std::string& path : paths) {
    const ScalarRecording recording = read_scalar_recording(path);
    if (!recording.instruction.is_emulated()) continue;
    const bool equal = has_emulated_hash(recording);
    compared += 1;
    different += equal ? 0 : 1;
    std::printf("%-40s %12llu cases, hash %s\n", recording.instruction.name.c_str(),
                static_cast<unsigned long long>(recording.cases.count),
                equal ? "equal" : "different");
    std::fflush(stdout);
  }
  std::printf("recordings %zu, different %zu\n", compared, different);
  return compared == 0 ? 77 : different == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::vector<std::string> paths;
    for (int i = 1; i < argc; ++i) {
      const std::vector<std::string> found = recordings_in(argv[i]);
      paths.insert(paths.end(), found.begin(), found.end());
    }
    return run(paths);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "scalar_hash_test: %s\n", error.what());
    return 2;
  }
}

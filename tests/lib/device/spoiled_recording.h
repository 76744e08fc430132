// SPDX-License-Identifier: Apache-2.0
//
// Recordings that a test spoils, part by part, before they are read.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/lib/io/files.h"

namespace binade::test {

/// The parts of a .safetensors file; `header` says where each tensor lies in `data`.
struct SpoiledRecording {
  std::map<std::string, std::string> metadata;
  nlohmann::ordered_json header;
  std::string data;

  /// Returns the bytes of the file.
  std::string text() const {
    nlohmann::ordered_json all{{"__metadata__", metadata}};
    all.update(header);
    return safetensors(all.dump(), data);
  }
};

/// Returns the message with which `read`, given the path of a file that holds `bytes`, refuses it;
/// empty if it does not. Checks that the message is one line that begins with the path.
template <class Read>
std::string refusal_of_bytes(const std::string& bytes, Read&& read) {
  const Folder folder;
  const std::string path = folder.write("x.safetensors", bytes);
  std::string said = error_of([&] { read(path); });
  CHECK((said.empty() || said.starts_with(path + ": ")));
  CHECK(said.find('\n') == std::string::npos);
  return said;
}

}  // namespace binade::test

// SPDX-License-Identifier: Apache-2.0
//
// Reads the text: files in the order of their names, whose bytes become their ranks in the
// vocabulary.
#include "lib/runs/text_corpus.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "lib/io/input_file.h"
#include "lib/text/error.h"

namespace binade {
namespace {

namespace fs = std::filesystem;

constexpr const char* debian_text_folder = "/usr/share/common-licenses";
constexpr std::size_t most_bytes_of_text = std::size_t{64} << 20;

/// Returns BINADE_TEXT; empty if it is not set.
std::string given_place() {
  const char* place = std::getenv("BINADE_TEXT");
  return place != nullptr ? place : "";
}

/// Returns the regular files directly in a folder, sorted by the bytes of their names.
std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
    if (i->symlink_status().type() == fs::file_type::regular) paths.push_back(i->path().string());
  }
  if (error)
    throw error_in(folder, error.message(), "set BINADE_TEXT to a readable file or folder");
  std::ranges::sort(paths);
  return paths;
}

std::string read_all(const std::string& place) {
  std::error_code ignored;
  const bool folder = fs::is_directory(place, ignored);
  std::string bytes;
  for (const std::string& path : folder ? files_of(place) : std::vector{place}) {
    bytes += read_text(path, most_bytes_of_text, "set BINADE_TEXT to less");
    if (bytes.size() > most_bytes_of_text) {
      throw error_in(place, "more than " + std::to_string(most_bytes_of_text) + " bytes of text",
                     "set BINADE_TEXT to less");
    }
  }
  return bytes;
}

}  // namespace

bool has_licence_text() {
  std::error_code ignored;
  return !given_place().empty() || fs::is_directory(debian_text_folder, ignored);
}

Text licence_text() {
  const std::string given = given_place();
  const std::string place = given.empty() ? debian_text_folder : given;
  std::error_code ignored;
  if (!fs::exists(place, ignored)) {
    throw error_in(place, "no such file or folder",
                   "set BINADE_TEXT to a text file or a folder of them");
  }
  const std::string bytes = read_all(place);
  const std::size_t test = bytes.size() / 10;
  if (test == 0) {
    throw error_in(place, "fewer than 10 bytes of text",
                   "set BINADE_TEXT to a text file or a folder of them");
  }
  std::array<bool, 256> seen{};
  for (const char c : bytes) seen[static_cast<unsigned char>(c)] = true;
  Text text;
  std::array<std::int32_t, 256> rank{};
  for (std::size_t byte = 0; byte < seen.size(); ++byte) {
    rank[byte] = static_cast<std::int32_t>(text.vocabulary.size());
    if (seen[byte]) text.vocabulary += static_cast<char>(byte);
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    (i < bytes.size() - test ? text.train : text.test)
        .push_back(rank[static_cast<unsigned char>(bytes[i])]);
  }
  return text;
}

}  // namespace binade

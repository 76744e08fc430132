// SPDX-License-Identifier: Apache-2.0
//
// The C library's glob(), which looks at folders through functions that count what they return.
#include "lib/io/file_pattern.h"

#include <dirent.h>
#include <glob.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "lib/text/error.h"

namespace binade {
namespace {

constexpr double most_alternatives = 10'000, most_copied_bytes = 1e9;
constexpr std::size_t most_bytes_of_names = 50'000'000;

struct Braces {
  double alternatives = 1;  ///< how many patterns without braces a pattern is, or more
  double pairs = 0;         ///< of braces that belong together
};

/// Counts a pattern's braces. The alternatives are the product over all braces, also over those
/// inside others, whose alternatives the C library adds up. A character after a backslash means
/// nothing but itself.
Braces braces_in(std::string_view pattern) {
  Braces out;
  std::vector<double> open;  // for each brace that is open, its alternatives
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\') ++i;
    if (c == '{') open.push_back(1);
    if (c == ',' && !open.empty()) ++open.back();
    if (c == '}' && !open.empty()) {
      out.alternatives *= open.back();
      ++out.pairs;
      open.pop_back();
    }
  }
  return out;
}

/// How many bytes of names may still be looked at, and the length of the path of the folder that is
/// being read. The C library passes its functions nothing of ours.
struct PatternSearch {
  std::size_t left = most_bytes_of_names, folder = 0;

  /// Returns whether another name may be looked at.
  bool take(std::size_t bytes) {
    left -= bytes < left ? bytes : left;
    return left > 0;
  }
};
thread_local PatternSearch search;

void* open_counted(const char* path) {
  search.folder = std::strlen(path);
  return search.take(search.folder) ? opendir(path) : nullptr;
}
dirent* read_counted(void* folder) {
  dirent* const entry = readdir(static_cast<DIR*>(folder));
  if (entry == nullptr) return nullptr;
  return search.take(search.folder + std::strlen(entry->d_name)) ? entry : nullptr;
}
int stat_counted(const char* path, struct stat* out) {
  return search.take(std::strlen(path)) ? stat(path, out) : -1;
}
int lstat_counted(const char* path, struct stat* out) {
  return search.take(std::strlen(path)) ? lstat(path, out) : -1;
}

}  // namespace

bool is_file_pattern(const std::string& text) {
  return text.find_first_of("*?[{") != std::string::npos;
}

std::vector<std::string> paths_matching(const std::string& pattern) {
  if (pattern.size() > longest_path) {
    throw file_error(printable(pattern), "longer than a path", "give several patterns");
  }
  const Braces braces = braces_in(pattern);
  if (braces.alternatives > most_alternatives) {
    throw file_error(pattern, "more than 10,000 alternatives in braces",
                     "use * or several patterns");
  }
  // The C library copies the rest of the pattern at each brace of each alternative.
  if (braces.alternatives * braces.pairs * static_cast<double>(pattern.size()) >
      most_copied_bytes) {
    throw file_error(pattern, "too many braces and alternatives for a pattern of its length",
                     "use * or several patterns");
  }
  struct Result {
    glob_t found = {};
    ~Result() { globfree(&found); }
  } result;
  result.found.gl_opendir = &open_counted;
  result.found.gl_readdir = &read_counted;
  result.found.gl_closedir = [](void* folder) { closedir(static_cast<DIR*>(folder)); };
  result.found.gl_stat = &stat_counted;
  result.found.gl_lstat = &lstat_counted;
  search = {};
  const int status =
      glob(pattern.c_str(), GLOB_BRACE | GLOB_NOSORT | GLOB_ALTDIRFUNC, nullptr, &result.found);
  if (search.left == 0) {
    throw file_error(pattern, "more files or folders to look at than 50 MB of names",
                     "name them closer");
  }
  if (status != 0) return {};
  return {result.found.gl_pathv, result.found.gl_pathv + result.found.gl_pathc};
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Resolves names to places and compares these, makes folders, and tries whether files can be
// written.
#include "lib/io/output_paths.h"

#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "lib/io/atomic_file.h"
#include "lib/io/synced.h"
#include "lib/text/error.h"

namespace binade {

namespace fs = std::filesystem;

namespace {

/// The file that a path leads to.
struct Place {
  std::optional<std::pair<dev_t, ino_t>> inode;  ///< of the existing file, if any
  std::string path;                              ///< without links, "." and ".."

  bool operator==(const Place& other) const {
    return inode && other.inode ? inode == other.inode : path == other.path;
  }
};

/// Returns the place of a path, or nothing if it is no file: "", a pipe, a device.
std::optional<Place> place_of(const std::string& path) {
  if (path.empty()) return {};
  Place out;
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return {};
    out.inode = {status.st_dev, status.st_ino};
  }
  std::error_code failed;
  const fs::path end = fs::absolute(link_target(path), failed);
  out.path = fs::weakly_canonical(end, failed).string();
  if (failed) out.path = end.lexically_normal().string();
  if (out.path.ends_with('/') && out.path.size() > 1) out.path.pop_back();
  return out;
}

struct Seen {
  std::string name, path;
  Place place;
  bool read;
};

void check_distinct(std::span<const InputPath> inputs, std::span<const OutputPath> outputs) {
  std::vector<Seen> all;
  for (const InputPath& in : inputs) {
    const auto place = place_of(in.path == "-" ? "/dev/stdin" : in.path);
    if (place) all.push_back({in.name, in.path, *place, true});
  }
  for (const OutputPath& out : outputs) {
    if (out.path == "-" && out.or_stdout) continue;
    if (out.path == "-") {
      throw error_in(out.name + " -", "this result is not written to standard output",
                     "name a file");
    }
    const auto place = place_of(out.path);
    if (!place) continue;
    for (const Seen& other : all) {
      if (other.place != *place) continue;
      throw error_in(out.name + " " + out.path,
                     "the same file as " + other.name + " " + printable(other.path, longest_path) +
                         (other.read ? ", which is read" : ""),
                     "name another");
    }
    all.push_back({out.name, out.path, *place, false});
  }
}

}  // namespace

MadeFolders::~MadeFolders() {
  std::error_code not_empty;
  for (; !made_.empty(); made_.pop_back()) fs::remove(made_.back(), not_empty);
}

void MadeFolders::make(const OutputPath& folder) {
  // Absolute, because the caller may change the working folder before the destructor runs.
  std::vector<std::string> missing;
  std::error_code failed;
  for (fs::path at = fs::absolute(folder.path, failed); !at.empty() && !fs::exists(at, failed);
       at = at.parent_path()) {
    missing.push_back(at.string());
  }
  const int error = make_synced_folders(folder.path);
  made_.insert(made_.end(), missing.rbegin(), missing.rend());
  if (error == 0 && fs::is_directory(folder.path, failed)) return;
  const std::string why = error != 0 ? std::strerror(error) : "not a folder";
  throw file_error(folder.path, "cannot be made: " + why, "give another folder to " + folder.name);
}

MadeFolders prepare_outputs(std::span<const InputPath> inputs,
                            std::span<const OutputPath> outputs) {
  check_distinct(inputs, outputs);
  MadeFolders folders;
  for (const OutputPath& out : outputs) {
    if (out.kind == OutputKind::folder && !out.path.empty()) folders.make(out);
  }
  for (const OutputPath& out : outputs) {
    // A pipe is not opened on trial, because its reader would see its end.
    std::error_code ignored;
    const bool to_try = out.kind == OutputKind::file && !out.path.empty() && out.path != "-" &&
                        !fs::is_other(fs::status(out.path, ignored));
    if (to_try) const AtomicFile trial(out.path);
  }
  return folders;
}

}  // namespace binade

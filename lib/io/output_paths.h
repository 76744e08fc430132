// SPDX-License-Identifier: Apache-2.0
//
// Checks the files that a command reads and writes before it does any work: a result must replace
// neither what it is made from nor another result, and a file that cannot be replaced is reported
// before work begins.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace binade {

/// `name` is how the command line calls the file: "SPEC", "--json". An empty path means that the
/// option was not given.
struct InputPath {
  std::string name, path;
};

enum class OutputKind : std::uint8_t {
  file,      ///< written whole by AtomicFile
  appended,  ///< grows line by line
  folder,    ///< holds files
};

struct OutputPath {
  std::string name, path;
  OutputKind kind = OutputKind::file;
  bool or_stdout = false;  ///< whether "-" is standard output; if not, it is refused
};

/// Folders that a command made for its results, each after the folder that it lies in. The
/// destructor removes the folders that are still empty, so that a command that writes nothing
/// leaves nothing.
class MadeFolders {
 public:
  MadeFolders() = default;
  MadeFolders(MadeFolders&& other) noexcept = default;
  MadeFolders& operator=(MadeFolders&& other) noexcept {
    made_.swap(other.made_);
    return *this;
  }
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;
  ~MadeFolders();

  /// Makes the folder and those that it lies in. Throws Error if it cannot be made.
  void make(const OutputPath& folder);

 private:
  std::vector<std::string> made_;
};

/// Throws Error if an output is the same file as an input or as another output, or if it is "-" and
/// not or_stdout. Files are compared by device and inode if both exist, else by their paths with
/// links resolved; pipes and devices do not count as files; an input "-" is the file that standard
/// input is, if it is one. Then makes the output folders and opens the outputs of OutputKind::file
/// on trial, except pipes and devices (files that are appended to are not tried either); if that
/// fails, throws Error and removes the folders that it made. The caller keeps what is returned
/// until the results are written.
MadeFolders prepare_outputs(std::span<const InputPath> inputs, std::span<const OutputPath> outputs);

}  // namespace binade

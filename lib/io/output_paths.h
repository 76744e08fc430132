// SPDX-License-Identifier: Apache-2.0
//
// The files that a command reads and writes, held against each other before any work: a result must
// not replace what it was made from, nor another result, and where it cannot be written is told first.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace binade {

/// `name` is how the command line calls it: "SPEC", "--json". An empty path was not asked for.
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
  bool or_stdout = false;  ///< whether "-" is standard output; elsewhere it is an Error
};

/// Folders that a command made for its results, each after the folder that it lies in. The destructor removes the folders
/// that are still empty, so that a command that writes nothing leaves nothing.
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

/// Throws Error if an output is the same file as an input or as another output: by device and inode where both
/// exist, else by where the name leads. Pipes and devices are no files; an input "-" is the file
/// that standard input is, if it is one. Then makes the folders and
/// tries whether the files can be written; where that fails, no folder it made is left. The caller holds what is
/// returned until the results are written.
MadeFolders prepare_outputs(std::span<const InputPath> inputs, std::span<const OutputPath> outputs);

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// The result file of a command that takes long. Until the command writes the whole result, the file
// holds what is done so far, so that a command that is killed has not worked for nothing.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace binade {

class SoFarFile {
 public:
  /// Writes nothing if the path is empty, or that of a pipe or a device, to which a result is
  /// written once.
  explicit SoFarFile(std::string path);

  /// Puts the text in the file's place. It is no error if that fails, since the whole result is
  /// still to be written.
  void write(const std::string& text) const;

  /// Writes what `text` returns if it is time: first a second after the construction, then at
  /// intervals of a second or more of which making and writing the text takes at most a twentieth.
  void write_in_time(const std::function<std::string()>& text);

 private:
  std::string path_;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Text for models that predict characters: the licence texts that every Debian system has, or files
// that the user names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace binade {

struct Text {
  std::string vocabulary;  ///< the distinct bytes, sorted as unsigned numbers
  std::vector<std::int32_t> train,
      test;  ///< characters as indices into the vocabulary; `test` is the last tenth
};

/// Reads the files of BINADE_TEXT (a file or a folder) or, if that is not set or empty, of the
/// system's folder of licences, one after another in the order of their names; symbolic links and
/// folders in the folder are skipped. Throws Error if there is no such file or folder or it cannot
/// be read, for fewer than 10 bytes of text and for more than 64 MiB.
Text licence_text();

/// Returns whether BINADE_TEXT is set and not empty, or the system has its folder of licences.
bool has_licence_text();

}  // namespace binade

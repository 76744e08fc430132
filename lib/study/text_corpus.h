// SPDX-License-Identifier: Apache-2.0
//
// Text for models of characters: the licences that every Debian system holds, or any files of the
// user's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace binade {

struct Text {
  std::string vocabulary;  ///< the distinct bytes, sorted as unsigned numbers
  std::vector<std::int32_t> train,
      test;  ///< positions in the vocabulary; the last tenth is the test
};

/// The files of BINADE_TEXT (a file or a folder), or of the system's folder of licences, one after
/// another in the order of their names; symbolic links in the folder are skipped. Error if there is
/// no text, or more than 64 MiB of it.
Text licence_text();

/// Whether BINADE_TEXT is set or the system has its folder of licences.
bool has_licence_text();

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Waits until what was written would outlast a loss of power. Each function returns 0, or the errno
// of why it failed; of a file system that cannot wait it returns 0, since it promises nothing.
#pragma once

#include <string>

namespace binade {

/// Waits for what was written to a file, or changed in a folder.
int sync_descriptor(int descriptor);

/// Waits for the names in the folder that a path lies in. Returns 0 also if the folder may be
/// written and not read, since only what can be opened can be waited for.
int sync_folder_of(const std::string& path);

/// Makes a folder and those above it that are missing, and waits for the name of each.
int make_synced_folders(const std::string& path);

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Patterns of file names, as shells know them, within bounds: some of few letters stand for more
// names than a machine can hold.
#pragma once

#include <string>
#include <vector>

namespace binade {

/// Returns whether a text has characters of a pattern: * ? [ {
bool is_file_pattern(const std::string& text);

/// Returns the paths that match a pattern of *, ?, [abc] and {this,that}, in no order. Folders that
/// cannot be read have none. Throws FileError if the pattern is longer than a path, if its braces
/// have more than 10 000 alternatives, or if the names that have to be looked at are longer than
/// 50 MB together.
std::vector<std::string> paths_matching(const std::string& pattern);

}  // namespace binade

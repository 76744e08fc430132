// SPDX-License-Identifier: Apache-2.0
//
// Names of tensors may hold colons, and so may names of files: where the file's name ends depends
// on which file exists.
#include "lib/io/opened_tensor.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "lib/io/array_file.h"
#include "lib/text/error.h"

namespace binade {
namespace {

/// Splits FILE:NAME. A text that is itself the name of an existing file is taken as that.
std::pair<std::string, std::string> file_and_name(const std::string& where) {
  std::error_code ignored;
  if (NamedArrays::find(where) != nullptr) return {where, ""};
  if (where == "-" || std::filesystem::exists(where, ignored)) return {where, ""};
  for (std::size_t at = where.find(':'); at != std::string::npos; at = where.find(':', at + 1)) {
    const std::string file = where.substr(0, at);
    if (std::filesystem::exists(file, ignored)) return {file, where.substr(at + 1)};
  }
  return {where, ""};
}

}  // namespace

std::string file_of(const std::string& where) { return file_and_name(where).first; }

OpenedTensor open_tensor(const std::string& where, const OpenOptions& options) {
  const auto [path, name] = file_and_name(where);
  OpenedTensor out{open_tensor_file(path, options)};
  const auto& tensors = out.file->tensors();
  if (name.empty()) {
    if (tensors.size() == 1) return out;
    throw error_in(path, std::to_string(tensors.size()) + " tensors",
                   "name one, as " + printable(path, longest_path) + ":NAME");
  }
  const auto found = std::ranges::find(tensors, name, &TensorInfo::name);
  if (found == tensors.end()) {
    throw error_in(path, "no tensor '" + printable(name) + "'",
                   tensors.empty() ? "the file is empty"
                                   : "there is '" + printable(tensors[0].name) + "'" +
                                         (tensors.size() > 1 ? " and others" : ""));
  }
  out.index = static_cast<std::size_t>(found - tensors.begin());
  return out;
}

}  // namespace binade

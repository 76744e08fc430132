// SPDX-License-Identifier: Apache-2.0
//
// A model in several files, as Hugging Face's libraries save it. An index in JSON,
// model.safetensors.index.json or pytorch_model.bin.index.json, says which of the files beside it
// holds which tensor.
//
//   {"metadata": {"total_size": BYTES, …}, "weight_map": {TENSOR: FILE, …}}
#pragma once

#include <string>
#include <string_view>

namespace binade {

/// Returns the path of a file that `file` names and that must be in the same folder or in one below
/// it. Throws Error if the name is empty, absolute, ends in "/" or has a part "..". Symbolic links
/// are followed wherever they lead.
std::string path_beside(const std::string& file, std::string_view name);

}  // namespace binade

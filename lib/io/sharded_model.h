// SPDX-License-Identifier: Apache-2.0
//
// A model in several files, as Hugging Face's libraries save it. An index in JSON,
// model.safetensors.index.json or pytorch_model.bin.index.json, says which of the files beside it
// holds which tensor.
//
//   {"metadata": {"total_size": BYTES, …}, "weight_map": {TENSOR: FILE, …}}
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "lib/io/tensor_file.h"

namespace binade {

/// Returns whether the bytes begin as a JSON object, with "{" after any white space.
bool starts_as_json(std::span<const std::byte> bytes);

/// Returns the path of a file that `file` names and that must be in the same folder or in one below
/// it. Throws Error if the name is empty, absolute, ends in "/" or has a part "..". Symbolic links
/// are followed wherever they lead.
std::string path_beside(const std::string& file, std::string_view name);

/// Opens all shards as one file. `open_shard` opens a file by its path. Throws Error unless index
/// and shards agree on every tensor, and if `path` is standard input, which has no files beside it.
std::unique_ptr<TensorFile> open_sharded_model(
    const std::string& path, std::shared_ptr<const InputFile> index,
    const std::function<std::unique_ptr<TensorFile>(const std::string&)>& open_shard);

}  // namespace binade

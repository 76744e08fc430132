// SPDX-License-Identifier: Apache-2.0
//
// A model in several files as Hugging Face's libraries save it: an index in JSON, model.safetensors.index.json or
// pytorch_model.bin.index.json, says which of the files beside it holds which tensor.
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

/// Whether the bytes begin as an object of JSON.
bool starts_as_json(std::span<const std::byte> bytes);

/// The path of a file that another one names. Error if the name leads out of the folder of `file`.
std::string path_beside(const std::string& file, std::string_view name);

/// All its shards as one file. Error unless index and shards agree on every tensor.
std::unique_ptr<TensorFile> open_sharded_model(
    const std::string& path, std::shared_ptr<const InputFile> index,
    const std::function<std::unique_ptr<TensorFile>(const std::string&)>& open_shard);

}  // namespace binade

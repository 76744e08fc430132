// SPDX-License-Identifier: Apache-2.0
//
// The formats of files of tensors as rows of a table. lib/meson.build lists their names in the
// order in which people are told of them; NAME.cpp in this folder defines the row NAME_format.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/tensor_file.h"

namespace binade {

/// A format. No bytes begin as two formats do, so that the order of the table decides nothing but
/// words.
struct FileFormat {
  std::string_view files;  ///< what lists of everything call its files: ".npy", "torch.save's .pt"
  /// What its contents are, and what it is called among formats of single files; empty if the
  /// tensors lie in several files.
  std::string_view contents, single;
  /// Whether a file with these first bytes, at most 4096, is one.
  bool (*begins)(std::span<const std::byte> bytes);
  /// Reads and checks the directory of the tensors alone. `path` is what the caller named, `file`
  /// the file whose beginning was looked at. Throws Error if the file is malformed.
  std::unique_ptr<TensorFile> (*open)(const std::string& path,
                                      std::shared_ptr<const InputFile> file,
                                      const OpenOptions& options);
  /// Whether a file that only its name says to be one is opened all the same, for what `open` then
  /// says of it.
  bool is_opened_by_name = false;
};

/// The table.
std::span<const FileFormat* const> file_formats();

/// Returns the first 4096 bytes of the file, or all of them.
std::vector<std::byte> beginning_of(const InputFile& file);

/// Returns all formats, for helps: ".safetensors, .npy, …, a folder of
/// torch.distributed.checkpoint".
std::string files_of_tensors();

/// Returns the formats of single files, for helps: ".safetensors, .npy, .npz or torch's"; torch's
/// are called .pt, .pth, .bin or .ckpt. The one that is called `first` stands before the others, as
/// .npy does where files are mostly of one array.
std::string single_file_formats(std::string_view first = {});

}  // namespace binade

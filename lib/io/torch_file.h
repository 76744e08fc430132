// SPDX-License-Identifier: Apache-2.0
//
// What torch.save has written since torch 1.6: an uncompressed zip archive of a pickle and of the
// storages that its tensors are views of.
//
//   NAME/data.pkl | NAME/data/0 | NAME/data/1 | … | NAME/version | NAME/byteorder, …
//
// Elements are streamed from the file if they are contiguous in C order, else gathered (strided.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "lib/io/strided.h"
#include "lib/io/tensor_file.h"

namespace binade {

/// Returns whether the bytes begin an archive of torch.save: a .zip whose first member is
/// NAME/data.pkl or another of its small members. The first member of a TorchScript archive, which
/// is refused later, may be a storage.
inline bool starts_as_torch(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  constexpr std::size_t name_length_at = 26, name_at = 30;  // APPNOTE.TXT 4.3.7
  if (!text.starts_with("PK\x03\x04") || bytes.size() <= name_at) return false;
  const auto length = std::to_integer<std::size_t>(bytes[name_length_at]) |
                      std::to_integer<std::size_t>(bytes[name_length_at + 1]) << 8;
  const std::string_view name = text.substr(name_at, length);
  constexpr std::string_view first[] = {"/data.pkl", "/data/0", "/version", "/byteorder",
                                        "/.format_version"};
  return std::ranges::any_of(first, [&](std::string_view end) { return name.ends_with(end); });
}

/// A tensor of an archive, and where its elements are. The name is empty if the archive holds a
/// single tensor and no dict.
struct TorchTensor {
  TensorInfo info;
  StridedBlock block;
};

/// Returns the tensors of the archive in the `size` bytes of the file from offset `begin` on.
/// Throws Error if the archive is malformed, TorchScript's or big-endian, if it is compressed, or
/// if its tensors have more bytes than 1024 times the archive's and 2^30 more.
std::vector<TorchTensor> torch_tensors(std::shared_ptr<const InputFile> file, std::uint64_t begin,
                                       std::uint64_t size);

/// Opens the archive that fills a file; a tensor without a name gets the file's, without extension.
/// Throws Error as torch_tensors() does, or if this build has no zlib.
std::unique_ptr<TensorFile> open_torch_file(std::shared_ptr<const InputFile> file);

}  // namespace binade

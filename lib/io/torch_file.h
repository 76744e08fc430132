// SPDX-License-Identifier: Apache-2.0
//
// What torch.save has written since torch 1.6: an uncompressed zip archive of a pickle and of the
// storages that its tensors are views of.
//
//   NAME/data.pkl | NAME/data/0 | NAME/data/1 | … | NAME/version | NAME/byteorder, …
//
// Elements are streamed from the file if they are contiguous in C order, else gathered (strided.h).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lib/io/strided.h"
#include "lib/io/tensor_file.h"

namespace binade {

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

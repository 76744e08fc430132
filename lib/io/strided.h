// SPDX-License-Identifier: Apache-2.0
//
// Tensors that are stored as views. A tensor consists of one or several blocks, which may lie in
// several files, and whose strides may be in any order, zeros included. Tensors are read in C order
// with bounded memory. Whoever makes a block must have checked that it lies inside its file.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/io/input_file.h"
#include "lib/io/tensor_file.h"

namespace binade {

/// A run of bytes of which blocks are views, with the CRC-32 that the archive states for it.
struct ChecksummedBytes {
  std::uint64_t begin = 0, size = 0;  ///< in the file
  std::uint32_t crc = 0;
  /// Set once the bytes were checked as a whole, which happens before the first view of a part of
  /// them is read. Where a view is all of them, they are checked as it is read instead.
  mutable std::once_flag checked = {};
};

/// A block of a tensor, as a view of bytes in a file.
struct StridedBlock {
  std::shared_ptr<const InputFile> file;
  std::uint64_t begin = 0;             ///< offset of the first element in the file
  std::vector<std::uint64_t> offsets;  ///< indices of the first element in the tensor
  std::vector<std::uint64_t> sizes;    ///< number of indices of each dimension of the block
  std::vector<std::uint64_t> strides;  ///< in bytes
  std::shared_ptr<const ChecksummedBytes> storage = {};  ///< null if it has no checksum
};

class StridedFile : public TensorFile {
 public:
  using Blocks = std::vector<StridedBlock>;

  /// Makes a file of tensors. The blocks of each tensor hold each of its elements once. `directory`
  /// is the file that lists the tensors.
  StridedFile(std::string path, std::shared_ptr<const InputFile> directory,
              std::vector<TensorInfo> tensors, std::vector<Blocks> blocks);

  std::optional<Place> place_of(std::size_t index) const override;

 private:
  void read_data(std::size_t index, const ChunkSink& sink) const override;
  void read_data_on_threads(std::size_t index, const PieceSink& sink) const override;
  std::vector<const InputFile*> sources(std::size_t index) const override;
  void check_crc(std::size_t index, const ChecksummedBytes& storage, std::uint64_t found) const;
  bool is_checked_whole(std::size_t index) const;
  void check_storages(std::size_t index) const;

  std::vector<Blocks> blocks_;
};

}  // namespace binade

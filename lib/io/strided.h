// SPDX-License-Identifier: Apache-2.0
//
// Tensors that lie in files as views: of strides in any order, 0 among them, and in several blocks, each of a file of its
// own. They are read in C order with bounded memory. Whoever makes a block has checked that it lies in its file.
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

/// The bytes that blocks are views of, and what their CRC-32 is said to be.
struct ChecksummedBytes {
  std::uint64_t begin = 0, size = 0;  ///< in the file
  std::uint32_t crc = 0;
  mutable std::once_flag checked =
      {};  ///< of views that are less than the whole, before the first of them is read
};

struct StridedBlock {
  std::shared_ptr<const InputFile> file;
  std::uint64_t begin = 0;             ///< byte of the first element in the file
  std::vector<std::uint64_t> offsets;  ///< of the first element in the tensor
  std::vector<std::uint64_t> sizes;
  std::vector<std::uint64_t> strides;                    ///< in bytes
  std::shared_ptr<const ChecksummedBytes> storage = {};  ///< null: without a checksum
};

class StridedFile : public TensorFile {
 public:
  using Blocks = std::vector<StridedBlock>;

  /// Of each tensor the blocks, which hold each of its elements once. `directory` is the file that says so.
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

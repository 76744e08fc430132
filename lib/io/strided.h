// SPDX-License-Identifier: Apache-2.0
//
// Tensors that lie in files as views: of strides in any order, 0 among them, and in several blocks. They are read in C
// order with bounded memory. Whoever makes a block has checked that it lies in its file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/io/input_file.h"
#include "lib/io/tensor_file.h"

namespace binade {

struct StridedBlock {
  std::shared_ptr<const InputFile> file;
  std::uint64_t begin = 0;             ///< byte of the first element in the file
  std::vector<std::uint64_t> offsets;  ///< of the first element in the tensor
  std::vector<std::uint64_t> sizes;
  std::vector<std::uint64_t> strides;  ///< in bytes
};

/// Of an element of `element_bytes`, elements one after another in C order.
std::vector<std::uint64_t> c_strides(std::span<const std::uint64_t> sizes,
                                     std::uint64_t element_bytes);

/// Hands a tensor of the shape out whose elements each lie in one of the blocks.
void stream_blocks(std::span<const std::uint64_t> shape, std::uint64_t element_bytes,
                   std::span<const StridedBlock> blocks, const ChunkSink& sink);

class StridedFile : public TensorFile {
 public:
  using Blocks = std::vector<StridedBlock>;

  /// Of each tensor its blocks.
  StridedFile(std::string path, std::vector<TensorInfo> tensors, std::vector<Blocks> blocks);

  std::optional<Place> place_of(std::size_t index) const override;
  std::vector<const InputFile*> sources(std::size_t index) const override;
  std::shared_ptr<const void> hold() const override;

 private:
  void read_data(std::size_t index, const ChunkSink& sink) const override;

  std::vector<Blocks> blocks_;
};

}  // namespace binade

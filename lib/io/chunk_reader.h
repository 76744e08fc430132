// SPDX-License-Identifier: Apache-2.0
//
// A tensor's chunks on demand, so that two tensors can be read side by side: the file pushes them on
// a thread of its own, which waits until the next one is asked for. At most one chunk is in memory.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "lib/io/tensor_file.h"

namespace binade {

class ChunkReader {
 public:
  /// The file must outlive the reader.
  ChunkReader(const TensorFile& file, std::size_t index);
  ~ChunkReader();
  ChunkReader(const ChunkReader&) = delete;
  ChunkReader& operator=(const ChunkReader&) = delete;

  /// The next chunk, valid until the next call; empty at the end. Throws what reading threw.
  std::span<const std::byte> next();

 private:
  struct Stopped {};
  void push(std::span<const std::byte> chunk);
  void finish(std::exception_ptr failure);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::span<const std::byte>> chunk_;
  bool wanted_ = false;  ///< the reader waits for a chunk
  bool stopped_ = false;
  bool finished_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  ///< last: it uses all the others
};

}  // namespace binade

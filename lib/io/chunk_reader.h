// SPDX-License-Identifier: Apache-2.0
//
// Gives the chunks of a tensor on demand, so that two tensors can be read side by side. A thread
// reads the file and waits, after each chunk, until the next one is requested; at most one chunk is
// in memory.
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
  /// Reads tensor number `index`. The file must outlive the reader. Throws FileError if the system
  /// gives no thread.
  ChunkReader(const TensorFile& file, std::size_t index);
  ~ChunkReader();
  ChunkReader(const ChunkReader&) = delete;
  ChunkReader& operator=(const ChunkReader&) = delete;

  /// Returns the next chunk, valid until the next call, or an empty span at the end. Rethrows what
  /// was thrown while reading.
  std::span<const std::byte> next();

 private:
  struct Stopped {};
  void push(std::span<const std::byte> chunk);
  void finish(std::exception_ptr failure);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::span<const std::byte>> chunk_;
  bool wanted_ = false;  ///< next() waits for a chunk
  bool stopped_ = false;
  bool finished_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  ///< uses all other members
};

}  // namespace binade

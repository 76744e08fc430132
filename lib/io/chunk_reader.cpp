// SPDX-License-Identifier: Apache-2.0
//
// Two threads take turns: next() requests a chunk and waits; push() hands it over and waits for the
// next request.
#include "lib/io/chunk_reader.h"

#include <system_error>
#include <utility>

#include "lib/text/error.h"

namespace binade {

ChunkReader::ChunkReader(const TensorFile& file, std::size_t index) {
  const auto read = [this, &file, index] {
    try {
      file.read(index, [this](std::span<const std::byte> chunk) { push(chunk); });
      finish(nullptr);
    } catch (const Stopped&) {
      finish(nullptr);
    } catch (...) {
      finish(std::current_exception());
    }
  };
  try {
    thread_ = std::thread(read);
  } catch (const std::system_error& error) {
    throw file_error(
        file.path(), std::string("no thread to read it: ") + error.code().message(),
        "end other processes, or allow more threads (ulimit -u) or memory (ulimit -v)");
  }
}

ChunkReader::~ChunkReader() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ChunkReader::push(std::span<const std::byte> chunk) {
  if (chunk.empty()) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return wanted_ || stopped_; });
  if (stopped_) throw Stopped{};
  chunk_ = chunk;
  wanted_ = false;
  changed_.notify_all();
  // The span is invalid once this call returns, so the call waits until the next chunk is
  // requested.
  changed_.wait(lock, [this] { return wanted_ || stopped_; });
  if (stopped_) throw Stopped{};
}

void ChunkReader::finish(std::exception_ptr failure) {
  {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(failure);
    finished_ = true;
  }
  changed_.notify_all();
}

std::span<const std::byte> ChunkReader::next() {
  std::unique_lock lock(mutex_);
  chunk_.reset();
  wanted_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return chunk_.has_value() || finished_; });
  if (chunk_) return *chunk_;
  if (failure_) std::rethrow_exception(failure_);
  return {};
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Each thread has a stack of NamedArrays. Chunks are parts of the arrays themselves.
#include "lib/io/array_file.h"

#include <algorithm>

#include "lib/parallel/parallel.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::size_t most_in_a_chunk = std::size_t{8} << 20;  ///< a multiple of every dtype's size

thread_local const NamedArrays* innermost_arrays = nullptr;

class ArrayFile final : public TensorFile {
 public:
  ArrayFile(const FileOfArrays& file, const OpenOptions& options) : TensorFile(file.name) {
    for (const auto& [name, array] : file.arrays) {
      const Extent size = array.size();
      const bool is_raw = options.dtype && array.dtype.kind == DtypeKind::integer &&
                          array.dtype.bits == options.dtype->bits && array.dtype.name[0] == 'U';
      tensors_.push_back({name, is_raw ? *options.dtype : array.dtype, array.shape, false,
                          size.elements, size.bytes});
      data_.push_back(array.data);
    }
  }

 private:
  void read_data(std::size_t index, const ChunkSink& sink) const override {
    const std::span all(data_[index], tensors_[index].bytes);
    for (std::size_t at = 0; at < all.size(); at += most_in_a_chunk) {
      poll();
      sink(all.subspan(at, std::min(most_in_a_chunk, all.size() - at)));
    }
  }

  std::vector<const std::byte*> data_;
};

}  // namespace

NamedArrays::NamedArrays(std::vector<FileOfArrays> files)
    : files_(std::move(files)), around_(innermost_arrays) {
  innermost_arrays = this;
}
NamedArrays::~NamedArrays() { innermost_arrays = around_; }

const FileOfArrays* NamedArrays::find(std::string_view name) {
  for (const NamedArrays* at = innermost_arrays; at != nullptr; at = at->around_) {
    const auto found = std::ranges::find(at->files_, name, &FileOfArrays::name);
    if (found != at->files_.end()) return &*found;
  }
  return nullptr;
}

std::unique_ptr<TensorFile> open_arrays(const FileOfArrays& file, const OpenOptions& options) {
  return std::make_unique<ArrayFile>(file, options);
}

}  // namespace binade

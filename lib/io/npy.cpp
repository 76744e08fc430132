// SPDX-License-Identifier: Apache-2.0
//
// The .npy file: one tensor that fills the file to its last byte.
#include "lib/io/npy.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "lib/io/mapped_file.h"
#include "lib/tensor/error.h"

namespace binade {
namespace {

class NpyFile : public TensorFile {
 public:
  NpyFile(const std::string& path, const OpenOptions& options) : TensorFile(path), file_(path) {
    const auto bytes = file_.bytes();
    const std::uint64_t size =
        npy_header_size(path, bytes.first(std::min(npy_preamble, bytes.size())));
    if (size > bytes.size()) {
      throw error_at(path, "truncated header", bytes.size(), "export the file again");
    }
    header_ = parse_npy_header(path, bytes.first(size), options.dtype);
    const std::uint64_t promised = header_.extent.bytes;
    const std::uint64_t held = bytes.size() - size;
    const std::string promise =
        "the header promises " + std::to_string(promised) + " bytes of data; export the file again";
    if (held < promised) throw error_at(path, "truncated", bytes.size(), promise);
    if (held > promised) throw error_at(path, "surplus bytes", size + promised, promise);
    tensors_.push_back(npy_info(std::filesystem::path(path).stem().string(), header_));
  }

  void read(std::size_t index, const ChunkSink& sink) const override {
    (void)tensors_.at(index);
    const auto data = file_.bytes().subspan(header_.size);
    if (!header_.big_endian) return file_.stream(data, sink);
    constexpr std::size_t most = std::size_t{4} << 20;
    std::vector<std::byte> buffer;
    file_.stream(data, [&](std::span<const std::byte> part) {
      for (std::size_t at = 0; at < part.size(); at += most) {
        const auto piece = part.subspan(at, std::min(most, part.size() - at));
        buffer.assign(piece.begin(), piece.end());
        swap_bytes(buffer, header_.dtype);
        sink(buffer);
      }
    });
  }

 private:
  MappedFile file_;
  NpyHeader header_;
};

template <class Word, class Swap>
void swap_words(std::span<std::byte> data, Swap swap) {
  for (std::size_t at = 0; at < data.size(); at += sizeof(Word)) {
    Word word = 0;
    std::memcpy(&word, &data[at], sizeof word);
    word = swap(word);
    std::memcpy(&data[at], &word, sizeof word);
  }
}

}  // namespace

TensorInfo npy_info(std::string name, const NpyHeader& header) {
  return {.name = std::move(name),
          .dtype = header.dtype,
          .shape = header.shape,
          .fortran_order = header.fortran_order,
          .elements = header.extent.elements,
          .bytes = header.extent.bytes};
}

void swap_bytes(std::span<std::byte> data, const Dtype& dtype) {
  switch (dtype.bits / (dtype.kind == DtypeKind::complex ? 2 : 1)) {
    case 16:
      return swap_words<std::uint16_t>(data, [](auto word) { return __builtin_bswap16(word); });
    case 32:
      return swap_words<std::uint32_t>(data, [](auto word) { return __builtin_bswap32(word); });
    case 64:
      return swap_words<std::uint64_t>(data, [](auto word) { return __builtin_bswap64(word); });
  }
}

std::unique_ptr<TensorFile> open_npy(const std::string& path, const OpenOptions& options) {
  return std::make_unique<NpyFile>(path, options);
}

}  // namespace binade

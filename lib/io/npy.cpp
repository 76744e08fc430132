// SPDX-License-Identifier: Apache-2.0
//
// The .npy file: one tensor that fills the file to its last byte.
#include "lib/io/npy.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "lib/io/file_format.h"
#include "lib/text/error.h"

namespace binade {
namespace {

class NpyFile : public TensorFile {
 public:
  NpyFile(std::shared_ptr<const InputFile> file, const OpenOptions& options)
      : TensorFile(std::move(file)) {
    const std::string& path = file_->path();
    std::vector<std::byte> bytes(std::min<std::uint64_t>(npy_preamble, file_->size()));
    file_->read(0, bytes);
    const std::uint64_t size = npy_header_size(path, bytes);
    if (size > file_->size()) {
      throw error_at(path, "truncated header", file_->size(), "export the file again");
    }
    bytes.resize(size);
    file_->read(0, bytes);
    header_ = parse_npy_header(path, bytes, options.dtype);
    const std::uint64_t promised = header_.extent.bytes;
    const std::uint64_t held = file_->size() - size;
    const std::string promise =
        "the header promises " + std::to_string(promised) + " bytes of data; export the file again";
    if (held < promised) throw error_at(path, "truncated", file_->size(), promise);
    if (held > promised) throw error_at(path, "surplus bytes", size + promised, promise);
    tensors_.push_back(npy_info(std::filesystem::path(path).stem().string(), header_));
  }

  void read_data(std::size_t index, const ChunkSink& sink) const override {
    file_->stream(header_.size, tensors_.at(index).bytes, [&](std::span<std::byte> piece) {
      if (header_.big_endian) swap_bytes(piece, header_.dtype);
      sink(piece);
    });
  }

  std::optional<Place> place_of(std::size_t) const override {
    if (header_.big_endian) return std::nullopt;
    return Place{file_.get(), header_.size};
  }

 private:
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

extern const FileFormat npy_format{".npy", ".npy", ".npy", starts_as_npy,
                                   [](const std::string&, std::shared_ptr<const InputFile> file,
                                      const OpenOptions& options) -> std::unique_ptr<TensorFile> {
                                     return std::make_unique<NpyFile>(std::move(file), options);
                                   }};

}  // namespace binade

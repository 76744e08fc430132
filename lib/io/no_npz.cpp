// SPDX-License-Identifier: Apache-2.0
//
// `open_npz` and NpzWriter of a build without zlib.
#include "lib/io/npz.h"
#include "lib/io/npz_writer.h"
#include "lib/tensor/error.h"

namespace binade {

std::unique_ptr<TensorFile> open_npz(std::shared_ptr<const InputFile> file, const OpenOptions&) {
  throw error_in(file->path(), "a .npz file, which this build cannot read",
                 "configure with -Dnpz=enabled and zlib, or save .npy or .safetensors");
}

NpzWriter::NpzWriter(const std::string& path) : path_(path), file_(path) {
  throw error_in(path, "a .npz file, which this build cannot write",
                 "configure with -Dnpz=enabled and zlib");
}

void NpzWriter::add(const std::string&, const Dtype&, std::span<const std::uint64_t>,
                    std::span<const std::byte>) {}

void NpzWriter::finish() {}

}  // namespace binade

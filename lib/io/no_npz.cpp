// SPDX-License-Identifier: Apache-2.0
//
// The formats .npz and torch's and NpzWriter in a build without zlib: all refuse.
#include "lib/io/file_format.h"
#include "lib/io/npz.h"
#include "lib/io/npz_writer.h"
#include "lib/io/torch_checkpoint.h"
#include "lib/io/torch_file.h"
#include "lib/text/error.h"

namespace binade {

extern const FileFormat npz_format{
    ".npz", ".npz", ".npz", starts_as_npz,
    [](const std::string&, std::shared_ptr<const InputFile> file,
       const OpenOptions&) -> std::unique_ptr<TensorFile> {
      throw error_in(file->path(), "a .npz file, which this build cannot read",
                     "configure with -Dnpz=enabled and zlib, or save .npy or .safetensors");
    }};

std::unique_ptr<TensorFile> open_torch_file(std::shared_ptr<const InputFile> file) {
  throw error_in(file->path(), "a file of torch.save's, which this build cannot read",
                 "configure with -Dnpz=enabled and zlib, or save .safetensors");
}

extern const FileFormat torch_file_format{
    "torch.save's .pt", "torch.save's", "torch's", starts_as_torch,
    [](const std::string&, std::shared_ptr<const InputFile> file, const OpenOptions&) {
      return open_torch_file(std::move(file));
    }};

extern const FileFormat torch_checkpoint_format{
    "a folder of torch.distributed.checkpoint", "", "", starts_as_torch_checkpoint,
    [](const std::string&, std::shared_ptr<const InputFile> metadata,
       const OpenOptions&) -> std::unique_ptr<TensorFile> {
      throw error_in(metadata->path(), "a checkpoint of torch's, which this build cannot read",
                     "configure with -Dnpz=enabled and zlib, or save .safetensors");
    }};

NpzWriter::NpzWriter(const std::string& path) : path_(path), file_(path) {
  throw error_in(path, "a .npz file, which this build cannot write",
                 "configure with -Dnpz=enabled and zlib");
}

void NpzWriter::add(const std::string&, const Dtype&, std::span<const std::uint64_t>,
                    std::span<const std::byte>) {}

void NpzWriter::finish() {}

}  // namespace binade

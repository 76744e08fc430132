// SPDX-License-Identifier: Apache-2.0
//
// One view of every file that holds tensors: .safetensors, .npy, .npz, torch.save's, and those that lie in several files
// (the index of a sharded model, a checkpoint of torch.distributed). Opening reads and checks the directory only; the
// data are streamed in one pass and are never in memory as a whole. A file that is written to meanwhile is an Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/format/dtype.h"
#include "lib/io/input_file.h"

namespace binade {

struct TensorInfo {
  std::string name;  ///< any bytes: .npy and .npz do not promise UTF-8
  Dtype dtype;
  std::vector<std::uint64_t> shape;
  bool fortran_order = false;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
};

/// Gets whole elements, little-endian, in the order of storage, at most 8 MiB at a time and at any
/// alignment. The span is valid only during the call.
using ChunkSink = std::function<void(std::span<const std::byte>)>;

/// The same on many threads at once; a slot is one thread's (parallel_for's).
using PieceSink = std::function<void(std::span<const std::byte>, std::size_t slot)>;

class TensorFile {
 public:
  explicit TensorFile(std::shared_ptr<const InputFile> file)
      : path_(file->path()), file_(std::move(file)) {}
  /// Tensors that lie in memory, or in other files.
  explicit TensorFile(std::string name) : path_(std::move(name)) {}
  virtual ~TensorFile() = default;
  TensorFile(const TensorFile&) = delete;
  TensorFile& operator=(const TensorFile&) = delete;

  const std::string& path() const { return path_; }
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  /// Of the file; 0 of tensors that lie in memory.
  std::uint64_t file_bytes() const { return file_ ? file_->size() : 0; }
  /// When the last of the files that its tensors lie in was written to, in nanoseconds since 1970; 0: it lies in memory.
  std::int64_t modified_ns() const;
  /// What a .safetensors file says of itself, text by name; empty of other files.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  /// Streams one tensor; an empty one makes no call. Threads may read at the same time.
  /// An Error may come after chunks did (a checksum ends a .npz member): discard what they gave.
  void read(std::size_t index, const ChunkSink& sink) const;
  /// The same to all threads, in pieces of at most 256 KiB and in any order.
  void read_on_threads(std::size_t index, const PieceSink& sink) const;

  /// The file is open while this lives: for whoever reads many of its tensors in turn.
  std::shared_ptr<const void> hold() const { return file_ ? file_->hold() : nullptr; }

  /// Where in a file a tensor's bytes lie just as `read` hands them out; nothing where it makes them.
  struct Place {
    const InputFile* file;
    std::uint64_t begin;
  };
  virtual std::optional<Place> place_of(std::size_t) const { return std::nullopt; }

 protected:
  virtual void read_data(std::size_t index, const ChunkSink& sink) const = 0;
  virtual void read_data_on_threads(std::size_t index, const PieceSink& sink) const;
  /// The files that a tensor is read from, each held to be what it was at first.
  virtual std::vector<const InputFile*> sources(std::size_t index) const;

  std::string path_;
  std::shared_ptr<const InputFile> file_;  ///< null: none, or several
  std::vector<TensorInfo> tensors_;
  std::map<std::string, std::string> metadata_;
};

/// The bits of a tensor's elements, of 8 to 64 bits each, in the order of storage.
std::vector<std::uint64_t> read_elements(const TensorFile& file, std::size_t index);

struct OpenOptions {
  /// What raw arrays (|V1, |V2) and unsigned ones of the same width really hold: NumPy has no name
  /// for bfloat16 and the 8-bit formats.
  std::optional<Dtype> dtype = {};
  /// Opens a run that was counted while it ran, which has summaries and no elements. Nothing: it is refused.
  std::function<std::unique_ptr<TensorFile>(std::shared_ptr<const InputFile>)> open_run = {};
};

/// What a run that was counted begins with, before the version of its format.
inline constexpr std::string_view counted_run_name = "binade.run/";
bool is_counted_run(const std::string& path);

/// The contents decide what the file is, whatever its name; "-" is standard input.
std::unique_ptr<TensorFile> open_tensor_file(const std::string& path,
                                             const OpenOptions& options = {});

/// Files and globs, made a sorted list without duplicates (two names of one file are duplicates).
/// A name is first taken literally; "-" is standard input. Error if one matches no file.
std::vector<std::string> expand_paths(std::span<const std::string> patterns);

}  // namespace binade

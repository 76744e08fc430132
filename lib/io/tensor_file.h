// SPDX-License-Identifier: Apache-2.0
//
// One interface to every file that holds tensors, of each format of file_format.h.
// Opening reads and checks only the directory of the tensors; the data are streamed in one pass and
// are never in memory as a whole. An Error is thrown if a file is written to meanwhile.
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
  bool fortran_order = false;  ///< whether the first index runs fastest in storage, not the last
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;  ///< of all elements; for a counted tensor, of its summary in the file
  /// For foreign_dtype, the function or class that makes the tensor; its shape is [0] then.
  std::string made_by = {};
};

/// A function that gets whole elements, little-endian, in the order of storage, at most 8 MiB at a
/// time and at any alignment. The span is valid only during the call.
using ChunkSink = std::function<void(std::span<const std::byte>)>;

/// A function that gets whole elements as a ChunkSink does, but on many threads at once and in any
/// order; `slot` is the number of the calling thread (parallel_for's).
using PieceSink = std::function<void(std::span<const std::byte>, std::size_t slot)>;

class TensorFile {
 public:
  explicit TensorFile(std::shared_ptr<const InputFile> file)
      : path_(file->path()), file_(std::move(file)) {}
  /// Makes a file whose tensors are in memory, or counted.
  explicit TensorFile(std::string name) : path_(std::move(name)) {}
  virtual ~TensorFile() = default;
  TensorFile(const TensorFile&) = delete;
  TensorFile& operator=(const TensorFile&) = delete;

  const std::string& path() const { return path_; }
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  /// Returns the bytes of the file; of a model or a checkpoint in several files, those of the file
  /// that lists its tensors; 0 for tensors that are in memory.
  std::uint64_t file_bytes() const { return file_ ? file_->size() : 0; }
  /// Returns when the tensors' files were last written to, the latest of them, in nanoseconds since
  /// 1970; 0 for tensors in memory.
  virtual std::int64_t modified_ns() const;
  /// Returns the metadata of a .safetensors file, texts by name; of a file for which parts of a
  /// report stand, its loss scale alone (report/used_scale.h); an empty map for other files.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  /// Streams tensor number `index`; an empty tensor makes no call. Threads may read at the same
  /// time. Throws Error if the elements are packed or were only counted, or if the file is damaged
  /// or changes, which may happen after `sink` was called (a checksum ends a .npz member): what it
  /// got is then to be discarded.
  void read(std::size_t index, const ChunkSink& sink) const;
  /// Streams tensor number `index` with calls on all threads, in pieces of at most 256 KiB and in
  /// any order. Throws Error as read() does.
  void read_on_threads(std::size_t index, const PieceSink& sink) const;

  /// Keeps the file open (of several, the one that lists the tensors) while the result lives, for
  /// callers that read many of its tensors in turn. Returns null for tensors in memory.
  std::shared_ptr<const void> hold() const { return file_ ? file_->hold() : nullptr; }

  /// Where in a file the bytes of a tensor are, exactly as read() gives them. place_of() returns
  /// nothing if they are in no file in that form (deflated, say). Throws Error if they are packed.
  struct Place {
    const InputFile* file;
    std::uint64_t begin;
  };
  virtual std::optional<Place> place_of(std::size_t) const { return std::nullopt; }

 protected:
  virtual void read_data(std::size_t index, const ChunkSink& sink) const = 0;
  virtual void read_data_on_threads(std::size_t index, const PieceSink& sink) const;
  /// Returns the files that a tensor is read from, each of which read() checks not to have changed.
  /// A sharded model returns its index alone, because the shards check themselves.
  virtual std::vector<const InputFile*> sources(std::size_t index) const;

  std::string path_;
  /// Null for tensors in memory; of several files, the one that lists the tensors.
  std::shared_ptr<const InputFile> file_;
  std::vector<TensorInfo> tensors_;
  std::map<std::string, std::string> metadata_;
};

/// Returns the bits of a tensor's elements, which must have 8 to 64 bits each, in the order of
/// storage.
std::vector<std::uint64_t> read_elements(const TensorFile& file, std::size_t index);

struct OpenOptions {
  /// What raw arrays (|V1, |V2) and arrays of unsigned integers of the same width really hold,
  /// since NumPy has no name for bfloat16 and the 8-bit formats.
  std::optional<Dtype> dtype = {};
  /// Opens a counted run (run.binade): summaries of tensors that were counted while a program ran,
  /// without their elements. If there is no such function, these files are refused.
  std::function<std::unique_ptr<TensorFile>(std::shared_ptr<const InputFile>)> open_run = {};
};

/// The bytes with which the file of a counted run (report/run_file.h) begins, before the version of
/// its format.
inline constexpr std::string_view run_file_prefix = "binade.run/";
/// Returns whether the file begins with run_file_prefix. Throws Error if it cannot be read.
bool is_run_file(const std::string& path);

/// Opens a file, a folder of torch.distributed.checkpoint, or arrays in memory that go by that name
/// (array_file.h). Its contents decide what kind of file it is; its name only chooses the message
/// for one that is malformed. "-" is standard input. Throws Error if it is missing, malformed or of
/// no known kind.
std::unique_ptr<TensorFile> open_tensor_file(const std::string& path,
                                             const OpenOptions& options = {});

/// Returns the files that names and globs stand for, sorted and without duplicates (two names of
/// the same file are duplicates). A pattern is first taken as a literal name; "-" is standard
/// input. Of the folders that a glob matches, only those of torch.distributed.checkpoint stay.
/// Throws Error if a pattern matches no file, or stands for more names than file_pattern.h allows.
std::vector<std::string> expand_paths(std::span<const std::string> patterns);

}  // namespace binade

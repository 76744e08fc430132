// SPDX-License-Identifier: Apache-2.0
//
// Objects of the classes in torch/distributed/checkpoint/metadata.py and filesystem.py, whose
// fields the pickle stores by name. Fields that are not needed may be missing, since versions of
// torch add and drop them.
#include "lib/io/torch_checkpoint.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "lib/io/file_format.h"
#include "lib/io/sharded_model.h"
#include "lib/io/torch_file.h"
#include "lib/io/torch_pickle.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::string_view save_checkpoint_again = "save the checkpoint again";

constexpr std::string_view metadata_class = "torch.distributed.checkpoint.metadata.Metadata";
constexpr std::string_view index_class = "torch.distributed.checkpoint.metadata.MetadataIndex";
constexpr std::string_view tensor_class =
    "torch.distributed.checkpoint.metadata.TensorStorageMetadata";
constexpr std::string_view bytes_class =
    "torch.distributed.checkpoint.metadata.BytesStorageMetadata";
constexpr std::string_view chunk_class =
    "torch.distributed.checkpoint.metadata.ChunkStorageMetadata";
constexpr std::string_view storage_class = "torch.distributed.checkpoint.filesystem._StorageInfo";

/// The globals that a .metadata may name. Members of enumerations are made by calling their class,
/// and by Python 3.11.0 to 3.11.3 with getattr.
constexpr std::array<std::string_view, 12> checkpoint_globals{
    metadata_class,
    index_class,
    tensor_class,
    bytes_class,
    chunk_class,
    storage_class,
    "torch.distributed.checkpoint.metadata.TensorProperties",
    "torch.distributed.checkpoint.metadata._MEM_FORMAT_ENCODING",
    "torch.distributed.checkpoint.metadata.StorageMeta",
    "torch.distributed._shard.sharded_tensor.metadata.TensorProperties",
    "torch.distributed._shard.sharded_tensor.metadata.MEM_FORMAT_ENCODING",
    "builtins.getattr"};

using Indices = std::vector<std::uint64_t>;

/// A range of bytes in a file.
struct Record {
  std::string_view file;
  std::uint64_t offset = 0, length = 0;

  friend auto operator<=>(const Record&, const Record&) = default;
};

class CheckpointReader {
 public:
  explicit CheckpointReader(const InputFile& metadata)
      : pickle_(metadata.path(), contents_of(metadata),
                only_torch_globals(metadata.path(),
                                   {checkpoint_globals.begin(), checkpoint_globals.end()})) {}

  void read() {
    const PickleValue& root = pickle_.root();
    if (!root.is_call_of(metadata_class)) fail(root, "no metadata of a checkpoint");
    read_records(field(root, "storage_data"));
    const PickleValue& entries = field(root, "state_dict_metadata");
    if (!entries.is(PickleValue::dict)) fail(entries, "no dict of tensors");
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < entries.items.size(); i += 2) {
      const PickleValue& name = *entries.items[i];
      const PickleValue& entry = *entries.items[i + 1];
      if (!name.is(PickleValue::text)) fail(name, "a tensor whose name is no text");
      if (!names.insert(name.text_value).second) {
        fail(name, "'" + printable(name.text_value) + "' is there twice, again");
      }
      if (!entry.is_call_of(bytes_class)) add(std::string(name.text_value), entry);
    }
    check_records();
  }

  std::vector<TensorInfo> tensors;
  std::vector<StridedFile::Blocks> blocks;

 private:
  static std::string contents_of(const InputFile& file) {
    if (file.size() > Pickle::most_bytes) {
      throw error_in(file.path(), "more than " + std::to_string(Pickle::most_bytes) + " bytes",
                     save_checkpoint_again);
    }
    std::string text(file.size(), '\0');
    file.read(0, std::as_writable_bytes(std::span(text)));
    return text;
  }

  [[noreturn]] void fail(const PickleValue& where, const std::string& what) const {
    throw error_at(pickle_.label(), what, where.at, save_checkpoint_again);
  }

  /// Returns an attribute of an object whose attributes are a dict; null if it has none of that
  /// name.
  const PickleValue* attribute(const PickleValue& object, std::string_view name) const {
    constexpr std::size_t most_attributes = 64;
    const bool has_attributes = object.is(PickleValue::call) && object.state != nullptr &&
                                object.state->is(PickleValue::dict);
    if (!has_attributes) return nullptr;
    if (object.state->items.size() > 2 * most_attributes) {
      fail(object, "an object of more attributes than torch's have");
    }
    return object.state->find(name);
  }
  const PickleValue& field(const PickleValue& object, std::string_view name) const {
    const PickleValue* value = attribute(object, name);
    if (value == nullptr) fail(object, "an object without '" + std::string(name) + "'");
    return *value;
  }
  Indices sizes(const PickleValue& object, std::string_view name) const {
    const PickleValue& value = field(object, name);
    const auto out = torch_sizes(value);
    if (!out) fail(value, "'" + std::string(name) + "' is no shape");
    return *out;
  }
  std::uint64_t number(const PickleValue& object, std::string_view name) const {
    const PickleValue& value = field(object, name);
    if (!value.is(PickleValue::integer) || value.integer_value < 0) {
      fail(value, "'" + std::string(name) + "' is no size");
    }
    return static_cast<std::uint64_t>(value.integer_value);
  }
  std::string_view text(const PickleValue& object, std::string_view name) const {
    const PickleValue& value = field(object, name);
    if (!value.is(PickleValue::text)) fail(value, "'" + std::string(name) + "' is no text");
    if (value.text_value.size() > most_of_a_name) {
      fail(value, "'" + std::string(name) + "' is of more than " + std::to_string(most_of_a_name) +
                      " bytes");
    }
    return value.text_value;
  }

  /// Reads the dict {MetadataIndex: _StorageInfo}, which says where chunks are stored.
  void read_records(const PickleValue& data) {
    if (!data.is(PickleValue::dict)) fail(data, "no dict of files");
    for (std::size_t i = 0; i < data.items.size(); i += 2) {
      const PickleValue& index = *data.items[i];
      const PickleValue& info = *data.items[i + 1];
      if (!index.is_call_of(index_class) || !info.is_call_of(storage_class)) {
        fail(index, "a file's part that is not described as torch does");
      }
      const PickleValue* offset = attribute(index, "offset");
      if (offset == nullptr || offset->is(PickleValue::none)) continue;  // no tensor
      const PickleValue* transforms = attribute(info, "transform_descriptors");
      if (transforms != nullptr && !transforms->items.empty()) {
        throw error_at(pickle_.label(), "chunks that went through an extension (compression)",
                       info.at, "save the checkpoint without extensions");
      }
      const Record record{text(info, "relative_path"), number(info, "offset"),
                          number(info, "length")};
      if (!records_.emplace(std::pair(text(index, "fqn"), sizes(index, "offset")), record).second) {
        fail(index, "a chunk that is there twice, again");
      }
    }
  }

  void add(std::string name, const PickleValue& entry) {
    if (!entry.is_call_of(tensor_class)) {
      fail(entry, "'" + printable(name) + "' is neither a tensor nor bytes");
    }
    const PickleValue& chunks = field(entry, "chunks");
    if (!chunks.is(PickleValue::list)) fail(chunks, "chunks that are no list");
    TensorInfo info;
    info.dtype = dtype_of(field(entry, "properties"));
    info.shape = sizes(entry, "size");
    const auto size = extent(info.shape, info.dtype);
    if (!size) fail(entry, "'" + printable(name) + "' has an absurd shape");
    info.elements = size->elements;
    info.bytes = size->bytes;
    info.name = std::move(name);
    StridedFile::Blocks of_tensor;
    for (const PickleValue* chunk : chunks.items) {
      if (!chunk->is_call_of(chunk_class)) fail(*chunk, "a chunk that is no ChunkStorageMetadata");
      const Indices offsets = sizes(*chunk, "offsets"), extents = sizes(*chunk, "sizes");
      check_inside(*chunk, info, offsets, extents);
      // A rank that has no part of a tensor may list an empty chunk.
      if (std::ranges::find(extents, 0U) != extents.end()) continue;
      of_tensor.push_back(block(*chunk, info, offsets, extents));
    }
    check_tiling(entry, info, of_tensor);
    tensors.push_back(std::move(info));
    blocks.push_back(std::move(of_tensor));
  }

  /// Returns the dtype of a TensorProperties, whose attributes are a tuple that begins with the
  /// dtype, or a dict.
  Dtype dtype_of(const PickleValue& properties) const {
    const bool is_tuple = properties.is(PickleValue::call) && properties.state != nullptr &&
                          properties.state->is(PickleValue::tuple) &&
                          !properties.state->items.empty();
    const PickleValue& value = is_tuple ? *properties.state->items[0] : field(properties, "dtype");
    const auto dtype = torch_dtype(value);
    if (!dtype) fail(value, "a tensor without a dtype");
    return *dtype;
  }

  void check_inside(const PickleValue& chunk, const TensorInfo& info, const Indices& offsets,
                    const Indices& extents) const {
    bool inside = offsets.size() == info.shape.size() && extents.size() == info.shape.size();
    for (std::size_t i = 0; inside && i < info.shape.size(); ++i) {
      inside = offsets[i] <= info.shape[i] && extents[i] <= info.shape[i] - offsets[i];
    }
    if (!inside) fail(chunk, "a chunk that lies outside of '" + printable(info.name) + "'");
  }

  StridedBlock block(const PickleValue& chunk, const TensorInfo& info, const Indices& offsets,
                     const Indices& extents) {
    const auto record = records_.find({info.name, offsets});
    if (record == records_.end()) {
      fail(chunk, "a chunk of '" + printable(info.name) + "' that is in no file");
    }
    const auto& [name, offset, length] = record->second;
    std::shared_ptr<const InputFile>& file = files_[name];
    if (!file) file = std::make_shared<const InputFile>(path_beside(pickle_.label(), name));
    if (offset > file->size() || length > file->size() - offset) {
      throw error_at(file->path(), "truncated", file->size(), save_checkpoint_again);
    }
    used_.push_back(record->second);
    std::vector<TorchTensor> stored = torch_tensors(file, offset, length);
    if (stored.size() != 1 || stored[0].info.dtype != info.dtype ||
        stored[0].info.shape != extents) {
      throw error_at(file->path(),
                     "not the chunk of '" + printable(info.name) + "' that .metadata tells of",
                     offset, save_checkpoint_again);
    }
    stored[0].block.offsets = offsets;
    return std::move(stored[0].block);
  }

  /// Throws Error unless the chunks, which lie inside the tensor, cover each element once: no two
  /// overlap, and together they have as many elements.
  void check_tiling(const PickleValue& entry, const TensorInfo& info,
                    const StridedFile::Blocks& of_tensor) const {
    constexpr std::size_t most_chunks = 8192;
    if (of_tensor.size() > most_chunks)
      fail(entry, "a tensor of more than " + std::to_string(most_chunks) + " chunks");
    std::uint64_t elements = 0;
    for (std::size_t i = 0; i < of_tensor.size(); ++i) {
      const StridedBlock& one = of_tensor[i];
      elements += extent(one.sizes, info.dtype)->elements;
      for (std::size_t j = 0; j < i; ++j) {
        const StridedBlock& other = of_tensor[j];
        bool overlap = true;
        for (std::size_t axis = 0; overlap && axis < one.sizes.size(); ++axis) {
          overlap = one.offsets[axis] < other.offsets[axis] + other.sizes[axis] &&
                    other.offsets[axis] < one.offsets[axis] + one.sizes[axis];
        }
        if (overlap) fail(entry, "chunks of '" + printable(info.name) + "' overlap");
      }
    }
    if (elements != info.elements) {
      fail(entry, "the chunks of '" + printable(info.name) + "' leave a gap");
    }
  }

  /// Throws Error if two chunks share bytes of a file.
  void check_records() {
    std::ranges::sort(used_);
    const auto twice = std::ranges::adjacent_find(used_, [](const Record& a, const Record& b) {
      return a.file == b.file && b.offset < a.offset + a.length;
    });
    if (twice != used_.end()) {
      throw error_at(files_.at(twice->file)->path(), "two chunks in the same bytes", twice->offset,
                     save_checkpoint_again);
    }
  }

  const Pickle pickle_;
  std::map<std::pair<std::string_view, Indices>, Record> records_;
  std::map<std::string_view, std::shared_ptr<const InputFile>> files_;
  std::vector<Record> used_;
};

/// Opens the checkpoint; each tensor is put together from its chunks, and entries of bytes (objects
/// that are no tensors) are skipped. `path` is what messages call the checkpoint: its folder or its
/// .metadata. Throws Error if it or a file of chunks is malformed, unless the chunks of each tensor
/// hold each element exactly once, and if `path` is standard input, which has no files beside it.
std::unique_ptr<TensorFile> open_checkpoint(const std::string& path,
                                            std::shared_ptr<const InputFile> metadata,
                                            const OpenOptions&) {
  if (is_standard_input(path)) {
    throw error_in(metadata->path(), "the .metadata of a checkpoint, whose files lie beside it",
                   "name its folder instead of piping it in");
  }
  CheckpointReader reader(*metadata);
  reader.read();
  return std::make_unique<StridedFile>(path, std::move(metadata), std::move(reader.tensors),
                                       std::move(reader.blocks));
}

}  // namespace

extern const FileFormat torch_checkpoint_format{"a folder of torch.distributed.checkpoint", "", "",
                                                starts_as_torch_checkpoint, open_checkpoint};

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Parses the index as a stream of events, refuses those for which it has no place, and compares the
// shards with it.
#include "lib/io/sharded_model.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lib/io/file_format.h"
#include "lib/io/safetensors.h"
#include "lib/io/torch_file.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::string_view save_model_again = "save the model again";

using FileOfTensor = std::map<std::string, std::string>;

/// Handles the events of nlohmann's parser. `metadata` may hold anything and is ignored: writers
/// differ on whether total_size counts tied weights once, and nothing depends on it.
class IndexHandler {
 public:
  explicit IndexHandler(const std::string& path) : path_(path) {}

  FileOfTensor file_of;

  bool null() { return only_metadata("null"); }
  bool boolean(bool) { return only_metadata("a boolean"); }
  bool number_integer(std::int64_t) { return only_metadata("a number"); }
  bool number_float(double, const std::string&) { return only_metadata("a number"); }
  bool binary(nlohmann::json::binary_t&) { return only_metadata("binary data"); }

  bool number_unsigned(std::uint64_t) { return only_metadata("a number"); }

  bool string(std::string& value) {
    if (section_ != "weight_map" || depth_ != 2) return only_metadata("a string");
    if (!file_of.emplace(key_, std::move(value)).second) fail("a repeated key");
    return true;
  }

  bool start_object(std::size_t) {
    return depth_ < 2 ? enter() : only_metadata("an object") && enter();
  }
  bool end_object() { return leave(); }
  bool start_array(std::size_t) { return only_metadata("an array") && enter(); }
  bool end_array() { return leave(); }

  bool key(std::string& value) {
    key_ = std::move(value);
    if (depth_ != 1) return true;
    section_ = key_;
    if (section_ != "metadata" && section_ != "weight_map") {
      throw error_in(path_, "JSON with '" + printable(key_) + "', so no index of a model's shards",
                     "name a file of tensors");
    }
    if (!sections_.insert(section_).second) fail("a repeated key");
    return true;
  }

  template <class Exception>
  bool parse_error(std::size_t position, const std::string&, const Exception&) {
    throw error_at(path_, "not valid JSON", position, save_model_again);
  }

 private:
  bool enter() {
    constexpr int deepest = 16;
    if (++depth_ > deepest) fail("nested too deeply");
    return true;
  }
  bool leave() {
    --depth_;
    return true;
  }
  bool only_metadata(const char* what) {
    if (section_ != "metadata" || depth_ < 2) fail(std::string("bad index: ") + what);
    return true;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw error_in(path_, what + " under '" + printable(key_) + "'", save_model_again);
  }

  const std::string& path_;
  int depth_ = 0;
  std::string section_, key_;
  std::set<std::string> sections_;
};

FileOfTensor read_index(const InputFile& file) {
  constexpr std::uint64_t most = std::uint64_t{64} << 20;
  if (file.size() > most) {
    throw error_in(file.path(), "an index of more than " + std::to_string(most) + " bytes",
                   save_model_again);
  }
  std::string text(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  IndexHandler handler(file.path());
  nlohmann::json::sax_parse(text, &handler);
  if (handler.file_of.empty()) {
    throw error_in(file.path(), "a JSON without a weight_map, so no index of a model's shards",
                   "name the files of tensors themselves");
  }
  return std::move(handler.file_of);
}

/// Opens a file that an index names, in one of the two formats that sharded models have.
std::unique_ptr<TensorFile> open_shard(const std::string& path) {
  auto file = std::make_shared<const InputFile>(path);
  const auto held = file->hold();
  if (starts_as_torch(beginning_of(*file))) return open_torch_file(std::move(file));
  return open_safetensors(std::move(file));
}

class ShardedModel : public TensorFile {
 public:
  ShardedModel(const std::string& path, std::shared_ptr<const InputFile> file)
      : TensorFile(std::move(file)) {
    const FileOfTensor file_of = read_index(*file_);
    std::set<std::string> names;
    for (const auto& [tensor, name] : file_of) names.insert(name);
    for (const std::string& name : names) {
      shards_.push_back(open_shard(path_beside(path, name)));
      take(*shards_.back(), name, file_of);
    }
    if (tensors_.size() != file_of.size()) fail_for_missing(file_of);
  }

  std::int64_t modified_ns() const override {
    std::int64_t out = file_->modified_ns();
    for (const auto& shard : shards_) out = std::max(out, shard->modified_ns());
    return out;
  }

  std::optional<Place> place_of(std::size_t index) const override {
    const auto& [shard, at] = places_.at(index);
    return shard->place_of(at);
  }

 private:
  void read_data(std::size_t index, const ChunkSink& sink) const override {
    const auto& [shard, at] = places_.at(index);
    shard->read(at, sink);
  }
  void read_data_on_threads(std::size_t index, const PieceSink& sink) const override {
    const auto& [shard, at] = places_.at(index);
    shard->read_on_threads(at, sink);
  }

  void take(const TensorFile& shard, const std::string& name, const FileOfTensor& file_of) {
    for (std::size_t i = 0; i < shard.tensors().size(); ++i) {
      const TensorInfo& tensor = shard.tensors()[i];
      const auto found = file_of.find(tensor.name);
      if (found == file_of.end() || found->second != name) {
        throw error_in(
            shard.path(),
            "tensor '" + printable(tensor.name) + "' is " +
                (found == file_of.end() ? "not in the index"
                                        : "in " + printable(found->second) + " by the index"),
            save_model_again);
      }
      tensors_.push_back(tensor);
      places_.emplace_back(&shard, i);
    }
  }

  [[noreturn]] void fail_for_missing(const FileOfTensor& file_of) const {
    std::set<std::string> found;
    for (const TensorInfo& tensor : tensors_) found.insert(tensor.name);
    const auto missing = std::ranges::find_if(
        file_of, [&](const auto& entry) { return !found.contains(entry.first); });
    throw error_in(path(),
                   "tensor '" + printable(missing->first) + "' is not in " +
                       printable(missing->second, longest_path),
                   save_model_again);
  }

  std::vector<std::unique_ptr<TensorFile>> shards_;
  std::vector<std::pair<const TensorFile*, std::size_t>> places_;
};

/// Returns whether the bytes begin as a JSON object, with "{" after any white space.
bool starts_as_json(std::span<const std::byte> bytes) {
  const auto first = std::ranges::find_if(bytes, [](std::byte byte) {
    return std::string_view(" \t\r\n").find(std::to_integer<char>(byte)) == std::string_view::npos;
  });
  return first != bytes.end() && std::to_integer<char>(*first) == '{';
}

/// Opens all shards as one file. Throws Error unless index and shards agree on every tensor, and if
/// `path` is standard input, which has no files beside it.
std::unique_ptr<TensorFile> open_sharded_model(const std::string& path,
                                               std::shared_ptr<const InputFile> index,
                                               const OpenOptions&) {
  if (is_standard_input(path)) {
    throw error_in(index->path(), "JSON: an index names files beside it",
                   "name the index instead of piping it in");
  }
  return std::make_unique<ShardedModel>(path, std::move(index));
}

}  // namespace

extern const FileFormat sharded_model_format{"a sharded model's .index.json", "", "",
                                             starts_as_json, open_sharded_model};

std::string path_beside(const std::string& file, std::string_view name) {
  namespace fs = std::filesystem;
  const fs::path path(name);
  const bool leads_out = name.empty() || name.find('\0') != std::string_view::npos ||
                         path.is_absolute() || !path.has_filename() ||
                         std::ranges::find(path, fs::path("..")) != path.end();
  if (leads_out) {
    throw error_in(file, "names the file '" + printable(name) + "', which is no name in its folder",
                   "save it again");
  }
  return (fs::path(file).parent_path() / path).string();
}

}  // namespace binade

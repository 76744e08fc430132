// SPDX-License-Identifier: Apache-2.0
//
// Reads .safetensors. The header is parsed as a stream of events, because a document tree would
// drop repeated names, and an attacker could choose its size and depth.
#include "lib/io/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "lib/io/file_format.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::string_view save_safetensors_again = "export the file again";
constexpr std::uint64_t longest_safetensors_header =
    100'000'000;  // the reference implementation's limit

std::uint64_t header_length(std::span<const std::byte> bytes) {
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  return length;
}

struct Entry {
  std::string name;
  std::optional<std::string> dtype;
  std::optional<std::vector<std::uint64_t>> shape;
  std::optional<std::vector<std::uint64_t>> offsets;
};

/// An iterator over the text that records how far the parser has read, for the offsets in messages.
struct CountingIterator {
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at = nullptr;
  const char** reached = nullptr;

  reference operator*() const { return *at; }
  CountingIterator& operator++() {
    *reached = ++at;
    return *this;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at == b.at;
  }
  friend bool operator!=(const CountingIterator& a, const CountingIterator& b) { return !(a == b); }
};

/// Handles the events of nlohmann's parser and refuses those for which the format has no place.
class HeaderHandler {
 public:
  HeaderHandler(const std::string& path, std::string_view text) : path_(path), text_(text) {}

  void parse() {
    const char* const end = text_.data() + text_.size();
    nlohmann::json::sax_parse(CountingIterator{text_.data(), &reached_},
                              CountingIterator{end, &reached_}, this);
  }

  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;

  bool null() { fail("null"); }
  bool boolean(bool) { fail("a boolean"); }
  bool number_integer(std::int64_t) { fail("a negative number"); }
  bool number_float(double, const std::string&) { fail("a number that is no integer"); }
  bool binary(nlohmann::json::binary_t&) { fail("binary data"); }

  bool number_unsigned(std::uint64_t value) {
    if (numbers_ == nullptr) fail("a number");
    numbers_->push_back(value);
    return true;
  }

  bool string(std::string& value) {
    if (place_ == Place::metadata) {
      if (!metadata.emplace(key_, std::move(value)).second) fail("a repeated key");
    } else if (place_ == Place::tensor && numbers_ == nullptr && key_ == "dtype") {
      if (entries.back().dtype) fail("a repeated key");
      entries.back().dtype = std::move(value);
    } else {
      fail("a string");
    }
    return true;
  }

  bool start_object(std::size_t) {
    if (place_ == Place::outside) {
      place_ = Place::root;
    } else if (place_ == Place::root && key_ == "__metadata__") {
      if (has_metadata_) fail("a repeated key");
      has_metadata_ = true;
      place_ = Place::metadata;
    } else if (place_ == Place::root) {
      place_ = Place::tensor;
      entries.push_back({.name = key_, .dtype = {}, .shape = {}, .offsets = {}});
    } else {
      fail("an object");
    }
    return true;
  }

  bool key(std::string& value) {
    key_ = std::move(value);
    return true;
  }

  bool end_object() {
    if (place_ == Place::tensor) {
      const Entry& entry = entries.back();
      if (!entry.dtype || !entry.shape || !entry.offsets || entry.offsets->size() != 2) {
        key_ = entry.name;
        fail("a tensor without dtype, shape and two data_offsets");
      }
    }
    place_ = place_ == Place::root ? Place::outside : Place::root;
    return true;
  }

  bool start_array(std::size_t) {
    if (place_ != Place::tensor || numbers_ != nullptr) fail("an array");
    Entry& entry = entries.back();
    auto* const field = key_ == "shape"          ? &entry.shape
                        : key_ == "data_offsets" ? &entry.offsets
                                                 : nullptr;
    if (field == nullptr) fail("an array");
    if (*field) fail("a repeated key");
    numbers_ = &field->emplace();
    return true;
  }

  bool end_array() {
    numbers_ = nullptr;
    return true;
  }

  template <class Exception>
  bool parse_error(std::size_t, const std::string&, const Exception&) {
    throw error_at(path_, "the header is not valid JSON", position(), save_safetensors_again);
  }

 private:
  enum class Place { outside, root, metadata, tensor };

  std::uint64_t position() const {
    return sizeof(std::uint64_t) + static_cast<std::uint64_t>(reached_ - text_.data());
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw error_at(path_, "bad header: " + what + " under '" + printable(key_) + "'", position(),
                   save_safetensors_again);
  }

  const std::string& path_;
  std::string_view text_;
  const char* reached_ = text_.data();
  Place place_ = Place::outside;
  std::string key_;
  bool has_metadata_ = false;
  std::vector<std::uint64_t>* numbers_ = nullptr;
};

class StreamedSafetensors : public SafetensorsFile {
 public:
  explicit StreamedSafetensors(std::shared_ptr<const InputFile> file)
      : SafetensorsFile(std::move(file)) {
    const std::string& path = file_->path();
    const std::uint64_t size = file_->size();
    if (size < 8) throw error_at(path, "truncated", size, save_safetensors_again);
    std::array<std::byte, 8> prefix{};
    file_->read(0, prefix);
    const std::uint64_t length = header_length(prefix);
    if (length > longest_safetensors_header || length > size - 8) {
      throw error_at(path,
                     "a header of " + std::to_string(length) + " bytes in a file of " +
                         std::to_string(size) + ", announced",
                     0, save_safetensors_again);
    }
    std::string text(length, '\0');
    file_->read(8, std::as_writable_bytes(std::span(text)));
    if (!text.starts_with('{')) throw error_at(path, "no '{' found", 8, save_safetensors_again);
    HeaderHandler header(path, text);
    header.parse();
    metadata_ = std::move(header.metadata);
    data_at_ = 8 + length;
    data_size_ = size - data_at_;
    take(std::move(header.entries));
  }

  void read_data(std::size_t index, const ChunkSink& sink) const override {
    file_->stream(place_of(index)->begin, tensors_[index].bytes, sink);
  }

  std::optional<Place> place_of(std::size_t index) const override {
    const TensorInfo& tensor = tensors_.at(index);
    if (tensor.dtype.kind == DtypeKind::packed) {
      throw error_in(
          path(),
          tensor_name(tensor.name) + " is of the packed type " + std::string(tensor.dtype.name),
          "unpack it to an 8-bit type first");
    }
    return Place{file_.get(), data_at_ + begins_[index]};
  }

 private:
  static std::string tensor_name(const std::string& name) {
    return "tensor '" + printable(name) + "'";
  }

  [[noreturn]] void fail(const Entry& entry, const std::string& what, std::uint64_t offset) const {
    const std::string line = tensor_name(entry.name) + " " + what;
    if (offset > file_->size()) {
      throw error_in(path(), line + ", " + std::to_string(offset) + " bytes into the data",
                     save_safetensors_again);
    }
    throw error_at(path(), line, data_at_ + offset, save_safetensors_again);
  }

  /// Checks the tensors in the order of their data, which becomes the order of the list.
  void take(std::vector<Entry> entries) {
    std::ranges::sort(entries, {}, &Entry::name);
    const auto twin = std::ranges::adjacent_find(entries, {}, &Entry::name);
    if (twin != entries.end()) fail(*twin, "is there twice, first", twin->offsets->at(0));
    std::ranges::stable_sort(entries, {}, [](const Entry& entry) { return *entry.offsets; });
    std::uint64_t covered = 0;
    for (Entry& entry : entries) {
      const std::uint64_t begin = entry.offsets->at(0);
      const std::uint64_t end = entry.offsets->at(1);
      if (begin > end) fail(entry, "ends before it begins,", begin);
      if (end > data_size_) fail(entry, "reaches past the end of the file", end);
      if (begin < covered) fail(entry, "overlaps the one before it", begin);
      if (begin > covered) fail(entry, "leaves a gap before it", covered);
      const auto dtype = find_dtype(*entry.dtype);
      if (!dtype) {
        fail(entry, "is of the unknown type '" + printable(*entry.dtype) + "'", begin);
      }
      const auto size = extent(*entry.shape, *dtype);
      if (!size || size->bytes != end - begin) {
        fail(entry, "has a shape that does not give its " + std::to_string(end - begin) + " bytes",
             begin);
      }
      covered = end;
      begins_.push_back(begin);
      tensors_.push_back({.name = std::move(entry.name),
                          .dtype = *dtype,
                          .shape = std::move(*entry.shape),
                          .elements = size->elements,
                          .bytes = size->bytes});
    }
    if (covered < data_size_) {
      throw error_at(path(), "bytes that belong to no tensor", data_at_ + covered,
                     save_safetensors_again);
    }
  }

  std::uint64_t data_at_ = 0;
  std::uint64_t data_size_ = 0;
  std::vector<std::uint64_t> begins_;
};

}  // namespace

bool starts_as_safetensors(std::span<const std::byte> bytes) {
  return bytes.size() > 8 && header_length(bytes) <= longest_safetensors_header &&
         std::to_integer<char>(bytes[8]) == '{';
}

std::unique_ptr<SafetensorsFile> open_safetensors(std::shared_ptr<const InputFile> file) {
  return std::make_unique<StreamedSafetensors>(std::move(file));
}

extern const FileFormat safetensors_format{
    ".safetensors",
    ".safetensors",
    ".safetensors",
    starts_as_safetensors,
    [](const std::string&, std::shared_ptr<const InputFile> file, const OpenOptions&)
        -> std::unique_ptr<TensorFile> { return open_safetensors(std::move(file)); },
    true};

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// The header is padded with spaces to a multiple of 8, as the reference implementation does.
#include "lib/io/safetensors_writer.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "lib/text/error.h"

namespace binade {

SafetensorsWriter::SafetensorsWriter(const std::string& path, std::span<const TensorSpec> tensors,
                                     const std::map<std::string, std::string>& metadata)
    : path_(path), file_(path) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  for (const TensorSpec& tensor : tensors) {
    const auto size = extent(tensor.shape, tensor.dtype);
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    if (header.contains(tensor.name)) {
      throw error_in(path, "two tensors would be '" + printable(tensor.name) + "'",
                     "leave one out, or give it another name");
    }
    if (!size || size->bytes > most - left_ || tensor.name == "__metadata__") {
      throw error_in(path,
                     "tensor '" + printable(tensor.name) + "' has an impossible shape or name",
                     "give each tensor a name of its own");
    }
    header[tensor.name] = {{"dtype", tensor.dtype.name},
                           {"shape", tensor.shape},
                           {"data_offsets", {left_, left_ + size->bytes}}};
    left_ += size->bytes;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::ordered_json::exception&) {
    throw error_in(path, "a name or metadata that is not UTF-8", "rename it");
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  const std::uint64_t length = text.size();
  file_.write(std::as_bytes(std::span(&length, 1)));
  file_.write(text);
}

void SafetensorsWriter::write(std::span<const std::byte> data) {
  if (data.size() > left_) {
    throw error_in(path_, "more data than its tensors hold", "report this as a bug of binade");
  }
  left_ -= data.size();
  file_.write(data);
}

void SafetensorsWriter::finish() {
  if (left_ != 0) {
    throw error_in(path_, "fewer data than its tensors hold", "report this as a bug of binade");
  }
  file_.commit();
}

}  // namespace binade

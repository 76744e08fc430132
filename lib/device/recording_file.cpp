// SPDX-License-Identifier: Apache-2.0
//
// Reading metadata and tensors of recordings, and checking them.
#include "lib/device/recording_file.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "lib/text/error.h"
#include "lib/text/shape.h"

namespace binade {
namespace {

struct TextKey {
  const char* key;
  std::string RecordingOrigin::*text;
};

constexpr std::array text_keys{
    TextKey{"gpu", &RecordingOrigin::gpu},
    TextKey{"driver", &RecordingOrigin::driver},
    TextKey{"cuda", &RecordingOrigin::cuda},
    TextKey{"ptx", &RecordingOrigin::ptx},
    TextKey{"sass", &RecordingOrigin::sass},
    TextKey{"date", &RecordingOrigin::date},
    TextKey{"instruction", &RecordingOrigin::instruction},
    TextKey{"architecture", &RecordingOrigin::architecture},
};

const std::string& text_at(const SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) {
    throw error_in(file.path(), "no '" + key + "' in its metadata",
                   "it is no recording, or " + std::string(record_again));
  }
  return found->second;
}

}  // namespace

RecordingOrigin read_origin(const SafetensorsFile& file) {
  RecordingOrigin out;
  for (const TextKey& row : text_keys) out.*row.text = metadata_text(file, row.key);
  return out;
}

std::map<std::string, std::string> metadata_of(const RecordingOrigin& origin) {
  std::map<std::string, std::string> out;
  for (const TextKey& row : text_keys) out[row.key] = origin.*row.text;
  return out;
}

const std::string& metadata_text(const SafetensorsFile& file, const std::string& key) {
  const std::string& out = text_at(file, key);
  if (out.empty()) bad_metadata(file, key, "some text, at least 'unknown'");
  return out;
}

void bad_metadata(const SafetensorsFile& file, const std::string& key, const std::string& wanted) {
  throw error_in(file.path(), "metadata '" + key + "' is '" + printable(text_at(file, key)) + "'",
                 "it must be " + wanted + "; " + std::string(record_again));
}

std::uint64_t metadata_number(const SafetensorsFile& file, const std::string& key) {
  const std::string& text = text_at(file, key);
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size()) {
    bad_metadata(file, key, "a whole number below 2^64");
  }
  return out;
}

std::uint64_t metadata_hash(const SafetensorsFile& file, const std::string& key) {
  const std::string& text = metadata_text(file, key);
  if (text.size() != 16 || text.find_first_not_of("0123456789abcdef") != std::string::npos) {
    bad_metadata(file, key, "16 digits of 0-9 and a-f");
  }
  std::uint64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out, 16);
  return out;
}

bool is_product_recording(const std::string& path) {
  return open_safetensors(path)->metadata().contains("command");
}

std::string hash_text(std::uint64_t hash) {
  std::string out;
  for (int i = 60; i >= 0; i -= 4) out += "0123456789abcdef"[hash >> i & 15];
  return out;
}

Dtype unsigned_dtype(int bits) { return *find_dtype("U" + std::to_string(bits)); }

std::vector<std::byte> bytes_of(const std::vector<std::uint64_t>& values, int bits) {
  std::vector<std::byte> out;
  out.reserve(values.size() * static_cast<std::size_t>(bits / 8));
  for (const std::uint64_t x : values) {
    for (int i = 0; i < bits; i += 8) out.push_back(std::byte(x >> i & 0xFF));
  }
  return out;
}

std::vector<std::uint64_t> read_column(const SafetensorsFile& file, std::string_view name, int bits,
                                       const std::vector<std::uint64_t>& shape) {
  const auto& tensors = file.tensors();
  const auto found = std::ranges::find(tensors, name, &TensorInfo::name);
  const std::string what = "tensor '" + std::string(name) + "'";
  if (found == tensors.end()) {
    throw error_in(file.path(), "no " + what, std::string(record_again));
  }
  const Dtype wanted = unsigned_dtype(bits);
  if (!(found->dtype == wanted) || found->shape != shape) {
    throw error_in(file.path(),
                   what + " is " + std::string(found->dtype.name) + " " + shape_text(found->shape),
                   "its metadata promise " + std::string(wanted.name) + " " + shape_text(shape) +
                       "; " + std::string(record_again));
  }
  return read_elements(file, static_cast<std::size_t>(found - tensors.begin()));
}

}  // namespace binade

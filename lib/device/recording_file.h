// SPDX-License-Identifier: Apache-2.0
//
// What all recordings have in common as files: their origin, and reading metadata and tensors of a
// .safetensors file, which is hostile until each of them is checked. Every Error names the file,
// what is wrong and what to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "emulate/format.h"
#include "lib/format/dtype.h"
#include "lib/io/safetensors.h"

namespace binade {

/// Where a recording comes from.
struct RecordingOrigin {
  std::string gpu = "unknown", driver = "unknown", cuda = "unknown";
  std::string ptx = "unknown";   ///< the instruction in PTX
  std::string sass = "unknown";  ///< the machine instructions that the GPU ran
  std::string date = "unknown";
  std::string instruction;   ///< binade's name of the instruction
  std::string architecture;  ///< "sm_90"
};

/// The advice of most Errors about recordings.
inline constexpr std::string_view record_again = "record it again";

/// Reads the keys of RecordingOrigin. Throws Error if one is missing or empty.
RecordingOrigin read_origin(const SafetensorsFile& file);
std::map<std::string, std::string> metadata_of(const RecordingOrigin& origin);

/// Returns the text of a key. Throws Error if the key is missing or its text is empty.
const std::string& metadata_text(const SafetensorsFile& file, const std::string& key);
/// Returns the text of a key as a decimal number. Throws Error if it is not one below 2^64.
std::uint64_t metadata_number(const SafetensorsFile& file, const std::string& key);
/// Returns the text of a key as a hash. Throws Error if it is not 16 lower-case hexadecimal digits.
std::uint64_t metadata_hash(const SafetensorsFile& file, const std::string& key);
/// Returns a hash as 16 lower-case hexadecimal digits.
std::string hash_text(std::uint64_t hash);
/// Returns whether the file holds a whole product: its metadata then have the key `command`, the
/// options of `binade gemm` that made it.
bool is_product_recording(const std::string& path);
/// Throws Error: the text of the key is not what is `wanted`.
[[noreturn]] void bad_metadata(const SafetensorsFile& file, const std::string& key,
                               const std::string& wanted);

/// Returns the dtype of unsigned integers of `bits` bits, which are 8, 16, 32 or 64.
Dtype unsigned_dtype(int bits);
/// Returns the values as little-endian integers of `bits` bits.
std::vector<std::byte> bytes_of(const std::vector<std::uint64_t>& values, int bits);
/// Returns the elements of a tensor of unsigned integers. Throws Error if the file has no tensor of
/// this name, width and shape.
std::vector<std::uint64_t> read_column(const SafetensorsFile& file, std::string_view name, int bits,
                                       const std::vector<std::uint64_t>& shape);

}  // namespace binade

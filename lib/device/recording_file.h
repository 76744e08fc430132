// SPDX-License-Identifier: Apache-2.0
//
// What all recordings share as files: where they come from, and reading metadata and tensors of a
// .safetensors file that is hostile until each of them is checked. Every Error names the file, what is
// wrong and what to do.
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
  std::string ptx = "unknown";   ///< the instruction as it was assembled
  std::string sass = "unknown";  ///< what the machine ran
  std::string date = "unknown";
  std::string instruction;   ///< binade's name of it
  std::string architecture;  ///< "sm_90"
};

inline constexpr std::string_view record_again = "record it again";

RecordingOrigin read_origin(const SafetensorsFile& file);
std::map<std::string, std::string> metadata_of(const RecordingOrigin& origin);

/// A key's text, which says something.
const std::string& metadata_text(const SafetensorsFile& file, const std::string& key);
std::uint64_t metadata_number(const SafetensorsFile& file, const std::string& key);
/// 16 hexadecimal digits.
std::uint64_t metadata_hash(const SafetensorsFile& file, const std::string& key);
std::string hash_text(std::uint64_t hash);
/// Whether the file holds a whole product: its metadata have a `command`, the options of `binade gemm` that made it.
bool is_product_recording(const std::string& path);
[[noreturn]] void bad_metadata(const SafetensorsFile& file, const std::string& key,
                               const std::string& wanted);

/// Unsigned integers of so many bits.
Dtype unsigned_dtype(int bits);
std::vector<std::byte> bytes_of(const std::vector<std::uint64_t>& values, int bits);
/// The elements of a tensor that must have this type and shape.
std::vector<std::uint64_t> read_column(const SafetensorsFile& file, std::string_view name, int bits,
                                       const std::vector<std::uint64_t>& shape);

}  // namespace binade

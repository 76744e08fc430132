// SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npy, versions 1 to 3: the header as a struct, which files and members of an .npz have
// alike, and the reader of .npy files.
//
//   93 'N' 'U' 'M' 'P' 'Y' | major | minor | header length: 2 bytes (v1) or 4 | Python dict | data
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/tensor_file.h"

namespace binade {

struct NpyHeader {
  Dtype dtype;
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
  Extent extent = {};
  std::uint64_t size = 0;  ///< offset of the data: bytes before them
};

/// This many bytes from the beginning of a file are enough for npy_header_size().
constexpr std::size_t npy_preamble = 12;

bool starts_as_npy(std::span<const std::byte> bytes);

/// Returns the number of bytes before the data. `label` names the file, or the member of an
/// archive, in messages. Throws Error if the bytes are not the beginning of a .npy.
std::uint64_t npy_header_size(std::string_view label, std::span<const std::byte> preamble);

/// Parses a header of exactly npy_header_size() bytes. `raw` says what arrays hold whose type NumPy
/// has no name for. Throws Error if the header is malformed or the type is not supported.
NpyHeader parse_npy_header(std::string_view label, std::span<const std::byte> header,
                           const std::optional<Dtype>& raw);

TensorInfo npy_info(std::string name, const NpyHeader& header);

/// Turns big-endian elements into little-endian ones. A complex element is swapped as two numbers.
void swap_bytes(std::span<std::byte> data, const Dtype& dtype);

}  // namespace binade

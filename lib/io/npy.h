// SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npy, versions 1 to 3: the header as a value, for files of their own and for members of
// an .npz, and the .npy file.
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
  std::uint64_t size = 0;  ///< bytes before the data
};

/// Bytes that are enough for npy_header_size.
constexpr std::size_t npy_preamble = 12;

bool starts_as_npy(std::span<const std::byte> bytes);

/// Bytes before the data. `label` names the file, or the member of an archive, in errors.
std::uint64_t npy_header_size(std::string_view label, std::span<const std::byte> preamble);

/// `header` is exactly npy_header_size bytes; `raw` says what arrays without a name of NumPy hold.
NpyHeader parse_npy_header(std::string_view label, std::span<const std::byte> header,
                           const std::optional<Dtype>& raw);

TensorInfo npy_info(std::string name, const NpyHeader& header);

/// Turns big-endian elements into little-endian ones (a complex one is two numbers).
void swap_bytes(std::span<std::byte> data, const Dtype& dtype);

std::unique_ptr<TensorFile> open_npy(std::shared_ptr<const InputFile> file,
                                     const OpenOptions& options);

}  // namespace binade

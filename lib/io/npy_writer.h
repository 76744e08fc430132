// SPDX-License-Identifier: Apache-2.0
//
// Writes one array as a .npy, version 1, its data aligned to 64 bytes. Types without a name in
// NumPy (bfloat16, the 8-bit formats) become raw |V2 and |V1 as ml_dtypes saves them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "lib/format/dtype.h"
#include "lib/io/atomic_file.h"

namespace binade {

/// The header of an array, so long that the data after it begin at a multiple of 64. Error, which names
/// `path`, where .npy cannot hold it.
std::string npy_header(const std::string& path, const Dtype& dtype,
                       std::span<const std::uint64_t> shape, bool fortran_order = false);

class NpyWriter {
 public:
  NpyWriter(const std::string& path, const Dtype& dtype, std::span<const std::uint64_t> shape,
            bool fortran_order = false);

  /// Little-endian elements in the order of storage.
  void write(std::span<const std::byte> data);
  /// Error unless exactly the shape's data were written; only then the file appears.
  void finish();

 private:
  std::string path_;
  AtomicFile file_;
  std::uint64_t left_ = 0;
};

}  // namespace binade

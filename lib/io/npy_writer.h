// SPDX-License-Identifier: Apache-2.0
//
// Writes one array as a .npy of version 1, with its data aligned to 64 bytes. Types that NumPy has
// no name for (bfloat16, the 8-bit formats) become raw |V2 and |V1, as ml_dtypes saves them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "lib/format/dtype.h"
#include "lib/io/atomic_file.h"

namespace binade {

/// Returns the header of an array, padded so that the data after it begin at a multiple of 64
/// bytes. Throws Error, which names `path`, if .npy cannot hold the array.
std::string npy_header(const std::string& path, const Dtype& dtype,
                       std::span<const std::uint64_t> shape, bool fortran_order = false);

class NpyWriter {
 public:
  NpyWriter(const std::string& path, const Dtype& dtype, std::span<const std::uint64_t> shape,
            bool fortran_order = false);

  /// Writes little-endian elements in the order of storage, in pieces of any size.
  void write(std::span<const std::byte> data);
  /// Makes the file appear. Throws Error unless exactly the data of the shape were written.
  void finish();

 private:
  std::string path_;
  AtomicFile file_;
  std::uint64_t left_ = 0;  ///< bytes still to be written
};

}  // namespace binade

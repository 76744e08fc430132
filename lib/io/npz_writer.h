// SPDX-License-Identifier: Apache-2.0
//
// Writes arrays into one .npz as numpy.savez does: a zip archive whose members are uncompressed
// .npy files. The archive appears whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "lib/format/dtype.h"
#include "lib/io/atomic_file.h"

namespace binade {

class NpzWriter {
 public:
  /// Throws Error as AtomicFile does, or if this build has no zlib.
  explicit NpzWriter(const std::string& path);

  /// Adds one array with all of its data, little-endian and in the order of storage; numpy.load
  /// gives it as [name]. Throws Error if the data do not fill the shape, if the archive would need
  /// zip64 (4 GiB, or more than 65534 arrays), or if `name` has more than 996 bytes. Two arrays of
  /// the same name are not noticed.
  void add(const std::string& name, const Dtype& dtype, std::span<const std::uint64_t> shape,
           std::span<const std::byte> data);
  /// Writes the central directory and makes the file appear.
  void finish();

 private:
  std::string path_;
  AtomicFile file_;
  std::string directory_;      // the entries of the central directory so far
  std::uint64_t written_ = 0;  // bytes of the members so far
  std::uint16_t members_ = 0;
};

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// A libFuzzer harness that opens and reads any bytes as a file, with and without a --dtype. The
// reader may only throw Error or give as many bytes as it promised.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "lib/io/tensor_file.h"
#include "lib/text/error.h"

namespace {

void read_all(const std::string& path, const binade::OpenOptions& options) {
  try {
    const auto file = binade::open_tensor_file(path, options);
    for (std::size_t i = 0; i < file->tensors().size(); ++i) {
      std::uint64_t bytes = 0;
      file->read(i, [&](std::span<const std::byte> part) { bytes += part.size(); });
      if (bytes != file->tensors()[i].bytes) std::abort();
    }
  } catch (const binade::Error& error) {
    if (std::string(error.what()).find('\n') != std::string::npos) std::abort();
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int file = memfd_create("binade-fuzz", MFD_CLOEXEC);
  const auto length = static_cast<ssize_t>(size);
  if (ftruncate(file, length) != 0 || pwrite(file, data, size, 0) != length) std::abort();
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  read_all(path, {});
  read_all(path, {.dtype = binade::find_dtype("BF16")});
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// Threads search parts that are large enough to be worth one. After a thread has found something,
// no thread begins another part.
#include "lib/range/nonfinite.h"

#include <atomic>
#include <cassert>
#include <optional>

#include "lib/parallel/parallel.h"

namespace binade {

bool any_nonfinite(std::span<const std::byte> data, const Dtype& dtype) {
  const std::optional<Format> format = find_format(dtype.format);
  assert(format && dtype.kind == DtypeKind::floating);
  const std::size_t size = dtype.bits / 8;
  const std::size_t grain = (std::size_t{1} << 20) / size;  // 1 MiB
  std::atomic<bool> found = false;
  parallel_for(data.size() / size, grain, [&](std::size_t begin, std::size_t end, std::size_t) {
    if (found) return;
    if (fastest_kernels().any_nonfinite(data.data() + begin * size, end - begin, *format)) {
      found = true;
    }
  });
  return found;
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// One pass over two tensors. Counts and sums are integers, so the number of threads changes
// nothing.
#include "lib/report/update_ratio.h"

#include <algorithm>
#include <cassert>
#include <span>
#include <vector>

#include "lib/io/chunk_reader.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

struct Stream {
  ChunkReader reader;
  Format format;
  std::size_t size;
  std::span<const std::byte> left = {};

  explicit Stream(const TensorPlace& place)
      : reader(*place.file, place.index),
        format(*find_format(place.info().dtype.format)),
        size(place.info().dtype.bits / 8) {}

  /// Returns the number of elements at hand; 0 at the end of the tensor.
  std::size_t available() {
    if (left.empty()) left = reader.next();
    return left.size() / size;
  }
};

}  // namespace

UpdateCounts count_updates(const TensorPlace& weight, const TensorPlace& update,
                           const std::function<void(std::uint64_t)>& done) {
  assert(weight.info().shape == update.info().shape);
  Stream w(weight);
  Stream u(update);
  std::vector<UpdateCounts> slots(thread_count());
  while (true) {
    const std::size_t of_weight = w.available();
    const std::size_t n = std::min(of_weight, u.available());
    if (n == 0) break;
    add_updates(slots, {w.left.data(), w.format, u.left.data(), u.format, n});
    w.left = w.left.subspan(n * w.size);
    u.left = u.left.subspan(n * u.size);
    if (done) done(n * (w.size + u.size));
  }
  return merged(slots);
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// A slot per thread; slots are merged at the end, which cannot change an integer sum.
#include "lib/range/counter.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "lib/parallel/parallel.h"

namespace binade {
namespace {

constexpr std::size_t count_grain = std::size_t{1} << 16;  ///< elements a thread takes at a time

/// A block and how many values it holds; made on first use.
template <std::floating_point T>
struct Dense {
  std::unique_ptr<RangeBlock<T>> block;
  std::vector<T> aligned;
  std::size_t used = 0;

  void flush(RangeSummary& summary) {
    if (used == 0) return;
    add_block(summary, *block, used);
    block->clear();
    used = 0;
  }

  /// For n <= capacity more.
  RangeBlock<T>& room_for(std::size_t n, RangeSummary& summary) {
    if (!block) {
      block = std::make_unique<RangeBlock<T>>();
      block->reset(summary.columns);
    }
    if (used + n > RangeBlock<T>::capacity) flush(summary);
    used += n;
    return *block;
  }

  /// Adds n <= count_grain elements; kernels want aligned ones.
  void add(const std::byte* data, std::size_t n, RangeSummary& summary, fast::RangeCells& work) {
    aligned.resize(count_grain);
    std::memcpy(aligned.data(), data, n * sizeof(T));
    (fastest_kernels().*KernelsOf<T>::range_count)(aligned.data(), n, room_for(n, summary), work);
  }
};

template <class Bits>
void count_encodings(const std::byte* data, std::size_t n, std::vector<std::uint64_t>& histogram) {
  for (std::size_t i = 0; i < n; ++i) {
    Bits bits;
    std::memcpy(&bits, data + i * sizeof(Bits), sizeof(Bits));
    ++histogram[bits];
  }
}

}  // namespace

struct RangeCounter::Slot {
  RangeSummary summary;
  fast::RangeCells work;
  Dense<float> binary32_block;
  Dense<double> binary64_block;
  std::vector<std::uint64_t> histogram;
  Format histogram_format;

  void add(const std::byte* data, std::size_t n, const Format& format) {
    if (format == binary32) {
      binary32_block.add(data, n, summary, work);
    } else if (format == binary64) {
      binary64_block.add(data, n, summary, work);
    } else {
      assert(format.storage_bits() <= 16);
      histogram_format = format;
      histogram.resize(std::size_t{1} << format.storage_bits());
      if (format.storage_bits() == 8) count_encodings<std::uint8_t>(data, n, histogram);
      if (format.storage_bits() == 16) count_encodings<std::uint16_t>(data, n, histogram);
    }
  }

  void flush() {
    binary32_block.flush(summary);
    binary64_block.flush(summary);
    for (std::size_t bits = 0; bits < histogram.size(); ++bits) {
      if (histogram[bits] != 0) add_encoding(summary, bits, histogram_format, histogram[bits]);
    }
    histogram.clear();
  }
};

RangeCounter::RangeCounter(std::vector<ErrorColumn> columns, CountFloats floats)
    : floats_(std::move(floats)), columns_(std::move(columns)) {
  assert(columns_.size() <= max_error_columns);
  slots_.resize(thread_count());
}

RangeCounter::~RangeCounter() = default;

RangeCounter::Slot& RangeCounter::slot(std::size_t at) {
  std::unique_ptr<Slot>& out = slots_[at];
  if (!out) {
    out = std::make_unique<Slot>();
    out->summary = empty_summary(columns_);
  }
  return *out;
}

void RangeCounter::add(std::span<const std::byte> data, const Dtype& dtype) {
  const std::optional<Format> format = find_format(dtype.format);
  assert(format && dtype.kind == DtypeKind::floating);
  const std::size_t size = dtype.bits / 8;
  if (floats_ && *format == binary32) {
    std::vector<float> values(data.size() / size);
    std::memcpy(values.data(), data.data(), values.size() * size);
    Slot& first = slot(0);
    return floats_(values, first.binary32_block.room_for(values.size(), first.summary));
  }
  parallel_for(data.size() / size, count_grain,
               [&](std::size_t begin, std::size_t end, std::size_t at) {
                 slot(at).add(data.data() + begin * size, end - begin, *format);
               });
}

RangeSummary RangeCounter::finish() {
  RangeSummary out = empty_summary(columns_);
  for (std::unique_ptr<Slot>& slot : slots_) {
    if (!slot) continue;
    slot->flush();
    if (slot->summary.values == 0) continue;
    if (out.values == 0) {
      std::swap(out, slot->summary);
    } else {
      merge(out, slot->summary);
      slot->summary = empty_summary(columns_);
    }
  }
  return out;
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Each thread counts into a slot of its own; the slots are merged at the end, and a sum of integers
// does not depend on how it was split.
#include "lib/range/counter.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstring>

#include "lib/parallel/parallel.h"

namespace binade {
namespace {

constexpr std::size_t count_grain = std::size_t{1} << 16;  ///< elements a thread takes at a time

/// A block, and how many values it holds; the block is allocated on first use.
template <std::floating_point T>
struct Dense {
  std::unique_ptr<RangeBlock<T>> block;
  std::vector<T> values;  ///< an aligned copy of a piece
  std::uint64_t used = 0;

  void flush(RangeSummary& summary) {
    if (used == 0) return;
    add_block(summary, *block, used);
    block->clear();
    used = 0;
  }

  /// Returns the block with room for n <= capacity more values.
  RangeBlock<T>& room_for(std::uint64_t n, RangeSummary& summary) {
    if (!block) {
      block = std::make_unique<RangeBlock<T>>();
      block->reset(summary.columns);
    }
    if (used + n > RangeBlock<T>::capacity) flush(summary);
    used += n;
    return *block;
  }

  void add(const T* in, std::size_t n, RangeSummary& summary, fast::RangeCells& work) {
    (fastest_kernels().*KernelsOf<T>::range_count)(in, n, room_for(n, summary), work);
  }

  /// Adds n <= count_grain elements at any alignment. The kernels need aligned ones, so others are
  /// copied.
  void add_bytes(const std::byte* data, std::size_t n, RangeSummary& summary,
                 fast::RangeCells& work) {
    if (reinterpret_cast<std::uintptr_t>(data) % alignof(T) == 0) {
      return add(reinterpret_cast<const T*>(data), n, summary, work);
    }
    values.resize(count_grain);
    std::memcpy(values.data(), data, n * sizeof(T));
    add(values.data(), n, summary, work);
  }
};

/// Counts each encoding of 8 or 16 bits; flush() then counts the value of each encoding that
/// occurred.
template <int bits>
struct Histogram {
  using Counts = EncodingCounts<bits>;
  /// Arrays of fewer elements are decoded and counted as values, because the final pass of a
  /// histogram looks at all of its codes.
  static constexpr std::size_t worthwhile = bits == 8 ? std::size_t{1} << 10 : std::size_t{1} << 17;

  std::unique_ptr<Counts> counts;
  std::uint64_t used = 0;
  Format format;

  void add(const std::byte* data, std::size_t n, const Format& of, Dense<float>& values,
           RangeSummary& summary) {
    if (!counts) counts = std::make_unique<Counts>();
    if (used + n > Counts::capacity) flush(values, summary);
    used += n;
    format = of;
    constexpr auto kernel = [] {
      if constexpr (bits == 8) return &Kernels::histogram_8;
      if constexpr (bits == 16) return &Kernels::histogram_16;
    }();
    (fastest_kernels().*kernel)(data, n, *counts);
  }

  void flush(Dense<float>& values, RangeSummary& summary) {
    if (used == 0) return;
    RangeBlock<float>& block = values.room_for(used, summary);
    used = 0;
    constexpr std::size_t group = 16;
    for (std::size_t first = 0; first < Counts::codes; first += group) {
      std::uint32_t any = 0;
      for (const auto& table : counts->counts) {
        for (std::size_t k = 0; k < group; ++k) any |= table[first + k];
      }
      if (any == 0) continue;
      for (std::size_t code = first; code < first + group; ++code) {
        const std::uint32_t times = counts->of(code);
        if (times != 0) count_value(block, value_of<float>(code, format), times);
      }
      for (auto& table : counts->counts) std::fill_n(&table[first], group, 0);
    }
  }
};

}  // namespace

struct RangeCounter::Slot {
  RangeSummary summary;
  fast::RangeCells work;
  Dense<float> binary32_block;
  Dense<double> binary64_block;
  Histogram<8> of_8_bits;
  Histogram<16> of_16_bits;

  /// Adds n <= count_grain elements of an array that has `of_all` elements.
  void add(const std::byte* data, std::size_t n, std::size_t of_all, const Format& format) {
    if (format == binary32) {
      binary32_block.add_bytes(data, n, summary, work);
    } else if (format == binary64) {
      binary64_block.add_bytes(data, n, summary, work);
    } else if (format.storage_bits() == 8) {
      add_short(of_8_bits, data, n, of_all, format);
    } else {
      add_short(of_16_bits, data, n, of_all, format);
    }
  }

  template <int bits>
  void add_short(Histogram<bits>& histogram, const std::byte* data, std::size_t n,
                 std::size_t of_all, const Format& format) {
    assert(format.storage_bits() == bits && fits_in(format, binary32));
    Dense<float>& to = binary32_block;
    if (of_all >= histogram.worthwhile) return histogram.add(data, n, format, to, summary);
    to.values.resize(std::max(to.values.size(), n));
    fastest_kernels().decode_f32(data, to.values.data(), n, format);
    to.add(to.values.data(), n, summary, work);
  }

  void flush() {
    of_8_bits.flush(binary32_block, summary);
    of_16_bits.flush(binary32_block, summary);
    binary32_block.flush(summary);
    binary64_block.flush(summary);
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
  const std::size_t n = data.size() / size;
  parallel_for(n, count_grain, [&](std::size_t begin, std::size_t end, std::size_t at) {
    slot(at).add(data.data() + begin * size, end - begin, n, *format);
  });
}

void RangeCounter::add(std::span<const std::byte> data, const Dtype& dtype, std::size_t at) {
  const std::size_t size = dtype.bits / 8, n = data.size() / size;
  const Format format = *find_format(dtype.format);
  for (std::size_t done = 0; done < n; done += count_grain) {
    slot(at).add(data.data() + done * size, std::min(count_grain, n - done), n, format);
  }
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

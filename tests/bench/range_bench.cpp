// SPDX-License-Identifier: Apache-2.0
//
// Rows of counting the ranges of values: range_count without and with the squared errors that a
// report sums, histograms of encodings, from which any number of such errors can be summed, and all
// that `binade report` does from bytes to a summary on all threads. Also rows of finding whether
// all values are finite.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "lib/range/counter.h"
#include "lib/range/fate.h"
#include "tests/bench/arrays.h"
#include "tests/bench/clock.h"
#include "tests/bench/rows.h"

namespace binade::bench {
namespace {

std::vector<ErrorColumn> report_columns() {
  std::vector<ErrorColumn> columns;
  columns.reserve(report_formats.size());
  for (const NamedFormat& row : report_formats) columns.push_back({row.format, 0});
  return columns;
}

Arrays input_alone() { return {{reinterpret_cast<const std::byte*>(input())}, nullptr}; }

/// A block for the values of many calls, which is emptied when it is full, as where it is used.
struct Counting {
  std::unique_ptr<RangeBlock<float>> block = std::make_unique<RangeBlock<float>>();
  std::unique_ptr<fast::RangeCells> cells = std::make_unique<fast::RangeCells>();
  std::size_t columns = 0;
  std::size_t room = 0;

  void add(const Kernels& kernels, const float* in, std::size_t n,
           const std::vector<ErrorColumn>& error_columns) {
    if (room < n || columns != error_columns.size()) {
      block->reset(error_columns);
      columns = error_columns.size();
      room = RangeBlock<float>::capacity;
    }
    kernels.range_count_f32(in, n, *block, *cells);
    room -= n;
  }
};

void add_range_count(std::size_t n, const std::vector<ErrorColumn>& columns) {
  const Work work{.name = "range/F32/" + std::to_string(columns.size()),
                  .n = n,
                  .limit = {{1, sizeof(float), 0}},
                  .arrays = &input_alone,
                  .run = [columns](const Kernels& kernels, const Arrays& arrays, std::size_t begin,
                                   std::size_t end) {
                    thread_local Counting counting;
                    const auto* in = reinterpret_cast<const float*>(arrays.in[0]);
                    counting.add(kernels, in + begin, end - begin, columns);
                  }};
  add_rows(work, levels_of(&Kernels::range_count_f32));
  if (n > in_l2) add_thread_rows(work, levels_of(&Kernels::range_count_f32));
}

/// Encodings of a dtype of 8 or 16 bits.
template <int bits, Kernels::Histogram<bits> Kernels::*entry>
void add_histogram(std::size_t n, const char* dtype_name) {
  const Format f = *find_format(find_dtype(dtype_name)->format);
  struct Filling {
    EncodingCounts<bits> counts;
    std::uint64_t room = EncodingCounts<bits>::capacity;
  };
  const Work work{
      .name = "range/" + std::string(dtype_name) + "/0",
      .n = n,
      .limit = {{1, bits / 8, 0}},
      .arrays =
          [f] {
            return Arrays{{codes(f)}, nullptr};
          },
      .run =
          [](const Kernels& kernels, const Arrays& arrays, std::size_t begin, std::size_t end) {
            thread_local const auto filling = std::make_unique<Filling>();
            if (filling->room < end - begin) *filling = {};
            (kernels.*entry)(arrays.in[0] + begin * bits / 8, end - begin, filling->counts);
            filling->room -= end - begin;
          }};
  add_rows(work, levels_of(entry));
}

/// Adds rows of finite numbers only, so that the kernel has to read them all.
template <int bits>
void add_any_nonfinite(std::size_t n, const char* dtype_name) {
  const Format f = *find_format(find_dtype(dtype_name)->format);
  const Work work{
      .name = "any_nonfinite/" + std::string(dtype_name),
      .n = n,
      .limit = {{1, bits / 8, 0}},
      .arrays =
          [f] {
            return f == binary32 ? input_alone() : Arrays{{codes(f)}, nullptr};
          },
      .run =
          [f](const Kernels& kernels, const Arrays& arrays, std::size_t begin, std::size_t end) {
            benchmark::DoNotOptimize(
                kernels.any_nonfinite(arrays.in[0] + begin * bits / 8, end - begin, f));
          }};
  add_rows(work, levels_of(&Kernels::any_nonfinite));
}

/// Adds a row beside a read pass on all threads, measured by elapsed time.
void add_range_counter(std::size_t n, const char* dtype_name) {
  const Dtype dtype = *find_dtype(dtype_name);
  const std::size_t size = dtype.bits / 8;
  add_row("range_counter/" + std::string(dtype_name) + "/" + std::to_string(n) +
              "/threads:" + std::to_string(thread_count()),
          n, [=] {
            const Arrays arrays = input_alone();
            const Pass read = fastest_pass({1, size, 0}, arrays, n);
            const auto counter = std::make_shared<RangeCounter>(report_columns());
            return Compared{seconds_of(
                                [=] {
                                  counter->add({arrays.in[0], n * size}, dtype);
                                  benchmark::DoNotOptimize(counter->finish());
                                },
                                n, &wall_seconds),
                            seconds_of(
                                [=] {
                                  parallel_for(
                                      n, std::size_t{1} << 16,
                                      [&](std::size_t begin, std::size_t end, std::size_t) {
                                        const std::byte* const from = arrays.in[0] + begin * size;
                                        read(&from, nullptr, end - begin);
                                      });
                                },
                                n, &wall_seconds)};
          });
}

}  // namespace

void add_range() {
  for (const std::size_t n : {in_l2, from_dram}) {
    add_range_count(n, {});
    add_range_count(n, report_columns());
    add_histogram<16, &Kernels::histogram_16>(n, "BF16");
    add_histogram<8, &Kernels::histogram_8>(n, "F8_E4M3");
    add_any_nonfinite<32>(n, "F32");
    add_any_nonfinite<16>(n, "BF16");
    add_any_nonfinite<8>(n, "F8_E5M2");
    for (const char* dtype : {"F32", "BF16"}) add_range_counter(n, dtype);
  }
}

}  // namespace binade::bench

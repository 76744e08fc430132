// SPDX-License-Identifier: Apache-2.0
//
// The bulk kernels beside what the machine can do at most. GB/s counts bytes read and, for quantize,
// written; of_limit_% is the share of memcpy (quantize, elementwise) or of a read pass (range count) of the same
// size, measured in this process.
#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "lib/range/counter.h"
#include "lib/range/fate.h"
#include "tests/bench/limits.h"

namespace binade::bench {
namespace {

/// Runs the pass and notes how many gigabytes a second it moved, and which share of the limit.
template <class Pass>
void measure(benchmark::State& state, std::size_t moved, Limit which, std::size_t bytes,
             Pass&& pass) {
  const double most = limit(which, bytes);
  const double start = seconds_now(which);
  for (auto _ : state) {
    pass();
    benchmark::ClobberMemory();
  }
  const double elapsed = seconds_now(which) - start;
  const double rate =
      static_cast<double>(moved) * static_cast<double>(state.iterations()) / elapsed / 1e9;
  state.counters["GB/s"] = rate;
  state.counters["of_limit_%"] = 100 * rate / most;
}

template <class Row>
void add_row(const std::string& name, Row&& row) {
  benchmark::RegisterBenchmark(name.c_str(), std::forward<Row>(row))->Unit(benchmark::kMicrosecond);
}

void add_limits(const Size& size) {
  add_row("memcpy/" + std::string(size.name), [size](benchmark::State& state) {
    measure(state, 2 * size.bytes, Limit::copy, size.bytes,
            [&] { std::memcpy(output(size.bytes).data(), input(size.bytes).data(), size.bytes); });
  });
  add_row("read/" + std::string(size.name), [size](benchmark::State& state) {
    measure(state, size.bytes, Limit::read, size.bytes,
            [&] { benchmark::DoNotOptimize(read_pass(input(size.bytes))); });
  });
}

void add_quantize(const Size& size) {
  for (const NamedFormat& format : report_formats) {
    for (const Rounding rounding : {Rounding::ties_to_even, Rounding::stochastic}) {
      for (const ReadyLevel& level : levels_of(&Kernels::quantize_f32)) {
        const Quantizer to{.format = format.format, .attributes = {.rounding = rounding}};
        add_row("quantize/" + std::string(format.name) + "/" + std::string(name_of(rounding)) +
                    "/" + size.name + "/" + level.name,
                [size, to, kernels = level.kernels](benchmark::State& state) {
                  const auto in = input(size.bytes);
                  const auto out = output(size.bytes);
                  EventCounts counts;
                  measure(state, 2 * size.bytes, Limit::copy, size.bytes, [&] {
                    kernels->quantize_f32(in.data(), out.data(), in.size(), 0, to, counts);
                  });
                  benchmark::DoNotOptimize(counts);
                });
      }
    }
  }
}

/// Sums, products and fused ones of three parts of the input, as a GPU's elementwise kernel.
void add_elementwise(const Size& size) {
  for (const NamedFormat& format : report_formats) {
    for (const Operation operation :
         {Operation::add, Operation::multiply, Operation::multiply_add}) {
      const auto row = static_cast<std::size_t>(operation);
      for (const ReadyLevel& level : levels_of(&Kernels::elementwise_f32)) {
        const Format& f = format.format;
        const Elementwise how{.operation = operation, .from = {f, f, f}, .to = f};
        add_row("elementwise/" + std::string(operations[row].name) + "/" +
                    std::string(format.name) + "/" + size.name + "/" + level.name,
                [size, how, kernels = level.kernels](benchmark::State& state) {
                  const std::size_t part = size.bytes / sizeof(float) / 4;
                  const float* in = input(size.bytes).data();
                  float* out = output(size.bytes).data();
                  EventCounts counts;
                  const auto arrays = static_cast<std::size_t>(operand_count(how.operation)) + 1;
                  measure(state, arrays * size.bytes / 4, Limit::copy, size.bytes, [&] {
                    kernels->elementwise_f32(in, in + part, in + 2 * part, out, part, 0, how,
                                             counts);
                  });
                  benchmark::DoNotOptimize(counts);
                });
      }
    }
  }
}

std::vector<ErrorColumn> report_columns() {
  std::vector<ErrorColumn> columns;
  columns.reserve(report_formats.size());
  for (const NamedFormat& row : report_formats) columns.push_back({row.format, 0});
  return columns;
}

/// The kernel alone, without and with the squared errors that a report sums. The block is emptied
/// when it is full, as in use.
void add_range_count(const Size& size) {
  for (const bool errors : {false, true}) {
    for (const ReadyLevel& level : levels_of(&Kernels::range_count_f32)) {
      add_row("range_count/" + std::string(errors ? "with_errors/" : "") + "f32/" + size.name +
                  "/" + level.name,
              [size, errors, kernels = level.kernels](benchmark::State& state) {
                const std::vector<ErrorColumn> columns =
                    errors ? report_columns() : std::vector<ErrorColumn>{};
                const auto block = std::make_unique<RangeBlock<float>>();
                const auto work = std::make_unique<fast::RangeCells>();
                block->reset(columns);
                std::size_t used = 0;
                measure(state, size.bytes, Limit::read, size.bytes, [&] {
                  for (auto rest = input(size.bytes); !rest.empty();) {
                    const auto piece =
                        rest.first(std::min(rest.size(), RangeBlock<float>::capacity));
                    if (used + piece.size() > RangeBlock<float>::capacity) {
                      block->reset(columns);
                      used = 0;
                    }
                    kernels->range_count_f32(piece.data(), piece.size(), *block, *work);
                    used += piece.size();
                    rest = rest.subspan(piece.size());
                  }
                });
              });
    }
  }
}

/// The whole way of `binade report` from bytes to a summary, on the threads it uses: all, or one for
/// an array as small as its grain.
void add_range_counter(const Size& size) {
  for (const char* dtype : {"F32", "BF16"}) {
    add_row("range_counter/" + std::string(dtype) + "/" + size.name + "/" +
                std::to_string(thread_count()) + "_threads",
            [size, dtype](benchmark::State& state) {
              RangeCounter counter(report_columns());
              measure(state, size.bytes, Limit::read_on_all_threads, size.bytes,
                      [&] { counter.add(std::as_bytes(input(size.bytes)), *find_dtype(dtype)); });
              benchmark::DoNotOptimize(counter.finish());
            });
  }
}

}  // namespace

void add_functions();  // functions_bench.cpp
void add_matmul();     // matmul_bench.cpp

}  // namespace binade::bench

int main(int argc, char** argv) {
  using namespace binade::bench;  // NOLINT(google-build-using-namespace): this is the program
  std::vector<char*> arguments(argv, argv + argc);
  std::string tabular = "--benchmark_counters_tabular=true";
  arguments.insert(arguments.begin() + 1, tabular.data());  // a later one from the user wins
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  for (const Size& size : sizes) {
    add_limits(size);
    add_quantize(size);
    add_elementwise(size);
    add_range_count(size);
    add_range_counter(size);
  }
  add_matmul();
  add_functions();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// Registering the rows of the benchmarks so that one which cannot run ends neither the others nor
// the file of their JSON.
#pragma once

#include <benchmark/benchmark.h>

#include <exception>
#include <functional>
#include <string>

namespace binade::bench {

/// Counts the rows that ended in an exception.
inline int failed_rows = 0;

/// Registers a row that is told in `unit`. Whatever it throws becomes the row's "error_message" in
/// the JSON and on the console. A row that has nothing to run on says why itself, by
/// `state.SkipWithError`, and does not count as failed.
inline void add_benchmark(const std::string& name, benchmark::TimeUnit unit,
                          std::function<void(benchmark::State&)> row) {
  const auto whole = [row = std::move(row)](benchmark::State& state) {
    try {
      row(state);
    } catch (const std::exception& error) {
      state.SkipWithError(error.what());
      ++failed_rows;
    }
  };
  benchmark::RegisterBenchmark(name.c_str(), whole)->Unit(unit);
}

}  // namespace binade::bench

// SPDX-License-Identifier: Apache-2.0
//
// The program of ./dev bench: it runs all rows, and writes the machine and the compiler to the
// context of its JSON. It exits with 1 if a row failed.
#include <benchmark/benchmark.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/bench/arrays.h"
#include "tests/bench/clock.h"
#include "tests/bench/registered.h"
#include "tests/bench/rows.h"

namespace binade::bench {

void add_quantizers();     // quantize_bench.cpp
void add_block_formats();  // blocks_bench.cpp
void add_operations();     // elementwise_bench.cpp
void add_range();          // range_bench.cpp
void add_matmul();         // matmul_bench.cpp
void add_functions();      // functions_bench.cpp
void add_training();       // train_bench.cpp

namespace {

/// Adds rows that time the limits beside themselves.
void add_limits() {
  for (const std::size_t n : {in_l2, from_dram}) {
    const auto arrays = [] {
      return Arrays{{reinterpret_cast<const std::byte*>(input())}, output()};
    };
    const auto add = [&](const std::string& name, const Limit& limit) {
      add_row(name + "/" + std::to_string(n), n, [=] {
        const Measurement pass = seconds_of(limit_pass(limit, arrays(), n), n, &thread_seconds);
        return Compared{pass, pass};
      });
    };
    add("memcpy", {{1, 4, 4}, true});
    add("pass/4_to_4", {{1, 4, 4}});
    add("pass/4_to_2", {{1, 4, 2}});
    add("pass/4_to_1", {{1, 4, 1}});
    add("read", {{1, 4, 0}});
  }
}

/// Returns the processor's name, "AMD EPYC, family 25, model 1". Hypervisors do not tell more than
/// that.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  std::string out;
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, line.find('\t')), value = line.substr(colon + 2);
    if (key == "model name") out = value + out;
    if (key == "cpu family") out += ", family " + value;
    if (key == "model") out += ", model " + value;
  }
  return out.empty() ? "unknown" : out;
}

void tell_context() {
  benchmark::AddCustomContext("processor", processor());
#ifdef __clang__
  benchmark::AddCustomContext("compiler", __VERSION__);
#else
  benchmark::AddCustomContext("compiler", "GCC " __VERSION__);
#endif
  std::string used;
  for (std::size_t at = 0; at < levels.size(); ++at) {
    const auto level = static_cast<Level>(at);
    if (!machine_has(level)) continue;
    used += (used.empty() ? "" : " ") + std::string(levels[at].name);
    if (&kernels(level) == &fastest_kernels()) break;
  }
  benchmark::AddCustomContext("levels", used);
  benchmark::AddCustomContext("threads", std::to_string(thread_count()));
}

}  // namespace
}  // namespace binade::bench

int main(int argc, char** argv) {
  using namespace binade::bench;  // NOLINT(google-build-using-namespace): this is the program
  std::vector<char*> arguments(argv, argv + argc);
  // The user's options come later and replace these.
  std::string tabular = "--benchmark_counters_tabular=true", time = "--benchmark_min_time=0.1";
  arguments.insert(arguments.begin() + 1, {tabular.data(), time.data()});
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  tell_context();
  add_limits();
  add_quantizers();
  add_block_formats();
  add_operations();
  add_range();
  add_matmul();
  add_functions();
  add_training();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return failed_rows == 0 ? 0 : 1;
}

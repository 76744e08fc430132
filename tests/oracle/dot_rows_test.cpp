// SPDX-License-Identifier: Apache-2.0
//
// The oracle of dot products against rows that real GPUs computed: none may differ. Then each rule
// that the rows can distinguish from a wrong one is set wrong, and rows must differ. The rows are
// in the folder BINADE_HW_VECTORS, or beside the source tree; without them the exit status is 77.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/oracle/dot.h"

#ifndef BINADE_SOURCE_ROOT
#define BINADE_SOURCE_ROOT "."
#endif

namespace {

using oracle::Cut;
using oracle::DotRules;
using oracle::Recipe;
using oracle::Result;
using oracle::Way;

constexpr std::size_t rows_per_set = 2000;

/// One record of the folder's sets.json: the chip, the formats, C, and the rules.
struct Set {
  std::string_view gpu, input, output;
  std::size_t k;
  bool has_c;
  int block_length, fraction_bits;
  Result result;
  bool expanded;
};

constexpr Result half = Result::binary16;
constexpr Result single = Result::binary32;
constexpr Result short_single = Result::binary32_of_14_digits;

constexpr Set sets[]{
    {"V100", "fp16", "fp32", 4, true, 4, 23, single, false},
    {"V100", "fp16", "fp16", 4, true, 4, 23, half, false},
    {"A2", "fp16", "fp32", 8, true, 8, 24, single, false},
    {"A2", "fp16", "fp16", 8, true, 8, 24, half, false},
    {"A2", "bf16", "fp32", 8, true, 8, 24, single, false},
    {"A2", "tf32", "fp32", 4, true, 4, 24, single, false},
    {"A100", "fp16", "fp32", 8, true, 8, 24, single, false},
    {"A100", "fp16", "fp16", 8, true, 8, 24, half, false},
    {"A100", "bf16", "fp32", 8, true, 8, 24, single, false},
    {"A100", "tf32", "fp32", 4, true, 4, 24, single, false},
    {"Ada", "fp16", "fp32", 8, true, 8, 24, single, false},
    {"Ada", "fp16", "fp16", 8, true, 8, 24, half, false},
    {"Ada", "bf16", "fp32", 8, true, 8, 24, single, false},
    {"Ada", "tf32", "fp32", 4, true, 4, 24, single, false},
    {"Ada", "E4M3", "fp32", 32, true, 16, 13, short_single, false},
    {"Ada", "E4M3", "fp16", 32, true, 16, 13, half, false},
    {"Ada", "E5M2", "fp32", 32, true, 16, 13, short_single, false},
    {"Ada", "E5M2", "fp16", 32, true, 16, 13, half, false},
    {"L40S", "fp16", "fp32", 8, true, 8, 24, single, false},
    {"L40S", "fp16", "fp16", 8, true, 8, 24, half, false},
    {"L40S", "bf16", "fp32", 8, true, 8, 24, single, false},
    {"L40S", "tf32", "fp32", 4, true, 4, 24, single, false},
    {"L40S", "E4M3", "fp32", 32, true, 16, 13, short_single, false},
    {"L40S", "E5M2", "fp32", 32, true, 16, 13, short_single, false},
    {"H100", "fp16", "fp32", 16, true, 16, 25, single, false},
    {"H100", "fp16", "fp16", 16, true, 16, 25, half, false},
    {"H100", "bf16", "fp32", 16, true, 16, 25, single, false},
    {"H100", "tf32", "fp32", 4, true, 8, 25, single, false},
    {"H100", "E4M3", "fp32", 32, false, 32, 13, short_single, false},
    {"H100", "E4M3", "fp16", 32, true, 16, 25, half, true},
    {"H100", "E5M2", "fp32", 32, false, 32, 13, short_single, false},
    {"H100", "E5M2", "fp16", 32, true, 16, 25, half, true},
    {"H200", "fp16", "fp32", 16, true, 16, 25, single, false},
    {"H200", "fp16", "fp16", 16, true, 16, 25, half, false},
    {"H200", "bf16", "fp32", 16, true, 16, 25, single, false},
    {"H200", "tf32", "fp32", 4, true, 8, 25, single, false},
    {"H200", "E4M3", "fp32", 32, false, 32, 13, short_single, false},
    {"H200", "E4M3", "fp16", 32, true, 16, 25, half, true},
    {"H200", "E5M2", "fp32", 32, false, 32, 13, short_single, false},
    {"H200", "E5M2", "fp16", 32, true, 16, 25, half, true},
    {"B200", "fp16", "fp32", 16, true, 16, 25, single, false},
    {"B200", "fp16", "fp16", 16, true, 16, 25, half, false},
    {"B200", "bf16", "fp32", 16, true, 16, 25, single, false},
    {"B200", "tf32", "fp32", 4, true, 8, 25, single, false},
    {"B200", "E4M3", "fp32", 32, true, 16, 25, single, true},
    {"B200", "E4M3", "fp16", 32, true, 16, 25, half, true},
    {"B200", "E5M2", "fp32", 32, true, 16, 25, single, true},
    {"B200", "E5M2", "fp16", 32, true, 16, 25, half, true},
};

std::string name_of(const Set& set) {
  return std::string(set.gpu) + " " + std::string(set.input) + "->" + std::string(set.output);
}

DotRules rules_of(const Set& set) {
  // The GPU generation's number of fraction bits, even where FP8 keeps fewer.
  const int base = set.gpu == "V100" ? 23 : set.gpu[0] == 'A' || set.gpu == "L40S" ? 24 : 25;
  return {.block_length = set.block_length,
          .fraction_bits = set.fraction_bits,
          .exponent_floor = set.output == "fp16" ? 4 - base : -(108 + base),
          .result = set.result,
          .way = set.output == "fp16" ? Way::nearest_even : Way::to_zero,
          .recipe = set.expanded ? Recipe::expanded : Recipe::blocks};
}

const oracle::Spec& spec_of(std::string_view format) {
  return oracle::named_spec(format == "fp16"   ? "binary16"
                            : format == "fp32" ? "binary32"
                            : format == "bf16" ? "bfloat16"
                            : format == "E4M3" ? "e4m3"
                            : format == "E5M2" ? "e5m2"
                                               : "tf32")
      .spec;
}

/// Returns the numbers of a .npy file of version 1, in C order, unsigned, of 1, 2 or 4 bytes,
/// little-endian.
std::vector<std::uint64_t> read_npy(const std::filesystem::path& path, std::size_t count) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes.at(i)); };
  const auto need = [&](bool holds) {
    if (!holds) throw std::runtime_error("not the array that was looked for: " + path.string());
  };
  need(bytes.size() > 10 && bytes.starts_with("\x93NUMPY\x01"));
  const std::size_t start = 10u + byte(8) + 256u * byte(9);
  const std::string header = bytes.substr(10, start - 10);
  const auto says = [&](std::string_view text) { return header.find(text) != std::string::npos; };
  const std::size_t width = says("'|u1'") ? 1 : says("'<u2'") ? 2 : says("'<u4'") ? 4 : 0;
  need(width != 0 && says("'fortran_order': False") && bytes.size() == start + width * count);
  std::vector<std::uint64_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = width; j-- > 0;) {
      numbers[i] = numbers[i] * 256 + byte(start + i * width + j);
    }
  }
  return numbers;
}

struct Rows {
  std::vector<std::uint64_t> a, b, c, d;
};

Rows load(const std::filesystem::path& folder, const Set& set) {
  const auto read = [&](const std::string& field, std::size_t columns) {
    const std::string file = std::string(set.gpu) + "_" + std::string(set.input) + "_" + field;
    return read_npy(folder / (file + ".npy"), rows_per_set * columns);
  };
  const std::string output(set.output);
  Rows rows{read("a", set.k), read("b", set.k), read("c_" + output, 1), read("d_" + output, 1)};
  if (!set.has_c) rows.c.assign(rows_per_set, 0);
  return rows;
}

std::size_t mismatches(const Set& set, const DotRules& rules, const Rows& rows) {
  const oracle::Spec& in = spec_of(set.input);
  const oracle::Spec& out = spec_of(set.output);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < rows_per_set; ++i) {
    const auto a = std::span(rows.a).subspan(i * set.k, set.k);
    const auto b = std::span(rows.b).subspan(i * set.k, set.k);
    wrong += oracle::dot(rules, in, in, out, a, b, rows.c[i]) == rows.d[i] ? 0 : 1;
  }
  return wrong;
}

bool is_fp8(const Set& s) { return s.input == "E4M3" || s.input == "E5M2"; }
bool is_fused_fp8(const Set& s) { return is_fp8(s) && !s.expanded && s.has_c; }
bool is_expanded(const Set& s) { return s.expanded; }
bool is_expanded_to_fp16(const Set& s) { return s.expanded && s.output == "fp16"; }
/// Returns whether a set's results are long enough to show what alignment does.
bool shows_alignment(const Set& s) {
  return (!s.expanded && s.output == "fp32") || is_fused_fp8(s);
}
/// Returns whether C is larger than every product in some rows of a set.
bool shows_c(const Set& s) {
  const bool short_sum = s.input == "fp16" && s.output == "fp32" && s.block_length <= 8;
  return short_sum || s.input == "tf32" || is_fused_fp8(s);
}
/// Returns whether a set's results show how sums are rounded. Sums of 32 products of FP8 numbers
/// mostly fit in fp32, so they do not.
bool shows_rounding(const Set& s) { return !s.expanded || s.output == "fp16"; }
bool shows_length(const Set& s) {
  return shows_rounding(s) && s.k >= static_cast<std::size_t>(s.block_length);
}
bool is_e4m3(const Set& s) { return s.input == "E4M3"; }

/// A wrong rule, the sets that must show that it is wrong, and the least number of rows that do.
struct Wrong {
  const char* rule;
  void (*spoil)(DotRules&);
  bool (*must_show)(const Set&);
  std::size_t at_least;
};

void round_otherwise(DotRules& rules) {
  rules.way = rules.way == Way::to_zero ? Way::nearest_even : Way::to_zero;
}

const Wrong wrong_rules[]{
    {"one fraction bit fewer", [](DotRules& r) { r.fraction_bits -= 1; }, shows_alignment, 60},
    {"one fraction bit more", [](DotRules& r) { r.fraction_bits += 1; }, shows_alignment, 25},
    {"blocks of half the length", [](DotRules& r) { r.block_length /= 2; }, shows_length, 70},
    {"nearest for to zero or back", round_otherwise, shows_rounding, 90},
    {"C after the products", [](DotRules& r) { r.c_after_products = true; }, shows_c, 1},
    {"downward", [](DotRules& r) { r.cut = Cut::downward; }, shows_alignment, 5},
    {"sticky bit of the sum", [](DotRules& r) { r.cut = Cut::sticky_sum; }, shows_alignment, 8},
    {"sticky bits of terms", [](DotRules& r) { r.cut = Cut::sticky_terms; }, shows_alignment, 35},
    {"nearest at alignment", [](DotRules& r) { r.cut = Cut::nearest_even; }, shows_alignment, 30},
    {"normalized products", [](DotRules& r) { r.normalized_products = true; }, shows_alignment, 3},
    {"flushed operands", [](DotRules& r) { r.flushed_operands = true; }, is_e4m3, 400},
    {"highest block first", [](DotRules& r) { r.highest_block_first = true; }, is_fused_fp8, 200},
    {"contiguous halves", [](DotRules& r) { r.contiguous_halves = true; }, is_expanded_to_fp16,
     200},
    {"C in the chain", [](DotRules& r) { r.c_in_chain = true; }, is_expanded, 350},
};

struct Job {
  const Set* set;
  const Rows* rows;
  const Wrong* wrong;  ///< null if all rules are right
  std::size_t mismatches = 0;
  std::exception_ptr failure{};
};

void run(Job& job) try {
  DotRules rules = rules_of(*job.set);
  if (job.wrong != nullptr) job.wrong->spoil(rules);
  job.mismatches = mismatches(*job.set, rules, *job.rows);
} catch (...) {
  job.failure = std::current_exception();
}

void run_all(std::vector<Job>& jobs) {
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    workers.emplace_back([&] {
      for (std::size_t j = next++; j < jobs.size(); j = next++) run(jobs[j]);
    });
  }
}

/// Returns whether the job's number of mismatches is as it must be, and prints it.
bool passes(const Job& job) {
  if (job.failure) std::rethrow_exception(job.failure);
  const bool right = job.wrong == nullptr;
  const bool good = right ? job.mismatches == 0 : job.mismatches >= job.wrong->at_least;
  std::printf("%-4s %-28s %-14s %5zu of %zu rows differ\n", good ? "ok" : "FAIL",
              right ? "the rules" : job.wrong->rule, name_of(*job.set).c_str(), job.mismatches,
              rows_per_set);
  return good;
}

int compare(const std::filesystem::path& folder) {
  std::vector<Rows> rows;
  for (const Set& set : sets) rows.push_back(load(folder, set));
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < std::size(sets); ++i) jobs.push_back({&sets[i], &rows[i], nullptr});
  const std::size_t right = jobs.size();
  for (const Wrong& wrong : wrong_rules) {
    for (std::size_t i = 0; i < std::size(sets); ++i) {
      if (wrong.must_show(sets[i])) jobs.push_back({&sets[i], &rows[i], &wrong});
    }
  }

  const auto start = std::chrono::steady_clock::now();
  run_all(jobs);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::size_t failures = 0;
  for (const Job& job : jobs) failures += passes(job) ? 0 : 1;
  std::printf("%zu rows of %zu sets; %zu times a rule set wrong; %.0f dot products a second\n",
              right * rows_per_set, right, jobs.size() - right,
              static_cast<double>(jobs.size() * rows_per_set) / seconds.count());
  const bool enough = right >= 48 && jobs.size() - right >= 350;
  if (!enough) std::puts("FAIL: fewer comparisons than there are to make");
  return failures == 0 && enough ? 0 : 1;
}

}  // namespace

int main() try {
  const char* named = std::getenv("BINADE_HW_VECTORS");
  const std::filesystem::path folder =
      named != nullptr ? std::filesystem::path(named)
                       : std::filesystem::path(BINADE_SOURCE_ROOT) / "../shared/hw_vectors";
  if (!std::filesystem::is_directory(folder)) {
    std::puts("the recorded rows are not here: nothing was compared");
    return 77;
  }
  return compare(folder);
} catch (const std::exception& error) {
  std::printf("FAIL: %s\n", error.what());
  return 1;
}

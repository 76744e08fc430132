// SPDX-License-Identifier: Apache-2.0
//
// Every kernel of every level against the definition, in the manner of dav1d's checkasm: bytes and
// counts; --bench also times the same calls, and --once makes each of a level's a single time, for
// whoever counts its instructions. Fails where a result differs, where a level's entry is another
// level's, where an entry of the table has no judge, and where a judge does not see each single
// wrong bit that is planted in what the highest level's kernel wrote.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <iterator>
#include <string>
#include <vector>

#include "lib/parallel/parallel.h"
#include "tests/kernels/judge.h"

#ifdef BINADE_HAVE_SIMDE
namespace binade {
extern const Kernels software_avx512_kernels;  // simde_avx512.cpp
}
#endif

namespace {

using namespace binade;
using namespace binade::kernel_test;

int failures = 0;

void fail(const std::string& what) {
  std::printf("  FAILED: %s\n", what.c_str());
  ++failures;
}

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Nanoseconds an element, the least of some passes of a millisecond or more.
double time_of(const Work& work, const Kernels& kernels) {
  work.run(kernels, work.variant);
  std::size_t calls = 1;
  double best = 1e9;
  for (int pass = 0; pass < 7; ++pass) {
    const double begin = thread_seconds();
    for (std::size_t i = 0; i < calls; ++i) work.run(kernels, work.variant);
    const double seconds = thread_seconds() - begin;
    if (seconds < 1e-3) {
      calls *= 2;
      --pass;
      continue;
    }
    best = std::min(best, seconds / static_cast<double>(calls) / static_cast<double>(work.n));
  }
  return 1e9 * best;
}

/// Single wrong bits in early, middle and late calls, in the first and in the last element, in
/// results and in counts: as many cases must differ. Calls apart by more than a case has.
std::vector<Fault> faults_among(std::uint64_t calls) {
  constexpr std::uint64_t apart = 4, together = 4;
  constexpr std::uint64_t span = apart * (together - 1);
  std::vector<Fault> out;
  for (const std::uint64_t first : {std::uint64_t{0}, calls / 2, calls - 1 - span}) {
    for (std::uint64_t i = 0; i < together; ++i) {
      out.push_back({first + i * apart, i % 2 != 0, i / 2 != 0});
    }
  }
  return out;
}

/// A row of the table, and the kernels that it gives, lower rows' included.
struct Row {
  std::string name;
  const Kernels* own = nullptr;
  Kernels kernels;
  bool is_here = true;         ///< the machine has what it asks for
  bool is_behind_door = true;  ///< kernels take the default floating-point environment
};

/// Judges a level's kernel with faults, among callers who flush subnormals or round otherwise,
/// which no result may show.
Verdict judged(const Entry& entry, const Row& row, std::vector<Fault> planted) {
  faults = {std::move(planted), 0, row.is_behind_door, 0, 0};
  return entry.judge(entry.with_faults(row.kernels));
}

/// How many differ among callers with the usual environment.
std::uint64_t differ_as_usual(const Entry& entry, const Row& row, std::vector<Fault> planted) {
  faults = {std::move(planted), 0, false, 0, 0};
  return entry.judge(entry.with_faults(row.kernels)).different;
}

/// The levels; and the highest once more in software, where the build has that.
std::vector<Row> rows_of_table() {
  std::vector<Row> out;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const auto level = static_cast<Level>(i);
    out.push_back(
        {std::string(levels[i].name), &own_kernels(level), kernels(level), machine_has(level)});
  }
#ifdef BINADE_HAVE_SIMDE
  Row software{"avx512 (SIMDe)", &software_avx512_kernels, kernels(Level::portable), true, false};
  const auto take = [&](const auto& row) {
    const auto entry = software_avx512_kernels.*row.entry;
    if (entry != nullptr) software.kernels.*row.entry = entry;
  };
  std::apply([&](const auto&... rows) { (take(rows), ...); }, kernel_names);
  out.push_back(software);
#endif
  return out;
}

bool is_judged(const Entry& entry, const Row& row) {
  return entry.has(*row.own) && !entry.is_judged_elsewhere(*row.own);
}

void judge(const Entry& entry, const std::vector<Row>& rows, std::size_t at) {
  const Row& row = rows[at];
  if (!is_judged(entry, row)) return;
  const bool has_twin = std::ranges::any_of(
      rows, [&](const Row& x) { return x.own != row.own && x.is_here && is_judged(entry, x); });
  if (row.own == &definitions() && has_twin) return;  // it is what its twins are held to
  if (!row.is_here) {
    std::printf("%-16s %-14s skipped: this machine has not what it asks for\n", entry.name.data(),
                row.name.c_str());
    return;
  }
  const std::string what = std::string(entry.name) + ", " + row.name;
  for (std::size_t other = 0; other < at; ++other) {
    if (entry.same(*row.own, *rows[other].own))
      fail(what + " has the kernel of " + rows[other].name);
  }
  const Verdict verdict = judged(entry, row, {});
  const std::uint64_t lost = faults.environments_lost, environments = faults.environments;
  std::printf("%-16s %-14s %10llu calls %12llu results %10llu different\n", entry.name.data(),
              row.name.c_str(), static_cast<unsigned long long>(verdict.calls),
              static_cast<unsigned long long>(verdict.values),
              static_cast<unsigned long long>(verdict.different));
  std::fflush(stdout);
  for (std::string found : verdict.found) fail(found.insert(0, what + ": "));
  if (faults.calls < 64) fail(what + ": hardly called");
  if (lost > 0) {
    fail(what + ": " + std::to_string(lost) + " of " + std::to_string(environments) +
         " calls changed the caller's environment");
  }
  if (verdict.different > 0) {
    fail(what + ": in the usual floating-point environment " +
         std::to_string(differ_as_usual(entry, row, {})) + " are different");
  }
}

/// The judge itself, on the highest row that has the entry.
void judge_the_judge(const Entry& entry, const std::vector<Row>& rows) {
  const auto last = std::ranges::find_if(rows.rbegin(), rows.rend(), [&](const Row& row) {
    return row.is_here && is_judged(entry, row);
  });
  if (last == rows.rend()) return;
  const std::vector<Fault> planted = faults_among(faults.calls);  // as many as its row had just now
  const std::uint64_t seen = judged(entry, *last, planted).different;
  if (seen == planted.size()) return;
  fail(std::string(entry.name) + ", " + last->name + ": its judge saw " + std::to_string(seen) +
       " of " + std::to_string(planted.size()) +
       " wrong bits, and in the usual floating-point environment " +
       std::to_string(differ_as_usual(entry, *last, planted)));
}

/// Every entry of the table has a judge, under its name.
void check_names(const std::vector<Entry>& entries) {
  const auto check = [&](const auto& row) {
    const bool judged =
        std::ranges::any_of(entries, [&](const Entry& entry) { return entry.name == row.name; });
    if (!judged) fail(std::string(row.name) + ": no judge");
  };
  std::apply([&](const auto&... rows) { (check(rows), ...); }, kernel_names);
}

void bench(const std::vector<Entry>& entries) {
  std::printf("\nnanoseconds an element or multiply-add%*s", 4, "");
  for (const NamedLevel& level : levels) std::printf("%12s", level.name.data());
  std::printf("\n");
  for (const Entry& entry : entries) {
    for (const Work& work : entry.works) {
      std::printf("%-16s %-25s", entry.name.data(), work.what.c_str());
      double reference = 0;
      bool is_slow = false;
      for (std::size_t level = 0; level < levels.size(); ++level) {
        const bool has = entry.has(own_kernels(static_cast<Level>(level)));
        if (!has || !machine_has(static_cast<Level>(level))) {
          std::printf("%12s", has ? "not measured" : "-");
          continue;
        }
        const double ns = time_of(work, kernels(static_cast<Level>(level)));
        if (level == 0) reference = ns;
        std::printf("%12.3f", ns);
        if (level > 0) std::printf("  %5.1f x", reference / ns);
        is_slow = is_slow || (level > 0 && reference < 3 * ns && entry.bound.empty());
        std::fflush(stdout);
      }
      std::printf("%s\n", is_slow ? "  below 3 x" : "");
    }
    const bool is_bound = !entry.bound.empty() && entry.has(own_kernels(Level::portable));
    if (is_bound) std::printf("%16s bound by %s\n", "", entry.bound.data());
  }
}

/// instruction_counts_test.py has the instructions of the one counted, and asks for their number
/// when the other is done, by these names.
[[gnu::noinline]] void counted_run(const Work& work, const Kernels& kernels) {
  work.run(kernels, work.variant);
}
[[gnu::noinline]] void tell_counted(const Entry& entry, const Work& work) {
  std::printf("%s\t%s\t%zu\n", entry.name.data(), work.what.c_str(), work.n);
}

/// Each call of the level's own kernels once, inputs made before: below the compiler's a line for
/// each, of entry, work and how many elements, with tabs between. Code 77 where the machine has not
/// what the level asks for.
int run_once(const std::vector<Entry>& entries, std::string_view level_name) {
  const auto* row = std::ranges::find(levels, level_name, &NamedLevel::name);
  if (row == levels.end()) return 2;
  const auto level = row->level;
  if (!machine_has(level)) return 77;
#ifdef __clang__
  std::printf("clang %d\n", __clang_major__);
#else
  std::printf("gcc %d\n", __GNUC__);
#endif
  for (const Entry& entry : entries) {
    if (!entry.has(own_kernels(level))) continue;
    for (const Work& work : entry.works) {
      work.run(kernels(level), work.variant);
      counted_run(work, kernels(level));
      tell_counted(entry, work);
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  bool timed = false;
  std::string only, once;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--bench") {
      timed = true;
    } else if (word == "--once" && i + 1 < argc) {
      once = argv[++i];
    } else if (word[0] != '-' && only.empty()) {
      only = word;
    } else {
      std::printf("usage: %s [--bench | --once LEVEL] [ENTRY]\n", argv[0]);
      return 2;
    }
  }
  std::vector<Entry> entries = array_entries();
  for (std::vector<Entry> more :
       {elementwise_entries(), block_entries(), counting_entries(), histogram_entries(),
        nonfinite_entries(), product_entries(), sum_entries()}) {
    std::ranges::move(more, std::back_inserter(entries));
  }
  check_names(entries);
  if (!only.empty()) {
    std::erase_if(entries, [&](const Entry& entry) { return !entry.name.starts_with(only); });
    if (entries.empty()) {
      std::printf("no kernel %s\n", only.c_str());
      return 2;
    }
  }
  if (!once.empty()) return run_once(entries, once);
  const std::vector<Row> rows = rows_of_table();
  for (const Entry& entry : entries) {
    for (std::size_t row = 0; row < rows.size(); ++row) judge(entry, rows, row);
    judge_the_judge(entry, rows);
  }
  if (timed) bench(entries);
  return failures == 0 ? 0 : 1;
}

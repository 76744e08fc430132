// SPDX-License-Identifier: Apache-2.0
//
// The kernels' `quantize` on all 2^32 floats against digests of the definition's results
// (quantize_digest.h), which quantize_digests.txt holds. Where one differs, the definition is run
// to find the first element or count that differs. `--slice N` tests every N-th block of each row,
// beginning with another block in each. `--level NAME` tests one level instead of all except
// `reference`. `--digests FILE` reads another file. `--threads N`. The exit status is 0 if all are
// equal, 1 if some differ, 2 for a fault, and 77 if this machine lacks the level.
//
// `--write FILE --revision NAME` writes the definition's digests to the file; rows that the file
// has of that revision are kept. Each row's format and attributes are known at compile time. With
// GCC 12 that takes 5 to 8 ns for a float, 20 with stochastic rounding.
#include "tests/slow/quantize_digest.h"

#include <algorithm>
#include <fstream>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lib/io/atomic_file.h"
#include "lib/parallel/parallel.h"
#include "tests/outside/patterns.h"

namespace {

using namespace binade;
using namespace binade::quantize_digest;

using Row = std::array<std::uint64_t, blocks>;

/// The definition of quantize for a row.
template <std::size_t row>
[[gnu::flatten]] void defined(const float* in, float* out, std::size_t n, std::uint64_t first,
                              const Quantizer&, EventCounts& counts) {
  static constexpr Quantizer to = quantizer_of(row);
  EventCounts own;
  quantize(in, out, n, first, to, own);
  counts += own;
}

constexpr std::array<Quantize, rows> definition_by_row =
    []<std::size_t... row>(std::index_sequence<row...>) {
  return std::array<Quantize, rows>{&defined<row>...};
}
(std::make_index_sequence<rows>{});

template <class... Values>
std::string text(const char* format, Values... values) {
  std::array<char, 256> out;
  std::snprintf(out.data(), out.size(), format, values...);
  return out.data();
}

constexpr std::string_view revision_line = "# Revision: ";
constexpr std::size_t per_line = 8;
constexpr std::size_t digits_of_word = 16;

struct Digests {
  std::string revision;  ///< revision of the definition that made them
  std::array<std::optional<Row>, rows> row;
};

Digests read(const std::string& path) {
  Digests out;
  std::array<std::vector<std::uint64_t>, rows> found;
  std::vector<std::uint64_t>* row = nullptr;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(revision_line)) out.revision = line.substr(revision_line.size());
    if (line.empty() || line[0] == '#') continue;
    if (line[0] != ' ') {
      std::size_t i = 0;
      while (i < rows && title_of(i) != line) ++i;
      if (i == rows) throw std::runtime_error(path + text(": no such row: %s", line.c_str()));
      row = &found[i];
      continue;
    }
    std::istringstream words(line);
    for (std::string word; row != nullptr && words >> word;) {
      const std::size_t star = std::min(word.find('*'), word.size());
      if (star != digits_of_word) break;  // the last word of a file that was cut off
      const std::size_t times = star == word.size() ? 1 : std::stoull("0" + word.substr(star + 1));
      row->insert(row->end(), times, std::stoull(word, nullptr, 16));
    }
  }
  for (std::size_t i = 0; i < rows; ++i) {
    if (found[i].size() != blocks) continue;  // the row is absent or incomplete
    std::ranges::copy(found[i], out.row[i].emplace().begin());
  }
  return out;
}

/// Writes digests that follow each other often as "digest*times".
void write(std::ostream& file, std::size_t row, const Row& digests) {
  file << title_of(row);
  std::size_t word = 0;
  for (std::size_t k = 0, times = 0; k < blocks; k += times) {
    for (times = 1; k + times < blocks && digests[k + times] == digests[k];) ++times;
    if (word++ % per_line == 0) file << '\n';
    file << text(" %016llx", static_cast<unsigned long long>(digests[k]));
    if (times > 1) file << '*' << times;
  }
  file << '\n';
}

void write(const std::string& path, const std::string& revision, const std::string& command,
           unsigned threads) {
  if (revision.empty()) throw std::runtime_error("--write needs --revision");
  Digests digests = read(path);
  if (digests.revision != revision) digests = {};
  std::ostringstream file;
  file
      << "# SPDX-License-Identifier: Apache-2.0\n#\n"
         "# What the definition, `quantize` of emulate/quantize.h, makes of all 2^32 floats: for "
         "each format and\n"
         "# rounding a digest of results and counts for every 2^24 encodings (quantize_digest.h).\n"
         "# Command: "
      << command << '\n'
      << revision_line << revision << '\n';
  for (std::size_t row = 0; row < rows; ++row) {
    if (digests.row[row]) write(file, row, *digests.row[row]);
  }
  for (std::size_t row = 0; row < rows; ++row) {
    if (digests.row[row]) continue;
    std::fprintf(stderr, "%2zu of %zu: %s\n", row + 1, rows, title_of(row).c_str());
    Row out;
    outside::in_parallel(threads, blocks, [&](std::uint64_t k) {
      out[k] = digest_of(definition_by_row[row], row, k);
    });
    write(file, row, out);
    write_file(path, file.str());  // an interruption leaves all rows that are done
  }
}

/// Returns the first difference of a block from the definition: a float, or the counts of a part.
std::string first_difference(Quantize quantize, std::size_t row, std::size_t block) {
  const Quantizer to = quantizer_of(row);
  std::array<float, part> in, got, want;
  const std::uint64_t begin = block * block_size;
  for (std::uint64_t first = begin; first < begin + block_size; first += part) {
    fill(in.data(), first);
    EventCounts got_counts, want_counts;
    quantize(in.data(), got.data(), part, first, to, got_counts);
    definition_by_row[row](in.data(), want.data(), part, first, to, want_counts);
    const auto hex = [](float x) { return std::bit_cast<std::uint32_t>(x); };
    for (std::size_t i = 0; i < part; ++i) {
      if (hex(got[i]) == hex(want[i])) continue;
      return text("0x%08X (%.9g) becomes 0x%08X, by the definition 0x%08X", hex(in[i]),
                  static_cast<double>(in[i]), hex(got[i]), hex(want[i]));
    }
    for (const CountName& x : count_names) {
      if (got_counts.*x.count == want_counts.*x.count) continue;
      return text("%s of 0x%08X to 0x%08X is %llu, by the definition %llu", x.name, hex(in.front()),
                  hex(in.back()), static_cast<unsigned long long>(got_counts.*x.count),
                  static_cast<unsigned long long>(want_counts.*x.count));
    }
  }
  return "nothing differs from the definition: the digests are another's, write them again";
}

/// Returns how many changes of a block its digest overlooks, over a few tiles: each bit of every
/// float, the exchange of each two floats of a tile or of two tiles, and each count.
std::uint64_t overlooked() {
  constexpr std::size_t tiles = 3;
  std::array<float, tiles * tile> out;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(i + 1);
  EventCounts counts;
  const auto digest = [&] {
    Digest x;
    for (std::size_t i = 0; i < tiles; ++i) x.add_tile(out.data() + i * tile);
    x.add(counts);
    return x.value();
  };
  const std::uint64_t whole = digest();
  std::uint64_t same = 0;
  for (float& x : out) {
    const float was = x;
    for (int bit = 0; bit < 32; ++bit) {
      x = std::bit_cast<float>(std::bit_cast<std::uint32_t>(was) ^ 1U << bit);
      same += digest() == whole ? 1 : 0;
    }
    x = was;
  }
  for (std::size_t i = 0; i < tile; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      std::swap(out[tile + i], out[tile + j]);
      same += digest() == whole ? 1 : 0;
      std::swap(out[tile + i], out[tile + j]);
    }
  }
  std::swap_ranges(out.begin(), out.begin() + tile, out.begin() + tile);
  same += digest() == whole ? 1 : 0;
  std::swap_ranges(out.begin(), out.begin() + tile, out.begin() + tile);
  for (const CountName& x : count_names) {
    counts.*x.count += 1;
    same += digest() == whole ? 1 : 0;
    counts.*x.count -= 1;
  }
  return same + (digest() == whole ? 0 : 1);
}

/// The faults of wrong kernels in the block of 1.0, which the test must find.
enum class Fault { one_bit, exchanged, one_count };
constexpr std::uint64_t faulty_row = 0, faulty_block = 0x3F, faulty_first = 0x3F804000;

template <Fault fault>
void faulty(const float* in, float* out, std::size_t n, std::uint64_t first, const Quantizer& to,
            EventCounts& counts) {
  kernels(Level::portable).quantize_f32(in, out, n, first, to, counts);
  if (first != faulty_first) return;
  if (fault == Fault::one_bit) {
    out[5] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(out[5]) ^ 1);
  }
  if (fault == Fault::exchanged) std::swap(out[4], out[n - 1]);
  if (fault == Fault::one_count) counts.subnormal += 1;
}

struct PlantedFault {
  Quantize quantize;
  std::string_view told;
};
constexpr std::array<PlantedFault, 3> planted_faults{{
    {&faulty<Fault::one_bit>,
     "0x3F804005 (1.00195372) becomes 0x3F804001, by the definition 0x3F804000"},
    {&faulty<Fault::exchanged>,
     "0x3F804004 (1.0019536) becomes 0x3F808000, by the definition 0x3F804000"},
    {&faulty<Fault::one_count>, "subnormal of 0x3F804000 to 0x3F807FFF is 1, by the definition 0"},
}};

/// Returns how many faults the test would not report.
std::uint64_t untold() {
  const std::uint64_t digest =
      digest_of(kernels(Level::portable).quantize_f32, faulty_row, faulty_block);
  std::uint64_t out = 0;
  for (const PlantedFault& x : planted_faults) {
    const bool differs = digest_of(x.quantize, faulty_row, faulty_block) != digest;
    const std::string told = first_difference(x.quantize, faulty_row, faulty_block);
    if (differs && told == x.told) continue;
    std::printf("a planted fault is told as: %s\n", told.c_str());
    out += 1;
  }
  return out;
}

/// Returns the blocks of a row that belong to the slice. If N is not above the number of rows, each
/// block is tested in some row.
std::vector<std::size_t> blocks_of(std::size_t row, std::uint64_t slice) {
  std::vector<std::size_t> out;
  for (std::uint64_t k = row * 11 % slice; k < blocks; k += slice) out.push_back(k);
  return out;
}

/// Returns whether a level's kernel gives the digests.
bool has_digests(Level level, const Digests& digests, const outside::Options& options) {
  const Quantize quantize = kernels(level).quantize_f32;
  std::size_t compared = 0, wrong = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::string title = title_of(row);
    if (!digests.row[row]) {
      std::printf("%s: the file lacks this row\n", title.c_str());
      wrong += 1;
      continue;
    }
    const std::vector<std::size_t> tried = blocks_of(row, options.slice);
    std::vector<std::size_t> different;
    std::mutex mutex;
    outside::in_parallel(options.threads, tried.size(), [&](std::uint64_t i) {
      const std::size_t k = tried[i];
      if (digest_of(quantize, row, k) == (*digests.row[row])[k]) return;
      const std::scoped_lock lock(mutex);
      different.push_back(k);
    });
    std::printf("%-9s %-92s %3zu blocks, %zu different\n", level_name(level).data(), title.c_str(),
                tried.size(), different.size());
    if (!different.empty()) {
      const std::size_t k = std::ranges::min(different);
      std::printf("  block %zu: %s\n", k, first_difference(quantize, row, k).c_str());
    }
    std::fflush(stdout);
    compared += tried.size();
    wrong += different.size();
  }
  return compared > 0 && wrong == 0;
}

int check(const std::string& path, const std::string& level_name, const outside::Options& options) {
  const Digests digests = read(path);
  const std::uint64_t unseen = overlooked();
  const std::uint64_t unheard = untold();
  std::printf("changes that digests overlook %llu, planted faults untold %llu\n",
              static_cast<unsigned long long>(unseen), static_cast<unsigned long long>(unheard));
  bool equal = unseen + unheard == 0, known = false, any = false;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const auto level = static_cast<Level>(i);
    const bool is_twin = level != Level::reference && own_kernels(level).quantize_f32 != nullptr;
    const bool asked = level_name.empty() ? is_twin : level_name == levels[i].name;
    if (!asked) continue;
    known = true;
    if (!machine_has(level)) {
      std::printf("%s: this machine has not what it asks for\n", levels[i].name.data());
      continue;
    }
    any = true;
    equal = has_digests(level, digests, options) && equal;
  }
  if (!known) throw std::runtime_error(text("no such level: %s", level_name.c_str()));
  if (!any && equal) return 77;
  return equal ? 0 : 1;
}

std::string option(int argc, char** argv, std::string_view name, std::string value) {
  for (int i = 1; i + 1 < argc; i += 2) {
    if (name == argv[i]) value = argv[i + 1];
  }
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const outside::Options options = outside::options_of(argc, argv);
    const std::string path = option(argc, argv, "--write", "");
    if (path.empty()) {
      const char* const committed = BINADE_SOURCE_ROOT "/tests/slow/quantize_digests.txt";
      return check(option(argc, argv, "--digests", committed), option(argc, argv, "--level", ""),
                   options);
    }
    std::string command;
    for (int i = 0; i < argc; ++i) command += (i == 0 ? "" : " ") + std::string(argv[i]);
    write(path, option(argc, argv, "--revision", ""), command, options.threads);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "quantize_digest_test: %s\n", error.what());
    return 2;
  }
}

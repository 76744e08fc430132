// SPDX-License-Identifier: Apache-2.0
//
// The rows, and the columns, of the exact product that those of D are near to.
#include "lib/identify/moved_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>

#include "lib/identify/change_fit.h"
#include "lib/identify/run_scales.h"
#include "lib/number/spread_places.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

constexpr std::size_t most_lines_moved = 8192;   // rows of D whose places are searched
constexpr std::size_t most_lines_scaled = 1024;  // and where they keep their scales

/// The words for rows (or columns) that hold others: line i holds what line from[i] should.
std::string moved_words(const char* noun, const std::vector<std::size_t>& from) {
  const std::size_t n = from.size();
  const auto all = [&](auto place) {
    for (std::size_t i = 0; i < n; ++i) {
      if (from[i] != place(i)) return false;
    }
    return true;
  };
  if (all([n](std::size_t i) { return n - 1 - i; })) {
    return fmt::format("{}s in the reverse order", noun);
  }
  const std::size_t shift = from[0];
  if (shift != 0 && std::has_single_bit(shift) && all([&](std::size_t i) { return i ^ shift; })) {
    return fmt::format("{}s exchanged in blocks of {}", noun, shift);
  }
  if (shift != 0 && all([&](std::size_t i) { return (i + shift) % n; })) {
    const bool on = shift <= n / 2;
    return fmt::format("{}s shifted by {}: {} i holds {} i {} {}", noun, on ? shift : n - shift,
                       noun, noun, on ? "+" : "-", on ? shift : n - shift);
  }
  std::string out;
  std::size_t told = 0;
  for (std::size_t i = 0; i < n;) {
    std::size_t end = i + 1;
    while (end < n && from[end] - end == from[i] - i) ++end;
    if (from[i] != i) {
      if (told++ == 4) return out + " …";
      out += out.empty() ? fmt::format("{}s in other places: ", noun) : ", ";
      out += end == i + 1 ? fmt::format("{} holds {}", i, from[i])
                          : fmt::format("{}..{} hold {}..{}", i, end - 1, from[i], from[end - 1]);
    }
    i = end;
  }
  return out;
}

/// What of a line, a row of A or a column of B, is another line's.
struct MovedLine {
  const char* words;
  bool data, scales;
};
constexpr MovedLine moved_kinds[]{{"", true, true},
                                  {", without their scales", true, false},
                                  {", of the scales alone", false, true}};

/// Exact sums, nearly, of a line's data under another line's scales, without C and the bias.
class LineSums {
 public:
  LineSums(const KernelCase& part, bool rows)
      : run_(part.run),
        rows_(rows),
        others_(rows ? run_.n : run_.m),
        length_(run_.runs.any() ? run_.runs.length : run_.k),
        count_((run_.k + length_ - 1) / length_),
        sums_((rows ? run_.m : run_.n) * others_ * count_),
        sizes_(sums_.size()) {
    const std::vector<double> own =
        rows ? numbers_of(run_.a, part.types.a) : numbers_of(run_.b, part.types.b);
    const std::vector<double> other = scaled_numbers(part, rows);
    const auto& scales = rows ? run_.b_scale : run_.a_scale;
    parallel_for(sums_.size() / count_, 16, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t at = begin; at < end; ++at) {
        const double* const x = own.data() + at / others_ * run_.k;
        const double* const y = other.data() + at % others_ * run_.k;
        const double factor =
            part.epilogue.alpha * (scales.empty() ? 1 : number_in(scales[at % others_], binary32));
        for (std::size_t k = 0; k < run_.k; ++k) {
          const double product = factor * x[k] * y[k];
          sums_[at * count_ + k / length_] += product;
          sizes_[at * count_ + k / length_] += std::abs(product);
        }
      }
    });
  }

  struct Sum {
    double exact, size;
  };
  Sum of(std::size_t data, std::size_t scales, std::size_t other) const {
    const auto& of_runs = rows_ ? run_.runs.a : run_.runs.b;
    const auto& of_line = rows_ ? run_.a_scale : run_.b_scale;
    const double factor = of_line.empty() ? 1 : number_in(of_line[scales], binary32);
    Sum out{0, 0};
    for (std::size_t r = 0; r < count_; ++r) {
      const std::size_t at = (data * others_ + other) * count_ + r;
      const double scale =
          factor * (of_runs.empty() ? 1 : std::bit_cast<float>(of_runs[scales * count_ + r]));
      out.exact += scale * sums_[at];
      out.size += std::abs(scale) * sizes_[at];
    }
    return out;
  }

 private:
  const KernelRun& run_;
  bool rows_;
  std::size_t others_, length_, count_;
  std::vector<double> sums_, sizes_;
};

/// Finds the lines that those of D are near to, where data or scales of others stand in them.
class LinePlaces {
 public:
  LinePlaces(const KernelCase& given, bool rows) : given_(given), rows_(rows) {
    const KernelRun& run = given.run;
    std::vector<std::size_t> every(rows ? run.m : run.n);
    std::iota(every.begin(), every.end(), std::size_t{0});
    const std::vector<std::size_t> others = spread_places(rows ? run.n : run.m, most_others);
    part_ = part_of(given, {}, rows ? every : others, rows ? others : every, false);
  }

  /// Returns for each line the one it is near to; their number where there is none.
  std::vector<std::size_t> of(const MovedLine& moved) const {
    const KernelRun& run = part_.run;
    const std::size_t lines = rows_ ? run.m : run.n, others = rows_ ? run.n : run.m;
    const LineSums sums(part_, rows_);
    // Sums of FP8 are cut to 13 fraction bits on sm_89 and sm_90.
    const Format& f = part_.types.a;
    const double off = !is_integer(f) && f.bits() <= 8 ? 0x1p-11 : 0x1p-16;
    std::vector<std::size_t> from(lines, lines);
    parallel_for(lines, 1, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t i = begin; i < end; ++i) {
        // Returns how far off a line is, in what may be off; nothing if it is not near.
        const auto distance = [&](std::size_t line) -> std::optional<double> {
          std::size_t wrong = 0;
          double sum = 0;
          for (std::size_t o = 0; o < others; ++o) {
            const std::size_t at = rows_ ? i * run.n + o : o * run.n + i;
            const auto [exact, size] = sums.of(moved.data ? line : i, moved.scales ? line : i, o);
            const double wanted = exact + addend(at);
            const double error = std::abs(number_in(run.d[at], part_.types.d) - wanted);
            const double most = 2 * ulp_at(wanted, part_.types.d) + off * size;
            wrong += error <= most ? 0U : 1U;
            sum += std::min(error / most, 2.0);
            if (5 * wrong > others) return std::nullopt;
          }
          return sum;
        };
        std::optional<double> least;
        for (std::size_t line = 0; line < lines; ++line) {
          const std::optional<double> one = distance((i + line) % lines);  // its own place first
          if (!one || (least && *one >= *least)) continue;
          least = one;
          from[i] = (i + line) % lines;
        }
      }
    });
    return from;
  }

 private:
  static constexpr std::size_t most_others = 24;

  /// C and the bias, as they are added to an element.
  double addend(std::size_t at) const {
    const KernelRun& run = part_.run;
    double out = 0;
    if (!run.c.empty()) out += given_.epilogue.beta * number_in(run.c[at], part_.types.c);
    if (!run.bias.empty()) out += number_in(run.bias[run.column(at)], part_.types.bias);
    return out;
  }

  const KernelCase& given_;
  bool rows_;
  KernelCase part_;
};

void add_moved(std::vector<Change>& out, const KernelCase& given, bool rows) {
  const KernelRun& run = given.run;
  const std::size_t lines = rows ? run.m : run.n;
  const std::size_t others = rows ? run.n : run.m;
  if (lines < 2 || lines > most_lines_moved || others < 3) return;
  const auto& of_runs = rows ? run.runs.a : run.runs.b;
  const auto& scales = rows ? run.a_scale : run.b_scale;
  const bool has_scales = !of_runs.empty() || !scales.empty();
  const LinePlaces places(given, rows);
  for (const MovedLine& moved : moved_kinds) {
    const bool is_whole = moved.data && moved.scales;
    if (!is_whole && (!has_scales || lines > most_lines_scaled)) continue;
    std::vector<std::size_t> from = places.of(moved);
    std::size_t count = 0, found = 0;
    for (std::size_t i = 0; i < lines; ++i) {
      if (from[i] == lines) {
        from[i] = i;
        continue;
      }
      ++found;
      if (from[i] != i) ++count;
    }
    if (count == 0 || 2 * found < lines) continue;
    Change change{.words = moved_words(rows ? "row" : "column", from) + moved.words};
    const auto moved_line = [from](const auto& all, std::size_t width) {
      return [&all, from, width](std::size_t line, std::size_t at) {
        return all[from[line] * width + at];
      };
    };
    if (moved.data) (rows ? change.a : change.b) = moved_line(rows ? run.a : run.b, run.k);
    if (moved.scales && !of_runs.empty()) {
      (rows ? change.a_runs : change.b_runs) = moved_line(of_runs, run.runs.count(run.k));
    }
    if (moved.scales && !scales.empty()) {
      (rows ? change.a_scale : change.b_scale) = [&scales, from](std::size_t line) {
        return scales[from[line]];
      };
    }
    out.push_back(std::move(change));
  }
}

}  // namespace

std::vector<Change> moved_lines(const KernelCase& given) {
  std::vector<Change> out;
  if (given.run.dots) return out;
  add_moved(out, given, true);
  add_moved(out, given, false);
  return out;
}

}  // namespace binade

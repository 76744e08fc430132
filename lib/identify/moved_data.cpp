// SPDX-License-Identifier: Apache-2.0
//
// A move is a map of places. Maps are many and cheap to refute: each is tried on a few elements
// that are far off, and most fail at the first.
#include "lib/identify/moved_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string_view>
#include <utility>

#include "lib/identify/change_fit.h"
#include "lib/identify/run_scales.h"
#include "lib/number/spread_places.h"

namespace binade {
namespace {

constexpr std::size_t nowhere = SIZE_MAX;  // beyond the end of a matrix, where a kernel reads 0
constexpr std::size_t most_moves = 6;

/// Index in an operand's array of what stands for element k of a line: a row of A, a column of B.
using OperandPlace = std::function<std::size_t(std::size_t line, std::size_t k)>;

struct MovedData {
  std::string words;
  OperandPlace a = {}, b = {};
  std::function<std::size_t(std::size_t at)> d = {};
};

/// A matrix as it may lie in memory, row after row.
struct MemoryLayout {
  std::size_t rows, columns;
  bool columns_first;  ///< of an operand: the rows in memory are those of k
  std::string note;    ///< says that it is not the layout of the files

  std::size_t size() const { return rows * columns; }
};

/// Where the element in a row and a column of the memory is taken from, as an index in the memory.
struct Move {
  std::string before, after;  ///< words before and after the name of the matrix
  std::function<std::size_t(std::size_t row, std::size_t column)> place;
};

/// A place by its row and column.
using RowAndColumn = std::pair<std::size_t, std::size_t>;

/// Moves inside of square blocks of several sides: `place` is where the element in row r and column
/// c is taken from.
template <class Place>
std::vector<Move> in_square_blocks(const MemoryLayout& of, std::string_view before,
                                   std::string_view after, const Place& place) {
  std::vector<Move> out;
  for (const std::size_t side : {4, 8, 16, 32, 64}) {
    if (of.rows < side || of.columns < side) continue;
    out.push_back({fmt::format("{0}each {1}x{1} block of ", before, side), std::string(after),
                   [of, side, place](std::size_t r, std::size_t c) {
                     const auto [row, column] = place(r, c, side);
                     const bool inside = row < of.rows && column < of.columns;
                     return inside ? row * of.columns + column : nowhere;
                   }});
  }
  return out;
}

/// Each square block transposed.
std::vector<Move> transposed_blocks(const MemoryLayout& of) {
  return in_square_blocks(of, "", " transposed",
                          [](std::size_t r, std::size_t c, std::size_t side) {
                            return RowAndColumn{r - r % side + c % side, c - c % side + r % side};
                          });
}

/// In each square block, the quarter above and right of its middle exchanged with the one below and
/// left: registers of a fragment in another order.
std::vector<Move> exchanged_quarters(const MemoryLayout& of) {
  return in_square_blocks(
      of, "in ", ", the quarters beside the diagonal exchanged",
      [](std::size_t r, std::size_t c, std::size_t side) {
        const std::size_t half = side / 2;
        const bool lower = r / half % 2 != 0, right = c / half % 2 != 0;
        if (lower == right) return RowAndColumn{r, c};
        return lower ? RowAndColumn{r - half, c + half} : RowAndColumn{r + half, c - half};
      });
}

/// Tiles numbered by columns where they are placed by rows, or the other way round.
std::vector<Move> renumbered_tiles(const MemoryLayout& of) {
  std::vector<Move> out;
  for (const std::size_t side : {8, 16, 32, 64, 128}) {
    const std::size_t down = of.rows / side, across = of.columns / side;
    if (of.rows % side != 0 || of.columns % side != 0 || down < 2 || across < 2) continue;
    for (const bool by_rows : {true, false}) {
      if (!by_rows && down == across) continue;  // the same
      const char* const after = by_rows ? " stored in the order of columns of tiles"
                                        : " stored in the order of rows of tiles, as columns";
      out.push_back(
          {fmt::format("tiles of {0}x{0} of ", side), after, [=](std::size_t r, std::size_t c) {
             const std::size_t i = r / side, j = c / side;
             const std::size_t number = by_rows ? j * down + i : i * across + j;
             const std::size_t row = by_rows ? number / across : number % down;
             const std::size_t column = by_rows ? number % across : number / down;
             return (row * side + r % side) * of.columns + column * side + c % side;
           }});
    }
  }
  return out;
}

/// Rows at another distance than their length.
std::vector<Move> other_strides(const MemoryLayout& of, std::array<std::size_t, 3> dimensions,
                                const char* verb) {
  const std::size_t own = of.columns;
  std::vector<std::size_t> strides{own / 2, 2 * own};
  for (std::size_t by = 1; by <= 16; ++by) {
    strides.push_back(own + by);
    if (by < own) strides.push_back(own - by);
  }
  for (std::size_t unit = 8; unit <= 512; unit *= 2) {
    strides.push_back((own + unit - 1) / unit * unit);
    strides.push_back(own / unit * unit);
  }
  strides.push_back(std::bit_floor(own));
  strides.push_back(std::bit_ceil(own));
  strides.insert(strides.end(), dimensions.begin(), dimensions.end());
  std::ranges::sort(strides);
  const auto [end, last] = std::ranges::unique(strides);
  strides.erase(end, last);
  std::vector<Move> out;
  for (const std::size_t stride : strides) {
    if (stride == own || stride == 0) continue;
    out.push_back({"", fmt::format("'s rows of {} {} with a stride of {}", own, verb, stride),
                   [of, stride](std::size_t r, std::size_t c) {
                     const std::size_t flat = r * stride + c;
                     return flat < of.size() ? flat : nowhere;
                   }});
  }
  return out;
}

/// Everything some elements further on or back, across the ends of rows.
std::vector<Move> other_starts(const MemoryLayout& of, const char* verb) {
  constexpr std::size_t most = 16;
  std::vector<Move> out;
  for (std::size_t by = 1; by <= most; ++by) {
    for (const bool on : {true, false}) {
      if (by % of.columns == 0) continue;  // whole rows
      out.push_back({"",
                     fmt::format(" {} {} element{} {} in memory", verb, by, by == 1 ? "" : "s",
                                 on ? "further on" : "before its place"),
                     [of, by, on](std::size_t r, std::size_t c) {
                       const std::size_t flat = r * of.columns + c;
                       if (!on) return flat < by ? nowhere : flat - by;
                       return flat + by < of.size() ? flat + by : nowhere;
                     }});
    }
  }
  return out;
}

/// Chunks of a row exchanged by the row's number, as shared memory is swizzled.
std::vector<Move> swizzled_rows(const MemoryLayout& of) {
  std::vector<Move> out;
  for (const std::size_t chunk : {2, 4, 8, 16, 32}) {
    for (const std::size_t chunks : {2, 4, 8}) {
      for (const std::size_t rows : {1, 2, 4}) {
        if (of.columns < chunk * chunks || of.rows <= rows) continue;
        const std::string row = rows == 1 ? "row" : fmt::format("row / {}", rows);
        out.push_back({"",
                       fmt::format(" swizzled on one side alone: in each row, chunk c of {} is "
                                   "chunk c xor ({} mod {})",
                                   chunk, row, chunks),
                       [of, chunk, chunks, rows](std::size_t r, std::size_t c) {
                         const std::size_t by = r / rows % chunks;
                         const std::size_t column = (c / chunk ^ by) * chunk + c % chunk;
                         return column < of.columns ? r * of.columns + column : nowhere;
                       }});
      }
    }
  }
  return out;
}

/// The same where one side goes by the row and the other by its half or its quarter.
std::vector<Move> swizzled_twice(const MemoryLayout& of) {
  std::vector<Move> out;
  for (const std::size_t chunk : {2, 4, 8, 16, 32}) {
    for (const std::size_t chunks : {2, 4, 8}) {
      for (const auto& [first, second] : {std::pair{1, 2}, std::pair{1, 4}, std::pair{2, 4}}) {
        const auto one = static_cast<std::size_t>(first), other = static_cast<std::size_t>(second);
        if (of.columns < chunk * chunks || of.rows <= other) continue;
        out.push_back({"",
                       fmt::format(" swizzled in two ways, in chunks of {}: on one side by {}, on "
                                   "the other by row / {}, mod {}",
                                   chunk, one == 1 ? "row" : "row / 2", other, chunks),
                       [of, chunk, chunks, one, other](std::size_t r, std::size_t c) {
                         const std::size_t by = (r / one ^ r / other) % chunks;
                         const std::size_t column = (c / chunk ^ by) * chunk + c % chunk;
                         return column < of.columns ? r * of.columns + column : nowhere;
                       }});
      }
    }
  }
  return out;
}

/// Elements of D that are far off, by which moves are tried.
class FarElements {
 public:
  FarElements(const KernelCase& given, std::span<const std::size_t> elements)
      : given_(given), run_(given.run), in_a_(given.types.a), in_b_(given.types.b) {
    constexpr std::size_t sampled = 512, kept = 16;
    for (const std::size_t at : some_elements(run_, elements, sampled)) {
      // An element without a sum would be near to all moves that read nothing but zeros.
      if (number_in(run_.d[at], given.types.d) != 0 && !is_near({}, at)) far_.push_back(at);
    }
    std::vector<std::size_t> some;
    for (const std::size_t i : spread_places(far_.size(), kept)) some.push_back(far_[i]);
    far_ = std::move(some);
  }
  bool are_enough() const { return far_.size() >= 4; }

  /// How many come near; 0 as soon as it is clear that less than half do.
  std::size_t near_by(const MovedData& x) const {
    constexpr std::size_t first_tried = 4;
    std::size_t near = 0, tried = 0;
    for (const std::size_t at : far_) {
      near += is_near(x, at) ? 1U : 0U;
      if (++tried == first_tried && near == 0) return 0;
    }
    return 2 * near >= far_.size() ? near : 0;
  }

 private:
  /// Looser than binade::is_near: accumulators of any width are near.
  bool is_near(const MovedData& x, std::size_t at) const {
    const KernelTypes& t = given_.types;
    const std::size_t i = run_.row(at), j = run_.column(at);
    const auto number = [](const std::vector<std::uint64_t>& codes, std::size_t place,
                           const NumbersIn& in) { return place == nowhere ? 0 : in(codes[place]); };
    double sum = 0, size = 0, of_a = 1, of_b = 1;
    for (std::size_t k = 0; k < run_.k; ++k) {
      if (run_.runs.any() && k % run_.runs.length == 0) {
        of_a = run_factor(run_, false, i, k);
        of_b = run_factor(run_, true, j, k);
      }
      const double a = of_a * number(run_.a, x.a ? x.a(i, k) : i * run_.k + k, in_a_);
      const double b = of_b * number(run_.b, x.b ? x.b(j, k) : j * run_.k + k, in_b_);
      sum += a * b;
      size += std::abs(a * b);
    }
    double factor = given_.epilogue.alpha;
    if (!run_.a_scale.empty()) factor *= number_in(run_.a_scale[i], binary32);
    if (!run_.b_scale.empty()) factor *= number_in(run_.b_scale[j], binary32);
    sum *= factor;
    size *= std::abs(factor);
    if (!run_.c.empty()) sum += given_.epilogue.beta * number_in(run_.c[at], t.c);
    if (!run_.bias.empty()) sum += number_in(run_.bias[j], t.bias);
    const std::size_t place = x.d ? x.d(at) : at;
    if (place == nowhere) return false;
    const double found = number_in(run_.d[place], t.d);
    return found == sum || std::abs(found - sum) <= 1.01 * ulp_at(sum, t.d) + 0x1p-12 * size;
  }

  const KernelCase& given_;
  const KernelRun& run_;
  NumbersIn in_a_, in_b_;
  std::vector<std::size_t> far_;
};

class MovedDataSearch {
 public:
  MovedDataSearch(const KernelCase& given, std::span<const std::size_t> elements)
      : given_(given), run_(given.run), far_(given, elements) {}

  std::vector<Change> take() {
    if (!far_.are_enough()) return {};
    const std::size_t m = run_.m, n = run_.n, k = run_.k;
    of_operand(true, {m, k, false, ""}, {k, m, true, " (as K × M)"});
    of_operand(false, {k, n, true, ""}, {n, k, false, " (as N × K)"});
    of_d();
    std::ranges::stable_sort(found_, std::greater<>{}, &Found::near);
    if (found_.size() > most_moves) found_.resize(most_moves);
    std::vector<Change> out;
    for (const Found& one : found_) out.push_back(change_of(one.moved));
    return out;
  }

 private:
  struct Found {
    MovedData moved;
    std::size_t near;
  };

  void try_one(MovedData x) {
    if (const std::size_t near = far_.near_by(x); near > 0) found_.push_back({std::move(x), near});
  }

  std::vector<Move> moves_of(const MemoryLayout& of, const char* verb) const {
    std::vector<Move> out = other_strides(of, {run_.m, run_.n, run_.k}, verb);
    for (Move& move : other_starts(of, verb)) out.push_back(std::move(move));
    for (Move& move : swizzled_rows(of)) out.push_back(std::move(move));
    for (Move& move : swizzled_twice(of)) out.push_back(std::move(move));
    return out;
  }

  void of_operand(bool is_a, const MemoryLayout& files, const MemoryLayout& other) {
    const std::string name = is_a ? "A" : "B";
    const auto add = [&](std::string words, OperandPlace place) {
      MovedData x{.words = std::move(words)};
      (is_a ? x.a : x.b) = std::move(place);
      try_one(std::move(x));
    };
    const auto add_move = [&](const Move& move, const MemoryLayout& of) {
      add(move.before + name + of.note + move.after,
          [move, of, all = run_.k](std::size_t line, std::size_t k) {
            const std::size_t flat = of.columns_first ? move.place(k, line) : move.place(line, k);
            if (flat == nowhere) return nowhere;
            const std::size_t row = flat / of.columns, column = flat % of.columns;
            return of.columns_first ? column * all + row : row * all + column;
          });
    };
    for (const Move& move : transposed_blocks(files)) add_move(move, files);
    for (const Move& move : exchanged_quarters(files)) add_move(move, files);
    for (const MemoryLayout* of : {&files, &other}) {
      for (const Move& move : moves_of(*of, "read")) add_move(move, *of);
    }
  }

  void of_d() {
    const MemoryLayout of{run_.m, run_.n, false, ""};
    std::vector<Move> moves = transposed_blocks(of);
    for (Move& move : exchanged_quarters(of)) moves.push_back(std::move(move));
    for (Move& move : renumbered_tiles(of)) moves.push_back(std::move(move));
    for (Move& move : moves_of(of, "written")) moves.push_back(std::move(move));
    for (const Move& move : moves) {
      MovedData x{.words = move.before + "D" + move.after};
      x.d = [move, n = run_.n](std::size_t at) { return move.place(at / n, at % n); };
      try_one(std::move(x));
    }
  }

  Change change_of(const MovedData& x) const {
    Change out{.words = x.words};
    const auto codes = [](const std::vector<std::uint64_t>& of, const OperandPlace& place) {
      return [&of, place](std::size_t line, std::size_t k) {
        const std::size_t at = place(line, k);
        return at == nowhere ? 0 : of[at];
      };
    };
    if (x.a) out.a = codes(run_.a, x.a);
    if (x.b) out.b = codes(run_.b, x.b);
    if (x.d) {
      out.d = [&d = run_.d, place = x.d](std::size_t at) {
        const std::size_t there = place(at);
        return there == nowhere ? d[at] : d[there];
      };
    }
    return out;
  }

  const KernelCase& given_;
  const KernelRun& run_;
  FarElements far_;
  std::vector<Found> found_;
};

}  // namespace

std::vector<Change> moved_data(const KernelCase& given, std::span<const std::size_t> elements) {
  if (given.run.dots || given.run.size() == 0) return {};
  return MovedDataSearch(given, elements).take();
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// The judge of range_count: whole blocks against the definition's, with and without error columns.
#include <cmath>
#include <concepts>
#include <limits>
#include <memory>

#include "tests/kernels/judge.h"

namespace binade::kernel_test {
namespace {

/// Error columns: some formats as they are, then any, scaled, to where all is lost and to where
/// nothing is.
std::vector<ErrorColumn> columns_of(std::size_t count, std::size_t seed = 0) {
  constexpr std::array<Format, 6> named{binary16, bfloat16, tf32, e5m2, e4m3, binary32};
  const std::vector<Format>& tried = tried_formats();
  std::vector<ErrorColumn> out;
  for (std::size_t k = 0; k < count; ++k) {
    const int scale = k < 5 ? 0 : static_cast<int>(count * 37 + k * 11) % 300 - 150;
    out.push_back({k < named.size() ? named[k] : tried[(seed * 16 + k) % tried.size()], scale});
  }
  return out;
}

/// A block's numbers in a row.
template <class T>
std::vector<std::uint64_t> block_words(const RangeBlock<T>& block) {
  std::vector<std::uint64_t> out{block.zeros,    block.nan,      block.inf,
                                 block.negative, block.smallest, block.largest};
  const auto add = [&out](uint128 x) {
    out.push_back(static_cast<std::uint64_t>(x));
    out.push_back(static_cast<std::uint64_t>(x >> 64));
  };
  for (const auto& row : block.rows) {
    for (std::size_t s = 0; s < std::size_t{segments}; ++s) {
      out.push_back(row.count[s]);
      add(row.sum[s]);
    }
    add(row.squares);
    for (std::size_t c = 0; c < static_cast<std::size_t>(block.columns); ++c) {
      add(row.squared_error[c]);
    }
  }
  return out;
}

bool is_zero(const fast::RangeCells& work) {
  for (const auto& copy : work.cells) {
    for (const auto& cell : copy) {
      if (cell.count_and_sum != 0 || cell.squares != 0) return false;
    }
  }
  for (const auto& row : work.errors) {
    for (const std::uint64_t x : row) {
      if (x != 0) return false;
    }
  }
  return true;
}

template <std::floating_point T>
T of_fields(std::uint64_t field, std::uint64_t fraction, bool negative) {
  using Bits = typename Carrier<T>::Bits;
  return std::bit_cast<T>(
      static_cast<Bits>(bits_of({negative, field, fraction}, Carrier<T>::format)));
}

/// Every cut of a binade between segments and both its neighbours, in binades of all sorts;
/// subnormals too.
template <std::floating_point T>
std::vector<T> at_cuts() {
  const Format& c = Carrier<T>::format;
  const auto unit = [](int k) { return two_to(Carrier<T>::format.fraction_bits() - k); };
  const std::uint64_t end = std::uint64_t{1} << c.fraction_bits();
  const std::uint64_t cuts[]{0,
                             3 * unit(2),
                             13 * unit(4),
                             7 * unit(3),
                             end - unit(7),
                             end - unit(8),
                             end - unit(10),
                             end - unit(11)};
  const auto bias = static_cast<std::uint64_t>(c.bias);
  std::vector<T> out;
  for (const std::uint64_t field :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, bias - 24, bias - 15, bias - 9,
        bias - 1, bias, bias + 8, bias + 15, bias + 16, c.exponent_mask() - 1}) {
    for (const std::uint64_t cut : cuts) {
      for (const std::uint64_t step : {~std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{1}}) {
        out.push_back(of_fields<T>(field, (cut + step) & c.fraction_mask(), (cut + step) % 3 == 0));
      }
    }
  }
  return out;
}

template <std::floating_point T>
std::vector<T> repeated(std::size_t n, std::initializer_list<T> values) {
  std::vector<T> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = values.begin()[i % values.size()];
  return out;
}

/// Now this, now that: of every so many values one of others.
template <std::floating_point T>
std::vector<T> subnormals(std::size_t n, std::uint64_t seed, std::uint64_t of, T other) {
  Random random(seed);
  std::vector<T> out(n, other);
  for (T& x : out) {
    const std::uint64_t fraction = (random() & Carrier<T>::format.fraction_mask()) >>
                                   random() % Carrier<T>::format.fraction_bits();
    if (random() % of == 0) x = of_fields<T>(0, fraction, random() % 2 == 0);
  }
  return out;
}

/// Kinds of arrays.
template <std::floating_point T>
struct ValueKind {
  const char* name;
  std::vector<T> (*values)(std::size_t n, std::uint64_t seed);
};
template <std::floating_point T>
constexpr std::array<ValueKind<T>, 12> value_kinds{{
    {"about binary16",
     [](std::size_t n, std::uint64_t seed) {
       return hard_numbers<T>(binary16, n, seed, With::numbers);
     }},
    {"about e4m3, NaNs and infinities",
     [](std::size_t n, std::uint64_t seed) {
       return hard_numbers<T>(e4m3, n, seed, With::specials);
     }},
    {"about the carrier",
     [](std::size_t n, std::uint64_t seed) {
       return hard_numbers<T>(Carrier<T>::format, n, seed, With::numbers);
     }},
    {"regular",  // no subnormals that would divide a tile
     [](std::size_t n, std::uint64_t seed) {
       Random random(seed);
       std::vector<T> out(n);
       for (T& x : out) {
         x = of_fields<T>(static_cast<std::uint64_t>(Carrier<T>::format.bias) - 60 + random() % 80,
                          random() & Carrier<T>::format.fraction_mask(), random() % 2 == 0);
       }
       return out;
     }},
    {"zeros",
     [](std::size_t n, std::uint64_t) {
       return repeated<T>(n, {T{0}, -T{0}, T{0}});
     }},
    {"at the cuts, in any lane",
     [](std::size_t n, std::uint64_t seed) {
       static const std::vector<T> cuts = at_cuts<T>();
       Random random(seed);
       std::vector<T> out(n);
       for (T& x : out) x = cuts[random() % cuts.size()];
       return out;
     }},
    {"subnormal", [](std::size_t n, std::uint64_t seed) { return subnormals<T>(n, seed, 1, 0); }},
    {"subnormal beside normal",
     [](std::size_t n, std::uint64_t seed) { return subnormals<T>(n, seed, 7, T{-3}); }},
    {"subnormal beside NaNs",
     [](std::size_t n, std::uint64_t seed) {
       const std::uint64_t field = Carrier<T>::format.exponent_mask();
       return subnormals<T>(n, seed, 3, of_fields<T>(field, seed % 5 + 1, seed % 2 == 0));
     }},
    {"the largest number",
     [](std::size_t n, std::uint64_t) { return repeated<T>(n, {std::numeric_limits<T>::max()}); }},
    {"largest significands in one cell",
     [](std::size_t n, std::uint64_t) {
       const Format& c = Carrier<T>::format;
       const auto field = static_cast<std::uint64_t>(c.bias);
       return repeated<T>(n, {of_fields<T>(field, c.fraction_mask(), false)});
     }},
    {"largest numbers of binary16's top binade, in one cell",
     [](std::size_t n, std::uint64_t) {
       const Format& c = Carrier<T>::format;
       const auto field = static_cast<std::uint64_t>(c.bias + binary16.emax());
       return repeated<T>(n, {of_fields<T>(field, c.fraction_mask(), true)});
     }},
}};

/// A case: values counted twice into a block of so many error columns.
template <std::floating_point T, Kernels::RangeCount<T> Kernels::*entry>
void judge_values(Verdict& verdict, const Kernels& kernels, const std::string& what,
                  const std::vector<T>& in, std::size_t error_columns) {
  static const auto got = std::make_unique<RangeBlock<T>>(),
                    want = std::make_unique<RangeBlock<T>>();
  // It keeps the rules of the case before, of other columns or of another level.
  static const auto work = std::make_unique<fast::RangeCells>();
  if (!is_zero(*work)) *work = fast::RangeCells{};
  const std::vector<ErrorColumn> columns = columns_of(error_columns, in.size());
  verdict.begin(what, std::to_string(in.size()) + " values, " + std::to_string(columns.size()) +
                          " error columns");
  Walled<T> from(in, in.size() % 4);
  got->reset(columns);
  want->reset(columns);
  for (int twice = 0; twice < 2; ++twice) {
    range_count(in.data(), in.size(), *want);
    (kernels.*entry)(from.data(), in.size(), *got, *work);
    verdict.require(is_zero(*work), "left work space that is not zero");
  }
  verdict.compare<std::uint64_t>(block_words(*got), block_words(*want));
}

template <std::floating_point T, Kernels::RangeCount<T> Kernels::*entry>
Verdict judge_range_count(const Kernels& kernels) {
  Verdict verdict;
  std::size_t number = 0;
  std::vector<std::size_t> tried(lengths.begin(), lengths.end());
  for (std::size_t n = 0; n < 40; ++n) tried.push_back(fast::few_values + n);  // and every rest
  for (const std::size_t n : tried) {
    for (const ValueKind<T>& kind : value_kinds<T>) {
      ++number;
      judge_values<T, entry>(verdict, kernels, kind.name, kind.values(n, number),
                             number % (max_error_columns + 1));
    }
  }
  // As much as cells hold, and as all copies of one.
  for (const std::size_t n : {65'535U, 65'536U, 65'537U}) {
    for (const ValueKind<T>& kind : value_kinds<T>) {
      judge_values<T, entry>(verdict, kernels, kind.name, kind.values(n, n),
                             ++number % 2 == 0 ? 0 : 7);
    }
  }
  for (const std::size_t n : {262'143U, 262'144U, 262'145U, 262'177U}) {
    const ValueKind<T>& largest = value_kinds<T>.back();
    for (const std::size_t columns : {0U, 9U}) {
      judge_values<T, entry>(verdict, kernels, largest.name, largest.values(n, n), columns);
    }
    judge_values<T, entry>(verdict, kernels, "the largest number, often",
                           repeated<T>(n, {std::numeric_limits<T>::max()}), 0);
  }
  if constexpr (std::same_as<T, float>) {
    std::vector<float> all(std::size_t{1} << 24);
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = std::bit_cast<float>(static_cast<std::uint32_t>(i));
    }
    judge_values<T, entry>(verdict, kernels, "zero, all subnormal numbers, all of a binade", all,
                           0);
  }
  for (const std::size_t columns : {0U, 7U, 16U}) {
    judge_values<T, entry>(verdict, kernels, "at the cuts", at_cuts<T>(), columns);
  }
  return verdict;
}

template <std::floating_point T, Kernels::RangeCount<T> Kernels::*entry>
void count_with_faults(const T* in, std::size_t n, RangeBlock<T>& block, fast::RangeCells& work) {
  called(behind<entry>, in, n, block, work);
  const Fault* fault = n == 0 ? nullptr : fault_of_call();
  if (fault == nullptr) return;
  auto& last = block.rows.back();
  if (!fault->in_counts) {
    if (fault->at_end) return turn_bit(&last.squares, 1, *fault);
    return turn_bit(&block.zeros, 1, *fault);
  }
  if (fault->at_end) return turn_bit(work.errors.back().data(), 1, *fault);
  turn_bit(&last.count.back(), 1, *fault);
}

/// Values of 40 binades, alone or among others.
enum class TimedRange : std::uint8_t { normal, sorted, zeros, subnormal, some_nan };

template <std::floating_point T>
const std::vector<T>& timed_range(TimedRange kind) {
  static const std::array<std::vector<T>, 5> kinds = [] {
    std::array<std::vector<T>, 5> out;
    Random random(9);
    std::vector<T> normal(timed_values);
    for (T& x : normal) {
      const std::uint64_t bits =
          random() % 2 << 31 | (87 + random() % 40) << 23 | (random() & 0x7FFFFF);
      x = static_cast<T>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    }
    out.fill(normal);
    std::ranges::sort(out[static_cast<std::size_t>(TimedRange::sorted)]);
    std::ranges::fill(out[static_cast<std::size_t>(TimedRange::zeros)], T{0});
    out[static_cast<std::size_t>(TimedRange::subnormal)] = subnormals<T>(timed_values, 9, 1, 0);
    for (T& x : out[static_cast<std::size_t>(TimedRange::some_nan)]) {
      if (random() % 100 == 0) x = std::numeric_limits<T>::quiet_NaN();
    }
    return out;
  }();
  return kinds[static_cast<std::size_t>(kind)];
}

template <std::floating_point T, Kernels::RangeCount<T> Kernels::*entry, TimedRange kind>
void time_range_count(const Kernels& kernels, std::size_t errors) {
  const std::vector<T>& in = timed_range<T>(kind);
  static const auto work = std::make_unique<fast::RangeCells>();
  static const std::array<std::unique_ptr<RangeBlock<T>>, 2> blocks = [] {
    std::array out{std::make_unique<RangeBlock<T>>(), std::make_unique<RangeBlock<T>>()};
    out[0]->reset({});
    out[1]->reset(columns_of(5));
    return out;
  }();
  (kernels.*entry)(in.data(), in.size(), *blocks[errors], *work);
}

template <auto entry, std::floating_point T>
Entry entry_of(std::string_view name) {
  std::vector<Work> works;
  const auto add = [&]<TimedRange kind>(const std::string& what) {
    works.push_back({what, timed_values, &time_range_count<T, entry, kind>, 0});
    works.push_back({what + ", 5 columns", timed_values, &time_range_count<T, entry, kind>, 1});
  };
  add.template operator()<TimedRange::normal>("normal");
  add.template operator()<TimedRange::sorted>("sorted");
  add.template operator()<TimedRange::zeros>("zeros");
  add.template operator()<TimedRange::subnormal>("subnormal");
  add.template operator()<TimedRange::some_nan>("1 % NaN");
  return {name,
          &has_entry<entry>,
          &same_entry<entry>,
          &judge_range_count<T, entry>,
          &with_faults<entry, &count_with_faults<T, entry>>,
          std::move(works),
          "eight comparisons a value, where a byte shuffle would read the segment from a register"};
}

}  // namespace

std::vector<Entry> counting_entries() {
  return {entry_of<&Kernels::range_count_f32, float>("range_count_f32"),
          entry_of<&Kernels::range_count_f64, double>("range_count_f64")};
}

}  // namespace binade::kernel_test

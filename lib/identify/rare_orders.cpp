// SPDX-License-Identifier: Apache-2.0
//
// Tables of divisions of K, of the orders in which parts are added, and of formats, and which of
// their combinations are tried. What comes to the same at some K is made now and then; the search
// recognises it (meaning.h).
#include "lib/identify/rare_orders.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <span>

#include "lib/identify/library_loops.h"

namespace binade {
namespace {

/// The format that parts are kept in and that of their sums, if it is another one.
struct PartFormats {
  Format partial{};
  std::optional<Format> reduced{};
};

constexpr int most_turning_parts = 64;
constexpr int most_run_parts = 16;      // with other tiles, shares or formats than the usual ones
constexpr int most_rotated_parts = 16;  // of a ring
constexpr int most_permuted_parts = 6;
constexpr std::array turning_parts_of_table{2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
constexpr std::array turn_lengths{1, 2, 4, 8, 16, 32, 64, 128};
constexpr std::array run_tiles{32, 64, 128, 256, 16, 8};  // the likely ones first
/// Tiles of K that kernels of stream-K cut K at, and the most cuts that are tried in one of them.
constexpr std::array cut_tiles{64, 32, 128};
constexpr int most_tiles_to_cut = 256;
constexpr std::array usual_reductions{Reduction::ascending, Reduction::descending, Reduction::pairs,
                                      Reduction::halves};
constexpr std::array rare_trees{Reduction::bisect, Reduction::fold, Reduction::pairwise};
/// Products or instructions after which an accumulator of a part is added to a register.
constexpr std::array promotions_of_chains{8, 16, 32, 64, 128, 256, 512};
constexpr std::array promotions_of_instructions{1, 2, 4, 8};

bool is_power_of_two(int n) { return (n & (n - 1)) == 0; }

/// Returns whether a tree is another one than those of the usual reductions.
bool is_rare_tree(Reduction x, int parts) {
  return x == Reduction::pairwise ? parts > 2 : parts > 4 && !is_power_of_two(parts);
}

class RareOrders {
 public:
  RareOrders(const GemmModel& plain, int k, const Format& out)
      : plain_(plain), k_(k), out_(out), chain_(plain.k == 1) {
    for (int parts = 2; parts <= most_turning_parts; ++parts) runs(parts);
    for (const Split& split : turns()) turning(split);
    if (chain_) std::ranges::move(library_loops(plain, k), std::back_inserter(orders_));
    for (const Split& split : uneven()) add_all(split, usual_formats(), 4);
    for (int parts = 3; parts <= most_rotated_parts; ++parts) rotated(parts);
    for (int parts = 3; parts <= most_permuted_parts; ++parts) permuted(parts);
  }

  std::vector<Order> take() { return std::move(orders_); }

 private:
  int units(int unit) const { return (k_ + unit - 1) / unit; }

  void add(const Split& split, const PartFormats& f, int departures) {
    Accumulation sum = plain_.sum;
    sum.splits[0] = split;
    sum.partial = f.partial;
    sum.reduced = f.reduced;
    orders_.push_back({sum, departures});
  }
  void add_all(const Split& split, std::span<const PartFormats> formats, int departures) {
    for (const PartFormats& f : formats) {
      const int other = f.partial == plain_.types.d ? 0 : 1;
      add(split, f, departures + other + (f.reduced ? 1 : 0));
    }
  }

  /// Returns the formats of the usual orders: one for parts and sums.
  std::vector<PartFormats> usual_formats() const {
    const Format& d = plain_.types.d;
    std::vector<PartFormats> out{{d, {}}};
    if (d != binary32 && fits_in(d, binary32)) out.push_back({binary32, {}});
    if (out_ != d && out_ != binary32 && fits_in(out_, d)) out.push_back({out_, {}});
    return out;
  }
  /// Returns the others: parts narrower than their accumulators, which are added in the format of
  /// the parts or in a wider one; and wide parts added into an output that is narrower.
  std::vector<PartFormats> rare_formats() const {
    const Format& d = plain_.types.d;
    std::vector<PartFormats> out;
    std::vector<Format> narrow;
    for (const Format& f : {out_, d == binary64 ? binary32 : bfloat16, binary16}) {
      const bool known = std::ranges::find(narrow, f) != narrow.end();
      if (!known && f != d && fits_in(f, d) && !(d == binary64 && f == binary16)) {
        narrow.push_back(f);
      }
    }
    for (const Format& f : narrow) {
      if (f != out_) out.push_back({f, {}});
      out.push_back({f, d});
    }
    if (out_ != d && fits_in(out_, d)) out.push_back({d, out_});
    return out;
  }

  std::vector<Split> turns() const {
    std::vector<Split> out;
    for (const int length : turn_lengths) {
      for (int parts = 2; parts <= most_turning_parts; ++parts) {
        const int run = length * plain_.k;
        if (parts * run > k_ || (chain_ && length > 1 && parts > most_run_parts)) break;
        out.push_back({.parts = parts, .interleave = run});
      }
    }
    return out;
  }
  bool is_usual(const Split& split) const {
    const auto parts = std::ranges::find(turning_parts_of_table, split.parts);
    const auto length = std::ranges::find(turn_lengths, split.interleave / plain_.k);
    return parts != turning_parts_of_table.end() &&
           (chain_ || (split.parts <= 16 && length - turn_lengths.begin() < 4));
  }

  /// Adds the sums of parts that take turns: of any number of parts, of other trees, with what
  /// remains of K first, and promoted.
  void turning(Split split) {
    const bool usual = is_usual(split);
    const bool has_tail = k_ % (split.parts * split.interleave) != 0;
    const auto formats = usual_formats();
    const auto with_tails = [&](std::span<const PartFormats> some, int departures) {
      if (!usual || !in_usual(split.reduction)) {
        add_all(split, some, departures);
        if (has_tail) {
          split.tail_after = true;
          add_all(split, some, departures);
          split.tail_after = false;
        }
      }
      if (!has_tail) return;
      split.tail_first = true;
      add_all(split, some, departures + 1);
      split.tail_first = false;
    };
    for (const Reduction reduction : usual_reductions) {
      if (split.parts > 16 && reduction == Reduction::descending) continue;
      split.reduction = reduction;
      with_tails(formats, 3 + (reduction == Reduction::ascending ? 0 : 1));
    }
    if (split.parts <= most_run_parts) {
      for (const Reduction reduction : rare_trees) {
        if (!is_rare_tree(reduction, split.parts)) continue;
        split.reduction = reduction;
        with_tails(formats, 4);
      }
      for (const Reduction reduction : {Reduction::ascending, Reduction::pairs}) {
        split.reduction = reduction;
        if (usual) add_all(split, formats, 4);
        add_all(split, rare_formats(), 4);
      }
    }
    for (const Reduction reduction : {Reduction::ascending, Reduction::pairwise}) {
      if (usual && !chain_ && reduction == Reduction::ascending) continue;
      split.reduction = reduction;
      if (reduction == Reduction::ascending || split.parts > 2) {
        promoted(split, std::span(formats).first(1), 4);
      }
    }
  }
  static bool in_usual(Reduction x) {
    return std::ranges::find(usual_reductions, x) != usual_reductions.end();
  }

  /// Promotes the accumulators of a sum to the register that promotion usually has.
  void promote(Accumulation& sum, int every) const {
    sum.promote_every = every;
    if (every != 0 && plain_.types.d == binary64) sum.promotion = binary64;
  }
  /// Adds a split whose parts are promoted to a register.
  void promoted(const Split& split, std::span<const PartFormats> formats, int departures) {
    const auto every = chain_ ? std::span<const int>(promotions_of_chains)
                              : std::span<const int>(promotions_of_instructions);
    if (chain_ && !is_power_of_two(split.parts)) return;
    for (const int n : every) {
      if (n * plain_.k * split.parts >= k_) break;
      const std::size_t first = orders_.size();
      add_all(split, formats, departures);
      for (std::size_t i = first; i < orders_.size(); ++i) promote(orders_[i].sum, n);
    }
  }

  /// Returns whether each of so many runs, with full shares, has a tile or an instruction.
  bool fills(int parts, int unit) const {
    return (units(unit) + parts - 1) / parts * (parts - 1) < units(unit);
  }
  /// Returns the divisions into so many runs: as usual, in tiles, and with other shares.
  std::vector<Split> divisions(int parts) const {
    std::vector<Split> out;
    std::vector<int> sizes{0};
    for (const int tile : run_tiles) {
      const bool whole = tile > plain_.k && tile % plain_.k == 0;
      if (whole && parts * tile < k_ + tile && k_ % (parts * tile) != 0) sizes.push_back(tile);
    }
    for (const int tile : sizes) {
      const int unit = tile == 0 ? plain_.k : tile;
      for (const TileShares shares :
           {TileShares::full, TileShares::balanced, TileShares::rest, TileShares::spread}) {
        const bool full = shares == TileShares::full;
        const bool same = !full && k_ % (parts * unit) == 0;
        const bool empty = full ? !fills(parts, unit) : k_ / unit < parts;
        if (same || empty) continue;
        out.push_back({.parts = parts, .tile = tile, .shares = shares});
      }
    }
    return out;
  }
  /// Returns the divisions into two runs that end anywhere, as stream-K has them in a tile of D.
  std::vector<Split> uneven() const {
    std::vector<Split> out;
    for (const int tile : cut_tiles) {
      if (tile % plain_.k != 0) continue;
      for (int end = 1; end < std::min(units(tile), most_tiles_to_cut); ++end) {
        out.push_back({.parts = 2, .tile = tile, .shares = TileShares::listed});
        out.back().ends[0] = static_cast<std::uint16_t>(end);
      }
    }
    return out;
  }
  static bool is_plain(const Split& x) { return x.tile == 0 && x.shares == TileShares::full; }

  void runs(int parts) {
    const auto usual = usual_formats();
    const auto rare = rare_formats();
    const bool few = parts <= most_run_parts;
    for (Split split : divisions(parts)) {
      const int departures = is_plain(split) ? 3 : 4;
      for (const Reduction reduction : usual_reductions) {
        const bool turned = reduction != Reduction::ascending;
        if (turned && !few) break;
        split.reduction = reduction;
        if (!is_plain(split)) add_all(split, usual, departures + (turned ? 1 : 0));
        if (few) add_all(split, rare, departures + (turned ? 1 : 0));
      }
      if (!few) continue;
      for (const Reduction reduction : rare_trees) {
        if (!is_rare_tree(reduction, parts)) continue;
        split.reduction = reduction;
        add_all(split, usual, departures + 1);
        if (is_plain(split)) add_all(split, rare, departures + 1);
      }
      split.reduction = Reduction::ascending;
      if (chain_ || !is_plain(split)) promoted(split, std::span(usual).first(1), departures + 1);
      const bool in_tiles = is_plain(split) || split.tile == 64 || split.tile == 128;
      if (chain_ || !in_tiles || split.shares != TileShares::full) continue;
      promoted(split, std::span(usual).subspan(1), departures + 1);
      promoted(split, rare, departures + 1);
    }
  }

  int length_of_part(const Split& x) const {
    const int unit = x.tile == 0 ? plain_.k : x.tile;
    return (units(unit) + x.parts - 1) / x.parts * unit;
  }
  /// Returns the divisions whose parts are added in other orders: whole ones, as several devices or
  /// blocks have them.
  std::vector<Split> whole_divisions(int parts) const {
    std::vector<Split> out;
    for (const Split& x : divisions(parts)) {
      const bool usual = x.tile == 0 || (x.tile >= 16 && x.tile <= 128);
      const auto alike = [&](const Split& y) { return length_of_part(x) == length_of_part(y); };
      if (usual && x.shares == TileShares::full && std::ranges::none_of(out, alike)) {
        out.push_back(x);
      }
    }
    return out;
  }
  /// Returns the formats in which they add them to an output.
  std::vector<PartFormats> output_formats() const {
    const Format& d = plain_.types.d;
    std::vector<PartFormats> out{{d, {}}};
    if (out_ == d || !fits_in(out_, d)) return out;
    out.push_back({out_, {}});
    out.push_back({d, out_});
    return out;
  }

  /// Adds the sums that begin with another part and go round, up and down.
  void rotated(int parts) {
    const auto formats = output_formats();
    for (Split split : whole_divisions(parts)) {
      for (const Reduction reduction : {Reduction::ascending, Reduction::descending}) {
        split.reduction = reduction;
        for (split.first = 1; split.first < parts; ++split.first) add_all(split, formats, 5);
      }
    }
  }

  /// Adds the sums in all orders. The first two parts may change places where both are rounded
  /// alike.
  void permuted(int parts) {
    std::vector<PartFormats> formats;
    const auto all = output_formats();
    for (Split split : whole_divisions(parts)) {
      split.reduction = Reduction::listed;
      for (int i = 0; i < parts; ++i) {
        split.order[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i);
      }
      const std::span order(split.order.data(), static_cast<std::size_t>(parts));
      while (std::ranges::next_permutation(order).found) {
        formats.clear();
        for (const PartFormats& f : all) {
          if (f.reduced || split.order[0] < split.order[1]) formats.push_back(f);
        }
        add_all(split, formats, 6);
      }
    }
  }

  const GemmModel& plain_;
  int k_;
  Format out_;
  bool chain_;
  std::vector<Order> orders_;
};

}  // namespace

std::vector<Order> rare_orders(const GemmModel& plain, int k, const Format& out) {
  // A sum in binary64 that is rounded to a narrower result is the same in nearly all orders.
  const Format& sum = plain.types.d;
  if (is_integer(sum) || (sum == binary64 && out != binary64)) return {};
  return RareOrders(plain, k, out).take();
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// The axes of the orders as tables, and which of their combinations are tried. The orders are those
// of CUTLASS (split-K, sliced-K, two accumulators), DeepSeek-V3 (promotion), warp shuffles and
// block reductions, and the vectorized loops and cache blocks of CPU libraries (OpenBLAS, Eigen,
// NumPy).
#include "lib/identify/candidates.h"

#include <algorithm>
#include <array>
#include <span>

#include "lib/identify/rare_orders.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

constexpr std::array reductions{Reduction::ascending, Reduction::descending, Reduction::pairs,
                                Reduction::halves};
constexpr std::array instructions_per_promotion{1, 2, 4, 8, 16, 32, 64};
constexpr std::array group_sizes{2, 4, 8};
constexpr std::array widths{1, 2, 4, 8, 16};
constexpr int most_runs = 64;  // most parts of a split into runs
// tile sizes along K; split-K gives whole tiles to its parts
constexpr std::array tiles{32, 64, 128};
constexpr std::array turns{2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256};
constexpr std::array run_lengths{1, 2, 4, 8, 16, 32, 64, 128};
constexpr std::array lanes{2, 4, 8, 16, 32, 64};  // lanes of a vector register or of a warp
constexpr std::array unrolled{2, 3, 4, 5, 6, 8};
// parts of a thread block's K, or of split-K around another split
constexpr std::array slices{2, 4, 8};
/// Parts of K, and the tiles of which they have whole numbers, where runs of K have scales.
constexpr int most_parts_of_scales = 16, most_tile_of_scales = 512, most_turns_of_scales = 4;
/// Cache blocks of K in BLAS libraries are multiples of 8.
constexpr int cache_block_step = 8;
constexpr int most_cache_block = 1024;

/// Makes the orders of one core.
class OrdersOfCore {
 public:
  OrdersOfCore(const Core& core, const KernelFacts& facts, Orders which)
      : plain_(core.plain), k_(static_cast<int>(facts.k)), out_(facts.types.d) {
    if (facts.run != 0 || is_scaled(plain_.model)) {
      with_scales(facts, which);
      return;
    }
    add(plain_.sum, 0);
    // Sums of integers are exact, so every order gives the same.
    if (which == Orders::plain || is_integer(plain_.types.d)) return;
    permuted();
    promoted(plain_.sum, 0);
    const std::vector<Split> outer = plain_.k == 1 ? turns_of_products() : turns_of_instructions();
    for (const Split& split : runs()) with_split(split);
    for (const Split& split : outer) with_split(split);
    nested();
  }

  std::vector<Order> take() { return std::move(orders_); }

 private:
  /// Adds the orders under scales of runs of K: of an instruction that multiplies by them the plain
  /// one and its splits into runs, of the others the same with promotions by scales, after each run
  /// and more often.
  void with_scales(const KernelFacts& facts, Orders which) {
    std::vector<Order> plain{{plain_.sum, 0}};
    for (int parts = 2; parts <= most_parts_of_scales && which == Orders::all; ++parts) {
      const int unit = std::max(facts.run, plain_.k);
      // Of parts of one run each the sums are those without a split, but for roundings.
      const auto split = [&](const Split& into, bool in_memory) {
        for (const Format& f : partials(in_memory)) {
          plain.push_back({plain_.sum, f == plain_.types.d ? 2 : 3});
          plain.back().sum.splits[0] = into;
          plain.back().sum.partial = f;
        }
      };
      for (int tile = unit; tile <= most_tile_of_scales && 2 * parts * tile <= k_; tile *= 2) {
        split({.parts = parts, .tile = tile}, true);
      }
      const bool in_turn = parts <= most_turns_of_scales && parts * unit <= k_;
      if (in_turn) split({.parts = parts, .interleave = unit}, false);
    }
    const BlockScaling& own = plain_.model.scaling;
    if (is_scaled(plain_.model)) {
      const bool fits =
          facts.run == scale_run(plain_) && (own.format == e8m0 ? facts.are_e8m0 : facts.are_ue4m3);
      if (fits) orders_ = std::move(plain);
      return;
    }
    const bool both = facts.has_a_runs && facts.has_b_runs;
    for (const Order& order : plain) {
      for (int n = facts.run / plain_.k; n >= 1; --n) {
        if (facts.run % (n * plain_.k) != 0 || (plain_.k == 1 && n < facts.run)) continue;
        for (const ScaleOrder of :
             {ScaleOrder::together, ScaleOrder::a_first, ScaleOrder::b_first}) {
          if (!both && of != ScaleOrder::together) continue;
          for (const bool fused : {true, false}) {
            Order x = order;
            x.sum.promote_every = n;
            x.sum.scaling = {facts.run, of, fused};
            x.departures += (n * plain_.k == facts.run ? 0 : 1) +
                            (of == ScaleOrder::together ? 0 : 1) + (fused ? 0 : 1);
            orders_.push_back(x);
          }
        }
      }
    }
  }

  /// Returns whether the core's products are rounded before they are added, or exact in its format.
  bool rounds_products() const {
    const DotTypes& t = plain_.types;
    return plain_.model.recipe == Recipe::mul_add_chain || is_exact_product(t.a, t.b, t.d);
  }
  int instructions() const { return (k_ + plain_.k - 1) / plain_.k; }
  void add(const Accumulation& sum, int departures) { orders_.push_back({sum, departures}); }

  void permuted() {
    Accumulation sum = plain_.sum;
    sum.order.descending = true;
    if (instructions() > 1) {
      add(sum, 1);
      promoted(sum, 1);
    }
    for (const int group : group_sizes) {
      for (const int width : widths) {
        if (width >= plain_.k || plain_.k % width != 0 || plain_.k >= k_) continue;
        for (const bool descending : {false, true}) {
          sum.order = {descending, group, width};
          add(sum, descending ? 3 : 2);
        }
      }
    }
  }

  /// Adds the orders with promotion to a register after every n instructions; for chains of single
  /// products also after every cache block.
  void promoted(const Accumulation& base, int departures) {
    Accumulation sum = base;
    for (const Format& f : {binary32, binary16, binary64}) {
      if (!fits_in(plain_.types.d, f) || (f == binary64 && plain_.types.d != f)) continue;
      sum.promotion = f;
      const auto every = [&](int n) {
        // For single products, promotion after every one is mul_add, which is another core.
        if (n >= instructions() || (plain_.k == 1 && n == 1)) return;
        sum.promote_every = n;
        add(sum, departures + 1 + (f == plain_.types.d || f == binary32 ? 0 : 1));
      };
      for (const int n : instructions_per_promotion) every(n);
      if (plain_.k > 1) continue;
      for (int n = cache_block_step; n <= most_cache_block; n += cache_block_step) {
        if (std::ranges::find(instructions_per_promotion, n) == instructions_per_promotion.end()) {
          every(n);
        }
      }
      for (int n = 2 * most_cache_block; n < k_; n *= 2) every(n);
    }
  }

  /// Returns the formats that finished parts may be kept in; D's is one of them if the parts go
  /// through memory.
  std::vector<Format> partials(bool in_memory) const {
    std::vector<Format> out{plain_.types.d};
    const auto also = [&](const Format& f) {
      if (std::ranges::find(out, f) == out.end()) out.push_back(f);
    };
    if (fits_in(plain_.types.d, binary32)) also(binary32);
    if (in_memory && fits_in(out_, plain_.types.d)) also(out_);
    return out;
  }

  /// Returns whether a split has one product in each part and adds them in turn: that is the plain
  /// chain of rounded products, which is another core or this one.
  bool is_plain(const Split& split) const {
    const bool one_each = split.parts == k_ || (split.interleave == 1 && split.tail_after &&
                                                k_ / split.parts == 1 && rounds_products());
    return plain_.k == 1 && split.reduction == Reduction::ascending && one_each;
  }

  void with_partials(Accumulation sum, int departures, bool in_memory) {
    for (const Format& f : partials(in_memory)) {
      // Exact products added in binary32 are the f32 chain; others were rounded first.
      const DotTypes& t = plain_.types;
      const bool to_f32 =
          f == binary32 && fits_in(t.a, f) && fits_in(t.b, f) && is_exact_product(t.a, t.b, t.d);
      const bool another = f == plain_.types.d || to_f32;
      if (another && sum.splits[1].parts <= 1 && is_plain(sum.splits[0])) continue;
      sum.partial = f;
      add(sum, departures + (f == plain_.types.d ? 0 : 1));
    }
  }

  /// Adds a split by itself, with k descending, and with promotion inside its parts.
  void with_split(const Split& split) {
    Accumulation sum = plain_.sum;
    sum.splits[0] = split;
    const int departures = 2 + (split.reduction == Reduction::ascending ? 0 : 1);
    const bool in_memory = split.interleave == 0;
    with_partials(sum, departures, in_memory);
    if (split.tail_after || split.parts > 16 || is_plain(split)) return;
    sum.order.descending = true;
    add(sum, departures + 1);
    sum.order.descending = false;
    if (plain_.k == 1) return;
    for (const int every : {1, 2, 4, 8}) {
      if (every * split.parts >= instructions()) break;
      sum.promote_every = every;
      add(sum, departures + 1);
    }
  }

  std::vector<Split> runs() const {
    std::vector<Split> out;
    const int most = std::min(most_runs, instructions());
    for (int parts = 2; parts <= most; ++parts) {
      for (const Reduction reduction : reductions) out.push_back({parts, 0, reduction, false});
      for (const int tile : tiles) {
        const bool whole = plain_.k > 1 && tile > plain_.k && tile % plain_.k == 0;
        if (!whole || parts * tile >= k_) continue;
        out.push_back({.parts = parts, .tile = tile});
      }
    }
    return out;
  }

  std::vector<Split> turns_of(std::span<const int> parts, std::span<const int> lengths,
                              int unit) const {
    std::vector<Split> out;
    for (const int length : lengths) {
      for (const int n : parts) {
        const int round = n * length * unit;
        if (round > k_) continue;
        for (const Reduction reduction : reductions) {
          out.push_back({n, length * unit, reduction, false});
          if (k_ % round != 0) out.push_back({n, length * unit, reduction, true});
        }
      }
    }
    return out;
  }
  std::vector<Split> turns_of_products() const { return turns_of(turns, run_lengths, 1); }
  std::vector<Split> turns_of_instructions() const {
    return turns_of(std::span(turns).first(7), std::span(run_lengths).first(4), plain_.k);
  }

  /// Adds the orders with one split inside the parts of another.
  void nested() {
    const auto both = [&](const Split& outer, const Split& inner) {
      Accumulation sum = plain_.sum;
      sum.splits[0] = outer;
      sum.splits[1] = inner;
      with_partials(sum, 5, false);
    };
    if (plain_.k == 1) {
      const std::vector<Split> vectors = turns_of(lanes, std::array{1}, 1);
      for (const Split& vector : vectors) {
        // Unrolled loops of vectors: the vectors are added before their lanes.
        for (const int u : unrolled) {
          if (vector.parts * u > k_) continue;
          for (const Reduction reduction :
               {Reduction::ascending, Reduction::pairs, Reduction::halves}) {
            both(vector, {u, 1, reduction, false});
            if (k_ % (vector.parts * u) != 0) both(vector, {u, 1, reduction, true});
          }
        }
        // Vectors inside runs: the threads of a block, or the blocks of a pairwise sum.
        for (int parts = 2; parts <= most_runs && parts * vector.parts <= k_; parts *= 2) {
          for (const Reduction reduction : {Reduction::ascending, Reduction::pairs}) {
            both({parts, 0, reduction, false}, vector);
          }
        }
      }
      return;
    }
    const std::vector<Split> inner = turns_of(slices, std::array{1, 2, 4}, plain_.k);
    for (const Split& slice : inner) {
      for (const int parts : {2, 3, 4, 5, 6, 7, 8, 16, 32}) {
        if (parts * slice.parts > instructions()) break;
        both({parts, 0, Reduction::ascending, false}, slice);
      }
    }
  }

  const GemmModel& plain_;
  int k_;
  Format out_;
  std::vector<Order> orders_;
};

/// Adds to each ending the same one with saturation, if D is of 8 bits.
std::vector<Candidate> with_saturation(std::vector<Candidate> out, const KernelFacts& facts) {
  const std::size_t n = facts.types.d.storage_bits() == 8 ? out.size() : 0;
  for (std::size_t i = 0; i < n; ++i) {
    out.push_back(out[i]);
    out.back().model.epilogue.saturate = true;
  }
  return out;
}

/// Returns the endings of a sum that is multiplied by scales, or is an integer and D is not: in
/// which format that is computed, which scale comes first, and where the bias is added.
std::vector<Candidate> scaled_endings(const Candidate& base, const KernelFacts& facts) {
  const Format& sum = base.model.types.d;
  const bool both = facts.has_a_scale && facts.has_b_scale;
  std::vector<Candidate> out;
  std::vector<Format> computed{is_integer(sum) ? binary32 : sum};
  const bool computes = facts.is_scaled() || facts.has_bias || facts.epilogue.alpha != 1;
  for (const Format& f : {binary32, facts.types.d, binary64}) {
    const bool known = std::ranges::find(computed, f) != computed.end();
    // An integer that is only converted comes to the same by binary64 and at once.
    const bool another = computes || f == facts.types.d;
    if (!known && another && f.precision >= bfloat16.precision) computed.push_back(f);
  }
  for (const Format& f : computed) {
    for (const ScaleOrder order :
         {ScaleOrder::a_first, ScaleOrder::b_first, ScaleOrder::together}) {
      if (!both && order != ScaleOrder::a_first) continue;
      Candidate x = base;
      x.model.epilogue.compute = f;
      x.model.epilogue.scales = order;
      x.departures += f == computed[0] ? 0 : 1;
      out.push_back(x);
      if (facts.has_bias || (facts.has_c && !is_integer(sum))) {
        x.model.epilogue.sum_last = false;
        out.push_back(x);
      }
      if (!facts.has_bias) continue;
      x.model.epilogue.sum_last = true;
      x.model.epilogue.bias_first = true;
      x.departures += 1;
      out.push_back(x);
    }
  }
  return out;
}

/// Returns the ways in which C, alpha, beta, the bias and D's format can enter a model of this
/// core.
std::vector<Candidate> endings(const Core& core, const KernelFacts& facts) {
  const GemmModel& plain = core.plain;
  Candidate base{plain};
  base.model.c = is_integer(plain.types.c) ? plain.types.c : facts.types.c;
  base.model.bias = facts.types.bias;
  base.model.epilogue.alpha = facts.epilogue.alpha;
  base.model.epilogue.beta = facts.epilogue.beta;
  base.model.epilogue.out = facts.types.d;
  const Format& sum = plain.types.d;
  if (sum != facts.types.d && !fits_in(facts.types.d, sum)) base.departures += 1;
  if (sum == binary64 && facts.types.d != binary64) base.departures += 1;
  if (plain.types.c != sum) base.departures += 1;
  if (is_integer(facts.types.d)) return {base};
  if (facts.is_scaled() || is_integer(sum)) {
    return with_saturation(scaled_endings(base, facts), facts);
  }
  std::vector<Candidate> out;
  const bool scales = facts.epilogue.alpha != 1 || facts.epilogue.beta != 1;
  if (facts.has_c && !scales && !facts.has_bias) {
    out.push_back(base);
    out.back().model.sum.c_first = true;
  }
  const auto in_format = [&](const Format& f, int departures) {
    Candidate x = base;
    x.model.epilogue.compute = f;
    x.departures += departures;
    out.push_back(x);
    if (!facts.has_bias && (!scales || !facts.has_c)) return;
    // fma(1, sum, bias) is sum + bias, except that NaNs of binary64 keep their bits.
    if (!facts.has_c && facts.epilogue.alpha == 1 && f != binary64) return;
    x.model.epilogue.sum_last = false;
    out.push_back(x);
  };
  in_format(sum, 0);
  if (scales || facts.has_c || facts.has_bias) {
    for (const Format& f : {binary32, facts.types.d}) {
      if (f != sum && f.precision >= binary16.precision) in_format(f, 1);
    }
  }
  return with_saturation(std::move(out), facts);
}

/// Gives an ending a detour. Returns false if it would change nothing: if a format holds every
/// number that comes to it, or the epilogue computes nothing with a rounded sum, where rounding D
/// on the way is the same.
bool take_detour(Epilogue& e, const Epilogue& detour, const Format& sum, bool computes) {
  const bool smooth = is_smooth(detour.activation);
  const Format& before = computes ? e.compute : sum;
  const Format& computed = smooth ? binary32 : before;
  e.sum = detour.sum;
  e.through = detour.through;
  e.activation = detour.activation;
  e.rounding = detour.rounding;
  if (smooth && !fits_in(before, binary32)) return false;
  if (e.sum && (!(computes || smooth) || fits_in(sum, *e.sum))) return false;
  if (e.through && (fits_in(computed, *e.through) || e.through == e.out)) return false;
  return e.rounding == Rounding::ties_to_even || !fits_in(e.through.value_or(computed), e.out);
}

/// Returns the endings of a core that take a detour.
std::vector<Candidate> endings(const Core& core, const KernelFacts& facts, const Epilogue& detour) {
  std::vector<Candidate> out = endings(core, facts);
  if (detour == Epilogue{}) return out;
  std::erase_if(out, [&](Candidate& x) {
    x.departures += 1;
    const bool with_c = facts.has_c && !x.model.sum.c_first && x.model.epilogue.beta != 0;
    const bool computes = x.model.epilogue.alpha != 1 || with_c || facts.has_bias ||
                          facts.is_scaled() || is_integer(core.plain.types.d);
    return !take_detour(x.model.epilogue, detour, core.plain.types.d, computes);
  });
  return out;
}

/// Returns the candidates of each core in each of the orders that orders_of(core) returns, with the
/// endings that take a detour.
template <class OrdersOf>
std::vector<Candidate> in_orders(const std::vector<Core>& cores, const KernelFacts& facts,
                                 const Epilogue& detour, const OrdersOf& orders_of) {
  std::vector<Candidate> out;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    if (is_integer(facts.types.d) && !is_integer(cores[i].plain.types.d)) continue;
    const std::vector<Candidate> ends = endings(cores[i], facts, detour);
    poll();
    if (ends.empty()) continue;
    for (const Order& order : orders_of(cores[i])) {
      for (const Candidate& end : ends) {
        Candidate x = end;
        const bool c_first = end.model.sum.c_first;
        x.core = i;
        x.model.sum = order.sum;
        x.model.sum.c_first = c_first;
        x.departures += order.departures;
        out.push_back(x);
      }
    }
  }
  std::ranges::stable_sort(out, {}, &Candidate::departures);
  return out;
}

}  // namespace

std::vector<Epilogue> detours_for(const KernelFacts& facts) {
  const Format& d = facts.types.d;
  std::vector<Epilogue> out;
  for (const Rounding rounding : {Rounding::toward_zero, Rounding::ties_to_away, Rounding::to_odd,
                                  Rounding::toward_positive, Rounding::toward_negative}) {
    out.push_back({.rounding = rounding});
  }
  const bool computes = facts.has_c || facts.has_bias || facts.is_scaled();
  if (computes) out.push_back({.sum = d});
  for (const Format& f : {bfloat16, binary16, binary32, e4m3, e5m2}) {
    if (f == d) continue;
    if (computes) out.push_back({.sum = f});
    out.push_back({.through = f});
  }
  // In a wider D each step of the formula shows, and no element would be decided.
  if (!facts.is_below_smooth && d.precision <= binary16.precision) {
    for (const ActivationRow& row : activations) {
      if (!is_smooth(row.activation)) continue;
      out.push_back({.activation = row.activation});
      out.push_back({.sum = d, .activation = row.activation});
    }
  }
  if (facts.is_negative) return out;
  const std::size_t n = out.size();
  out.push_back({.activation = Activation::relu});
  for (std::size_t i = 0; i < n; ++i) {
    if (out[i].rounding == Rounding::toward_negative) continue;  // then it is toward zero
    if (out[i].activation != Activation::none) continue;         // one of the two
    out.push_back(out[i]);
    out.back().activation = Activation::relu;
  }
  return out;
}

std::vector<Candidate> candidates_for(const std::vector<Core>& cores, const KernelFacts& facts,
                                      const Epilogue& detour, Orders which) {
  return in_orders(cores, facts, detour,
                   [&](const Core& core) { return OrdersOfCore(core, facts, which).take(); });
}

std::vector<Candidate> rare_candidates_for(const std::vector<Core>& cores,
                                           const KernelFacts& facts) {
  if (facts.run != 0) return {};
  return in_orders(cores, facts, {}, [&](const Core& core) {
    return rare_orders(core.plain, static_cast<int>(facts.k), facts.results);
  });
}

}  // namespace binade

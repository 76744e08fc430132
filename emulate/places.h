// SPDX-License-Identifier: Apache-2.0
//
// Positions in K: those of a part of it, and those of one instruction's products.
#pragma once

#include "emulate/gemm_model.h"

namespace binade {

/// The positions in k of the products of a part: the i-th product is that of position places(i).
/// Nested parts are a sequence of maps ("levels"), of which the last one is applied first. A level
/// maps i to i / width · stride + offset + i % width; interleaved(2, 2, 1) of all k:
///
///     i          0 1 2 3 4 5             width 2, stride 4, offset 2
///     position   2 3 6 7 10 11
///
/// Where `backward` strides are a whole run, which those before position `whole` are, it takes them
/// from the last to the first: 6 7 2 3 10 11, if two of them are. The first `lead` positions are
/// mapped to `lead_at` and those behind it, before the level maps the others from 0 on.
struct Places {
  struct Level {
    int width = 1, stride = 1, offset = 0;
    int backward = 1, whole = 0;
    int lead = 0, lead_at = 0;
  };
  int count = 0;
  int depth = 0;
  Level levels[7]{};

  constexpr int operator()(int i) const {
    for (int at = depth - 1; at >= 0; --at) {
      const Level& x = levels[at];
      if (i < x.lead) {
        i += x.lead_at;
        continue;
      }
      i -= x.lead;
      i = i / x.width * x.stride + x.offset + i % x.width;
      if (i >= x.whole) continue;
      const int run = x.stride * x.backward;
      i += (x.backward - 1 - i % run / x.stride * 2) * x.stride;
    }
    return i;
  }
  /// Returns `size` of these positions, beginning with number `first`.
  constexpr Places run(int first, int size) const {
    if (depth == 0 || levels[depth - 1].width != all) return narrowed({all, 0, first}, size);
    Places out = *this;  // a run of a run is a run
    out.levels[depth - 1].offset += first;
    out.count = size;
    return out;
  }
  /// Divides these positions into runs of `width` and returns every `parts`-th run, beginning with
  /// run number `part`; in each whole run of so many rounds over the parts, from the last round to
  /// the first.
  constexpr Places interleaved(int width, int parts, int part, int backward = 1) const {
    const int round = width * parts;
    const int rest = count % round - part * width;
    const int size = count / round * width + (rest < 0 ? 0 : rest < width ? rest : width);
    // A round of more positions than there are makes no whole run.
    const int runs = backward == 1 || count / backward < round ? 0 : count / (round * backward);
    return narrowed({width, round, part * width, backward, runs * round * backward}, size);
  }
  /// Divides these positions among parts as `interleaved` does, but the round that is not whole
  /// comes before the others.
  constexpr Places short_first(int width, int parts, int part) const {
    const int round = width * parts, rest = count % round;
    const int left = rest - part * width;
    const int lead = left < 0 ? 0 : left < width ? left : width;
    return narrowed({.width = width,
                     .stride = round,
                     .offset = rest + part * width,
                     .lead = lead,
                     .lead_at = part * width},
                    count / round * width + lead);
  }

 private:
  static constexpr int all = 1 << 30;  ///< the width of a run's level

  constexpr Places narrowed(const Level& level, int size) const {
    Places out = *this;
    out.levels[out.depth++] = level;
    out.count = size;
    return out;
  }
};

/// The positions in k of one instruction's products, in the order of a KOrder
/// (emulate/gemm_model.h): its i-th product is that of position place(i), or padding with +0 if
/// that is -1.
struct InstructionPlaces {
  const Places* places = nullptr;
  KOrder order{};
  int k = 0;       ///< products of one instruction
  int number = 0;  ///< of the instruction in its chain, in ascending order of k

  constexpr int operator()(int i) const {
    const int width = order.group == 1 ? k : order.width;
    const int within = i / width * width * order.group + number % order.group * width + i % width;
    const int at = number / order.group * order.group * k + within;
    return at < places->count ? (*places)(at) : -1;
  }
};

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// A mistake with scales of runs of K is a map of lines and runs, or of their numbers.
#include "lib/identify/run_scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "emulate/instruction_shapes.h"
#include "lib/block/scale_layout.h"
#include "lib/identify/change_fit.h"

namespace binade {
namespace {

double number_of_scale(std::uint32_t scale) { return std::bit_cast<float>(scale); }

/// The scales of a matrix as they are: `lines` times `runs`. A line is one of the matrix, or a
/// block of `block` ones that have the same scales.
struct OwnScales {
  const std::vector<std::uint32_t>* scales;
  std::size_t lines, runs, block = 1;

  std::uint32_t operator()(std::size_t line, std::size_t run) const {
    return (*scales)[line * block * runs + run];
  }
};

/// The same by the longest blocks of lines, if the scales are those of blocks.
std::optional<OwnScales> in_blocks(const OwnScales& own) {
  for (std::size_t block = 256; block >= 2; block /= 2) {
    if (2 * block > own.lines + block - 1) continue;
    bool is_same = true;
    for (std::size_t line = 0; line < own.lines && is_same; ++line) {
      const auto of = [&](std::size_t at) {
        return std::span(*own.scales).subspan(at * own.runs, own.runs);
      };
      is_same = std::ranges::equal(of(line), of(line / block * block));
    }
    if (is_same) return OwnScales{own.scales, (own.lines + block - 1) / block, own.runs, block};
  }
  return std::nullopt;
}

using Map = std::function<std::uint32_t(std::size_t line, std::size_t run)>;

/// A mistake with the scales of a matrix, for both matrices alike.
struct ScaleMistake {
  std::string words;  ///< behind "A's scales of blocks"; "{0}" is a row or a column
  std::function<Map(OwnScales own)> of;
};

std::uint32_t rounded_to(std::uint32_t scale, const Format& f) {
  return static_cast<std::uint32_t>(convert(convert(scale, binary32, f).bits, f, binary32).bits);
}

/// Returns what lies at a place of memory that holds the scales in a layout; 0 where nothing does.
Map read_from(OwnScales own, std::function<std::size_t(std::size_t line, std::size_t run)> stored,
              std::function<std::size_t(std::size_t line, std::size_t run)> read) {
  std::vector<std::uint32_t> memory;
  for (std::size_t line = 0; line < own.lines; ++line) {
    for (std::size_t run = 0; run < own.runs; ++run) {
      const std::size_t at = stored(line, run);
      if (at >= memory.size()) memory.resize(at + 1);
      memory[at] = own(line, run);
    }
  }
  return [memory = std::move(memory), read = std::move(read)](std::size_t line, std::size_t run) {
    const std::size_t at = read(line, run);
    return at < memory.size() ? memory[at] : std::uint32_t{0};
  };
}

/// Appends mistakes of layout: memory in one order that is read in another.
void add_layouts(std::vector<ScaleMistake>& to) {
  using Place = std::size_t (*)(const OwnScales&, std::size_t, std::size_t);
  struct Order {
    const char* words;
    Place place;
  };
  static constexpr Order orders[]{
      {"rows",
       [](const OwnScales& x, std::size_t line, std::size_t run) { return line * x.runs + run; }},
      {"columns",
       [](const OwnScales& x, std::size_t line, std::size_t run) { return run * x.lines + line; }},
      {"128x4", [](const OwnScales& x, std::size_t line, std::size_t run) {
         const ScaleLayout& layout = *find_scale_layout("128x4");
         return layout.place(layout.filled({x.lines, x.runs}), line, run);
       }}};
  for (const Order& stored : orders) {
    for (const Order& read : orders) {
      if (&stored == &read) continue;
      to.push_back({fmt::format("read as {} where they lie as {}", read.words, stored.words),
                    [&stored, &read](OwnScales own) {
                      const auto by = [own](Place place) {
                        return [own, place](std::size_t line, std::size_t run) {
                          return place(own, line, run);
                        };
                      };
                      return read_from(own, by(stored.place), by(read.place));
                    }});
    }
  }
}

/// Appends mistakes of lines: those of other lines.
void add_lines(std::vector<ScaleMistake>& to, std::size_t lines) {
  constexpr std::size_t most_period = 256;
  const auto add = [&to](std::string words, std::function<std::size_t(std::size_t)> line_of) {
    to.push_back({std::move(words), [line_of = std::move(line_of)](OwnScales own) -> Map {
                    return [own, line_of](std::size_t line, std::size_t run) {
                      return own(line_of(line) % own.lines, run);
                    };
                  }});
  };
  for (std::size_t period = 1; period < lines && period <= most_period; period *= 2) {
    add(period == 1 ? "those of the first {0} everywhere"
                    : fmt::format("those of {{0}} i mod {} in {{0}} i", period),
        [period](std::size_t line) { return line % period; });
    add(fmt::format("of {{0}}s exchanged: that of i ^ {} in {{0}} i", period),
        [period](std::size_t line) { return line ^ period; });
    for (const bool on : {true, false}) {
      add(fmt::format("those of {{0}} i {} {} in {{0}} i", on ? "+" : "-", period),
          [period, on, lines](std::size_t line) { return line + (on ? period : lines - period); });
    }
    if (period == 1) continue;
    add(fmt::format("those of {{0}} i / {} in {{0}} i", period),
        [period](std::size_t line) { return line / period; });
    add(fmt::format("those of the first {{0}} of each {} in all of them", period),
        [period](std::size_t line) { return line / period * period; });
  }
}

/// Appends mistakes of runs of K: those of other runs.
void add_shifts(std::vector<ScaleMistake>& to, std::size_t runs) {
  constexpr std::size_t most_shift = 4;
  const auto add = [&to](std::string words, std::function<std::size_t(std::size_t)> run_of) {
    to.push_back({std::move(words), [run_of = std::move(run_of)](OwnScales own) -> Map {
                    return [own, run_of](std::size_t line, std::size_t run) {
                      return own(line, std::min(run_of(run), own.runs - 1));
                    };
                  }});
  };
  if (runs > 1) add("those of the first run of K everywhere", [](std::size_t) { return 0; });
  for (std::size_t by = 1; by <= most_shift && by < runs; ++by) {
    for (const bool on : {true, false}) {
      const std::size_t step = on ? by : runs - by;
      add(fmt::format("shifted by {0} along K: run i has that of i {1} {0}", by, on ? "+" : "-"),
          [step, runs](std::size_t run) { return (run + step) % runs; });
      add(fmt::format("shifted by {0} along K: run i has that of i {1} {0}, the {2} its own", by,
                      on ? "+" : "-", on ? "last" : "first"),
          [by, on](std::size_t run) { return on ? run + by : run - std::min(run, by); });
    }
  }
  if (runs < 2) return;
  add("those of run i / 2 in run i", [](std::size_t run) { return run / 2; });
  add("those of run 2 i in run i", [](std::size_t run) { return 2 * run; });
  for (const bool last : {false, true}) {
    add(fmt::format("those of the {} of each two runs of K in both", last ? "second" : "first"),
        [last](std::size_t run) { return run / 2 * 2 + (last ? 1 : 0); });
  }
  if (runs < 4) return;
  add("those of the first of each four runs of K in all of them",
      [](std::size_t run) { return run / 4 * 4; });
}

/// Appends the bytes of scales read as another format's.
void add_misread(std::vector<ScaleMistake>& to, OwnScales own) {
  constexpr std::pair<Format, Format> misread[]{{ue4m3, e8m0}, {e8m0, ue4m3}};
  for (const auto& [of, as] : misread) {
    const bool are_of = std::ranges::all_of(*own.scales, [&f = of](std::uint32_t scale) {
      return (scale >> 31) == 0 && convert(scale, binary32, f).flags == 0;
    });
    if (!are_of) continue;
    to.push_back({fmt::format("read as {} where they are {}", format_name(as), format_name(of)),
                  [of, as](OwnScales x) -> Map {
                    return [x, of, as](std::size_t line, std::size_t run) {
                      const std::uint64_t byte = convert(x(line, run), binary32, of).bits;
                      return static_cast<std::uint32_t>(convert(byte, as, binary32).bits);
                    };
                  }});
  }
}

/// Appends the promotion of several runs of K at once.
void add_joined(std::vector<Change>& to, const KernelRun& run) {
  constexpr std::size_t least_length = 64;  // shorter ones are an instruction's
  const std::size_t runs = run.runs.count(run.k), length = run.runs.length;
  for (std::size_t joined = 2; length >= least_length && joined <= runs; joined *= 2) {
    for (const bool last : {false, true}) {
      Change x{.words = fmt::format("promoted every {} of K, by the scales of the {} {} of them",
                                    joined * length, last ? "last" : "first", length)};
      x.joined_runs = joined;
      const auto of_last = [=](const std::vector<std::uint32_t>& scales) {
        return [&scales, joined, runs](std::size_t line, std::size_t at) {
          return scales[line * runs + std::min(at + joined, runs) - 1];
        };
      };
      if (last && !run.runs.a.empty()) x.a_runs = of_last(run.runs.a);
      if (last && !run.runs.b.empty()) x.b_runs = of_last(run.runs.b);
      to.push_back(std::move(x));
    }
  }
}

/// Returns all mistakes with the scales of a matrix.
std::vector<ScaleMistake> mistakes_of(std::size_t lines, std::size_t runs) {
  std::vector<ScaleMistake> out;
  for (const ScalePower& power : scale_powers) {
    out.push_back({power.words, [power](OwnScales own) -> Map {
                     return [own, power](std::size_t line, std::size_t run) {
                       return std::bit_cast<std::uint32_t>(
                           static_cast<float>(power.as(number_of_scale(own(line, run)))));
                     };
                   }});
  }
  for (const Format& f : {bfloat16, binary16}) {
    out.push_back({fmt::format("rounded to {}", type_name(f)), [f](OwnScales own) -> Map {
                     return [own, f](std::size_t line, std::size_t run) {
                       return rounded_to(own(line, run), f);
                     };
                   }});
  }
  add_shifts(out, runs);
  add_lines(out, lines);
  if (lines > 1 && runs > 1) add_layouts(out);
  return out;
}

}  // namespace

std::vector<double> scaled_numbers(const KernelCase& x, bool of_b) {
  const KernelRun& run = x.run;
  std::vector<double> out = numbers_of(of_b ? run.b : run.a, of_b ? x.types.b : x.types.a);
  const std::vector<std::uint32_t>& scales = of_b ? run.runs.b : run.runs.a;
  for (std::size_t first = 0, line = 0; first < out.size() && !scales.empty();
       first += run.k, ++line) {
    const std::uint32_t* of_line = run.runs.of_line(scales, line, run.k);
    for (std::size_t k = 0; k < run.k; ++of_line) {
      const double scale = number_of_scale(*of_line);
      for (const std::size_t end = std::min(k + run.runs.length, run.k); k < end; ++k) {
        out[first + k] *= scale;
      }
    }
  }
  return out;
}

double run_factor(const KernelRun& run, bool of_b, std::size_t line, std::size_t k) {
  const std::vector<std::uint32_t>& scales = of_b ? run.runs.b : run.runs.a;
  const std::uint32_t* const of_line = run.runs.of_line(scales, line, run.k);
  return of_line == nullptr ? 1 : number_of_scale(of_line[k / run.runs.length]);
}

std::vector<Change> run_scale_changes(const KernelCase& x) {
  const KernelRun& run = x.run;
  const std::size_t runs = run.runs.count(run.k);
  const OwnScales a{&run.runs.a, run.m, runs}, b{&run.runs.b, run.n, runs};
  std::vector<Change> out;
  const auto all_mistakes_of = [&](OwnScales own) {
    std::vector<ScaleMistake> all = mistakes_of(own.lines, runs);
    add_misread(all, own);
    return all;
  };
  const auto words_of = [](const char* whose, const ScaleMistake& one, const char* noun) {
    return fmt::format("{} scales of blocks {}", whose, fmt::format(fmt::runtime(one.words), noun));
  };
  const auto add_of = [&](const char* whose, OwnScales own, const char* noun, auto runs_of) {
    if (own.scales->empty()) return;
    for (const ScaleMistake& one : all_mistakes_of(own)) {
      out.push_back({.words = words_of(whose, one, noun)});
      out.back().*runs_of = one.of(own);
    }
    const std::optional<OwnScales> blocks = in_blocks(own);
    if (!blocks) return;
    std::vector<ScaleMistake> of_blocks;
    add_lines(of_blocks, blocks->lines);
    if (runs > 1) add_layouts(of_blocks);
    for (const std::size_t part : {2, 4}) {
      const std::size_t length = blocks->block / part;
      if (length == 0) continue;
      out.push_back({.words = fmt::format("{} scales of blocks of {} {}s indexed by {} / {}", whose,
                                          blocks->block, noun, noun, length)});
      out.back().*runs_of = [blocks = *blocks, length](std::size_t line, std::size_t at) {
        return blocks(std::min(line / length, blocks.lines - 1), at);
      };
    }
    const std::string block_noun = fmt::format("block of {} {}s", blocks->block, noun);
    for (const ScaleMistake& one : of_blocks) {
      out.push_back({.words = words_of(whose, one, block_noun.c_str())});
      out.back().*runs_of = [map = one.of(*blocks), by = blocks->block](
                                std::size_t line, std::size_t at) { return map(line / by, at); };
    }
  };
  add_of("A's", a, "row", &Change::a_runs);
  add_of("B's", b, "column", &Change::b_runs);
  if (run.runs.a.empty() || run.runs.b.empty()) {
    if (run.runs.any()) add_joined(out, run);
    return out;
  }
  const auto of_other = [](OwnScales other) -> Map {
    return [other](std::size_t line, std::size_t at) { return other(line % other.lines, at); };
  };
  for (const bool both : {true, false}) {
    const char* const words =
        both ? "scales of blocks of A and B exchanged" : "A's scales of blocks in the place of B's";
    out.push_back({.words = words});
    out.back().b_runs = of_other(a);
    if (both) out.back().a_runs = of_other(b);
  }
  out.push_back({.words = "B's scales of blocks in the place of A's"});
  out.back().a_runs = of_other(b);
  std::vector<ScaleMistake> of_both = mistakes_of(1, runs);  // those of lines are of one matrix
  add_misread(of_both, a);
  for (const ScaleMistake& one : of_both) {
    out.push_back({.words = words_of("A's and B's", one, "line")});
    out.back().a_runs = one.of(a);
    out.back().b_runs = one.of(b);
  }
  std::vector<ScaleMistake> layouts;
  add_layouts(layouts);
  for (const ScaleMistake& one : layouts) {
    out.push_back({.words = words_of("A's and B's", one, "line")});
    out.back().a_runs = one.of(a);
    out.back().b_runs = one.of(b);
  }
  add_joined(out, run);
  return out;
}

bool keeps_runs(const Change& x, std::size_t length) {
  for (std::size_t i = 0; i < x.places.size(); ++i) {
    const std::size_t first = x.places[i - i % length];
    if (first % length != 0 || x.places[i] != first + i % length) return false;
  }
  return true;
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Turns names and options into models, and models into options and words.
#include "lib/gemm/named_gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <vector>

#include "emulate/stream_k.h"
#include "lib/format/format_spec.h"
#include "lib/instruction/instruction_name.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

constexpr int most_parts = 4096;

struct ChainName {
  std::string_view prefix;
  Recipe recipe;
};
constexpr std::array chain_names{ChainName{"fma.rn.", Recipe::fma_chain},
                                 ChainName{"mul_add.rn.", Recipe::mul_add_chain}};

std::optional<int> number(std::string_view text, int least, int most) {
  int out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && out >= least && out <= most ? std::optional(out) : std::nullopt;
}

/// Returns the product of these types in plain order.
GemmModel plain(const DotModel& model, const DotTypes& types, int k) {
  GemmModel out{.model = model, .types = types, .k = k, .c = types.c};
  out.sum.partial = types.d;
  out.sum.c_first = is_integer(types.d);
  const bool floats = !is_integer(types.d);
  out.epilogue.compute = floats ? types.d : binary32;
  out.epilogue.out = types.d;
  return out;
}

NamedGemm parse_chain(std::string_view name, const ChainName& row) {
  const auto fail = [&](const std::string& why) {
    return Error("'" + printable(name) + "' " + why + "; write it as " + std::string(row.prefix) +
                 "f32.f16.f16.f32, the types of d, a, b and c");
  };
  const auto words = split(name.substr(row.prefix.size()), '.');
  if (words.size() != 4) {
    throw fail("has " + std::to_string(words.size()) + " types and not 4");
  }
  std::vector<Format> formats;
  for (const std::string_view word : words) {
    const auto found = std::ranges::find(type_names, word, &TypeName::name);
    if (found == type_names.end() || is_integer(found->format)) {
      throw fail("has '" + printable(word) + "', which is no floating-point type");
    }
    formats.push_back(found->format);
  }
  const DotTypes types{formats[1], formats[2], formats[3], formats[0]};
  if (types.c != types.d) throw fail("has a c of another type than d");
  const DotModel model{row.recipe, 1, 0, 0, types.d, Rounding::ties_to_even};
  return {std::string(name), 0, {Evidence::paper, "IEEE 754-2019", ""}, plain(model, types, 1)};
}

const ChainName* find_chain(std::string_view name) {
  const auto row = std::ranges::find_if(
      chain_names, [&](const ChainName& x) { return name.starts_with(x.prefix); });
  return row == chain_names.end() ? nullptr : &*row;
}

std::string format_word(const Format& f) {
  const std::string_view known = type_name(f);
  return known == "?" ? spec_of(f) : std::string(known);
}

std::string counted(int n, const char* noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

/// Returns how a promotion multiplies by scales: "times the product of both scales of 128 elements
/// of K, added by fma".
std::string words_of(const PromotionScaling& how) {
  constexpr std::array<std::string_view, 3> by{"A's scale, then B's", "B's scale, then A's",
                                               "the product of both scales"};
  return fmt::format("times {} of {} elements of K, {}", by[static_cast<std::size_t>(how.order)],
                     how.share, how.fused ? "added by fma" : "rounded, then added");
}

/// Returns the numbers of the parts as a listed split adds them: "2-0-1".
std::string listed_order(const Split& split) {
  std::string out;
  for (std::size_t i = 0; i < static_cast<std::size_t>(split.parts); ++i) {
    out += (i == 0 ? "" : "-") + std::to_string(split.order[i]);
  }
  return out;
}

std::string reduction_word(const Split& split) {
  return split.reduction == Reduction::listed
             ? listed_order(split)
             : std::string(reduction_names[static_cast<std::size_t>(split.reduction)]);
}

/// Returns the first numbers of a split's ends: "5-13".
std::string listed_ends(const Split& split, int count) {
  const std::span ends(split.ends.data(), static_cast<std::size_t>(count));
  return fmt::format("{}", fmt::join(ends, "-"));
}

/// How many numbers Split::ends holds for TileShares::steps.
constexpr int numbers_of_steps = 3;

std::string stream_words(const StreamK& x) {
  std::string out = fmt::format("stream{}x{}", x.tile_m, x.tile_n);
  if (x.by_columns) out += ":columns";
  if (x.shared != 0) out += fmt::format(":{}{}", x.whole_first ? "last" : "first", x.shared);
  if (x.groups != 1) out += fmt::format(":groups{}", x.groups);
  if (x.least != 0) out += fmt::format(":least{}", x.least);
  return out;
}

std::string shares_word(const Split& split) {
  switch (split.shares) {
    case TileShares::listed: return "at" + listed_ends(split, split.parts - 1);
    case TileShares::steps: return "steps" + listed_ends(split, numbers_of_steps);
    case TileShares::stream: return stream_words(split.stream);
    default: return std::string(shares_names[static_cast<std::size_t>(split.shares)]);
  }
}

/// Returns stream-K in words, without how the parts are added.
std::string stream_text(const Split& split) {
  const StreamK& x = split.stream;
  std::string out = fmt::format("stream-K: {} workers share the K of ", split.parts);
  if (x.shared != 0) out += fmt::format("the {} {} ", x.whole_first ? "last" : "first", x.shared);
  out += fmt::format("tiles of {} × {} of D, along its {}", x.tile_m, x.tile_n,
                     x.by_columns ? "columns" : "rows");
  if (split.tile != 0) out += fmt::format(", in tiles of {}", split.tile);
  if (x.groups != 1) out += fmt::format(", in {} groups", x.groups);
  if (x.least != 0) out += fmt::format(", each at least {} iterations of a tile", x.least);
  return out;
}

std::string words_of(const Split& split, const Accumulation& sum) {
  const bool streams = split.shares == TileShares::stream;
  std::string out = streams ? stream_text(split) : fmt::format("K in {} parts, ", split.parts);
  if (!streams) {
    out += split.interleave != 0 ? fmt::format("by turns of {}", split.interleave)
           : split.tile != 0     ? fmt::format("each a run of tiles of {}", split.tile)
                                 : "each a run";
    if (split.shares != TileShares::full) out += fmt::format(" ({})", shares_word(split));
  }
  if (split.until != 0) out += fmt::format(", again until {}", split.until);
  if (split.backward != 1) out += fmt::format(", {} rounds at a time backwards", split.backward);
  if (split.short_first) out += ", a round that is not whole first";
  if (sum.format_of_sums() != sum.partial) out += ", kept in " + format_word(sum.partial);
  out += fmt::format(", added in {}, {}", format_word(sum.format_of_sums()), reduction_word(split));
  if (split.first != 0) out += fmt::format(" from part {} on", split.first);
  if (split.tail_mul_add) {
    return out + fmt::format(", the tail {}them, its products rounded and added in {}",
                             split.tail_first ? "by itself and then to " : "after ",
                             format_word(*split.tail_mul_add));
  }
  return out + (split.tail_after   ? ", the tail after them"
                : split.tail_first ? ", the tail before them"
                                   : "");
}

/// Reads numbers with a hyphen between them into the first members of `to`. Returns whether they
/// are `count` numbers of at most `most`.
template <class Number, std::size_t size>
bool read_list(std::string_view text, int count, int most, std::array<Number, size>& to) {
  const auto words = split(text, '-');
  if (words.size() != static_cast<std::size_t>(count) || words.size() > size) return false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto one = number(words[i], 0, most);
    if (!one) return false;
    to[i] = static_cast<Number>(*one);
  }
  return true;
}

/// Reads the numbers of parts as listed_order writes them into a split of so many parts. Returns
/// whether they are that.
bool read_order(std::string_view text, Split& out) {
  if (!read_list(text, out.parts, out.parts - 1, out.order)) return false;
  out.reduction = Reduction::listed;
  return lists_all_parts(out);
}

/// Reads "at" or "steps" and the numbers of Split::ends, as shares_word writes them. Returns
/// whether it is that.
bool read_ends(std::string_view text, Split& out) {
  constexpr std::string_view at = "at", steps = "steps";
  const bool listed = text.starts_with(at);
  if (!listed && !text.starts_with(steps)) return false;
  out.shares = listed ? TileShares::listed : TileShares::steps;
  return read_list(text.substr((listed ? at : steps).size()),
                   listed ? out.parts - 1 : numbers_of_steps, 1 << 30, out.ends) &&
         (listed ? lists_ends(out) : out.ends[0] > 0);
}

/// Reads "streamMxN", as stream_words begins. Returns whether it is that.
bool read_stream(std::string_view text, Split& out) {
  constexpr std::string_view prefix = "stream";
  if (!text.starts_with(prefix)) return false;
  const auto sizes = split(text.substr(prefix.size()), 'x');
  if (sizes.size() != 2) return false;
  const auto rows = number(sizes[0], 1, 1 << 20), columns = number(sizes[1], 1, 1 << 20);
  if (!rows || !columns) return false;
  out.shares = TileShares::stream;
  out.stream = {.tile_m = *rows, .tile_n = *columns};
  return true;
}

/// Reads how the products of a tail are added, "mul_add.f64". Returns whether it is that.
bool read_tail_mul_add(std::string_view text, Split& out) {
  constexpr std::string_view prefix = "mul_add.";
  if (!text.starts_with(prefix)) return false;
  const auto row = std::ranges::find(type_names, text.substr(prefix.size()), &TypeName::name);
  if (row == type_names.end() || is_integer(row->format)) return false;
  out.tail_mul_add = row->format;
  return true;
}

/// Reads words that are in the order of the grammar, each of which may be left out.
class Words {
 public:
  explicit Words(std::string_view text) : words_(split(text, ':')) {}

  bool at_end() const { return at_ == words_.size(); }
  std::string_view here() const { return at_end() ? std::string_view() : words_[at_]; }
  /// Takes the word, if read(word) says so.
  template <class Read>
  bool take(const Read& read) {
    const bool taken = !at_end() && read(here());
    at_ += taken ? 1 : 0;
    return taken;
  }
  /// Takes a number behind a prefix; the word is the wrong one if it has the prefix alone.
  void take_number(std::string_view prefix, int least, int most, int& to) {
    take([&](std::string_view word) {
      if (!word.starts_with(prefix)) return false;
      const auto found = number(word.substr(prefix.size()), least, most);
      to = found.value_or(to);
      return found.has_value();
    });
  }

 private:
  std::vector<std::string_view> words_;
  std::size_t at_ = 0;
};

/// Takes the name of a row, which sets an enumeration.
template <class Enum, class Names>
void take_name(Words& words, const Names& names, Enum& to) {
  words.take([&](std::string_view word) {
    const auto name = std::ranges::find(names, word);
    if (name != names.end()) to = static_cast<Enum>(name - names.begin());
    return name != names.end();
  });
}

/// The reductions that have a word; Reduction::listed is spelled by its parts.
constexpr auto spelled_reductions = [] {
  std::array<std::string_view, reduction_names.size() - 1> out;
  std::ranges::copy_n(reduction_names.begin(), out.size(), out.begin());
  return out;
}();
/// Takes the words of stream-K behind its tile of D.
void take_stream(Words& words, int workers, StreamK& to) {
  words.take([&](std::string_view word) { return to.by_columns = word == "columns"; });
  words.take_number("first", 1, 1 << 30, to.shared);
  if (to.shared == 0) {
    words.take_number("last", 1, 1 << 30, to.shared);
    to.whole_first = to.shared != 0;
  }
  words.take_number("groups", 1, workers, to.groups);
  words.take_number("least", 1, 1 << 20, to.least);
}

/// The shares that have a word of their own.
constexpr auto spelled_shares = [] {
  std::array<std::string_view, static_cast<std::size_t>(TileShares::listed)> out;
  std::ranges::copy_n(shares_names.begin(), out.size(), out.begin());
  return out;
}();

}  // namespace

bool is_chain_name(std::string_view instruction) {
  if (find_chain(instruction) != nullptr) return true;
  for (const ChainName& row : chain_names) {
    const std::string_view operation = row.prefix.substr(0, row.prefix.find('.') + 1);
    if (instruction.starts_with(operation)) {
      throw Error("'" + printable(instruction) + "': chains round to nearest; write it as " +
                  std::string(row.prefix) + "f32.f16.f16.f32, the types of d, a, b and c");
    }
  }
  return false;
}

NamedGemm named_gemm(const Instruction& x) {
  return {instruction_name(x), x.sm, brief_of(x), plain(x.model, x.types, x.k)};
}

NamedGemm parse_gemm(std::string_view instruction, int sm) {
  if (const ChainName* row = find_chain(instruction)) return parse_chain(instruction, *row);
  const Instruction x = parse_instruction(instruction, sm);
  if (x.model.scales.without_c) {
    throw Error(
        "'" + printable(instruction) +
        "' drops the accumulator: a product of several of them is the last one's; leave out "
        "scale_d_0");
  }
  return named_gemm(x);
}

Split parse_split(std::string_view text) {
  const auto fail = [&] {
    return Error(
        "split '" + printable(text) +
        "' is not PARTS[:RUN|:tileN][:SHARES|:atENDS|:stepsA-B-C][:untilN][:backN|:short-first]"
        "[:REDUCTION][:fromN][:tail|:tail-first][:mul_add.TYPE], as 4, 2:16, 3:tile64, "
        "3:tile32:at5-13, "
        "32:1:halves or 8:1:pairs:tail, nor WORKERS[:tileN]:streamMxN[:columns][:firstT|:lastT]"
        "[:groupsG][:leastN][:descending], where G divides WORKERS; parts are 2 to " +
        std::to_string(most_parts) + ", parts times RUN or N at most 2^30, shares " +
        listed(spelled_shares) + ", reductions " + listed(spelled_reductions) +
        " or the parts in their order, as 2-0-1");
  };
  Words words(text);
  Split out;
  words.take_number("", 2, most_parts, out.parts);
  words.take_number("", 1, 1 << 20, out.interleave);
  const bool runs = out.interleave == 0;
  if (runs) {
    words.take_number("tile", 1, 1 << 20, out.tile);
    take_name(words, spelled_shares, out.shares);
    if (out.shares == TileShares::full) {
      words.take([&](std::string_view word) { return read_ends(word, out); });
    }
    if (out.shares == TileShares::full) {
      words.take([&](std::string_view word) { return read_stream(word, out); });
    }
    if (out.shares == TileShares::stream) take_stream(words, out.parts, out.stream);
    if (out.parts == 2) words.take_number("until", 16, 1 << 20, out.until);
  } else {
    words.take_number("back", 2, 64, out.backward);
    if (out.backward == 1) {
      words.take([&](std::string_view word) { return out.short_first = word == "short-first"; });
    }
  }
  take_name(words, spelled_reductions, out.reduction);
  if (out.reduction == Reduction::ascending) {
    words.take([&](std::string_view word) { return read_order(word, out); });
  }
  if (out.reduction != Reduction::listed) words.take_number("from", 0, out.parts - 1, out.first);
  if (!runs) {
    words.take([&](std::string_view word) {
      out.tail_after = word == "tail";
      out.tail_first = word == "tail-first";
      return out.tail_after || out.tail_first;
    });
    if (out.tail_after || out.tail_first) {
      words.take([&](std::string_view word) { return read_tail_mul_add(word, out); });
    }
  }
  const std::int64_t round = std::int64_t{out.parts} * std::max(out.interleave, out.tile);
  if (out.parts < 2 || !words.at_end() || round > 1 << 30 || !can_stream(out)) throw fail();
  return out;
}

std::string spelled(const Split& split) {
  std::string out = std::to_string(split.parts);
  const auto word = [&out](std::string_view text) { (out += ":") += text; };
  if (split.interleave != 0) word(std::to_string(split.interleave));
  if (split.tile != 0) word("tile" + std::to_string(split.tile));
  if (split.shares != TileShares::full) word(shares_word(split));
  if (split.until != 0) word("until" + std::to_string(split.until));
  if (split.backward != 1) word("back" + std::to_string(split.backward));
  if (split.short_first) word("short-first");
  if (split.reduction != Reduction::ascending) word(reduction_word(split));
  if (split.first != 0) word("from" + std::to_string(split.first));
  if (split.tail_after) word("tail");
  if (split.tail_first) word("tail-first");
  if (split.tail_mul_add) word("mul_add." + format_word(*split.tail_mul_add));
  return out;
}

KOrder parse_k_order(std::string_view text) {
  const auto fail = [&] {
    return Error("k order '" + printable(text) +
                 "' is not ascending or descending, with or without :GROUPxWIDTH and then "
                 ":second-first, as ascending:2x4");
  };
  auto words = split(text, ':');
  KOrder out{.descending = words[0] == "descending"};
  out.second_first = words.back() == "second-first";
  if (out.second_first) words.pop_back();
  if (words.empty() || words.size() > 2) throw fail();
  if (!out.descending && words[0] != "ascending") throw fail();
  if (words.size() == 1) return out;
  const auto sizes = split(words[1], 'x');
  if (sizes.size() != 2) throw fail();
  const auto group = number(sizes[0], 2, 64);
  const auto width = number(sizes[1], 1, 256);
  if (!group || !width) throw fail();
  out.group = *group;
  out.width = *width;
  return out;
}

std::string spelled(const KOrder& order) {
  std::string out = order.descending ? "descending" : "ascending";
  if (order.group != 1) out += fmt::format(":{}x{}", order.group, order.width);
  return order.second_first ? out + ":second-first" : out;
}

std::string spelled(const PromotionScaling& how) {
  return std::string(scale_order_names[static_cast<std::size_t>(how.order)]) +
         (how.fused ? "" : ":rounded");
}

std::string options_of(const GemmModel& g) {
  const GemmModel usual = plain(g.model, g.types, g.k);
  std::vector<std::string> out;
  const auto option = [&out](const char* name, const std::string& value) {
    out.push_back(value.empty() ? name : fmt::format("{} {}", name, value));
  };
  if (g.sum.order != usual.sum.order) option("--k-order", spelled(g.sum.order));
  if (g.sum.promote_every != 0) {
    const bool usual_register = g.sum.promotion == usual.sum.promotion;
    std::string every = std::to_string(g.sum.promote_every);
    if (g.sum.promote_halves != 0) every += ":halves" + std::to_string(g.sum.promote_halves);
    if (!usual_register) every += ":" + format_word(g.sum.promotion);
    option("--promote-every", every);
  }
  if (g.sum.scaling != PromotionScaling{.share = g.sum.scaling.share}) {
    option("--promote-scales", spelled(g.sum.scaling));
  }
  for (const Split& split : g.sum.splits) {
    if (split.parts > 1) option("--split", spelled(split));
  }
  const bool divided = g.sum.splits[0].parts > 1;
  if (divided && g.sum.partial != usual.sum.partial)
    option("--partial", format_word(g.sum.partial));
  if (divided && g.sum.format_of_sums() != g.sum.partial) {
    option("--reduce-in", format_word(g.sum.format_of_sums()));
  }
  if (g.sum.c_first != usual.sum.c_first) option("--c-first", "");
  const Epilogue& e = g.epilogue;
  if (e.alpha != usual.epilogue.alpha) option("--alpha", fmt::format("{}", e.alpha));
  if (e.beta != usual.epilogue.beta) option("--beta", fmt::format("{}", e.beta));
  if (!e.sum_last) option("--fused", "beta");
  if (e.scales != usual.epilogue.scales) {
    option("--scale-order", std::string(scale_order_names[static_cast<std::size_t>(e.scales)]));
  }
  if (e.bias_first) option("--bias-first", "");
  if (e.compute != usual.epilogue.compute) option("--epilogue-format", format_word(e.compute));
  if (e.out != usual.epilogue.out) option("--out-format", format_word(e.out));
  if (e.saturate) option("--saturate", "");
  if (e.sum) option("--sum-format", format_word(*e.sum));
  if (e.activation == Activation::relu) option("--relu", "");
  if (is_smooth(e.activation)) option("--activation", std::string(activation_name(e.activation)));
  if (e.through) option("--out-through", format_word(*e.through));
  if (e.rounding != usual.epilogue.rounding) {
    option("--out-rounding", std::string(rounding_name(e.rounding)));
  }
  if (e.seed != usual.epilogue.seed) option("--seed", std::to_string(e.seed));
  return fmt::format("{}", fmt::join(out, " "));
}

std::string order_text(const GemmModel& g) {
  std::vector<std::string> out;
  for (const Split& split : g.sum.splits) {
    if (split.parts > 1) out.push_back(words_of(split, g.sum));
  }
  if (g.sum.order.group != 1) {
    out.push_back(fmt::format("{} share {} k, {} in turn",
                              counted(g.sum.order.group, "instruction"), g.sum.order.group * g.k,
                              g.sum.order.width));
  }
  out.emplace_back(g.sum.order.descending ? "k descending" : "k ascending");
  if (g.sum.order.second_first) out.back() += ", the second of each chain before the first";
  if (g.sum.promote_every != 0) {
    out.push_back(fmt::format("into {} every {}", format_word(g.sum.promotion),
                              g.k == 1 ? counted(g.sum.promote_every, "product")
                                       : counted(g.sum.promote_every, "instruction")));
    if (g.sum.promote_halves != 0) {
      out.back() += fmt::format(", the last two halved by {}", g.sum.promote_halves);
    }
    if (g.sum.scaling.share != 0) out.back() += ", " + words_of(g.sum.scaling);
  }
  if (is_scaled(g.model)) {
    out.push_back(fmt::format("scales of {} elements of K in the instruction", scale_run(g)));
  }
  if (g.sum.c_first) out.emplace_back("begins with C");
  const Epilogue& e = g.epilogue;
  if (e.compute != plain(g.model, g.types, g.k).epilogue.compute) {
    out.push_back(fmt::format("the sum rounded to {} for the epilogue", format_word(e.compute)));
    if (fits_in(g.types.d, e.compute)) {
      out.back() = fmt::format("the epilogue in {}", format_word(e.compute));
    }
  }
  if (e.sum) out.push_back(fmt::format("the sum rounded to {}", format_word(*e.sum)));
  if (e.bias_first) out.emplace_back("the bias added first");
  if (e.scales == ScaleOrder::b_first) out.emplace_back("B's scales before A's");
  if (e.scales == ScaleOrder::together) out.emplace_back("by the product of both scales");
  if (e.activation == Activation::relu) out.emplace_back("below 0 becomes 0");
  if (is_smooth(e.activation)) out.emplace_back(activation_name(e.activation));
  if (e.through) out.push_back(fmt::format("D by way of {}", format_word(*e.through)));
  if (e.rounding != Rounding::ties_to_even) {
    out.push_back(fmt::format("D rounded {}", rounding_name(e.rounding)));
    if (e.rounding == Rounding::stochastic) out.back() += fmt::format(", seed {}", e.seed);
  }
  return fmt::format("{}", fmt::join(out, "; "));
}

}  // namespace binade

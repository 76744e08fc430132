// SPDX-License-Identifier: Apache-2.0
//
// Suspicions where no rule explains every code: what would explain more of them, told with its
// share.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

#include "lib/format/format_spec.h"
#include "lib/identify/conversion_search.h"
#include "lib/number/encoding_text.h"
#include "lib/parallel/parallel.h"
#include "lib/text/percent.h"

namespace binade {
namespace {

constexpr std::size_t most_suspected = 2048;  // pairs on which suspicions are tried first
constexpr std::size_t most_told = 3;

/// A change of inputs or codes under which the plainest rules are tried.
struct Suspicion {
  std::string words;
  int scale = 0;  ///< inputs are multiplied by 2^scale
  Format to = {};
  std::function<std::uint64_t(std::uint64_t code)> seen =
      {};  ///< what stands for a code; empty: it
};

struct SuspectedRule {
  const Suspicion* suspicion;
  Conversion how;
  std::uint64_t equal = 0;
};

std::uint64_t swapped_bytes(std::uint64_t code, int bits) {
  std::uint64_t out = 0;
  for (int at = 0; at < bits; at += 8) out = out << 8 | (code >> at & 0xFF);
  return out;
}

std::vector<Suspicion> suspicions_of(const Converted& given) {
  const Format& to = given.to;
  std::vector<Suspicion> out;
  for (int k = 1; k <= 16; ++k) {
    out.push_back({fmt::format("of the inputs times 2^{}", k), k, to, {}});
    out.push_back({fmt::format("of the inputs times 2^-{}", k), -k, to, {}});
  }
  const int width = to.storage_bits();
  if (width > 8) {
    out.push_back({"whose bytes are swapped", 0, to,
                   [width](std::uint64_t code) { return swapped_bytes(code, width); }});
  }
  if (to.bits() == 8) {
    out.push_back({"whose halves of 4 bits are swapped", 0, to,
                   [](std::uint64_t code) { return (code << 4 | code >> 4) & 0xFF; }});
  }
  if (to.has_sign) {
    const std::uint64_t sign = std::uint64_t{1} << (to.bits() - 1) << to.padding_bits;
    out.push_back(
        {"whose sign is the opposite", 0, to, [sign](std::uint64_t code) { return code ^ sign; }});
  }
  for (const NamedFormat& row : formats) {
    if (row.format == to || row.format.storage_bits() != width || row.format.bits() > to.bits()) {
      continue;
    }
    out.push_back({fmt::format("in {} instead of {}", row.name, spec_of(to)), 0, row.format, {}});
  }
  return out;
}

bool is_equal(const Suspicion& suspicion, const Conversion& how, const CodePair& pair,
              const Format& from) {
  Exact x = decode(pair.input, from);
  if (x.kind == Kind::finite) x.exponent += suspicion.scale;
  const std::uint64_t code = suspicion.seen ? suspicion.seen(pair.code) : pair.code;
  return converted(how, x) == code;
}

std::vector<Conversion> plain_rules(const Format& to) {
  std::vector<Conversion> out;
  for (const Rounding rounding :
       {Rounding::ties_to_even, Rounding::ties_to_away, Rounding::toward_zero}) {
    for (const Overflow overflow : {Overflow::largest, Overflow::outward}) {
      out.push_back({.steps = {{to, rounding, overflow}}});
    }
  }
  return out;
}

/// Counts the elements of all pairs for which a condition holds.
std::uint64_t counted(const std::vector<CodePair>& pairs,
                      const std::function<bool(const CodePair&)>& holds_for) {
  std::vector<std::uint64_t> counts(thread_count(), 0);
  parallel_for(pairs.size(), 1 << 14, [&](std::size_t begin, std::size_t end, std::size_t slot) {
    for (std::size_t i = begin; i < end; ++i) {
      if (holds_for(pairs[i])) counts[slot] += pairs[i].count;
    }
  });
  std::uint64_t out = 0;
  for (const std::uint64_t n : counts) out += n;
  return out;
}

/// Adds suspicions that codes are those of other elements: of a neighbour, or of the transpose.
void add_displaced(std::vector<ConversionHypothesis>& out, const Converted& given,
                   std::uint64_t equal, std::uint64_t elements) {
  struct Displacement {
    const char* words;
    std::function<std::uint64_t(std::uint64_t)> source;  ///< the element whose code should be here
  };
  const std::uint64_t n = given.inputs.size();
  std::vector<Displacement> all{
      {"of the other element of each pair", [](std::uint64_t i) { return i ^ 1; }},
      {"of each 4 elements in the reverse order", [](std::uint64_t i) { return i ^ 3; }},
      {"of the element before", [](std::uint64_t i) { return i - 1; }},
      {"of the element after", [](std::uint64_t i) { return i + 1; }}};
  if (given.shape.size() == 2 && given.shape[0] > 1 && given.shape[1] > 1) {
    const std::uint64_t rows = given.shape[0], columns = given.shape[1];
    all.push_back({"of the transposed matrix",
                   [rows, columns](std::uint64_t i) { return i % rows * columns + i / rows; }});
  }
  for (const Displacement& x : all) {
    std::uint64_t most = 0;
    for (const Conversion& how : plain_rules(given.to)) {
      std::vector<std::uint64_t> counts(thread_count(), 0);
      parallel_for(n, 1 << 14, [&](std::size_t begin, std::size_t end, std::size_t slot) {
        for (std::size_t i = begin; i < end; ++i) {
          const std::uint64_t from = x.source(i);
          if (from >= n) continue;
          const Exact value = decode(given.inputs[from], given.from);
          const bool finite = value.kind == Kind::finite || value.kind == Kind::zero;
          if (finite && converted(how, value) == given.codes[i]) ++counts[slot];
        }
      });
      std::uint64_t found = 0;
      for (const std::uint64_t count : counts) found += count;
      most = std::max(most, found);
    }
    if (most > equal && 2 * most > elements) {
      out.push_back({fmt::format("codes {}", x.words), most, elements});
    }
  }
}

/// Returns the sentence on codes that each are one of the two neighbours of their input, with the
/// share that went up beside what the discarded fractions would give; nothing if some are not.
std::optional<ConversionHypothesis> neighbours_of(const Converted& given,
                                                  const std::vector<CodePair>& pairs) {
  std::uint64_t elements = 0, inexact = 0, up = 0;
  double expected = 0;
  std::array<std::uint64_t, 2> small{}, large{};  // of fractions below 1/4 and from 3/4: all, up
  for (const CodePair& pair : pairs) {
    const Exact x = decode(pair.input, given.from);
    const auto rounded = [&](Rounding rounding) {
      return converted({.steps = {{given.to, rounding, Overflow::outward}}}, x);
    };
    const std::uint64_t low = rounded(Rounding::toward_zero);
    const std::uint64_t high =
        rounded(x.negative ? Rounding::toward_negative : Rounding::toward_positive);
    const bool capped =
        high == max_bits(given.to, x.negative) || pair.code == max_bits(given.to, x.negative);
    if (pair.code != low && pair.code != high && !capped) return std::nullopt;
    elements += pair.count;
    if (low == high) continue;
    const int e = x.exponent + bit_width(x.significand) - 1;
    const int drop = std::max(e, given.to.emin()) - given.to.fraction_bits() - x.exponent;
    const double fraction =
        static_cast<double>(discarded_fraction(cut(x, drop), drop, 32)) / 4294967296.0;
    const std::uint64_t went_up = pair.code == high ? pair.count : 0;
    inexact += pair.count;
    up += went_up;
    expected += fraction * static_cast<double>(pair.count);
    if (fraction < 0.25) small = {small[0] + pair.count, small[1] + went_up};
    if (fraction >= 0.75) large = {large[0] + pair.count, large[1] + went_up};
  }
  if (inexact == 0) return std::nullopt;
  const auto share = [](std::uint64_t part, std::uint64_t all) {
    return percent(all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all));
  };
  return ConversionHypothesis{
      fmt::format("each code is one of the two neighbours of its input, as of stochastic rounding: "
                  "{} of those between numbers went up in magnitude, the discarded fractions would "
                  "give {}; of fractions below 1/4 {} went up, from 3/4 on {}",
                  share(up, inexact), percent(expected / static_cast<double>(inexact)),
                  share(small[1], small[0]), share(large[1], large[0])),
      elements, elements};
}

/// Returns the sentence on inputs that have several codes.
std::optional<ConversionHypothesis> ambiguous_inputs(const Converted& given,
                                                     const std::vector<CodePair>& pairs) {
  std::uint64_t inputs = 0;
  const CodePair* first = nullptr;
  for (std::size_t i = 1; i < pairs.size(); ++i) {
    if (pairs[i].input != pairs[i - 1].input) continue;
    ++inputs;
    if (first == nullptr) first = &pairs[i - 1];
  }
  if (first == nullptr) return std::nullopt;
  const CodePair& other = *(first + 1);
  return ConversionHypothesis{
      fmt::format("{} inputs have several codes, so that something else than the input decides "
                  "(random bits, a scale of its own for each block): {} is {} at element {} and {} "
                  "at element {}",
                  inputs, value_text(first->input, given.from), hexadecimal(first->code, given.to),
                  first->first, hexadecimal(other.code, given.to), other.first)};
}

}  // namespace

std::vector<ConversionHypothesis> conversion_hypotheses(const Converted& given,
                                                        const std::vector<CodePair>& pairs,
                                                        std::uint64_t equal) {
  std::uint64_t elements = 0;
  for (const CodePair& pair : pairs) elements += pair.count;
  const std::vector<Suspicion> suspicions = suspicions_of(given);
  std::vector<SuspectedRule> tried;
  const std::size_t n = std::min(most_suspected, pairs.size());
  for (const Suspicion& suspicion : suspicions) {
    for (const Conversion& how : plain_rules(suspicion.to)) {
      SuspectedRule rule{&suspicion, how};
      for (std::size_t k = 0; k < n; ++k) {
        const CodePair& pair = pairs[k * pairs.size() / n];
        if (is_equal(suspicion, how, pair, given.from)) ++rule.equal;
      }
      tried.push_back(rule);
    }
  }
  std::ranges::stable_sort(tried, std::greater<>{}, &SuspectedRule::equal);
  std::vector<ConversionHypothesis> out;
  std::vector<const Suspicion*> told;
  for (const SuspectedRule& rule : tried) {
    if (told.size() == most_told || 2 * rule.equal < n) break;
    if (std::ranges::find(told, rule.suspicion) != told.end()) continue;
    told.push_back(rule.suspicion);
    const std::uint64_t all = counted(pairs, [&](const CodePair& pair) {
      return is_equal(*rule.suspicion, rule.how, pair, given.from);
    });
    if (all <= equal) continue;
    out.push_back({fmt::format("codes {}, {}", rule.suspicion->words,
                               rounding_name(rule.how.steps[0].rounding)),
                   all, elements});
  }
  add_displaced(out, given, equal, elements);
  std::ranges::stable_sort(out, std::greater<>{}, &ConversionHypothesis::equal);
  // Beside one that explains everything, those that explain a part are its shadow.
  if (!out.empty() && out[0].equal == elements) {
    std::erase_if(out, [elements](const ConversionHypothesis& x) { return x.equal < elements; });
  }
  if (given.to.has_sign) {
    const std::uint64_t sign = std::uint64_t{1} << (given.to.bits() - 1) << given.to.padding_bits;
    for (const Conversion& how : plain_rules(given.to)) {
      const auto unsigned_equal = [&](const CodePair& pair) {
        return ((converted(how, pair.input, given.from) ^ pair.code) & ~sign) == 0;
      };
      const bool no_signs = std::ranges::none_of(
          pairs, [&](const CodePair& pair) { return (pair.code & sign) != 0; });
      if (!no_signs) break;
      const std::uint64_t all = counted(pairs, unsigned_equal);
      if (all <= equal || 2 * all < elements) continue;
      out.push_back(
          {fmt::format("codes without their signs, {}", rounding_name(how.steps[0].rounding)), all,
           elements});
      break;
    }
  }
  const bool nearly_explained = elements - equal < elements / 100;
  if (const auto neighbours = neighbours_of(given, pairs); neighbours && !nearly_explained) {
    out.push_back(*neighbours);
  }
  if (const auto ambiguous = ambiguous_inputs(given, pairs)) out.push_back(*ambiguous);
  return out;
}

}  // namespace binade

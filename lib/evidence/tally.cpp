// SPDX-License-Identifier: Apache-2.0
//
// Counts rows under every rule, and writes the counts as text.
#include "lib/evidence/tally.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/parallel/parallel.h"
#include "lib/text/paragraph.h"

namespace binade {
namespace {

/// Returns which of the two rules the recorded rows follow; rows that follow neither show a third
/// rule.
std::string verdict(const RivalTally& x, std::string_view ours) {
  if (x.tell == 0) return "no row tells";
  if (x.ours + x.theirs == 0) return "as neither";
  if (x.ours != 0 && x.theirs != 0) return "some as each";
  const std::uint64_t neither = x.tell - x.ours - x.theirs;
  const std::string rest = neither == 0 ? "" : fmt::format(", {} as neither", neither);
  return (x.ours != 0 ? fmt::format("as {}", ours) : "as the rival") + rest;
}

}  // namespace

std::vector<AspectTally> tally_rivals(const Instruction& of_table, const Dots& dots,
                                      bool undecided_only, const RuleChoice& rules,
                                      std::size_t step) {
  const Knowledge known = knowledge_of(of_table);
  Instruction x = of_table;
  x.model = with_rules(x.model, rules);
  std::vector<AspectTally> out;
  for (Rival& rival : rivals_of(x)) {
    const KnownAspect& cell = known_of(known, rival.aspect);
    if (undecided_only && cell.evidence == Evidence::hardware) continue;
    auto found = std::ranges::find(out, rival.aspect, &AspectTally::aspect);
    if (found == out.end()) {
      out.push_back({rival.aspect, cell.evidence, 0, {}});
      found = out.end() - 1;
    }
    found->rivals.push_back({std::move(rival)});
  }
  std::ranges::sort(out, {}, &AspectTally::aspect);
  if (out.empty()) return out;
  const std::size_t rows = (dots.c.size() + step - 1) / step;
  std::vector<std::vector<AspectTally>> slots(thread_count(), out);
  for (AspectTally& aspect : out) {
    for (RivalTally& tally : aspect.rivals) tally.explains = true;
  }
  for (std::vector<AspectTally>& slot : slots) slot = out;
  parallel_for(rows, 64, [&](std::size_t begin, std::size_t end, std::size_t slot) {
    for (std::size_t n = begin; n < end; ++n) {
      const std::size_t i = n * step;
      const RowOperands operands = operands_of_row(dots, i);
      const SeenRow row = seen_row(x, operands);
      const std::uint64_t ours = row.d;
      for (AspectTally& aspect : slots[slot]) {
        bool touched = false;
        for (RivalTally& tally : aspect.rivals) {
          const std::uint64_t theirs = tally.rival.result(row);
          tally.explains = tally.explains && theirs == dots.d[i];
          if (theirs == ours) continue;
          touched = true;
          tally.tell += 1;
          tally.ours += dots.d[i] == ours ? 1 : 0;
          tally.theirs += dots.d[i] == theirs ? 1 : 0;
        }
        aspect.touch += touched ? 1 : 0;
      }
    }
  });
  for (const std::vector<AspectTally>& slot : slots) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i].touch += slot[i].touch;
      for (std::size_t n = 0; n < out[i].rivals.size(); ++n) {
        out[i].rivals[n].tell += slot[i].rivals[n].tell;
        out[i].rivals[n].explains = out[i].rivals[n].explains && slot[i].rivals[n].explains;
        out[i].rivals[n].ours += slot[i].rivals[n].ours;
        out[i].rivals[n].theirs += slot[i].rivals[n].theirs;
      }
    }
  }
  return out;
}

namespace {

bool is_zero(std::uint64_t bits, const Format& f) { return decode(bits, f).kind == Kind::zero; }
bool is_special(std::uint64_t bits, const Format& f) {
  const Kind kind = decode(bits, f).kind;
  return kind == Kind::nan || kind == Kind::infinite;
}

bool has_zero_product(const SeenRow& row) {
  const DotTypes& t = row.how.types;
  for (int i = 0; i < row.how.k; ++i) {
    if (is_zero(row.a[i], t.a) != is_zero(row.b[i], t.b)) return true;
  }
  return false;
}

/// The aspects whose rivals change a row only if `may` holds for it, which is quick to compute.
struct CheapAspect {
  Aspect aspect;
  bool (*may)(const SeenRow& row);
};
constexpr CheapAspect cheap_aspects[]{
    {Aspect::signs_of_zero, [](const SeenRow& row) { return is_zero(row.d, row.how.types.d); }},
    {Aspect::specials, [](const SeenRow& row) { return is_special(row.d, row.how.types.d); }},
    {Aspect::overflow, [](const SeenRow& row) { return is_special(row.d, row.how.types.d); }},
    {Aspect::zero_operands, has_zero_product},
};

}  // namespace

Touched touched_by(const Instruction& x, const Dots& dots) {
  Touched out{dots.c.size(), dots.c.size(), {}};
  std::vector<OpenAspect> open = open_aspects(x);
  std::erase_if(open, [](const OpenAspect& row) { return row.evidence < Evidence::paper; });
  for (const OpenAspect& aspect : open) {
    const auto cheap = std::ranges::find(cheap_aspects, aspect.aspect, &CheapAspect::aspect);
    const bool all = cheap != std::end(cheap_aspects) && x.model.recipe != Recipe::exact_integer;
    const std::size_t step =
        all ? 1 : std::max<std::size_t>(1, (out.all + most_looked_at - 1) / most_looked_at);
    const std::size_t rows = (out.all + step - 1) / step;
    std::vector<std::uint64_t> counts(thread_count());
    parallel_for(rows, 256, [&](std::size_t begin, std::size_t end, std::size_t slot) {
      for (std::size_t n = begin; n < end; ++n) {
        const std::size_t i = n * step;
        const RowOperands operands = operands_of_row(dots, i);
        const SeenRow row = seen_row(x, operands);
        if (all && !cheap->may(row)) continue;
        const auto differs = [&row](const Rival& rival) { return rival.differs(row); };
        counts[slot] += std::ranges::any_of(aspect.rivals, differs) ? 1 : 0;
      }
    });
    std::uint64_t count = 0;
    for (const std::uint64_t n : counts) count += n;
    out.looked_at = std::min<std::uint64_t>(out.looked_at, rows);
    if (count != 0) out.aspects.push_back({aspect.aspect, aspect.evidence, count, rows});
  }
  return out;
}

std::string touched_text(const Touched& x, std::string_view noun) {
  std::vector<std::string> words;
  for (const TouchedAspect& row : x.aspects) {
    const std::string looked =
        row.looked_at == x.all ? "" : fmt::format(" of {} looked at", row.looked_at);
    words.push_back(fmt::format("{}{}{} {} ({})", row.count, looked, words.empty() ? " touch" : "",
                                row_of(row.aspect).name, evidence_name(row.evidence)));
  }
  if (words.empty() && x.looked_at == x.all) return {};
  if (words.empty()) {
    return fmt::format("{} of {} {} were looked at, and none touches what no hardware has shown",
                       x.looked_at, x.all, noun);
  }
  return fmt::format("of these {} {} {}", x.all, noun, fmt::join(words, ", "));
}

std::string tally_text(const std::vector<AspectTally>& tally, std::string_view ours) {
  std::string out = fmt::format("  {:<19}{:<14}{:<28}{:>9}{:>9}{:>9}  {}\n", "aspect", "known by",
                                "rival", "tell", "ours", "rival's", "recorded");
  std::vector<std::string> explaining;
  bool ours_fail = false;
  for (const AspectTally& aspect : tally) {
    for (const RivalTally& x : aspect.rivals) {
      const bool first = &x == aspect.rivals.data();
      out += "  " + left_aligned(first ? row_of(aspect.aspect).name : "", 19) +
             left_aligned(first ? evidence_name(aspect.evidence) : "", 14) +
             left_aligned(x.rival.name, 28) +
             fmt::format("{:>9}{:>9}{:>9}  {}\n", x.tell, x.ours, x.theirs, verdict(x, ours));
      ours_fail = ours_fail || x.ours != x.tell;
      if (x.explains && x.rival.sees == nullptr) explaining.push_back(x.rival.name);
    }
  }
  if (ours_fail) {
    out += explaining.empty()
               ? "  no rival alone gives every row\n"
               : fmt::format("  every row is as under {}\n", fmt::join(explaining, ", or "));
  }
  return out;
}

}  // namespace binade

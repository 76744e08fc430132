// SPDX-License-Identifier: Apache-2.0
//
// Counts of rows under every rule, and their lines of text.
#include "lib/evidence/tally.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/parallel/parallel.h"
#include "lib/tensor/number_text.h"

namespace binade {
namespace {

/// Of the two; rows that are as neither follow a third rule somewhere.
std::string verdict(const RivalTally& x) {
  if (x.tell == 0) return "no row tells";
  if (x.ours + x.theirs == 0) return "as neither";
  if (x.ours != 0 && x.theirs != 0) return "some as each";
  const std::uint64_t neither = x.tell - x.ours - x.theirs;
  const std::string rest = neither == 0 ? "" : fmt::format(", {} as neither", neither);
  return (x.ours != 0 ? "as binade" : "as the rival") + rest;
}

}  // namespace

std::vector<AspectTally> tally_rivals(const Instruction& of_table, const Dots& dots,
                                      bool open_alone, const RuleChoice& rules, std::size_t step) {
  const Knowledge known = knowledge_of(of_table);
  Instruction x = of_table;
  x.model = with_rules(x.model, rules);
  std::vector<AspectTally> out;
  for (Rival& rival : rivals_of(x)) {
    const KnownAspect& cell = known_of(known, rival.aspect);
    if (open_alone && cell.evidence == Evidence::hardware) continue;
    auto found = std::ranges::find(out, rival.aspect, &AspectTally::aspect);
    if (found == out.end()) {
      out.push_back({rival.aspect, cell.evidence, 0, {}});
      found = out.end() - 1;
    }
    found->rivals.push_back({std::move(rival)});
  }
  std::ranges::sort(out, {}, &AspectTally::aspect);
  if (out.empty()) return out;
  const auto k = static_cast<std::size_t>(x.k);
  const std::size_t rows = (dots.c.size() + step - 1) / step;
  std::vector<std::vector<AspectTally>> slots(thread_count(), out);
  parallel_for(rows, 64, [&](std::size_t begin, std::size_t end, std::size_t slot) {
    for (std::size_t n = begin; n < end; ++n) {
      const std::size_t i = n * step;
      const std::uint64_t* a = dots.a.data() + i * k;
      const std::uint64_t* b = dots.b.data() + i * k;
      const std::uint64_t ours = dot(x.model, x.types, a, b, x.k, dots.c[i]);
      const SeenRow row{x, a, b, dots.c[i], ours};
      for (AspectTally& aspect : slots[slot]) {
        bool touched = false;
        for (RivalTally& tally : aspect.rivals) {
          const std::uint64_t theirs = tally.rival.result(row);
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
        out[i].rivals[n].ours += slot[i].rivals[n].ours;
        out[i].rivals[n].theirs += slot[i].rivals[n].theirs;
      }
    }
  }
  return out;
}

Touched touched_by(const Instruction& x, const Dots& dots) {
  const std::size_t rows = dots.c.size();
  const std::size_t step = std::max<std::size_t>(1, (rows + most_looked_at - 1) / most_looked_at);
  Touched out{(rows + step - 1) / step, rows, {}};
  for (const AspectTally& aspect : tally_rivals(x, dots, true, {}, step)) {
    if (aspect.touch == 0 || aspect.evidence < Evidence::paper) continue;
    out.aspects.push_back({aspect.aspect, aspect.evidence, aspect.touch});
  }
  return out;
}

std::string text_of(const Touched& x, std::string_view noun) {
  if (x.aspects.empty()) return {};
  std::string out = x.looked_at == x.all ? fmt::format("of these {} {}", x.all, noun)
                                         : fmt::format("of {} {} looked at", x.looked_at, noun);
  std::vector<std::string> words;
  for (const TouchedAspect& row : x.aspects) {
    words.push_back(fmt::format("{} {}{} ({})", row.count, words.empty() ? "touch " : "",
                                row_of(row.aspect).name, name_of(row.evidence)));
  }
  out += fmt::format(" {}", fmt::join(words, ", "));
  return out;
}

std::string tally_text(const std::vector<AspectTally>& tally) {
  std::string out = fmt::format("  {:<19}{:<14}{:<28}{:>9}{:>9}{:>9}  {}\n", "aspect", "known by",
                                "rival", "tell", "ours", "rival's", "recorded");
  for (const AspectTally& aspect : tally) {
    for (const RivalTally& x : aspect.rivals) {
      const bool first = &x == aspect.rivals.data();
      out += "  " + left(first ? row_of(aspect.aspect).name : "", 19) +
             left(first ? name_of(aspect.evidence) : "", 14) + left(x.rival.name, 28) +
             fmt::format("{:>9}{:>9}{:>9}  {}\n", x.tell, x.ours, x.theirs, verdict(x));
    }
  }
  return out;
}

}  // namespace binade

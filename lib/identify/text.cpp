// SPDX-License-Identifier: Apache-2.0
//
// Writes an identification for people: what explains every bit, what came near, and one sentence
// that says what follows.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lib/gemm/files.h"
#include "lib/identify/grouped_runs.h"
#include "lib/identify/misplaced.h"
#include "lib/identify/text.h"
#include "lib/identify/together.h"
#include "lib/number/ulp_distance.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

constexpr std::size_t most_names = 6;      // names of one core that are printed
constexpr std::size_t most_spellings = 3;  // spellings of one order that are printed

std::string architectures_text(const CoreName& name) {
  std::string out;
  for (const int sm : name.architectures) out += fmt::format("{}sm_{}", out.empty() ? "" : " ", sm);
  return out;
}

std::string evidence_text(const CoreName& name) {
  return fmt::format("{} ({})", evidence_name(name.evidence), name.source);
}

/// Returns the names of a core, one on each line.
std::string names_text(const Core& core) {
  std::string out;
  for (std::size_t i = 0; i < std::min(most_names, core.names.size()); ++i) {
    const CoreName& name = core.names[i];
    out += fmt::format("     {:<33} ", name.instruction);
    out += core.is_chain() ? "a chain of rounded operations\n"
                           : fmt::format("{}: {}\n", architectures_text(name), evidence_text(name));
  }
  if (core.names.size() > most_names) {
    out += fmt::format("     … and {} more names\n", core.names.size() - most_names);
  }
  return out;
}

/// Returns the other cores and orders that compute the same, which is known without any input.
std::string same_text(const Identification& x, const Verdict& verdict) {
  std::string out;
  std::size_t told = 0;
  const Candidate& head = x.candidate(verdict);
  std::vector<std::size_t> cores{head.core};
  for (const std::size_t i : verdict.same) {
    const Candidate& other = x.candidates[i];
    const bool other_core = std::ranges::find(cores, other.core) == cores.end();
    if (other_core) cores.push_back(other.core);
    if (!other_core || told >= most_spellings) continue;
    ++told;
    out += fmt::format("     the same as {}\n", command_of(x, other));
  }
  const std::size_t left = verdict.same.size() - told;
  if (left > 0) {
    out += fmt::format("     {} order{} of the table come{} to the same at this K\n", left,
                       left == 1 ? "" : "s", left == 1 ? "s" : "");
  }
  return out;
}

std::string name_of(const Identification& x, std::size_t run) {
  return x.runs[run].name.empty() ? fmt::format("run {}", run) : x.runs[run].name;
}

std::string place_text(const Identification& x, const Contradiction& at) {
  const KernelRun& run = x.runs[at.run];
  const std::size_t row = run.row(at.element);
  const std::string place =
      run.dots
          ? fmt::format("row {}", at.element)
          : fmt::format("({}, {})", run.rows.empty() ? row : run.rows[row], run.column(at.element));
  return x.runs.size() == 1 ? place : fmt::format("{}, {}", name_of(x, at.run), place);
}

std::string contradiction_text(const Identification& x, const Contradiction& at) {
  const Format& f = x.types.d;
  const int digits = (f.storage_bits() + 3) / 4;
  const auto distance = ulp_distance(at.expected, at.found, f);
  return fmt::format("{}: expected {:0{}X}, found {:0{}X}, {}", place_text(x, at), at.expected,
                     digits, at.found, digits,
                     distance ? fmt::format("{} ulp", *distance) : "one is NaN");
}

std::string rejected_text(const Identification& x, const Verdict& verdict) {
  std::string out = fmt::format("  {} of {} equal: {}\n", verdict.equal, verdict.compared,
                                command_of(x, x.candidate(verdict)));
  if (verdict.first) out += fmt::format("     {}\n", contradiction_text(x, *verdict.first));
  return out;
}

/// Returns what may have happened where no model explains every element (hypotheses.h).
std::string hypotheses_text(const Identification& x) {
  const KernelHypotheses& h = x.hypotheses;
  if (h.told.empty()) return {};
  std::string out = "\nWhat may have happened\n";
  for (const KernelHypothesis& one : h.told) {
    const std::string in = one.run ? " in " + name_of(x, *one.run) : std::string();
    if (one.elements == 0) {
      out += fmt::format("  {}{}\n", one.words, in.empty() ? "" : "," + in);
      if (!one.model.empty()) out += fmt::format("     by {}\n", one.model);
      continue;
    }
    out += fmt::format("  {} of {} equal{}: {}\n", one.equal, one.elements, in, one.words);
    if (!one.model.empty()) out += fmt::format("     by {}\n", one.model);
  }
  return out;
}

/// Returns the first mistake that makes every element of its run equal, or null.
const KernelHypothesis* whole_hypothesis(const Identification& x) {
  const auto& told = x.hypotheses.told;
  const auto found = std::ranges::find_if(told, [](const KernelHypothesis& one) {
    return one.elements > 0 && one.equal == one.elements;
  });
  return found == told.end() ? nullptr : &*found;
}

/// Returns where a part is right: the rows and columns, or tiles, that only it explains as a whole,
/// or else where the elements lie that only it explains.
std::string place_text(const KernelRun& run, const Together& all, const TogetherPart& part) {
  std::vector<std::string> whole;
  if (!part.whole_rows.empty()) whole.push_back(lines_words(part.whole_rows, run.m, "rows"));
  if (!part.whole_columns.empty()) {
    whole.push_back(lines_words(part.whole_columns, run.n, "columns"));
  }
  if (!whole.empty()) return fmt::format("among them whole {}", fmt::join(whole, " and "));
  if (part.whole_tiles.empty()) return "in " + region_words(run, part.alone);
  constexpr std::size_t most = 6;
  for (const std::size_t at : part.whole_tiles) {
    if (whole.size() == most) break;
    whole.push_back(fmt::format("({}, {})", run.row(at), run.column(at)));
  }
  if (part.whole_tiles.size() > most) whole.emplace_back("…");
  return fmt::format("among them whole tiles of {} × {} at {}", all.tile_rows, all.tile_columns,
                     fmt::join(whole, ", "));
}

/// Returns whether models differ in nothing but the part with which their sums begin.
bool is_ring(const std::vector<TogetherPart>& parts) {
  if (parts.size() < 2) return false;
  return std::ranges::all_of(parts, [&](const TogetherPart& part) {
    GemmModel g = part.candidate.model;
    g.sum.splits[0].first = parts[0].candidate.model.sum.splits[0].first;
    return g == parts[0].candidate.model;
  });
}

/// Returns what few models explain between them (together.h).
std::string together_text(const Identification& x, const Together& all) {
  const std::vector<TogetherPart>& parts = all.parts;
  if (parts.empty()) return {};
  std::string out = "\n";
  if (all.undecided.empty()) {
    out += "Every bit between them, ";
  } else {
    out += fmt::format("All but {} of {} elements{}, ", all.undecided.size(), x.result.elements,
                       parts.size() == 1 ? "" : " between them");
  }
  if (parts.size() == 1) {
    out += "by one model\n";
  } else if (is_ring(parts)) {
    out += fmt::format(
        "as in a ring of {} parts, which begins with another one in each chunk of "
        "rows\n",
        parts[0].candidate.model.sum.splits[0].parts);
  } else {
    out += "as kernels do that treat edges or tiles otherwise\n";
  }
  for (const TogetherPart& part : parts) {
    out += fmt::format("  {} of {}, {} by this alone, {}\n     {}\n", part.equal, x.result.elements,
                       part.alone.size(), place_text(x.runs[0], all, part),
                       command_of(x, part.candidate));
  }
  if (!all.undecided.empty()) {
    out += fmt::format(
        "  the other {}, {}: too few to tell whether {} added in another order, as at edges, or "
        "wrong\n",
        all.undecided.size(), region_words(x.runs[0], all.undecided),
        all.undecided.size() == 1 ? "it is" : "they are");
  }
  return out;
}

/// Returns what the search was restricted to, or "" if to nothing.
std::string searched_text(const Searched& x) {
  if (!x.instructions) return x.tf32 ? "chains alone" : "chains alone, as CPUs have them";
  if (x.architectures.empty()) return "";
  std::string out;
  for (const int sm : x.architectures) out += fmt::format("sm_{}, ", sm);
  return out + "and chains";
}

/// Returns whether the models that explain every bit are both instructions and chains, or of
/// several architectures, while the user has not said where the kernel ran.
std::string open_place_text(const Identification& x) {
  if (!x.searched.instructions || !x.searched.architectures.empty()) return "";
  bool chain = false;
  std::set<int> architectures;
  for (const Verdict& verdict : x.result.explaining) {
    const Core& core = x.core(x.candidate(verdict));
    chain = chain || core.is_chain();
    for (const CoreName& name : core.names) {
      architectures.insert(name.architectures.begin(), name.architectures.end());
    }
  }
  if (architectures.size() < (chain ? 1U : 2U)) return "";
  return fmt::format("where it ran narrows them: --arch sm_90 for a GPU of these{}\n",
                     chain ? ", --cpu for a CPU" : "");
}

std::string head_text(const Identification& x) {
  std::string out;
  for (const KernelRun& run : x.runs) {
    if (!run.name.empty()) out += fmt::format("{}, rows {}: ", run.name, rows_text(run));
    out += run.dots ? fmt::format("{} dots of {}", run.m, run.k)
                    : fmt::format("{} × {} × {}", run.m, run.n, run.k);
    const bool is_c = run.c_words == "C";
    out += fmt::format(", {} · {}{} to {}{}{}\n", type_name(x.types.a), type_name(x.types.b),
                       run.c.empty() || !is_c ? "" : fmt::format(" + {}", type_name(x.types.c)),
                       type_name(x.types.d), run.bias.empty() ? "" : ", with a bias",
                       is_c ? "" : ", with " + run.c_words);
    const bool a = !run.a_scale.empty(), b = !run.b_scale.empty();
    if (a || b) {
      out.insert(out.size() - 1, fmt::format(", scales of {}", !b ? "A" : !a ? "B" : "A and B"));
    }
  }
  for (const KernelRun& run : x.runs) {
    const std::string special = special_scales(run.a_scale, run.b_scale, run.runs, run.k);
    if (!special.empty()) out += "warning: " + special + "\n";
  }
  if (x.searched.rounded) {
    out += fmt::format(
        "operands rounded to tf32, to nearest{}: as they are, no model explains every bit\n",
        *x.searched.rounded == Rounding::ties_to_even ? "" : ", ties away from zero");
  }
  const std::string searched = searched_text(x.searched);
  return out + fmt::format("{} elements; {} models that differ in what they compute{}{}\n",
                           x.result.elements, x.result.tried, searched.empty() ? "" : ", of ",
                           searched);
}

/// Returns what the time did not allow to try.
std::string not_tried_text(const Identification& x) {
  const std::vector<std::string> all = not_tried_of(x);
  return all.empty() ? "" : fmt::format("not tried, for want of time: {}\n", fmt::join(all, "; "));
}

/// Returns how many of the models would explain every element by chance, if each wrong one were
/// right in an element as often as the rejected are on average.
double explaining_by_chance(const SearchResult& r) {
  double equal = 0, compared = 0;
  for (const Verdict& x : r.rejected) {
    equal += static_cast<double>(x.equal);
    compared += static_cast<double>(x.compared);
  }
  if (compared == 0) return 0;
  return static_cast<double>(r.tried) * std::pow(equal / compared, static_cast<double>(r.elements));
}

/// Returns a warning where D is too small for what was found to mean much.
std::string chance_text(const Identification& x) {
  constexpr std::size_t few = 64;  // of more, what is equal in nearly all is near for a reason
  const double n = explaining_by_chance(x.result);
  if (n < 0.5 || x.result.elements > few) return {};
  return fmt::format(
      "warning: {} element{} so few that about {:.0f} of these models would fit by chance{}; give "
      "more of D\n",
      x.result.elements, x.result.elements == 1 ? " is" : "s are", std::max(n, 1.0),
      x.candidates.size() == x.usual ? ", and rarer orders were not tried" : "");
}

/// Returns what follows where no model explains every bit: only as much as what was told before
/// leaves open.
std::string none_text(const Identification& x, const Together& all) {
  const KernelHypotheses& h = x.hypotheses;
  if (x.result.tried == 0 && h.told.empty()) {
    return fmt::format(
        "none: no model of the table ends products of {} and {} in {}, so that none was tried\n",
        type_name(x.types.a), type_name(x.types.b), type_name(x.types.d));
  }
  std::string out = "none: no model of the table explains every bit";
  const auto is_counted = [](const KernelHypothesis& one) { return one.elements > 0; };
  const auto counted = std::ranges::find_if(h.told, is_counted);
  if (const KernelHypothesis* const whole = whole_hypothesis(x)) {
    const bool of_all = !whole->run || whole->elements == x.result.elements;
    return out + fmt::format("; the first of what may have happened makes every element{} equal\n",
                             of_all ? ""
                                    : fmt::format(" of {} ({} of {})", name_of(x, *whole->run),
                                                  whole->elements, x.result.elements));
  }
  const std::size_t n = all.parts.size(), left = all.undecided.size();
  if (left > 0) {
    return out + fmt::format("; {} all but {} of {} elements{}\n",
                             n == 1 ? "one explains" : fmt::format("{} explain", n), left,
                             x.result.elements, n == 1 ? "" : " between them");
  }
  if (n > 0) return out + fmt::format(" alone; {} explain every bit between them\n", n);
  if (h.tried > 0) {
    out += fmt::format(", nor do{} {} mistakes of kernels that were tried",
                       h.told.empty() ? "" : " by themselves", h.tried);
  }
  if (counted != h.told.end()) {
    out += fmt::format("; what may have happened makes at most {} of {} elements equal\n",
                       counted->equal, counted->elements);
  } else if (!h.told.empty()) {
    out += "; what may have happened leaves the bits open\n";
  } else {
    out +=
        "; the kernel sums in an order that is not in it, makes a mistake that was not tried, or "
        "these are not its inputs\n";
  }
  return out + not_tried_text(x);
}

/// Returns for how many elements it depends on the steps of activations whether they are equal.
std::string undecided_text(const Identification& x) {
  std::map<Activation, std::size_t> most;
  for (const Verdict& verdict : x.result.explaining) {
    const Activation by = x.candidate(verdict).model.epilogue.activation;
    if (is_smooth(by)) most[by] = std::max(most[by], verdict.undecided);
  }
  std::string out;
  for (const auto& [by, undecided] : most) {
    out += fmt::format(
        "behind {}, up to {} of {} elements are not decided: they lie within what its formula "
        "gives in f32, whose steps are not known; the others are equal whatever these are\n",
        activation_name(by), undecided, x.result.elements);
  }
  return out;
}

std::string conclusion_text(const Identification& x, const Together& all) {
  const SearchResult& r = x.result;
  const std::size_t n = r.explaining.size();
  if (n == 1 && !r.open.empty()) {
    return fmt::format(
        "open: one model explains every bit, and the time ended while {} more agreed; --seconds "
        "allows more\n{}",
        r.open.size(), not_tried_text(x));
  }
  if (n == 0 && !r.open.empty()) {
    return fmt::format(
        "open: the time ended after {} of {} elements, with which {} model{} agree{}; --seconds "
        "allows more\n{}",
        r.open[0].compared, r.elements, r.open.size(), r.open.size() == 1 ? "" : "s",
        r.open.size() == 1 ? "s" : "", not_tried_text(x));
  }
  if (n == 0) return none_text(x, all);
  const bool nan_open = std::ranges::any_of(
      r.explaining, [&](const Verdict& v) { return any_nan_fits(x.candidate(v).model); });
  const std::string undecided = undecided_text(x);
  const std::string nans =
      nan_open ? "any NaN of a chain counts as any other: their bits are open\n" : "";
  if (n == 1) {
    return fmt::format("unique: one model {}, {} are contradicted\n{}{}",
                       undecided.empty() ? "explains every bit" : "agrees with every element",
                       r.tried - 1, undecided, nans) +
           chance_text(x);
  }
  const std::string more =
      r.open.empty() ? "" : fmt::format(", and {} more agree so far", r.open.size());
  std::string out = fmt::format(
      "several: {} of {} models {}{}; these inputs do not tell them apart\n{}{}", n, r.tried,
      undecided.empty() ? "explain every bit" : "agree with every element", more, undecided, nans);
  out += open_place_text(x);
  if ((n + r.open.size()) * 20 > r.tried) {
    out += "warning: these inputs discriminate poorly; --propose FILE.npz writes some that do\n";
  }
  return out + chance_text(x);
}

}  // namespace

Conclusion conclusion_of(const SearchResult& result) {
  const std::size_t n = result.explaining.size();
  if (n <= 1 && !result.open.empty()) return Conclusion::open;
  return n == 0 ? Conclusion::none : n == 1 ? Conclusion::unique : Conclusion::several;
}

std::string command_of(const Identification& x, const Candidate& candidate) {
  return command_of(x.core(candidate), candidate.model,
                    x.searched.rounded ? round_option(*x.searched.rounded) : "");
}

std::string command_of(const Core& core, const GemmModel& model, const std::string& more) {
  const CoreName& name = core.names[0];
  std::string out;
  if (!name.architectures.empty()) out = fmt::format("--arch sm_{} ", name.architectures[0]);
  out += "--instruction " + name.instruction;
  if (!more.empty()) out += " " + more;
  const std::string options = options_of(model);
  return options.empty() ? out : out + " " + options;
}

std::vector<std::string> not_tried_of(const Identification& x) {
  std::vector<std::string> out = x.not_tried;
  for (const std::string& one : x.hypotheses.left_out) {
    if (std::ranges::find(out, one) == out.end()) out.push_back(one);
  }
  return out;
}

std::vector<NearModel> nearest_of(const Identification& x) {
  std::vector<NearModel> out;
  const auto add = [&out](const Identification& of) {
    std::size_t told = 0;
    for (const Verdict& verdict : of.result.rejected) {
      if (!verdict.first) break;
      out.push_back({&of, &verdict});
      ++told;
    }
    return told;
  };
  const std::size_t most = add(x);
  for (const Identification& other : x.others) add(other);
  if (x.others.empty()) return out;
  std::ranges::stable_sort(out, [](const NearModel& left, const NearModel& right) {
    const Verdict &a = *left.verdict, &b = *right.verdict;
    return a.compared != b.compared ? a.compared > b.compared : a.equal > b.equal;
  });
  out.resize(std::min(most, out.size()));
  return out;
}

std::string identification_text(const Identification& x, std::size_t show) {
  std::string out = head_text(x);
  const SearchResult& r = x.result;
  if (!r.explaining.empty()) {
    out +=
        fmt::format("\n{}, simplest first\n",
                    undecided_text(x).empty() ? "Explain every bit" : "Agree with every element");
  }
  for (std::size_t i = 0; i < std::min(show, r.explaining.size()); ++i) {
    const Candidate& candidate = x.candidate(r.explaining[i]);
    out += fmt::format("{:>3}  {}\n", i + 1, order_text(candidate.model));
    out += names_text(x.core(candidate));
    out += fmt::format("     binade gemm {}\n", command_of(x, candidate));
    out += same_text(x, r.explaining[i]);
  }
  if (r.explaining.size() > show) {
    out += fmt::format("  … and {} more; --show\n", r.explaining.size() - show);
  }
  const bool is_open = conclusion_of(r) == Conclusion::open;
  if (is_open) out += "\nAgree so far, simplest first\n";
  for (std::size_t i = 0; is_open && i < std::min(show, r.open.size()); ++i) {
    out += fmt::format("  {} of {} equal: {}\n", r.open[i].equal, r.open[i].compared,
                       command_of(x, x.candidate(r.open[i])));
  }
  // What gives every bit comes before what gives some.
  // One model alone is what mistakes begin with.
  Together all = together(x);
  const bool is_told = std::ranges::any_of(
      x.hypotheses.told, [](const KernelHypothesis& one) { return one.elements > 0; });
  if (all.parts.size() == 1 && is_told) all = {};
  if (whole_hypothesis(x) == nullptr) out += together_text(x, all);
  out += hypotheses_text(x);
  if (whole_hypothesis(x) != nullptr) out += together_text(x, all);
  if (show > 0 && !r.rejected.empty()) out += "\nNearest of the others\n";
  bool is_far = false;
  for (const NearModel& near : nearest_of(x)) {
    // Of those that give no element, one is enough.
    if (is_far && near.verdict->equal == 0) continue;
    is_far = near.verdict->equal == 0;
    out += rejected_text(*near.of, *near.verdict);
  }
  return out + "\n" + conclusion_text(x, all);
}

}  // namespace binade

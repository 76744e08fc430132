// SPDX-License-Identifier: Apache-2.0
//
// Turns the options into a search; the command and the Python module both begin here.
#include "lib/identify/identified.h"

#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "lib/instruction/instruction_name.h"
#include "lib/text/error.h"
#include "lib/text/idle_option.h"

namespace binade {
namespace {

/// Mistakes of kernels are tried for so many seconds; of a time that is given, for this part of it
/// at least.
constexpr double seconds_for_hypotheses = 8, part_for_hypotheses = 0.4;

Searched searched_by(const IdentifyOptions& o) {
  Searched out{
      .instructions = !o.chains && !o.cpu, .tf32 = !o.cpu, .gpu = !o.architectures.empty()};
  for (const std::string& name : o.architectures) {
    out.architectures.push_back(parse_architecture(name));
  }
  return out;
}

}  // namespace

void check(const IdentifyOptions& o) {
  if (!std::isfinite(o.epilogue.alpha) || !std::isfinite(o.epilogue.beta)) {
    throw Error("--alpha and --beta must be finite");
  }
  (void)searched_by(o);
  if (!(o.seconds >= 0) || std::isinf(o.seconds)) {
    throw Error("--seconds: a time above 0 is wanted");
  }
  const IdentifyOptions usual;
  refuse_idle(std::array{
      IdleOption{"--beta", o.files.c.empty() && o.epilogue.beta != usual.epilogue.beta,
                 "without --c"},
      IdleOption{"--alpha",
                 o.epilogue.alpha != usual.epilogue.alpha &&
                     (o.files.has("a_scale") || o.files.has("b_scale")),
                 "with scales, which take its place", "put it into one of them"},
      IdleOption{"--group-layout",
                 !o.files.has("groups") && o.files.shared.group_layout != GemmFiles{}.group_layout,
                 "without --groups"},
      IdleOption{"--show", o.all && o.show != usual.show, "with --all"},
      IdleOption{"--seed", o.propose.empty() && o.seed != usual.seed, "without --propose"},
  });
}

Identification identified(const IdentifyOptions& o, const SearchProgress& progress) {
  check(o);
  ReadRuns in = read_runs(o.files);
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const auto after = [&](double seconds) {
    return start +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  };
  SearchOptions options{.nearest = o.show, .all_rejected = o.all};
  if (o.seconds > 0) options.end = after((1 - part_for_hypotheses) * o.seconds);
  Identification out =
      identify(in.types, std::move(in.runs), o.epilogue, options, progress, searched_by(o));
  double left = seconds_for_hypotheses;
  if (o.seconds > 0) {
    left = o.seconds - std::chrono::duration<double>(Clock::now() - start).count();
  }
  if (out.result.open.empty() && out.result.explaining.empty()) {
    if (left > 0) {
      out.hypotheses = hypotheses_of(out, left, progress);
    } else {
      out.not_tried.emplace_back("mistakes of kernels");
    }
  }
  out.in_time = o.seconds == 0 || Clock::now() <= after(o.seconds);
  if (!out.in_time && out.result.explaining.empty()) {
    out.not_tried.emplace_back("several models, each for a part of D");
  }
  return out;
}

std::size_t shown(const IdentifyOptions& o) {
  return o.all ? std::numeric_limits<std::size_t>::max() : o.show;
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Turns the options into a search; the command and the Python module both begin here.
#include "lib/identify/identified.h"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "lib/instruction/instruction_name.h"
#include "lib/text/error.h"
#include "lib/text/idle_option.h"

namespace binade {
namespace {

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
  const IdentifyOptions usual;
  refuse_idle(std::array{
      IdleOption{"--beta", o.files.c.empty() && o.epilogue.beta != usual.epilogue.beta,
                 "without --c"},
      IdleOption{"--show", o.all && o.show != usual.show, "with --all"},
      IdleOption{"--seed", o.propose.empty() && o.seed != usual.seed, "without --propose"},
  });
}

Identification identified(const IdentifyOptions& o, const SearchProgress& progress) {
  check(o);
  ReadRuns in = read_runs(o.files);
  Identification out =
      identify(in.types, std::move(in.runs), o.epilogue, {.nearest = o.show, .all_rejected = o.all},
               progress, searched_by(o));
  out.hypotheses = hypotheses_of(out, 10, progress);
  return out;
}

std::size_t shown(const IdentifyOptions& o) {
  return o.all ? std::numeric_limits<std::size_t>::max() : o.show;
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// A mistake with scales of runs of K is a map of lines and runs, or of their numbers.
#include "lib/identify/run_scales.h"

#include <fmt/format.h>

#include <bit>

#include "lib/identify/change_fit.h"

namespace binade {
namespace {

double number_of_scale(std::uint32_t scale) { return std::bit_cast<float>(scale); }

/// The scales as they are.
struct OwnScales {
  const std::vector<std::uint32_t>* scales;
  std::size_t runs;

  std::uint32_t operator()(std::size_t line, std::size_t run) const {
    return (*scales)[line * runs + run];
  }
};

/// Adds the mistakes with the scales of one matrix.
class OneMatrix {
 public:
  OneMatrix(const KernelRun& run, bool of_b, std::vector<Change>& out)
      : scales_(of_b ? run.runs.b : run.runs.a),
        count_(run.runs.count(run.k)),
        lines_(of_b ? run.n : run.m),
        name_(of_b ? "B" : "A"),
        noun_(of_b ? "column" : "row"),
        member_(of_b ? &Change::b_runs : &Change::a_runs),
        out_(out) {}

  void add_all() {
    if (scales_.empty()) return;
    for (const ScalePower& power : scale_powers) {
      add(power.words, [own = at(), power](std::size_t line, std::size_t run) {
        return std::bit_cast<std::uint32_t>(
            static_cast<float>(power.as(number_of_scale(own(line, run)))));
      });
    }
    constexpr std::size_t most_shift = 4;
    for (std::size_t by = 1; by <= most_shift && by < count_; ++by) {
      for (const bool on : {true, false}) {
        const std::size_t step = on ? by : count_ - by;
        add(fmt::format("shifted by {0} along K: run i has that of i {1} {0}", by, on ? "+" : "-"),
            [own = at(), step, n = count_](std::size_t line, std::size_t run) {
              return own(line, (run + step) % n);
            });
      }
    }
    if (count_ > 1) {
      add("those of the first run of K everywhere",
          [own = at()](std::size_t line, std::size_t) { return own(line, 0); });
    }
    for (std::size_t period = 1; period < lines_ && period <= most_period; period *= 2) {
      add(period == 1 ? fmt::format("those of the first {} everywhere", noun_)
                      : fmt::format("those of {0} i mod {1} in {0} i", noun_, period),
          [own = at(), period](std::size_t line, std::size_t run) {
            return own(line % period, run);
          });
      if (period == 1) continue;
      add(fmt::format("those of {0} i / {1} in {0} i", noun_, period),
          [own = at(), period](std::size_t line, std::size_t run) {
            return own(line / period, run);
          });
      add(fmt::format("those of the first {0} of each {1} in all of them", noun_, period),
          [own = at(), period](std::size_t line, std::size_t run) {
            return own(line / period * period, run);
          });
    }
    if (lines_ != count_ || lines_ < 2) return;
    add("transposed", [own = at()](std::size_t line, std::size_t run) { return own(run, line); });
  }

 private:
  static constexpr std::size_t most_period = 256;

  OwnScales at() const { return {&scales_, count_}; }
  template <class Other>
  void add(const std::string& words, const Other& other) {
    out_.push_back({.words = fmt::format("{}'s scales of blocks {}", name_, words)});
    out_.back().*member_ = other;
  }

  const std::vector<std::uint32_t>& scales_;
  std::size_t count_, lines_;
  const char *name_, *noun_;
  std::function<std::uint32_t(std::size_t, std::size_t)> Change::*member_;
  std::vector<Change>& out_;
};

}  // namespace

std::vector<double> scaled_numbers(const KernelCase& x, bool of_b) {
  const KernelRun& run = x.run;
  std::vector<double> out = numbers_of(of_b ? run.b : run.a, of_b ? x.types.b : x.types.a);
  for (std::size_t at = 0; at < out.size() && run.runs.any(); ++at) {
    out[at] *= run_factor(run, of_b, at / run.k, at % run.k);
  }
  return out;
}

double run_factor(const KernelRun& run, bool of_b, std::size_t line, std::size_t k) {
  const std::vector<std::uint32_t>& scales = of_b ? run.runs.b : run.runs.a;
  const std::uint32_t* const of_line = run.runs.of_line(scales, line, run.k);
  return of_line == nullptr ? 1 : number_of_scale(of_line[k / run.runs.length]);
}

std::vector<Change> run_scale_changes(const KernelCase& x) {
  std::vector<Change> out;
  for (const bool of_b : {false, true}) OneMatrix(x.run, of_b, out).add_all();
  return out;
}

bool keeps_runs(const Change& x) {
  for (std::size_t i = 0; i < x.places.size(); ++i) {
    if (x.places[i] != i) return false;
  }
  return true;
}

}  // namespace binade

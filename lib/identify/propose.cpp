// SPDX-License-Identifier: Apache-2.0
//
// Draws a pool of rows, chooses among them, and writes files.
#include "lib/identify/propose.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>

#include "lib/device/recording_file.h"
#include "lib/evidence/distinguishing_rows.h"
#include "lib/identify/evaluator.h"
#include "lib/identify/probe_rows.h"
#include "lib/io/npz_writer.h"
#include "lib/parallel/parallel.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::size_t pool_rows = 256;
constexpr std::size_t probe_columns = 8;  // as many as ProbeRows has kinds

/// Returns a result, with one NaN in place of all if the bits of the model's NaNs are not defined.
std::uint64_t plain_result(std::uint64_t d, const GemmModel& g) {
  const Format& f = g.epilogue.out;
  const bool nan = any_nan_fits(g) && kind_of(fields_of(d, f), f) == Kind::nan;
  return nan ? nan_bits(f, NanResult::nvidia) : d;
}

class Chooser {
 public:
  Chooser(const Identification& x, std::uint64_t seed) : x_(x) {
    const KernelRun& first = x.runs[0];
    const std::size_t models = std::min(most_proposed_for, x.result.explaining.size());
    groups_.assign(models, 0);
    draw(first, seed);
  }

  Proposal choose() {
    Proposal out;
    out.models = groups_.size();
    out.pairs = out.models * (out.models - 1) / 2;
    fill_results();
    choose_rows();
    out.run = run_of(chosen_);
    refine_by_everything(out.run);
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      for (std::size_t j = i + 1; j < groups_.size(); ++j) {
        if (groups_[i] == groups_[j]) out.inseparable.emplace_back(i, j);
      }
    }
    return out;
  }

 private:
  const Candidate& model(std::size_t i) const { return x_.candidate(x_.result.explaining[i]); }

  /// Draws the pool: rows, and the columns of the first run's shape; for dot products rows of both
  /// a and b.
  void draw(const KernelRun& first, std::uint64_t seed) {
    const Format& sum = x_.core(model(0)).plain.types.d;
    ProbeRows rows(x_.types.a, sum, first.k, seed);
    ProbeRows columns(x_.types.b, sum, first.k, seed + 1);
    pool_ = first;
    pool_.m = std::max(pool_rows, first.m);
    pool_.a.clear();
    pool_.b.clear();
    const auto append = [](std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    for (std::size_t i = 0; i < pool_.m; ++i) append(pool_.a, rows.row());
    if (pool_.dots) pool_.n = pool_.m;
    const auto repeat = [](auto& scales, std::size_t n) {
      const auto own = scales;
      for (std::size_t i = own.size(); i < n && !own.empty(); ++i) {
        scales.push_back(own[i % own.size()]);
      }
    };
    const std::size_t runs = pool_.runs.count(pool_.k);
    repeat(pool_.a_scale, pool_.m);
    repeat(pool_.b_scale, pool_.n);
    repeat(pool_.runs.a, pool_.m * runs);
    repeat(pool_.runs.b, pool_.n * runs);
    // For dot products, each kind of row must meet each kind of column, so the two sequences of
    // kinds must not run in step.
    for (std::size_t j = 0; j < pool_.n; ++j) {
      if (pool_.dots && j % 8 == 7) columns.column();
      append(pool_.b, columns.column());
    }
    const std::size_t elements = pool_.dots ? pool_.m : pool_.m * pool_.n;
    pool_.d.assign(elements, 0);
    if (!pool_.c.empty()) pool_.c.resize(elements);
    for (std::uint64_t& c : pool_.c) c = rows.addend(x_.types.c);
    for (std::uint64_t& bias : pool_.bias) bias = rows.addend(x_.types.bias);
  }

  std::size_t probed_columns() const { return pool_.dots ? 1 : std::min(probe_columns, pool_.n); }
  std::size_t place(std::size_t row, std::size_t column) const {
    return pool_.dots ? row : row * pool_.n + column;
  }

  void fill_results() {
    std::vector<std::size_t> all(groups_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::vector<std::size_t> places;
    for (std::size_t row = 0; row < pool_.m; ++row) {
      for (std::size_t j = 0; j < probed_columns(); ++j) places.push_back(place(row, j));
    }
    results_ = results_of(all, pool_, places);
  }

  /// Returns the results of some models for elements of a run.
  std::vector<std::vector<std::uint64_t>> results_of(const std::vector<std::size_t>& models,
                                                     const KernelRun& run,
                                                     std::span<const std::size_t> elements) const {
    const std::vector<KernelRun> runs{run};
    const Evaluator evaluator(x_.cores, runs);
    std::vector<const Candidate*> candidates;
    for (const std::size_t i : models) candidates.push_back(&model(i));
    std::vector out(models.size(), std::vector<std::uint64_t>(elements.size()));
    parallel_for(elements.size(), 256, [&](std::size_t begin, std::size_t end, std::size_t) {
      evaluator.evaluate(candidates, 0, elements.subspan(begin, end - begin),
                         [&](std::size_t i, std::size_t first, std::span<const std::uint64_t> d) {
                           std::uint64_t* to = out[i].data() + begin + first;
                           std::ranges::transform(d, to, [&](std::uint64_t bits) {
                             return plain_result(bits, candidates[i]->model);
                           });
                         });
    });
    return out;
  }

  std::span<const std::uint64_t> results(std::size_t i, std::size_t row) const {
    return std::span(results_[i]).subspan(row * probed_columns(), probed_columns());
  }

  void choose_rows() {
    const std::size_t wanted = x_.runs[0].m;
    std::vector<bool> taken(pool_.m);
    const ResultsOf of_pool = [this](std::size_t i, std::size_t row) { return results(i, row); };
    chosen_ = choose_distinguishing_rows(pool_.m, wanted, taken, of_pool, groups_);
    for (const std::size_t row : chosen_) taken[row] = true;
    for (std::size_t row = 0; row < pool_.m && chosen_.size() < wanted; ++row) {
      if (!taken[row]) chosen_.push_back(row);
    }
  }

  KernelRun run_of(const std::vector<std::size_t>& rows) const {
    KernelRun out = pool_;
    out.m = rows.size();
    if (out.dots) out.n = out.m;
    const auto gather = [&](auto& to, std::size_t width) {
      const auto from = std::move(to);
      to.clear();
      for (const std::size_t row : rows) {
        const auto first = from.begin() + static_cast<std::ptrdiff_t>(row * width);
        to.insert(to.end(), first, first + static_cast<std::ptrdiff_t>(width));
      }
    };
    const std::size_t width = out.dots ? 1 : out.n;
    gather(out.a, out.k);
    if (out.dots) gather(out.b, out.k);
    if (!out.c.empty()) gather(out.c, width);
    if (!out.a_scale.empty()) gather(out.a_scale, 1);
    if (out.dots && !out.b_scale.empty()) gather(out.b_scale, 1);
    const std::size_t runs = out.runs.count(out.k);
    if (!out.runs.a.empty()) gather(out.runs.a, runs);
    if (out.dots && !out.runs.b.empty()) gather(out.runs.b, runs);
    gather(out.d, width);
    return out;
  }

  /// Divides the groups of models that agree so far by their results on every element of the
  /// proposed run.
  void refine_by_everything(const KernelRun& proposed) {
    std::vector<std::size_t> open, everything(proposed.size());
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (std::ranges::count(groups_, groups_[i]) > 1) open.push_back(i);
    }
    std::iota(everything.begin(), everything.end(), std::size_t{0});
    std::vector<std::vector<std::uint64_t>> of_open = results_of(open, proposed, everything);
    std::vector<std::vector<std::uint64_t>> all(groups_.size());
    for (std::size_t n = 0; n < open.size(); ++n) all[open[n]] = std::move(of_open[n]);
    std::map<std::pair<std::size_t, std::vector<std::uint64_t>>, std::size_t> known;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      groups_[i] = known.try_emplace({groups_[i], all[i]}, known.size()).first->second;
    }
  }

  const Identification& x_;
  KernelRun pool_;
  // one for each model: its results, row after row of the pool
  std::vector<std::vector<std::uint64_t>> results_;
  std::vector<std::size_t> groups_;  // one for each model: the models of a group agree
  std::vector<std::size_t> chosen_;
};

/// Returns the elements of lines along K as those of a matrix in a file.
std::vector<std::uint64_t> laid_out(const std::vector<std::uint64_t>& lines, std::size_t k,
                                    bool columns_are_lines) {
  if (!columns_are_lines) return lines;
  const std::size_t n = lines.size() / k;
  std::vector<std::uint64_t> out(lines.size());
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t at = 0; at < k; ++at) out[at * n + i] = lines[i * k + at];
  }
  return out;
}

/// Returns the format's own dtype if NumPy has it, else unsigned integers of its width.
Dtype numpy_dtype(const Format& f) {
  for (const Dtype& row : dtypes()) {
    const bool floating = row.kind == DtypeKind::floating && !row.npy.empty();
    if (floating && row.format == format_name(f)) return row;
  }
  return unsigned_dtype(f.storage_bits());
}

}  // namespace

Proposal propose(const Identification& x, std::uint64_t seed) {
  if (x.result.explaining.size() < 2) {
    throw Error("nothing to propose: fewer than two models explain every bit");
  }
  if (is_integer(x.types.a) && !is_integer(x.types.d)) {
    throw Error("no inputs are proposed for integers that end in floating point; give larger sums");
  }
  return Chooser(x, seed).choose();
}

std::vector<ProposedArray> arrays_of(const Proposal& proposal, const KernelTypes& types,
                                     const RunFiles& files) {
  const KernelRun& run = proposal.run;
  std::vector<ProposedArray> out;
  using Shape = std::vector<std::uint64_t>;
  const auto add = [&out](const char* name, const Format& f, std::vector<std::uint64_t> bits,
                          Shape shape) {
    out.push_back({name, f == tf32 ? binary32 : f, std::move(shape), std::move(bits)});
  };
  const auto lines = [&](const char* name, const Format& f, const std::vector<std::uint64_t>& bits,
                         std::size_t n, bool columns) {
    add(name, f, laid_out(bits, run.k, columns), columns ? Shape{run.k, n} : Shape{n, run.k});
  };
  lines("a", types.a, run.a, run.m, !run.dots && files.shared.transposed_a);
  lines("b", types.b, run.b, run.n, !run.dots && !files.shared.transposed_b);
  if (!run.c.empty()) add("c", types.c, run.c, run.dots ? Shape{run.m} : Shape{run.m, run.n});
  if (!run.bias.empty()) add("bias", types.bias, run.bias, Shape{run.n});
  // Beside scales of runs of K those of lines are one of a whole matrix, which stays as it is.
  const std::size_t runs = run.runs.count(run.k);
  const auto scales = [&](const char* name, const std::vector<std::uint64_t>& of_lines,
                          const std::vector<std::uint32_t>& of_runs, std::size_t n, bool columns) {
    if (!of_runs.empty()) {
      const std::vector<std::uint64_t> bits(of_runs.begin(), of_runs.end());
      add(name, binary32, laid_out(bits, runs, columns), columns ? Shape{runs, n} : Shape{n, runs});
    } else if (!of_lines.empty()) {
      add(name, binary32, of_lines, Shape{n});
    }
  };
  scales("a_scale", run.a_scale, run.runs.a, run.m, !run.dots && files.shared.transposed_a);
  scales("b_scale", run.b_scale, run.runs.b, run.n, !run.dots && !files.shared.transposed_b);
  return out;
}

void write_proposal(const std::string& path, const Proposal& proposal, const KernelTypes& types,
                    const RunFiles& files) {
  NpzWriter writer(path);
  for (const ProposedArray& x : arrays_of(proposal, types, files)) {
    const Dtype dtype = numpy_dtype(x.format);
    writer.add(x.name, dtype, x.shape, bytes_of(x.elements, static_cast<int>(dtype.bits)));
  }
  writer.finish();
}

std::string proposal_text(const Proposal& p, const std::string& path) {
  const KernelRun& run = p.run;
  std::string out = fmt::format(
      "{}: {} for the kernel; tells apart {} of {} pairs of the {} simplest models that are left\n",
      printable(path, longest_path),
      run.dots ? fmt::format("{} dots of {}", run.m, run.k)
               : fmt::format("{} × {} × {}", run.m, run.n, run.k),
      p.pairs - p.inseparable.size(), p.pairs, p.models);
  for (std::size_t i = 0; i < std::min<std::size_t>(5, p.inseparable.size()); ++i) {
    out += fmt::format("  not {} and {}: no proposed input does\n", p.inseparable[i].first + 1,
                       p.inseparable[i].second + 1);
  }
  if (p.inseparable.size() > 5) out += fmt::format("  … and {} more\n", p.inseparable.size() - 5);
  return out + "run the kernel on them and give that run too: --a FIRST --a " +
         printable(path, longest_path) + ":a and so on\n";
}

}  // namespace binade

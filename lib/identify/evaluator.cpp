// SPDX-License-Identifier: Apache-2.0
//
// Computes the sums by the graph, then each candidate's epilogue.
#include "lib/identify/evaluator.h"

#include <algorithm>
#include <array>

#include "lib/parallel/parallel.h"

namespace binade {

std::vector<Evaluator::CoreMultipliers> Evaluator::multipliers_of(const std::vector<Core>& cores,
                                                                  const KernelRun& run,
                                                                  const Kernels& kernels) {
  std::vector<OperandReading> readings;
  const std::size_t first = operands_.size();
  const auto multiplier = [&](const GemmModel& model, const OperandReading& reading) {
    const auto same = std::ranges::find(readings, reading);
    const auto at = first + static_cast<std::size_t>(same - readings.begin());
    if (same == readings.end()) {
      readings.push_back(reading);
      operands_.push_back(
          std::make_unique<const DecodedOperands>(decoded(reading, run.a, run.b, run.k)));
    }
    return multiplier_of(model, reading, *operands_[at]);
  };
  std::vector<CoreMultipliers> out;
  for (const Core& core : cores) {
    poll();
    const OperandReading reading = reading_of(core.plain, kernels);
    CoreMultipliers x{multiplier(core.plain, reading), {}};
    if (const auto steps = model_of_steps(core.plain); steps && reading.kernel == kernels.dots) {
      const OperandReading of_steps = reading_of(*steps, kernels);
      if (of_steps.kernel != kernels.dots) x.steps = multiplier(*steps, of_steps);
    }
    out.push_back(std::move(x));
  }
  return out;
}

Evaluator::Evaluator(const std::vector<Core>& cores, std::span<const KernelRun> runs)
    : runs_(runs) {
  const bool has_vectors = &fastest_kernels() != &kernels_for_elements();
  for (const KernelRun& run : runs) {
    of_elements_.push_back(multipliers_of(cores, run, kernels_for_elements()));
    of_tiles_.emplace_back();
    // A smaller product does not fill a tile, or does not pay for its conversions.
    const bool is_large = run.m >= tile_rows && run.n >= tile_columns && run.k >= 64;
    if (has_vectors && is_large && !run.dots)
      of_tiles_.back() = multipliers_of(cores, run, fastest_kernels());
  }
}

Evaluator::Sums Evaluator::sums_of(Candidates candidates, const KernelRun& run,
                                   const Kernels& kernels,
                                   const std::vector<CoreMultipliers>& multipliers) const {
  Sums out{{run, kernels}, {}, {}};
  for (const Candidate* x : candidates) {
    const CoreMultipliers& by = multipliers[x->core];
    const int sum = out.shared.add(x->model, by.whole, by.steps ? &*by.steps : nullptr);
    const std::optional<int> d = out.shared.finished(sum, x->model);
    out.nodes.push_back(d.value_or(sum));
    out.plans.emplace_back();
    if (d) continue;
    out.plans.back() =
        epilogue_plan(x->model, out.shared.format(sum), !run.c.empty(), !run.bias.empty(), 0,
                      {!run.a_scale.empty(), !run.b_scale.empty()});
  }
  return out;
}

void Evaluator::evaluate(Candidates candidates, std::size_t number,
                         std::span<const std::size_t> elements, const ElementSink& sink) const {
  const KernelRun& run = runs_[number];
  Sums sums = sums_of(candidates, run, kernels_for_elements(), of_elements_[number]);
  for (std::size_t first = 0; first < elements.size(); first += sums.shared.columns()) {
    const std::size_t n = std::min(sums.shared.lanes(), elements.size() - first);
    const std::span<const std::size_t> some = elements.subspan(first, n);
    sums.shared.compute(some);
    std::array<std::uint64_t, tile_columns> c{}, bias{}, a_scale{}, b_scale{}, d{};
    for (std::size_t lane = 0; lane < n; ++lane) {
      const GemmElement<std::uint64_t> x = run.element(some[lane]);
      c[lane] = x.c;
      bias[lane] = x.bias;
      a_scale[lane] = x.a_scale;
      b_scale[lane] = x.b_scale;
    }
    EpilogueRow row{.c = run.c.empty() ? nullptr : c.data(),
                    .bias = run.bias.empty() ? nullptr : bias.data(),
                    .n = n,
                    .a_scale = run.a_scale.empty() ? nullptr : a_scale.data(),
                    .b_scale = run.b_scale.empty() ? nullptr : b_scale.data()};
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      std::copy_n(sums.shared.values(sums.nodes[i], 0), n, d.data());
      const std::optional<EpiloguePlan>& plan = sums.plans[i];
      row.plan = plan ? &*plan : nullptr;
      if (plan) kernels_for_elements().epilogue(row, d.data());
      for (std::size_t lane = 0; lane < n; ++lane) {
        if ((sums.shared.left(sums.nodes[i], 0) >> lane & 1) == 0) continue;
        d[lane] = gemm_element(candidates[i]->model, run.element(some[lane]));
      }
      sink(i, first, std::span(d).first(n));
    }
  }
}

void Evaluator::evaluate_rows(Candidates candidates, std::size_t number, std::size_t first_row,
                              const ElementSink& sink) const {
  const KernelRun& run = runs_[number];
  Sums sums = sums_of(candidates, run, fastest_kernels(), of_tiles_[number]);
  std::array<std::uint64_t, tile_columns> d{}, a_scale{};
  for (std::size_t j = 0; j < run.n; j += sums.shared.columns()) {
    sums.shared.compute_tile(first_row, j);
    const std::size_t n = sums.shared.columns();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      for (std::size_t row = 0; row < sums.shared.rows(); ++row) {
        const std::size_t first = (first_row + row) * run.n + j;
        std::copy_n(sums.shared.values(sums.nodes[i], row), n, d.data());
        if (const std::optional<EpiloguePlan>& plan = sums.plans[i]) {
          if (!run.a_scale.empty()) a_scale.fill(run.a_scale[first_row + row]);
          fastest_kernels().epilogue({&*plan, run.c.empty() ? nullptr : run.c.data() + first,
                                      run.bias.empty() ? nullptr : run.bias.data() + j, n,
                                      run.a_scale.empty() ? nullptr : a_scale.data(),
                                      run.b_scale.empty() ? nullptr : run.b_scale.data() + j},
                                     d.data());
        }
        for (std::size_t lane = 0; lane < n; ++lane) {
          if ((sums.shared.left(sums.nodes[i], row) >> lane & 1) == 0) continue;
          d[lane] = gemm_element(candidates[i]->model, run.element(first + lane));
        }
        sink(i, first, std::span(d).first(n));
      }
    }
  }
}

bool is_same_result(std::uint64_t x, std::uint64_t y, const Format& f, bool any_nan) {
  if (x == y) return true;
  if (!any_nan || is_integer(f)) return false;
  return kind_of(fields_of(x, f), f) == Kind::nan && kind_of(fields_of(y, f), f) == Kind::nan;
}

}  // namespace binade

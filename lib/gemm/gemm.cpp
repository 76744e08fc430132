// SPDX-License-Identifier: Apache-2.0
//
// The walk of a sum, compiled once into steps and an order of k; then every element runs the steps on
// operands that were taken apart once. What the quick ways do not handle goes to the definition.
#include "lib/gemm/gemm.h"

#include <algorithm>
#include <mutex>

#include "lib/gemm/sum_program.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

/// Rows or columns in the program's order, and which of them can be used.
template <class Way>
struct Taken {
  std::vector<typename Way::Operand> operands;
  std::vector<std::uint8_t> usable;

  Taken(const Way& way, const Format& f, const std::vector<std::uint64_t>& codes, std::size_t lines,
        std::size_t k, const std::vector<int>& order)
      : operands(lines * order.size()), usable(lines) {
    parallel_for(lines, 16, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t i = begin; i < end; ++i) {
        bool finite = true;
        for (std::size_t at = 0; at < order.size(); ++at) {
          const auto step = static_cast<int>(at) / way.g.k * way.g.k;
          const int from =
              order[static_cast<std::size_t>(step + way.place(static_cast<int>(at) - step))];
          if (from < 0) continue;
          const std::uint64_t code = codes[i * k + static_cast<std::size_t>(from)];
          finite = way.read(f, code, operands[i * order.size() + at]) && finite;
        }
        usable[i] = finite ? 1 : 0;
      }
    });
  }
};

/// Calls element(i, j) for all of m × n on all threads and tells of rows done.
template <class Element>
void for_each_element(const GemmOperands& x, const GemmProgress& progress, const Element& element) {
  const std::size_t size = x.m * x.n;
  const std::size_t grain = std::clamp<std::size_t>((std::size_t{1} << 18) / (x.k + 1), 1, 4096);
  std::mutex telling;
  std::size_t done = 0;
  parallel_for(size, grain, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t at = begin; at < end; ++at) element(at / x.n, at % x.n);
    if (!progress) return;
    const std::lock_guard lock(telling);
    done += end - begin;
    progress(done / x.n);
  });
}

template <class Way>
void fill(const Way& way, const GemmOperands& x, const GemmProgress& progress,
          std::vector<std::uint64_t>& d) {
  SumProgram program;
  walk_sum(way.g, static_cast<int>(x.k), program);
  const std::size_t length = program.order.size();
  const Taken<Way> rows(way, way.g.types.a, x.a, x.m, x.k, program.order);
  const Taken<Way> columns(way, way.g.types.b, x.b, x.n, x.k, program.order);
  for_each_element(x, progress, [&](std::size_t i, std::size_t j) {
    const GemmElement<std::uint64_t> element = x.element(i, j);
    Typed sum;
    const bool done = rows.usable[i] != 0 && columns.usable[j] != 0 &&
                      run(way, program, rows.operands.data() + i * length,
                          columns.operands.data() + j * length, element, sum);
    d[i * x.n + j] = done ? epilogue(way.g, element, sum) : gemm_element(way.g, element);
  });
}

}  // namespace

std::vector<std::uint64_t> gemm(const GemmModel& model, const GemmOperands& operands,
                                const GemmProgress& progress) {
  std::vector<std::uint64_t> d(operands.m * operands.n);
  if (PredecodedWay::knows(model)) {
    fill(PredecodedWay{model}, operands, progress, d);
  } else if (HostWay<float>::knows(model)) {
    fill(HostWay<float>{model}, operands, progress, d);
  } else if (HostWay<double>::knows(model)) {
    fill(HostWay<double>{model}, operands, progress, d);
  } else {
    for_each_element(operands, progress, [&](std::size_t i, std::size_t j) {
      d[i * operands.n + j] = gemm_element(model, operands.element(i, j));
    });
  }
  return d;
}

}  // namespace binade

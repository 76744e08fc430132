// SPDX-License-Identifier: Apache-2.0
//
// Computes the emulated product, then goes over the elements that differ.
#include "lib/validate/gemm.h"

#include <algorithm>

#include "lib/gemm/activated.h"
#include "lib/gemm/model_check.h"
#include "lib/number/ulp_distance.h"
#include "lib/parallel/parallel.h"
#include "lib/text/error.h"

namespace binade {
namespace {

/// Returns the smallest power of two that covers n in at most `most` pieces.
std::size_t side(std::size_t n, std::size_t most) {
  std::size_t out = 1;
  while ((n + out - 1) / out > most) out *= 2;
  return out;
}

GemmDifferences none(std::size_t m, std::size_t n, std::size_t rows, std::size_t columns) {
  GemmDifferences out;
  out.by_row.resize(m);
  out.by_column.resize(n);
  DifferenceMap& map = out.map;
  map.cell_rows = side(m, rows);
  map.cell_columns = side(n, columns);
  map.rows = (m + map.cell_rows - 1) / map.cell_rows;
  map.columns = (n + map.cell_columns - 1) / map.cell_columns;
  map.counts.resize(map.rows * map.columns);
  return out;
}

void add(GemmDifferences& to, const GemmDifference& x, std::size_t keep) {
  to.count += 1;
  to.by_row[x.row] += 1;
  to.by_column[x.column] += 1;
  DifferenceMap& map = to.map;
  map.counts[x.row / map.cell_rows * map.columns + x.column / map.cell_columns] += 1;
  if (to.first.size() < keep) to.first.push_back(x);
}

/// The agreement of an element outside the range of its activation: whether another sum, as far
/// off as the bounds allow, would take it there.
Agreement agreement_behind(const GemmModel& g, const GemmElement<std::uint64_t>& element,
                           std::uint64_t given) {
  const ElementBound bound = bound_of(before_activation(g), element);
  const Kind kind = decode(given, g.epilogue.out).kind;
  if (bound.special || kind == Kind::nan || kind == Kind::infinite) return Agreement::special;
  const auto reaches = [&](const Upper& most) {
    // Both sums lie within the bound of the exact one.
    const ActivatedCodes codes =
        reached_codes(g.epilogue, bound.result, 2 * most.value(), element.place.index());
    return is_within(codes, given, g.epilogue.out);
  };
  if (reaches(bound.bound)) return Agreement::within_bound;
  return reaches(bound.any_order) ? Agreement::within_any_order : Agreement::beyond_bound;
}

/// Turns values before a smooth activation into the codes of D to compare with: the given ones
/// where they agree without being decided, which it counts.
void settle(GemmCheck& out, const Epilogue& e, const RowGroups& groups,
            const std::vector<std::uint64_t>& given, std::vector<std::uint64_t>& values) {
  for (std::size_t at = 0; at < given.size(); ++at) {
    if (at % 4096 == 0) poll();
    if (!groups.has(at / out.n)) continue;
    const ActivatedCodes codes = activated_codes(e, values[at], at);
    values[at] = codes.exact;
    if (codes.is_decided() || !is_within(codes, given[at], e.out)) continue;
    values[at] = given[at];
    out.undecided += 1;
    const auto distance = ulp_distance(given[at], codes.exact, e.out);
    out.undecided_ulp = std::max<std::uint64_t>(out.undecided_ulp, distance.value_or(0));
  }
}

/// Returns all elements that differ, row after row, with their agreement.
std::vector<GemmDifference> differences(const GemmModel& model, const GemmOperands& x,
                                        const std::vector<std::uint64_t>& given,
                                        const std::vector<std::uint64_t>& emulated) {
  std::vector<GemmDifference> out;
  for (std::size_t at = 0; at < given.size(); ++at) {
    if (at % 4096 == 0) poll();
    if (given[at] == emulated[at] || !x.groups.has(at / x.n)) continue;
    out.push_back({at / x.n, at % x.n, given[at], emulated[at], Agreement::special});
  }
  parallel_for(out.size(), 16, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      const GemmElement<std::uint64_t> element = x.element(out[i].row, out[i].column);
      out[i].agreement = is_smooth(model.epilogue.activation)
                             ? agreement_behind(model, element, out[i].given)
                             : agreement_of(model, bound_of(model, element), out[i].given);
    }
  });
  return out;
}

}  // namespace

bool is_equal(const GemmCheck& x) {
  return x.different.count == 0 && are_enough(x.equal(), x.elements());
}

GemmCheck check_gemm(const GemmModel& model, const GemmOperands& operands,
                     const std::vector<std::uint64_t>& given, std::size_t keep,
                     std::size_t map_rows, std::size_t map_columns, const GemmProgress& progress) {
  check(model, added_in(operands));
  check(sizes_of(operands));
  require_elements("given", given.size(), operands.m * operands.n);
  if (map_rows == 0 || map_columns == 0) {
    throw Error("map_rows, map_columns: no cell; give at least 1 of each");
  }
  GemmCheck out;
  out.m = operands.m;
  out.n = operands.n;
  out.rows = rows_in_groups(operands.groups, operands.m);
  out.different = none(out.m, out.n, map_rows, map_columns);
  out.wrong = out.different;
  const bool smooth = is_smooth(model.epilogue.activation);
  std::vector<std::uint64_t> emulated =
      gemm(smooth ? before_activation(model) : model, operands, progress);
  if (smooth) settle(out, model.epilogue, operands.groups, given, emulated);
  std::uint64_t most = 0;
  for (const GemmDifference& x : differences(model, operands, given, emulated)) {
    if (out.different.count % 256 == 0) poll();
    add(out.different, x, keep);
    const bool wrong = x.agreement == Agreement::beyond_bound || x.agreement == Agreement::special;
    if (wrong) add(out.wrong, x, keep);
    out.agreements[static_cast<std::size_t>(x.agreement)] += 1;
    const auto distance = ulp_distance(x.given, x.emulated, model.epilogue.out);
    if (!distance) {
      out.without_distance += 1;
      continue;
    }
    // Distance 0 means that +0 stands for -0, which are different bits of one number.
    out.distances[static_cast<std::size_t>(bit_width(std::max<std::uint64_t>(*distance, 1))) - 1] +=
        1;
    if (!out.farthest || *distance > most) {
      most = *distance;
      out.farthest = x;
    }
  }
  out.agreements[static_cast<std::size_t>(Agreement::equal)] += out.equal();
  return out;
}

}  // namespace binade

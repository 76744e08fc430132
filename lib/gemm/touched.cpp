// SPDX-License-Identifier: Apache-2.0
//
// Computes some elements of a product again under every rival.
#include "lib/gemm/touched.h"

#include <algorithm>
#include <vector>

#include "lib/instruction/instruction_name.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

constexpr std::size_t most_products = std::size_t{1} << 22;

/// Returns the number of a row of which so many are before it.
std::size_t nth_row(const std::vector<GroupedRows>& all, std::size_t before) {
  for (const GroupedRows& rows : all) {
    if (before < rows.count) return rows.first + before;
    before -= rows.count;
  }
  return 0;
}

/// Returns how many of these elements any rival of the aspect changes.
std::size_t touched(const OpenAspect& open, const GemmModel& model, const GemmOperands& operands,
                    std::size_t elements) {
  const std::vector<GroupedRows> rows = grouped_rows(operands.groups, operands.m);
  const std::size_t all = rows_in_groups(operands.groups, operands.m) * operands.n;
  std::size_t out = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    if (i % 16 == 0) poll();
    // The golden ratio spreads the elements, so that they do not follow a stride of the matrix.
    const std::uint64_t spread = i * 0x9E3779B97F4A7C15U >> 32;
    const std::size_t at = elements == all ? i : spread * all >> 32;
    const auto element = operands.element(nth_row(rows, at / operands.n), at % operands.n);
    const std::uint64_t ours = gemm_element(model, element);
    out += std::ranges::any_of(open.rivals, [&](const Rival& rival) {
      if (!rival.has_model() || rival.types != model.types) return false;
      GemmModel theirs = model;
      theirs.model = rival.model;
      return gemm_element(theirs, element) != ours;
    });
  }
  return out;
}

}  // namespace

Touched touched_by(const NamedGemm& named, const GemmOperands& operands) {
  const std::size_t all = rows_in_groups(operands.groups, operands.m) * operands.n;
  Touched out{all, all, {}};
  if (named.sm == 0 || !named.rules.empty() || out.all == 0) return out;
  const std::vector<OpenAspect> open = open_aspects(parse_instruction(named.instruction, named.sm));
  std::size_t rivals = 0;
  for (const OpenAspect& aspect : open) rivals += aspect.rivals.size() + 1;
  if (rivals == 0) return out;
  const std::size_t affordable = most_products / (rivals * std::max<std::size_t>(operands.k, 1));
  const std::size_t elements =
      std::min<std::size_t>(out.all, std::max<std::size_t>(affordable, 16));
  for (const OpenAspect& aspect : open) {
    if (aspect.evidence < Evidence::paper) continue;
    const std::size_t n = touched(aspect, named.model, operands, elements);
    out.looked_at = std::min<std::uint64_t>(out.looked_at, elements);
    if (n != 0) out.aspects.push_back({aspect.aspect, aspect.evidence, n, elements});
  }
  return out;
}

std::vector<std::string> explaining_rivals(const NamedGemm& named, const GemmOperands& operands,
                                           std::span<const GivenElement> given) {
  std::vector<std::string> out;
  if (named.sm == 0 || !named.rules.empty() || given.empty()) return out;
  for (const OpenAspect& aspect : open_aspects(parse_instruction(named.instruction, named.sm))) {
    for (const Rival& rival : aspect.rivals) {
      if (!rival.has_model() || rival.types != named.model.types) continue;
      GemmModel theirs = named.model;
      theirs.model = rival.model;
      const auto as_given = [&](const GivenElement& x) {
        return gemm_element(theirs, operands.element(x.row, x.column)) == x.bits;
      };
      if (std::ranges::all_of(given, as_given)) out.push_back(rival.name);
    }
  }
  return out;
}

}  // namespace binade

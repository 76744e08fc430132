// SPDX-License-Identifier: Apache-2.0
//
// The value that most of the unequal ones hold, and the rows, or else the columns, that hold it as
// a whole.
#include "lib/scales/unwritten.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lib/number/encoding_text.h"
#include "lib/scales/scale_text.h"
#include "lib/scales/told_of_nearest.h"

namespace binade {
namespace {

constexpr std::size_t least_in_line = 4, most_ranges = 3;

/// "rows 40..47", "row 3", "columns 0..1, 8, …".
std::string lines_text(const std::vector<bool>& is_line, std::string_view noun) {
  std::vector<std::string> ranges;
  std::size_t lines = 0;
  for (std::size_t i = 0, end = 0; i < is_line.size(); i = end) {
    for (end = i; end < is_line.size() && is_line[end];) ++end;
    if (end == i) {
      ++end;
      continue;
    }
    lines += end - i;
    ranges.push_back(end == i + 1 ? std::to_string(i) : fmt::format("{}..{}", i, end - 1));
  }
  const bool are_more = ranges.size() > most_ranges;
  if (are_more) ranges.resize(most_ranges);
  return fmt::format("{}{} {}{}", noun, lines == 1 ? "" : "s", fmt::join(ranges, ", "),
                     are_more ? ", …" : "");
}

/// What a value that many lines hold is: one that buffers begin with, or any.
std::string_view unwritten_words(std::uint32_t code, const Format& f) {
  const std::uint32_t all_bits = f.bits() >= 32 ? ~0U : (1U << f.bits()) - 1;
  const bool is_usual = code == 0 || code == all_bits ||
                        code == convert(block_steps::one, binary32, f).bits ||
                        decode(code, f).kind == Kind::nan;
  return is_usual ? "as if nobody had written them" : "whatever their numbers";
}

struct Unwritten {
  std::uint32_t code = 0;
  std::uint64_t unequal = 0;  ///< of those that hold it
  std::string where = {};
};

/// Returns the lines of one value, of a matrix with so many columns, in which 19 of 20 unequal
/// elements lie and more are unequal than equal, unless every line is one.
std::optional<Unwritten> unwritten(const std::vector<std::uint32_t>& codes, std::size_t columns,
                                   const std::vector<bool>& unequal) {
  const std::size_t rows = columns == 0 ? 0 : codes.size() / columns;
  std::map<std::uint32_t, std::uint64_t> counts;
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (unequal[i]) ++counts[codes[i]];
    all += unequal[i] ? 1 : 0;
  }
  Unwritten out;
  std::uint64_t most = 0;
  for (const auto& [code, count] : counts) {
    if (count > most) out.code = code;
    most = std::max(most, count);
  }
  if (20 * most < 19 * all) return {};
  for (const bool of_rows : {true, false}) {
    const std::size_t lines = of_rows ? rows : columns, length = of_rows ? columns : rows;
    if (lines < 2 || length < least_in_line) continue;
    std::vector<bool> is_line(lines, true);
    std::vector<std::uint64_t> unequal_in(lines);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const std::size_t line = of_rows ? i / columns : i % columns;
      if (codes[i] != out.code) is_line[line] = false;
      unequal_in[line] += unequal[i] ? 1 : 0;
    }
    std::size_t found = 0;
    out.unequal = 0;
    for (std::size_t line = 0; line < lines; ++line) {
      is_line[line] = is_line[line] && 2 * unequal_in[line] > length;
      if (!is_line[line]) continue;
      ++found;
      out.unequal += unequal_in[line];
    }
    if (found == 0 || found == lines || 20 * out.unequal < 19 * all) continue;
    out.where = lines_text(is_line, of_rows ? "row" : "column");
    return out;
  }
  return {};
}

}  // namespace

void tell_unwritten_codes(const Quantized& given, const SuspectedCodes& x,
                          const std::vector<bool>& unequal, std::uint64_t base,
                          ScaleFinding& finding) {
  const ScaleReading& reading = finding.readings[x.reading];
  const std::vector<std::byte> stored = stored_codes(given, reading, x.how->order);
  const std::size_t bytes = code_bytes(reading.format.format.element);
  std::vector<std::uint32_t> codes(unequal.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    std::memcpy(&codes[i], &stored[i * bytes], bytes);
  }
  const auto found = unwritten(codes, reading.view.length, unequal);
  if (!found) return;
  const Format& f = reading.format.format.element;
  tell(finding,
       {fmt::format("{}, and {} of codes are all {}, {}", x.words, found->where,
                    hexadecimal(found->code, f), unwritten_words(found->code, f)),
        ExplainedPart::codes, x.elements.equal + found->unequal, x.elements.of, "unwritten",
        x.reading, x.order, x.of.rule},
       base);
}

void tell_unwritten_scales(const Quantized& given, ScaleFinding& finding) {
  if (finding.nearest.empty()) return;
  const ScaleRuleFit& fit = finding.nearest[0];
  const ScaleReading& reading = finding.readings[fit.reading];
  if (fit.scales.is_whole() || 2 * fit.scales.equal < fit.scales.of ||
      reading.view.scale_shape.empty()) {
    return;
  }
  const ReadingWork work(given, reading, NumbersTaken::as_given);
  const StoredScales stored = stored_scales(given, reading, reading.orders[fit.order]);
  const ScaleRule steps = work.steps(*fit.rule);
  const BlockScales made = work.scales(steps, fit.tensor.scale);
  const std::vector<std::uint32_t>& amaxes = work.amaxes(steps);
  std::vector<bool> unequal(stored.codes.size());
  for (std::size_t i = 0; i < unequal.size(); ++i) {
    // Blocks of zeros may have any scale.
    unequal[i] = held_scale(made.codes[i], stored.held) != stored.codes[i] && amaxes[i] != 0;
  }
  const auto found = unwritten(stored.codes, reading.view.scale_shape.back(), unequal);
  if (!found) return;
  tell(finding,
       {fmt::format("{}: {} of scales are all {}, {} ({})", fit.rule->name, found->where,
                    hexadecimal(found->code, reading.format.format.scale),
                    unwritten_words(found->code, reading.format.format.scale),
                    reading_words(work, fit.order)),
        ExplainedPart::scales, fit.scales.equal + found->unequal, fit.scales.of, "unwritten",
        fit.reading, fit.order, fit.rule},
       fit.scales.equal);
}

}  // namespace binade

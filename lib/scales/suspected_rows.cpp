// SPDX-License-Identifier: Apache-2.0
//
// Rows are known by their scales, and those of equal scales by their codes.
#include "lib/scales/suspected_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

#include "lib/number/spread_places.h"
#include "lib/scales/line_order.h"
#include "lib/scales/moved_columns.h"
#include "lib/scales/shifted_rows.h"
#include "lib/scales/tensor_scales.h"

namespace binade {
namespace {

using RowsFrom = std::vector<std::uint32_t>;

/// How far a row is from the one whose scales it has, of the distances that a sample of rows has
/// in common, the nearest first.
std::vector<std::int64_t> distances_of_rows(const BlockView& view,
                                            std::span<const std::uint32_t> made,
                                            const StoredScales& stored) {
  const std::size_t columns = view.blocks_of_line(), rows = view.lines;
  const auto is_same = [&](std::size_t at, std::size_t from) {
    for (std::size_t c = 0; c < columns; ++c) {
      const std::uint32_t one = held_scale(made[from * columns + c], stored.held);
      if (one != stored.codes[at * columns + c]) return false;
    }
    return true;
  };
  const std::vector<std::size_t> sample = spread_places(rows, 9);
  std::vector<std::int64_t> out;
  for (std::size_t by = 1; by <= rows / 2 && out.size() < 3; ++by) {
    for (const std::size_t distance : {by, rows - by}) {
      const auto count = std::ranges::count_if(
          sample, [&](std::size_t at) { return is_same(at, (at + rows - distance) % rows); });
      // The first rows may have come from elsewhere.
      if (2 * static_cast<std::size_t>(count) <= sample.size()) continue;
      const bool is_up = 2 * distance > rows;
      out.push_back(static_cast<std::int64_t>(distance) -
                    (is_up ? static_cast<std::int64_t>(rows) : 0));
      if (2 * by == rows) break;
    }
  }
  return out;
}

/// How rows are shifted from one on, by the scales that are made and stored.
std::optional<ShiftedRows> rows_shifted(const BlockView& view, std::span<const std::uint32_t> made,
                                        const StoredScales& stored) {
  const std::size_t columns = view.blocks_of_line();
  const auto row = [&](std::span<const std::uint32_t> all, std::size_t at) {
    return all.subspan(at * columns, columns);
  };
  const auto is_row = [&](std::size_t at, std::size_t from) {
    return std::ranges::equal(
        row(made, from), row(stored.codes, at),
        [&](std::uint32_t a, std::uint32_t b) { return held_scale(a, stored.held) == b; });
  };
  return shifted_rows(view.matrices * view.lines, is_row, [&](std::size_t one, std::size_t other) {
    return std::ranges::equal(row(made, one), row(made, other));
  });
}

/// Whether most codes are those of the numbers as `from` has them, and, of rows that are not all
/// moved, more than of those in their places; zeros are zeros anywhere.
bool codes_are_moved(const ReadingWork& from, const BlockQuantizer& to, const BlockScales& scales,
                     const ReadingWork* plain = nullptr) {
  std::vector<std::size_t> pieces;  // all where some rows alone are moved
  if (plain == nullptr) pieces = spread_places(from.pieces().count, 3);
  const std::uint64_t zeros = zeros_of_pieces(from, pieces);
  const auto left_in_place = [&](const CodeReading& how, std::span<const std::byte> codes) {
    const BlockScales own = plain->scales(to.rule, to.tensor);
    const ScaleAgreement its = codes_agree(*plain, to, own.factors, codes, how, {});
    return its.of - its.equal;
  };
  return std::ranges::any_of(code_readings, [&](const CodeReading& how) {
    if (how.is_packed && !codes_are_packed(from.given(), from.reading())) return false;
    const std::vector<std::byte> codes = stored_codes(from.given(), from.reading(), how.order);
    ScaleAgreement all = codes_agree(from, to, scales.factors, codes, how, {.pieces = pieces});
    all.zeros = std::min(all.equal, zeros);
    if (all.speaks() < 0.5) return false;
    return plain == nullptr || 2 * (all.of - all.equal) < left_in_place(how, codes);
  });
}

/// The stored codes of a reading, and how they are made.
struct StoredCodes {
  std::vector<std::byte> bytes;
  const CodeReading* how;
};

std::vector<StoredCodes> codes_of_reading(const ReadingWork& work) {
  std::vector<StoredCodes> out;
  for (const CodeReading& how :
       code_readings.first(codes_are_packed(work.given(), work.reading()) ? 2 : 1)) {
    out.push_back({stored_codes(work.given(), work.reading(), how.order), &how});
  }
  return out;
}

/// How many codes of a few of a row are those of another row's numbers.
std::size_t codes_of_row(const ReadingWork& work, const BlockQuantizer& to,
                         const BlockScales& scales, const StoredCodes& codes, std::size_t at,
                         std::size_t from) {
  const BlockView& view = work.reading().view;
  const std::size_t bytes = code_bytes(to.format.element);
  std::size_t out = 0;
  for (const std::size_t i : spread_places(view.length, 16)) {
    const std::size_t block = from * view.blocks_of_line() + i / view.length_of_block;
    std::uint32_t stored = 0;
    std::memcpy(&stored, &codes.bytes[(at * view.length + i) * bytes], bytes);
    const float x = work.x()[from * view.length + i];
    out += x != 0 && made_code(to, scales.factors[block], x, *codes.how) == stored ? 1 : 0;
  }
  return out;
}

/// Whether a few codes of a row are all those of another row's numbers.
bool is_row_of(const ReadingWork& work, const BlockQuantizer& to, const BlockScales& scales,
               const StoredCodes& codes, std::size_t at, std::size_t from) {
  const BlockView& view = work.reading().view;
  const std::size_t bytes = code_bytes(to.format.element);
  return std::ranges::all_of(spread_places(view.length, 24), [&](std::size_t i) {
    const std::size_t block = from * view.blocks_of_line() + i / view.length_of_block;
    std::uint32_t stored = 0;
    std::memcpy(&stored, &codes.bytes[(at * view.length + i) * bytes], bytes);
    const float x = work.x()[from * view.length + i];
    return made_code(to, scales.factors[block], x, *codes.how) == stored;
  });
}

/// How rows are shifted from one on, by the codes under the scales that a rule makes.
std::optional<ShiftedRows> rows_shifted_by_codes(const ReadingWork& work, const BlockQuantizer& to,
                                                 const BlockScales& made,
                                                 const StoredCodes& codes) {
  const BlockView& view = work.reading().view;
  return shifted_rows(
      view.matrices * view.lines,
      [&](std::size_t at, std::size_t from) { return is_row_of(work, to, made, codes, at, from); },
      [&](std::size_t one, std::size_t other) {
        const auto row = [&](std::size_t r) {
          return work.x().subspan(r * view.length, view.length);
        };
        return std::ranges::equal(row(one), row(other));
      });
}

/// The rows of made scales, by what these are as they are stored.
std::unordered_map<std::string, std::vector<std::uint32_t>> rows_by_scales(
    const BlockView& view, std::span<const std::uint32_t> codes,
    const std::optional<Format>& held) {
  std::unordered_map<std::string, std::vector<std::uint32_t>> out;
  const std::size_t columns = view.blocks_of_line();
  for (std::size_t row = 0; row < codes.size() / columns; ++row) {
    std::string key;
    for (const std::uint32_t code : codes.subspan(row * columns, columns)) {
      const std::uint32_t number = held_scale(code, held);
      key.append(reinterpret_cast<const char*>(&number), sizeof number);
    }
    out[key].push_back(static_cast<std::uint32_t>(row));
  }
  return out;
}

/// From which row each has its scales and codes, or, of scales that codes do not follow, its
/// scales; nothing where three quarters of the rows are not found, or are in their places.
std::optional<RowsFrom> rows_from(const ReadingWork& work, const BlockQuantizer& to,
                                  const BlockScales& made, const StoredScales& stored,
                                  const StoredCodes* codes) {
  constexpr std::size_t most_alike = 16;
  const BlockView& view = work.reading().view;
  const std::size_t rows = view.matrices * view.lines;
  const auto by_made = rows_by_scales(view, made.codes, stored.held);
  const auto of_stored = rows_by_scales(view, stored.codes, {});
  // Scales that many rows have tell none of them.
  if (4 * by_made.size() < 3 * rows) return std::nullopt;
  RowsFrom out(rows, unknown_line);
  std::vector<bool> taken(rows);
  for (const auto& [key, at] : of_stored) {
    const auto found = by_made.find(key);
    if (found == by_made.end() || found->second.size() > most_alike) continue;
    for (const std::uint32_t row : at) {
      std::size_t best = 0;
      for (const std::uint32_t from : found->second) {
        if (taken[from]) continue;
        const std::size_t equal =
            codes == nullptr ? 16 : codes_of_row(work, to, made, *codes, row, from);
        if (equal < 8 || equal <= best) continue;
        best = equal;
        out[row] = from;
      }
      if (out[row] != unknown_line) taken[out[row]] = true;
    }
  }
  return whole_order(std::move(out));
}

/// From which row each has its codes, by a few of them under the scales that a rule makes.
std::optional<RowsFrom> rows_by_codes(const ReadingWork& work, const BlockQuantizer& to,
                                      const BlockScales& made, const StoredCodes& codes) {
  const BlockView& view = work.reading().view;
  const std::size_t rows = view.matrices * view.lines, bytes = code_bytes(to.format.element);
  const std::vector<std::size_t> places = spread_places(view.length, 24);
  std::unordered_map<std::string, std::vector<std::uint32_t>> by_made;
  for (std::size_t row = 0; row < rows; ++row) {
    std::string key;
    for (const std::size_t i : places) {
      const std::size_t block = row * view.blocks_of_line() + i / view.length_of_block;
      const std::uint32_t code =
          made_code(to, made.factors[block], work.x()[row * view.length + i], *codes.how);
      key.append(reinterpret_cast<const char*>(&code), bytes);
    }
    by_made[key].push_back(static_cast<std::uint32_t>(row));
  }
  RowsFrom out(rows);
  std::size_t known = 0, away = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    std::string key;
    for (const std::size_t i : places) {
      key.append(reinterpret_cast<const char*>(&codes.bytes[(row * view.length + i) * bytes]),
                 bytes);
    }
    out[row] = static_cast<std::uint32_t>(row);
    const auto found = by_made.find(key);
    if (found == by_made.end() || found->second.size() > 1) continue;
    out[row] = found->second[0];
    ++known;
    away += out[row] != row ? 1 : 0;
  }
  if (4 * known < 3 * rows || 4 * away < rows) return std::nullopt;
  return out;
}

/// What rows are called that are those of other tensors of a stack: "tensors along axis 0 in
/// another order: 0 is that of the numbers' 2"; empty if they are not.
std::string words_of_tensors(const RowsFrom& from, const BlockView& view) {
  std::string some;
  std::size_t equal = 0, told = 0;
  for (std::size_t m = 0; view.matrices > 1 && m < view.matrices; ++m) {
    // The matrix from which most of its rows are.
    std::map<std::size_t, std::size_t> counts;
    for (std::size_t i = 0; i < view.lines; ++i) {
      const std::uint32_t row = from[m * view.lines + i];
      if (row % view.lines == i) ++counts[row / view.lines];
    }
    const auto most = std::ranges::max_element(counts, {}, [](const auto& x) { return x.second; });
    if (most == counts.end()) continue;
    equal += most->second;
    if (most->first == m || ++told > 3) continue;
    some += fmt::format("{}{} is that of the numbers' {}", told == 1 ? "" : ", ", m, most->first);
  }
  if (4 * equal < 3 * from.size()) return "";
  return fmt::format("tensors along axis 0 in another order: {}{}", some, told > 3 ? " …" : "");
}

/// What rows from elsewhere are called: "rows 0, 2, 4 … first, then rows 1, 3, 5 …".
std::string words_of_rows(const RowsFrom& from, const BlockView& view) {
  const std::size_t rows = from.size();
  if (const std::string tensors = words_of_tensors(from, view); !tensors.empty()) return tensors;
  const auto shifted = shifted_rows(
      rows, [&](std::size_t at, std::size_t of) { return from[at] == of; },
      [](std::size_t, std::size_t) { return false; });
  if (shifted) return shifted_words(*shifted);
  const auto is_all = [&](const auto& place) {
    std::size_t equal = 0;
    for (std::size_t i = 0; i < rows; ++i) equal += from[i] == place(i) ? 1 : 0;
    return 4 * equal >= 3 * rows;
  };
  if (is_all([&](std::size_t i) { return rows - 1 - i; })) return "rows in reverse order";
  if (is_all([](std::size_t i) { return i ^ 1; })) return "the rows of each pair exchanged";
  for (std::size_t parts = 2; parts <= rows / 2; ++parts) {
    if (rows % parts != 0) continue;
    const std::size_t each = rows / parts;
    if (is_all([&](std::size_t i) { return i % parts * each + i / parts; })) {
      return fmt::format("rows interleaved, one of each of {} parts in turn", parts);
    }
  }
  std::string some;
  for (std::size_t i = 0, told = 0; i < rows && told < 3; ++i) {
    if (from[i] == i) continue;
    some +=
        fmt::format("{}row {} is that of the numbers' row {}", told == 0 ? "" : ", ", i, from[i]);
    ++told;
  }
  return "rows in another order: " + some + " …";
}

}  // namespace

void try_rows(const Quantized& given, const ScaleReading& reading, std::size_t number,
              std::span<const StoredScales> stored, std::vector<SuspectedScales>& out) {
  const BlockView& view = reading.view;
  if (view.lines_of_block != 1 || view.length_of_block == 1 || view.lines < 3) return;
  const ReadingWork work(given, reading, NumbersTaken::as_given);
  const std::vector<StoredCodes> codes = codes_of_reading(work);
  const bool is_one_narrow = view.blocks_of_line() < 2 && reading.format.format.scale != binary32;
  std::map<std::int64_t, ReadingWork> moved;
  const std::optional<RowsMoved> of_columns = moved_columns(work);
  std::vector<SuspectedScales> found;
  const KeptScales kept(found);
  for (const NamedScaleRule& rule : scale_rules) {
    if (!fits(rule, reading.format.format) || rule.rule.four_or_six != FourOrSix::six) continue;
    const TensorScaleChoice tensor = tensor_scale_choices(work, rule, false)[0];
    const BlockQuantizer to = work.quantizer(work.steps(rule), tensor.scale);
    const BlockScales made = work.scales(to.rule, tensor.scale);
    for (std::size_t order = 0; order < stored.size(); ++order) {
      SuspectedScales x{number, order, &rule, tensor, NumbersTaken::as_given, {}};
      x.weight = stored[order].weight();
      const auto keep = [&](const ReadingWork& from, RowsMoved rows, std::string_view kind) {
        SuspectedScales one = x;
        one.words = rows.words;
        one.kind = kind;
        one.rows = std::move(rows);
        kept.keep(std::move(one), reading.format.format.scale,
                  from.scales(to.rule, tensor.scale).codes, stored[order]);
      };
      const ScaleAgreement in_place =
          scales_agree(reading.format.format.scale, made.codes, stored[order]);
      const double plain_share = in_place.share();
      const bool is_whole = in_place.is_whole();
      if (of_columns && !is_whole) {
        keep(ReadingWork(given, reading, NumbersTaken::as_given, *of_columns), *of_columns,
             "columns_permuted");
      }
      std::optional<ShiftedRows> shifted;
      if (!is_whole) shifted = rows_shifted(view, made.codes, stored[order]);
      // Codes that moved, too, tell more rows apart.
      for (const StoredCodes& its : codes) {
        const bool may_be = !is_whole && plain_share >= 0.1;
        auto by_codes = may_be ? rows_shifted_by_codes(work, to, made, its) : std::nullopt;
        if (by_codes) shifted = std::move(by_codes);
      }
      if (shifted) {
        RowsMoved all{.from = std::make_shared<const RowsFrom>(shifted->from),
                      .words = shifted_words(*shifted)};
        const ReadingWork from(given, reading, NumbersTaken::as_given, all);
        if (codes_are_moved(from, to, from.scales(to.rule, tensor.scale), &work)) {
          keep(from, std::move(all), "rows_moved");
        } else {
          x.words = all.words + ", of scales alone";
          kept.keep_changed(x, stored[order], {"scales_moved", ""}, [&](std::size_t i) {
            const std::size_t columns = view.blocks_of_line();
            return made.codes[shifted->from[i / columns] * columns + i % columns];
          });
        }
      }
      const std::vector<std::int64_t> distances =
          distances_of_rows(view, made.codes, stored[order]);
      for (const std::int64_t by : distances) {
        RowsMoved rows{.by = by, .words = moved_words(by)};
        const ReadingWork& from =
            moved.try_emplace(by, given, reading, NumbersTaken::as_given, rows).first->second;
        const BlockScales its = from.scales(to.rule, tensor.scale);
        // Scales alone may be moved, and codes not.
        if (codes_are_moved(from, to, its)) keep(from, std::move(rows), "rows_moved");
      }
      const ScaleAgreement plain =
          scales_agree(reading.format.format.scale, made.codes, stored[order]);
      if (!distances.empty() || plain.share() > 0.75 || is_one_narrow) continue;
      for (const StoredCodes& its : codes) {
        auto rows = rows_from(work, to, made, stored[order], &its);
        if (!rows) continue;
        const std::string words = words_of_rows(*rows, view);
        const RowsMoved all{.from = std::make_shared<const RowsFrom>(std::move(*rows)),
                            .words = words};
        keep(ReadingWork(given, reading, NumbersTaken::as_given, all), all, "rows_permuted");
      }
      if (!found.empty() && found.back().kind == "rows_permuted") continue;
      if (auto rows = rows_from(work, to, made, stored[order], nullptr)) {
        const std::size_t columns = view.blocks_of_line();
        x.words = words_of_rows(*rows, view) + ", of scales alone";
        x.kind = "scales_permuted";
        kept.keep_changed(x, stored[order], {x.kind, ""}, [&](std::size_t i) {
          return made.codes[(*rows)[i / columns] * columns + i % columns];
        });
      }
    }
  }
  // Before those that say the same of scales alone.
  out.insert(out.begin(), std::make_move_iterator(found.begin()),
             std::make_move_iterator(found.end()));
}

std::optional<RowsMoved> rows_of_codes(const ReadingWork& work, const NamedScaleRule& rule) {
  const BlockView& view = work.reading().view;
  if (view.lines_of_block != 1 || view.length_of_block == 1 || view.lines < 3) return std::nullopt;
  const TensorScaleChoice tensor = tensor_scale_choices(work, rule, false)[0];
  const BlockQuantizer to = work.quantizer(work.steps(rule), tensor.scale);
  const BlockScales made = work.scales(to.rule, tensor.scale);
  for (const StoredCodes& codes : codes_of_reading(work)) {
    if (const auto shifted = rows_shifted_by_codes(work, to, made, codes)) {
      return RowsMoved{.from = std::make_shared<const RowsFrom>(shifted->from),
                       .words = shifted_words(*shifted)};
    }
    auto rows = rows_by_codes(work, to, made, codes);
    if (!rows) continue;
    const std::string words = words_of_rows(*rows, view);
    return RowsMoved{.from = std::make_shared<const RowsFrom>(std::move(*rows)), .words = words};
  }
  return std::nullopt;
}

std::string moved_words(std::int64_t rows) {
  if (rows == 0) return "";
  return "each row is that of the numbers " + distance_words(rows);
}

}  // namespace binade

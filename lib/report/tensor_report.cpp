// SPDX-License-Identifier: Apache-2.0
//
// Draws conclusions from a summary.
#include "lib/report/tensor_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/report/loss_scale.h"
#include "lib/report/tensor_counting.h"

namespace binade {
namespace {

std::uint64_t count_between(const RangeSummary& s, int first, int last) {
  std::uint64_t count = 0;
  for (auto at = s.binades.lower_bound(first); at != s.binades.end() && at->first <= last; ++at) {
    count += at->second.total();
  }
  return count;
}

FormatReport format_report(const TensorReport& tensor, const Norms& of, const NamedFormat& row,
                           const ReportOptions& options) {
  const RangeSummary& s = tensor.summary;
  const Fates at_one = fates(s, row.format, 0);
  FormatReport out{.name = std::string(row.name),
                   .to_zero = share(at_one.to_zero, s),
                   .subnormal = share(at_one.subnormal, s),
                   .overflow = share(at_one.overflow, s),
                   .lost = losses(s, of, row.format, 0),
                   .sqnr_db = {},
                   .headroom = headroom(s, row.format),
                   .band_27_24 = {},
                   .rne_zero = {}};
  for (const int scale : options.scales_log2) {
    const auto column = std::ranges::find(s.columns, ErrorColumn{row.format, scale});
    if (column == s.columns.end()) throw without_column(tensor.name, {row.format, scale});
    out.sqnr_db.push_back(sqnr_db(s, of, static_cast<std::size_t>(column - s.columns.begin())));
  }
  if (row.format == binary16) {
    out.band_27_24 = share(count_between(s, -27, -25), s);
    out.rne_zero = out.to_zero;
  }
  return out;
}

std::vector<FormatReport> reports_in_formats(const TensorReport& tensor, const Norms& of,
                                             const ReportOptions& options) {
  std::vector<FormatReport> out;
  out.reserve(options.formats.size());
  for (const NamedFormat& row : options.formats)
    out.push_back(format_report(tensor, of, row, options));
  return out;
}

std::string status_of(const RangeSummary& s) {
  if (s.values == 0) return "empty";
  if (s.nonzero() > 0) return "ok";
  return s.zeros > 0 ? "all zero" : "no finite value";
}

/// Finds the first of narrow_formats that holds the tensor at some scale.
void advise(TensorReport& tensor, const ReportOptions& options) {
  if (!tensor.tie) return;
  for (const NamedFormat& row : narrow_formats) {
    const ScaleInterval interval =
        interval_of(tensor.summary, row.format, options.headroom, *tensor.tie);
    if (interval.empty()) continue;
    tensor.advice_format = row.name;
    tensor.advice_interval = interval;
    return;
  }
}

/// Says at which scales each format holds the tensor, the narrowest first: "e4m3: times 2^14 to
/// 2^20; e5m2: as it is". Empty if there is no finite non-zero value.
std::string advice_words(const TensorReport& tensor, const ReportOptions& options) {
  std::vector<std::string> words;
  if (!tensor.tie) return "";
  for (const NamedFormat& row : narrow_formats) {
    const ScaleInterval interval =
        interval_of(tensor.summary, row.format, options.headroom, *tensor.tie);
    if (interval.empty()) {
      words.push_back(fmt::format("{}: no scale serves", row.name));
      continue;
    }
    const bool as_is = interval.min_log2 <= 0 && interval.max_log2 >= 0;
    words.push_back(as_is ? fmt::format("{}: as it is", row.name)
                          : fmt::format("{}: times 2^{} to 2^{}", row.name, interval.min_log2,
                                        interval.max_log2));
    if (as_is) break;  // wider formats only do better
  }
  return fmt::format("{}", fmt::join(words, "; "));
}

}  // namespace

Share share(std::uint64_t count, const RangeSummary& s) {
  const auto part = [count](std::uint64_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(whole);
  };
  return {count, part(s.values), part(s.nonzero())};
}

void analyse(TensorReport& tensor, const ReportOptions& options) {
  fill_figures(tensor, options);
  fill_words(tensor, options);
}

void fill_words(TensorReport& tensor, const ReportOptions& options) {
  tensor.loss_scale.reason = scale_words(tensor.loss_scale, options);
  tensor.advice = advice_words(tensor, options);
}

void fill_figures(TensorReport& tensor, const ReportOptions& options) {
  const RangeSummary& s = tensor.summary;
  tensor.norms = norms(s);
  const Norms& of = tensor.norms;
  tensor.tie = highest_tie(s, of, options.target_loss);
  tensor.status = status_of(s);
  tensor.formats = reports_in_formats(tensor, of, options);
  tensor.loss_scale = loss_scale_of(s, of, tensor.tie, options);
  advise(tensor, options);
}

FormatFigures figures_of(const FormatReport& in_format) {
  return {in_format.to_zero.count, in_format.subnormal.count, in_format.overflow.count,
          in_format.lost ? in_format.lost->l2 : 0};
}

FormatFigures figures_in(const TensorReport& tensor, const NamedFormat& format) {
  const auto at = std::ranges::find(tensor.formats, format.name, &FormatReport::name);
  if (at != tensor.formats.end()) return figures_of(*at);
  const Fates f = fates(tensor.summary, format.format, 0);
  const std::optional<Losses> lost = losses(tensor.summary, format.format, 0);
  return {f.to_zero, f.subnormal, f.overflow, lost ? lost->l2 : 0};
}

}  // namespace binade

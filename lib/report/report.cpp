// SPDX-License-Identifier: Apache-2.0
//
// Reading tensors into summaries and drawing the conclusions.
#include "lib/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <tuple>

#include "lib/io/tensor_file.h"
#include "lib/range/counter.h"
#include "lib/report/roles.h"
#include "lib/tensor/error.h"

namespace binade {
namespace {

Share share(std::uint64_t count, const RangeSummary& s) {
  const auto part = [count](std::uint64_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(whole);
  };
  return {count, part(s.values), part(s.nonzero())};
}

std::uint64_t count_between(const RangeSummary& s, int first, int last) {
  std::uint64_t count = 0;
  for (auto at = s.binades.lower_bound(first); at != s.binades.end() && at->first <= last; ++at) {
    count += at->second.total();
  }
  return count;
}

FormatReport format_report(const RangeSummary& s, const Norms& of, const NamedFormat& row,
                           const ReportOptions& options) {
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
    out.sqnr_db.push_back(sqnr_db(s, of, static_cast<std::size_t>(column - s.columns.begin())));
  }
  if (row.format == binary16) {
    out.band_27_24 = share(count_between(s, -27, -25), s);
    out.rne_zero = out.to_zero;
  }
  return out;
}

std::vector<FormatReport> reports_in_formats(const RangeSummary& s, const Norms& of,
                                             const ReportOptions& options) {
  std::vector<FormatReport> out;
  out.reserve(options.formats.size());
  for (const NamedFormat& row : options.formats) out.push_back(format_report(s, of, row, options));
  return out;
}

std::string status_of(const RangeSummary& s) {
  if (s.values == 0) return "empty";
  if (s.nonzero() > 0) return "ok";
  return s.zeros > 0 ? "all zero" : "no finite value";
}

/// The scale picked from an interval; where that is empty, no overflow comes before no loss.
void choose(LossScale& scale, const RangeSummary& s, const Norms& of,
            const ReportOptions& options) {
  const ScaleInterval& interval = *scale.interval;
  const bool low = options.prefer == ScaleChoice::s_min && !interval.empty();
  scale.status = interval.empty() ? "empty interval" : "ok";
  const ScaleRange scales = scale_range(s);
  scale.recommended_log2 = std::clamp(low ? interval.min_log2 : interval.max_log2,
                                      scales.lowest_log2, scales.highest_log2);
  scale.lost_l2 = losses(s, of, binary16, *scale.recommended_log2)->l2;
}

std::string within(const ReportOptions& options) {
  return fmt::format("{} of its L2 norm", percent(options.target_loss));
}

std::string kept_free(const ReportOptions& options) {
  return options.headroom == 0 ? std::string("below overflow")
                               : fmt::format("at least {} binade{} below overflow",
                                             options.headroom, options.headroom == 1 ? "" : "s");
}

/// The format of the scales in a range.
const char* format_of_scales(const ScaleRange& range) {
  return range.highest_log2 == highest_scale_log2 ? "binary32" : "binary64";
}

LossScale scale_from(const RangeSummary& s, const Norms& of, std::optional<int> tie,
                     const ReportOptions& options) {
  LossScale out;
  if (!tie) {
    out.status = "no finite value";
    out.reason = "there is no finite non-zero value";
    return out;
  }
  out.interval = interval_of(s, binary16, options.headroom, *tie);
  choose(out, s, of, options);
  const ScaleRange scales = scale_range(s);
  out.reason =
      out.interval->empty()
          ? fmt::format(
                "no scale keeps the loss within {} and the largest value {}: {} {}, {} would be "
                "needed, and at {} the loss is {}",
                within(options), kept_free(options),
                out.interval->max_log2 == scales.highest_log2 ? "scales end at"
                                                              : "values overflow from",
                out.interval->max_log2 == scales.highest_log2
                    ? power_of_two(out.interval->max_log2)
                    : power_of_two(out.interval->max_log2 + 1) + " on",
                power_of_two(out.interval->min_log2), power_of_two(out.interval->max_log2),
                percent(*out.lost_l2))
          : fmt::format(
                "{} to {}: {}; {}", power_of_two(out.interval->min_log2),
                power_of_two(out.interval->max_log2),
                out.interval->min_log2 == scales.lowest_log2
                    ? std::string("smaller scales are not looked at")
                    : fmt::format("below, more than {} becomes zero", within(options)),
                out.interval->max_log2 == scales.highest_log2
                    ? fmt::format("larger ones are no {}", format_of_scales(scales))
                    : fmt::format("above, the largest value is not {}", kept_free(options)));
  return out;
}

/// The name, and the file where another one holds the same.
std::string name_among(const std::vector<const TensorReport*>& tensors,
                       const TensorReport& tensor) {
  const bool several = std::ranges::any_of(tensors, [&tensor](const TensorReport* other) {
    return other != &tensor && other->name == tensor.name && other->file != tensor.file;
  });
  std::string name = printable(tensor.name, 60);
  if (several) name += " of " + printable(tensor.file, 60);
  return name;
}

/// A tensor that sets an end of the interval, as it is called.
struct Binding {
  const RangeSummary& summary;
  std::string name;
};

/// What sets the ends of the interval, where they are not those of what is looked at.
std::string served_words(const LossScale& scale, const Binding& high, const Binding& low,
                         const ReportOptions& options) {
  const ScaleInterval& serves = *scale.interval;
  const ScaleRange of_high = scale_range(high.summary);
  const std::string above =
      serves.max_log2 == of_high.highest_log2
          ? fmt::format("{}, {}'s largest scale, keeps every value {}.",
                        power_of_two(serves.max_log2), format_of_scales(of_high),
                        kept_free(options))
          : fmt::format("{} is the largest scale that keeps every value {}; {} sets it.",
                        power_of_two(serves.max_log2), kept_free(options), high.name);
  return above + (serves.min_log2 == scale_range(low.summary).lowest_log2
                      ? fmt::format(" At any scale no tensor loses more than {}.", within(options))
                      : fmt::format(" From {} on no tensor loses more than {}; {} needs that.",
                                    power_of_two(serves.min_log2), within(options), low.name));
}

/// "e4m3 needs 2^14…2^20, e5m2 2^6…2^27, binary16 as it is": formats by width.
void advise(TensorReport& tensor, std::optional<int> tie, const ReportOptions& options) {
  if (!tie) return;
  constexpr std::array<NamedFormat, 4> by_width{{{"e4m3", e4m3, ""},
                                                 {"e5m2", e5m2, ""},
                                                 {"binary16", binary16, ""},
                                                 {"bfloat16", bfloat16, ""}}};
  std::vector<std::string> words;
  for (const NamedFormat& row : by_width) {
    const ScaleInterval interval = interval_of(tensor.summary, row.format, options.headroom, *tie);
    if (interval.empty()) {
      words.push_back(fmt::format("{}: no scale serves", row.name));
      continue;
    }
    if (tensor.advice_format.empty()) {
      tensor.advice_format = row.name;
      tensor.advice_interval = interval;
    }
    const bool as_is = interval.min_log2 <= 0 && interval.max_log2 >= 0;
    words.push_back(as_is ? fmt::format("{}: as it is", row.name)
                          : fmt::format("{}: times 2^{} to 2^{}", row.name, interval.min_log2,
                                        interval.max_log2));
    if (as_is) break;  // wider formats only do better
  }
  tensor.advice = fmt::format("{}", fmt::join(words, "; "));
}

}  // namespace

std::string power_of_two(int log2) {
  if (log2 < 0 || log2 > 30) return fmt::format("2^{}", log2);
  return fmt::format("2^{} = {}", log2, std::uint64_t{1} << log2);
}

std::string percent(double share) {
  const double p = 100 * share;
  if (p == 0 || share == 1) return p == 0 ? "0 %" : "100 %";
  if (p >= 99.95) return "> 99.9 %";
  if (p >= 0.995) return fmt::format("{:.1f} %", p);
  return p >= 0.000995 ? fmt::format("{:.2g} %", p) : fmt::format("{:.1e} %", p);
}

std::vector<FormatReport> format_reports(const RangeSummary& summary,
                                         const ReportOptions& options) {
  return reports_in_formats(summary, norms(summary), options);
}

LossScale loss_scale_of(const RangeSummary& summary, const ReportOptions& options) {
  const Norms of = norms(summary);
  return scale_from(summary, of, highest_tie(summary, of, options.target_loss), options);
}

void analyse(TensorReport& tensor, const ReportOptions& options) {
  const RangeSummary& s = tensor.summary;
  const Norms of = norms(s);
  const std::optional<int> tie = highest_tie(s, of, options.target_loss);
  tensor.status = status_of(s);
  tensor.formats = reports_in_formats(s, of, options);
  tensor.loss_scale = scale_from(s, of, tie, options);
  advise(tensor, tie, options);
}

LossScale joint_loss_scale(const std::vector<TensorReport>& tensors, const TensorReport& total,
                           const ReportOptions& options) {
  std::vector<const TensorReport*> all;
  for (const TensorReport& tensor : tensors) all.push_back(&tensor);
  return joint_loss_scale(all, total.summary, options);
}

LossScale joint_loss_scale(const std::vector<const TensorReport*>& tensors,
                           const RangeSummary& total, const ReportOptions& options) {
  const TensorReport* low = nullptr;
  const TensorReport* high = nullptr;
  for (const TensorReport* tensor : tensors) {
    const auto& interval = tensor->loss_scale.interval;
    if (!interval) continue;
    if (!low || interval->min_log2 > low->loss_scale.interval->min_log2) low = tensor;
    const auto larger = [&] {  // of several that set the end, the one that holds the largest value
      const Placed& x = tensor->summary.largest;
      const Placed& y = high->summary.largest;
      return std::tuple(x.exponent, x.significand) > std::tuple(y.exponent, y.significand);
    };
    const int end = high ? high->loss_scale.interval->max_log2 : 0;
    if (!high || interval->max_log2 < end || (interval->max_log2 == end && larger())) high = tensor;
  }
  if (!low) return loss_scale_of(total, options);
  LossScale out;
  out.interval =
      ScaleInterval{low->loss_scale.interval->min_log2, high->loss_scale.interval->max_log2};
  out.binding_min = low->name;
  out.binding_max = high->name;
  choose(out, total, norms(total), options);
  const std::string shown_high = name_among(tensors, *high);
  const std::string shown_low = name_among(tensors, *low);
  const std::string top = power_of_two(out.interval->max_log2);
  const std::string bottom = power_of_two(out.interval->min_log2);
  const ScaleRange scales = scale_range(high->summary);
  const bool is_last = out.interval->max_log2 == scales.highest_log2;
  const std::string largest =
      is_last ? fmt::format("{}'s largest scale and keeps every value", format_of_scales(scales))
              : std::string("the largest that keeps every value");
  const std::string setter = is_last ? "" : fmt::format(" ({} sets it)", shown_high);
  const double worst = losses(low->summary, binary16, out.interval->max_log2)->l2;
  out.reason = out.interval->empty() ? fmt::format(
                                           "No single scale serves all tensors. {} is {} {}{}, but "
                                           "{} needs {} to lose at most "
                                           "{}; at {} it loses {}.",
                                           top, largest, kept_free(options), setter, shown_low,
                                           bottom, within(options), top, percent(worst))
                                     : served_words(out, {high->summary, shown_high},
                                                    {low->summary, shown_low}, options);
  return out;
}

std::vector<ErrorColumn> error_columns(const ReportOptions& options) {
  std::vector<ErrorColumn> columns;
  for (const int scale : options.scales_log2) {
    for (const NamedFormat& row : options.formats) columns.push_back({row.format, scale});
  }
  return columns;
}

namespace {

/// Of no tensor yet.
Report new_report(const ReportOptions& options) {
  Report report;
  report.options = options;
  report.total.name = "total";
  report.total.summary = empty_summary(error_columns(options));
  return report;
}

void add_tensor(Report& report, const NamedTensor& named, RangeSummary summary) {
  const TensorInfo& info = named.place.info();
  TensorReport tensor;
  tensor.name = info.name;
  tensor.file = named.place.file->path();
  tensor.role = named.role;
  tensor.time = named.time;
  tensor.dtype = info.dtype.name;
  tensor.shape = info.shape;
  tensor.summary = std::move(summary);
  analyse(tensor, report.options);
  merge(report.total.summary, tensor.summary);
  report.tensors.push_back(std::move(tensor));
}

/// What all tensors together say, when they are there.
void conclude(Report& report, std::span<const NamedTensor> named, const UpdatePairs& updates,
              const std::function<UpdateCounts(const UpdatePair&)>& count) {
  const ReportOptions& options = report.options;
  analyse(report.total, options);
  report.loss_scale = joint_loss_scale(report.tensors, report.total, options);
  take_roles(report, named);
  report.hint = time_hint(named);
  if (const std::string rule = unused_rule(named, options.roles); !rule.empty()) {
    if (!report.hint.empty()) report.hint += " ";
    report.hint += fmt::format("--role {} fits no name.", printable(rule));
  }
  if (has_time_axis(report.tensors)) {
    report.time = time_report(report.tensors, options);
    add_updates(*report.time, updates, count);
  }
}

/// Names of tensors whose elements are no longer there.
class CountedTensors final : public TensorFile {
 public:
  explicit CountedTensors(const std::vector<NamedSummary>& summaries) : TensorFile("summaries") {
    for (const auto& [name, summary] : summaries) {
      tensors_.push_back({.name = name,
                          .dtype = {.name = "summary",
                                    .bits = 0,
                                    .kind = DtypeKind::floating,
                                    .format = "binary32",
                                    .npy = ""},
                          .shape = {summary.values},
                          .elements = summary.values});
    }
  }

 private:
  void read_data(std::size_t, const ChunkSink&) const override {
    throw Error("a summary holds no elements");
  }
};

void refuse_values_beyond_64_bits(const std::vector<NamedSummary>& summaries) {
  std::uint64_t all = 0;
  for (const auto& [name, summary] : summaries) {
    if (__builtin_add_overflow(all, summary.values, &all)) {
      throw Error(printable(name) + ": with it there are 2^64 values or more");
    }
  }
}

/// The columns of a summary that the options ask for, in their order.
RangeSummary with_columns(const NamedSummary& of, const std::vector<ErrorColumn>& columns) {
  if (of.summary.columns == columns) return of.summary;
  RangeSummary out = of.summary;
  out.columns = columns;
  out.squared_error.clear();
  for (const ErrorColumn& column : columns) {
    const auto at = std::ranges::find(of.summary.columns, column);
    if (at == of.summary.columns.end()) {
      throw Error(
          fmt::format("the summary of {} has no squared errors of {} at scale 2^{}; give the "
                      "formats and scales "
                      "that it was made with",
                      printable(of.name),
                      std::ranges::find(report_formats, column.format, &NamedFormat::format)->name,
                      column.scale_log2));
    }
    out.squared_error.push_back(
        of.summary.squared_error[static_cast<std::size_t>(at - of.summary.columns.begin())]);
  }
  return out;
}

}  // namespace

Report read_report(const std::vector<std::string>& files, const ReportOptions& options,
                   const Progress& progress, Device* device) {
  Report report = new_report(options);
  report.files = files;
  const std::vector<ErrorColumn>& columns = report.total.summary.columns;
  std::vector<std::unique_ptr<TensorFile>> open;
  std::uint64_t bytes = 0;
  for (std::string& path : report.files) {
    open.push_back(open_tensor_file(path, {options.dtype}));
    path = open.back()->path();
    for (const TensorInfo& info : open.back()->tensors()) {
      if (reason_to_skip(info.dtype).empty()) bytes += info.bytes;
    }
  }
  const std::vector<NamedTensor> named = named_tensors(open, options.roles);
  refuse_mixed_runs(named);
  const UpdatePairs updates = update_pairs(named);
  for (const UpdatePair& pair : updates.pairs) {
    bytes += pair.weight.info().bytes + pair.update.info().bytes;
  }
  CountFloats on_device;
  if (device != nullptr) {
    on_device = [device, &columns](std::span<const float> values, RangeBlock<float>& block) {
      expect_done(*device, device->range_count(values, columns, block));
    };
  }
  RangeCounter counter(columns, on_device);
  std::uint64_t done = 0;
  std::mutex advancing;
  const auto advance = [&](std::uint64_t more) {
    const std::lock_guard lock(advancing);
    done += more;
    if (progress) progress(done, bytes);
  };
  for (const auto& file : open) {
    for (const TensorInfo& info : file->tensors()) {
      const std::string reason = reason_to_skip(info.dtype);
      if (reason.empty()) continue;
      report.skipped.push_back(
          {file->path(), info.name, std::string(info.dtype.name), info.shape, reason});
    }
  }
  const TensorFile* held_file = nullptr;
  std::shared_ptr<const void> held;
  for (const NamedTensor& tensor : named) {
    const TensorPlace& place = tensor.place;
    const TensorInfo& info = place.info();
    if (place.file != held_file) held = place.file->hold();
    held_file = place.file;
    if (device != nullptr) {
      place.file->read(place.index, [&](std::span<const std::byte> chunk) {
        counter.add(chunk, info.dtype);
        advance(chunk.size());
      });
    } else {
      place.file->read_on_threads(place.index, [&](std::span<const std::byte> piece, auto slot) {
        counter.add(piece, info.dtype, slot);
        advance(piece.size());
      });
    }
    add_tensor(report, tensor, counter.finish());
  }
  if (report.tensors.empty()) {
    throw Error(fmt::format("{}: no floating-point tensor among {} tensor{}; nothing to report on",
                            printable(files.size() == 1 ? files[0] : "the files given"),
                            report.skipped.size(), report.skipped.size() == 1 ? "" : "s"));
  }
  conclude(report, named, updates, [&](const UpdatePair& pair) {
    return count_updates(pair.weight, pair.update, advance);
  });
  return report;
}

Report report_of(const std::vector<NamedSummary>& summaries, const ReportOptions& options,
                 const Progress& progress) {
  if (summaries.empty()) throw Error("no summary; nothing to report on");
  Report report = new_report(options);
  std::vector<std::unique_ptr<TensorFile>> files;
  files.push_back(std::make_unique<CountedTensors>(summaries));
  report.files = {files[0]->path()};
  const std::vector<NamedTensor> named = named_tensors(files, options.roles);
  refuse_values_beyond_64_bits(summaries);
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (progress) progress(i, named.size());
    add_tensor(report, named[i], with_columns(summaries[i], report.total.summary.columns));
  }
  UpdatePairs updates = update_pairs(named);
  for (const UpdatePair& pair : updates.pairs) {
    updates.unpaired.push_back({pair.update.info().name, "summaries hold no elements"});
  }
  updates.pairs.clear();
  conclude(report, named, updates, {});
  return report;
}

}  // namespace binade

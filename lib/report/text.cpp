// SPDX-License-Identifier: Apache-2.0
//
// Plain text in 100 columns. Each share says what it is a share of.
#include "lib/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "lib/report/figure_table.h"
#include "lib/report/histogram_text.h"
#include "lib/report/time_text.h"
#include "lib/text/error.h"
#include "lib/text/paint.h"
#include "lib/text/paragraph.h"
#include "lib/text/percent.h"

namespace binade {
namespace {

/// Returns the offset and the length of the first part, between '.' and '/', from the offset `from`
/// on that is a number: the 12 of step0/layers.12.self_attn.out_proj.weight. Returns the length of
/// the text and 0 if there is none.
std::pair<std::size_t, std::size_t> first_number(const std::string& text, std::size_t from) {
  for (std::size_t at = from; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of("./", at), text.size());
    if (end > at && text.find_first_not_of("0123456789", at) == end) return {at, end - at};
    at = end + 1;
  }
  return {text.size(), 0};
}

/// Shortens a long name at its beginning, because its end says more, but keeps the step at its
/// beginning and the number that distinguishes layers: "step0/..12..out_proj.weight".
std::string shortened(const std::string& name, std::size_t width) {
  std::string text = printable(name);
  if (columns_of(text) <= width) return text;
  const std::size_t slash = text.find('/');
  const bool has_step = text.starts_with("step") && slash < width / 2;
  std::string head = (has_step ? text.substr(0, slash + 1) : "") + "...";
  const auto [at, size] = first_number(text, has_step ? slash + 1 : 0);
  const bool is_cut = at < text.size() - width + head.size();
  if (is_cut && size > 0 && size < width / 4) {
    head.replace(head.size() - 3, 3, ".." + text.substr(at, size) + "..");
  }
  std::size_t drop = text.size() - width + head.size();
  while (drop < text.size() && (static_cast<unsigned char>(text[drop]) & 0xC0) == 0x80) ++drop;
  return head + text.substr(drop);
}

std::string magnitude(double x) { return fmt::format("{:.3g}", x); }

std::string counted(std::uint64_t n, std::uint64_t values) {
  if (n == 0) return "0";
  return fmt::format("{} ({})", grouped(n),
                     percent(static_cast<double>(n) / static_cast<double>(values)));
}

std::string head(const Report& report, const Paint& paint) {
  const RangeSummary& s = report.total.summary;
  std::string files = report.files.size() == 1 ? printable(report.files[0])
                                               : fmt::format("{} files", report.files.size());
  std::string out =
      paint(bold, files) + fmt::format(": {} tensor{}, {} value{}\n", grouped(report.rows.size()),
                                       report.rows.size() == 1 ? "" : "s", grouped(s.values),
                                       s.values == 1 ? "" : "s");
  out +=
      fmt::format("  zeros {}   NaN {}   Inf {}   (shares of all values)\n",
                  counted(s.zeros, s.values), counted(s.nan, s.values), counted(s.inf, s.values));
  if (s.nonzero() == 0) return out + "  There is no finite non-zero value.\n";
  return out + fmt::format("  finite non-zero {}, |x| from {} to {}\n", grouped(s.nonzero()),
                           magnitude(value_of(s.smallest)), magnitude(value_of(s.largest)));
}

/// The text of figures of each kind in the column of a format.
struct FigureCell {
  const FigureInput& input;
  std::string operator()(const Share& share) const { return percent(share.of_nonzero); }
  std::string operator()(const std::optional<double>& part) const {
    return part ? percent(*part) : "-";
  }
  std::string operator()(const std::optional<int>& binades) const {
    return binades ? fmt::format("2^{}", *binades) : "-";
  }
  std::string operator()(const std::vector<std::optional<double>>& ratios) const {
    const std::vector<int>& scales = input.options.scales_log2;
    const auto at_one = static_cast<std::size_t>(std::ranges::find(scales, 0) - scales.begin());
    if (!input.report.lost || at_one >= ratios.size()) return "-";
    return ratios[at_one] ? fmt::format("{:.1f} dB", *ratios[at_one]) : "exact";
  }
  std::string operator()(const std::vector<ExactSum>&) const { return "-"; }
};

/// What the table of formats is about: all tensors; where there are several roles, whose norms have
/// no unit in common, the gradients, or else the first role.
struct TableSubject {
  const TensorReport& of;
  std::string title;
};

TableSubject table_subject(const Report& report) {
  const bool alike = report.roles.empty() || report.scaled_tensors == report.rows.size();
  if (report.gradients && !alike) return {*report.gradients, "Gradients at scale 1"};
  if (report.gradients || report.roles.empty()) return {report.total, "At scale 1"};
  const TensorReport& first = report.roles.front().all;
  return {first, first.name + " at scale 1"};
}

std::string format_table(const Report& report, const Paint& paint) {
  const TableSubject subject = table_subject(report);
  std::string out = "\n" + paint(bold, left_aligned(subject.title, 34));
  for (const FormatReport& f : subject.of.formats) out += fmt::format("{:>12}", f.name);
  out += "\n";
  for (const FigureRow& row : figure_rows()) {
    if (row.title == nullptr) continue;
    const std::string of = row.of == nullptr ? "" : std::string(" ") + row.of;
    out += "  " + left_aligned(left_aligned(row.title, 10) + of, 32);
    for (const FormatReport& f : subject.of.formats) {
      const FigureInput input{f, subject.of.summary, report.options};
      out += fmt::format("{:>12}", std::visit(FigureCell{input}, row.value(input)));
    }
    out += "\n";
  }
  for (const FormatReport& f : subject.of.formats) {
    if (!f.band_27_24) continue;
    out += wrapped(
        fmt::format(
            "  binary16: {} of the non-zero values lie in 2^-27 <= |x| < 2^-24 (band_27_24); "
            "{} have 0 < |x| <= 2^-25 and round to zero (rne_zero). Of all values: {} and {}.",
            percent(f.band_27_24->of_nonzero), percent(f.rne_zero->of_nonzero),
            percent(f.band_27_24->of_values), percent(f.rne_zero->of_values)),
        2);
  }
  return out;
}

/// Says how many tensors a format with scales of each one's own serves.
std::string own_scales_words(const LossScale& s, const std::string& what) {
  return fmt::format(
      "  {} is used with a scale of each tensor's own, not with one loss scale: {} of {} {} have "
      "one "
      "that serves (the table has it). One scale for all of them:",
      s.format, s.served, s.scaled, what);
}

std::string scale_section(const Report& report, const Paint& paint) {
  const LossScale& s = report.loss_scale;
  const NamedFormat of = format_of_scale(report.options);
  const std::string what = report.gradients ? "gradients" : "tensors";
  std::string out = "\n";
  if (s.status == "no gradients") {
    out += paint(bold, "Loss scale: none, of no gradients") + "\n";
  } else if (!s.recommended_log2) {
    out += paint(bold, fmt::format("Loss scale for {}: none", of.name)) + "\n";
  } else if (has_own_scales(of.format)) {
    out += paint(bold, fmt::format("Scales for {}: each tensor its own", of.name)) + "\n" +
           wrapped(own_scales_words(s, what), 2);
  } else {
    out += paint(bold,
                 fmt::format("Loss scale for {}: {}", of.name, power_of_two(*s.recommended_log2))) +
           fmt::format("   lost l2 of all {} together {} (at scale 1: {})\n", what,
                       percent(*s.lost_l2),
                       percent(losses(report.scaled().summary, of.format, 0)->l2));
  }
  out += wrapped("  " + printable(s.reason, 2000), 2);
  return s.basis.empty() ? out : out + wrapped("  " + printable(s.basis, 2000), 2);
}

/// Returns the table of what each role's values become in the format of the scale.
std::string role_table(const Report& report, const Paint& paint) {
  if (report.roles.empty()) return "";
  const NamedFormat of = format_of_scale(report.options);
  std::string out = "\n" +
                    paint(bold, fmt::format("{:<21}", fmt::format("By role, in {}", of.name))) +
                    fmt::format("{:>10}{:>14}{:>10}{:>11}{:>10}{:>10}\n", "tensors", "values",
                                "to zero", "subnormal", "overflow", "lost l2");
  for (const auto& [tensors, all] : report.roles) {
    const RangeSummary& s = all.summary;
    out += fmt::format("  {:<19}{:>10}{:>14}", all.name, grouped(tensors), grouped(s.values));
    if (all.status != "ok") {
      out += fmt::format("  {}\n", all.status);
      continue;
    }
    const Fates f = fates(s, of.format, 0);
    const auto part = [&s](std::uint64_t n) {
      return percent(static_cast<double>(n) / static_cast<double>(s.nonzero()));
    };
    out += fmt::format("{:>10}{:>11}{:>10}{:>10}\n", part(f.to_zero), part(f.subnormal),
                       part(f.overflow), percent(losses(s, of.format, 0)->l2));
  }
  const auto there = [&report](std::string_view name) {
    return std::ranges::find(report.roles, name, [](auto& r) { return r.all.name; }) !=
           report.roles.end();
  };
  const bool grad = there(tensor_role_name(TensorRole::gradient));
  return out + wrapped(fmt::format("  at scale 1, of the role's non-zero values{}{}",
                                   grad ? "; grad: of something that the name does not tell" : "",
                                   there(other_role) ? "; other: the name tells no role" : ""),
                       2);
}

std::string interval_text(const std::optional<ScaleInterval>& interval) {
  if (!interval) return "-";
  return interval->empty() ? "none"
                           : fmt::format("2^{}…2^{}", interval->min_log2, interval->max_log2);
}

/// Returns the interval of the loss scale of a tensor, whose lower end is not known of what lies at
/// the floor of its format.
std::string loss_scale_text(const TensorRow& row) {
  const bool open = row.at_floor && row.loss_scale && !row.loss_scale->empty();
  return open ? fmt::format("?…2^{}", row.loss_scale->max_log2) : interval_text(row.loss_scale);
}

std::string tensor_table(const Report& report, const TextStyle& style, const Paint& paint) {
  std::vector<const TensorRow*> order;
  std::vector<std::string_view> names;  // only shown if there are several
  for (const TensorRow& row : report.rows) {
    order.push_back(&row);
    if (report.files.size() > 1) names.push_back(row.name);
  }
  std::ranges::sort(names);
  std::ranges::stable_sort(order, std::ranges::greater{}, [](const TensorRow* row) {
    return row->nonzero == 0 ? -1 : row->at_one.lost;
  });
  std::string out =
      "\n" + paint(bold, fmt::format("{:<31}", "Tensors, most lost l2 first")) +
      fmt::format(
          "{:>10}{:>9}{:>10}{:>10}  {:<13} {}\n", "values", "to zero", "subnormal", "lost l2",
          has_own_scales(format_of_scale(report.options).format) ? "its scale" : "loss scale",
          "narrowest");
  std::size_t shown = 0;
  for (const TensorRow* t : order) {
    if (shown++ == style.tensors) break;
    const auto [first, last] =
        std::equal_range(names.begin(), names.end(), std::string_view(t->name));
    const bool several = last - first > 1;
    const std::string file =
        std::filesystem::path(report.files[t->file]).replace_extension().string();
    const std::string name =
        several ? shortened(file, 13) + ":" + shortened(t->name, 15) : shortened(t->name, 29);
    if (t->status != "ok") {
      out += fmt::format("  {}{:>10}  {}\n", left_aligned(name, 29), grouped(t->values), t->status);
      continue;
    }
    const auto part = [t](std::uint64_t n) {
      return percent(static_cast<double>(n) / static_cast<double>(t->nonzero));
    };
    out += fmt::format("  {}{:>10}{:>9}{:>10}{:>10}  {} {}\n", left_aligned(name, 29),
                       grouped(t->values), part(t->at_one.to_zero), part(t->at_one.subnormal),
                       percent(t->at_one.lost), left_aligned(loss_scale_text(*t), 13),
                       t->advice_format.empty()
                           ? "none"
                           : t->advice_format + " " + interval_text(t->advice_interval));
  }
  if (order.size() > style.tensors) {
    out += paint(dim,
                 fmt::format("  … {} more; --tensors 0 shows all\n", order.size() - style.tensors));
  }
  const bool any_open = std::ranges::any_of(report.rows, &TensorRow::at_floor);
  return out +
         wrapped("  to zero, subnormal: share of the tensor's non-zero values in " +
                     std::string(format_of_scale(report.options).name) +
                     " at scale "
                     "1; scale: where lost l2 stays within the target and nothing overflows; "
                     "narrowest: the first of e4m3, e5m2, binary16, bfloat16 whose range serves, "
                     "and at which scales of its own." +
                     (any_open ? " ?: what was smaller is zero already, so that what it needs is "
                                 "not known."
                               : ""),
                 2);
}

std::string verdict_section(const Report& report, const Paint& paint) {
  const std::vector<std::string> sentences =
      verdict_sentences(report.verdict, report.options, report.watched.has_value());
  if (sentences.empty()) return "";
  std::string out = "\n" + paint(bold, "FP8, FP16 or BF16?") + "\n";
  for (const std::string& sentence : sentences) out += wrapped("  " + sentence, 4);
  return out;
}

std::string skipped_section(const Report& report) {
  std::string out;
  for (const SkippedTensor& t : report.skipped) {
    out += fmt::format("  skipped {} ({}, {})\n", printable(t.name), t.dtype, t.reason);
  }
  return out.empty() ? out : "\n" + out;
}

std::string without_trailing_blanks(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') out.erase(out.find_last_not_of(' ') + 1);
    out += c;
  }
  return out;
}

}  // namespace

std::string report_text(const Report& report, const TextStyle& style) {
  const Paint paint{style.color};
  std::string out = head(report, paint);
  if (!report.missing_parts.empty()) {
    out += paint(bold, "  " + report.missing_parts + ": this is not the whole of it") + "\n";
  }
  if (report.watched) out += watched_text(*report.watched);
  out += verdict_section(report, paint);
  if (report.total.summary.nonzero() > 0) {
    out += histogram_text(report, paint) + format_table(report, paint) + role_table(report, paint) +
           scale_section(report, paint);
  }
  if (report.time) out += time_text(*report.time, style.color);
  TextStyle all = style;
  if (all.tensors == 0) all.tensors = report.rows.size();
  out += tensor_table(report, all, paint) + skipped_section(report);
  if (!report.hint.empty()) out += "\n" + wrapped("  " + report.hint, 2);
  return without_trailing_blanks(out);
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Computes intervals of scales, chooses from them, and explains the choice in words.
#include "lib/report/loss_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "lib/report/held_floor.h"
#include "lib/text/error.h"
#include "lib/text/percent.h"

namespace binade {
namespace {

/// Sets the recommended scale, and what belongs to it.
void recommend(LossScale& scale, int log2, const RangeSummary& s, const Norms& of,
               const Format& format) {
  scale.recommended_log2 = log2;
  scale.lost_l2 = losses(s, of, format, log2)->l2;
  scale.free_binades = *headroom(s, format) - log2;
}

/// Returns whether a format has the range of binary32, and scale 1 serves in it, which then keeps
/// as much room as binary32 does.
bool needs_none(const ScaleInterval& interval, const Format& format) {
  return format.emin() <= binary32.emin() && interval.min_log2 <= 0 && interval.max_log2 >= 0;
}

/// Picks the scale from an interval. If the interval is empty, avoiding overflow comes before
/// avoiding losses; if every scale overflows, there is none to pick.
void choose_scale(LossScale& scale, const RangeSummary& s, const Norms& of, const Format& format,
                  const ReportOptions& options) {
  const ScaleInterval& interval = *scale.interval;
  const bool low = options.prefer == ScaleChoice::s_min && !interval.empty();
  scale.status = interval.empty() ? "empty interval" : "ok";
  if (interval.max_log2 < lowest_scale_log2) return;
  if (options.prefer == ScaleChoice::margin && needs_none(interval, format))
    return recommend(scale, 0, s, of, format);
  recommend(scale, low ? interval.min_log2 : interval.max_log2, s, of, format);
}

std::string binades(int n) { return fmt::format("{} binade{}", n, n == 1 ? "" : "s"); }

std::string within(const ReportOptions& options) {
  return fmt::format("{} of its L2 norm", percent(options.target_loss));
}

std::string kept_free(const ReportOptions& options) {
  return options.headroom == 0
             ? std::string("below overflow")
             : fmt::format("at least {} below overflow", binades(options.headroom));
}

/// Returns a tensor's name, with its file if a tensor in another file has the same name.
std::string shown_name(const JointScale::End& end, bool shares_name) {
  std::string name = printable(end.name, 60);
  if (shares_name) name += " of " + printable(end.file, 60);
  return name;
}

/// Explains what sets the ends of a non-empty interval: a tensor, whose name is given, or the range
/// of possible scales.
std::string served_words(const ScaleInterval& serves, const std::string& high,
                         const std::string& low, bool any_at_floor, const ReportOptions& options) {
  const std::string above =
      serves.max_log2 == highest_scale_log2
          ? fmt::format("{}, binary32's largest scale, keeps every value {}.",
                        power_of_two(serves.max_log2), kept_free(options))
          : fmt::format("{} is the largest scale that keeps every value {}; {} sets it.",
                        power_of_two(serves.max_log2), kept_free(options), high);
  if (any_at_floor) return above;
  return above + (serves.min_log2 == lowest_scale_log2
                      ? fmt::format(" At any scale no tensor loses more than {}.", within(options))
                      : fmt::format(" From {} on no tensor loses more than {}; {} needs that.",
                                    power_of_two(serves.min_log2), within(options), low));
}

/// Says that even binary32's smallest scale is too large for the values of `what`.
std::string none_low_enough(const ScaleInterval& interval, const std::string& what,
                            const ReportOptions& options) {
  return fmt::format("binary32's smallest scale, {}, does not keep {} {}: {} would be needed",
                     power_of_two(lowest_scale_log2), what, kept_free(options),
                     power_of_two(interval.max_log2));
}

Format find_format_of(const std::string& name) {
  return std::ranges::find(report_formats, name, &NamedFormat::name)->format;
}

/// Explains the scale of many tensors, given the names of those that set its ends.
std::string joint_words(const LossScale& scale, const std::string& high, const std::string& low,
                        const JointScale::End& of_low, const Format& format,
                        const ReportOptions& options) {
  const ScaleInterval& interval = *scale.interval;
  if (!scale.recommended_log2)
    return "No scale serves: " + none_low_enough(interval, high, options) + ".";
  if (!interval.empty()) {
    return (needs_none(interval, format)
                ? fmt::format("{} has the range of binary32 and needs none. ", scale.format)
                : "") +
           served_words(interval, high, low, scale.at_floor.tensors > 0, options);
  }
  const std::string top = power_of_two(interval.max_log2);
  const bool is_last = interval.max_log2 == highest_scale_log2;
  return fmt::format(
      "No single scale serves all tensors. {} is {} {}{}, but {} needs {} to lose at most {}; at "
      "{} it loses {}.",
      top,
      is_last ? "binary32's largest scale and keeps every value"
              : "the largest that keeps every value",
      kept_free(options), is_last ? "" : fmt::format(" ({} sets it)", high), low,
      power_of_two(interval.min_log2), within(options), top,
      percent(losses(of_low.summary, format, interval.max_log2)->l2));
}

std::string negligible_words(const Negligible& of) {
  return fmt::format(
      "Not asked to be saved: {} gradient{} of weights with at most 2^{} of the norm of all ({}{}: "
      "{}): small beside the others, or what rounding leaves of zero. An optimizer that divides by "
      "the "
      "size of a gradient, as Adam does, takes them for as large as the others.",
      of.tensors, of.tensors == 1 ? "" : "s", negligible_log2, of.tensors == 1 ? "" : "first ",
      printable(of.first, 60), percent(of.share));
}

std::string floor_words(const AtFloor& of) {
  return fmt::format(
      "From which scale on too little is lost is not known: of {} gradient{} ({}{}) more than {:g} "
      "% of the norm lies so near the smallest subnormal of the format that held {} that what was "
      "smaller is zero already. A run at a larger scale, or in binary32, tells.",
      of.tensors, of.tensors == 1 ? "" : "s", of.tensors == 1 ? "" : "first ",
      printable(of.first, 60), 100 * floor_share, of.tensors == 1 ? "it" : "them");
}

}  // namespace

std::string power_of_two(int log2) {
  if (log2 < 0 || log2 > 30) return fmt::format("2^{}", log2);
  return fmt::format("2^{} = {}", log2, std::uint64_t{1} << log2);
}

LossScale loss_scale_of(const RangeSummary& s, const Norms& of, std::optional<int> tie,
                        const ReportOptions& options) {
  const NamedFormat row = format_of_scale(options);
  LossScale out;
  out.format = row.name;
  if (!tie) {
    out.status = "no finite value";
    return out;
  }
  out.interval = interval_of(s, row.format, options.headroom, *tie);
  choose_scale(out, s, of, row.format, options);
  return out;
}

std::string scale_words(const LossScale& scale, const ReportOptions& options) {
  if (!scale.interval) return "there is no finite non-zero value";
  const ScaleInterval& interval = *scale.interval;
  if (!scale.recommended_log2) return none_low_enough(interval, "the largest value", options);
  const bool ends_there = interval.max_log2 == highest_scale_log2;
  const std::string limit =
      ends_there ? "binary32's scales end at " + power_of_two(highest_scale_log2)
                 : fmt::format("from {} on values overflow", power_of_two(interval.max_log2 + 1));
  return interval.empty()
             ? fmt::format(
                   "no scale keeps the loss within {} and the largest value {}: {}, {} would be "
                   "needed, and at {} the loss is {}",
                   within(options), kept_free(options), limit, power_of_two(interval.min_log2),
                   power_of_two(interval.max_log2), percent(*scale.lost_l2))
             : fmt::format("{} to {}: {}; {}", power_of_two(interval.min_log2),
                           power_of_two(interval.max_log2),
                           interval.min_log2 == lowest_scale_log2
                               ? std::string("smaller scales are not looked at")
                               : fmt::format("below, more than {} becomes zero", within(options)),
                           ends_there ? std::string("larger ones are no binary32")
                                      : fmt::format("above, the largest value is not {}",
                                                    kept_free(options)));
}

double JointScale::negligible_squares_log2() const {
  return to_scaled(weight_squares_).log2() + 2 * negligible_log2;
}

/// Takes a tensor that may set the lower end, and drops those that cannot: another asks for as much
/// (or comes before it and asks for the same), and is negligible only if they are.
void JointScale::take_low(End end) {
  const auto yields_to = [](const End& a, const End& b) {
    const bool asks = b.tie != a.tie ? b.tie < a.tie : b.place < a.place;
    return asks && b.squares_log2 >= a.squares_log2;
  };
  if (std::ranges::any_of(lows_, [&](const End& other) { return yields_to(end, other); })) return;
  std::erase_if(lows_, [&](const End& other) { return yields_to(other, end); });
  lows_.push_back(std::move(end));
}

/// Returns whether a tensor's largest value is larger than that of the upper end so far.
bool JointScale::is_higher(const Placed& largest, std::size_t place) const {
  const auto rank = [](const Placed& x, std::size_t of) {
    return std::tuple(-x.exponent, ~x.significand, of);
  };
  return !high_ || rank(largest, place) < rank(high_->largest, high_->place);
}

void JointScale::add(const TensorReport& tensor, std::size_t place) {
  merge(total_, tensor.summary);
  if (!tensor.tie) return;
  ++scaled_;
  if (!tensor.loss_scale.interval->empty()) ++served_;
  const auto end_at = [&] {
    return End{.place = place,
               .name = tensor.name,
               .file = tensor.file,
               .tie = *tensor.tie,
               .largest = tensor.summary.largest};
  };
  double squares_log2 = std::numeric_limits<double>::infinity();
  if (tensor.role == TensorRole::d_weight) {
    const ExactSum& squares = tensor.norms.squares;
    squares_log2 = to_scaled(squares).log2();
    weight_squares_ += squares;
    weights_.push_back({place, tensor.name, squares_log2});
  }
  if (tensor.at_floor) at_floor_.push_back({place, tensor.name, squares_log2});
  const bool yields = std::ranges::any_of(lows_, [&](const End& other) {
    return other.tie < *tensor.tie && other.squares_log2 >= squares_log2;
  });
  if (!yields) {
    End end = end_at();
    end.summary = tensor.summary;
    end.squares_log2 = squares_log2;
    take_low(std::move(end));
  }
  if (is_higher(tensor.summary.largest, place)) high_ = end_at();
}

void JointScale::add(JointScale other) {
  merge(total_, other.total_);
  const Negligible found = other.negligible();
  const double least = other.negligible_squares_log2();
  for (End& end : other.lows_) {
    if (end.squares_log2 <= least) continue;
    end.squares_log2 = std::numeric_limits<double>::infinity();
    take_low(std::move(end));
  }
  for (OfWeights& of : other.at_floor_) {
    if (of.squares_log2 <= least) continue;
    of.squares_log2 = std::numeric_limits<double>::infinity();
    at_floor_.push_back(std::move(of));
  }
  if (found.tensors > 0) {
    const std::size_t place =
        std::ranges::find(other.weights_, found.first, &OfWeights::name)->place;
    if (settled_.tensors == 0 || place < settled_place_) {
      settled_.first = found.first;
      settled_place_ = place;
    }
    settled_.tensors += found.tensors;
    settled_.share = std::max(settled_.share, found.share);
  }
  if (other.high_ && is_higher(other.high_->largest, other.high_->place)) {
    high_ = std::move(other.high_);
  }
  served_ += other.served_;
  scaled_ += other.scaled_;
}

/// Returns the tensor that sets the lower end; null if there is none.
const JointScale::End* JointScale::low() const {
  const End* out = nullptr;
  const double least = negligible_squares_log2();
  for (const End& end : lows_) {
    if (end.squares_log2 <= least) continue;
    const bool more =
        out == nullptr || std::tuple(end.tie, end.place) < std::tuple(out->tie, out->place);
    if (more) out = &end;
  }
  return out;
}

Negligible JointScale::negligible() const {
  Negligible out = settled_;
  const OfWeights* first = nullptr;
  const double all = to_scaled(weight_squares_).log2();
  for (const OfWeights& of : weights_) {
    if (of.squares_log2 > all + 2 * negligible_log2) continue;
    ++out.tensors;
    if (first == nullptr || of.place < first->place) first = &of;
    const double share = std::exp2((of.squares_log2 - all) / 2);
    out.share = std::max(out.share, share);
  }
  if (first != nullptr && out.first.empty()) out.first = first->name;
  return out;
}

AtFloor JointScale::at_floor() const {
  AtFloor out;
  const OfWeights* first = nullptr;
  const double least = negligible_squares_log2();
  for (const OfWeights& of : at_floor_) {
    if (of.squares_log2 <= least) continue;
    ++out.tensors;
    if (first == nullptr || of.place < first->place) first = &of;
  }
  if (first != nullptr) out.first = first->name;
  return out;
}

LossScale JointScale::scale(const ReportOptions& options,
                            const std::function<bool(const End&)>& shares_name,
                            const NamedFormat& row) const {
  const Norms of = norms(total_);
  const End* const low = this->low();
  if (low == nullptr) {
    ReportOptions in_format = options;
    in_format.scale_format = row;
    LossScale out =
        loss_scale_of(total_, of, highest_tie(total_, of, options.target_loss), in_format);
    out.reason = scale_words(out, in_format);
    return out;
  }
  LossScale out;
  out.format = row.name;
  out.served = served_;
  out.scaled = scaled_;
  out.negligible = negligible();
  out.at_floor = at_floor();
  out.interval = interval_of(total_, row.format, options.headroom, low->tie);
  out.binding_min = low->name;
  out.binding_max = high_->name;
  out.place_min = low->place;
  out.place_max = high_->place;
  choose_scale(out, total_, of, row.format, options);
  const std::string shown_high = shown_name(*high_, shares_name(*high_));
  const std::string shown_low = shown_name(*low, shares_name(*low));
  out.reason = joint_words(out, shown_high, shown_low, *low, row.format, options);
  if (out.at_floor.tensors > 0) out.reason += " " + floor_words(out.at_floor);
  if (out.negligible.tensors > 0) out.reason += " " + negligible_words(out.negligible);
  return out;
}

bool is_negligible(const RangeSummary& some, const RangeSummary& all) {
  if (some.nonzero() == 0 || all.nonzero() == 0) return false;
  return to_scaled(norms(some).squares).log2() <=
         to_scaled(norms(all).squares).log2() + 2 * negligible_log2;
}

void take_margin(LossScale& scale, std::vector<int> largest_scales, const RangeSummary& gradients,
                 const ReportOptions& options) {
  if (!scale.recommended_log2 || largest_scales.size() < 2) return;
  std::ranges::sort(largest_scales);
  const int least = largest_scales.front();
  const int usual = largest_scales[(largest_scales.size() - 1) / 2];
  const Format format = find_format_of(scale.format);
  const bool is_chosen = scale.status != "ok" || needs_none(*scale.interval, format);
  if (options.prefer == ScaleChoice::margin && !is_chosen) {
    const int upper_half = (scale.interval->max_log2 - scale.interval->min_log2) / 2;
    const int margin = std::min(usual - least, upper_half);
    recommend(scale, scale.interval->max_log2 - margin, gradients, norms(gradients), format);
  }
  // The largest scales keep options.headroom binades free.
  const int above = options.headroom - *scale.recommended_log2;
  scale.over_run = {.steps = largest_scales.size(),
                    .nearest = static_cast<std::size_t>(std::ranges::count(largest_scales, least)),
                    .usual = usual + above};
  scale.reason += fmt::format(
      " At {} the largest gradient of the run may grow by {} before it overflows, in {} of {} "
      "steps; that of the usual step by {}.",
      power_of_two(*scale.recommended_log2), binades(*scale.free_binades), scale.over_run->nearest,
      scale.over_run->steps, binades(scale.over_run->usual));
}

}  // namespace binade

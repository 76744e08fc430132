// SPDX-License-Identifier: Apache-2.0
//
// Computes intervals of scales, chooses from them, and explains the choice in words.
#include "lib/report/loss_scale.h"

#include <fmt/format.h>

#include <tuple>
#include <utility>

#include "lib/text/error.h"
#include "lib/text/percent.h"

namespace binade {
namespace {

/// Picks the scale from an interval. If the interval is empty, avoiding overflow comes before
/// avoiding losses; if every scale overflows, there is none to pick.
void choose_scale(LossScale& scale, const RangeSummary& s, const Norms& of,
                  const ReportOptions& options) {
  const ScaleInterval& interval = *scale.interval;
  const bool low = options.prefer == ScaleChoice::s_min && !interval.empty();
  scale.status = interval.empty() ? "empty interval" : "ok";
  if (interval.max_log2 < lowest_scale_log2) return;
  scale.recommended_log2 = low ? interval.min_log2 : interval.max_log2;
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

/// Returns a tensor's name, with its file if a tensor in another file has the same name.
std::string shown_name(const JointScale::End& end, bool shares_name) {
  std::string name = printable(end.name, 60);
  if (shares_name) name += " of " + printable(end.file, 60);
  return name;
}

/// Explains what sets the ends of a non-empty interval: a tensor, whose name is given, or the range of possible scales.
std::string served_words(const ScaleInterval& serves, const std::string& high,
                         const std::string& low, const ReportOptions& options) {
  const std::string above =
      serves.max_log2 == highest_scale_log2
          ? fmt::format("{}, binary32's largest scale, keeps every value {}.",
                        power_of_two(serves.max_log2), kept_free(options))
          : fmt::format("{} is the largest scale that keeps every value {}; {} sets it.",
                        power_of_two(serves.max_log2), kept_free(options), high);
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

}  // namespace

std::string power_of_two(int log2) {
  if (log2 < 0 || log2 > 30) return fmt::format("2^{}", log2);
  return fmt::format("2^{} = {}", log2, std::uint64_t{1} << log2);
}

LossScale loss_scale_of(const RangeSummary& s, const Norms& of, std::optional<int> tie,
                        const ReportOptions& options) {
  LossScale out;
  if (!tie) {
    out.status = "no finite value";
    out.reason = "there is no finite non-zero value";
    return out;
  }
  out.interval = interval_of(s, binary16, options.headroom, *tie);
  const ScaleInterval& interval = *out.interval;
  choose_scale(out, s, of, options);
  if (!out.recommended_log2) {
    out.reason = none_low_enough(interval, "the largest value", options);
    return out;
  }
  const bool ends_there = interval.max_log2 == highest_scale_log2;
  const std::string limit =
      ends_there ? "binary32's scales end at " + power_of_two(highest_scale_log2)
                 : fmt::format("from {} on values overflow", power_of_two(interval.max_log2 + 1));
  out.reason =
      interval.empty()
          ? fmt::format(
                "no scale keeps the loss within {} and the largest value {}: {}, {} would be "
                "needed, and at {} the loss is {}",
                within(options), kept_free(options), limit, power_of_two(interval.min_log2),
                power_of_two(interval.max_log2), percent(*out.lost_l2))
          : fmt::format(
                "{} to {}: {}; {}", power_of_two(interval.min_log2),
                power_of_two(interval.max_log2),
                interval.min_log2 == lowest_scale_log2
                    ? std::string("smaller scales are not looked at")
                    : fmt::format("below, more than {} becomes zero", within(options)),
                ends_there ? std::string("larger ones are no binary32")
                           : fmt::format("above, the largest value is not {}", kept_free(options)));
  return out;
}

/// Returns whether a tensor is the lower end, among those added so far.
bool JointScale::is_low(int log2, std::size_t place) const {
  if (!low_) return true;
  return log2 != low_->log2 ? log2 > low_->log2 : place < low_->place;
}

/// Takes an upper end if it is lower than the one so far. If several tensors set that end, the one
/// with the largest value is kept.
void JointScale::take_high(End end) {
  const auto rank = [](const End& x) {
    return std::tuple(x.log2, -x.largest.exponent, ~x.largest.significand, x.place);
  };
  if (!high_ || rank(end) < rank(*high_)) high_ = std::move(end);
}

void JointScale::add(const TensorReport& tensor, std::size_t place) {
  merge(total_, tensor.summary);
  const auto& interval = tensor.loss_scale.interval;
  if (!interval) return;
  const auto end_at = [&](int log2) {
    return End{place, tensor.name, tensor.file, log2, tensor.summary.largest};
  };
  if (is_low(interval->min_log2, place)) {
    low_ = end_at(interval->min_log2);
    low_->summary = tensor.summary;
  }
  if (!high_ || interval->max_log2 <= high_->log2) take_high(end_at(interval->max_log2));
}

void JointScale::add(JointScale other) {
  merge(total_, other.total_);
  if (other.low_ && is_low(other.low_->log2, other.low_->place)) low_ = std::move(other.low_);
  if (other.high_) take_high(*std::move(other.high_));
}

LossScale JointScale::scale(const ReportOptions& options,
                            const std::function<bool(const End&)>& shares_name) const {
  const Norms of = norms(total_);
  if (!low_) {
    return loss_scale_of(total_, of, highest_tie(total_, of, options.target_loss), options);
  }
  LossScale out;
  out.interval = ScaleInterval{low_->log2, high_->log2};
  out.binding_min = low_->name;
  out.binding_max = high_->name;
  out.place_min = low_->place;
  out.place_max = high_->place;
  choose_scale(out, total_, of, options);
  const std::string shown_high = shown_name(*high_, shares_name(*high_));
  const std::string shown_low = shown_name(*low_, shares_name(*low_));
  if (!out.recommended_log2) {
    out.reason = "No scale serves: " + none_low_enough(*out.interval, shown_high, options) + ".";
    return out;
  }
  if (!out.interval->empty()) {
    out.reason = served_words(*out.interval, shown_high, shown_low, options);
    return out;
  }
  const std::string top = power_of_two(out.interval->max_log2);
  const bool is_last = out.interval->max_log2 == highest_scale_log2;
  out.reason = fmt::format(
      "No single scale serves all tensors. {} is {} {}{}, but {} needs {} to lose at most {}; at "
      "{} "
      "it loses {}.",
      top,
      is_last ? "binary32's largest scale and keeps every value"
              : "the largest that keeps every value",
      kept_free(options), is_last ? "" : fmt::format(" ({} sets it)", shown_high), shown_low,
      power_of_two(out.interval->min_log2), within(options), top,
      percent(losses(low_->summary, binary16, out.interval->max_log2)->l2));
  return out;
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// How a counted run (run_counts.h) was watched while it ran: at which steps, with which loss
// scales, and the first NaN or Inf.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace binade {

/// A range of steps whose tensors were counted together, and which makes one point in time.
struct RunWindow {
  std::uint64_t first = 0, last = 0;
  std::uint64_t steps = 1;                ///< how many were watched, first and last included
  std::optional<double> loss_scale = {};  ///< the scale that was in use
};

/// The first NaN or Inf that occurred.
struct FirstNonFinite {
  std::uint64_t step = 0;     ///< 0 also if the step is unknown
  std::string text;           ///< a line for people
  std::string json;           ///< the whole object
  bool only_skipped = false;  ///< found among gradients, in a step that a scaler skipped
};

/// Parses JSON of at most 65536 bytes with the keys "text", which is not empty, and, if they are
/// known, "step", "layer", "role", "phase" (forward, backward or step), "found" (counts "nan" and
/// "inf"), "arose" (whether what it was computed from was finite), "loss_scale" (number or null),
/// "skipped" (whether the step was), "inputs" (what it was computed from, each with "name",
/// "dtype", "values", "nan", "inf", "smallest", "largest", of which only "name" is required).
/// Throws Error for anything else.
FirstNonFinite parse_first_nonfinite(std::string_view json);

/// All that a counted run says about how it was watched.
struct Watched {
  std::uint64_t every = 1;  ///< the watched steps are the multiples of this
  std::vector<RunWindow> windows;
  std::vector<std::string> notes;  ///< a line each
  std::optional<FirstNonFinite> first_nonfinite = {};
};

/// Adds what another file of the same run says. Of two windows that begin at the same step, the one
/// in `to` is kept; of two first NaN or Inf, the one of the earlier step.
void add_watched(Watched& to, const Watched& more);

nlohmann::ordered_json watched_json(const Watched& watched);

/// Returns a text such as "every 50th step from 0 to 11,950; each point merges 4 watched steps".
std::string watched_words(const Watched& watched);

/// Returns these words, the first value that was not finite, and the notes, as the report's text
/// shows them.
std::string watched_text(const Watched& watched);

}  // namespace binade

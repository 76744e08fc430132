// SPDX-License-Identifier: Apache-2.0
//
// What is told of a run that was counted while it ran, besides its tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace binade {

/// Watched steps whose tensors were counted together: a point in time.
struct RunWindow {
  std::uint64_t first = 0, last = 0;
  std::uint64_t steps = 1;                ///< how many were watched, first and last among them
  std::optional<double> loss_scale = {};  ///< that was in use
};

/// The first NaN or Inf that came up.
struct FirstNonFinite {
  std::uint64_t step = 0;  ///< 0 also where it is not told
  std::string text;        ///< a line for people
  std::string json;        ///< all of it, an object
};

/// From JSON: "text", and where they are known "step", "layer", "role", "phase" (forward, backward or step), "found"
/// (counts "nan" and "inf"), "arose" (whether what it was computed from was finite), "loss_scale" (number or null),
/// "skipped" (whether the step was), "inputs" (what it was computed from, each with "name", "dtype", "values", "nan",
/// "inf", "smallest", "largest"). Error for anything else.
FirstNonFinite parse_first_nonfinite(std::string_view json);

struct Watched {
  std::uint64_t every = 1;  ///< which steps were watched: each multiple of it
  std::vector<RunWindow> windows;
  std::vector<std::string> notes;  ///< a line each
  std::optional<FirstNonFinite> first_nonfinite = {};
};

/// Adds what another file of the same run tells.
void add_watched(Watched& to, const Watched& more);

nlohmann::ordered_json watched_json(const Watched& watched);

/// "every 50th step from 0 to 11,950; each point merges 4 watched steps"
std::string watched_words(const Watched& watched);

/// That, the first value that was not finite and the notes, as the report's text has them.
std::string watched_text(const Watched& watched);

}  // namespace binade

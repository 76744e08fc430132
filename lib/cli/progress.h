// SPDX-License-Identifier: Apache-2.0
//
// One line on stderr that says how far a long run is, how fast, and how long it will take; nothing
// when stderr is not a terminal or the run is short.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>

namespace binade {

class ProgressLine {
 public:
  /// `giga_unit`: what 10^9 of the counted things are called.
  explicit ProgressLine(const char* giga_unit = "GB");
  ~ProgressLine();  ///< wipes the line
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void update(std::uint64_t done, std::uint64_t total);

 private:
  using Clock = std::chrono::steady_clock;
  const char* unit_;
  bool terminal_;
  bool shown_ = false;
  Clock::time_point start_, last_;
};

/// A line for check_scalar; none where stderr is no terminal.
std::function<void(std::string_view instruction, double fraction)> instruction_progress();

/// Whether output to this descriptor may carry colours: a terminal, and NO_COLOR is not set.
bool wants_color(int descriptor);

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// One line on stderr that says how far a long run is, how fast, and how long it will take; nothing
// when stderr is not a terminal or the run is short.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
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

/// "[2/11] name  43 %  what is being run  1:20 left": a line about one step of several, which makes
/// room for lines of text in between.
class StepLine {
 public:
  StepLine();
  ~StepLine();  ///< wipes the line
  StepLine(const StepLine&) = delete;
  StepLine& operator=(const StepLine&) = delete;

  void begin(std::string label);
  void update(double done, std::string_view what);
  /// Before anything else is written.
  void wipe();

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_;
  bool shown_ = false;
  std::string label_;
  Clock::time_point start_, last_;
};

/// "[2/11] name  43 %  what  1:20 left" in at most `columns` columns: `what` is cut where it must be.
std::string step_words(std::string_view label, double done, std::string_view what, double elapsed,
                       std::size_t columns);

/// A line for check_scalar; none where stderr is no terminal.
std::function<void(std::string_view instruction, double fraction)> instruction_progress();

/// Whether output to this descriptor may carry colours: a terminal, and NO_COLOR is not set.
bool wants_color(int descriptor);

}  // namespace binade

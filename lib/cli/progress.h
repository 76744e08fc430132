// SPDX-License-Identifier: Apache-2.0
//
// A line on standard error that says how far a long run is, how fast it goes and how long it will
// take. Nothing is written if standard error is no terminal. A ProgressLine writes nothing in the
// first half second of a run, a StepLine nothing in that of each step.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace binade {

/// The progress of a run of which the amounts done and to do are known: " 43 %  1.20 of 2.80 GB
/// 0.60 GB/s  3 s left".
class ProgressLine {
 public:
  /// `giga_unit` is the name of 10^9 of the things that are counted, such as GB.
  explicit ProgressLine(const char* giga_unit = "GB");
  ~ProgressLine();  ///< wipes the line
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Says that `done` of `total` things are done. Writes at most ten times a second.
  void update(std::uint64_t done, std::uint64_t total);

 private:
  using Clock = std::chrono::steady_clock;
  const char* unit_;
  bool terminal_;
  bool shown_ = false;
  Clock::time_point start_, last_;
};

/// The progress of one step of several: "[2/11] name  43 %  what is being run  1:20 min left". The
/// caller wipes it before printing lines of text, and the next update writes it again.
class StepLine {
 public:
  StepLine();
  ~StepLine();  ///< wipes the line
  StepLine(const StepLine&) = delete;
  StepLine& operator=(const StepLine&) = delete;

  /// Begins a step with this label: "[2/11] name".
  void begin(std::string label);
  /// Says that the share `done`, from 0 to 1, of the step is done, and what is being run.
  void update(double done, std::string_view what);
  /// Removes the line from the terminal; to be called before anything else is written.
  void wipe();

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_;
  bool shown_ = false;
  std::string label_;
  Clock::time_point start_, last_;
};

/// The text of a StepLine after `elapsed` seconds, of at most `columns` bytes: `what` is cut if it
/// does not fit.
std::string step_words(std::string_view label, double done, std::string_view what, double elapsed,
                       std::size_t columns);

/// A callback for check_scalar and identified, which writes "name  43 %"; null if standard error is
/// no terminal.
std::function<void(std::string_view instruction, double fraction)> instruction_progress();

/// Whether output to this descriptor may carry colours: it is a terminal, TERM is not "dumb", and
/// NO_COLOR is not set or is empty.
bool wants_color(int descriptor);

}  // namespace binade

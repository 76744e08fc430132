// SPDX-License-Identifier: Apache-2.0
//
// Writes lines of progress to a terminal, at most ten times a second, from half a second after the
// start on.
#include "lib/cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace binade {
namespace {

std::size_t terminal_columns() {
  winsize size = {};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

/// "42 s", "1:20 min", "1:02:03 h"
std::string duration_words(double seconds) {
  const auto s = std::llround(seconds);
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{}:{:02} min", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02} h", s / 3600, s / 60 % 60, s % 60);
}

}  // namespace

ProgressLine::ProgressLine(const char* giga_unit)
    : unit_(giga_unit),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      last_(start_) {}

ProgressLine::~ProgressLine() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

void ProgressLine::update(std::uint64_t done_count, std::uint64_t total_count) {
  using std::chrono::duration;
  const Clock::time_point now = Clock::now();
  const double elapsed = duration<double>(now - start_).count();
  if (!terminal_ || elapsed < 0.5 || duration<double>(now - last_).count() < 0.1) return;
  last_ = now;
  shown_ = true;
  const auto done = static_cast<double>(done_count);
  const auto total = static_cast<double>(total_count);
  fmt::print(stderr, "\r\x1b[K{:3.0f} %  {:.2f} of {:.2f} {}  {:.2f} {}/s  {:.0f} s left",
             100 * done / total, done / 1e9, total / 1e9, unit_, done / 1e9 / elapsed, unit_,
             elapsed * (total - done) / done);
  std::fflush(stderr);
}

StepLine::StepLine() : terminal_(isatty(STDERR_FILENO) != 0) {}

StepLine::~StepLine() { wipe(); }

void StepLine::begin(std::string label) {
  wipe();
  label_ = std::move(label);
  start_ = last_ = Clock::now();
}

void StepLine::update(double done, std::string_view what) {
  using std::chrono::duration;
  const Clock::time_point now = Clock::now();
  const double elapsed = duration<double>(now - start_).count();
  if (!terminal_ || elapsed < 0.5 || duration<double>(now - last_).count() < 0.1) return;
  last_ = now;
  shown_ = true;
  fmt::print(stderr, "\r\x1b[K{}", step_words(label_, done, what, elapsed, terminal_columns() - 1));
  std::fflush(stderr);
}

void StepLine::wipe() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
  shown_ = false;
}

std::string step_words(std::string_view label, double done, std::string_view what, double elapsed,
                       std::size_t columns) {
  done = std::clamp(done, 0.0, 1.0);
  const std::string head = fmt::format("{}  {:.0f} %", label, std::floor(100 * done));
  // Before a hundredth is done, no time is estimated.
  const std::string tail =
      done < 0.01 ? "" : fmt::format("  {} left", duration_words(elapsed * (1 - done) / done));
  std::string text = head;
  if (!what.empty() && head.size() + tail.size() + 2 < columns) {
    std::size_t cut = std::min(what.size(), columns - head.size() - tail.size() - 2);
    while (cut < what.size() && (static_cast<unsigned char>(what[cut]) & 0xC0) == 0x80) --cut;
    text += "  " + std::string(what.substr(0, cut));
  }
  text += tail;
  return text.substr(0, columns);
}

std::function<void(std::string_view instruction, double fraction)> instruction_progress() {
  if (isatty(STDERR_FILENO) == 0) return nullptr;
  return [](std::string_view instruction, double fraction) {
    fmt::print(stderr, "\r\x1b[K{:<32}{:3.0f} %", instruction, 100 * fraction);
    if (fraction == 1) fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
  };
}

bool wants_color(int descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return isatty(descriptor) != 0 && (no_color == nullptr || *no_color == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Ten updates a second at most, from half a second on.
#include "lib/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace binade {

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

// SPDX-License-Identifier: Apache-2.0
//
// Writes a result file again and again, whole each time.
#include "lib/runs/so_far_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "lib/io/atomic_file.h"
#include "lib/text/error.h"

namespace binade {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds least_between_writes{1};
constexpr int times_of_a_write = 20;

}  // namespace

SoFarFile::SoFarFile(std::string path)
    : path_(std::move(path)), next_(steady_clock::now() + least_between_writes) {
  std::error_code ignored;
  if (std::filesystem::is_other(std::filesystem::status(path_, ignored))) path_.clear();
}

void SoFarFile::write(const std::string& text) const {
  if (path_.empty()) return;
  try {
    write_file(path_, text);
  } catch (const Error&) {  // a disk that is full now may have room when all is done
  }
}

void SoFarFile::write_in_time(const std::function<std::string()>& text) {
  const steady_clock::time_point begin = steady_clock::now();
  if (path_.empty() || begin < next_) return;
  write(text());
  const steady_clock::time_point end = steady_clock::now();
  next_ = end +
          std::max<steady_clock::duration>(least_between_writes, times_of_a_write * (end - begin));
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Reads digits.csv.gz, which has a line per image: 64 pixels in 0 … 16 and the digit that they
// show, all in decimal.
#include "lib/runs/digits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <random>
#include <span>
#include <string_view>
#include <utility>

#include "lib/io/gzip.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::size_t all_images = 1797;
constexpr std::size_t train_images = 1437;  // 11 batches of 128 and 29 more
constexpr std::size_t side = 8;
constexpr std::size_t pixels = side * side;
constexpr int brightest = 16;
constexpr std::size_t most_bytes_of_digits = std::size_t{1} << 20;  // 264 712 when unzipped

using Row = std::array<int, pixels + 1>;

/// Parses one line without its line end. Throws Error if it is malformed.
Row parse(const std::string& path, std::string_view line, std::size_t number) {
  Row row{};
  const char* at = line.data();
  const char* const end = at + line.size();
  for (std::size_t i = 0; i < row.size(); ++i) {
    const auto [next, error] = std::from_chars(at, end, row[i]);
    const bool last = i + 1 == row.size();
    const bool separated = last ? next == end : next != end && *next == ',';
    const int highest = last ? 9 : brightest;
    if (error != std::errc() || !separated || row[i] < 0 || row[i] > highest) {
      throw error_in(
          path, fmt::format("line {}, column {} is no number in 0..{}", number, i + 1, highest),
          "restore the committed file");
    }
    at = next + (last ? 0 : 1);
  }
  return row;
}

std::vector<Row> read_rows(const std::string& path) {
  const std::string text = read_gzip(path, most_bytes_of_digits);
  std::vector<Row> rows;
  for (std::size_t at = 0; at < text.size() && rows.size() <= all_images;) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = std::string_view(text).substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    rows.push_back(parse(path, line, rows.size() + 1));
    at = end + 1;
  }
  if (rows.size() != all_images) {
    throw error_in(
        path,
        fmt::format("{} {} lines instead of {}", rows.size() > all_images ? "at least" : "only",
                    rows.size(), all_images),
        "restore the committed file");
  }
  return rows;
}

/// torch.randperm(n) on the CPU after torch.manual_seed(0): Fisher and Yates from the front with
/// MT19937 and a remainder (aten/src/ATen/native/TensorFactories.cpp, randperm_cpu).
std::vector<std::size_t> permutation_of_rows(std::size_t n) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 generator(0);
  for (std::size_t i = 0; i + 1 < n; ++i) std::swap(order[i], order[i + generator() % (n - i)]);
  return order;
}

Images pick(const std::vector<Row>& rows, std::span<const std::size_t> which) {
  Images out{.count = which.size(),
             .channels = 1,
             .height = side,
             .width = side,
             .classes = 10,
             .pixels = {},
             .labels = {}};
  for (const std::size_t i : which) {
    for (std::size_t p = 0; p < pixels; ++p) {
      out.pixels.push_back(static_cast<float>(rows[i][p]) / static_cast<float>(brightest));
    }
    out.labels.push_back(rows[i][pixels]);
  }
  return out;
}

}  // namespace

ImageSplit digits(const std::string& data_folder) {
  const std::vector<Row> rows = read_rows(data_folder + "/digits.csv.gz");
  const std::vector<std::size_t> order = permutation_of_rows(rows.size());
  const std::span<const std::size_t> all = order;
  return {pick(rows, all.first(train_images)), pick(rows, all.subspan(train_images))};
}

}  // namespace binade

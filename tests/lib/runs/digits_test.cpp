// SPDX-License-Identifier: Apache-2.0
//
// The committed digits, their split, and files that are not what they should be.
#include "lib/runs/digits.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/lib/io/files.h"
#include "tests/lib/io/gzipped.h"

namespace binade::digits_test {
namespace {

using test::error_of;
using test::has;

const std::string committed = BINADE_SOURCE_ROOT "/experiments/data";

/// Line `number` of a file of 1797: pixel 0 is number mod 17, the others 16, the label number
/// mod 10.
std::string line(std::size_t number) {
  std::string text = std::to_string(number % 17);
  for (int i = 1; i < 64; ++i) text += ",16";
  return text + "," + std::to_string(number % 10) + "\n";
}

/// A file with one line replaced.
std::string made(std::size_t lines, std::size_t which = 0, const std::string& instead = "") {
  std::string text;
  for (std::size_t i = 1; i <= lines; ++i) text += i == which ? instead : line(i);
  return text;
}

std::string error_with(const std::string& csv) {
  const test::Folder folder;
  folder.write("digits.csv.gz", test::gzipped(csv));
  return error_of([&] { digits(folder / "."); });
}

TEST_CASE("the committed digits are 1437 and 360 images of 8 x 8 in sixteenths, ten classes") {
  const ImageSplit split = digits(committed);
  CHECK(split.train.count == 1437);
  CHECK(split.test.count == 360);
  for (const Images* images : {&split.train, &split.test}) {
    CHECK(images->channels == 1);
    CHECK(images->height == 8);
    CHECK(images->width == 8);
    CHECK(images->classes == 10);
    CHECK(images->labels.size() == images->count);
    REQUIRE(images->pixels.size() == images->count * 64);
    CHECK(std::ranges::all_of(
        images->pixels, [](float x) { return x >= 0 && x <= 1 && x * 16 == std::round(x * 16); }));
    CHECK(std::ranges::min(images->labels) == 0);
    CHECK(std::ranges::max(images->labels) == 9);
  }
}

// The UCI description of the set: 178 zeros, 182 ones, …; 561 718 is the sum of all its pixels.
TEST_CASE("the classes and pixels of both parts together are those of the set") {
  const ImageSplit split = digits(committed);
  std::array<int, 10> counts{};
  double sum = 0;
  for (const Images* images : {&split.train, &split.test}) {
    for (const std::int32_t label : images->labels) ++counts[static_cast<std::size_t>(label)];
    for (const float x : images->pixels) sum += 16 * x;
  }
  CHECK(counts == std::array{178, 182, 177, 183, 181, 182, 181, 179, 174, 180});
  CHECK(sum == 561718);
}

// torch.manual_seed(0); torch.randperm(1797) gives 362, 1568, 1440, … 504, 80, 317 (PyTorch 1.13).
TEST_CASE("the split is the one that PyTorch's seed 0 gives") {
  const test::Folder folder;
  folder.write("digits.csv.gz", test::gzipped(made(1797)));
  const ImageSplit split = digits(folder / ".");
  const auto check = [](const Images& images, std::size_t at, std::size_t source) {
    CHECK(images.labels[at] == static_cast<std::int32_t>((source + 1) % 10));
    CHECK(images.pixels[at * 64] == static_cast<float>((source + 1) % 17) / 16);
    CHECK(images.pixels[at * 64 + 63] == 1);
  };
  const std::vector<std::size_t> first{362, 1568, 1440, 1761, 815, 1792, 508, 660, 550, 1284};
  for (std::size_t i = 0; i < first.size(); ++i) check(split.train, i, first[i]);
  const std::vector<std::size_t> around{640, 598, 1700, 1553, 3,
                                        477, 127, 1084, 909,  1253};  // 1430 …
  for (std::size_t i = 0; i < 7; ++i) check(split.train, 1430 + i, around[i]);
  for (std::size_t i = 7; i < 10; ++i) check(split.test, i - 7, around[i]);
  const std::vector<std::size_t> last{1334, 464, 1504, 80, 317};
  for (std::size_t i = 0; i < last.size(); ++i) check(split.test, 355 + i, last[i]);
}

TEST_CASE("a file of another number of lines is refused") {
  CHECK(has(error_with(made(1796)), "only 1796 lines instead of 1797"));
  CHECK(has(error_with(made(1798)), "at least 1798 lines"));
  CHECK(has(error_with(""), "only 0 lines"));
}

TEST_CASE("a line that is not 64 pixels and a digit is refused by number and column") {
  CHECK(has(error_with(made(1797, 5, "1,2,3\n")), "line 5, column 3"));
  CHECK(has(error_with(made(1797, 1797, line(3).insert(0, "17"))),
            "line 1797, column 1 is no number in 0..16"));
  CHECK(has(error_with(made(1797, 2, line(2).insert(line(2).size() - 1, ",0"))),
            "line 2, column 65"));
  CHECK(has(error_with(made(1797, 2, "-" + line(2))), "line 2, column 1"));
  CHECK(has(error_with(made(1797, 9, "\n")), "line 9, column 1"));
}

TEST_CASE("a folder without the file is an error that names it") {
  const test::Folder folder;
  CHECK(has(error_of([&] { digits(folder / "."); }), "digits.csv.gz"));
}

}  // namespace
}  // namespace binade::digits_test

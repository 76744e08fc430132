// SPDX-License-Identifier: Apache-2.0
//
// Views and blocks against a walk over every index, one element at a time.
#include "lib/io/strided.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <functional>
#include <mutex>
#include <numeric>
#include <random>
#include <sstream>

#include "tests/lib/io/files.h"

namespace binade::strided_test {
namespace {

using Indices = std::vector<std::uint64_t>;

struct Case {
  Indices shape, strides;  ///< in elements
  std::uint64_t bytes = 4, offset = 0;
};

std::string dtype_of(std::uint64_t bytes) {
  const char* names[] = {"U8", "U16", "F32", "F64", "C128"};
  return names[std::countr_zero(bytes)];
}

/// Every index in C order.
template <class Take>
void walk(const Indices& shape, Take&& take) {
  if (std::ranges::find(shape, 0U) != shape.end()) return;
  Indices at(shape.size());
  while (true) {
    take(at);
    std::size_t axis = shape.size();
    while (axis > 0 && ++at[axis - 1] == shape[axis - 1]) at[--axis] = 0;
    if (axis == 0) return;
  }
}

std::uint64_t product(const Indices& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
}

/// Reads a tensor of these blocks, whose strides are in bytes.
std::string read(const Indices& shape, std::uint64_t bytes, StridedFile::Blocks blocks) {
  TensorInfo info;
  info.name = "t";
  info.dtype = *find_dtype(dtype_of(bytes));
  info.shape = shape;
  info.elements = product(shape);
  info.bytes = info.elements * bytes;
  const auto file = blocks.at(0).file;
  const StridedFile tensor("t", file, {info}, {std::move(blocks)});
  std::string all;
  tensor.read(0, [&](std::span<const std::byte> chunk) {
    CHECK(chunk.size() <= std::size_t{8} << 20);
    CHECK(chunk.size() % bytes == 0);
    all.append(reinterpret_cast<const char*>(chunk.data()), chunk.size());
  });
  std::size_t on_threads = 0;
  std::mutex counting;
  tensor.read_on_threads(0, [&](std::span<const std::byte> piece, std::size_t) {
    const std::lock_guard lock(counting);
    on_threads += piece.size();
  });
  CHECK(on_threads == all.size());
  return all;
}

StridedBlock block(const std::shared_ptr<const InputFile>& file, const Case& view) {
  Indices strides = view.strides;
  for (std::uint64_t& stride : strides) stride *= view.bytes;
  return {.file = file,
          .begin = view.offset * view.bytes,
          .offsets = Indices(view.shape.size()),
          .sizes = view.shape,
          .strides = strides};
}

std::string expected(const std::string& storage, const Case& view) {
  std::string out;
  walk(view.shape, [&](const Indices& at) {
    std::uint64_t place = view.offset;
    for (std::size_t i = 0; i < at.size(); ++i) place += at[i] * view.strides[i];
    out.append(storage, place * view.bytes, view.bytes);
  });
  return out;
}

std::string random_bytes(std::size_t size) {
  std::mt19937 random(5);
  std::string out(size, '\0');
  for (char& byte : out) byte = static_cast<char>(random());
  return out;
}

TEST_CASE("3000 random views of few elements are what a walk over their indices gives") {
  const test::Folder folder;
  const std::string storage = random_bytes(4096);
  const auto file = std::make_shared<const InputFile>(folder.write("s", storage));
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    Case view;
    view.bytes = 1U << random() % 5;
    std::uint64_t reach = 0;
    for (auto rank = random() % 5; rank > 0; --rank) {
      view.shape.push_back(random() % 5);
      view.strides.push_back(random() % 13);
      if (view.shape.back() > 0) reach += (view.shape.back() - 1) * view.strides.back();
    }
    view.offset = random() % (storage.size() / view.bytes - reach);
    CAPTURE(round);
    CHECK(read(view.shape, view.bytes, {block(file, view)}) == expected(storage, view));
  }
}

TEST_CASE("views of many boxes are what a walk over their indices gives") {
  const test::Folder folder;
  const std::string storage = random_bytes(std::size_t{36} << 20);
  const auto file = std::make_shared<const InputFile>(folder.write("s", storage));
  const Case cases[] = {
      {.shape = {1600, 1500}, .strides = {1, 1600}},              // transposed, 9.6 MB
      {.shape = {3, 1000, 800}, .strides = {1, 2400, 3}},         // permuted
      {.shape = {2'200'000}, .strides = {2}},                     // every other one, one dimension
      {.shape = {40}, .strides = {200'000}},                      // far from each other
      {.shape = {3, 750'000}, .strides = {0, 1}, .offset = 3},    // expanded
      {.shape = {10, 220, 1000}, .strides = {800'000, 1000, 1}},  // rows of slices
      {.shape = {2'150'000}, .strides = {4}},                     // a column of four, 34 MB
      {.shape = {1'000, 2'001}, .strides = {8'400, 4}},           // runs of rows with gaps
      {.shape = {2, 600'001}, .strides = {600'001, 1}, .bytes = 8},
  };
  for (const Case& view : cases) {
    CAPTURE(view.shape);
    CHECK((read(view.shape, view.bytes, {block(file, view)}) == expected(storage, view)));
  }
}

/// Returns the number of this process's calls of read(2) and similar functions, as Linux counts
/// them.
std::uint64_t calls_of_read() {
  std::istringstream counts(test::slurp("/proc/self/io"));
  std::string name;
  std::uint64_t count = 0;
  while (counts >> name >> count) {
    if (name == "syscr:") return count;
  }
  FAIL("the system does not count calls of read");
  return 0;
}

TEST_CASE("a column is read in windows, and what lies far apart one by one") {
  const test::Folder folder;
  const std::string path = folder.write("s", "");
  std::filesystem::resize_file(path, std::uint64_t{64} << 20);  // zeros that take no room
  const auto file = std::make_shared<const InputFile>(path);
  const auto calls = [&](const Case& view) {
    const std::uint64_t before = calls_of_read();
    CHECK(read(view.shape, 4, {block(file, view)}).size() == product(view.shape) * 4);
    return calls_of_read() - before;
  };
  CHECK(calls({.shape = {4 << 20}, .strides = {4}}) < 100);
  CHECK(calls({.shape = {1 << 18}, .strides = {64}}) < 100);
  const std::uint64_t far = calls({.shape = {64}, .strides = {1 << 18}});
  CHECK(far >= 128);  // two readings
  CHECK(far < 228);
}

TEST_CASE("blocks of several files are one tensor") {
  const test::Folder folder;
  const std::string storage = random_bytes(5 * 7 * 4);
  StridedFile::Blocks blocks;
  std::string bytes;
  for (const auto& [first, last] : {std::pair{0U, 2U}, {2U, 3U}, {3U, 7U}}) {  // columns
    bytes.clear();
    for (std::size_t row = 0; row < 5; ++row) {
      bytes += storage.substr((row * 7 + first) * 4, (last - first) * 4);
    }
    const auto file = std::make_shared<const InputFile>(folder.write(std::to_string(first), bytes));
    blocks.push_back({.file = file,
                      .begin = 0,
                      .offsets = {0, first},
                      .sizes = {5, last - first},
                      .strides = {(last - first) * 4, 4}});
  }
  CHECK(read({5, 7}, 4, blocks) == storage);
}

TEST_CASE("a file that changes between reads is an error") {
  const test::Folder folder;
  const auto file = std::make_shared<const InputFile>(folder.write("s", std::string(64, 'x')));
  const Case view{.shape = {4, 4}, .strides = {1, 4}};
  const StridedBlock views = block(file, view);
  CHECK(read(view.shape, 4, {views}).size() == 64);
  folder.write("s", std::string(80, 'x'));
  CHECK(test::has(test::error_of([&] { read(view.shape, 4, {views}); }),
                  "changed while it was read"));
}

}  // namespace
}  // namespace binade::strided_test

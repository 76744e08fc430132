// SPDX-License-Identifier: Apache-2.0
//
// The files of NpyWriter, byte by byte.
#include "lib/io/npy_writer.h"

#include <doctest/doctest.h>

#include "tests/lib/io/files.h"

namespace binade::npy_writer_test {
namespace {

using test::error_of;
using test::has;
using test::slurp;
using Shape = std::vector<std::uint64_t>;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string written(const test::Folder& folder, const Dtype& dtype, const Shape& shape,
                    std::string_view data, bool fortran = false) {
  NpyWriter writer(folder / "a.npy", dtype, shape, fortran);
  writer.write(bytes_of(data));
  writer.finish();
  return slurp(folder / "a.npy");
}

TEST_CASE("the header is NumPy's own, byte by byte") {
  const test::Folder folder;
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }";
  const std::string expected = "\x93NUMPY" + test::little(1, 2) + test::little(118, 2) + dict +
                               std::string(117 - dict.size(), ' ') + "\n" + "abcdefgh";
  CHECK(written(folder, *find_dtype("F32"), {2, 1}, "abcdefgh") == expected);
}

TEST_CASE("data begin at a multiple of 64 and every type and shape reads back") {
  const test::Folder folder;
  for (const Dtype& dtype : dtypes()) {
    if (dtype.kind == DtypeKind::packed) continue;
    for (const Shape& shape :
         {Shape{}, {0}, {3}, {2, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}) {
      for (const bool fortran : {false, true}) {
        CAPTURE(dtype.name);
        const std::uint64_t size = extent(shape, dtype)->bytes;
        const std::string data = std::string(
                                     "0123456789abcdef0123456789abcdef0123456789abcdef"
                                     "0123456789abcdef0123456789abcdef0123456789abcdef")
                                     .substr(0, size);
        const std::string bytes = written(folder, dtype, shape, data, fortran);
        CHECK((bytes.size() - size) % 64 == 0);
        const auto file = open_tensor_file(folder / "a.npy", {.dtype = dtype});
        CHECK(file->tensors()[0].dtype == dtype);
        CHECK(file->tensors()[0].shape == shape);
        CHECK(file->tensors()[0].fortran_order == fortran);
        CHECK(test::contents(*file, 0) == data);
      }
    }
  }
}

TEST_CASE("types without a name in NumPy become raw ones as ml_dtypes saves them") {
  const test::Folder folder;
  CHECK(has(written(folder, *find_dtype("BF16"), {1}, "ab"), "'descr': '<V2'"));
  CHECK(has(written(folder, *find_dtype("F8_E4M3"), {1}, "a"), "'descr': '|V1'"));
}

TEST_CASE("too many or too few data leave no file") {
  const test::Folder folder;
  CHECK(has(error_of([&] { written(folder, *find_dtype("F32"), {2}, "abcd"); }), "fewer data"));
  CHECK(has(error_of([&] { written(folder, *find_dtype("F32"), {1}, "abcde"); }), "more data"));
  CHECK(folder.count() == 0);
}

TEST_CASE("what .npy cannot hold is an error") {
  const test::Folder folder;
  CHECK(has(error_of([&] { written(folder, *find_dtype("F4"), {2}, "a"); }), "cannot hold"));
  CHECK(
      has(error_of([&] { written(folder, *find_dtype("F32"), {1ULL << 62}, ""); }), "cannot hold"));
  CHECK(has(error_of([&] { written(folder, *find_dtype("U8"), Shape(30000, 1), "a"); }),
            "cannot hold"));
}

}  // namespace
}  // namespace binade::npy_writer_test

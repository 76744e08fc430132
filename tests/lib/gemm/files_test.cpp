// SPDX-License-Identifier: Apache-2.0
//
// Matrices from files: bits and values, names within a file, layouts, and what is refused for which
// reason.
#include "lib/gemm/files.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <tuple>

#include "lib/gemm/named_gemm.h"
#include "lib/io/npy_writer.h"
#include "lib/io/safetensors_writer.h"
#include "lib/io/tensor_file.h"
#include "tests/lib/text/error_of.h"

namespace binade::files_test {
namespace {

namespace fs = std::filesystem;

/// A folder of its own for each test, gone at the end.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("binade_files_test_" + std::to_string(getpid()));

  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const char* name) const { return (path / name).string(); }
};

std::vector<std::byte> bytes_of(const std::vector<std::uint64_t>& codes, std::size_t width) {
  std::vector<std::byte> out(codes.size() * width);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<std::byte>(codes[i / width] >> (8 * (i % width)));
  }
  return out;
}

void write_npy(const std::string& path, const char* dtype, const std::vector<std::uint64_t>& shape,
               const std::vector<std::uint64_t>& codes, bool fortran = false) {
  const Dtype type = *find_dtype(dtype);
  NpyWriter writer(path, type, shape, fortran);
  writer.write(bytes_of(codes, type.bits / 8));
  writer.finish();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

GemmModel f16_model() { return parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 90).model; }

TEST_CASE("a dot runs along a's rows and b's columns, however the files lie") {
  const Folder folder;
  // A = [[1, 2, 3], [4, 5, 6]], B = [[1, 2], [3, 4], [5, 6]]
  const std::vector<std::uint64_t> a{0x3C00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600};
  const std::vector<std::uint64_t> by_columns{0x3C00, 0x4200, 0x4500, 0x4000, 0x4400, 0x4600};
  write_npy(folder / "a.npy", "F16", {2, 3}, a);
  write_npy(folder / "at.npy", "F16", {3, 2}, {0x3C00, 0x4400, 0x4000, 0x4500, 0x4200, 0x4600});
  write_npy(folder / "b.npy", "F16", {3, 2}, a);
  write_npy(folder / "bits.npy", "U16", {3, 2}, a);
  write_npy(folder / "bt.npy", "F16", {2, 3}, by_columns);
  write_npy(folder / "fortran.npy", "F16", {3, 2}, by_columns, true);
  const auto read = [&](const GemmFiles& files) {
    GemmModel model = f16_model();
    const GemmOperands x = read_operands(files, model);
    CHECK(x.m == 2);
    CHECK(x.n == 2);
    CHECK(x.k == 3);
    CHECK(x.a == a);
    CHECK(x.b == by_columns);
    CHECK(x.c.empty());
  };
  read({.a = folder / "a.npy", .b = folder / "b.npy"});
  read({.a = folder / "a.npy", .b = folder / "bits.npy"});
  read({.a = folder / "at.npy", .b = folder / "b.npy", .transposed_a = true});
  read({.a = folder / "a.npy", .b = folder / "bt.npy", .transposed_b = true});
  read({.a = folder / "a.npy", .b = folder / "fortran.npy"});
}

TEST_CASE("values of another dtype count where they are numbers of the format, or are rounded") {
  const Folder folder;
  write_npy(folder / "exact.npy", "F32", {1, 2}, {0x3F800000, 0x33800000});    // 1, 2^-24
  write_npy(folder / "inexact.npy", "F32", {1, 2}, {0x3F800000, 0x3F801000});  // 1 + 2^-11
  CHECK(read_array(folder / "exact.npy", binary16, {"A"}).elements ==
        std::vector<std::uint64_t>{0x3C00, 0x0001});
  const std::string why =
      test::error_of([&] { read_array(folder / "inexact.npy", binary16, {"A"}); });
  CHECK(contains(why, "element 1 is 1.00048828125, no number of binary16; --round"));
  CHECK(read_array(folder / "inexact.npy", binary16, {"A", Rounding::ties_to_even}).elements ==
        std::vector<std::uint64_t>{0x3C00, 0x3C00});
  CHECK(read_array(folder / "inexact.npy", tf32, {"A"}).elements ==
        std::vector<std::uint64_t>{0x3F800000, 0x3F801000});
  CHECK(contains(test::error_of([&] { read_array(folder / "exact.npy", s8, {"A"}); }),
                 "dtype F32; A takes bits of s8 (uint8)"));
  write_npy(folder / "wide.npy", "U32", {1, 1}, {1});
  CHECK(contains(test::error_of([&] { read_array(folder / "wide.npy", binary16, {"A"}); }),
                 "dtype U32; A takes F16, bits of binary16 (uint16)"));
}

TEST_CASE("a tensor among several is named after a colon") {
  const Folder folder;
  const std::string path = folder / "two.safetensors";
  const std::array specs{TensorSpec{"x", *find_dtype("BF16"), {1, 1}},
                         TensorSpec{"layer:1", *find_dtype("BF16"), {1, 1}}};
  SafetensorsWriter writer(path, specs);
  writer.write(bytes_of({0x3F80, 0x4000}, 2));
  writer.finish();
  CHECK(read_array(path + ":x", bfloat16, {"A"}).elements[0] == 0x3F80);
  CHECK(read_array(path + ":layer:1", bfloat16, {"A"}).elements[0] == 0x4000);
  CHECK(named_format(path + ":x") == bfloat16);
  CHECK(contains(test::error_of([&] { read_array(path, bfloat16, {"A"}); }),
                 "2 tensors; name one, as"));
  CHECK(contains(test::error_of([&] { read_array(path + ":y", bfloat16, {"A"}); }),
                 "no tensor 'y'; there is 'x' and others"));
  CHECK(contains(test::error_of([&] { read_array(folder / "none.npy", bfloat16, {"A"}); }),
                 "none.npy"));
}

TEST_CASE("shapes that do not fit together are named") {
  const Folder folder;
  const std::vector<std::uint64_t> six(6, 0x3C00);
  write_npy(folder / "23.npy", "F16", {2, 3}, six);
  write_npy(folder / "32.npy", "F16", {3, 2}, six);
  write_npy(folder / "6.npy", "F16", {6}, six);
  write_npy(folder / "03.npy", "F16", {0, 3}, {});
  write_npy(folder / "22.npy", "F32", {2, 2}, {0, 0, 0, 0});
  const auto read = [&](GemmFiles files) {
    GemmModel model = f16_model();
    files.a = folder / files.a.c_str();
    files.b = folder / files.b.c_str();
    if (files.c) files.c = folder / files.c->c_str();
    if (files.bias) files.bias = folder / files.bias->c_str();
    return test::error_of([&] { read_operands(files, model); });
  };
  CHECK(read({.a = "23.npy", .b = "32.npy", .c = "22.npy"}).empty());
  CHECK(contains(read({.a = "23.npy", .b = "23.npy"}), "K is 2; A's is 3"));
  CHECK(contains(read({.a = "6.npy", .b = "32.npy"}), "shape (6,); A is a matrix"));
  CHECK(contains(read({.a = "03.npy", .b = "32.npy"}), "nothing to multiply"));
  CHECK(contains(read({.a = "23.npy", .b = "32.npy", .c = "23.npy"}),
                 "shape (2, 3); C is of shape (2, 2) here"));
  CHECK(contains(read({.a = "23.npy", .b = "32.npy", .bias = "6.npy"}),
                 "shape (6,); the bias is of shape (2,) here"));
}

TEST_CASE("the result is read back as it was written, in its own dtype") {
  const Folder folder;
  GemmModel model = f16_model();
  GemmOperands x{1, 2, 1, {0}, {0, 0}, {}, {}};
  for (const auto& [format, dtype, codes] :
       {std::tuple{binary32, "F32", std::vector<std::uint64_t>{0x3F800000, 0xFF800000}},
        std::tuple{binary16, "F16", std::vector<std::uint64_t>{0x3C00, 0x7C00}},
        std::tuple{bfloat16, "BF16", std::vector<std::uint64_t>{0x3F80, 0x7F80}},
        std::tuple{e4m3, "F8_E4M3", std::vector<std::uint64_t>{0x38, 0xFE}}}) {
    model.epilogue.out = format;
    for (const char* name : {"d.npy", "d.safetensors"}) {
      CAPTURE(name);
      const std::string path = folder / name;
      write_result(path, model, x, codes, {{"binade.instruction", "mma"}});
      CHECK(read_result(path, model, x) == codes);
    }
    CHECK(open_tensor_file(folder / "d.safetensors")->tensors()[0].dtype.name == dtype);
  }
  CHECK(contains(test::error_of([&] { check_result_name("d.txt"); }),
                 "name it .npy or .safetensors"));
}

}  // namespace
}  // namespace binade::files_test

// SPDX-License-Identifier: Apache-2.0
//
// Dot products from files: shapes, dtypes and padding, and every file that does not fit.
#include "lib/gemm/dot_files.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "lib/instruction/instruction_name.h"
#include "lib/text/error.h"
#include "lib/validate/dots.h"
#include "tests/lib/io/files.h"

namespace binade::dot_files_test {
namespace {

using test::has;

const Instruction how = parse_instruction("mma.m16n8k16.f32.f16.f16.f32", 90);

struct File {
  const char* dtype;
  const char* shape;
  std::string data;
  bool fortran = false;
};

/// The four files of two rows, 1 · 2 + 3 · 4 + 0.5 and 0 + 1: written, read.
struct Files {
  File a{"<u2", "(2, 2)", test::little({0x3C00, 0x4200, 0, 0}, 2)};
  File b{"<u2", "(2, 2)", test::little({0x4000, 0x4400, 0, 0}, 2)};
  File c{"<u4", "(2,)", test::little({0x3F000000, 0x3F800000}, 4)};
  File d{"<u4", "(2,)", test::little({0x41680000, 0x3F800000}, 4)};
  bool with_c = true;

  Dots read(const Instruction& instruction = how) const {
    const test::Folder folder;
    const auto write = [&](const char* name, const File& file) {
      return folder.write(name,
                          test::npy(test::dict(file.dtype, file.shape, file.fortran), file.data));
    };
    DotFiles files{write("a.npy", a), write("b.npy", b), write("d.npy", d)};
    if (with_c) files.c = write("c.npy", c);
    return read_dots(files, instruction);
  }

  std::string complaint(const Instruction& instruction = how) const {
    try {
      read(instruction);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
};

}  // namespace

TEST_CASE("bits, padded with +0 to the instruction's k") {
  const Dots dots = Files().read();
  REQUIRE(dots.a.size() == 32);
  CHECK(dots.a[0] == 0x3C00);
  CHECK(dots.a[1] == 0x4200);
  CHECK(std::vector<std::uint64_t>(dots.a.begin() + 2, dots.a.end()) ==
        std::vector<std::uint64_t>(30));
  CHECK(dots.b[1] == 0x4400);
  CHECK(dots.c == std::vector<std::uint64_t>{0x3F000000, 0x3F800000});
  CHECK(check_dots(dots, how, 5).different == 0);
}

TEST_CASE("the dtype itself, columns of shape (rows, 1), and no c") {
  Files files;
  files.a.dtype = files.b.dtype = "<f2";
  files.c.dtype = files.d.dtype = "<f4";
  files.c.shape = files.d.shape = "(2, 1)";
  CHECK(check_dots(files.read(), how, 5).different == 0);
  files.with_c = false;
  const Dots dots = files.read();
  CHECK(dots.c == std::vector<std::uint64_t>(2));
  CHECK(check_dots(dots, how, 5).different == 2);
}

TEST_CASE("files that do not fit") {
  const auto with = [](auto&& change) {
    Files files;
    change(files);
    return files.complaint();
  };
  CHECK(has(with([](Files& x) { x.a.dtype = "<i8", x.a.shape = "(1, 1)"; }),
            "a.npy: dtype I64; --a takes F16, bits of binary16 (uint16)"));
  CHECK(has(with([](Files& x) { x.b.dtype = "|u1", x.b.shape = "(2, 4)"; }),
            "--b takes F16, bits of"));
  CHECK(has(with([](Files& x) { x.d.dtype = "<u8", x.d.shape = "(1,)"; }),
            "d.npy: dtype U64; --d takes F32, bits of binary32 (uint32)"));
  CHECK(has(with([](Files& x) { x.c.dtype = "<u2", x.c.shape = "(4,)"; }), "c.npy: dtype U16"));
  CHECK(has(with([](Files& x) { x.a.shape = "(4,)"; }),
            "a.npy: shape (4,); --a is of shape (rows, K), K at most 16"));
  CHECK(has(with([](Files& x) { x.a.shape = "(1, 2, 2)"; }), "shape (1, 2, 2)"));
  CHECK(has(with([](Files& x) { x.a.shape = "(4, 1)"; }), "a.npy: 4 rows; "));
  CHECK(has(with([](Files& x) { x.b.shape = "(1, 4)"; }), "b.npy: 1 rows; "));
  CHECK(has(with([](Files& x) { x.d.shape = "(1, 2)"; }), "--d is of shape (rows,)"));
  CHECK(has(with([](Files& x) {
              x.c.shape = "(1,)";
              x.c.data.resize(4);
            }),
            "c.npy: 1 rows; "));
  CHECK(has(with([](Files& x) {
              x.a.shape = "(2, 17)";
              x.a.data.resize(68);
            }),
            "shape (2, 17); --a is of shape (rows, K), K at most 16 for this instruction"));
  CHECK(has(with([](Files& x) {
              for (File* file : {&x.a, &x.b}) file->shape = "(0, 2)";
              for (File* file : {&x.c, &x.d}) file->shape = "(0,)";
              for (File* file : {&x.a, &x.b, &x.c, &x.d}) file->data.clear();
            }),
            "d.npy: no rows; there is nothing to compare"));
  CHECK(has(with([](Files& x) { x.d.data.pop_back(); }), "d.npy: "));
}

TEST_CASE("an archive of one array will do, of several not") {
  const test::Folder folder;
  Files files;
  const std::string d = folder.write(
      "d.safetensors",
      test::safetensors(R"({"d":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", files.d.data));
  const std::string two = folder.write(
      "two.safetensors", test::safetensors(R"({"d":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},
                            "e":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                                           files.d.data));
  const std::string a = folder.write("a.npy", test::npy(test::dict("<u2", "(2, 2)"), files.a.data));
  const std::string b = folder.write("b.npy", test::npy(test::dict("<u2", "(2, 2)"), files.b.data));
  CHECK(read_dots({a, b, d}, how).d[0] == 0x41680000);
  std::string said;
  try {
    read_dots({a, b, two}, how);
  } catch (const Error& error) {
    said = error.what();
  }
  CHECK(has(said, "two.safetensors: 2 tensors; name one, as "));
}

TEST_CASE("an array in Fortran order has the same rows") {
  Files files;
  files.a.fortran = files.b.fortran = true;
  for (File* file :
       {&files.a, &files.b}) {  // the second row's first element before the first's second
    for (std::size_t i = 0; i < 2; ++i) std::swap(file->data[2 + i], file->data[4 + i]);
  }
  CHECK(files.read().a == Files().read().a);
  CHECK(files.read().b == Files().read().b);
}

}  // namespace binade::dot_files_test

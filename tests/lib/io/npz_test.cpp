// SPDX-License-Identifier: Apache-2.0
//
// .npz archives made by hand: stored, deflated, zip64, and one case for each field that can be
// wrong.
#include "lib/io/npz.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include "tests/lib/io/files.h"

namespace binade::npz_test {
namespace {

using test::contents;
using test::dict;
using test::error_of_reading;
using test::has;
using test::Member;
using test::npy;
using test::zip;

const std::string bytes_npy = npy(dict("|u1", "(8,)"), "abcdefgh");

std::string reading(const test::Folder& folder, const std::string& bytes) {
  return error_of_reading(folder.write("a.npz", bytes));
}

TEST_CASE("stored and deflated members are read and named without .npy") {
  const test::Folder folder;
  for (const bool deflate : {false, true}) {
    for (const bool zip64 : {false, true}) {
      CAPTURE(deflate);
      CAPTURE(zip64);
      const std::string archive =
          zip({{.name = "w.npy", .contents = bytes_npy, .deflate = deflate, .zip64 = zip64},
               {.name = "g/b.npy",
                .contents = npy(dict(">f2", "(2,)", true), "abcd"),
                .deflate = deflate,
                .zip64 = zip64}},
              {.zip64 = zip64});
      const auto file = open_tensor_file(folder.write("a.npz", archive));
      REQUIRE(file->tensors().size() == 2);
      CHECK(file->tensors()[0].name == "w");
      CHECK(contents(*file, 0) == "abcdefgh");
      CHECK(file->tensors()[1].name == "g/b");
      CHECK(file->tensors()[1].fortran_order);
      CHECK(contents(*file, 1) == "badc");
    }
  }
}

TEST_CASE("an archive may be empty, have a comment, folders and empty arrays") {
  const test::Folder folder;
  CHECK(reading(folder, zip({})) == "");
  CHECK(reading(folder, zip({{.name = "w.npy", .contents = bytes_npy}}, {.comment = "PK\5\6"})) ==
        "");
  const auto file = open_tensor_file(folder.write(
      "a.npz",
      zip({{.name = "g/", .contents = ""},
           {.name = "g/e.npy", .contents = npy(dict("<f4", "(0,)"), ""), .deflate = true}})));
  REQUIRE(file->tensors().size() == 1);
  CHECK(file->tensors()[0].elements == 0);
  CHECK(contents(*file, 0) == "");
}

TEST_CASE("--dtype reaches the members") {
  const test::Folder folder;
  const std::string path =
      folder.write("a.npz", zip({{.name = "w.npy", .contents = npy(dict("<V2", "(2,)"), "abcd")}}));
  CHECK(has(error_of_reading(path), "a.npz[w.npy]: element type '<V2' is raw bytes"));
  const auto file = open_tensor_file(path, {.dtype = find_dtype("BF16")});
  CHECK(file->tensors()[0].dtype.name == "BF16");
}

TEST_CASE("large members come whole, in pieces of at most 4 MiB and of whole elements") {
  const test::Folder folder;
  constexpr std::size_t count = (std::size_t{9} << 20) / 8 + 1;
  std::string data;
  for (std::size_t i = 0; i < count; ++i) data += test::little(i * 0x9E3779B97F4A7C15U, 8);
  const std::string shape = "(" + std::to_string(count) + ",)";
  for (const bool deflate : {false, true}) {
    CAPTURE(deflate);
    const auto file = open_tensor_file(folder.write(
        "a.npz",
        zip({{.name = "w.npy", .contents = npy(dict("<f8", shape), data), .deflate = deflate}})));
    std::string got;
    file->read(0, [&](std::span<const std::byte> part) {
      CHECK(part.size() <= std::size_t{4} << 20);
      CHECK(part.size() % 8 == 0);
      got.append(reinterpret_cast<const char*>(part.data()), part.size());
    });
    CHECK((got == data));
  }
}

TEST_CASE("every lie of a member is an error that names it") {
  const test::Folder folder;
  struct Lie {
    Member member;
    std::string message;
  };
  const Member stored = {.name = "w.npy", .contents = bytes_npy};
  const Member packed = {.name = "w.npy", .contents = bytes_npy, .deflate = true};
  std::vector<Lie> lies;
  const auto lie = [&](Member member, const std::string& message) -> Member& {
    lies.push_back({std::move(member), message});
    return lies.back().member;
  };
  lie(stored, "checksum").crc = 1;
  lie(packed, "checksum").crc = 1;
  lie(stored, "impossible size").size = bytes_npy.size() + 1;
  lie(stored, "impossible size").size = bytes_npy.size() - 1;
  lie(packed, "the header promises 8 bytes").size = bytes_npy.size() + 1;
  lie(packed, "the header promises 8 bytes").size = bytes_npy.size() - 1;
  lie(packed, "truncated header").size = 20;
  lie(packed, "truncated header").size = 7;
  lie(packed, "not a .npy").size = 0;
  lie(packed, "impossible size").size = 1'000'000;
  lie(packed, "encrypted").flags = 1;
  lie(packed, "unknown flags").flags = 0x20;
  lie(packed, "is packed by method 12, neither stored nor deflated").method = 12;
  lie(packed, "do not inflate").packed = "\xff\xff\xff\xff";
  lie(packed, "cut off").packed = test::deflated(bytes_npy).substr(0, 30);
  lie(packed, "cut off").packed = test::deflated(bytes_npy, Z_FULL_FLUSH);
  lie(packed, "bytes after").packed = test::deflated(bytes_npy) + "x";
  lie(packed, "go on").packed = test::deflated(bytes_npy + "x");
  lie(packed, "data end").packed = test::deflated(bytes_npy.substr(0, bytes_npy.size() - 1));
  lie(stored, "not what the directory says").local_name = "v.npy";
  lie(stored, "not what the directory says").local_method = 8;
  lie(stored, "not what the directory says").header = 1;
  lie(stored, "cut off").header = 1'000'000;
  lie({.name = "data.pkl", .contents = "x"}, "'data.pkl' is no .npy");
  lie({.name = "w.npy", .contents = "x"}, "not a .npy");
  lie({.name = "w.npy", .contents = bytes_npy + "x"}, "the header promises 8 bytes");
  lie({.name = "w\n.npy", .contents = "x"}, "w\\x0a.npy");
  for (const Lie& told : lies) {
    const std::string got = reading(folder, zip({told.member}));
    CAPTURE(told.message);
    CAPTURE(got);
    CHECK(has(got, told.message));
    CHECK_FALSE(has(got, "\n"));
  }
}

TEST_CASE("a directory that lies about itself is an error") {
  const test::Folder folder;
  const std::vector<Member> members = {{.name = "w.npy", .contents = bytes_npy}};
  for (const bool zip64 : {false, true}) {
    CAPTURE(zip64);
    CHECK(reading(folder, zip(members, {.zip64 = zip64})) == "");
    CHECK(has(reading(folder, zip(members, {.count = 0, .zip64 = zip64})),
              "longer than its entries"));
    CHECK(has(reading(folder, zip(members, {.count = 2, .zip64 = zip64})), "absurd count"));
    CHECK(has(reading(folder, zip(members, {.directory_size = 80, .zip64 = zip64})), "wrong size"));
    CHECK(has(reading(folder, zip(members, {.disk = 1, .zip64 = zip64})), "several parts"));
  }
  CHECK(has(reading(folder, zip(members, {.count = ~0ULL, .zip64 = true})), "absurd count"));
  CHECK(has(reading(folder, zip(members) + "x"), "no end of the zip directory"));
  CHECK(reading(folder, zip(members).substr(1)) != "");
}

TEST_CASE("members that overlap each other or the directory are errors") {
  const test::Folder folder;
  const Member whole = {.name = "w.npy", .contents = bytes_npy};
  Member inside = whole;
  inside.header = 0;
  CHECK(has(reading(folder, zip({whole, inside})), "overlaps"));
  Member long_tail = {.name = "w.npy", .contents = npy(dict("|u1", "(20,)"), "abcdefgh")};
  long_tail.size = long_tail.packed_size = long_tail.contents.size() + 12;
  CHECK(has(reading(folder, zip({long_tail})), "overlaps the directory"));
  // The second member lies inside the data of the first: the bomb of D. Fifield (2019).
  const Member kernel = {.name = "k.npy", .contents = bytes_npy};
  const std::string local = zip({kernel}).substr(0, 30 + 5 + bytes_npy.size());
  Member quoting = {.name = "q.npy", .contents = local};
  Member quoted = kernel;
  quoted.header = 30 + 5;
  CHECK(has(reading(folder, zip({quoting, quoted})), "overlaps"));
}

TEST_CASE("two members of one name are an error") {
  const test::Folder folder;
  const Member member = {.name = "w.npy", .contents = bytes_npy};
  CHECK(has(reading(folder, zip({member, member})), "there twice"));
}

long peak_kib() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST_CASE("a zip bomb of 1 GiB costs neither memory nor, if it is a lie, time") {
  const test::Folder folder;
  constexpr std::uint64_t zeros = std::uint64_t{1} << 30;
  constexpr std::uint64_t block = std::uint64_t{1} << 20;
  const std::string zero_block(block, '\0');
  const std::string packed_block = test::deflated(zero_block, Z_FULL_FLUSH);
  const uLong block_crc = test::crc_of(zero_block);
  const auto bomb = [&](const std::string& header) {
    std::string packed = test::deflated(header, Z_FULL_FLUSH);
    uLong crc = test::crc_of(header);
    for (std::uint64_t i = 0; i < zeros / block; ++i) {
      packed += packed_block;
      crc = crc32_combine(crc, block_crc, static_cast<z_off_t>(block));
    }
    return Member{.name = "w.npy",
                  .contents = "",
                  .deflate = true,
                  .packed = packed + test::deflated(""),
                  .size = header.size() + zeros,
                  .crc = crc};
  };
  const std::string small = npy(dict("<f4", "(2,)"), "");
  Member small_everywhere = bomb(small);
  small_everywhere.size = small.size() + 8;
  const Member small_header = bomb(small);
  const Member honest = bomb(npy(dict("<f4", "(" + std::to_string(zeros / 4) + ",)"), ""));
  const std::string files[] = {zip({small_everywhere}), zip({small_header}), zip({honest})};

  const long before = peak_kib();
  CHECK(has(reading(folder, files[0]), "go on"));
  CHECK(has(reading(folder, files[1]), "the header promises 8 bytes"));
  CHECK(reading(folder, files[2]) == "");
  CHECK(peak_kib() - before < 32 * 1024);
}

}  // namespace
}  // namespace binade::npz_test

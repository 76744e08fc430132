// SPDX-License-Identifier: Apache-2.0
//
// .npy files made by hand: every descr, both byte orders, both storage orders, and the bad ones.
#include "lib/io/npy.h"

#include <doctest/doctest.h>

#include "tests/lib/io/files.h"

namespace binade::npy_test {
namespace {

using test::contents;
using test::dict;
using test::error_of_reading;
using test::has;
using test::npy;
using namespace std::string_literals;

struct Case {
  std::string descr;
  std::string dtype;
  std::string bytes;  // of one element, as in the file
  std::string read;   // little-endian
};

TEST_CASE("every plain type is read, big-endian ones swapped") {
  const test::Folder folder;
  const std::vector<Case> cases = {
      {"<f4", "F32", "\x01\x02\x03\x04", "\x01\x02\x03\x04"},
      {"=f4", "F32", "\x01\x02\x03\x04", "\x01\x02\x03\x04"},
      {"f4", "F32", "\x01\x02\x03\x04", "\x01\x02\x03\x04"},
      {">f4", "F32", "\x01\x02\x03\x04", "\x04\x03\x02\x01"},
      {">f8", "F64", "12345678", "87654321"},
      {"<f8", "F64", "12345678", "12345678"},
      {"<f2", "F16", "\x01\x3c", "\x01\x3c"},
      {">f2", "F16", "\x3c\x01", "\x01\x3c"},
      {"|u1", "U8", "x", "x"},
      {"|i1", "I8", "x", "x"},
      {"|b1", "BOOL", "\x01", "\x01"},
      {">u2", "U16", "ab", "ba"},
      {">i4", "I32", "abcd", "dcba"},
      {"<i8", "I64", "12345678", "12345678"},
      {"<u4", "U32", "abcd", "abcd"},
      {"<u8", "U64", "12345678", "12345678"},
      {"<i2", "I16", "ab", "ab"},
      {"<c8", "C64", "12345678", "12345678"},
      {">c8", "C64", "12345678", "43218765"},
      {">c16", "C128", "12345678abcdefgh", "87654321hgfedcba"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.descr);
    const std::string twice = one.bytes + one.bytes;
    const auto file = open_tensor_file(folder.write("a.npy", npy(dict(one.descr, "(2,)"), twice)));
    REQUIRE(file->tensors().size() == 1);
    CHECK(file->tensors()[0].dtype.name == one.dtype);
    CHECK(file->tensors()[0].elements == 2);
    CHECK(contents(*file, 0) == one.read + one.read);
  }
}

TEST_CASE("the tensor is named by the file's stem") {
  const test::Folder folder;
  const auto file = open_tensor_file(folder.write("fc1.weight.npy", npy(dict("|u1", "(1,)"), "x")));
  CHECK(file->tensors()[0].name == "fc1.weight");
}

TEST_CASE("versions 1, 2 and 3 are read") {
  const test::Folder folder;
  for (const int major : {1, 2, 3}) {
    CAPTURE(major);
    const auto file =
        open_tensor_file(folder.write("a.npy", npy(dict("|u1", "(3,)"), "abc", major)));
    CHECK(contents(*file, 0) == "abc");
  }
}

TEST_CASE("both storage orders are reported, the data as they lie") {
  const test::Folder folder;
  for (const bool fortran : {false, true}) {
    const auto file =
        open_tensor_file(folder.write("a.npy", npy(dict("|u1", "(2, 3)", fortran), "abcdef")));
    CHECK(file->tensors()[0].fortran_order == fortran);
    CHECK(file->tensors()[0].shape == std::vector<std::uint64_t>{2, 3});
    CHECK(contents(*file, 0) == "abcdef");
  }
}

TEST_CASE("a scalar has one element and a zero side none") {
  const test::Folder folder;
  const auto scalar = open_tensor_file(folder.write("a.npy", npy(dict("<f4", "()"), "abcd")));
  CHECK(scalar->tensors()[0].shape.empty());
  CHECK(scalar->tensors()[0].elements == 1);
  const auto none = open_tensor_file(folder.write("b.npy", npy(dict("<f4", "(3, 0)"), "")));
  CHECK(none->tensors()[0].elements == 0);
  none->read(0, [](auto) { FAIL("an empty tensor has no chunk"); });
}

TEST_CASE("any spelling of the dict that Python allows is read") {
  const test::Folder folder;
  for (const char* text : {
           "{'descr': '|u1', 'fortran_order': False, 'shape': (3,)}",
           "{\"shape\":(3,),\"fortran_order\":False,\"descr\":\"|u1\"}\n",
           "  { 'shape' : ( 3L , ) , 'descr' : '|u1' ,\t'fortran_order' : False , }    \n",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 1,)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 3)}",
       }) {
    CAPTURE(text);
    CHECK(error_of_reading(folder.write("a.npy", npy(text, "abc"))) == "");
  }
}

TEST_CASE("a dict that is not exactly the format's is an error") {
  const test::Folder folder;
  for (const std::string& text : std::vector<std::string>{
           "",
           "{",
           "{}",
           "None",
           "{'descr': '|u1', 'fortran_order': False}",
           "{'descr': '|u1', 'shape': (3,)}",
           "{'fortran_order': False, 'shape': (3,)}",
           "{'descr': '|u1', 'fortran_order': 0, 'shape': (3,)}",
           "{'descr': '|u1', 'fortran_order': Falsehood, 'shape': (3,)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (3)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': 3}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': [3]}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (-3,)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (3.0,)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (3,}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (3 1)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (,)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (18446744073709551616,)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (3,)",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (3,)} x",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), 'more': 1}",
           "{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (3,)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), 'shape': (3,)}",
           "{'descr': '|u1', 'fortran_order': False, 'fortran_order': False, 'shape': (3,)}",
           "{'descr' '|u1', 'fortran_order': False, 'shape': (3,)}",
           "{'descr': '|u1' 'fortran_order': False, 'shape': (3,)}",
           "{'descr': '|u1, 'fortran_order': False, 'shape': (3,)}",
           "{'descr': '|\\x751', 'fortran_order': False, 'shape': (3,)}",
           "{'descr': '|u1\", 'fortran_order': False, 'shape': (3,)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (3,)\0}"s,
           "{'descr': '|u1', 'fortran_order': False, 'shape': (__import__('os'),)}",
       }) {
    CAPTURE(text);
    const std::string message = error_of_reading(folder.write("a.npy", npy(text, "abc")));
    CHECK(has(message, "at byte "));
    CHECK(has(message, "save the array again"));
  }
}

TEST_CASE("an error in the dict points at its byte") {
  const test::Folder folder;
  const std::string text = "{'descr': '|u1', 'fortran_order': Maybe, 'shape': (3,)}";
  const std::string message = error_of_reading(folder.write("a.npy", npy(text, "abc")));
  CHECK(has(message, "True or False expected at byte " + std::to_string(10 + text.find("Maybe"))));
}

TEST_CASE("types that binade cannot read say why") {
  const test::Folder folder;
  const auto reading = [&](const std::string& descr) {
    return error_of_reading(folder.write("a.npy", npy(dict(descr, "(1,)"), "abcdefgh")));
  };
  CHECK(has(reading("|O"), "pickle"));
  CHECK(has(reading("<U2"), "'<U2' is unknown"));
  CHECK(has(reading("|S8"), "'|S8' is unknown"));
  CHECK(has(reading("<M8[ns]"), "'<M8[ns]' is unknown"));
  CHECK(has(reading("<f16"), "unknown"));
  CHECK(has(reading("<f3"), "unknown"));
  CHECK(has(reading(""), "unknown"));
  CHECK(has(reading("<"), "unknown"));
  CHECK(has(reading("|V0"), "unknown"));
  CHECK(has(reading("f4 "), "unknown"));
  CHECK(has(reading("<f\n4"), "'<f\\x0a4'"));
  CHECK(has(reading("<f99999999999999999999999"), "unknown"));
  const std::string structured =
      "{'descr': [('a', '<f4'), ('b', '<f4')], 'fortran_order': False, 'shape': (1,)}";
  CHECK(has(error_of_reading(folder.write("a.npy", npy(structured, "abcdefgh"))), "structured"));
}

TEST_CASE("raw arrays need --dtype, and the error says so") {
  const test::Folder folder;
  const std::string raw2 = folder.write("a.npy", npy(dict("<V2", "(2,)"), "abcd"));
  CHECK(has(error_of_reading(raw2), "--dtype bfloat16"));
  const std::string raw1 = folder.write("b.npy", npy(dict("|V1", "(2,)"), "ab"));
  CHECK(has(error_of_reading(raw1), "--dtype float8_e4m3fn"));
  const std::string raw3 = folder.write("c.npy", npy(dict("|V3", "(2,)"), "abcdef"));
  CHECK(has(error_of_reading(raw3), "plain type"));
  CHECK(has(error_of_reading(raw2, {.dtype = find_dtype("F8_E5M2")}), "as wide as no F8_E5M2"));
}

TEST_CASE("--dtype says what raw and unsigned arrays of its width hold, and touches no other") {
  const test::Folder folder;
  struct Named {
    std::string descr;
    std::string dtype;
  };
  const std::vector<Named> cases = {
      {"<V2", "BF16"}, {"|V2", "BF16"}, {"<u2", "BF16"}, {"|u1", "U8"},
      {"<f2", "F16"},  {"<i2", "I16"},  {"<f4", "F32"},
  };
  for (const Named& one : cases) {
    CAPTURE(one.descr);
    const std::uint64_t bytes = find_dtype(one.dtype)->bits / 8;
    const std::string path =
        folder.write("a.npy", npy(dict(one.descr, "(1,)"), std::string(bytes, 'x')));
    const auto file = open_tensor_file(path, {.dtype = find_dtype("BF16")});
    CHECK(file->tensors()[0].dtype.name == one.dtype);
  }
  const std::string path = folder.write("b.npy", npy(dict("|V1", "(2,)"), "ab"));
  const auto file = open_tensor_file(path, {.dtype = find_dtype("F8_E4M3")});
  CHECK(file->tensors()[0].dtype.format == "e4m3");
  CHECK(contents(*file, 0) == "ab");
}

TEST_CASE("the type f1 is what ml_dtypes makes of float8_e5m2, whatever --dtype says") {
  const test::Folder folder;
  const std::string path = folder.write("a.npy", npy(dict("<f1", "(2,)"), "ab"));
  for (const OpenOptions& options : {OpenOptions{}, OpenOptions{.dtype = find_dtype("F8_E4M3")}}) {
    const auto file = open_tensor_file(path, options);
    CHECK(file->tensors()[0].dtype.name == "F8_E5M2");
    CHECK(contents(*file, 0) == "ab");
  }
}

TEST_CASE("data shorter or longer than promised are an error with the offset") {
  const test::Folder folder;
  const std::string whole = npy(dict("<f4", "(2,)"), "12345678");
  const std::string shorter =
      error_of_reading(folder.write("a.npy", whole.substr(0, whole.size() - 1)));
  CHECK(has(shorter, "truncated at byte " + std::to_string(whole.size() - 1)));
  CHECK(has(shorter, "promises 8 bytes"));
  const std::string longer = error_of_reading(folder.write("a.npy", whole + "x"));
  CHECK(has(longer, "surplus bytes at byte " + std::to_string(whole.size())));
}

TEST_CASE("headers with absurd lengths, shapes or versions are errors") {
  const test::Folder folder;
  const auto reading = [&](const std::string& bytes) {
    return error_of_reading(folder.write("a.npy", bytes));
  };
  CHECK(has(reading("\x93NUMPY" + test::little(2, 2) + test::little(0xFFFFFFFF, 4) + "{}"),
            "absurd header"));
  CHECK(has(reading("\x93NUMPY" + test::little(1, 2) + test::little(5000, 2) + "{}"),
            "truncated header"));
  CHECK(has(reading(npy(dict("|u1", "(1,)"), "x", 4)), "version 4"));
  CHECK(has(reading(npy(dict("|u1", "(1,)"), "x", 0)), "version 0"));
  CHECK(has(reading(npy(dict("<f8", "(4294967296, 4294967296)"), "")), "impossible shape"));
  CHECK(has(reading(npy(dict("<f8", "(2305843009213693952,)"), "")), "impossible shape"));
}

TEST_CASE("swapping works across the 4 MiB pieces") {
  const test::Folder folder;
  constexpr std::size_t count = (std::size_t{1} << 20) + 5;
  std::string big;
  std::string small;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string word = test::little(i * 2654435761U, 4);
    small += word;
    big.append(word.rbegin(), word.rend());
  }
  const std::string shape = "(" + std::to_string(count) + ",)";
  const auto file = open_tensor_file(folder.write("a.npy", npy(dict(">f4", shape), big)));
  CHECK((contents(*file, 0) == small));
}

}  // namespace
}  // namespace binade::npy_test

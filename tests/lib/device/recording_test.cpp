// SPDX-License-Identifier: Apache-2.0
//
// Recordings: what is written is read back, inputs are left out only where the generator makes them
// again, and every spoiled file is refused with its name, what is wrong and what to do.
#include "lib/device/recording.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/cases/dot_cases.h"
#include "lib/device/emulated_device.h"
#include "lib/device/row_plan.h"
#include "lib/instruction/instruction_name.h"
#include "lib/io/safetensors.h"
#include "tests/lib/device/spoiled_recording.h"

namespace binade::recording_test {
namespace {

using test::error_of;
using test::has;

const std::string name = "mma.m16n8k16.f32.f16.f16.f32";
const Instruction how = parse_instruction(name, 90);
const char* const nvf4 =
    "mma.m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3";

Dots recorded(const std::string& generator, std::uint64_t rows, const Instruction& x = how) {
  const RowPlan plan{{&parse_dot_generator(generator), rows}};
  Dots dots = make_rows(plan, x, 5);
  EmulatedDevice device(x.sm);
  CHECK(!run_rows(device, plan, x, dots));
  return dots;
}

RecordingInfo info_of(const std::string& generator) {
  RecordingInfo out;
  out.gpu = "a GPU";
  out.instruction = name;
  out.architecture = "sm_90";
  out.generator = generator;
  out.seed = 5;
  return out;
}

bool same(const Dots& x, const Dots& y) {
  return std::ranges::all_of(dot_parts, [&](const auto part) { return x.*part == y.*part; });
}

std::size_t tensors_of(const std::string& path) { return open_safetensors(path)->tensors().size(); }

/// A recording of one row as text: 1 · 1 + 0 and zeros, of binary16 to binary32; then spoiled.
struct Spoiled : test::SpoiledRecording {
  Spoiled() {
    metadata = {
        {"gpu", "g"},        {"driver", "1"},       {"cuda", "13"},
        {"ptx", "p"},        {"sass", "s"},         {"generator", "unknown"},
        {"seed", "unknown"}, {"rows", "1"},         {"input_hash", "04c7a05f5e911ef5"},
        {"date", "today"},   {"instruction", name}, {"architecture", "sm_90"},
    };
    const auto tensor = [&](const char* key, const char* dtype, const std::vector<int>& shape,
                            const std::string& bytes) {
      header[key] = {{"dtype", dtype},
                     {"shape", shape},
                     {"data_offsets", {data.size(), data.size() + bytes.size()}}};
      data += bytes;
    };
    tensor("a", "U16", {1, 16}, std::string("\x00\x3C", 2) + std::string(30, '\0'));
    tensor("b", "U16", {1, 16}, std::string("\x00\x3C", 2) + std::string(30, '\0'));
    tensor("c", "U32", {1}, std::string(4, '\0'));
    tensor("d", "U32", {1}, std::string("\x00\x00\x80\x3F", 4));
  }
};

std::string refused(const std::function<void(Spoiled&)>& spoil) {
  Spoiled file;
  spoil(file);
  return test::refusal_of_bytes(file.text(),
                                [](const std::string& path) { read_recording(path, how); });
}

}  // namespace

TEST_CASE("results alone where the generator gives the inputs back") {
  const test::Folder folder;
  for (const DotGenerator& generator : dot_generators()) {
    const std::string called(generator.name);
    CAPTURE(called);
    if (!generator.suits(how)) continue;
    const Dots dots = recorded(called, 300);
    const std::string path = folder / called + ".safetensors";
    write_recording(path, info_of(called + ":300"), how, dots);
    CHECK(same(read_recording(path, how), dots));
    CHECK(tensors_of(path) == 1);
    const RecordingInfo info = read_recording_info(path);
    CHECK(info.gpu == "a GPU");
    CHECK(info.sass == "unknown");
    CHECK(info.generator == called + ":300");
    CHECK(info.seed == 5);
    CHECK(info.rows == 300);
    CHECK(info.instruction == name);
    CHECK(info.architecture == "sm_90");
    CHECK(info.input_hash == input_hash(dots, how));
  }
}

TEST_CASE("inputs travel along where the generator gives others, or there is none") {
  const test::Folder folder;
  Dots dots = recorded("normal", 50);
  dots.c[7] ^= 1;
  write_recording(folder / "other.safetensors", info_of("normal:50"), how, dots);
  CHECK(tensors_of(folder / "other.safetensors") == 4);
  CHECK(same(read_recording(folder / "other.safetensors", how), dots));
  write_recording(folder / "none.safetensors", info_of("unknown"), how, recorded("normal", 50));
  CHECK(tensors_of(folder / "none.safetensors") == 4);
  CHECK(open_safetensors(folder / "none.safetensors")->metadata().at("seed") == "unknown");
}

TEST_CASE("every width of numbers comes back") {
  const test::Folder folder;
  for (const auto& [text, sm] : {std::pair{"mma.m16n8k32.f16.e4m3.e5m2.f16", 89},
                                 {"mma.m16n8k8.f32.tf32.tf32.f32", 80},
                                 {"mma.m16n8k16.f64.f64.f64.f64", 90},
                                 {"mma.m16n8k32.f32.e2m1.e3m2.f32", 120},
                                 {nvf4, 120}}) {
    const std::string called = text;
    CAPTURE(called);
    const Instruction x = parse_instruction(called, sm);
    const Dots dots = recorded("random_bits", 100, x);
    RecordingInfo info = info_of("unknown");
    write_recording(folder / "x.safetensors", info, x, dots);
    CHECK(same(read_recording(folder / "x.safetensors", x), dots));
  }
}

TEST_CASE("the hash is FNV-1a of little-endian bytes: a, b, c") {
  Dots dots;
  CHECK(input_hash(dots, how) == "cbf29ce484222325");
  dots.a = {'a' | 'b' << 8};  // "ab", "cd", "efgh"
  dots.b = {'c' | 'd' << 8};
  dots.c = {'e' | 'f' << 8 | 'g' << 16 | 'h' << 24};
  CHECK(input_hash(dots, how) == "25da8c1836a8d66d");  // of abcdefgh
}

TEST_CASE("scales of blocks are columns of their own, and belong to the hash") {
  const test::Folder folder;
  const Instruction x = parse_instruction(nvf4, 120);
  Dots dots = recorded("block_scales", 90, x);
  const std::string path = folder / "x.safetensors";
  write_recording(path, info_of("block_scales:90"), x, dots);
  CHECK(tensors_of(path) == 1);
  CHECK(same(read_recording(path, x), dots));
  const std::string hash = input_hash(dots, x);
  dots.b_scales[357] ^= 1;
  CHECK(input_hash(dots, x) != hash);
  write_recording(path, info_of("block_scales:90"), x, dots);
  CHECK(tensors_of(path) == 6);
  CHECK(same(read_recording(path, x), dots));
  const auto file = open_safetensors(path);
  const auto scales = std::ranges::find(file->tensors(), "b_scale", &TensorInfo::name);
  REQUIRE(scales != file->tensors().end());
  CHECK(scales->shape == std::vector<std::uint64_t>{90, 4});
  const std::string said = error_of([&] { read_recording(path, how); });
  CHECK(has(said, "_scale'; a recording holds d, or a, b, c and d"));
  dots.a_scales.pop_back();
  CHECK(has(error_of([&] { write_recording(path, info_of("unknown"), x, dots); }),
            "90 rows that do not fit their inputs"));
}

TEST_CASE("a whole file made by hand is read") {
  CHECK(refused([](Spoiled&) {}) == "");
}

TEST_CASE("every key of the metadata must be there, and say something") {
  const Spoiled good;
  for (const auto& entry : good.metadata) {
    const std::string key = entry.first;
    CAPTURE(key);
    CHECK(has(refused([&](Spoiled& x) { x.metadata.erase(key); }),
              "no '" + key + "' in its metadata; it is no recording, or record it again"));
    CHECK(has(refused([&](Spoiled& x) { x.metadata[key] = ""; }), "metadata '" + key + "' is ''"));
  }
  const auto with = [](const char* key, const char* value) {
    return refused([=](Spoiled& x) { x.metadata[key] = value; });
  };
  CHECK(has(with("rows", "0"), "no rows; there is nothing to compare"));
  for (const char* rows : {"-1", "1.0", "0x1", " 1", "1 ", "18446744073709551616", "many"}) {
    CHECK(has(with("rows", rows), "it must be a whole number below 2^64"));
  }
  CHECK(has(with("rows", "1048577"), "it must be at most 1048576"));
  CHECK(has(with("rows", "2"), "tensor 'd' is U32 (1,); its metadata promise U32 (2,)"));
  CHECK(has(with("seed", "1"), "it must be 'unknown' where the generator is"));
  for (const char* hash : {"04C7A05F5E911EF5", "04c7a05f5e911ef", "04c7a05f5e911ef5x", "0x"}) {
    CHECK(has(with("input_hash", hash), "it must be 16 digits of 0-9 and a-f"));
  }
  CHECK(
      has(with("input_hash", "04c7a05f5e911ef6"),
          "inputs of hash 04c7a05f5e911ef5, recorded with 04c7a05f5e911ef6; the file is damaged"));
}

TEST_CASE("tensors must be those that the metadata promise") {
  CHECK(has(refused([](Spoiled& x) { x.header["d"]["dtype"] = "F32"; }),
            "tensor 'd' is F32 (1,); its metadata promise U32 (1,)"));
  CHECK(has(refused([](Spoiled& x) { x.header["d"]["dtype"] = "I32"; }), "tensor 'd' is I32"));
  CHECK(has(refused([](Spoiled& x) {
              x.header["d"]["shape"] = {1, 1};
            }),
            "tensor 'd' is U32 (1, 1); its metadata promise U32 (1,)"));
  CHECK(has(refused([](Spoiled& x) {
              x.header["a"]["shape"] = {16, 1};
            }),
            "tensor 'a' is U16 (16, 1); its metadata promise U16 (1, 16)"));
  CHECK(has(refused([](Spoiled& x) {
              x.header["c"]["dtype"] = "U16";
              x.header["c"]["shape"] = {2};
            }),
            "tensor 'c' is U16 (2,); its metadata promise U32 (1,)"));
  const auto rename = [](const char* from, const char* to) {
    return refused([=](Spoiled& x) {
      x.header[to] = x.header[from];
      x.header.erase(from);
    });
  };
  CHECK(has(rename("b", "x"), "a tensor 'x'; a recording holds d, or a, b, c and d"));
  CHECK(has(rename("b", "bb"), "a tensor 'bb'"));
  const auto only = [](const char* key, const char* generator, const char* seed) {
    return refused([=](Spoiled& x) {
      x.data.resize(4);
      nlohmann::ordered_json left;
      left[key] = {{"dtype", "U32"}, {"shape", {1}}, {"data_offsets", {0, 4}}};
      x.header = left;
      x.metadata["generator"] = generator;
      x.metadata["seed"] = seed;
    });
  };
  CHECK(has(only("d", "unknown", "unknown"), "neither a, b and c nor a generator of them"));
  CHECK(has(only("c", "normal", "1"), "no tensor 'd'; record it again"));
  CHECK(has(only("d", "norml:1", "1"), "no generator 'norml'; did you mean normal?"));
  CHECK(has(only("d", "normal:2", "1"), "rows 'normal:2' are 2, results 1"));
  CHECK(has(only("d", "normal", "1"), "they are written like normal:2000"));
  CHECK(has(only("d", "normal:1", "1"), "the generator gives other rows than it did"));
  CHECK(has(only("d", "normal", "x"), "metadata 'seed' is 'x'"));
}

TEST_CASE("what is no .safetensors is refused") {
  const test::Folder folder;
  CHECK(has(error_of([&] { read_recording(folder / "none", how); }), "none: "));
  CHECK(has(error_of([&] { read_recording_info(folder.write("x", "abc")); }), "truncated"));
  const std::string cut = Spoiled().text();
  for (std::size_t n = 0; n < cut.size(); n += 7) {
    const std::string path = folder.write("cut", cut.substr(0, n));
    CHECK(has(error_of([&] { read_recording(path, how); }), path + ": "));
  }
}

TEST_CASE("rows that do not fit are not written") {
  const test::Folder folder;
  const std::string path = folder / "x.safetensors";
  Dots dots = recorded("normal", 4);
  dots.a.pop_back();
  CHECK(has(error_of([&] { write_recording(path, info_of("normal:50"), how, dots); }),
            "4 rows that do not fit their inputs"));
  CHECK(has(error_of([&] { write_recording(path, info_of("normal"), how, {}); }), "0 rows"));
  CHECK(folder.count() == 0);
}

}  // namespace binade::recording_test

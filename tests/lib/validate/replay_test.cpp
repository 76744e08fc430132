// SPDX-License-Identifier: Apache-2.0
//
// Replaying recordings and folders of hardware rows: which files are found, in which order, what
// counts as a set. A planted wrong row is found, and every list of sets that does not fit its files
// is refused.
#include "lib/validate/replay.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/cases/dot_cases.h"
#include "lib/device/emulated_device.h"
#include "lib/device/recording.h"
#include "lib/instruction/instruction_name.h"
#include "lib/validate/hardware_rows.h"
#include "tests/lib/io/files.h"

namespace binade::replay_test {
namespace {

using test::has;
using Json = nlohmann::json;

struct Seen {
  std::string source, instruction;
  int sm = 0;
  DotCheck check;
};

struct Replayed {
  SetTotals totals;
  std::vector<Seen> sets;
};

Replayed replayed(const std::vector<std::string>& paths, std::size_t keep = 5) {
  Replayed out;
  out.totals = replay(paths, keep, {}, [&](const CheckedSet& set, const Dots& dots) {
    CHECK(set.skipped.empty());
    CHECK(set.check.rows == dots.d.size());
    out.sets.push_back(
        {set.source, instruction_name(set.instruction), set.instruction.sm, set.check});
  });
  return out;
}

std::string complaint(const std::vector<std::string>& paths) {
  return test::error_of([&] { replayed(paths); });
}

void record(const std::string& path, const std::string& name, int sm, std::uint64_t rows,
            const EmulatedDevice::Planted& planted = {}) {
  const Instruction how = parse_instruction(name, sm);
  Dots dots = make_dots(parse_dot_generator("bounded_exponents"), how, 1, 0, rows);
  EmulatedDevice device(sm, planted);
  CHECK(!device.run_dots(how, dots));
  RecordingInfo info;
  info.instruction = name;
  info.architecture = "sm_" + std::to_string(sm);
  info.generator = "bounded_exponents:" + std::to_string(rows);
  info.seed = 1;
  write_recording(path, info, how, dots);
}

const std::string hopper = "mma.m16n8k16.f32.f16.f16.f32";
const std::string ampere = "wmma.m16n16k16.f32.bf16.bf16.f32";

void one_bit_less(DotModel& model) { model.fraction_bits -= 1; }

Json set_of(const char* gpu, const char* input, const char* output, const char* instruction,
            const char* c) {
  return {{"gpu", gpu},  {"input", input}, {"output", output}, {"instruction", instruction},
          {"c_used", c}, {"rows", 2}};
}

/// Two rows of four sets made by hand: 1 · 2 + 0.5, and -1 · 1 + 1.
class Hardware {
 public:
  Hardware() {
    const auto file = [&](const char* name, const char* dtype, const char* shape,
                          const std::string& data) {
      folder.write(name, test::npy(test::dict(dtype, shape), data));
    };
    file("V100_fp16_a.npy", "<u2", "(2, 1)", test::little({0x3C00, 0xBC00}, 2));
    file("V100_fp16_b.npy", "<u2", "(2, 1)", test::little({0x4000, 0x3C00}, 2));
    file("V100_fp16_c_fp32.npy", "<u4", "(2,)", test::little({0x3F000000, 0x3F800000}, 4));
    file("V100_fp16_c_fp16.npy", "<u2", "(2,)", test::little({0x3800, 0x3C00}, 2));
    file("V100_fp16_d_fp32.npy", "<u4", "(2,)", test::little({0x40200000, 0}, 4));
    file("V100_fp16_d_fp16.npy", "<u2", "(2,)", test::little({0x4100, 0}, 2));
    file("H200_E4M3_a.npy", "|u1", "(2, 2)", test::little({0x38, 0, 0xB8, 0}, 1));
    file("H200_E4M3_b.npy", "|u1", "(2, 2)", test::little({0x40, 0, 0x38, 0}, 1));
    file("H200_E4M3_d_fp32.npy", "<u4", "(2,)", test::little({0x40000000, 0xBF800000}, 4));
    file("A2_tf32_a.npy", "<u4", "(2, 1)", test::little({0x3F800000, 0xBF800000}, 4));
    file("A2_tf32_b.npy", "<u4", "(2, 1)", test::little({0x40000000, 0x3F800000}, 4));
    file("A2_tf32_c_fp32.npy", "<u4", "(2,)", test::little({0x3F000000, 0x3F800000}, 4));
    file("A2_tf32_d_fp32.npy", "<u4", "(2,)", test::little({0x40200000, 0}, 4));
    list(sets);
  }

  void list(const Json& content) const { folder.write("sets.json", content.dump()); }
  std::string path() const { return folder / ""; }

  test::Folder folder;
  Json sets{set_of("V100", "fp16", "fp32", "wmma.mma_sync m16n16k16", "c_fp32"),
            set_of("V100", "fp16", "fp16", "wmma.mma_sync m16n16k16", "c_fp16"),
            set_of("H200", "E4M3", "fp32", "wgmma m64nNk32 (C ignored = 0)", "none (+0)"),
            set_of("A2", "tf32", "fp32", "wmma.mma_sync m16n16k8", "c_fp32")};
};

std::string refused(const std::function<void(Json&)>& spoil) {
  const Hardware hardware;
  Json sets = hardware.sets;
  spoil(sets);
  hardware.list(sets);
  std::string said = complaint({hardware.path()});
  CHECK(said.find('\n') == std::string::npos);
  return said;
}

}  // namespace

TEST_CASE("a recording by itself: equal, and different where the rule was another") {
  const test::Folder folder;
  record(folder / "good.safetensors", hopper, 90, 500);
  record(folder / "other.safetensors", hopper, 90, 500, one_bit_less);
  const Replayed good = replayed({folder / "good.safetensors"});
  REQUIRE(good.sets.size() == 1);
  CHECK(good.sets[0].source == folder / "good.safetensors");
  CHECK(good.sets[0].instruction == hopper);
  CHECK(good.sets[0].sm == 90);
  CHECK(good.totals.sets == 1);
  CHECK(good.totals.rows == 500);
  CHECK(good.totals.equal() == 500);

  const Replayed other = replayed({folder / "good.safetensors", folder / "other.safetensors"}, 3);
  REQUIRE(other.sets.size() == 2);
  CHECK(other.sets[0].check.different == 0);
  CHECK(other.sets[1].check.different > 3);
  CHECK(other.sets[1].check.first.size() == 3);
  CHECK(other.totals.rows == 1000);
  CHECK(other.totals.different == other.sets[1].check.different);
}

TEST_CASE("folders are searched at any depth, in the order of names") {
  const Hardware hardware;
  std::filesystem::create_directories(hardware.folder / "z/deep");
  std::filesystem::create_directories(hardware.folder / "empty");
  record(hardware.folder / "z/deep/b.safetensors", hopper, 90, 20);
  record(hardware.folder / "z/a.safetensors", ampere, 86, 30);
  hardware.folder.write("z/notes.txt", "no recording");
  const Replayed all = replayed({hardware.path()});
  REQUIRE(all.sets.size() == 6);
  CHECK(all.sets[3].instruction == "wmma.m16n16k8.f32.tf32.tf32.f32");
  CHECK(all.sets[4].instruction == ampere);
  CHECK(all.sets[5].instruction == hopper);
  CHECK(all.totals.rows == 8 + 20 + 30);
  CHECK(all.totals.different == 0);
}

TEST_CASE("hardware rows: GPU, types, shape and c become an instruction and its files") {
  const Hardware hardware;
  const Replayed all = replayed({hardware.path()});
  REQUIRE(all.sets.size() == 4);
  CHECK(all.sets[0].instruction == "wmma.m16n16k16.f32.f16.f16.f32");
  CHECK(all.sets[0].sm == 70);
  CHECK(all.sets[1].instruction == "wmma.m16n16k16.f16.f16.f16.f16");
  CHECK(all.sets[2].instruction == "wgmma.m64n8k32.f32.e4m3.e4m3");
  CHECK(all.sets[2].sm == 90);
  CHECK(all.sets[3].sm == 86);
  CHECK(has(all.sets[2].source, ": H200 E4M3 to fp32"));
  CHECK(all.totals.sets == 4);
  CHECK(all.totals.rows == 8);
  CHECK(all.totals.different == 0);
}

TEST_CASE("a planted row is found and told") {
  const Hardware hardware;
  hardware.folder.write("V100_fp16_d_fp16.npy",
                        test::npy(test::dict("<u2", "(2,)"), test::little({0x4100, 0x8000}, 2)));
  const Replayed all = replayed({hardware.path()});
  CHECK(all.totals.different == 1);
  REQUIRE(all.sets[1].check.first.size() == 1);
  CHECK(all.sets[1].check.first[0].row == 1);
  CHECK(all.sets[1].check.first[0].recorded == 0x8000);
  CHECK(all.sets[1].check.first[0].emulated == 0);
}

TEST_CASE("every GPU of the table stands for its architecture") {
  const Hardware hardware;
  Json sets = Json::array();
  for (const char* gpu : {"V100", "A2", "A100", "Ada", "L40S", "H100", "H200", "B200"}) {
    sets.push_back(set_of(gpu, "fp16", "fp32", "wmma.mma_sync m16n16k16", "c_fp32"));
  }
  sets.push_back(set_of("Ada", "E5M2", "fp16", "mma.sync m16n8k32", "c_fp16"));
  sets.push_back(set_of("B200", "E4M3", "fp32", "mma.sync m16n8k32 (ptxas)", "c_fp32"));
  sets.push_back(set_of("A100", "bf16", "fp32", "wmma.mma_sync m16n16k16", "c_fp32"));
  hardware.list(sets);
  std::vector<int> sms;
  for (const HardwareSet& set : read_hardware_sets(hardware.path())) {
    sms.push_back(set.instruction.sm);
  }
  CHECK(sms == std::vector{70, 86, 80, 89, 89, 90, 90, 100, 89, 100, 80});
  const auto last = read_hardware_sets(hardware.path());
  CHECK(instruction_name(last[8].instruction) == "mma.m16n8k32.f16.e5m2.e5m2.f16");
  CHECK(last[8].files.c == hardware.folder / "Ada_E5M2_c_fp16.npy");
  CHECK(last[9].files.d == hardware.folder / "B200_E4M3_d_fp32.npy");
  CHECK(holds_hardware_rows(hardware.path()));
}

TEST_CASE("a list of sets that does not fit") {
  const auto with = [](const char* key, const Json& value) {
    return refused([=](Json& sets) { sets[1][key] = value; });
  };
  CHECK(has(with("gpu", "P100"), "sets.json: set 1: 'gpu' is 'P100'; it must be one of V100, T4"));
  CHECK(has(with("gpu", "../V100"), "'gpu' is '../V100'"));
  CHECK(has(with("gpu", 70), "set 1 has no text 'gpu'"));
  CHECK(has(with("input", "fp8"), "'input' is 'fp8'; it must be one of fp16, bf16"));
  CHECK(has(with("output", "bf16"), "'output' is 'bf16'; it must be one of fp32, fp16"));
  CHECK(has(with("instruction", "mma.sync m16n8k320"), "it must be one of wmma.mma_sync"));
  CHECK(has(with("instruction", "mma.sync m16n8k32"), "correct the set"));  // fp16 there
  CHECK(has(with("c_used", "c_fp32"), "'c_used' is 'c_fp32'; it must be c_fp16 or none"));
  CHECK(has(with("rows", 3), "2 rows; sets.json promises 3"));
  CHECK(has(with("rows", 0), "'rows' is '0'; it must be a number above 0"));
  CHECK(has(with("rows", "2"), "it must be a number above 0"));
  CHECK(has(refused([](Json& sets) { sets[0].erase("c_used"); }), "set 0 has no text 'c_used'"));
  CHECK(has(refused([](Json& sets) { sets[0] = 7; }), "set 0 has no text 'gpu'"));
  CHECK(has(refused([](Json& sets) { sets = Json::array(); }), "no sets; there is nothing"));
  CHECK(has(refused([](Json& sets) { sets = Json::object(); }), "not a JSON list"));
  CHECK(refused([](Json& sets) { sets[1].erase("rows"); }) == "");
  const Hardware hardware;
  hardware.folder.write("sets.json", "[{");
  CHECK(has(complaint({hardware.path()}), "not a JSON list"));
  hardware.folder.write("sets.json", std::string(1 << 20, '[') + " ");
  CHECK(has(complaint({hardware.path()}), "more than 1048576 bytes; give a list of sets"));
  hardware.folder.write("sets.json", std::string(1 << 20, '['));
  CHECK(has(complaint({hardware.path()}), "not a JSON list"));
  hardware.list(hardware.sets);
  std::filesystem::remove(hardware.folder / "A2_tf32_b.npy");
  CHECK(has(complaint({hardware.path()}), "A2_tf32_b.npy: "));
}

TEST_CASE("nothing to compare is an error") {
  const test::Folder folder;
  CHECK(has(complaint({}), "nothing to compare"));
  CHECK(has(complaint({folder / ""}), "neither recordings (.safetensors) nor a sets.json"));
  CHECK(has(complaint({folder / "none"}), "none: "));
  folder.write("x.safetensors", test::safetensors("{}", ""));
  CHECK(has(complaint({folder / ""}), "x.safetensors: no 'gpu' in its metadata"));
}

TEST_CASE("a recording whose metadata name no instruction") {
  const test::Folder folder;
  const Instruction how = parse_instruction(hopper, 90);
  Dots dots = make_dots(parse_dot_generator("normal"), how, 1, 0, 3);
  RecordingInfo info;
  info.architecture = "sm_90";
  info.instruction = "mma.m16n8k16.f32.f16.f16.f64";
  write_recording(folder / "x.safetensors", info, how, dots);
  CHECK(has(complaint({folder / "x.safetensors"}), "x.safetensors: sm_90 has no instruction"));
  info.instruction = hopper;
  info.architecture = "sm_91";
  write_recording(folder / "x.safetensors", info, how, dots);
  CHECK(has(complaint({folder / "x.safetensors"}), "no architecture 'sm_91'"));
  info.architecture = "sm_90";
  info.instruction = "mma.m16n8k8.f32.f16.f16.f32";
  write_recording(folder / "x.safetensors", info, how, dots);
  CHECK(has(complaint({folder / "x.safetensors"}), "tensor 'a' is U16 (3, 16)"));
}

}  // namespace binade::replay_test

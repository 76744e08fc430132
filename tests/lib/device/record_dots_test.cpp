// SPDX-License-Identifier: Apache-2.0
//
// Recording a device: every instruction in every form, the rows of the plan, and files from which
// the device's results are read back.
#include "lib/device/record_dots.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <set>

#include "lib/device/emulated_device.h"
#include "lib/instruction/instruction_name.h"
#include "lib/text/error.h"
#include "tests/lib/io/files.h"

namespace binade::record_dots_test {
namespace {

/// An emulated device that cannot run wgmma.
class Halved final : public Device {
 public:
  const DeviceInfo& info() const override { return emulated_.info(); }
  CannotRun run_dots(const Instruction& x, Dots& dots) override {
    if (x.family == Family::wgmma) return "no wgmma here";
    return emulated_.run_dots(x, dots);
  }

 private:
  EmulatedDevice emulated_{90};
};

std::set<std::string> names_of(const std::vector<Instruction>& all) {
  std::set<std::string> out;
  for (const Instruction& x : all) out.insert(instruction_name(x));
  return out;
}

}  // namespace

TEST_CASE("every instruction, and the forms that have results of their own") {
  for (const Architecture& on : architectures) {
    const int sm = on.sm;
    CAPTURE(sm);
    const std::vector<Instruction> all = instruction_forms(sm);
    const std::set<std::string> names = names_of(all);
    CHECK(names.size() == all.size());
    for (const Instruction& x : instructions_of(sm)) CHECK(names.count(instruction_name(x)) == 1);
    for (const Instruction& x : all)
      CHECK(parse_instruction(instruction_name(x), sm).model == x.model);
  }
  const std::set<std::string> hopper = names_of(instruction_forms(90));
  for (const char* name :
       {"mma.m8n8k4.rm.f64.f64.f64.f64", "mma.m16n8k32.satfinite.s32.s8.u8.s32",
        "mma.m16n8k256.s32.b1.b1.s32.xor.popc", "wgmma.m64n256k32.satfinite.s32.u8.u8"}) {
    CHECK(hopper.count(name) == 1);
  }
}

TEST_CASE("rows: all generators that suit, more where a model is in question") {
  const auto plan = [](const char* name) { return recorded_rows(parse_instruction(name, 90)); };
  const RowPlan mma = plan("mma.m16n8k16.f32.f16.f16.f32");
  CHECK(row_plan_text(mma) ==
        "normal:1000,random_bits:5000,bounded_exponents:4000,tiny:10000,zeros:2000,"
        "zero_products:1000,specials:4000,carry:500,k_order:256,chains:3840");
  CHECK(planned_rows(plan("wmma.m16n16k16.f32.f16.f16.f32")) < planned_rows(mma));
  const Instruction scaled = parse_instruction(
      "mma.m16n8k64.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", 120);
  CHECK(row_plan_text(recorded_rows(scaled)) ==
        "normal:1000,random_bits:5000,zeros:2000,specials:4000,chains:3840,block_scales:9000");
  CHECK(row_plan_text(plan("mma.m16n8k32.s32.s8.s8.s32")) == "integers:2000");
  CHECK(
      row_plan_text(plan("mma.m16n8k4.f32.tf32.tf32.f32")).find("k_order:16,tf32_low_bits:5000") !=
      std::string::npos);
  for (const Instruction& x : instruction_forms(90)) {
    const RowPlan rows = recorded_rows(x);
    CHECK(!rows.empty());
    for (const PlannedRows& piece : rows) CHECK(piece.generator->suits(x));
  }
}

TEST_CASE("recordings read back as what the device gave") {
  const test::Folder folder;
  EmulatedDevice device(90);
  RecordWhat what{.folder = folder / ".", .words = "k32.f16.e4m3", .date = "2026-01-02", .seed = 3};
  std::vector<RecordedFile> files;
  record_dots(device, what, [&](const RecordedFile& file) { files.push_back(file); });
  REQUIRE(files.size() == 10);  // mma, and wgmma in four forms, with e4m3 and e5m2
  for (const RecordedFile& file : files) {
    CAPTURE(file.instruction);
    CHECK(file.skipped.empty());
    const Instruction x = parse_instruction(file.instruction, 90);
    const RecordingInfo info = read_recording_info(file.path);
    CHECK(info.gpu == "emulated sm_90");
    CHECK(info.date == "2026-01-02");
    CHECK(info.seed == 3);
    CHECK(info.driver == "unknown");
    CHECK(info.ptx == ptx_of(x));
    CHECK(info.generator == row_plan_text(recorded_rows(x)));
    Dots dots = make_rows(recorded_rows(x), x, 3);
    CHECK(!run_rows(device, recorded_rows(x), x, dots));
    CHECK(read_recording(file.path, x).d == dots.d);
    CHECK(file.rows == dots.d.size());
  }
}

TEST_CASE("what a device cannot run is told and leaves no file") {
  const test::Folder folder;
  Halved device;
  std::size_t skipped = 0;
  const RecordWhat what{.folder = folder / ".", .words = "f32.tf32.tf32", .date = "today"};
  record_dots(device, what, [&](const RecordedFile& file) {
    const bool wgmma = file.instruction.starts_with("wgmma.m64");
    CHECK(file.skipped == (wgmma ? "no wgmma here" : ""));
    CHECK(file.path.empty() == wgmma);
    skipped += wgmma ? 1 : 0;
  });
  CHECK(skipped == 4);
  CHECK(!std::filesystem::exists(folder / "wgmma.m64n256k8.f32.tf32.tf32.safetensors"));
  CHECK(std::filesystem::exists(folder / "mma.m16n8k8.f32.tf32.tf32.f32.safetensors"));
}

TEST_CASE("a driver and a CUDA version are told where they are known") {
  DeviceInfo device;
  device.name = "a GPU";
  device.driver = "580.1";
  device.runtime_cuda = 13000;
  const RecordingInfo info = origin_of(device, "");
  CHECK(info.gpu == "a GPU");
  CHECK(info.driver == "580.1");
  CHECK(info.cuda == "13.0");
  CHECK(info.date == "unknown");
}

}  // namespace binade::record_dots_test

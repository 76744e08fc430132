// SPDX-License-Identifier: Apache-2.0
//
// Products on a device, the emulator in a GPU's place: the bytes of `gemm` for every kind of
// instruction, initial sum, epilogue and division into pieces; and which products a device does not
// get.
#include "lib/gemm/device_gemm.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <string>

#include "lib/device/emulated_device.h"
#include "tests/emulate/dot_draw.h"
#include "tests/lib/io/files.h"

namespace binade::device_gemm_test {
namespace {

using test::has;

GemmOperands draw(test::Random& random, const GemmModel& g, std::size_t m, std::size_t n,
                  std::size_t k) {
  GemmOperands out{m, n, k, {}, {}, {}, {}};
  const auto add = [&](std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& row) {
    to.insert(to.end(), row.begin(), row.end());
  };
  const int length = static_cast<int>(k);
  for (std::size_t i = 0; i < m; ++i) add(out.a, test::draw_dot(random, g.types, length).a);
  for (std::size_t j = 0; j < n; ++j) add(out.b, test::draw_dot(random, g.types, length).b);
  for (std::size_t i = 0; i < m * n; ++i) out.c.push_back(test::draw_dot(random, g.types, 1).c);
  return out;
}

struct Named {
  const char* name;
  int sm;
};
constexpr Named instructions[] = {
    {"mma.m16n8k16.f32.f16.f16.f32", 90},    {"wmma.m16n16k16.f32.f16.f16.f32", 70},
    {"mma.m16n8k32.f32.e4m3.e5m2.f32", 89},  {"mma.m16n8k32.f16.e4m3.e4m3.f16", 90},
    {"wgmma.m64n8k32.f32.e4m3.e4m3", 90},    {"mma.m8n8k4.f32.f16.f16.f32", 90},
    {"wmma.m16n16k16.f16.f16.f16.f32", 80},  {"wmma.m16n16k16.f32.f16.f16.f16", 80},
    {"mma.sp.m16n8k32.f32.f16.f16.f32", 80}, {"mma.m8n8k4.f64.f64.f64.f64", 80},
    {"fma.rn.f32.f16.f16.f32", 0},           {"mul_add.rn.f32.f32.f32.f32", 0},
};

TEST_CASE("every instruction gives gemm's bytes, whatever the pieces") {
  test::Random random(5);
  EmulatedDevice device(90);
  int settings = 0;
  for (const Named& row : instructions) {
    for (const bool c_first : {false, true}) {
      for (const std::size_t k : std::initializer_list<std::size_t>{0, 1, 37, 96}) {
        CAPTURE(row.name);
        CAPTURE(c_first);
        CAPTURE(k);
        NamedGemm named = parse_gemm(row.name, row.sm);
        GemmModel& g = named.model;
        g.sum.c_first = c_first;
        g.epilogue.alpha = settings % 3 == 0 ? 1 : -0.5;
        if (settings % 4 == 1) g.epilogue.out = binary16;
        GemmOperands x = draw(random, g, 5, 7, k);
        if (settings % 5 == 2) x.c.clear();
        ++settings;
        const std::vector<std::uint64_t> want = gemm(g, x);
        const DeviceGemm whole = gemm_on_device(device, named, x);
        CHECK(whole.d == want);
        CHECK(whole.way == ProductWay::emulated);
        CHECK(gemm_on_device(device, named, x, {}, {2, 3, 33}).d == want);
        CHECK(gemm_on_device(device, named, x, {}, {1, 7, 1}).d == want);
      }
    }
  }
}

TEST_CASE("integers, which begin with C") {
  test::Random random(6);
  EmulatedDevice device(80);
  const NamedGemm named = parse_gemm("mma.m16n8k32.s32.s8.s8.s32", 80);
  GemmOperands x{4, 3, 50, {}, {}, {}, {}};
  for (int i = 0; i < 200; ++i) x.a.push_back(random() & 0xFF);
  for (int i = 0; i < 150; ++i) x.b.push_back(random() & 0xFF);
  for (int i = 0; i < 12; ++i) x.c.push_back(random() & 0xFFFFFFFF);
  CHECK(gemm_on_device(device, named, x, {}, {3, 2, 32}).d == gemm(named.model, x));
}

TEST_CASE("rows are told as they are done") {
  test::Random random(7);
  EmulatedDevice device(90);
  const NamedGemm named = parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 90);
  std::vector<std::size_t> told;
  gemm_on_device(device, named, draw(random, named.model, 5, 3, 16),
                 [&](std::size_t rows) { told.push_back(rows); }, {2, 2, 16});
  CHECK(told == std::vector<std::size_t>{2, 4, 5});
}

std::string refusal(const NamedGemm& named, Device& device) {
  test::Random random(8);
  return test::error_of(
      [&] { gemm_on_device(device, named, draw(random, named.model, 2, 2, 40)); });
}

TEST_CASE("a planted rule shows: the model's bits are the device's") {
  test::Random random(9);
  EmulatedDevice wrong(90, [](DotModel& model) { model.fraction_bits -= 3; });
  const NamedGemm named = parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 90);
  const GemmOperands x = draw(random, named.model, 20, 20, 64);
  CHECK(gemm_on_device(wrong, named, x).d != gemm(named.model, x));
}

TEST_CASE("other orders, and a device without products, are errors") {
  EmulatedDevice device(90);
  NamedGemm named = parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 90);
  CHECK(refusal(named, device).empty());
  named.model.sum.promote_every = 2;
  CHECK(has(refusal(named, device), "leave --promote-every out"));
  named.model.sum.promote_every = 0;
  named.model.sum.splits[0] = parse_split("2");
  CHECK(has(refusal(named, device), "leave --split out"));
  named.model.sum.splits[0] = {};
  named.model.sum.order = parse_k_order("descending");
  CHECK(has(refusal(named, device), "leave --k-order out"));
  named.model.sum.order = {};
  class Bare final : public Device {
   public:
    const DeviceInfo& info() const override { return info_; }

   private:
    DeviceInfo info_{.name = "bare"};
  } bare;
  CHECK(refusal(named, bare) == "bare: this device multiplies no matrices; leave --device out");
}

}  // namespace
}  // namespace binade::device_gemm_test

// SPDX-License-Identifier: Apache-2.0
//
// Models whose members are outside of their ranges are refused before anything is computed.
#include "lib/gemm/model_check.h"

#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <string>

#include "lib/gemm/account.h"
#include "lib/gemm/matrices.h"
#include "lib/gemm/named_gemm.h"
#include "lib/text/error.h"

namespace binade::model_check_test {
namespace {

GemmModel model(const char* name = "mma.m16n8k16.f32.f16.f16.f32") {
  return parse_gemm(name, 90).model;
}

void refused(const std::function<void(GemmModel&)>& set, const char* message) {
  GemmModel g = model();
  set(g);
  const std::vector<float> two{1, 2};
  CHECK_THROWS_WITH_AS(check(g), message, Error);
  CHECK_THROWS_WITH_AS(gemm(g, {1, 1, 2, {1, 2}, {3, 4}, {}, {}}), message, Error);
  CHECK_THROWS_WITH_AS(account(g, {1, 1, 2, {1, 2}, {3, 4}, {}, {}}), message, Error);
  CHECK_THROWS_WITH_AS(rounded_operands(g, {.m = 1, .n = 1, .k = 2, .a = two, .b = two}), message,
                       Error);
}

TEST_CASE("models of instructions and chains pass") {
  for (const char* name :
       {"mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k32.s32.s8.s8.s32", "fma.rn.f32.f16.f16.f32",
        "mma.m8n8k4.f32.f16.f16.f32", "mma.m16n8k32.f32.e4m3.e4m3.f32",
        "mma.sp.m16n8k32.f32.f16.f16.f32", "mma.m8n8k4.f64.f64.f64.f64"}) {
    INFO(name);
    CHECK_NOTHROW(check(model(name)));
  }
  CHECK_NOTHROW(check(parse_gemm("mma.m16n8k256.s32.b1.b1.s32.xor.popc", 80).model));
}

TEST_CASE("numbers of an instruction outside of their ranges are refused") {
  for (const int k : {0, -1, 257, std::numeric_limits<int>::max()}) {
    refused([k](GemmModel& g) { g.k = k; },
            ("GemmModel: k is " + std::to_string(k) + "; give an integer from 1 to 256").c_str());
  }
  refused([](GemmModel& g) { g.model.block = 0; },
          "GemmModel: model.block is 0; give an integer from 1 to 256");
  refused([](GemmModel& g) { g.model.fraction_bits = 63; },
          "GemmModel: model.fraction_bits is 63; give an integer from 0 to 52");
  refused([](GemmModel& g) { g.model.exponent_floor = 5000; },
          "GemmModel: model.exponent_floor is 5000; give an integer from -4096 to 4096");
  refused([](GemmModel& g) { g.model.recipe = static_cast<Recipe>(77); },
          "GemmModel: model.recipe is 77; give an integer from 0 to 5");
  refused([](GemmModel& g) { g.model.recipe = Recipe::pairwise, g.k = 6; },
          "GemmModel: k is 6; pairwise takes a multiple of 4 up to 256");
  refused([](GemmModel& g) { g.model.sparse_group = 3; },
          "GemmModel: model.sparse_group is 3; give an even divisor of k, 16");
  refused([](GemmModel& g) { g.types.a = {}; },
          "GemmModel: types.a is no format of floating-point numbers that is computed with; give a "
          "named one");
  refused(
      [](GemmModel& g) { g.types.a = g.types.b = binary64; },
      "GemmModel: the precisions of types.a and types.b together is 106; give an integer from 2 "
      "to 62");
  refused([](GemmModel& g) { g.epilogue.out = {}; },
          "GemmModel: epilogue.out is no format of floating-point numbers that is computed with; "
          "give a named one");
  refused([](GemmModel& g) { g.model.recipe = Recipe::exact_integer; },
          "GemmModel: types.a is no format of integers that is computed with; give a named one");
}

TEST_CASE("instructions that take their products by halves have at most 64, sparse ones 128") {
  refused([](GemmModel& g) { g.model.recipe = Recipe::expanded, g.k = 128; },
          "GemmModel: k is 128; expanded takes a multiple of 4 up to 64");
  refused([](GemmModel& g) { g.model.sparse_group = 4, g.k = 256; },
          "GemmModel: k is 256; sparse fused_block takes a multiple of 4 up to 128");
  refused(
      [](GemmModel& g) { g.model.recipe = Recipe::expanded, g.model.sparse_group = 4, g.k = 12; },
      "GemmModel: k is 12; sparse expanded takes a multiple of 8 up to 64");
}

TEST_CASE("the formats of a C and a bias that are not there are not looked at") {
  GemmModel g = model();
  g.c = g.bias = {};
  const std::vector<float> two{1, 2};
  const GemmOperands x = rounded_operands(g, {.m = 1, .n = 1, .k = 2, .a = two, .b = two});
  CHECK(result_values(g, gemm(g, x)) == std::vector<double>{5});
  CHECK(account(g, x).exact == 1);
  const char* const message =
      " is no format of floating-point numbers that is computed with; give a named one";
  GemmOperands with = x;
  with.c = {0};
  CHECK_THROWS_WITH_AS(gemm(g, with), (std::string("GemmModel: c") + message).c_str(), Error);
  with = x;
  with.bias = {0};
  CHECK_THROWS_WITH_AS(gemm(g, with), (std::string("GemmModel: bias") + message).c_str(), Error);
  g.sum.c_first = true;
  CHECK_THROWS_WITH_AS(gemm(g, x), (std::string("GemmModel: c") + message).c_str(), Error);
}

TEST_CASE("epilogues that there are not are refused") {
  const std::string last = std::to_string(roundings.size() - 1);
  const std::string beyond = std::to_string(roundings.size());
  refused([](GemmModel& g) { g.epilogue.rounding = static_cast<Rounding>(roundings.size()); },
          ("GemmModel: epilogue.rounding is " + beyond + "; give an integer from 0 to " + last)
              .c_str());
  refused([](GemmModel& g) { g.epilogue.through = Format{}; },
          "GemmModel: epilogue.through is no format of floating-point numbers that is computed "
          "with; give a named one");
  refused([](GemmModel& g) { g.epilogue.scales = static_cast<ScaleOrder>(3); },
          "GemmModel: epilogue.scales is 3; give an integer from 0 to 2");
  GemmModel integers = parse_gemm("mma.m16n8k32.s32.s8.s8.s32", 80).model;
  const GemmOperands scaled{
      .m = 1, .n = 1, .k = 1, .a = {1}, .b = {1}, .c = {}, .bias = {}, .a_scale = {0}};
  CHECK_THROWS_WITH_AS(
      gemm(integers, scaled),
      "GemmModel: scales of a product of integers need a floating-point epilogue.out; set it",
      Error);
  integers.epilogue.out = binary32;
  CHECK(gemm(integers, scaled) == std::vector<std::uint64_t>{0});
  refused([](GemmModel& g) { g.epilogue.sum = s32; },
          "GemmModel: epilogue.sum is no format of floating-point numbers that is computed with; "
          "give a named one");
}

TEST_CASE("scales of runs of K that a model cannot multiply by are refused") {
  refused([](GemmModel& g) { g.sum.scaling.share = 128; },
          "GemmModel: sum.scaling is what a promotion multiplies by; set promote_every, too");
  refused(
      [](GemmModel& g) {
        g.model.scaling = {32, e8m0, 0};
      },
      "GemmModel: model.scaling.share is 32; give an integer from 16 to 16");
  refused(
      [](GemmModel& g) {
        g.model.scaling = {16, e8m0, 0};
        g.sum.promote_every = 1;
        g.sum.scaling.share = 16;
      },
      "GemmModel: the instruction multiplies by scales already; leave sum.scaling out");
  refused(
      [](GemmModel& g) {
        g.model.scaling = {16, e4m3, 0};
      },
      "GemmModel: model.scaling.format is e8m0 or ue4m3");
  const std::string divides =
      "GemmModel: model.scaling.share divides the products of a block and of an instruction, and "
      "its group the share, of a fused_block";
  refused([](GemmModel& g) { g.model.scaling = {16, e8m0, 5}; }, divides.c_str());
  GemmModel g = parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 90).model;
  GemmOperands x{.m = 1, .n = 1, .k = 64, .a = {}, .b = {}, .c = {}, .bias = {}};
  x.a.resize(64);
  x.b.resize(64);
  x.runs = {32, {0x3F800000, 0x3F800000}, {}};
  const auto message = [&] { return test::error_of([&] { gemm(g, x); }); };
  CHECK(
      message() ==
      "GemmModel: the model multiplies by no scales of runs of K, and the operands have scales of "
      "32");
  g.sum.scaling.share = 64;
  g.sum.promote_every = 2;
  CHECK(
      message() ==
      "GemmModel: the model multiplies by scales of 64 elements of K, and the operands have scales "
      "of 32");
  g.sum.scaling.share = 32;
  CHECK(gemm(g, x) == std::vector<std::uint64_t>{0});
  g.sum.promote_every = 3;
  CHECK(message() ==
        "GemmModel: products of K in runs 0 and 1 of 32 would be multiplied by one scale; promote "
        "after a number of instructions that divides 2 (--promote-every), and cut K at multiples of "
        "32");
  x.runs.a.pop_back();
  g.sum.promote_every = 2;
  CHECK(message() == "runs.a: 1 elements; by m, n and k there are 2");
}

TEST_CASE("orders that there are not are refused") {
  refused([](GemmModel& g) { g.sum.order.group = 0; },
          "GemmModel: sum.order.group is 0; give an integer from 1 to 64");
  refused([](GemmModel& g) { g.sum.order.group = 2; },
          "GemmModel: sum.order.width is 0; give an integer from 1 to 16");
  refused([](GemmModel& g) { g.sum.order = {.group = 2, .width = 3}; },
          "GemmModel: sum.order.width is 3; give a divisor of k, 16");
  refused([](GemmModel& g) { g.sum.promote_every = -1; },
          "GemmModel: sum.promote_every is -1; give an integer from 0 to 2147483647");
  refused([](GemmModel& g) { g.sum.splits[0].parts = 1 << 20; },
          "GemmModel: the parts of a split is 1048576; give an integer from 0 to 4096");
  refused([](GemmModel& g) { g.sum.splits[0] = {.parts = 2, .interleave = -4}; },
          "GemmModel: the interleave of a split is -4; give an integer from 0 to 1048576");
  refused([](GemmModel& g) { g.sum.splits[0] = {.parts = 4096, .tile = 1 << 20}; },
          "GemmModel: a split's parts times interleave or tile is 4294967296; give an integer from "
          "0 to 1073741824");
  refused(
      [](GemmModel& g) { g.sum.splits[0] = {.parts = 2, .reduction = static_cast<Reduction>(9)}; },
      "GemmModel: the reduction of a split is 9; give an integer from 0 to 7");
  refused([](GemmModel& g) { g.sum.splits[0] = {.parts = 2, .interleave = 4, .tile = 8}; },
          "GemmModel: a split has an interleave, beside which its tile has no effect; set one");
  refused([](GemmModel& g) { g.sum.splits[0] = {.parts = 2, .tail_after = true}; },
          "GemmModel: tail_after of a split has no effect without an interleave; set both");
  refused([](GemmModel& g) { g.sum.splits[0] = {.parts = 2, .first = 2}; },
          "GemmModel: the first part of a split is 2; give an integer from 0 to 1");
  refused([](GemmModel& g) { g.sum.splits[0] = {.parts = 2, .tail_first = true}; },
          "GemmModel: tail_first of a split goes with an interleave and without tail_after");
  refused([](GemmModel& g) { g.sum.splits[0] = {.parts = 2, .short_first = true}; },
          "GemmModel: short_first of a split goes with an interleave and without backward");
  refused([](GemmModel& g) { g.sum.splits[0] = {.parts = 2, .backward = 2}; },
          "GemmModel: backward of a split is at least 1, and above 1 goes with an interleave");
  refused([](GemmModel& g) { g.sum.splits[0] = {.parts = 2, .tail_mul_add = binary64}; },
          "GemmModel: tail_mul_add of a split goes with tail_after or tail_first");
  refused([](GemmModel& g) { g.sum.splits[0] = {.parts = 2, .shares = TileShares::listed}; },
          "GemmModel: the ends of a split with listed shares have to ascend from 1 on, for at most "
          "8 parts");
  refused([](GemmModel& g) { g.sum.splits[0] = {.parts = 2, .shares = TileShares::steps}; },
          "GemmModel: the first part of a split in steps is empty; give ends from 1 on");
  for (const StreamK& stream :
       {StreamK{}, StreamK{.tile_m = 1}, StreamK{1, 1, false, -1},
        StreamK{1, 1, false, 0, false, 3}, StreamK{1, 1, false, 0, false, 0}}) {
    refused(
        [&](GemmModel& g) {
          g.sum.splits[0] = {.parts = 4, .shares = TileShares::stream, .stream = stream};
        },
        "GemmModel: stream of a split goes with shares of stream, tiles and groups from 1 on, "
        "groups "
        "that divide the parts, no until or first, and parts that are added in order");
  }
  refused(
      [](GemmModel& g) {
        g.sum.splits[0] = {.parts = 2};
        g.sum.splits[1] = {.parts = 2, .shares = TileShares::stream, .stream = {1, 1}};
      },
      "GemmModel: stream-K lies in another split; make it the outermost one");
  refused([](GemmModel& g) { g.sum.promote_halves = 16; },
          "GemmModel: sum.promote_halves has no effect without promote_every; set both");
  refused(
      [](GemmModel& g) {
        g.sum.splits[0] = {
            .parts = 2, .interleave = 1, .tail_after = true, .tail_mul_add = binary32};
      },
      "GemmModel: tail_mul_add of a split is for instructions of one product, as fma.rn");
  refused([](GemmModel& g) { g.sum.splits[0] = {.parts = 2, .interleave = 4, .until = 128}; },
          "GemmModel: shares and until of a split are for runs; leave its interleave 0");
  refused([](GemmModel& g) { g.sum.splits[0] = {.parts = 3, .until = 128}; },
          "GemmModel: until of a split is for 2 parts, and at least 16");
  refused(
      [](GemmModel& g) { g.sum.splits[0] = {.parts = 3, .reduction = Reduction::listed}; },
      "GemmModel: the order of a listed split has to name each of its parts once, from 0 on, of "
      "at most 8, and its first part is 0");
  refused(
      [](GemmModel& g) {
        g.sum.splits[0].parts = 2;
        g.sum.reduced = s32;
      },
      "GemmModel: sum.reduced is no format of floating-point numbers that is computed with; give a "
      "named one");
  refused([](GemmModel& g) { g.sum.splits[1].parts = 2; },
          "GemmModel: a split lies in one of 1 part; give the splits from the outermost on");
  refused(
      [](GemmModel& g) {
        for (Split& split : g.sum.splits) split.parts = 4096;
      },
      "GemmModel: the parts of all splits together is 68719476736; give an integer from 1 to "
      "67108864");
}

}  // namespace
}  // namespace binade::model_check_test

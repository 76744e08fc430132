// SPDX-License-Identifier: Apache-2.0
//
// Names of products and words for orders: they are read, written back, or refused with a reason.
#include "lib/gemm/named_gemm.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/lib/text/error_of.h"

namespace binade::named_gemm_test {
namespace {

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE(
    "an instruction's product is plain: from +0, C in the epilogue, the accumulator's format") {
  const NamedGemm x = parse_gemm("mma.m16n8k16.f16.f16.f16.f16", 80);
  CHECK(x.instruction == "mma.m16n8k16.f16.f16.f16.f16");
  CHECK(x.sm == 80);
  CHECK(x.model.k == 16);
  CHECK(x.model.sum == Accumulation{.partial = binary16});
  CHECK(x.model.epilogue == Epilogue{.compute = binary16, .out = binary16});
  CHECK(options_of(x.model).empty());
}

TEST_CASE("a chain names its types in the order d a b c and no architecture") {
  const NamedGemm x = parse_gemm("fma.rn.f32.f16.bf16.f32", 0);
  CHECK(x.sm == 0);
  CHECK(x.model.k == 1);
  CHECK(x.model.model.recipe == Recipe::fma_chain);
  CHECK(x.model.types == DotTypes{binary16, bfloat16, binary32, binary32});
  CHECK(parse_gemm("mul_add.rn.f64.f64.f64.f64", 0).model.model.recipe == Recipe::mul_add_chain);
  CHECK(is_chain_name("fma.rn.f32"));
  CHECK_THROWS_WITH_AS(is_chain_name("fma.rz.f32.f32.f32.f32"),
                       doctest::Contains("chains round to nearest; write it as fma.rn."), Error);
  for (const auto& row : {std::pair{"fma.rn.f32", "has 1 types and not 4"},
                          {"fma.rn.f32.f32.f32.s8", "'s8', which is no floating-point type"},
                          {"fma.rn.f32.f32.f32.f99", "'f99', which is no floating-point type"},
                          {"mul_add.rn.f32.f32.f32.f16", "c of another type than d"}}) {
    CHECK(contains(test::error_of([&] { parse_gemm(row.first, 0); }), row.second));
  }
}

TEST_CASE("an instruction that drops its accumulator makes no product") {
  CHECK(contains(test::error_of([] { parse_gemm("wgmma.m64n8k16.f32.f16.f16.scale_d_0", 90); }),
                 "leave out scale_d_0"));
  CHECK(parse_gemm("wgmma.m64n8k16.f32.f16.f16.imm_scale_a_-1", 90).model.model.scales.minus_a);
}

TEST_CASE("splits are spelled as they are read") {
  const Split four = parse_split("4");
  CHECK(four == Split{.parts = 4});
  CHECK(parse_split("3:tile64") == Split{.parts = 3, .tile = 64});
  CHECK(parse_split("32:1:halves") ==
        Split{.parts = 32, .interleave = 1, .reduction = Reduction::halves});
  CHECK(parse_split("8:2:pairs:tail") ==
        Split{.parts = 8, .interleave = 2, .reduction = Reduction::pairs, .tail_after = true});
  for (const char* text : {"2",
                           "4096",
                           "2:16",
                           "3:descending",
                           "32:1:halves",
                           "8:2:pairs:tail",
                           "5:7:tail",
                           "3:tile64",
                           "6:tile128:descending",
                           "6:tile64:balanced",
                           "6:rest:pairs",
                           "2:tile8:rest:until128",
                           "2:until16:descending",
                           "7:bisect",
                           "7:32:fold:tail-first",
                           "5:64:pairwise:tail",
                           "4:1:back4:pairs",
                           "2:1:short-first:pairs:tail",
                           "3:tile32:at5-13",
                           "2:at1:descending",
                           "200:tile32:steps5-0-70000",
                           "108:tile32:stream128x64",
                           "5:stream1x1048576:columns:descending",
                           "6:tile8:stream2x3:first120:groups3:least8",
                           "6:stream2x3:columns:last12",
                           "4:1:pairs:tail-first:mul_add.f64",
                           "4:1:tail:mul_add.f32",
                           "4:from3",
                           "4:tile32:spread:descending:from1",
                           "3:2-0-1",
                           "8:1:7-6-5-4-3-2-1-0"}) {
    CHECK(spelled(parse_split(text)) == text);
  }
  for (const char* text : {"",
                           "1",
                           "4097",
                           "x",
                           "2:",
                           "2:0",
                           "2:tail",
                           "2:1:tail:pairs",
                           "2:1:2",
                           "2:halves:1",
                           "-2",
                           "2 ",
                           "2:tile",
                           "2:tile0",
                           "2:tile64:tail",
                           "2:4:tile64",
                           "2:tilex",
                           "4096:tile1048576",
                           "4096:1048576",
                           "4:listed",
                           "3:2-0",
                           "3:2-0-0",
                           "3:2-0-3",
                           "3:2-0-1:from1",
                           "9:8-7-6-5-4-3-2-1-0",
                           "4:from4",
                           "4:from",
                           "2:4:balanced",
                           "3:until128",
                           "2:until15",
                           "2:1:until16",
                           "2:tail-first",
                           "2:1:tail:tail-first",
                           "4:balanced:rest",
                           "3:at5",
                           "3:at5-5",
                           "2:at0",
                           "2:4:at1",
                           "9:at1-2-3-4-5-6-7-8",
                           "3:steps5-4",
                           "3:steps0-4-1",
                           "2:4:steps1-1-1",
                           "1:stream64x64",
                           "4:stream64",
                           "4:stream64x0",
                           "4:stream64x64:tile32",
                           "4:2:stream64x64",
                           "4:balanced:stream64x64",
                           "4:stream64x64:first0",
                           "4:stream64x64:first2:last2",
                           "4:stream64x64:groups3",
                           "4:stream64x64:pairs",
                           "4:stream64x64:3-2-1-0",
                           "4:stream64x64:from1",
                           "2:stream64x64:until16",
                           "2:back4",
                           "2:short-first",
                           "2:1:back2:short-first",
                           "2:1:back1",
                           "2:1:mul_add.f64",
                           "2:1:tail:mul_add.s32",
                           "4:from1:pairs"}) {
    CAPTURE(text);
    CHECK(contains(test::error_of([&] { parse_split(text); }),
                   "is not PARTS[:RUN|:tileN][:SHARES|:atENDS|:stepsA-B-C][:untilN]"));
  }
}

TEST_CASE("k orders are spelled as they are read") {
  CHECK(parse_k_order("ascending") == KOrder{});
  CHECK(parse_k_order("descending:4x2") == KOrder{.descending = true, .group = 4, .width = 2});
  CHECK(parse_k_order("ascending:second-first") == KOrder{.second_first = true});
  for (const char* text : {"ascending", "descending", "ascending:2x8", "descending:64x1",
                           "ascending:second-first", "descending:2x4:second-first"}) {
    CHECK(spelled(parse_k_order(text)) == text);
  }
  for (const char* text : {"", "up", "ascending:", "ascending:2", "ascending:1x2", "ascending:2x0",
                           "ascending:2x2:2", "second-first", "ascending:second-first:2x2"}) {
    CAPTURE(text);
    CHECK(contains(test::error_of([&] { parse_k_order(text); }), "is not ascending or descending"));
  }
}

TEST_CASE("options say all that is not usual, and words do too") {
  GemmModel g = parse_gemm("wgmma.m64n8k32.f32.e4m3.e4m3", 90).model;
  CHECK(order_text(g) == "k ascending");
  g.sum.promote_every = 4;
  CHECK(options_of(g) == "--promote-every 4");
  CHECK(order_text(g) == "k ascending; into f32 every 4 instructions");
  GemmModel streamed = g;
  streamed.sum.splits[0] = parse_split("9:tile32:stream64x128:columns:last7:groups3:least8");
  CHECK(
      order_text(streamed) ==
      "stream-K: 9 workers share the K of the last 7 tiles of 64 × 128 of D, along its columns, in "
      "tiles of 32, in 3 groups, each at least 8 iterations of a tile, added in f32, ascending; k "
      "ascending; into f32 every 4 instructions");
  g.sum.promotion = binary16;
  g.sum.splits[0] = parse_split("2");
  g.sum.splits[1] = parse_split("4:16:pairs:tail");
  g.sum.order = parse_k_order("descending:2x8");
  g.sum.partial = bfloat16;
  g.sum.c_first = true;
  g.epilogue = {binary16, -0.5, 2, false, e4m3, true};
  CHECK(
      options_of(g) ==
      "--k-order descending:2x8 --promote-every 4:f16 --split 2 --split 4:16:pairs:tail --partial "
      "bf16 --c-first --alpha -0.5 --beta 2 --fused beta --epilogue-format f16 --out-format e4m3 "
      "--saturate");
  CHECK(
      order_text(g) ==
      "K in 2 parts, each a run, added in bf16, ascending; K in 4 parts, by turns of 16, added in "
      "bf16, pairs, the tail after them; 2 instructions share 64 k, 8 in turn; k descending; into "
      "f16 every 4 instructions; begins with C; the sum rounded to f16 for the epilogue");
  g = parse_gemm("fma.rn.f32.f32.f32.f32", 0).model;
  g.sum.splits[0] = parse_split("2:tile8:rest:until128");
  g.sum.splits[1] = parse_split("4:1:3-0-2-1:tail-first");
  g.sum.splits[2] = parse_split("5:from2");
  g.sum.partial = bfloat16;
  g.sum.reduced = binary32;
  CHECK(options_of(g) ==
        "--split 2:tile8:rest:until128 --split 4:1:3-0-2-1:tail-first --split 5:from2 --partial "
        "bf16 --reduce-in f32");
  CHECK(order_text(g) ==
        "K in 2 parts, each a run of tiles of 8 (rest), again until 128, kept in bf16, added in "
        "f32, ascending; K in 4 parts, by turns of 1, kept in bf16, added in f32, 3-0-2-1, the "
        "tail before them; K in 5 parts, each a run, kept in bf16, added in f32, ascending from "
        "part 2 on; k ascending");
  g.sum.reduced = bfloat16;
  CHECK(options_of(g).ends_with("--partial bf16"));
  g.sum = Accumulation{};
  g.sum.partial = binary32;
  g.epilogue = {.out = e4m3,
                .rounding = Rounding::toward_zero,
                .sum = bfloat16,
                .through = binary16,
                .activation = Activation::relu,
                .scales = ScaleOrder::b_first,
                .bias_first = true};
  CHECK(options_of(g) ==
        "--scale-order b-first --bias-first --out-format e4m3 --sum-format bf16 --relu "
        "--out-through f16 --out-rounding toward_zero");
  CHECK(order_text(g) ==
        "k ascending; the sum rounded to bf16; the bias added first; B's scales before A's; below "
        "0 becomes 0; D by way of f16; D rounded toward_zero");
  g.epilogue = {.activation = Activation::gelu_tanh};
  CHECK(options_of(g) == "--activation gelu_tanh");
  CHECK(order_text(g) == "k ascending; gelu_tanh");
  GemmModel chain = parse_gemm("fma.rn.f32.f32.f32.f32", 0).model;
  chain.sum.promote_every = 384;
  CHECK(order_text(chain) == "k ascending; into f32 every 384 products");
  chain.sum.promote_halves = 16;
  chain.sum.splits[0] = parse_split("3:tile32:at5-13");
  CHECK(options_of(chain) == "--promote-every 384:halves16 --split 3:tile32:at5-13");
  CHECK(order_text(chain) ==
        "K in 3 parts, each a run of tiles of 32 (at5-13), added in f32, ascending; k ascending; "
        "into f32 every 384 products, the last two halved by 16");
  chain.sum.splits[0] = parse_split("4:1:back4:pairs:tail-first:mul_add.f64");
  CHECK(order_text(chain).starts_with(
      "K in 4 parts, by turns of 1, 4 rounds at a time backwards, added in f32, pairs, the tail by "
      "itself and then to them, its products rounded and added in f64; "));
}

}  // namespace
}  // namespace binade::named_gemm_test

// SPDX-License-Identifier: Apache-2.0
//
// Declares the options of a matrix product.
#include "lib/cli/gemm_options.h"

#include "emulate/attributes.h"
#include "emulate/gemm_model.h"
#include "lib/block/scale_layout.h"
#include "lib/cli/rule_options.h"
#include "lib/cli/suggestions.h"
#include "lib/instruction/instruction_name.h"
#include "lib/io/file_format.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

/// The names of all roundings, PTX's among them; operand_rounding() refuses one.
std::vector<std::string> operand_rounding_words() {
  std::vector<std::string> out;
  for (const NamedRounding& row : roundings) {
    out.emplace_back(row.name);
    if (!row.ptx.empty()) out.emplace_back(row.ptx);
  }
  return out;
}

/// The activations with their formulas: "relu max(+0, x); gelu …".
std::string activations_text() {
  std::string out;
  for (const ActivationRow& row : activations) {
    if (row.activation == Activation::none) continue;
    out += (out.empty() ? "" : "; ") + std::string(row.name) + " " + std::string(row.formula);
  }
  return out;
}

}  // namespace

std::string matrix_a_help() {
  return "file of the matrix A, of shape (M, K): " + single_file_formats(".npy") +
         " .pt, written FILE:NAME if the file holds several arrays";
}

void add_gemm_options(App app, GemmOptions& o) {
  app.add_option("A", o.files.a, matrix_a_help()).suggest_files().required();
  app.add_option("B", o.files.b,
                 "file of the matrix B, of shape (K, N); with --groups of several, (G, K, N)")
      .suggest_files()
      .required();
  app.add_option("C", o.c, "file of the matrix C, of shape (M, N) (default: zeros)")
      .suggest_files();
  app.add_option("--instruction", o.instruction,
                 "the instruction that multiplies: one of `binade architectures --names`, such as "
                 "mma.m16n8k16.f32.f16.f16.f32; or a chain of operations that round each time, "
                 "such as fma.rn.f32.f16.f16.f32 or mul_add.rn.f32.f32.f32.f32")
      .suggest(instruction_words)
      .required();
  app.add_option("--arch", o.architecture,
                 "architecture of the GPU whose instruction it is, " + architecture_range() +
                     "; required, except for a chain of rounded operations, which has none")
      .suggest(architecture_words);
  app.add_flag("--transpose-a", o.files.transposed_a, "the file of A holds its transpose, (K, M)");
  app.add_flag("--transpose-b", o.files.transposed_b, "the file of B holds its transpose, (N, K)");
  app.add_option("--groups", o.files.groups,
                 "file of integers that says which rows of A are in which group, as tokens of an "
                 "expert; each group has a B of its own, and the bias and the scales of B are "
                 "stacks as B is. Rows in no group are left out, and their elements of D are 0 "
                 "(default: there is one B)")
      .suggest_files();
  app.add_option("--group-layout", o.files.group_layout,
                 "what the numbers of --groups are: ends, the row behind each group's last "
                 "(PyTorch's offs); sizes, the rows of each group; rows, the group of each row of "
                 "A or -1 (DeepGEMM's m_indices); masked, how many rows are used of each of A's "
                 "matrices, which then is (G, rows, K) (DeepGEMM's masked_m); psum, ends where "
                 "each group begins at the next multiple of 128 rows (DeepGEMM)")
      .one_of(words_of_table(group_layouts))
      .capture_default_str();
  app.add_flag(
      "--round", o.files.round, rounding_name(Rounding::ties_to_even), operand_rounding_words(),
      "round operands to the instruction's types, to nearest, as cuBLAS does for tf32; or, as "
      "--round=ties_to_away, in another rounding: ties_to_away is cvt.rna and CUTLASS's for "
      "tf32. Without it a value that is no number of the type is refused, except that the low "
      "13 bits of a tf32 operand are ignored, as by the hardware");
  const char* const order = "The order of the sum";
  app.add_option(
         "--k-order", o.k_order,
         "in which order instructions take the positions in K: ascending or descending. "
         "With :GROUPxWIDTH behind it, such as ascending:2x4, each of GROUP instructions "
         "in a row takes WIDTH of their positions in turn. With :second-first, the first two "
         "instructions of each chain change places: fma(a0, b0, a1 · b1), as compilers "
         "contract a0 · b0 + a1 · b1")
      .suggest([] {
        return std::vector<std::string>{"ascending", "descending"};
      })
      .capture_default_str()
      .group(order);
  app.add_option("--promote-every", o.promote_every,
                 "N[:halvesM][:FORMAT]: after every N instructions the accumulator is added to a "
                 "register of this format (default: f32) and begins again at 0. CUTLASS's 2xAcc "
                 "and DeepSeek-V3 do so after 128 products. halvesM: where more than N and less "
                 "than 2N remain, they are halved, the first half a multiple of M, as OpenBLAS's "
                 "blocks of K (default: there is no such register)")
      .group(order);
  app.add_option(
         "--split", o.splits,
         "PARTS and, in this order and without spaces, [:RUN|:tileN] "
         "[:SHARES|:atENDS|:stepsA-B-C] [:untilN] [:backN|:short-first] [:REDUCTION] [:fromN] "
         "[:tail|:tail-first] [:mul_add.TYPE], such as 4, 2:16, "
         "3:tile64 or 8:1:pairs:tail: "
         "K is divided into PARTS that are summed one by one and "
         "then added. Each part is a run of whole instructions, or of whole tiles of N positions; "
         "with RUN, runs of so many positions go to the parts in turn. SHARES says how 14 tiles "
         "are shared among 6 parts: full (the default) gives 3 3 3 3 2 0, balanced 3 3 2 2 2 2, "
         "rest 2 2 2 2 2 4, spread 2 2 3 2 2 3; at5-13 makes parts of 5, of 8 and of what remains, "
         "steps5-4-1 of 5, 5, 4, 4, … and of what remains. untilN: 2 parts are divided again while "
         "they are "
         "longer than N. backN: N rounds over the parts at a time are taken backwards (NumPy's "
         "einsum: 4). short-first: a round over the parts that is not whole comes before the "
         "others. "
         "REDUCTION is the order in which parts are added: ascending (the default), "
         "descending, the parts in their order, such as 2-0-1, or a tree: pairs, halves, bisect, "
         "fold or pairwise (emulate/gemm_model.h). fromN: parts are counted from part N on, going "
         "round. tail: positions left over by the runs are added to the finished sum; tail-first: "
         "they are summed by themselves, and the sum of the parts begins with them. mul_add.f64: "
         "each product of the tail is rounded and added in f64 (OpenBLAS's dot). "
         "WORKERS[:tileN]:streamROWSxCOLUMNS [:columns] [:firstT|:lastT] [:groupsG] [:leastN] is "
         "stream-K: the iterations of N positions of K of all tiles of D, of so many rows and "
         "columns, are shared evenly among workers, tile after tile along rows, or along columns. "
         "firstT, lastT: of only so many tiles, the others are one worker's each (CUTLASS has the "
         "shared ones first, Triton's kernels last). groupsG, leastN: workers in groups with every "
         "G-th tile each, and none begins or ends less than N iterations from a tile's end "
         "(CUTLASS 3: least8). Given up to "
         "three times, splits lie in each other, the outermost first (default: K is not divided)")
      .allow_extra_args(false)
      .group(order);
  app.add_option(
         "--partial", o.partial,
         "format in which the parts of --split are kept and added (default: the accumulator's)")
      .suggest(type_and_format_words)
      .group(order);
  app.add_option("--reduce-in", o.reduce_in,
                 "format in which the parts of --split are added, if they are kept in another one, "
                 "as a workspace in bf16 that is summed in f32 (default: that of --partial)")
      .suggest(type_and_format_words)
      .group(order);
  app.add_flag("--c-first", o.c_first,
               "sums begin with C (default: they begin with 0, and the epilogue adds C)")
      .group(order);
  app.add_option("--scale-run", o.files.scale_run,
                 "how many elements of K share a scale in --a-scale and --b-scale where these are "
                 "of blocks, or 128,32 of A's and of B's (default: as their shapes say, or the "
                 "instruction's where it multiplies by scales)")
      .group(order);
  app.add_option("--scale-layout", o.files.scale_layout,
                 "in which order the scales of blocks lie in their files: " +
                     listed(names_of(scale_layouts)) +
                     "; of A's and of B's, if they are unlike, as te_1d,te_2d")
      .suggest(scale_layout_words)
      .capture_default_str()
      .group(order);
  app.add_option(
         "--promote-scales", o.promote_scales,
         "ORDER[:rounded]: how a promotion multiplies the accumulator by scales of blocks "
         "before it is added to the register: by the product of both (together), or by one "
         "after the other (a-first, b-first). The last product and the sum are one fma, or, "
         "with :rounded, the product is rounded first. DeepGEMM has together, Triton's "
         "kernels a-first")
      .suggest([] {
        std::vector<std::string> out;
        for (const std::string_view name : scale_order_names) {
          out.emplace_back(name);
          out.push_back(out.back() + ":rounded");
        }
        return out;
      })
      .capture_default_str()
      .group(order);
  const char* const epilogue = "The epilogue: D = alpha·sum + beta·C + bias";
  app.add_option("--alpha", o.alpha, "factor of the sum").capture_default_str().group(epilogue);
  app.add_option("--beta", o.beta, "factor of C; with 0, C is not read")
      .capture_default_str()
      .group(epilogue);
  app.add_option("--bias", o.bias,
                 "file of the bias, of shape (N,), which is added to each row (default: none)")
      .suggest_files()
      .group(epilogue);
  app.add_option("--a-scale", o.files.a_scale,
                 "file of scales, one for each row of A or one for all, in binary32: the sum is "
                 "multiplied by them; a product of integers then ends in f32 or as --out-format "
                 "says. Or one for each block, of shape (M/rows, K/run), such as (M, K/128): the "
                 "instruction multiplies by them if it has scales, else the promotion, by default "
                 "after each run (default: none)")
      .suggest_files()
      .group(epilogue);
  app.add_option("--b-scale", o.files.b_scale,
                 "file of scales, one for each column of B or one for all; or of blocks, K along "
                 "the axis that it has in the file of B")
      .suggest_files()
      .group(epilogue);
  app.add_option(
         "--a-tensor-scale", o.files.a_tensor_scale,
         "scale of all of A beside those of blocks, such as NVFP4's: a number, or a file of "
         "one; the finished sum is multiplied by it")
      .suggest_files()
      .group(epilogue);
  app.add_option("--b-tensor-scale", o.files.b_tensor_scale, "the same of B")
      .suggest_files()
      .group(epilogue);
  app.add_option("--scale-order", o.scale_order,
                 "which scale the sum is multiplied by first, or together: by the product of both. "
                 "The last factor takes alpha's place")
      .one_of({scale_order_names.begin(), scale_order_names.end()})
      .capture_default_str()
      .group(epilogue);
  app.add_option("--a-zero-point", o.files.a_zero_point,
                 "file of integers, one for each row of A or one for all, which are subtracted "
                 "from its elements before they are multiplied; of a product of integers")
      .suggest_files()
      .group(epilogue);
  app.add_option("--b-zero-point", o.files.b_zero_point,
                 "file of integers, one for each column of B or one for all, as --a-zero-point")
      .suggest_files()
      .group(epilogue);
  app.add_flag("--bias-first", o.bias_first,
               "the bias is added before the sum is multiplied by scales or alpha (default: after)")
      .group(epilogue);
  app.add_option("--fused", o.fused,
                 "which product is fused with the addition: alpha gives fma(alpha, sum, beta·C) + "
                 "bias, beta gives fma(beta, C, fma(alpha, sum, bias))")
      .one_of({"alpha", "beta"})
      .capture_default_str()
      .group(epilogue);
  app.add_option("--epilogue-format", o.epilogue_format,
                 "format in which the epilogue computes (default: the accumulator's)")
      .suggest(type_and_format_words)
      .group(epilogue);
  app.add_option("--out-format", o.out_format, "format of D (default: the accumulator's)")
      .suggest(type_and_format_words)
      .group(epilogue);
  app.add_flag("--saturate", o.saturate,
               "what overflows in D becomes the largest finite number, as with PTX's .satfinite "
               "(default: infinity)")
      .group(epilogue);
  app.add_option("--sum-format", o.sum_format,
                 "format that the sum is rounded to before the epilogue computes, as where a bias "
                 "of f32 is added to a product of bf16 (default: the sum is not rounded)")
      .suggest(type_and_format_words)
      .group(epilogue);
  app.add_flag("--relu", o.relu, "the same as --activation relu").group(epilogue);
  app.add_option("--activation", o.activation,
                 "what is applied behind the bias: " + activations_text() +
                     ". The last three are exact up to one rounding to f32, where kernels round "
                     "each step")
      .one_of(words_of_table(activations))
      .capture_default_str()
      .group(epilogue);
  app.add_option("--out-through", o.out_through,
                 "format that the result is rounded to before it is rounded to D's, as from f32 "
                 "by way of bf16 to e4m3 (default: it is rounded once)")
      .suggest(type_and_format_words)
      .group(epilogue);
  app.add_option("--out-rounding", o.out_rounding,
                 "how the result is rounded to D's format: ties_to_even, ties_to_away, "
                 "toward_zero, toward_positive, toward_negative, to_odd or stochastic, or as PTX "
                 "and TestFloat name them")
      .suggest([] { return words_of_table(roundings); })
      .capture_default_str()
      .group(epilogue);
  app.add_option("--seed", o.seed,
                 "seed of stochastic rounding, from 0 to 2^64 - 1; element (i, j) of D, of N "
                 "columns, draws word i·N + j of stream 0, as binade quantize does of a first "
                 "tensor")
      .capture_default_str()
      .group(epilogue);
  add_rule_options(app, o.rules);
}

}  // namespace binade

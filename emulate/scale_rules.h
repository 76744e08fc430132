// SPDX-License-Identifier: Apache-2.0
//
// The table of scale rules: whose they are, for which scales and elements, and their steps
// (scale_rule.h).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "emulate/scale_rule.h"

namespace binade {

/// A row of the table of scale rules.
struct NamedScaleRule {
  std::string_view name;  ///< the stack, and which of its rules; one name may have a row for each
                          ///< kind of scale
  Format scale{};         ///< the format of the scales that it gives
  bool tensor_scale = false;  ///< whether a scale of the tensor lies over them
  /// The element formats that the stack has; those after the last are default values. None: any.
  std::array<Format, 5> elements{};
  ScaleRule rule{};
  std::string_view source;  ///< whose it is: project, revision, file
  /// What is taken as exact, though the stack uses an approximate instruction, or what it gives is
  /// not specified; empty: nothing is open.
  std::string_view open{};
  bool steps_of_input = false;  ///< ScaleRule::steps is the dtype of the numbers (rule_for)
};

namespace scale_rule_parts {

inline constexpr std::array<Format, 5> floating_mx{e4m3, e5m2, e3m2, e2m3, e2m1};
inline constexpr std::array<Format, 5> floating_fp8{e4m3, e5m2, e4m3fnuz, e5m2fnuz};
inline constexpr std::uint32_t two_to_minus_9 = 0x3B000000;
inline constexpr std::uint32_t ten_to_minus_4 = 0x38D1B717;   ///< 1e-4 in binary32
inline constexpr std::uint32_t ten_to_minus_8 = 0x322BCC77;   ///< 1e-8
inline constexpr std::uint32_t ten_to_minus_10 = 0x2EDBE6FF;  ///< 1e-10
inline constexpr ElementCast torchao_cast{.nan = NanElement::payload};
inline constexpr ElementCast modelopt_cast{.zero = ZeroSign::of_negative};
inline constexpr ElementCast aiter_cast{.nan = NanElement::zero, .zero = ZeroSign::of_negative};
inline constexpr ElementCast modelopt_mx_cast{
    .ties = Rounding::ties_toward_zero, .nan = NanElement::zero, .zero = ZeroSign::minus_zero};
inline constexpr ElementCast clamped_cast{.nan = NanElement::positive_largest};
inline constexpr ElementCast vllm_cast{.nan = NanElement::negative_largest};
inline constexpr ElementCast deepgemm_cast{
    .ties = Rounding::ties_toward_zero, .nan = NanElement::zero, .zero = ZeroSign::positive};

inline constexpr std::string_view
    ao = "pytorch/ao 36027d8, torchao/prototype/mx_formats/mx_tensor.py, to_mx",
    ao_nvfp4 = "pytorch/ao 36027d8, torchao/prototype/mx_formats/nvfp4_tensor.py, nvfp4_quantize",
    ao018 = "torchao 0.18.0, torchao/prototype/mx_formats/mx_tensor.py, to_mx",
    ao_fp8 = "pytorch/ao 36027d8, torchao/float8/float8_utils.py, amax_to_scale",
    te_recipe = "TransformerEngine d0067d0, common/recipe/recipe_common.cuh",
    te_fp4 = "TransformerEngine d0067d0, common/cast/nvfp4/core_nvfp4.cuh",
    opt = "NVIDIA/Model-Optimizer a2fbac7, modelopt/torch/quantization/qtensor",
    dg = "deepseek-ai/DeepGEMM 54e2261, deep_gemm/utils/math.py",
    aiter =
        "ROCm/aiter e404860, csrc/kernels/quant_kernels.cu, "
        "dynamic_per_group_scaled_quant_kernel (RoundUp since c654495)",
    aiter_rope =
        "ROCm/aiter e404860, csrc/kernels/inverse_rope_group_quant.cu, "
        "fused_qk_norm_rope_cache_quant.cu",
    aiter_mxfp4 = "ROCm/aiter e404860, csrc/kernels/quant_mxfp4.cu",
    aiter_triton = "ROCm/aiter e404860, aiter/ops/triton/_triton_kernels/quant/quant.py",
    aiter_token =
        "ROCm/aiter e404860, csrc/kernels/quant_kernels.cu, dynamic_per_token_scaled_quant_kernel",
    triton_kernels =
        "triton-lang/triton 018a674, python/triton_kernels/triton_kernels/numerics_details, "
        "mxfp_details/_downcast_to_mxfp.py",
    mslk_fp8 = "meta-pytorch/MSLK 2a3c897, mslk/quantize/triton/fp8_quantize.py, quantize_fp8_row",
    mslk_nvfp4 =
        "meta-pytorch/MSLK 2a3c897, mslk/quantize/triton/quantize_kernels/nvfp4.py, quantize_nvfp4",
    vllm_group = "vLLM 0f5257e, csrc/quantization/w8a8/fp8/per_token_group_quant.cu",
    compressed = "vllm-project/compressed-tensors 0.20.1, quantization/utils",
    vllm_fp4 = "vLLM 20b4ad8, csrc/libtorch_stable/quantization/fp4/nvfp4_utils.cuh",
    flashinfer = "FlashInfer fb28d72, csrc/nv_internal/tensorrt_llm/kernels/quantization_utils.cuh",
    trtllm = "TensorRT-LLM 0193dbd, cpp/tensorrt_llm/kernels/quantization.cuh",
    exact_log2 = "log2 as correctly rounded",
    exact_reciprocal =
        "rcp.approx.ftz as 1/x, rounded; a block of NaN alone as one of zeros, of which the "
        "kernel's "
        "scale is a NaN",
    odd_nan =
        "NaN in all odd places of a block as passed over, where the kernel's scale is a NaN; a "
        "block "
        "of NaN alone as one of zeros",
    odd_nan_and_reciprocal =
        "rcp.approx.ftz as 1/x, rounded; NaN in all odd places of a block as passed over, where "
        "the "
        "kernel's scale is a NaN; a block of NaN alone as one of zeros",
    odd_nan_and_power =
        "ex2.approx.ftz of an integer as exact; NaN in all odd places of a block as passed over, "
        "where the kernel's scale is a NaN; a block of NaN alone as one of zeros",
    exact_quotient = "Triton's quotients as correctly rounded",
    gfx950_cast =
        "gfx950's v_cvt_scalef32_pk_fp4 as x / scale, to nearest even, saturated, and NaN "
        "as the largest number",
    gfx950_software = "on gfx950 v_cvt_scalef32_pk_fp4 stands in the place of the element's steps",
    gfx950_software_log2 =
        "log2 and exp2 of powers of two as exact; on gfx950 v_cvt_scalef32_pk_fp4 stands in the "
        "place of the element's steps",
    med3 = "v_med3_f32 of NaN as the lower limit",
    med3_and_reciprocal =
        "v_rcp_f32 as 1/x, rounded; v_med3_f32 of NaN as the lower limit, which zeros are, too, "
        "under a scale of 0",
    triton_quotient =
        "Triton's quotients as correctly rounded; its PyTorch reference gives a block with a NaN "
        "the scale 00",
    triton_power =
        "Triton's quotients as correctly rounded; a block of NaN alone as one of zeros, of which "
        "the "
        "kernel's scale is FF; its PyTorch reference gives a block with any NaN the scale FF",
    triton_alone =
        "Triton's quotients as correctly rounded; a block of NaN alone as one of zeros, of which "
        "the "
        "kernel's scale is a NaN; scales too large as the largest number",
    triton_log2 =
        "log2 and exp2 of powers of two as exact; what it adds 127 to is a negative "
        "number converted to uint8: taken as modulo 256; a block of NaN alone as one of zeros, of "
        "which the kernel's scale is FE; elements of NaN as of 7FC00000",
    triton_log2_inf =
        "log2 and exp2 of powers of two as exact; Inf as the largest number; a block of NaN alone "
        "as "
        "one of zeros, of which the kernel's scale is FE",
    clip_of_nan = "NaN as the largest number; other steps on CPUs; without scale_ub",
    med3_or_instruction =
        "NaN as by v_med3_f32, the lower limit; fused_qk_norm_rope_cache_quant.cu "
        "leaves it to v_cvt_pk_fp8_f32, and on gfx1250 it discards its slice's amax",
    unspecified_nonfinite =
        "log2 as correctly rounded; the scale of a block with Inf or NaN as "
        "FF: a conversion that is not specified",
    unspecified_infinite =
        "scales of Inf, NaN and amaxes from 1.75 · 2^127 on as FF: a conversion "
        "that is not specified; numbers of binary16 as those of binary32",
    unspecified_nan = "NaN as the largest number: a conversion that is not specified",
    eager_torch = "torch's eager code; kernels of mslk take its place on some GPUs",
    x86_nan = "NaNs with the bits that x86 gives them",
    nan_as_positive =
        "NaNs, also of a tensor of zeros, as scales 7F and codes of 7FC00000, where x86 gives 0/0 "
        "a "
        "sign: FF and 0C",
    exact_log2_x86_nan = "log2 as correctly rounded; NaNs with the bits that x86 gives them",
    calibrated = "its MSE calibrator gives some blocks 1.5 times their amax: here none",
    bfloat16_alone =
        "numbers of other dtypes are not rounded to bfloat16, which alone has this kernel; "
        "negative products below 2^-150 as +0; fused transforms have other steps";

/// A rule whose scales are powers of two.
constexpr NamedScaleRule power(std::string_view name, const std::array<Format, 5>& elements,
                               std::string_view source, const ScaleRule& rule,
                               std::string_view open = {}) {
  return {.name = name,
          .scale = e8m0,
          .elements = elements,
          .rule = rule,
          .source = source,
          .open = open};
}

/// The steps of aiter's RoundUp. Its build flushes, which no bit shows where amax has a floor.
constexpr ScaleRule aiter_steps(std::uint32_t least_amax, const ElementCast& cast) {
  return {.quotient = Quotient::over_max,
          .rounding = ScaleRounding::field_up,
          .factor = Factor::power_field,
          .nan_is_amax = false,
          .flushes = least_amax == 0,
          .least_amax = least_amax,
          .by_reciprocal = true,
          .cast = cast};
}

/// The steps of aiter's in Triton.
constexpr ScaleRule even_steps(ScaleRounding rounding, const ElementCast& cast) {
  return {.rounding = rounding,
          .nan_is_amax = false,
          .last_code = 0xFE,
          .inf_code = 0xFE,
          .cast = cast};
}

/// The steps of triton_kernels with scales of e8m0.
constexpr ScaleRule triton_steps(Quotient quotient, ScaleRounding rounding) {
  return {.quotient = quotient,
          .rounding = rounding,
          .factor = Factor::power_field,
          .nan_is_amax = false};
}

/// The steps of TensorRT-LLM's kernel with scales of e8m0, and of FlashInfer's copy, which flushes.
constexpr ScaleRule trtllm_steps(bool flushes, const ElementCast& cast) {
  return {.quotient = Quotient::over_max,
          .rounding = ScaleRounding::up,
          .factor = Factor::power_flushed,
          .nan_is_amax = false,
          .flushes = flushes,
          .last_code = 0xFE,
          .by_reciprocal = true,
          .cast = cast};
}

/// A rule whose scales are numbers of binary32, to which the quotient is rounded to nearest.
constexpr NamedScaleRule number(std::string_view name, const std::array<Format, 5>& elements,
                                std::string_view source, ScaleRule rule,
                                std::string_view open = {}) {
  rule.rounding = ScaleRounding::nearest;
  return {.name = name,
          .scale = binary32,
          .elements = elements,
          .rule = rule,
          .source = source,
          .open = open};
}

/// A rule whose scales are numbers of e4m3 under one of binary32, rounded to nearest, too.
constexpr NamedScaleRule nvfp4(std::string_view name, std::string_view source, ScaleRule rule,
                               std::string_view open = {}) {
  rule.rounding = ScaleRounding::nearest;
  return {.name = name,
          .scale = ue4m3,
          .tensor_scale = true,
          .elements = {e2m1},
          .rule = rule,
          .source = source,
          .open = open};
}

/// The same row, whose steps are of the dtype of the numbers.
constexpr NamedScaleRule by_input(NamedScaleRule row) {
  row.steps_of_input = true;
  return row;
}

/// The same rule as torch computes it on CUDA, where it divides a tensor by a number.
constexpr NamedScaleRule on_cuda(std::string_view name, NamedScaleRule row) {
  row.name = name;
  row.rule.by_reciprocal = true;
  if (row.rule.cast.nan == NanElement::payload) {
    row.open = row.open == exact_log2 ? exact_log2_x86_nan : x86_nan;
  }
  return row;
}

/// A rule of TransformerEngine's by which a block chooses among two scales, under a scale of the
/// tensor that aims at `largest`, or at the largest number of the format if that is 0.
constexpr NamedScaleRule te_4over6(std::string_view name, FourOrSix choice, int largest) {
  return nvfp4(name, "TransformerEngine d0067d0, common/cast/nvfp4/quantize_4over6_nvfp4.cuh",
               {.quotient = Quotient::over_max_encode,
                .factor = Factor::reciprocal_of_product,
                .nan_is_amax = false,
                .largest_scale = largest,
                .four_or_six = choice});
}

/// A rule of MSLK's, which divides by 6 or multiplies by 1/6.
constexpr NamedScaleRule mslk(std::string_view name, bool by_reciprocal) {
  return nvfp4(name, mslk_nvfp4,
               {.quotient = Quotient::over_max_encode,
                .factor = Factor::reciprocal_over_scale,
                .nan_is_amax = false,
                .first_code = 1,
                .last_code = 0x7E,
                .nan_code = 1,
                .encode_is_given = true,
                .by_reciprocal = by_reciprocal});
}

}  // namespace scale_rule_parts

/// The table. Of the rows that fit a block format the first is the usual one.
inline constexpr auto scale_rules = [] {
  using namespace scale_rule_parts;
  using Q = Quotient;
  using R = ScaleRounding;
  using F = Factor;
  const NamedScaleRule torchao018_rceil =
      power("torchao018_rceil", floating_mx,
            "torchao 0.18.0, torchao/prototype/mx_formats/mx_tensor.py, _to_mx_rceil",
            {.quotient = Q::over_max,
             .rounding = R::log2_up,
             .factor = F::power_or_one,
             .last_code = 0xFE,
             .inf_code = 0xFE,
             .nan_code = 0xFF,
             .cast = torchao_cast},
            exact_log2);
  const NamedScaleRule modelopt_fp8 =
      power("modelopt", {e4m3}, opt,
            {.quotient = Q::over_max, .rounding = R::log2_up, .last_code = 0xFE, .nan_code = 0},
            exact_log2);
  const NamedScaleRule modelopt_fp4 = power("modelopt", {e2m1}, opt,
                                            {.quotient = Q::over_max,
                                             .rounding = R::log2_up,
                                             .factor = F::power_to_infinity,
                                             .inf_code = 0xFF,
                                             .nan_code = 0xFF,
                                             .cast = modelopt_mx_cast},
                                            unspecified_nonfinite);
  const ScaleRule te_steps{
      .quotient = Q::max_over, .factor = F::encode, .nan_is_amax = false, .one_if_unusable = true};
  const NamedScaleRule torchao_inference = by_input(
      number("torchao_inference", floating_fp8,
             "pytorch/ao 36027d8, torchao/quantization/quant_primitives.py, _choose_scale_float8",
             {.quotient = Q::over_max, .factor = F::over_scale}, eager_torch));
  const NamedScaleRule deepgemm_fp8 =
      number("deepgemm", {e4m3}, dg,
             {.quotient = Q::over_max, .factor = F::reciprocal, .least_amax = ten_to_minus_4});
  const NamedScaleRule deepgemm_fp4 = number("deepgemm", {e2m1}, dg,
                                             {.quotient = Q::over_max,
                                              .factor = F::reciprocal,
                                              .least_amax = ten_to_minus_4,
                                              .cast = deepgemm_cast});
  const NamedScaleRule torchao_nvfp4 = nvfp4("torchao", ao_nvfp4,
                                             {.quotient = Q::over_max_over,
                                              .factor = F::reciprocal_over_scale,
                                              .first_code = 8,
                                              .last_code = 0x7E,
                                              .cast = torchao_cast},
                                             nan_as_positive);
  const NamedScaleRule torchao_alone{.name = "torchao",
                                     .scale = ue4m3,
                                     .elements = {e2m1},
                                     .rule = {.quotient = Q::over_max,
                                              .rounding = R::nearest,
                                              .factor = F::reciprocal,
                                              .first_code = 8,
                                              .last_code = 0x7E,
                                              .cast = torchao_cast},
                                     .source = ao_nvfp4};
  const NamedScaleRule modelopt_nvfp4 = nvfp4("modelopt", opt,
                                              {.quotient = Q::over_product,
                                               .factor = F::over_product,
                                               .first_code = 1,
                                               .last_code = 0x7E,
                                               .cast = modelopt_cast});
  const auto static_modelopt = [](std::string_view name, int largest, std::string_view open) {
    return nvfp4(name, opt,
                 {.quotient = Q::share_of_max,
                  .factor = F::over_product,
                  .first_code = 1,
                  .last_code = 0x7E,
                  .largest_scale = largest,
                  .cast = modelopt_cast},
                 open);
  };
  const NamedScaleRule modelopt_static = static_modelopt("modelopt_static", 0, {});
  const NamedScaleRule modelopt_4over6 = static_modelopt("modelopt_4over6", 256, calibrated);
  const NamedScaleRule compressed_nvfp4 = by_input(nvfp4("compressed_tensors", compressed,
                                                         {.quotient = Q::over_max_wide_encode,
                                                          .factor = F::over_quotient,
                                                          .zero_code = 0x20,
                                                          .cast = modelopt_cast},
                                                         unspecified_nan));
  return std::to_array<NamedScaleRule>({
      // Powers of two, in e8m0.
      power("ocp", {}, "OCP MX 1.0, 6.3, which leaves Inf and NaN open: here the block is NaN",
            {.last_code = 0xFE, .inf_code = 0xFF, .nan_code = 0xFF}),
      power("torchao_floor", floating_mx, ao,
            {.inf_code = 0xFF, .nan_code = 0xFF, .cast = torchao_cast}),
      power("torchao_ceil", floating_mx, ao,
            {.rounding = R::field_up, .inf_code = 0xFF, .nan_code = 0xFF, .cast = torchao_cast}),
      power("torchao_even", floating_mx, ao,
            {.rounding = R::half_up, .inf_code = 0xFF, .nan_code = 0xFF, .cast = torchao_cast}),
      power("torchao_rceil", floating_mx,
            "pytorch/ao 36027d8, torchao/prototype/mx_formats/mx_tensor.py, _to_mx_rceil",
            {.quotient = Q::over_max,
             .rounding = R::up,
             .inf_code = 0xFF,
             .nan_code = 0xFF,
             .by_reciprocal = true,
             .cast = torchao_cast}),
      power("torchao018_floor", floating_mx, ao018,
            {.factor = F::power_normal, .nan_code = 0xFF, .cast = torchao_cast}),
      power("torchao018_ceil", floating_mx, ao018,
            {.rounding = R::field_up,
             .factor = F::power_normal,
             .nan_code = 0xFF,
             .cast = torchao_cast}),
      power("torchao018_even", floating_mx, ao018,
            {.rounding = R::half_up,
             .factor = F::power_normal,
             .nan_code = 0xFF,
             .cast = torchao_cast}),
      torchao018_rceil,
      on_cuda("torchao018_rceil_cuda", torchao018_rceil),
      power("te", {e4m3, e5m2}, "TransformerEngine d0067d0, common/cast/mxfp8/quantize_mxfp8.cuh",
            {.quotient = Q::over_max,
             .rounding = R::up,
             .nan_is_amax = false,
             .last_code = 0xFE,
             .by_reciprocal = true}),
      power("aiter", {e2m1}, aiter, aiter_steps(ten_to_minus_10, {}), gfx950_cast),
      power("aiter", {e4m3, e4m3fnuz}, aiter, aiter_steps(ten_to_minus_10, vllm_cast), med3),
      power("aiter_rope", {e4m3, e4m3fnuz}, aiter_rope, aiter_steps(ten_to_minus_8, vllm_cast),
            med3_or_instruction),
      power("aiter_up", {e2m1}, aiter_mxfp4, aiter_steps(0, aiter_cast), gfx950_software),
      power("aiter_down", {e2m1}, aiter_mxfp4,
            {.quotient = Q::over_power,
             .factor = F::power_field,
             .nan_is_amax = false,
             .flushes = true,
             .cast = aiter_cast},
            gfx950_software),
      power("aiter_ceil", {e2m1}, aiter_mxfp4,
            {.quotient = Q::over_power,
             .rounding = R::field_up,
             .factor = F::power_field,
             .nan_is_amax = false,
             .flushes = true,
             .cast = aiter_cast},
            gfx950_software),
      power("aiter_even", {e2m1}, aiter_mxfp4,
            {.rounding = R::half_up,
             .factor = F::power_or_zero,
             .nan_is_amax = false,
             .flushes = true,
             .last_code = 0xFE,
             .inf_code = 0xFE,
             .cast = aiter_cast},
            gfx950_software_log2),
      power("aiter_triton", {e2m1}, aiter_triton, even_steps(R::half_up, torchao_cast),
            triton_log2),
      power("aiter_triton", {e4m3}, aiter_triton, even_steps(R::half_up_to_2, {}), triton_log2_inf),
      power("triton_kernels", {e4m3, e5m2, e2m1}, triton_kernels,
            triton_steps(Q::over_max, R::field_up), triton_quotient),
      power("triton_kernels_down", {e4m3, e5m2, e2m1}, triton_kernels,
            triton_steps(Q::over_power, R::down), triton_power),
      power("deepgemm", {e4m3}, dg,
            {.quotient = Q::over_max,
             .rounding = R::field_up,
             .least_amax = ten_to_minus_4,
             .first_code = 1,
             .last_code = 0xFE}),
      power("deepgemm", {e2m1}, dg,
            {.quotient = Q::over_max,
             .rounding = R::field_up,
             .least_amax = ten_to_minus_4,
             .first_code = 1,
             .last_code = 0xFE,
             .cast = deepgemm_cast}),
      modelopt_fp8,
      modelopt_fp4,
      on_cuda("modelopt_cuda", modelopt_fp8),
      on_cuda("modelopt_cuda", modelopt_fp4),
      power("vllm", {e4m3}, vllm_group,
            {.quotient = Q::over_max,
             .rounding = R::field_up,
             .factor = F::power_field,
             .nan_is_amax = false,
             .least_quotient = ten_to_minus_10,
             .cast = vllm_cast}),
      power("vllm_log2", {e4m3}, vllm_group,
            {.quotient = Q::over_max,
             .rounding = R::log2_up,
             .factor = F::power_field,
             .nan_is_amax = false,
             .least_quotient = ten_to_minus_10,
             .cast = vllm_cast},
            exact_log2),
      power("vllm", {e2m1}, vllm_fp4,
            {.rounding = R::half_up,
             .factor = F::power_or_zero,
             .nan_is_amax = false,
             .last_code = 0xFE}),
      power("compressed_tensors", {e2m1}, compressed,
            {.rounding = R::half_up,
             .factor = F::power_to_infinity,
             .inf_code = 0xFF,
             .nan_code = 0xFF,
             .cast = modelopt_cast},
            unspecified_infinite),
      power("compressed_tensors", {e2m3}, compressed,
            {.rounding = R::half_up,
             .factor = F::power_to_infinity,
             .inf_code = 0xFF,
             .nan_code = 0xFF},
            unspecified_infinite),
      power("compressed_tensors", {e4m3}, compressed,
            {.rounding = R::half_up_to_2,
             .factor = F::power_to_infinity,
             .inf_code = 0xFF,
             .nan_code = 0xFF},
            unspecified_infinite),
      power("flashinfer", {e2m1}, flashinfer, trtllm_steps(true, {}), odd_nan_and_power),
      power("flashinfer", {e4m3}, flashinfer, trtllm_steps(true, clamped_cast), odd_nan_and_power),
      power("trtllm", {e2m1, e4m3}, trtllm, trtllm_steps(false, {}), odd_nan_and_reciprocal),
      // Numbers of binary32.
      by_input(number("te", {e4m3, e5m2}, te_recipe, te_steps)),
      number("te_current", {e4m3, e5m2},
             "TransformerEngine d0067d0, common/recipe/current_scaling.cu", te_steps),
      number("te_pow2", {e4m3, e5m2}, te_recipe,
             {.quotient = Q::max_over,
              .factor = F::encode,
              .nan_is_amax = false,
              .one_if_unusable = true,
              .factor_rounding = FactorRounding::to_power}),
      number("torchao", floating_fp8, ao_fp8, {.quotient = Q::max_over_wide, .factor = F::encode}),
      number("torchao_pow2", floating_fp8, ao_fp8,
             {.quotient = Q::max_over_wide,
              .factor = F::encode,
              .factor_rounding = FactorRounding::log2_floor},
             exact_log2),
      torchao_inference,
      on_cuda("torchao_inference_cuda", torchao_inference),
      deepgemm_fp8,
      on_cuda("deepgemm_cuda", deepgemm_fp8),
      deepgemm_fp4,
      on_cuda("deepgemm_cuda", deepgemm_fp4),
      number("aiter", {e4m3, e4m3fnuz}, aiter,
             {.quotient = Q::over_max,
              .factor = F::reciprocal,
              .nan_is_amax = false,
              .least_amax = ten_to_minus_10,
              .by_reciprocal = true,
              .cast = vllm_cast},
             med3),
      number("aiter_token", {e4m3, e4m3fnuz}, aiter_token,
             {.quotient = Q::over_max,
              .factor = F::reciprocal,
              .nan_is_amax = false,
              .flushes = true,
              .by_reciprocal = true,
              .cast = vllm_cast},
             med3_and_reciprocal),
      number("mslk", {e4m3, e4m3fnuz}, mslk_fp8,
             {.quotient = Q::over_max,
              .factor = F::over_scale,
              .nan_is_amax = false,
              .least_amax = two_to_minus_9,
              .cast = clamped_cast},
             clip_of_nan),
      number("vllm", {e4m3}, vllm_group,
             {.quotient = Q::over_max,
              .factor = F::over_scale,
              .nan_is_amax = false,
              .least_amax = ten_to_minus_10,
              .cast = vllm_cast}),
      number("deepseek", {e4m3}, "deepseek-ai/DeepSeek-V3 9b4e978, inference/kernel.py, act_quant",
             {.quotient = Q::over_max,
              .factor = F::over_scale,
              .nan_is_amax = false,
              .least_amax = ten_to_minus_4},
             exact_quotient),
      // Numbers of e4m3 under one of binary32.
      nvfp4("te", te_fp4,
            {.quotient = Q::encode_over_max,
             .factor = F::reciprocal_of_product,
             .nan_is_amax = false}),
      nvfp4("te_fast",
            "TransformerEngine d0067d0, common/cast/nvfp4/specialized/"
            "quantize_transpose_nvfp4_tuned_1D.cuh, NVTE_USE_FAST_MATH",
            {.quotient = Q::encode_over_max,
             .factor = F::bfloat16_quotient,
             .nan_is_amax = false,
             .cast = {.zero = ZeroSign::of_negative}},
            bfloat16_alone),
      te_4over6("te_4over6", FourOrSix::magnitudes, 256),
      te_4over6("te_4over6_mse", FourOrSix::squares, 256),
      te_4over6("te_4over6_448", FourOrSix::magnitudes, 0),
      te_4over6("te_4over6_mse_448", FourOrSix::squares, 0),
      te_4over6("te_4over6_fast", FourOrSix::magnitudes_fast, 256),
      te_4over6("te_4over6_mse_fast", FourOrSix::squares_fast, 256),
      torchao_nvfp4,
      on_cuda("torchao_cuda", torchao_nvfp4),
      modelopt_nvfp4,
      on_cuda("modelopt_cuda", modelopt_nvfp4),
      modelopt_static,
      on_cuda("modelopt_static_cuda", modelopt_static),
      modelopt_4over6,
      on_cuda("modelopt_4over6_cuda", modelopt_4over6),
      compressed_nvfp4,
      nvfp4("vllm", vllm_fp4,
            {.quotient = Q::max_encode, .factor = F::flushed_reciprocal, .nan_is_amax = false},
            exact_reciprocal),
      nvfp4("flashinfer", flashinfer,
            {.quotient = Q::max_encode,
             .factor = F::flushed_reciprocal_of_amax,
             .nan_is_amax = false,
             .flushes = true},
            odd_nan_and_reciprocal),
      nvfp4("flashinfer_exact",
            "FlashInfer fb28d72, csrc/nv_internal/tensorrt_llm/kernels/quantization_utils.cuh, "
            "FLASHINFER_DISABLE_FP4_QUANT_FAST_MATH",
            {.quotient = Q::encode_over_max,
             .factor = F::reciprocal_of_product,
             .nan_is_amax = false,
             .flushes = true,
             .encode_is_given = true},
            odd_nan),
      nvfp4("trtllm", trtllm,
            {.quotient = Q::max_encode,
             .factor = F::flushed_reciprocal_of_quotient,
             .nan_is_amax = false},
            odd_nan_and_reciprocal),
      mslk("mslk", false),
      mslk("mslk_fast", true),
      {.name = "triton_kernels",
       .scale = ue4m3,
       .elements = {e2m1},
       .rule = {.quotient = Q::over_max,
                .rounding = R::nearest,
                .factor = F::flushed_reciprocal,
                .nan_is_amax = false},
       .source = triton_kernels,
       .open = triton_alone},
      torchao_alone,
      on_cuda("torchao_cuda", torchao_alone),
  });
}();

static_assert([] {
  for (const NamedScaleRule& row : scale_rules) {
    if (row.rule.flushes && !can_flush(row.rule)) return false;
  }
  return true;
}());

/// Returns whether a rule gives scales of a block format, and its stack has the elements.
constexpr bool fits(const NamedScaleRule& rule, const BlockFormat& format) {
  if (rule.scale != format.scale || rule.tensor_scale != format.tensor_scale) return false;
  if (rule.elements[0] == Format{}) return true;
  for (const Format& element : rule.elements) {
    if (element == format.element) return true;
  }
  return false;
}

/// Returns the steps of a row for numbers of a format.
constexpr ScaleRule rule_for(const NamedScaleRule& row, const Format& input) {
  ScaleRule out = row.rule;
  if (row.steps_of_input && (input == binary16 || input == bfloat16)) out.steps = input;
  return out;
}

/// Returns the row of a name that fits a block format, or, without a name, the first that fits;
/// null if there is none.
constexpr const NamedScaleRule* find_scale_rule(std::string_view name, const BlockFormat& format) {
  for (const NamedScaleRule& row : scale_rules) {
    if ((name.empty() || row.name == name) && fits(row, format)) return &row;
  }
  return nullptr;
}

}  // namespace binade

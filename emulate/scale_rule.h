// SPDX-License-Identifier: Apache-2.0
//
// Scale rules: how stacks get the scale of a block from its values, and what they do to the values
// before they round them. A rule is a value whose members are its steps, and a row of one table,
// named after whose it is. Every step is an operation of binary32, rounded to nearest even. For a
// block of mxfp4 (m = 6, the largest number of e2m1, 2^2 its power of two) with amax 7.5:
//
//     ocp            exponent of 7.5, minus 2             2^(2-2) = 1     7.5 -> 6    saturated
//     torchao_even   7.5 to 2 digits, ties up: 8          2^(3-2) = 2     7.5 -> 4    (3.75 · 2 = 8)
//     torchao_rceil  7.5 · (1/6) = 1.25, exponent up      2^1 = 2
//
// block_quantize.h computes with these.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "emulate/attributes.h"
#include "emulate/block.h"

namespace binade {

/// What is rounded to a scale: a is the amax of the block, m the largest number of the element
/// format, at the amax of the tensor, c the largest number of the scale's format (448). Each
/// operation is rounded to binary32 but where it says otherwise.
enum class Quotient : std::uint8_t {
  amax,              ///< a; the exponent of m is subtracted from that of the scale
  times_reciprocal,  ///< a · (1/m)
  over_max,          ///< a / m
  max_over,          ///< m / a: what elements are multiplied by; the scale is its reciprocal
  max_over_wide,     ///< (1 / max(a, 1e-12)) · m in binary64, then rounded to binary32; as above
  // Under a scale of the tensor, S = m·c / at, by which elements are multiplied, or s = at / (m·c):
  encode_over_max,       ///< a · (S · (1/m))
  over_max_over,         ///< (a / m) / s
  over_product,          ///< a / (m · s); 1 in the place of 0
  share_of_max,          ///< ((a / m) · c) / (at / m); 1 in the place of a / m = 0
  max_encode,            ///< S · (a · (1/m))
  over_max_encode,       ///< (a / m) · S
  over_max_wide_encode,  ///< the same, where S = (1 / at) · (m·c), and 1 where that is infinite
};

/// How the quotient becomes a number of the scale's format.
enum class ScaleRounding : std::uint8_t {
  nearest,   ///< to nearest even; what is too large is the largest number
  down,      ///< toward zero: a power of two's exponent
  up,        ///< toward positive
  field_up,  ///< as `up` from the fields of binary32: any subnormal number gives 2^-126
  /// To the element format's precision, ties away, on the bits of binary32; then `down`.
  half_up,
  half_up_to_2,  ///< the same to a precision of 2, whatever the elements
  log2_up,       ///< ceil(log2(·)), where log2 is rounded to binary32 first
};

/// What elements are multiplied by, or divided by, before they are rounded.
enum class Factor : std::uint8_t {
  power,          ///< times 1/scale, a power of two
  power_or_zero,  ///< the same, and times 0 where the code of the scale is 0
  power_field,    ///< the same, and the scale of code 255 is an infinity, of which the inverse is 0
  power_to_infinity,  ///< the same as `power`, but code 255 is an infinity, too
  over_scale,         ///< divided by the scale
  reciprocal,         ///< times 1 / scale, rounded
  encode,             ///< times the quotient (Quotient::max_over)
  // Under a scale of the tensor:
  reciprocal_of_product,       ///< times min(1 / (scale · (1/S)), the largest number of binary32)
  reciprocal_over_scale,       ///< times (1 / s) / scale
  over_product,                ///< divided by scale · s
  over_quotient,               ///< divided by scale / S
  flushed_reciprocal,          ///< times 1 / (scale · (1/S)), reciprocals flushed; 0 if code 0
  flushed_reciprocal_of_amax,  ///< the same, but 0 if a is 0
};

/// For FP4 under scales of e4m3: whether a block may take the scale under which its amax becomes 4,
/// 1.5 times that under which it becomes 6. It does where the sum of its errors is less: of their
/// magnitudes or of their squares, added one by one in binary32, of lines of 16 and then of these
/// in a tree. An error is element · scale · at / (m·c) - x, each step rounded, or, where it says
/// fast, element · scale - x · S.
enum class FourOrSix : std::uint8_t { six, magnitudes, squares, magnitudes_fast, squares_fast };

/// What a NaN is as an element of a format that has none.
enum class NanElement : std::uint8_t {
  largest,           ///< the largest number, positive (PTX cvt.satfinite)
  zero,              ///< +0
  negative_largest,  ///< the most negative number, and in formats with NaN, too (a clamp by fmax)
  payload,           ///< what the integer steps of torchao's cast make of the NaN's bits
};

/// The sign of an element that is zero.
enum class ZeroSign : std::uint8_t {
  kept,         ///< that of the operand
  of_negative,  ///< - for operands below zero, + for zeros
  minus_zero,   ///< - for zeros, else that of the operand
  positive,     ///< +
};

/// How a scaled value becomes an element, where a rule says so.
struct ElementCast {
  Rounding ties = Rounding::ties_to_even;
  NanElement nan = NanElement::largest;
  ZeroSign zero = ZeroSign::kept;

  friend constexpr bool operator==(const ElementCast&, const ElementCast&) = default;
};

/// No code in particular: what the steps give.
inline constexpr int as_computed = -1;

struct ScaleRule {
  Quotient quotient = Quotient::amax;
  ScaleRounding rounding = ScaleRounding::down;
  Factor factor = Factor::power;
  /// A NaN among the values is their amax (torch.amax); else it is passed over (fmaxf).
  bool nan_is_amax = true;
  /// Bits of binary32: amax is at least this. 0: none.
  std::uint32_t least_amax = 0;
  /// Bits of binary32: the quotient is at least this. 0: no limit.
  std::uint32_t least_quotient = 0;
  int zero_code = as_computed;  ///< code of the scale where the steps give 0
  int first_code = 0;           ///< codes of scales are at least this,
  int last_code = 0xFF;         ///< and at most this, for scales of 8 bits
  int inf_code = as_computed;   ///< code of the scale where the quotient is infinite
  int nan_code = as_computed;   ///< where it is NaN
  /// For Quotient::max_over: where amax is 0, infinite or NaN the factor is 1, and an infinite one
  /// is the largest finite number.
  bool one_if_unusable = false;
  bool factor_to_power = false;  ///< the factor is rounded down to a power of two
  /// The largest scale of a block that the scale of the tensor aims at; 0: the format's largest.
  int largest_scale = 0;
  FourOrSix four_or_six = FourOrSix::six;
  ElementCast cast{};

  friend constexpr bool operator==(const ScaleRule&, const ScaleRule&) = default;
};

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
  /// What is taken as exact, though the stack uses an approximate instruction; empty: nothing is.
  std::string_view open{};
};

namespace scale_rule_parts {

inline constexpr std::array<Format, 5> floating_mx{e4m3, e5m2, e3m2, e2m3, e2m1};
inline constexpr std::uint32_t ten_to_minus_4 = 0x38D1B717;   ///< 1e-4 in binary32
inline constexpr std::uint32_t ten_to_minus_10 = 0x2EDBE6FF;  ///< 1e-10
inline constexpr ElementCast torchao_cast{.nan = NanElement::payload};
inline constexpr ElementCast modelopt_cast{.zero = ZeroSign::of_negative};
inline constexpr ElementCast aiter_cast{.nan = NanElement::zero, .zero = ZeroSign::of_negative};
inline constexpr ElementCast vllm_cast{.nan = NanElement::negative_largest};
inline constexpr ElementCast deepgemm_cast{
    .ties = Rounding::ties_toward_zero, .nan = NanElement::zero, .zero = ZeroSign::positive};

inline constexpr std::string_view
    ao = "pytorch/ao 36027d8, torchao/prototype/mx_formats/mx_tensor.py, to_mx",
    ao_fp8 = "pytorch/ao 36027d8, torchao/float8/float8_utils.py, amax_to_scale",
    te_recipe = "TransformerEngine d0067d0, common/recipe/recipe_common.cuh",
    te_fp4 = "TransformerEngine d0067d0, common/cast/nvfp4/core_nvfp4.cuh",
    te_4over6 = "TransformerEngine d0067d0, common/cast/nvfp4/quantize_4over6_nvfp4.cuh",
    opt = "NVIDIA/Model-Optimizer a2fbac7, modelopt/torch/quantization/qtensor",
    dg = "deepseek-ai/DeepGEMM 54e2261, deep_gemm/utils/math.py",
    aiter = "ROCm/aiter e404860, csrc/include/mx_quant_utils.h",
    vllm_group = "vLLM 0f5257e, csrc/quantization/w8a8/fp8/per_token_group_quant.cu",
    compressed = "vllm-project/compressed-tensors 0.20.1, quantization/utils",
    vllm_fp4 = "vLLM 20b4ad8, csrc/libtorch_stable/quantization/fp4/nvfp4_utils.cuh",
    exact_log2 = "log2 as correctly rounded", exact_reciprocal = "rcp.approx.ftz as 1/x, rounded";

}  // namespace scale_rule_parts

/// The table. Of the rows that fit a block format the first is the usual one.
inline constexpr auto scale_rules = [] {
  using namespace scale_rule_parts;
  using Q = Quotient;
  using R = ScaleRounding;
  using F = Factor;
  return std::to_array<NamedScaleRule>({
      // Powers of two, in e8m0.
      {.name = "ocp",
       .scale = e8m0,
       .rule = {.last_code = 0xFE, .inf_code = 0xFF, .nan_code = 0xFF},
       .source = "OCP MX 1.0, 6.3, which leaves Inf and NaN open: here the block is NaN"},
      {.name = "torchao_floor",
       .scale = e8m0,
       .elements = floating_mx,
       .rule = {.inf_code = 0xFF, .nan_code = 0xFF, .cast = torchao_cast},
       .source = ao},
      {.name = "torchao_ceil",
       .scale = e8m0,
       .elements = floating_mx,
       .rule = {.rounding = R::field_up, .inf_code = 0xFF, .nan_code = 0xFF, .cast = torchao_cast},
       .source = ao},
      {.name = "torchao_even",
       .scale = e8m0,
       .elements = floating_mx,
       .rule = {.rounding = R::half_up, .inf_code = 0xFF, .nan_code = 0xFF, .cast = torchao_cast},
       .source = ao},
      {.name = "torchao_rceil",
       .scale = e8m0,
       .elements = floating_mx,
       .rule = {.quotient = Q::times_reciprocal,
                .rounding = R::up,
                .inf_code = 0xFF,
                .nan_code = 0xFF,
                .cast = torchao_cast},
       .source = "pytorch/ao 36027d8, torchao/prototype/mx_formats/mx_tensor.py, _to_mx_rceil"},
      {.name = "te",
       .scale = e8m0,
       .elements = {e4m3, e5m2},
       .rule = {.quotient = Q::times_reciprocal,
                .rounding = R::up,
                .nan_is_amax = false,
                .last_code = 0xFE},
       .source = "TransformerEngine d0067d0, common/cast/mxfp8/quantize_mxfp8.cuh"},
      {.name = "aiter",
       .scale = e8m0,
       .elements = {e2m1},
       .rule = {.quotient = Q::times_reciprocal,
                .rounding = R::field_up,
                .factor = F::power_field,
                .nan_is_amax = false,
                .cast = aiter_cast},
       .source = aiter},
      {.name = "aiter",
       .scale = e8m0,
       .elements = {e4m3, e4m3fnuz},
       .rule = {.quotient = Q::times_reciprocal,
                .rounding = R::field_up,
                .factor = F::power_field,
                .nan_is_amax = false},
       .source = aiter},
      {.name = "aiter_even",
       .scale = e8m0,
       .elements = {e2m1},
       .rule = {.rounding = R::half_up,
                .nan_is_amax = false,
                .last_code = 0xFE,
                .inf_code = 0xFE,
                .cast = aiter_cast},
       .source = "ROCm/aiter e404860, csrc/kernels/quant_mxfp4.cu, Even"},
      {.name = "aiter_even_helper",
       .scale = e8m0,
       .elements = {e2m1},
       .rule = {.rounding = R::half_up,
                .factor = F::power_field,
                .nan_is_amax = false,
                .cast = aiter_cast},
       .source = aiter},
      {.name = "aiter_even",
       .scale = e8m0,
       .elements = {e4m3, e4m3fnuz},
       .rule = {.rounding = R::half_up, .factor = F::power_field, .nan_is_amax = false},
       .source = aiter},
      {.name = "deepgemm",
       .scale = e8m0,
       .elements = {e4m3},
       .rule = {.quotient = Q::over_max,
                .rounding = R::field_up,
                .least_amax = ten_to_minus_4,
                .first_code = 1,
                .last_code = 0xFE},
       .source = dg},
      {.name = "deepgemm",
       .scale = e8m0,
       .elements = {e2m1},
       .rule = {.quotient = Q::over_max,
                .rounding = R::field_up,
                .least_amax = ten_to_minus_4,
                .first_code = 1,
                .last_code = 0xFE,
                .cast = deepgemm_cast},
       .source = dg},
      {.name = "modelopt",
       .scale = e8m0,
       .elements = {e4m3},
       .rule = {.quotient = Q::over_max, .rounding = R::log2_up, .last_code = 0xFE, .nan_code = 0},
       .source = opt,
       .open = exact_log2},
      {.name = "modelopt",
       .scale = e8m0,
       .elements = {e2m1},
       .rule = {.quotient = Q::over_max,
                .rounding = R::log2_up,
                .factor = F::over_scale,
                .last_code = 0xFE,
                .nan_code = 0,
                .cast = {.ties = Rounding::ties_toward_zero, .zero = ZeroSign::minus_zero}},
       .source = opt,
       .open = exact_log2},
      {.name = "vllm",
       .scale = e8m0,
       .elements = {e4m3},
       .rule = {.quotient = Q::over_max,
                .rounding = R::field_up,
                .factor = F::power_field,
                .nan_is_amax = false,
                .least_quotient = ten_to_minus_10,
                .cast = vllm_cast},
       .source = vllm_group},
      {.name = "vllm_log2",
       .scale = e8m0,
       .elements = {e4m3},
       .rule = {.quotient = Q::over_max,
                .rounding = R::log2_up,
                .factor = F::power_field,
                .nan_is_amax = false,
                .least_quotient = ten_to_minus_10,
                .cast = vllm_cast},
       .source = vllm_group,
       .open = exact_log2},
      {.name = "vllm",
       .scale = e8m0,
       .elements = {e2m1},
       .rule = {.rounding = R::half_up,
                .factor = F::power_or_zero,
                .nan_is_amax = false,
                .last_code = 0xFE},
       .source = vllm_fp4},
      {.name = "compressed_tensors",
       .scale = e8m0,
       .elements = {e2m1},
       .rule = {.rounding = R::half_up,
                .factor = F::power_to_infinity,
                .inf_code = 0xFF,
                .nan_code = 0xFF,
                .cast = modelopt_cast},
       .source = compressed},
      {.name = "compressed_tensors",
       .scale = e8m0,
       .elements = {e2m3},
       .rule = {.rounding = R::half_up,
                .factor = F::power_to_infinity,
                .inf_code = 0xFF,
                .nan_code = 0xFF},
       .source = compressed},
      {.name = "compressed_tensors",
       .scale = e8m0,
       .elements = {e4m3},
       .rule = {.rounding = R::half_up_to_2,
                .factor = F::power_to_infinity,
                .inf_code = 0xFF,
                .nan_code = 0xFF},
       .source = compressed},
      // Numbers of binary32.
      {.name = "te",
       .scale = binary32,
       .elements = {e4m3, e5m2},
       .rule = {.quotient = Q::max_over,
                .rounding = R::nearest,
                .factor = F::encode,
                .nan_is_amax = false,
                .one_if_unusable = true},
       .source = te_recipe},
      {.name = "te_pow2",
       .scale = binary32,
       .elements = {e4m3, e5m2},
       .rule = {.quotient = Q::max_over,
                .rounding = R::nearest,
                .factor = F::encode,
                .nan_is_amax = false,
                .one_if_unusable = true,
                .factor_to_power = true},
       .source = te_recipe},
      {.name = "torchao",
       .scale = binary32,
       .elements = {e4m3, e5m2, e4m3fnuz, e5m2fnuz},
       .rule = {.quotient = Q::max_over_wide, .rounding = R::nearest, .factor = F::encode},
       .source = ao_fp8},
      {.name = "torchao_inference",
       .scale = binary32,
       .elements = {e4m3, e5m2, e4m3fnuz, e5m2fnuz},
       .rule = {.quotient = Q::over_max, .rounding = R::nearest, .factor = F::over_scale},
       .source =
           "pytorch/ao 36027d8, torchao/quantization/quant_primitives.py, _choose_scale_float8"},
      {.name = "deepgemm",
       .scale = binary32,
       .elements = {e4m3},
       .rule = {.quotient = Q::over_max,
                .rounding = R::nearest,
                .factor = F::reciprocal,
                .least_amax = ten_to_minus_4},
       .source = dg},
      {.name = "deepgemm_cuda",
       .scale = binary32,
       .elements = {e4m3},
       .rule = {.quotient = Q::times_reciprocal,
                .rounding = R::nearest,
                .factor = F::reciprocal,
                .least_amax = ten_to_minus_4},
       .source = dg},
      {.name = "deepgemm",
       .scale = binary32,
       .elements = {e2m1},
       .rule = {.quotient = Q::over_max,
                .rounding = R::nearest,
                .factor = F::reciprocal,
                .least_amax = ten_to_minus_4,
                .cast = deepgemm_cast},
       .source = dg},
      {.name = "deepgemm_cuda",
       .scale = binary32,
       .elements = {e2m1},
       .rule = {.quotient = Q::times_reciprocal,
                .rounding = R::nearest,
                .factor = F::reciprocal,
                .least_amax = ten_to_minus_4,
                .cast = deepgemm_cast},
       .source = dg},
      {.name = "vllm",
       .scale = binary32,
       .elements = {e4m3},
       .rule = {.quotient = Q::over_max,
                .rounding = R::nearest,
                .factor = F::over_scale,
                .nan_is_amax = false,
                .least_amax = ten_to_minus_10,
                .cast = vllm_cast},
       .source = vllm_group},
      // Numbers of e4m3 under one of binary32.
      {.name = "te",
       .scale = ue4m3,
       .tensor_scale = true,
       .elements = {e2m1},
       .rule = {.quotient = Q::encode_over_max,
                .rounding = R::nearest,
                .factor = F::reciprocal_of_product,
                .nan_is_amax = false},
       .source = te_fp4},
      {.name = "te_4over6",
       .scale = ue4m3,
       .tensor_scale = true,
       .elements = {e2m1},
       .rule = {.quotient = Q::over_max_encode,
                .rounding = R::nearest,
                .factor = F::reciprocal_of_product,
                .nan_is_amax = false,
                .largest_scale = 256,
                .four_or_six = FourOrSix::magnitudes},
       .source = te_4over6},
      {.name = "te_4over6_mse",
       .scale = ue4m3,
       .tensor_scale = true,
       .elements = {e2m1},
       .rule = {.quotient = Q::over_max_encode,
                .rounding = R::nearest,
                .factor = F::reciprocal_of_product,
                .nan_is_amax = false,
                .largest_scale = 256,
                .four_or_six = FourOrSix::squares},
       .source = te_4over6},
      {.name = "te_4over6_448",
       .scale = ue4m3,
       .tensor_scale = true,
       .elements = {e2m1},
       .rule = {.quotient = Q::over_max_encode,
                .rounding = R::nearest,
                .factor = F::reciprocal_of_product,
                .nan_is_amax = false,
                .four_or_six = FourOrSix::magnitudes},
       .source = te_4over6},
      {.name = "te_4over6_mse_448",
       .scale = ue4m3,
       .tensor_scale = true,
       .elements = {e2m1},
       .rule = {.quotient = Q::over_max_encode,
                .rounding = R::nearest,
                .factor = F::reciprocal_of_product,
                .nan_is_amax = false,
                .four_or_six = FourOrSix::squares},
       .source = te_4over6},
      {.name = "te_4over6_fast",
       .scale = ue4m3,
       .tensor_scale = true,
       .elements = {e2m1},
       .rule = {.quotient = Q::over_max_encode,
                .rounding = R::nearest,
                .factor = F::reciprocal_of_product,
                .nan_is_amax = false,
                .largest_scale = 256,
                .four_or_six = FourOrSix::magnitudes_fast},
       .source = te_4over6},
      {.name = "te_4over6_mse_fast",
       .scale = ue4m3,
       .tensor_scale = true,
       .elements = {e2m1},
       .rule = {.quotient = Q::over_max_encode,
                .rounding = R::nearest,
                .factor = F::reciprocal_of_product,
                .nan_is_amax = false,
                .largest_scale = 256,
                .four_or_six = FourOrSix::squares_fast},
       .source = te_4over6},
      {.name = "torchao",
       .scale = ue4m3,
       .tensor_scale = true,
       .elements = {e2m1},
       .rule = {.quotient = Q::over_max_over,
                .rounding = R::nearest,
                .factor = F::reciprocal_over_scale,
                .first_code = 8,
                .last_code = 0x7E,
                .cast = torchao_cast},
       .source =
           "pytorch/ao 36027d8, torchao/prototype/mx_formats/nvfp4_tensor.py, nvfp4_quantize"},
      {.name = "modelopt",
       .scale = ue4m3,
       .tensor_scale = true,
       .elements = {e2m1},
       .rule = {.quotient = Q::over_product,
                .rounding = R::nearest,
                .factor = F::over_product,
                .first_code = 1,
                .last_code = 0x7E,
                .cast = modelopt_cast},
       .source = opt},
      {.name = "modelopt_static",
       .scale = ue4m3,
       .tensor_scale = true,
       .elements = {e2m1},
       .rule = {.quotient = Q::share_of_max,
                .rounding = R::nearest,
                .factor = F::over_product,
                .first_code = 1,
                .last_code = 0x7E,
                .cast = modelopt_cast},
       .source = opt},
      {.name = "compressed_tensors",
       .scale = ue4m3,
       .tensor_scale = true,
       .elements = {e2m1},
       .rule = {.quotient = Q::over_max_wide_encode,
                .rounding = R::nearest,
                .factor = F::over_quotient,
                .zero_code = 0x20,
                .cast = modelopt_cast},
       .source = compressed},
      {.name = "vllm",
       .scale = ue4m3,
       .tensor_scale = true,
       .elements = {e2m1},
       .rule = {.quotient = Q::max_encode,
                .rounding = R::nearest,
                .factor = F::flushed_reciprocal,
                .nan_is_amax = false},
       .source = vllm_fp4,
       .open = exact_reciprocal},
      {.name = "trtllm",
       .scale = ue4m3,
       .tensor_scale = true,
       .elements = {e2m1},
       .rule = {.quotient = Q::max_encode,
                .rounding = R::nearest,
                .factor = F::flushed_reciprocal_of_amax,
                .nan_is_amax = false},
       .source = "TensorRT-LLM, FlashInfer, quantization_utils.cuh, cvt_warp_fp16_to_fp4",
       .open = exact_reciprocal},
      {.name = "torchao",
       .scale = ue4m3,
       .elements = {e2m1},
       .rule = {.quotient = Q::over_max,
                .rounding = R::nearest,
                .factor = F::reciprocal,
                .first_code = 8,
                .last_code = 0x7E,
                .cast = torchao_cast},
       .source =
           "pytorch/ao 36027d8, torchao/prototype/mx_formats/nvfp4_tensor.py, nvfp4_quantize"},
  });
}();

/// Returns whether a rule gives scales of a block format, and its stack has the elements.
constexpr bool fits(const NamedScaleRule& rule, const BlockFormat& format) {
  if (rule.scale != format.scale || rule.tensor_scale != format.tensor_scale) return false;
  if (rule.elements[0] == Format{}) return true;
  for (const Format& element : rule.elements) {
    if (element == format.element) return true;
  }
  return false;
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

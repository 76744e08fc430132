// SPDX-License-Identifier: Apache-2.0
//
// Which tensors are codes and scales, under the names that quantizers write, and which only look
// so.
#include "lib/io/scaled_codes.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace binade::test::scaled_codes_test {
namespace {

using NamedTypes = std::vector<std::pair<std::string, const char*>>;

/// "c" for codes, "s" for a scale, "." for values, a letter for each tensor.
std::string told(const NamedTypes& tensors) {
  std::vector<TensorInfo> infos;
  for (const auto& [name, dtype] : tensors)
    infos.push_back({.name = name, .dtype = *find_dtype(dtype), .shape = {}});
  std::string out;
  for (const std::string& reason : code_reasons(infos)) {
    out += reason.empty() ? "." : reason.starts_with("codes") ? "c" : "s";
  }
  return out;
}

TEST_CASE("codes and their scales are told by name and dtype, as quantizers write them") {
  const std::pair<NamedTypes, const char*> cases[] = {
      {{{"l.0.weight", "F8_E4M3"}, {"l.0.weight_scale_inv", "F32"}, {"l.0.bias", "BF16"}}, "cs."},
      {{{"fc.weight", "F8_E4M3"}, {"fc.weight_scale", "BF16"}, {"fc.input_scale", "F32"}}, "css"},
      {{{"fc.weight", "F8_E4M3"}, {"fc.input_scale", "F32"}}, "cs"},
      {{{"fc.weight", "U8"}, {"fc.weight_scale", "F8_E4M3"}, {"fc.weight_scale_2", "F32"}}, "css"},
      {{{"fc.weight_packed", "U8"},
        {"fc.weight_scale", "F8_E4M3"},
        {"fc.weight_global_scale", "F32"}},
       "css"},
      {{{"mlp.up_proj_blocks", "U8"}, {"mlp.up_proj_scales", "U8"}, {"mlp.up_proj_bias", "BF16"}},
       "cs."},
      {{{"x", "F8_E4M3"}, {"x_scale", "F8_E8M0"}}, "cs"},
      {{{"fc.weight", "F4"}, {"fc.weight_scale", "F8_E8M0"}}, "cs"},
      {{{"q.qweight", "I32"}, {"q.scales", "F16"}, {"q.qzeros", "I32"}, {"q.g_idx", "I32"}},
       "csss"},
      {{{"fc.weight", "U8"}, {"fc.weight.absmax", "F32"}, {"fc.weight.quant_map", "F32"}}, "css"},
      {{{"fc.weight", "I8"}, {"fc.SCB", "F32"}}, "cs"},
      {{{"fc._weight_qdata", "F8_E4M3"}, {"fc._weight_scale", "F32"}}, "cs"},
      {{{"a/kernel", "F8_E5M2"}, {"a/kernel_scale", "F32"}}, "cs"},
      {{{"w", "F8_E4M3"}, {"scales", "F32"}}, "cs"},
      {{{"w_fp8", "F8_E4M3"}, {"w_scale", "F32"}}, "cs"},
      {{{"state.0.state1", "U8"},
        {"state.0.state2", "U8"},
        {"state.0.qmap1", "F32"},
        {"state.0.qmap2", "F32"},
        {"state.0.absmax1", "F32"},
        {"state.0.absmax2", "F32"},
        {"state.0.new_max1", "F32"},
        {"state.0.step", "I64"}},
       "ccsssss."},
      {{{"state.0.exp_avg.codes", "U8"},
        {"state.0.exp_avg.scale", "F32"},
        {"state.0.exp_avg.qmap", "F32"}},
       "css"},
      {{{"fc.weight._data", "I8"},
        {"fc.weight._scale", "F32"},
        {"fc.input_scale", "F32"},
        {"fc.output_scale", "F32"},
        {"fc.bias", "F32"}},
       "csss."},
      {{{"fc.weight._data", "U8"}, {"fc.weight._scale", "BF16"}, {"fc.weight._shift", "BF16"}},
       "css"},
      {{{"fc.weight", "F8_E4M3"}, {"fc.weight_scale", "F32"}, {"fc.input_scale_ub", "F32"}}, "css"},
      {{{"fc.q_weight", "I32"},
        {"fc.q_scale", "I32"},
        {"fc.q_scale_max", "F16"},
        {"fc.q_groups", "I16"},
        {"fc.q_invperm", "I32"}},
       "cssss"},
      {{{"fc.codes", "I16"}, {"fc.codebooks", "F16"}, {"fc.scales", "F16"}}, "css"},
      {{{"fc.weight", "U32"}, {"fc.scales", "F16"}, {"fc.biases", "F16"}, {"fc.bias", "F16"}},
       "css."},
  };
  for (const auto& [tensors, expected] : cases) {
    INFO(tensors[0].first << " with " << tensors[1].first);
    CHECK(told(tensors) == expected);
  }
}

TEST_CASE(
    "values are no codes: without a scale of their layer, in wide dtypes, or beside a norm's "
    "scale") {
  CHECK(told({{"fc.weight", "F8_E4M3"}, {"fc.bias", "F32"}}) == "..");
  CHECK(told({{"a.weight", "F8_E4M3"}, {"b.weight_scale", "F32"}}) == "..");
  CHECK(told({{"fc.weight", "BF16"}, {"fc.weight_scale", "F32"}}) == "..");
  CHECK(told({{"norm.scale", "F32"}, {"norm.bias", "F32"}, {"position_ids", "I32"}}) == "...");
  CHECK(told({{"emb.position_ids", "I32"}, {"emb.scale", "F32"}, {"emb.weight", "F32"}}) == "...");
  CHECK(told({{"logit_scale", "F32"}, {"weight", "F8_E4M3"}}) == "..");
  CHECK(told({{"act", "F8_E5M2"}, {"weight_scale", "F32"}}) == "..");
  CHECK(told({{"fc.weight", "F8_E4M3"}, {"fc.biases", "F32"}}) == "..");
  CHECK(told({{"vq.codes", "I64"}, {"vq.codebooks", "F32"}}) == "..");
  CHECK(told({{"state.0.state1", "F32"}, {"state.0.max1", "F32"}}) == "..");
  CHECK(told({{"state.0.state1", "U8"}, {"state.0.absmax2", "F32"}}) == "..");
  CHECK(told({{"fc._data", "F32"}, {"fc._shift", "F32"}}) == "..");
  CHECK(told({}).empty());
}

TEST_CASE("a reason names the partners") {
  const std::vector<TensorInfo> tensors{
      {.name = "fc.weight", .dtype = *find_dtype("U8"), .shape = {}},
      {.name = "fc.weight_scale", .dtype = *find_dtype("F8_E4M3"), .shape = {}},
      {.name = "fc.weight_scale_2", .dtype = *find_dtype("F32"), .shape = {}}};
  const std::vector<std::string> reasons = code_reasons(tensors);
  CHECK(reasons[0] == "codes without their scale, fc.weight_scale, fc.weight_scale_2");
  CHECK(reasons[2] == "a scale or offset of the codes fc.weight");
}

}  // namespace
}  // namespace binade::test::scaled_codes_test

// SPDX-License-Identifier: Apache-2.0
//
// Attention as an H100 computed it, kernel by kernel (tests/recordings/torch), against the engine's
// kinds of attention.
#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "lib/io/safetensors.h"
#include "lib/train/ops.h"
#include "lib/train/tensor_core_products.h"

namespace binade::recorded_attention_test {
namespace {

constexpr std::array kinds{Attention::flash, Attention::math, Attention::low_precision};

struct RecordedAttention {
  Format dtype{};
  Shape shape;
  std::map<std::string, std::vector<float>> tensors;
};

RecordedAttention recorded(const std::string& name) {
  const auto file = open_safetensors(std::string(BINADE_SOURCE_ROOT) + "/tests/recordings/torch/" +
                                     name + ".tensors");
  RecordedAttention out;
  for (std::size_t i = 0; i < file->tensors().size(); ++i) {
    const TensorInfo& info = file->tensors()[i];
    out.dtype = info.dtype.name == "F16" ? binary16 : bfloat16;
    out.shape.assign(info.shape.begin(), info.shape.end());
    std::vector<float>& values = out.tensors[info.name];
    file->read(i, [&](std::span<const std::byte> bytes) {
      for (std::size_t at = 0; at < bytes.size(); at += 2) {
        std::uint16_t code = 0;
        std::memcpy(&code, bytes.data() + at, 2);
        values.push_back(value_of<float>(code, out.dtype));
      }
    });
  }
  return out;
}

/// Returns the number of elements in which each kind of ours differs, with products by the model of
/// the H100's Tensor Cores.
std::array<std::size_t, 3> different_elements(const RecordedAttention& r, const char* kernel,
                                              bool causal) {
  const ProductSettings products =
      tensor_core_products({.format = r.dtype == binary16 ? "binary16" : "bfloat16", .sm = 90});
  const std::vector<float>& wanted = r.tensors.at(kernel);
  std::array<std::size_t, 3> out{};
  for (const Attention kind : kinds) {
    Tape<float> tape(products);
    const auto tensor = [&](const char* name) {
      return tape.constant({r.shape, r.dtype, r.tensors.at(name)});
    };
    const Var y =
        scaled_dot_product_attention(tape, tensor("q"), tensor("k"), tensor("v"), causal, kind);
    REQUIRE(tape.values(y).size() == wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      out[static_cast<std::size_t>(kind)] += tape.values(y)[i] != wanted[i] ? 1 : 0;
    }
  }
  return out;
}

struct KernelRow {
  const char *file, *kernel;
  std::size_t own;  ///< number of elements, of 1024 or 4096, in which the kernel's own kind differs
};

// The kernels' exponentials are approximations (ex2.approx), and their sums have orders of their
// own: that moves an element in a thousand by an ulp. Where the wrong values are rounded, a quarter
// of them differ.
TEST_CASE(
    "PyTorch's attention on an H100 is flash, by three kernels, or math: nothing else comes near") {
  constexpr std::array<KernelRow, 24> rows{{{"f16_16x64", "flash_attention", 1},
                                            {"f16_16x64", "cudnn_attention", 1},
                                            {"f16_16x64", "efficient_attention", 2},
                                            {"f16_16x64", "math", 0},
                                            {"f16_64x64", "flash_attention", 1},
                                            {"f16_64x64", "cudnn_attention", 2},
                                            {"f16_64x64", "efficient_attention", 17},
                                            {"f16_64x64", "math", 10},
                                            {"f16_64x64_causal", "flash_attention", 0},
                                            {"f16_64x64_causal", "cudnn_attention", 0},
                                            {"f16_64x64_causal", "efficient_attention", 2},
                                            {"f16_64x64_causal", "math", 9},
                                            {"bf16_16x64", "flash_attention", 0},
                                            {"bf16_16x64", "cudnn_attention", 0},
                                            {"bf16_16x64", "efficient_attention", 0},
                                            {"bf16_16x64", "math", 0},
                                            {"bf16_64x64", "flash_attention", 0},
                                            {"bf16_64x64", "cudnn_attention", 0},
                                            {"bf16_64x64", "efficient_attention", 0},
                                            {"bf16_64x64", "math", 2},
                                            {"bf16_64x64_causal", "flash_attention", 0},
                                            {"bf16_64x64_causal", "cudnn_attention", 0},
                                            {"bf16_64x64_causal", "efficient_attention", 0},
                                            {"bf16_64x64_causal", "math", 0}}};
  for (const KernelRow& row : rows) {
    CAPTURE(row.file);
    CAPTURE(row.kernel);
    const RecordedAttention r = recorded(std::string("attention_") + row.file);
    const auto different = different_elements(r, (std::string("cuda_") + row.kernel).c_str(),
                                              std::string(row.file).ends_with("causal"));
    const bool is_math = std::string(row.kernel) == "math";
    CHECK(different[is_math ? 1 : 0] == row.own);
    const std::size_t quarter = elements(r.shape) / 4;
    CHECK(different[is_math ? 0 : 1] > quarter);
    CHECK(different[2] > quarter);
  }
}

}  // namespace
}  // namespace binade::recorded_attention_test

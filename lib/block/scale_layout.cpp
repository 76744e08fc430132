// SPDX-License-Identifier: Apache-2.0
//
// The table of layouts of scales.
#include "lib/block/scale_layout.h"

namespace binade {
namespace {

constexpr std::size_t up_to(std::size_t n, std::size_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

template <std::size_t rows, std::size_t columns>
ScaleGrid filled_to(ScaleGrid grid) {
  return {up_to(grid.rows, rows), up_to(grid.columns, columns)};
}

std::size_t row_major(ScaleGrid filled, std::size_t r, std::size_t c) {
  return r * filled.columns + c;
}
std::size_t swizzled_128x4(ScaleGrid filled, std::size_t r, std::size_t c) {
  const std::size_t tile = r / 128 * (filled.columns / 4) + c / 4;
  return tile * 512 + r % 32 * 16 + r % 128 / 32 * 4 + c % 4;
}
std::size_t swizzled_8x4(ScaleGrid filled, std::size_t r, std::size_t c) {
  const std::size_t tile = r / 8 * (filled.columns / 4) + c / 4;
  return tile * 32 + r % 8 * 4 + c % 4;
}
std::size_t words_along_m(ScaleGrid filled, std::size_t r, std::size_t c) {
  return (c / 4 * filled.rows + r) * 4 + c % 4;
}
std::size_t shuffled_for_mfma(ScaleGrid filled, std::size_t r, std::size_t c) {
  const std::size_t tile = r / 32 * (filled.columns / 8) + c / 8;
  return tile * 256 + c % 4 * 64 + r % 16 * 4 + c % 8 / 4 * 2 + r % 32 / 16;
}

std::size_t columns_of_rows(ScaleGrid filled, std::size_t r, std::size_t c) {
  return c * filled.rows + r;
}

bool of_any(const BlockFormat& /*format*/) { return true; }
bool of_bytes(const BlockFormat& format) { return format.scale.bits() <= 8; }
bool of_tiles_of_128(const BlockFormat& format) {
  return format.scale == binary32 && format.shape == BlockShape{128, 128};
}
bool of_rows_of_128(const BlockFormat& format) {
  return format.scale == binary32 && format.shape == BlockShape{1, 128};
}

constexpr auto layouts = std::to_array<ScaleLayout>({
    {"row_major", &filled_to<1, 1>, &row_major, "checkpoints, torchao, compressed-tensors",
     &of_any},
    {"128x4", &filled_to<128, 4>, &swizzled_128x4, "cuBLAS, CUTLASS, torchao to_blocked, vLLM",
     &of_bytes},
    {"8x4", &filled_to<8, 4>, &swizzled_8x4, "TensorRT-LLM, FlashInfer, for small M", &of_bytes},
    {"deepgemm", &filled_to<4, 4>, &words_along_m, "DeepGEMM sm_100: four e8m0 in an int32",
     &of_bytes, true, 4},
    {"aiter", &filled_to<256, 8>, &shuffled_for_mfma, "aiter, for gfx950's scaled MFMA", &of_bytes},
    {"te", &filled_to<128, 4>, &row_major, "TransformerEngine, before its swizzle", &of_bytes},
    {"te_2d", &filled_to<1, 4>, &row_major,
     "TransformerEngine 001b23c, Float8BlockQuantizer.get_scale_shape", &of_tiles_of_128},
    {"te_1d", &filled_to<4, 1>, &columns_of_rows,
     "TransformerEngine 001b23c, Float8BlockQuantizer.get_scale_shape", &of_rows_of_128, true},
});

}  // namespace

const std::span<const ScaleLayout> scale_layouts = layouts;

const ScaleLayout* find_scale_layout(std::string_view name) {
  for (const ScaleLayout& row : layouts) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace binade

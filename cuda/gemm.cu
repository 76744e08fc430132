// SPDX-License-Identifier: Apache-2.0
//
// The kernels of matrix products, one for each mma.sync that they use, and their launches.
#include "cuda/gemm.h"

#include <vector>

#include "cuda/device_array.h"
#include "cuda/gemm.cuh"
#include "cuda/ptx_mma.cuh"

namespace binade {
namespace {

// clang-format off
// row(function of ptx_mma.cuh, whether c and d are f16, formats of a, b and d)
#define BINADE_GEMM_TABLE(row)                                       \
  row(mma_m16n8k16_f32_f16, false, binary16, binary16, binary32)     \
  row(mma_m16n8k16_f16_f16, true, binary16, binary16, binary16)      \
  row(mma_m16n8k16_f32_bf16, false, bfloat16, bfloat16, binary32)    \
  row(mma_m16n8k8_f32_tf32, false, tf32, tf32, binary32)             \
  BINADE_GEMM_FP8(row, e4m3, e4m3) BINADE_GEMM_FP8(row, e4m3, e5m2)  \
  BINADE_GEMM_FP8(row, e5m2, e4m3) BINADE_GEMM_FP8(row, e5m2, e5m2)
#define BINADE_GEMM_FP8(row, a, b)                                   \
  row(mma_m16n8k32_f32_##a##_##b, false, a, b, binary32)             \
  row(mma_m16n8k32_f16_##a##_##b, true, a, b, binary16)
// clang-format on

#define BINADE_GEMM_KERNEL(wrapper, f16, a, b, d)                                 \
  __global__ void __launch_bounds__(gemm_threads) gemm_##wrapper(GemmCall call) { \
    gemm_body<MmaRegisters<word32>, f16>(call, [](auto& x) { wrapper(x); });      \
  }
BINADE_GEMM_TABLE(BINADE_GEMM_KERNEL)

struct GemmRow {
  Format a, b, d;
  void (*kernel)(GemmCall call);
};
#define BINADE_GEMM_ROW(wrapper, f16, a, b, d) {a, b, d, gemm_##wrapper},
const GemmRow gemm_rows[] = {BINADE_GEMM_TABLE(BINADE_GEMM_ROW)};

const GemmRow* find_row(const Instruction& x) {
  if (x.family != Family::mma || x.m != 16 || x.types.c != x.types.d) return nullptr;
  if (x.k * x.types.a.storage_bits() != 32 * gemm_step) return nullptr;
  for (const GemmRow& row : gemm_rows) {
    if (row.a == x.types.a && row.b == x.types.b && row.d == x.types.d) return &row;
  }
  return nullptr;
}

/// Returns `rows` rows of `k` codes of `width` bits, packed into `words` words each and filled up
/// with zeros.
std::vector<std::uint32_t> words_of(std::span<const std::uint64_t> codes, int rows, int k,
                                    int words, int width) {
  const auto pitch = static_cast<std::size_t>(words);
  const std::size_t per = 32 / static_cast<std::size_t>(width);
  const auto count = static_cast<std::size_t>(k);
  std::vector<std::uint32_t> out(static_cast<std::size_t>(rows) * pitch);
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    for (std::size_t i = 0; i < count; ++i) {
      out[row * pitch + i / per] |= static_cast<std::uint32_t>(codes[row * count + i])
                                    << (i % per * static_cast<std::size_t>(width));
    }
  }
  return out;
}

int words_of_row(const Instruction& x, int k) { return (k + x.k - 1) / x.k * gemm_step; }

}  // namespace

std::optional<Instruction> gemm_instruction(int sm, const Format& a, const Format& b,
                                            const Format& d) {
  const int k = 32 * gemm_step / a.storage_bits();
  return find_instruction(Family::mma, sm, 16, 8, k, {a, b, d, d});
}

bool has_gemm(const Instruction& instruction) { return find_row(instruction) != nullptr; }

struct Gemm::OnDevice {
  const GemmRow* row;
  std::string what;
  DeviceArray<std::uint32_t> a, b, c, d;
  GemmCall call;

  OnDevice(const Instruction& x, int m, int n, int k, std::span<const std::uint64_t> a_codes,
           std::span<const std::uint64_t> b_codes, std::span<const std::uint64_t> c_codes)
      : row(find_row(x)),
        what("kernel gemm of mma.m16n8k" + std::to_string(x.k) + ", " + std::to_string(m) + " x " +
             std::to_string(n) + " x " + std::to_string(k)),
        a(words_of(a_codes, m, k, words_of_row(x, k), x.types.a.storage_bits()), what),
        b(words_of(b_codes, n, k, words_of_row(x, k), x.types.b.storage_bits()), what),
        c(std::vector<std::uint32_t>(c_codes.begin(), c_codes.end()), what),
        d(c_codes.size(), what),
        call{a.get(), b.get(), c.get(), d.get(), m, n, words_of_row(x, k)} {
    if (row == nullptr) throw Error(what + ": there is no such kernel; has_gemm tells");
  }
};

Gemm::Gemm(const Instruction& instruction, int m, int n, int k, std::span<const std::uint64_t> a,
           std::span<const std::uint64_t> b, std::span<const std::uint64_t> c)
    : on_device_(std::make_unique<OnDevice>(instruction, m, n, k, a, b, c)) {}
Gemm::~Gemm() = default;

void Gemm::launch() {
  const GemmCall& call = on_device_->call;
  if (call.m == 0 || call.n == 0) return;
  const auto tiles = [](int size) {
    return static_cast<unsigned>((size + gemm_tile - 1) / gemm_tile);
  };
  on_device_->row->kernel<<<dim3(tiles(call.n), tiles(call.m)), gemm_threads>>>(call);
  must(cudaGetLastError(), "the launch", on_device_->what);
}

void Gemm::results(std::span<std::uint64_t> d) const {
  std::vector<std::uint32_t> words(on_device_->d.size());
  on_device_->d.copy_to(words);
  std::copy(words.begin(), words.end(), d.begin());
}

}  // namespace binade

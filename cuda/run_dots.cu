// SPDX-License-Identifier: Apache-2.0
//
// Eight dot products a warp: dot i is row i of a and column i of b, its d element (i, i); rows 8 to 15
// of a are zeros.
#include "cuda/run_dots.h"

#include <vector>

#include "cuda/call.cuh"
#include "cuda/mma_lanes.h"
#include "cuda/ptx_mma.cuh"

namespace binade {
namespace {

constexpr int dots_per_warp = 8;
constexpr int warps_per_block = 4;

/// Rows as words of 32 bits; c and d as encodings.
struct Rows {
  const std::uint32_t* a = nullptr;
  const std::uint32_t* b = nullptr;
  const std::uint32_t* c = nullptr;
  std::uint32_t* d = nullptr;
  int count = 0;
  int words = 0;  ///< of a row
};

__device__ MmaRegisters load(const Rows& rows, int first, int lane, bool f16) {
  MmaRegisters x;
  const auto word = [&rows, first](const std::uint32_t* values, int row, int at) {
    const bool there = row < dots_per_warp && first + row < rows.count && at < rows.words;
    return there ? values[static_cast<long long>(first + row) * rows.words + at] : 0U;
  };
  for (int reg = 0; reg < 4; ++reg) {  // one element a register here: words
    const Place place = place_of_a(lane, reg, 0, 1);
    x.a[reg] = word(rows.a, place.row, place.column);
  }
  for (int reg = 0; reg < 2; ++reg) {
    const Place place = place_of_b(lane, reg, 0, 1);
    x.b[reg] = word(rows.b, place.column, place.row);
  }
  for (int reg = 0; reg < (f16 ? 2 : 4); ++reg) {
    for (int element = 0; element < (f16 ? 2 : 1); ++element) {
      const Place place = place_of_c(lane, reg, element, f16 ? 2 : 1);
      const bool mine = place.row == place.column && first + place.row < rows.count;
      const std::uint32_t c = mine ? rows.c[first + place.row] : 0;
      if (f16) x.f16[reg] |= c << (16 * element);
      if (!f16) x.f32[reg] = __uint_as_float(c);
    }
  }
  return x;
}

__device__ void store(const Rows& rows, int first, int lane, bool f16, const MmaRegisters& x) {
  for (int reg = 0; reg < (f16 ? 2 : 4); ++reg) {
    for (int element = 0; element < (f16 ? 2 : 1); ++element) {
      const Place place = place_of_c(lane, reg, element, f16 ? 2 : 1);
      if (place.row != place.column || first + place.row >= rows.count) continue;
      rows.d[first + place.row] =
          f16 ? x.f16[reg] >> (16 * element) & 0xFFFF : __float_as_uint(x.f32[reg]);
    }
  }
}

#define BINADE_KERNEL(wrapper, f16)                                                          \
  __global__ void kernel_##wrapper(Rows rows) {                                              \
    const int warp =                                                                         \
        static_cast<int>(blockIdx.x) * warps_per_block + static_cast<int>(threadIdx.x) / 32; \
    const int lane = static_cast<int>(threadIdx.x) % 32;                                     \
    MmaRegisters x = load(rows, warp * dots_per_warp, lane, f16);                            \
    wrapper(x);                                                                              \
    store(rows, warp* dots_per_warp, lane, f16, x);                                          \
  }
BINADE_KERNEL(mma_m16n8k8_f32_f16, false)
BINADE_KERNEL(mma_m16n8k16_f32_f16, false)
BINADE_KERNEL(mma_m16n8k8_f16_f16, true)
BINADE_KERNEL(mma_m16n8k16_f16_f16, true)
BINADE_KERNEL(mma_m16n8k8_f32_bf16, false)
BINADE_KERNEL(mma_m16n8k16_f32_bf16, false)
BINADE_KERNEL(mma_m16n8k4_f32_tf32, false)
BINADE_KERNEL(mma_m16n8k8_f32_tf32, false)
#define BINADE_FP8_KERNELS(name, types, a, b)   \
  BINADE_KERNEL(mma_m16n8k16_f32_##name, false) \
  BINADE_KERNEL(mma_m16n8k32_f32_##name, false) \
  BINADE_KERNEL(mma_m16n8k16_f16_##name, true)  \
  BINADE_KERNEL(mma_m16n8k32_f16_##name, true)
BINADE_FP8(BINADE_FP8_KERNELS)

struct KernelRow {
  int k;
  Format a, b, d;
  void (*kernel)(Rows rows);
};

const KernelRow kernel_rows[] = {{8, binary16, binary16, binary32, kernel_mma_m16n8k8_f32_f16},
                                 {16, binary16, binary16, binary32, kernel_mma_m16n8k16_f32_f16},
                                 {8, binary16, binary16, binary16, kernel_mma_m16n8k8_f16_f16},
                                 {16, binary16, binary16, binary16, kernel_mma_m16n8k16_f16_f16},
                                 {8, bfloat16, bfloat16, binary32, kernel_mma_m16n8k8_f32_bf16},
                                 {16, bfloat16, bfloat16, binary32, kernel_mma_m16n8k16_f32_bf16},
                                 {4, tf32, tf32, binary32, kernel_mma_m16n8k4_f32_tf32},
                                 {8, tf32, tf32, binary32, kernel_mma_m16n8k8_f32_tf32},
#define BINADE_FP8_ROWS(name, types, a, b)                  \
  {16, a, b, binary32, kernel_mma_m16n8k16_f32_##name},     \
      {32, a, b, binary32, kernel_mma_m16n8k32_f32_##name}, \
      {16, a, b, binary16, kernel_mma_m16n8k16_f16_##name}, \
      {32, a, b, binary16, kernel_mma_m16n8k32_f16_##name},
                                 BINADE_FP8(BINADE_FP8_ROWS)};

const KernelRow* find_kernel(const Instruction& x) {
  if (x.family != Family::mma || x.m != 16 || x.types.c != x.types.d) return nullptr;
  for (const KernelRow& row : kernel_rows) {
    if (row.k == x.k && row.a == x.types.a && row.b == x.types.b && row.d == x.types.d) return &row;
  }
  return nullptr;
}

/// Codes of `width` bits, lowest first, in words.
std::vector<std::uint32_t> words_of(const std::vector<std::uint64_t>& codes, int width) {
  const std::size_t per = 32 / static_cast<std::size_t>(width);
  std::vector<std::uint32_t> out(codes.size() / per);
  for (std::size_t i = 0; i < out.size() * per; ++i) {
    out[i / per] |= static_cast<std::uint32_t>(codes[i])
                    << (i % per * static_cast<std::size_t>(width));
  }
  return out;
}

/// Memory of the device that goes when its owner does.
class DeviceWords {
 public:
  DeviceWords(const std::vector<std::uint32_t>& values, const std::string& doing) {
    must(cudaMalloc(&words_, bytes(values.size())), "cudaMalloc", doing);
    must(cudaMemcpy(words_, values.data(), bytes(values.size()), cudaMemcpyHostToDevice),
         "cudaMemcpy", doing);
  }
  ~DeviceWords() { cudaFree(words_); }
  DeviceWords(const DeviceWords&) = delete;
  DeviceWords& operator=(const DeviceWords&) = delete;

  std::uint32_t* get() const { return words_; }
  static std::size_t bytes(std::size_t n) { return (n == 0 ? 1 : n) * sizeof(std::uint32_t); }

 private:
  std::uint32_t* words_ = nullptr;
};

}  // namespace

std::optional<std::string> run_dots_on_gpu(const Instruction& instruction, Dots& dots) {
  const KernelRow* row = find_kernel(instruction);
  if (row == nullptr)
    return "only mma.sync m16n8 of f16, bf16, tf32 and FP8 runs on the GPU so far";
  const std::string doing = "mma.sync m16n8k" + std::to_string(instruction.k) + ", " +
                            std::to_string(dots.c.size()) + " rows";
  const DeviceWords a(words_of(dots.a, instruction.types.a.storage_bits()), doing);
  const DeviceWords b(words_of(dots.b, instruction.types.b.storage_bits()), doing);
  const DeviceWords c(words_of(dots.c, 32), doing);
  std::vector<std::uint32_t> results(dots.c.size());
  const DeviceWords d(results, doing);
  const Rows rows{a.get(),
                  b.get(),
                  c.get(),
                  d.get(),
                  static_cast<int>(dots.c.size()),
                  instruction.k * instruction.types.a.storage_bits() / 32};
  constexpr int per_block = dots_per_warp * warps_per_block;
  const auto blocks = static_cast<unsigned>((rows.count + per_block - 1) / per_block);
  if (blocks > 0) row->kernel<<<blocks, 32 * warps_per_block>>>(rows);
  must(cudaGetLastError(), "the kernel's launch", doing);
  must(cudaMemcpy(results.data(), d.get(), DeviceWords::bytes(results.size()),
                  cudaMemcpyDeviceToHost),
       "cudaMemcpy", doing);
  dots.d.assign(results.begin(), results.end());
  return std::nullopt;
}

}  // namespace binade

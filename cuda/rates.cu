// SPDX-License-Identifier: Apache-2.0
//
// Measures rates by CUDA events: medians after warm-up, on arrays far larger than the caches.
#include "cuda/rates.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string>

#include "cuda/cublas.h"
#include "cuda/device_array.h"
#include "cuda/emulated_matmul.h"
#include "cuda/gemm.h"
#include "cuda/quantize.cuh"
#include "cuda/quantize.h"
#include "cuda/range_count.cuh"
#include "cuda/range_count.h"

namespace binade {
namespace {

constexpr int warm_up = 2;
constexpr int passes = 9;
constexpr std::size_t values = std::size_t{1} << 28;  ///< floats in an array: 1 GiB

const std::string measuring = "measuring rates";

struct Event {
  cudaEvent_t event{};
  Event() { must(cudaEventCreate(&event), "cudaEventCreate", measuring); }
  ~Event() { cudaEventDestroy(event); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record() { must(cudaEventRecord(event), "cudaEventRecord", measuring); }
};

/// Returns the median seconds of the work that `launch` starts.
double seconds(const std::function<void()>& launch) {
  Event begin, end;
  std::array<float, passes> times{};
  for (int pass = -warm_up; pass < passes; ++pass) {
    begin.record();
    launch();
    end.record();
    must(cudaEventSynchronize(end.event), "cudaEventSynchronize", measuring);
    float milliseconds = 0;
    must(cudaEventElapsedTime(&milliseconds, begin.event, end.event), "cudaEventElapsedTime",
         measuring);
    if (pass >= 0) times[static_cast<std::size_t>(pass)] = milliseconds;
  }
  std::nth_element(times.begin(), times.begin() + passes / 2, times.end());
  return 1e-3 * times[passes / 2];
}

constexpr int copied_at_once = 4;

__global__ void copy_kernel(const float4* in, float4* out) {
  const std::size_t block = std::size_t{blockIdx.x} * blockDim.x * copied_at_once + threadIdx.x;
  float4 x[copied_at_once];
  for (int i = 0; i < copied_at_once; ++i) x[i] = __ldcs(in + block + i * blockDim.x);
  for (int i = 0; i < copied_at_once; ++i) __stcs(out + block + i * blockDim.x, x[i]);
}

/// Fills an array with values like gradients: signs and significands are random, and from 2^-4 down
/// each binade has half as many values as the one above.
std::vector<float> gradients(std::size_t n) {
  std::vector<float> out(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::array<std::uint32_t, 4> x = random_words(1, 1, i);
    const std::uint32_t field = 123 - static_cast<std::uint32_t>(leading_zeros(x[1] | 1));
    out[i] = std::bit_cast<float>((x[0] & 0x807FFFFF) | field << 23);
  }
  return out;
}

/// Measures the kernels that device memory bounds, and two copies of it as their limit.
void add_bulk_rates(std::vector<KernelRate>& out) {
  const std::vector<float> some = gradients(std::size_t{1} << 22);
  const DeviceArray<float> in(values, measuring);
  const DeviceArray<float> result(values, measuring);
  for (std::size_t at = 0; at < values; at += some.size()) {
    must(
        cudaMemcpy(in.get() + at, some.data(), some.size() * sizeof(float), cudaMemcpyHostToDevice),
        "cudaMemcpy to the device", measuring);
  }
  const DeviceArray<EventWords> words(std::vector<EventWords>(1), measuring);
  const DeviceArray<RangeWords> sums(1, measuring);
  constexpr double read = 4.0 * static_cast<double>(values);
  const auto rate = [](double bytes, const std::function<void()>& launch) {
    return bytes / seconds(launch) * 1e-9;
  };
  const double by_runtime = rate(2 * read, [&] {
    must(cudaMemcpyAsync(result.get(), in.get(), values * sizeof(float), cudaMemcpyDeviceToDevice),
         "cudaMemcpyAsync", measuring);
  });
  const double by_kernel = rate(2 * read, [&] {
    constexpr unsigned threads = 256;
    copy_kernel<<<static_cast<unsigned>(values / 4 / threads / copied_at_once), threads>>>(
        reinterpret_cast<const float4*>(in.get()), reinterpret_cast<float4*>(result.get()));
    must(cudaGetLastError(), "the launch of the copy", measuring);
  });
  const double copy = std::max(by_runtime, by_kernel);
  out.push_back({"copy", "cudaMemcpyDeviceToDevice, 1 GiB", "GB/s", by_runtime, 0, ""});
  out.push_back({"copy", "kernel, 1 GiB", "GB/s", by_kernel, 0, ""});
  const auto add = [&](const char* kernel, const char* what, double bytes,
                       const std::function<void()>& launch) {
    out.push_back(
        {kernel, what, "GB/s", rate(bytes, launch), copy, "the faster copy of device memory"});
  };
  for (const NamedRounding& rounding : roundings) {
    const bool stochastic = rounding.rounding == Rounding::stochastic;
    if (!stochastic && rounding.rounding != Rounding::ties_to_even) continue;
    for (const Format& format : {binary16, e4m3}) {
      const Quantizer to{format, {.rounding = rounding.rounding}};
      const std::string what = std::string(format_name(format)) + " " + std::string(rounding.name);
      add("quantize", what.c_str(), 2 * read,
          [&] { launch_quantize(in.get(), result.get(), values, 0, to, words.get()); });
    }
  }
  clear_range_words(sums.get(), 0);
  add("range_count", "binary32", read,
      [&] { launch_range_count(in.get(), values, {}, sums.get()); });
}

/// Returns n codes of a format with magnitudes from 1/8 to 2.
std::vector<std::uint64_t> codes_of(const Format& f, std::size_t n) {
  std::vector<std::uint64_t> out(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::array<std::uint32_t, 4> x = random_words(1, 2, i);
    const auto field = static_cast<std::uint64_t>(f.bias - static_cast<int>(x[1] % 4));
    out[i] = bits_of({x[2] % 2 == 0, field, x[0] & f.fraction_mask()}, f);
  }
  return out;
}

struct Emulated {
  const char* what;
  int sm, block;
  Format format;
};
constexpr Emulated emulated[] = {{"Volta, f16 to f32", 70, 4, binary16},
                                 {"Ampere, f16 to f32", 80, 8, binary16},
                                 {"Ada, e4m3 to f32", 89, 16, e4m3},
                                 {"Hopper, f16 to f32", 90, 16, binary16}};

/// Returns the products per second, in units of 10^12, that emulated kernels cannot exceed: a
/// multiprocessor executes 64 integer instructions per clock, and a product takes 5 at least: a
/// maximum, two for the sign, a distance and a shift.
double integer_limit() {
  int clock = 0, multiprocessors = 0;
  must(cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0), "cudaDeviceGetAttribute",
       measuring);
  must(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0),
       "cudaDeviceGetAttribute", measuring);
  return 1e-9 * clock * multiprocessors * 64 / 5;
}

void add_emulated_rates(std::vector<KernelRate>& out) {
  constexpr int size = 4096, k = 1024;
  for (const Emulated& x : emulated) {
    const DotTypes types{x.format, x.format, binary32, binary32};
    const Architecture* on = find_architecture(x.sm);
    const std::optional<DotModel> model =
        on == nullptr ? std::nullopt : find_model(Family::mma, *on, 0, types);
    if (!model) continue;
    const auto a = codes_of(x.format, std::size_t{size} * k);
    const std::vector<std::uint64_t> c(std::size_t{size} * size);
    EmulatedMatmul product({*model, types, size, size, k}, a, a, c);
    const double rate = double{size} * size * k / seconds([&] { product.launch(); }) * 1e-12;
    out.push_back({"emulated matmul", x.what, "TMAC/s", rate, integer_limit(),
                   "estimate: 64 integer instructions a clock, 5 a product"});
  }
}

void add_gemm_rates(std::vector<KernelRate>& out, int sm) {
  constexpr int size = 4096;
  const std::optional<Instruction> how = gemm_instruction(sm, binary16, binary16, binary32);
  if (!how || !has_gemm(*how)) return;
  const auto a = codes_of(binary16, std::size_t{size} * size);
  const std::vector<std::uint64_t> c(a.size());
  constexpr double operations = 2e-12 * size * size * size;
  Gemm product(*how, size, size, size, a, a, c);
  const double rate = operations / seconds([&] { product.launch(); });
  KernelRate row{"gemm", "f16 to f32, 4096 cubed", "TFLOP/s", rate, 0, "cuBLAS was not found"};
  if (const CublasProduct cublas = find_cublas()) {
    std::vector<std::uint32_t> words(a.size() / 2);
    for (std::size_t i = 0; i < a.size(); ++i) {
      words[i / 2] |= static_cast<std::uint32_t>(a[i]) << (16 * (i % 2));
    }
    const DeviceArray<std::uint32_t> operand(words, measuring);
    const DeviceArray<float> d(c.size(), measuring);
    const auto launch = [&] { cublas(operand.get(), operand.get(), d.get(), size, size, size); };
    row.limit = operations / seconds(launch);
    row.limit_is = "cuBLAS";
  }
  out.push_back(row);
}

}  // namespace

std::vector<KernelRate> measure_rates_on_gpu(int sm) {
  std::vector<KernelRate> out;
  add_bulk_rates(out);
  add_emulated_rates(out);
  add_gemm_rates(out, sm);
  return out;
}

}  // namespace binade

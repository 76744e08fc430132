// SPDX-License-Identifier: Apache-2.0
//
// Runs the bodies of kernels on the CPU: it defines CUDA's keywords for g++, and `simt::launch`.
// Blocks run one after the other; the threads of a block are fibers that switch at barriers only,
// so code between two barriers is atomic, and a missing barrier is found only if it changes the
// results of this order.
// __shared__ variables keep the values of the block before. Include this header before the .cuh
// under test.
#pragma once

// Bodies of kernels index arrays by int, as CUDA's indices are; g++ has this warning in C only.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wsign-conversion"
#endif

#include <ucontext.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// The names are CUDA's.
// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier)
#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};
inline dim3 threadIdx, blockIdx, blockDim, gridDim;

struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)

namespace simt {

inline constexpr unsigned warp_size = 32;
inline constexpr std::size_t most_bytes = 64;  ///< size of a value that lanes exchange
inline constexpr std::size_t stack_bytes = std::size_t{1} << 18;

/// A place in the source. It stands for std::source_location, which clang 14 lacks.
struct Where {
  const char* file;
  unsigned line;

  static constexpr Where here(const char* file = __builtin_FILE(),
                              unsigned line = __builtin_LINE()) {
    return {file, line};
  }
};

/// A thread of the block, and the barrier at which it waits. Barriers are distinguished by their
/// place in the source, so threads that wait at different places never meet.
struct Fiber {
  ucontext_t context{};
  std::unique_ptr<std::byte[]> stack = std::make_unique_for_overwrite<std::byte[]>(stack_bytes);
  dim3 index;
  std::string barrier;      ///< empty: the thread can run
  std::uint32_t lanes = 0;  ///< mask of the lanes of its warp that meet there; 0: the whole block
  bool done = false;
  std::array<std::byte, most_bytes> shown{};  ///< the value that other lanes read
};

inline std::vector<std::unique_ptr<Fiber>> fibers;
inline std::size_t current = 0, running = 0;  ///< the running thread, and the threads of the block
inline ucontext_t scheduler;
inline std::function<void()> body;
inline std::exception_ptr thrown;

inline void run_body() {
  try {
    body();
  } catch (...) {
    thrown = std::current_exception();
  }
  fibers[current]->done = true;
}

/// Waits until all threads of the block, or the `lanes` of the warp, wait at the same place.
inline void wait(const char* name, std::uint32_t lanes, const Where& at) {
  Fiber& self = *fibers[current];
  self.barrier = std::string(name) + " at " + at.file + ":" + std::to_string(at.line);
  self.lanes = lanes;
  swapcontext(&self.context, &scheduler);
}

/// Returns whether all threads that thread t waits for wait at the same barrier.
inline bool has_met(std::size_t t) {
  const Fiber& self = *fibers[t];
  const std::size_t first = self.lanes == 0 ? 0 : t / warp_size * warp_size;
  for (std::size_t i = 0; i < (self.lanes == 0 ? running : warp_size); ++i) {
    if (self.lanes != 0 && (self.lanes >> i & 1) == 0) continue;
    if (first + i >= running) return false;
    const Fiber& other = *fibers[first + i];
    if (other.done || other.barrier != self.barrier || other.lanes != self.lanes) return false;
  }
  return true;
}

/// Runs the threads of a block to their ends. Throws std::logic_error if threads wait at barriers
/// that the others never reach, and passes on what the body throws.
inline void run_block() {
  for (std::size_t left = running; left > 0;) {
    for (current = 0; current < running; ++current) {
      Fiber& fiber = *fibers[current];
      if (fiber.done || !fiber.barrier.empty()) continue;
      threadIdx = fiber.index;
      swapcontext(&scheduler, &fiber.context);
      if (thrown) std::rethrow_exception(std::exchange(thrown, nullptr));
      left -= fiber.done ? 1 : 0;
    }
    std::vector<std::size_t> free;
    for (std::size_t t = 0; t < running; ++t) {
      if (!fibers[t]->done && has_met(t)) free.push_back(t);
    }
    for (std::size_t t = 0; t < running && left > 0 && free.empty(); ++t) {
      if (fibers[t]->done) continue;
      throw std::logic_error("thread " + std::to_string(t) + " waits for others at " +
                             fibers[t]->barrier);
    }
    for (const std::size_t t : free) fibers[t]->barrier.clear();
  }
}

/// Runs the body of a kernel for a grid of blocks of threads.
template <class... Parameters, class... Arguments>
void launch(dim3 blocks, dim3 threads, void (*kernel)(Parameters...), Arguments... arguments) {
  gridDim = blocks;
  blockDim = threads;
  running = std::size_t{threads.x} * threads.y * threads.z;
  while (fibers.size() < running) fibers.push_back(std::make_unique<Fiber>());
  body = [=] { kernel(arguments...); };
  for (std::size_t b = 0; b < std::size_t{blocks.x} * blocks.y * blocks.z; ++b) {
    const auto place = [](std::size_t i, const dim3& size) {
      return dim3{static_cast<unsigned>(i % size.x), static_cast<unsigned>(i / size.x % size.y),
                  static_cast<unsigned>(i / size.x / size.y)};
    };
    blockIdx = place(b, blocks);
    for (std::size_t t = 0; t < running; ++t) {
      Fiber& fiber = *fibers[t];
      fiber.index = place(t, threads);
      fiber.barrier.clear();
      fiber.done = false;
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.get();
      fiber.context.uc_stack.ss_size = stack_bytes;
      fiber.context.uc_link = &scheduler;
      makecontext(&fiber.context, &run_body, 0);
    }
    run_block();
  }
}

/// Returns the values that the lanes of the warp pass, zeros for lanes not in `lanes`. All lanes in
/// `lanes` must call it.
template <class T>
std::array<T, warp_size> warp_gather(const T& value, std::uint32_t lanes = ~std::uint32_t{0},
                                     const char* name = "warp_gather",
                                     const Where& at = Where::here()) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= most_bytes);
  std::memcpy(fibers[current]->shown.data(), &value, sizeof(T));
  wait(name, lanes, at);
  std::array<T, warp_size> out{};
  for (unsigned i = 0; i < warp_size; ++i) {
    const Fiber& other = *fibers[current / warp_size * warp_size + i];
    if ((lanes >> i & 1) != 0) std::memcpy(&out[i], other.shown.data(), sizeof(T));
  }
  wait(name, lanes, at);
  return out;
}

/// Returns f folded over the values of the lanes in `lanes`, beginning with `start`.
template <class T, class F>
T warp_reduce(const std::array<T, warp_size>& values, std::uint32_t lanes, T start, const F& f) {
  for (unsigned i = 0; i < warp_size; ++i)
    start = (lanes >> i & 1) != 0 ? f(start, values[i]) : start;
  return start;
}

}  // namespace simt

#include "tests/cuda/simt_words.h"

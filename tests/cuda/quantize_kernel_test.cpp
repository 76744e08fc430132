// SPDX-License-Identifier: Apache-2.0
//
// The body of the quantize kernel on the CPU against `quantize`: bytes and counts, at sizes around
// a group, a warp and a block, at every place in a block of random words, aligned and not.
#include "tests/cuda/simt.h"

#include "cuda/quantize.cuh"

#include <doctest/doctest.h>

#include <random>

namespace binade::quantize_kernel_test {
namespace {

template <bool stochastic, bool flushing>
void kernel(QuantizeCall call, EventWords* total) {
  quantize_body<stochastic, flushing>(call, total);
}
void definition_kernel(QuantizeCall call, EventWords* total) {
  quantize_by_definition_body(call, total);
}

EventCounts run(QuantizeCall call) {
  EventWords words{};
  const auto blocks = static_cast<unsigned>(quantize_blocks(call));
  const bool flushing = call.to.flush_results || call.to.flushed_below != 0;
  if (!call.to.known) {
    simt::launch({static_cast<unsigned>(call.n / 64 + 1)}, {64}, definition_kernel, call, &words);
  } else if (call.to.stochastic) {
    simt::launch({blocks}, {quantize_threads}, flushing ? kernel<true, true> : kernel<true, false>,
                 call, &words);
  } else {
    simt::launch({blocks}, {quantize_threads},
                 flushing ? kernel<false, true> : kernel<false, false>, call, &words);
  }
  return counts_of(words, call.n);
}

struct alignas(16) Arrays {
  std::array<float, 40000> in{}, out{};
};

/// Gradients with every kind of event in them.
void fill(std::array<float, 40000>& in) {
  std::mt19937 random(3);
  for (float& x : in) {
    const auto bits = static_cast<std::uint32_t>(random());
    x = std::bit_cast<float>(random() % 8 == 0 ? bits : (bits & 0x8FFFFFFF) | 0x30000000);
  }
}

void check(const Quantizer& to, Count n, Count first, std::size_t offset) {
  CAPTURE(n);
  CAPTURE(first);
  CAPTURE(offset);
  static Arrays x;
  fill(x.in);
  x.out.fill(-1);
  const Arrays before = x;
  QuantizeCall call{x.in.data() + offset, x.out.data() + offset, n, first, fast::quantize_plan(to)};
  call.aligned = first % 4 == 0 && offset % 4 == 0;
  std::vector<float> want(n);
  EventCounts counts;
  quantize(call.in, want.data(), n, first, to, counts);
  CHECK(run(call) == counts);
  CHECK(std::memcmp(want.data(), call.out, n * sizeof(float)) == 0);
  CHECK(std::memcmp(x.out.data(), before.out.data(), offset * sizeof(float)) == 0);
  CHECK(x.out[offset + n] == -1);
}

constexpr std::array<Count, 8> sizes{1, 3, 4, 5, 127, 1024, 16384, 33333};

TEST_CASE("random words are those of the elements, wherever an array begins") {
  for (const Count n : sizes) {
    for (const Count first : {0, 1, 2, 3, 4, 1023}) {
      check({e4m3, {.rounding = Rounding::stochastic}, 7, 9}, n, first, n % 2 == 0 ? 0 : 1);
    }
  }
  check({e5m2, {.rounding = Rounding::stochastic, .random_bits = 9}, 1, 1}, 5000,
        (Count{1} << 34) + 2, 0);
}

TEST_CASE("every rounding and flag gives the definition's bytes and counts") {
  for (const NamedRounding& row : roundings) {
    CAPTURE(row.name);
    check({binary16, {.rounding = row.rounding}}, 3000, 0, 0);
    check({bfloat16,
           {.rounding = row.rounding,
            .saturation = Saturation::finite,
            .flush_results = true,
            .flush_operands = true}},
          3000, 0, 2);
    check({e4m3, {.rounding = row.rounding, .flush_results = true, .nan = NanResult::propagate}},
          3000, 0, 0);
  }
  for (const NamedFormat& format : formats) {
    if (fits_in(format.format, binary32)) check({format.format}, 1111, 0, 0);
  }
}

TEST_CASE("a whole block of one event is counted in full") {
  static Arrays x;
  for (const float value : {0x1p-30F, 0x1p-15F, 1e9F, 1.1F, 0.0F}) {
    x.in.fill(value);
    QuantizeCall call{x.in.data(), x.in.data(), x.in.size(), 0, fast::quantize_plan({})};
    call.aligned = true;
    EventCounts want;
    quantize(x.in.data(), x.out.data(), x.in.size(), 0, {}, want);
    CHECK(run(call) == want);
    CHECK(x.in == x.out);
  }
}

}  // namespace
}  // namespace binade::quantize_kernel_test

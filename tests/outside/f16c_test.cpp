// SPDX-License-Identifier: Apache-2.0
//
// The processor's own float to binary16 conversion (F16C) in its four roundings, NaN payloads too:
// it keeps the sign and the leading payload bits and sets the quiet bit, which is our `propagate`.
#include "tests/outside/patterns.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#include <immintrin.h>

namespace {

using namespace binade;
using outside::emulated;

// The immediates of VCVTPS2PH: 0 nearest even, 1 down, 2 up, 3 toward zero.
template <int mode>
__attribute__((target("avx,f16c"))) void hardware(const std::uint32_t* patterns,
                                                  std::uint64_t* bits, std::size_t n) {
  for (std::size_t i = 0; i < n; i += 8) {
    alignas(32) std::uint32_t in[8] = {};
    alignas(16) std::uint16_t out[8];
    const std::size_t m = n - i < 8 ? n - i : 8;
    std::memcpy(in, patterns + i, m * sizeof in[0]);
    const __m256 x = _mm256_load_ps(reinterpret_cast<const float*>(in));
    _mm_store_si128(reinterpret_cast<__m128i*>(out), _mm256_cvtps_ph(x, mode));
    for (std::size_t k = 0; k < m; ++k) bits[i + k] = out[k];
  }
}

constexpr Attributes rounded(Rounding rounding) {
  return {.rounding = rounding, .nan = NanResult::propagate};
}

bool processor_has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0 && (c & bit_AVX) != 0;
}

/// Compares the conversion of all encodings of binary16 to float.
__attribute__((target("avx,f16c"))) std::uint64_t wrong_widenings() {
  std::uint64_t wrong = 0;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float theirs = _cvtsh_ss(static_cast<unsigned short>(bits));
    const std::uint64_t ours =
        convert(bits, binary16, binary32, {.nan = NanResult::propagate}).bits;
    wrong += ours == std::bit_cast<std::uint32_t>(theirs) ? 0 : 1;
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  if (!processor_has_f16c()) return outside::skip("this processor has no F16C");
  outside::Comparison comparison(outside::options_of(argc, argv));
  comparison.run({"F16C ties to even", binary16,
                  emulated<binary16, rounded(Rounding::ties_to_even)>, hardware<0>});
  comparison.run({"F16C toward negative", binary16,
                  emulated<binary16, rounded(Rounding::toward_negative)>, hardware<1>});
  comparison.run({"F16C toward positive", binary16,
                  emulated<binary16, rounded(Rounding::toward_positive)>, hardware<2>});
  comparison.run({"F16C toward zero", binary16, emulated<binary16, rounded(Rounding::toward_zero)>,
                  hardware<3>});
  const std::uint64_t wrong = wrong_widenings();
  std::printf("F16C binary16 to float: 65536 encodings, %llu different\n",
              static_cast<unsigned long long>(wrong));
  return comparison.exit_status() | (wrong != 0 ? 1 : 0);
}

#else
int main() { return binade::outside::skip("F16C is an x86 instruction set"); }
#endif

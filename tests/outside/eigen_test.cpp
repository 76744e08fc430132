// SPDX-License-Identifier: Apache-2.0
//
// Eigen::half and Eigen::bfloat16: all encodings to float, and float to both, ties to even. Eigen's
// NaN results follow no written rule, so any NaN equals any other.
#include <Eigen/Core>

#include "tests/outside/patterns.h"

namespace {

using namespace binade;
using outside::each;
using outside::emulated;

std::uint64_t to_half(float x) { return Eigen::half(x).x; }
std::uint64_t to_bfloat16(float x) { return Eigen::bfloat16(x).value; }

float from_half(std::uint16_t bits) {
  return static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(bits));
}
float from_bfloat16(std::uint16_t bits) {
  return static_cast<float>(Eigen::numext::bit_cast<Eigen::bfloat16>(bits));
}

std::uint64_t wrong_widenings(const char* name, const Format& format,
                              float (*theirs)(std::uint16_t)) {
  std::uint64_t wrong = 0;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto x = std::bit_cast<std::uint32_t>(theirs(static_cast<std::uint16_t>(bits)));
    const std::uint64_t ours = convert(bits, format, binary32).bits;
    const bool both_nan = decode(bits, format).kind == Kind::nan &&
                          decode(x, binary32).kind == Kind::nan &&
                          decode(ours, binary32).kind == Kind::nan;
    wrong += ours == x || both_nan ? 0 : 1;
  }
  std::printf("%s to float: 65536 encodings, %llu different\n", name,
              static_cast<unsigned long long>(wrong));
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  outside::Comparison comparison(outside::options_of(argc, argv));
  comparison.run(
      {"float to Eigen::half", binary16, emulated<binary16, Attributes{}>, each<to_half>, false});
  comparison.run({"float to Eigen::bfloat16", bfloat16, emulated<bfloat16, Attributes{}>,
                  each<to_bfloat16>, false});
  const std::uint64_t wrong = wrong_widenings("Eigen::half", binary16, from_half) +
                              wrong_widenings("Eigen::bfloat16", bfloat16, from_bfloat16);
  return comparison.exit_status() | (wrong != 0 ? 1 : 0);
}

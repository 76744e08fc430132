// SPDX-License-Identifier: Apache-2.0
//
// Operations on floats, in tiles of 128 in binary64. The definition does NaNs, infinities, the
// operations that flush operands, and the roundings that binary64 does not decide.
#include "emulate/fast/elementwise.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "emulate/double_double.h"
#include "emulate/fast/kernels.h"
#include "emulate/fast/quantize_tile.h"

namespace binade::fast {
namespace {

struct OperandTile {
  std::array<float, tile_size> a, b, c;
};

/// Returns the lesser of two finite numbers, where -0 is less than +0; a NaN where one operand is a
/// NaN or an infinity.
double lesser(float a, float b) {
  const bool are_numbers = std::isfinite(a) && std::isfinite(b);
  const bool is_a = a < b || (a == b && std::signbit(a));
  const float least = is_a ? a : b;
  return are_numbers ? least : std::numeric_limits<double>::quiet_NaN();
}

void compute_tile(Operation operation, const OperandTile& x, double* out, std::size_t n) {
  const auto wide = [](float value) { return static_cast<double>(value); };
  switch (operation) {
    case Operation::add:
      for (std::size_t i = 0; i < n; ++i) out[i] = to_odd(exact_sum(wide(x.a[i]), wide(x.b[i])));
      return;
    case Operation::subtract:
      for (std::size_t i = 0; i < n; ++i) out[i] = to_odd(exact_sum(wide(x.a[i]), -wide(x.b[i])));
      return;
    case Operation::multiply:
      for (std::size_t i = 0; i < n; ++i) out[i] = wide(x.a[i]) * wide(x.b[i]);
      return;
    case Operation::divide:
      // x / infinity is 0, a number, although the definition counts the infinity: the divisor marks
      // the element as special.
      for (std::size_t i = 0; i < n; ++i) {
        const double quotient = wide(x.a[i]) / wide(x.b[i]);
        out[i] = std::isinf(x.b[i]) ? wide(x.b[i]) : quotient;
      }
      return;
    case Operation::square_root:
      for (std::size_t i = 0; i < n; ++i) out[i] = std::sqrt(wide(x.a[i]));
      return;
    case Operation::multiply_add:
      for (std::size_t i = 0; i < n; ++i) {
        out[i] = to_odd(exact_sum(wide(x.a[i]) * wide(x.b[i]), wide(x.c[i])));
      }
      return;
    case Operation::minimum:
    case Operation::minimum_number:
      for (std::size_t i = 0; i < n; ++i) out[i] = lesser(x.a[i], x.b[i]);
      return;
    case Operation::maximum:
    case Operation::maximum_number:
      for (std::size_t i = 0; i < n; ++i) out[i] = -lesser(-x.a[i], -x.b[i]);
      return;
    case Operation::remainder: return;
  }
}

bool is_known(const Elementwise& how) {
  if (how.operation == Operation::remainder || !fits_in(how.to, binary32)) return false;
  if (how.attributes.flush_operands) return false;
  const bool adds = how.operation == Operation::add || how.operation == Operation::subtract ||
                    how.operation == Operation::multiply_add;
  if (how.attributes.rounding == Rounding::stochastic) {
    return selects(how.operation) ||
           (how.to.precision <= 20 && (adds || how.operation == Operation::multiply));
  }
  return !adds || !zero_sum_is_negative(how.attributes.rounding);
}

}  // namespace

void elementwise(const float* a, const float* b, const float* c, float* out, std::size_t n,
                 std::uint64_t first, const Elementwise& how, EventCounts& counts) {
  const TileQuantizer<double> quantizer({how.to, how.attributes, how.seed, how.stream});
  if (!quantizer.known() || !is_known(how)) {
    return definitions().elementwise_f32(a, b, c, out, n, first, how, counts);
  }
  const int operands = operand_count(how.operation);
  OperandTile x;
  std::array<double, tile_size> exact;
  std::array<std::uint64_t, tile_size> bits, results;
  for (std::size_t done = 0; done < n; done += tile_size) {
    const std::size_t count = n - done < tile_size ? n - done : tile_size;
    std::memcpy(x.a.data(), a + done, count * sizeof(float));
    if (operands > 1) std::memcpy(x.b.data(), b + done, count * sizeof(float));
    if (operands > 2) std::memcpy(x.c.data(), c + done, count * sizeof(float));
    compute_tile(how.operation, x, exact.data(), count);
    std::memcpy(bits.data(), exact.data(), count * sizeof(double));
    const SpecialValues<double> specials(bits.data(), count);
    quantizer(bits.data(), results.data(), count, first + done, counts);
    for (std::size_t i = 0; i < count; ++i) {
      out[done + i] = static_cast<float>(std::bit_cast<double>(results[i]));
    }
    specials.each(counts, [&](std::size_t i, double) {
      definitions().elementwise_f32(&x.a[i], &x.b[i], &x.c[i], out + done + i, 1, first + done + i,
                                    how, counts);
    });
  }
}

}  // namespace binade::fast

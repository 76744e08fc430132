// SPDX-License-Identifier: Apache-2.0
//
// For tests: rows of the generators of dot products, and the results that the emulator and other
// models give for them.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "lib/cases/dot_cases.h"
#include "lib/device/emulated_device.h"
#include "lib/instruction/instruction_name.h"
#include "lib/validate/dots.h"

namespace binade::test {

struct Named {
  const char* name;
  int sm;
};
inline constexpr Named some_of_each[]{
    {"mma.m16n8k16.f32.f16.f16.f32", 90},
    {"mma.m16n8k16.f16.f16.f16.f16", 90},
    {"mma.m16n8k8.f32.bf16.bf16.f32", 80},
    {"mma.m16n8k8.f32.tf32.tf32.f32", 90},
    {"mma.m16n8k32.f32.e4m3.e5m2.f32", 90},
    {"wgmma.m64n8k32.f16.e5m2.e5m2", 90},
    {"mma.m16n8k32.f32.e2m1.e3m2.f32", 120},
    {"mma.m8n8k4.f64.f64.f64.f64", 90},
    {"mma.m8n8k4.f32.f16.f16.f16", 70},
    {"mma.sp.m16n8k32.f32.bf16.bf16.f32", 90},
    {"mma.m16n8k64.s32.s4.u4.s32", 90},
    {"mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e5m2.f32.ue8m0", 120},
    {"mma.m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", 120},
    {"mma.sp.m16n8k128.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", 120},
};

inline Instruction instruction(const Named& named) {
  return parse_instruction(named.name, named.sm);
}
inline constexpr Named to_f32 = some_of_each[0];
inline constexpr Named to_f16 = some_of_each[1];
inline constexpr Named of_bf16 = some_of_each[2];
inline constexpr Named of_tf32 = some_of_each[3];

inline Dots rows_of(const char* generator, const Named& named, std::uint64_t rows,
                    std::uint64_t seed = 1) {
  return make_dots(parse_dot_generator(generator), instruction(named), seed, 0, rows);
}

inline std::uint64_t emulated(const Dots& dots, const Instruction& how, std::size_t i) {
  return dot_of_row(how, operands_of_row(dots, i));
}

/// Returns the number of values for which a predicate holds.
template <class Predicate>
long count(const std::vector<std::uint64_t>& values, Predicate&& holds) {
  return std::ranges::count_if(values, holds);
}

inline Kind kind(std::uint64_t bits, const Format& f) { return decode(bits, f).kind; }

/// Returns the number of rows whose result differs between the instruction's model and the model
/// that `planted` makes of it.
inline std::uint64_t seen(const char* generator, const Named& named, std::uint64_t rows,
                          const EmulatedDevice::Planted& planted) {
  const Instruction how = instruction(named);
  Dots dots = rows_of(generator, named, rows);
  EmulatedDevice device(named.sm, planted);
  REQUIRE(!device.run_dots(how, dots));
  return check_dots(dots, how, 0).different;
}

}  // namespace binade::test

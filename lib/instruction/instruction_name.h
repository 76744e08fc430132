// SPDX-License-Identifier: Apache-2.0
//
// How users name Tensor Core instructions: family, shape, then the types in PTX's order d a b c.
//
//     mma.m16n8k16.f32.f16.f16.f32        wmma.m16n16k8.f32.tf32.tf32.f32
//     wgmma.m64n128k32.f32.e4m3.e5m2      tcgen05.m128n256k16.f16.f16.f16   (c is what d held)
//     mma.m8n8k4.rz.f64.f64.f64.f64       a rounding, where PTX has one
//     mma.sp.m16n8k32.f32.f16.f16.f32     sparse; k counts the zeros too
//     wgmma.m64n8k16.f32.f16.f16.scale_d_0, .imm_scale_a_-1 or .imm_scale_b_-1: no c, minus a, minus b
//     mma.m16n8k32.satfinite.s32.s8.u8.s32, mma.m16n8k256.s32.b1.b1.s32.xor.popc
//
// and architectures: sm_90, or 90.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "emulate/tensor_core.h"

namespace binade {

/// 90 of "sm_90", "sm_90a" or "90". Error with the known ones.
int parse_architecture(std::string_view text);

/// The names of its GPUs, each on its own.
std::vector<std::string_view> gpu_names(const Architecture& on);

/// "sm_70 … sm_120", for help texts.
std::string architecture_range();

/// Error: what is wrong, the nearest names, or the architectures that have it.
Instruction parse_instruction(std::string_view name, int sm);

std::string instruction_name(const Instruction& instruction);

/// PTX's own words: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32. Of tcgen05 the kind only.
std::string ptx_of(const Instruction& instruction);

/// Every instruction of an architecture; of wgmma and tcgen05 the widest n of each m only.
std::vector<Instruction> instructions_of(int sm);

}  // namespace binade

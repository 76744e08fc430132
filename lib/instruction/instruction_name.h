// SPDX-License-Identifier: Apache-2.0
//
// The names by which users call Tensor Core instructions: family, shape, then the types in PTX's
// order d, a, b, c.
//
//     mma.m16n8k16.f32.f16.f16.f32        wmma.m16n16k8.f32.tf32.tf32.f32
//     wgmma.m64n128k32.f32.e4m3.e5m2      tcgen05.m128n256k16.f16.f16.f16   (c has the type of d)
//     mma.m8n8k4.rz.f64.f64.f64.f64       with a rounding, where PTX has one
//     mma.sp.m16n8k32.f32.f16.f16.f32     sparse; k counts the elements that are left out too
//     wgmma.m64n8k16.f32.f16.f16.scale_d_0, .imm_scale_a_-1 or .imm_scale_b_-1: no c, minus a, minus b
//     mma.m16n8k32.satfinite.s32.s8.u8.s32, mma.m16n8k256.s32.b1.b1.s32.xor.popc
//     mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e5m2.f32.ue8m0
//     tcgen05.m128n256k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.ue4m3
//                                         with scales of blocks, whose type stands last
//     tcgen05.sp.m128n256k64.f32.e4m3.e2m1                                PTX's tcgen05.mma.sp
//
// Architectures are named sm_90, or 90.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "emulate/tensor_core.h"

namespace binade {

/// Returns 90 for "sm_90", "sm_90a", "sm_90f" or "90". Throws Error with the known architectures if
/// this is none.
int parse_architecture(std::string_view text);

/// Returns the names of an architecture's GPUs, which its row has as one text.
std::vector<std::string_view> gpu_names(const Architecture& on);

/// Returns "sm_70 … sm_120", for help texts.
std::string architecture_range();

/// Returns the instruction of this name on architecture `sm`. Throws Error with what is wrong and
/// the nearest names, or the architectures that have the instruction.
Instruction parse_instruction(std::string_view name, int sm);

/// Returns the name that parse_instruction() reads.
std::string instruction_name(const Instruction& instruction);

/// Returns the instruction as PTX writes it: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32. For
/// tcgen05 that is its kind, and its scales' number, only.
std::string ptx_of(const Instruction& instruction);

/// Returns every instruction of an architecture in its plain form (rounding to nearest, no
/// saturation, scales of 1, .and.popc); of wgmma and tcgen05, sparse or not, only those with the
/// largest n. Returns none for an unknown architecture.
std::vector<Instruction> instructions_of(int sm);

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// The list of scalar instructions, made from the tables of emulate/ and from two tables here, of
// approximations and of sums in memory.
#include "lib/instruction/scalar_instruction.h"

#include <algorithm>
#include <vector>

#include "emulate/ptx_scalar_table.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

/// An approximate instruction. Cases of those with f32 operands are limited to the numbers of f16
/// and bf16, so that all cases can be run.
struct Approximation {
  std::string_view name;
  Format format;
  SmTarget target;
};

constexpr auto approximations = std::to_array<Approximation>({
    {"ex2.approx.f16", binary16, {75}},       {"ex2.approx.ftz.bf16", bfloat16, {90}},
    {"tanh.approx.f16", binary16, {75}},      {"tanh.approx.bf16", bfloat16, {90}},
    {"tanh.approx.f32", binary32, {75}},      {"ex2.approx.f32", binary32, {75}},
    {"ex2.approx.ftz.f32", binary32, {75}},   {"lg2.approx.f32", binary32, {75}},
    {"lg2.approx.ftz.f32", binary32, {75}},   {"rcp.approx.f32", binary32, {75}},
    {"rcp.approx.ftz.f32", binary32, {75}},   {"rsqrt.approx.f32", binary32, {75}},
    {"rsqrt.approx.ftz.f32", binary32, {75}}, {"sqrt.approx.f32", binary32, {75}},
    {"sqrt.approx.ftz.f32", binary32, {75}},  {"sin.approx.f32", binary32, {75}},
    {"sin.approx.ftz.f32", binary32, {75}},   {"cos.approx.f32", binary32, {75}},
    {"cos.approx.ftz.f32", binary32, {75}},
});

/// A sum in memory; its result is the number in memory afterwards. PTX ISA 9.0, atom and red:
/// add.f32 "on global memory flushes subnormal inputs and results to sign-preserving zero; whereas
/// […] on shared memory supports subnormal inputs and results"; .noftz keeps subnormals. PTX does
/// not say which NaN results: the canonical one is a guess, and so are the NaNs of the .noftz
/// forms.
struct MemorySum {
  std::string_view name, as;
  SmTarget target;
};

constexpr auto memory_sums = std::to_array<MemorySum>({
    {"red.global.add.f32", "add.ftz.f32", {75}},
    {"red.shared.add.f32", "add.f32", {75}},
    {"red.global.add.noftz.f16", "add.f16", {75}},
    {"red.shared.add.noftz.f16", "add.f16", {75}},
    {"red.global.add.noftz.f16x2", "add.f16x2", {75}},
    {"red.shared.add.noftz.f16x2", "add.f16x2", {75}},
    {"red.global.add.noftz.bf16", "add.bf16", {90}},
    {"red.shared.add.noftz.bf16", "add.bf16", {90}},
    {"red.global.add.noftz.bf16x2", "add.bf16x2", {90}},
    {"red.shared.add.noftz.bf16x2", "add.bf16x2", {90}},
});

ScalarOperation operation_of(const PtxCvt& x) {
  ScalarOperation out{.kind = ScalarKind::conversion, .cvt = x};
  out.random = x.attributes.rounding == Rounding::stochastic;
  out.words = x.operand_count() + (out.random ? 1 : 0);
  const auto words = static_cast<std::size_t>(x.operand_count());
  std::fill_n(out.word_bits.begin(), words, x.operand_bits());
  if (out.random) out.word_bits[words] = 32;
  out.lanes = x.lanes;
  out.from = {x.from};
  out.packed = x.packed_source;
  out.result = x.to;
  out.result_bits = x.result_bits();
  return out;
}

ScalarOperation operation_of(const PtxScalar& x, ScalarKind kind) {
  ScalarOperation out{.kind = kind, .arithmetic = x};
  out.words = out.inputs = x.operands;
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.operands); ++i) {
    out.word_bits[i] = x.operand_bits(i);
  }
  out.lanes = x.lanes;
  out.from = x.from;
  out.result = x.to;
  out.result_bits = x.result_bits();
  return out;
}

ScalarOperation operation_of(const Approximation& x) {
  ScalarOperation out{.kind = ScalarKind::approximation};
  out.words = 1;
  out.word_bits[0] = out.result_bits = x.format.storage_bits();
  out.from = {x.format};
  out.result = x.format;
  out.widened = x.format == binary32;
  return out;
}

std::vector<ScalarInstruction> make_instructions() {
  std::vector<ScalarInstruction> out;
  const auto add = [&out](std::string name, const SmTarget& target, const ScalarOperation& x) {
    out.push_back({std::move(name), static_cast<int>(out.size()), target, x});
  };
  for_each_ptx_cvt([&](const CvtFamily& family, std::string_view rounding, std::string_view words) {
    const std::string types = "." + std::string(family.to) + "." + std::string(family.from);
    add("cvt" + std::string(rounding) + std::string(words) + types, family.target,
        operation_of(ptx_cvt_of(family, rounding, words)));
  });
  for_each_ptx_scalar([&](std::string_view name, const PtxScalar& x) {
    add(std::string(name), x.target, operation_of(x, ScalarKind::arithmetic));
  });
  for (const MemorySum& x : memory_sums) {
    add(std::string(x.name), x.target,
        operation_of(find_ptx_scalar(x.as).value(), ScalarKind::memory));
  }
  for (const Approximation& x : approximations) {
    add(std::string(x.name), x.target, operation_of(x));
  }
  return out;
}

}  // namespace

std::span<const ScalarInstruction> scalar_instructions() {
  static const std::vector<ScalarInstruction> all = make_instructions();
  return all;
}

const ScalarInstruction& parse_scalar_instruction(std::string_view name) {
  const std::span<const ScalarInstruction> all = scalar_instructions();
  const auto found = std::ranges::find(all, name, &ScalarInstruction::name);
  if (found != all.end()) return *found;
  const std::vector<std::string_view> names = names_of(all);
  throw Error("no scalar instruction '" + printable(name) + "'" + did_you_mean(name, names));
}

std::string sm_target_name(const SmTarget& target) {
  std::string out = "sm_" + std::to_string(target.sm);
  if (target.suffix != ' ') out += target.suffix;
  return out;
}

std::optional<std::string> why_lacking(const ScalarInstruction& instruction,
                                       const SmTarget& target) {
  if (has_instruction(target, instruction.target)) return std::nullopt;
  return "needs " + sm_target_name(instruction.target);
}

}  // namespace binade

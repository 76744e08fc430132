// SPDX-License-Identifier: Apache-2.0
//
// The cores that multiply operands of some types: every distinct Tensor Core model, with all
// instructions of all architectures that share it, and chains of rounded operations. A core is the
// part of a candidate that multiplies, before order and epilogue.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/gemm/named_gemm.h"
#include "lib/identify/kernel_run.h"

namespace binade {

/// An instruction, and the architectures on which it follows a model by the same evidence.
struct CoreName {
  std::string instruction;
  std::vector<int> architectures;  ///< empty: a chain of rounded operations
  Evidence evidence = Evidence::open;
  std::string source;  ///< source of the evidence
};

/// A model that multiplies, with all names of it.
struct Core {
  GemmModel plain{};  ///< the core in plain order: one chain, k ascending
  std::vector<CoreName> names;

  bool is_chain() const { return names[0].architectures.empty(); }
};

/// Which cores are tried, as far as the caller or the bits say where the kernel ran.
struct Searched {
  std::vector<int> architectures = {};  ///< only instructions of these architectures; empty: of all
  bool instructions = true;             ///< false: only chains are tried
  /// Whether operands of binary32 are tried also as tf32, whose low bits the hardware ignores.
  bool tf32 = true;
  bool gpu = false;  ///< the bits seem to be a GPU's: instructions are tried before chains
  /// identify() sets it in its result: no model explained operands of binary32 as they are, so it
  /// rounded them to tf32 in this way and searched again. cores_for() does not read it.
  std::optional<Rounding> rounded = {};

  friend bool operator==(const Searched&, const Searched&) = default;
};

/// Returns whether the precision and the range of d hold every product of two finite numbers of a
/// and b, so that rounding it to d changes nothing. The range is taken one binade wider than powers
/// of two need.
bool is_exact_product(const Format& a, const Format& b, const Format& d);

/// Returns the cores for these types: chains first, then instructions in the order of the tables;
/// for a GPU instructions first.
std::vector<Core> cores_for(const KernelTypes& types, const Searched& searched = {});

/// Adds the chains whose accumulator is binary16, bfloat16 or tf32 while the operands are not all
/// of that type.
void add_unusual_chains(std::vector<Core>& cores, const KernelTypes& types);

/// Returns whether the bits look like a GPU's. One sign is operands of less than 16 bits that are
/// no integers, which libraries for CPUs seldom multiply. The other is NVIDIA's NaN (7FFF,
/// 7FFFFFFF) in D while the operands hold no NaN; there x86 gives FE00 or FFC00000, Arm and RISC-V
/// give 7E00 or 7FC00000 (SPARC and m68k give 7FFFFFFF too, says QEMU).
bool looks_like_gpu(const KernelTypes& types, std::span<const KernelRun> runs);

}  // namespace binade

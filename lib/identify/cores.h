// SPDX-License-Identifier: Apache-2.0
//
// What multiplies: every distinct Tensor Core model that takes some types, each with all instructions of
// all architectures that share it, and chains of rounded operations.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lib/gemm/named_gemm.h"
#include "lib/identify/kernel_run.h"

namespace binade {

/// An instruction and the architectures on which the same evidence says that it follows a model.
struct CoreName {
  std::string instruction;
  std::vector<int> architectures;  ///< none: a chain
  Evidence evidence = Evidence::open;
  std::string source;  ///< of that evidence
};

struct Core {
  GemmModel plain{};  ///< one chain of it, k ascending
  std::vector<CoreName> names;

  bool is_chain() const { return names[0].architectures.empty(); }
};

/// Where to look, as far as the caller or the bits tell whose they are.
struct Searched {
  std::vector<int> architectures = {};  ///< instructions of these alone; empty: of all
  bool instructions = true;             ///< or chains alone
  bool tf32 = true;  ///< binary32 operands also as tf32, whose low bits the hardware ignores
  bool gpu = false;  ///< a GPU seems to have made the bits: its instructions come before chains
  /// Binary32 operands were rounded to tf32 first, ties to even, as cuBLAS does.
  bool rounded = false;

  friend bool operator==(const Searched&, const Searched&) = default;
};

/// Whether every product of two finite numbers is a number of `d`: then rounding it changes nothing.
bool is_exact_product(const Format& a, const Format& b, const Format& d);

/// Chains, then instructions in the order of the tables; the other way round for a GPU.
std::vector<Core> cores_for(const KernelTypes& types, const Searched& searched = {});

/// Whether the bits look like a GPU's: operands of less than 16 bits that are no integers, which CPUs' libraries
/// seldom multiply, or in D NVIDIA's NaN (7FFF, 7FFFFFFF) of operands that hold none, where x86 gives FE00 or FFC00000,
/// Arm and RISC-V 7E00 or 7FC00000 (SPARC and m68k give 7FFFFFFF too, says QEMU).
bool looks_like_gpu(const KernelTypes& types, std::span<const KernelRun> runs);

}  // namespace binade

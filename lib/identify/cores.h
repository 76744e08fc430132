// SPDX-License-Identifier: Apache-2.0
//
// What multiplies: every distinct Tensor Core model that takes some types, each with all instructions of
// all architectures that share it, and chains of rounded operations.
#pragma once

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

/// Instructions in the order of the tables, then chains. binary32 operands are also taken as tf32,
/// whose low bits the hardware ignores.
std::vector<Core> cores_for(const KernelTypes& types);

}  // namespace binade

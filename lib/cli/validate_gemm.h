// SPDX-License-Identifier: Apache-2.0
//
// `binade validate gemm`: a kernel's whole D against the emulated product.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "lib/cli/gemm_options.h"
#include "lib/cli/options.h"
#include "lib/validate/gemm.h"

namespace binade {

struct ValidateGemmOptions {
  GemmOptions product;
  std::string d;
  std::size_t show = 5;
  bool json = false;
};

/// What was compared, and how it came out.
struct GemmValidation {
  NamedGemm named;
  GemmOperands operands;
  GemmCheck check;
};

/// `progress`: told how many multiply-adds are done, of how many.
GemmValidation validated(
    const ValidateGemmOptions& options,
    const std::function<void(std::uint64_t done, std::uint64_t all)>& progress = {});
std::string gemm_validation_text(const GemmValidation& x, const ValidateGemmOptions& options);
/// Schema binade.validate_gemm/1.
nlohmann::ordered_json gemm_validation_json(const GemmValidation& x,
                                            const ValidateGemmOptions& options);

void define_validate_gemm(App app, int& status);

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// The loss account as JSON, schema "binade.gemm_account/1". Integers above 2^53 are decimal strings; a
// magnitude is {"value", "integer", "exponent"}: integer·2^exponent exactly, value nearest to it.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "lib/gemm/account.h"

namespace binade {

inline constexpr const char* gemm_account_schema = "binade.gemm_account/1";

/// What a product is called where it is shown.
struct GemmTitle {
  std::string instruction;  ///< "wgmma.m64n8k32.f32.e4m3.e4m3"
  std::string device;       ///< "sm_90", or "" for a chain
  std::string order;        ///< order_text
  std::string operands;     ///< where they come from: "a.npy × b.npy"
};

nlohmann::ordered_json to_json(const GemmAccount& account, const GemmTitle& title);

}  // namespace binade

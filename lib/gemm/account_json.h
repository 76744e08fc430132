// SPDX-License-Identifier: Apache-2.0
//
// The loss account as JSON, schema "binade.gemm_account/1". Integers above 2^53 are decimal
// strings. A magnitude is an object {"value", "integer", "exponent"}: exactly integer·2^exponent,
// and value is the nearest double.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "lib/gemm/account.h"

namespace binade {

inline constexpr const char* gemm_account_schema = "binade.gemm_account/1";

/// The names with which a product is shown.
struct GemmTitle {
  std::string instruction;  ///< "wgmma.m64n8k32.f32.e4m3.e4m3"
  std::string device;       ///< "sm_90"; "" for a chain of rounded operations
  std::string order;        ///< the order in words, by order_text (named_gemm.h)
  std::string operands;     ///< the files of the operands: "a.npy × b.npy"
};

nlohmann::ordered_json to_json(const GemmAccount& account, const GemmTitle& title);

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// The loss account as text for a terminal; no line is wider than 100 columns.
#pragma once

#include <string>

#include "lib/gemm/account_json.h"

namespace binade {

std::string account_text(const GemmAccount& account, const GemmTitle& title);

}  // namespace binade

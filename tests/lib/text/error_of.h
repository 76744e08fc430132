// SPDX-License-Identifier: Apache-2.0
//
// What a call that must fail says.
#pragma once

#include <string>

#include "lib/text/error.h"

namespace binade::test {

/// The message of the Error that a call throws; empty if it throws none.
template <class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace binade::test

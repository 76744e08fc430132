// SPDX-License-Identifier: Apache-2.0
//
// The version that files written by the program carry; the build passes it in.
#pragma once

namespace binade {

inline constexpr const char* version = BINADE_VERSION;

}  // namespace binade

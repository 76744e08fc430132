// SPDX-License-Identifier: Apache-2.0
//
// The version of binade. The build passes it in, and files that the program writes carry it.
#pragma once

namespace binade {

inline constexpr const char* version = BINADE_VERSION;

}  // namespace binade

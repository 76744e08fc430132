// SPDX-License-Identifier: Apache-2.0
//
// The integer of counters in kernels. CUDA's 64-bit atomics take only unsigned long long, although
// std::uint64_t is as wide.
#pragma once

namespace binade {

using Count = unsigned long long;

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// The integer of kernels that count: CUDA's 64-bit atomics take no other, though it is as wide as
// std::uint64_t.
#pragma once

namespace binade {

using Count = unsigned long long;

}  // namespace binade

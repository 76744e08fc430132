// SPDX-License-Identifier: Apache-2.0
//
// Encodings as elements of their own width, as they lie in files and arrays, and as 64-bit
// integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace binade {

/// Writes encodings as elements of `width` bytes (1, 2, 4 or 8) each, on all threads.
void pack_elements(std::span<const std::uint64_t> elements, std::size_t width,
                   std::span<std::byte> out);

/// Reads elements of `width` bytes (1, 2, 4 or 8) each, on all threads.
void unpack_elements(std::span<const std::byte> packed, std::size_t width,
                     std::span<std::uint64_t> out);

}  // namespace binade

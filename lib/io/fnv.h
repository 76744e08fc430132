// SPDX-License-Identifier: Apache-2.0
//
// The 64-bit FNV-1a hash, which tells contents apart that differ by accident: it is the checksum of
// files of counts and the digest of what a sweep read. It is not cryptographic.
#pragma once

#include <cstdint>
#include <string_view>

namespace binade {

/// FNV-1a of bytes that come in pieces.
class Fnv1a {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes) {
      value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace binade

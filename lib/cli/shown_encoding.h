// SPDX-License-Identifier: Apache-2.0
//
// Everything `binade show` knows about one value in one format, as a struct, and its two writers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "lib/cli/rounding_words.h"

namespace binade {

struct ShownEncoding {
  Literal literal;
  NamedOrCustom format;
  Attributes attributes;
  std::uint32_t random = 0;
  RoundedLiteral rounded =
      {};  ///< bits only, where the literal is an encoding of the format itself

  Fields fields = {};
  Kind kind = Kind::zero;
  std::string_view class_name = {};         ///< "normal", "subnormal", "quiet NaN", …
  Dyadic magnitude = {};                    ///< of a finite number or zero
  std::optional<int> ulp_exponent = {};     ///< likewise
  std::optional<std::uint64_t> below = {};  ///< the next numbers, infinities included
  std::optional<std::uint64_t> above = {};
};

ShownEncoding shown(const Literal& literal, const NamedOrCustom& format,
                    const Attributes& attributes, std::uint32_t random);

/// A headline, then one aligned block; ends with a newline.
std::string text_of(const ShownEncoding& x);

/// Numbers are exact: a string of decimal digits where binary64 does not hold the number.
nlohmann::ordered_json json_of(const ShownEncoding& x);

/// A JSON number, or all digits as a string where binary64 does not hold it.
nlohmann::ordered_json json_number(const Decimal& x, bool negative = false);

/// "0x2e66", padded to the container's width.
std::string bits_text(std::uint64_t bits, const Format& format);

}  // namespace binade

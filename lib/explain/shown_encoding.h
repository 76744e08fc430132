// SPDX-License-Identifier: Apache-2.0
//
// Everything `binade show` knows about one value in one format, as a struct, and its two writers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/explain/attribute_words.h"
#include "lib/explain/rounding_words.h"

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

/// What is to be shown: every value in every format.
struct ShowQuestion {
  std::vector<std::string> values, formats;
  AttributeOptions attributes;
  std::optional<std::int64_t> random;
};

/// Error where there is nothing to show, or something cannot be.
std::vector<ShownEncoding> shown_values(const ShowQuestion& question);

/// With an empty line between any two.
std::string shown_encodings_text(std::span<const ShownEncoding> all);
/// Schema binade.show/1.
nlohmann::ordered_json shown_encodings_json(std::span<const ShownEncoding> all);

/// A headline, then one aligned block; ends with a newline.
std::string shown_encoding_text(const ShownEncoding& x);

/// Numbers are exact: a string of decimal digits where binary64 does not hold the number.
nlohmann::ordered_json shown_encoding_json(const ShownEncoding& x);

/// A JSON number, or all digits as a string where binary64 does not hold it.
nlohmann::ordered_json json_number(const Decimal& x, bool negative = false);

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// JSON whose texts a terminal may show, and which still says the same.
#include "lib/text/json_text.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace binade::json_text_test {

using Json = nlohmann::ordered_json;

TEST_CASE("characters that must not reach a terminal are escaped, and the value stays") {
  const Json value{
      {"n\u00e9\u202e", "\x1b\x7f\u0085\u061c\u2066\ufeff\U000e0061 \u2026\U0001f600\n"},
      {"k", {1, 2.5}}};
  CHECK(json_text(value) ==
        "{\"n\u00e9\\u202e\":\"\\u001b\\u007f\\u0085\\u061c\\u2066\\ufeff\\udb40\\udc61 "
        "\u2026\U0001f600\\n\","
        "\"k\":[1,2.5]}");
  CHECK(Json::parse(json_text(value)) == value);
  CHECK(Json::parse(json_text(value, 2)) == value);
  CHECK(json_text(Json{{"a", 1}}, 1) == "{\n \"a\": 1\n}");
}

TEST_CASE("bytes that are not UTF-8 are replaced") {
  CHECK(json_text(Json("a\xff"
                       "b")) == "\"a\ufffdb\"");
}

}  // namespace binade::json_text_test

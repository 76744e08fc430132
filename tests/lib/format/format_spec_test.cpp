// SPDX-License-Identifier: Apache-2.0
//
// Format specifications: what they mean, that they read back, and how wrong ones are refused.
#include "lib/format/format_spec.h"

#include <doctest/doctest.h>

#include <string>

#include "lib/text/error.h"

namespace format_spec_test {
namespace {

using namespace binade;

std::string error_of(const std::string& text) {
  try {
    parse_format(text);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a name of the table is that row") {
  for (const NamedFormat& row : formats) {
    CHECK(parse_format(row.name).format == row.format);
    CHECK(parse_format(row.name).name == row.name);
  }
}

TEST_CASE("widths alone give what IEEE 754 would choose for them") {
  CHECK(parse_format("e5m7").format == Format{5, 8, 15});
  CHECK(parse_format("ue5m3").format == Format{5, 4, 15, Specials::ieee, true, false});
  CHECK(parse_format("e11m52").name == "binary64");
  CHECK(parse_format("e5m10").name == "binary16");
}

TEST_CASE("parts replace numbers of a row or of the widths") {
  CHECK(parse_format("e4m3:specials=fnuz:bias=8").format == e4m3fnuz);
  CHECK(parse_format("e4m3:specials=fnuz:bias=8").name == "e4m3fnuz");
  CHECK(parse_format("ue8m0:specials=nan_only:zero=no").format == e8m0);
  CHECK(parse_format("e8m10:padding=13").format == tf32);
  CHECK(parse_format("e4m3:specials=ieee").format == Format{4, 4, 7});
  CHECK(parse_format("e5m2:bias=-3").format.bias == -3);
  CHECK(parse_format("e3m2:sign=no").format.has_sign == false);
}

TEST_CASE("every valid format of a large family reads back from its specification") {
  int compared = 0;
  for (int e = 2; e <= 11; ++e) {
    for (const int p : {1, 2, 3, 4, 8, 11, 24, 53}) {
      for (const int bias : {(1 << (e - 1)) - 1, 0, -5, 16384}) {
        for (const Specials specials :
             {Specials::ieee, Specials::nan_only, Specials::none, Specials::fnuz}) {
          for (int bools = 0; bools < 4; ++bools) {
            for (const int padding : {0, 13}) {
              const Format f{e, p, bias, specials, (bools & 1) != 0, (bools & 2) != 0, padding};
              if (!is_valid(f)) continue;
              const NamedOrCustom read = parse_format(spec_of(f));
              CHECK(read.format == f);
              CHECK(read.name == spec_of(f));
              ++compared;
            }
          }
        }
      }
    }
  }
  CHECK(compared > 5000);
}

TEST_CASE("other programs' names are names of the same rows") {
  const std::pair<const char*, Format> rows[]{{"fp16", binary16},
                                              {"half", binary16},
                                              {"bf16", bfloat16},
                                              {"fp32", binary32},
                                              {"double", binary64},
                                              {"fp8_e4m3", e4m3},
                                              {"float8_e4m3fn", e4m3},
                                              {"fp8_e5m2", e5m2},
                                              {"float8_e5m2", e5m2},
                                              {"float8_e4m3fnuz", e4m3fnuz},
                                              {"float8_e5m2fnuz", e5m2fnuz},
                                              {"float4_e2m1fn", e2m1},
                                              {"float8_e8m0fnu", e8m0},
                                              {"ue8m0", e8m0}};
  for (const auto& row : rows) {
    CAPTURE(std::string(row.first));
    CHECK(parse_format(row.first).format == row.second);
    CHECK(parse_format(row.first).name == format_name(row.second));
  }
  CHECK(parse_format("fp16:bias=16").name == "e5m10:bias=16");
}

TEST_CASE("capitals do not matter, and .safetensors' names are names") {
  CHECK(parse_format("FP16").format == binary16);
  CHECK(parse_format("BF16").format == bfloat16);
  CHECK(parse_format("E4M3").format == e4m3);
  CHECK(parse_format("F8_E4M3").format == e4m3);
  CHECK(parse_format("F8_E5M2").format == e5m2);
  CHECK(parse_format("F8_E8M0").format == e8m0);
  CHECK(parse_format("fp8_e4m3fn").format == e4m3);
  CHECK(parse_format("E5M10:bias=16").name == "e5m10:bias=16");
}

TEST_CASE("an unknown name gets the nearest and the known ones") {
  std::string known;
  for (const NamedFormat& row : formats) known += std::string(row.name) + ", ";
  CHECK(error_of("binary17") == "unknown format 'binary17'; did you mean binary16? known are " +
                                    known + "or your own, such as e5m7 or e4m3:bias=8");
  CHECK(contains(error_of("fp17"), "unknown format 'fp17'"));
  CHECK(contains(error_of(""), "unknown format ''; known are"));
  CHECK(contains(error_of("E4M33x"), "unknown format 'e4m33x'"));
}

TEST_CASE("a wrong specification says which part is wrong and what it may be") {
  CHECK(error_of("e12m3") == "format 'e12m3': an exponent has 2 to 11 bits, not 12");
  CHECK(error_of("e1m3") == "format 'e1m3': an exponent has 2 to 11 bits, not 1");
  CHECK(error_of("e5m53") == "format 'e5m53': a fraction has 0 to 52 bits, not 53");
  CHECK(error_of("e4m3:bias=x") ==
        "format 'e4m3:bias=x': bias is a whole number from -16384 to 16384, not 'x'");
  CHECK(contains(error_of("e4m3:bias=16385"), "from -16384 to 16384"));
  CHECK(contains(error_of("e4m3:specials=inf"), "specials is one of ieee, nan_only, none, fnuz"));
  CHECK(contains(error_of("e4m3:sign=maybe"), "sign is yes or no, not 'maybe'"));
  CHECK(contains(error_of("e4m3:bais=4"), "no such part 'bais'; did you mean bias?"));
  CHECK(contains(error_of("e4m3:bias"), "'bias' should be name=value"));
  CHECK(contains(error_of("e4m3:"), "should be name=value"));
  CHECK(contains(error_of("e5m0"), "infinity and NaN need a fraction bit"));
  CHECK(contains(error_of("e4m3:specials=fnuz:sign=no"), "needs a sign and a zero"));
  CHECK(contains(error_of("e11m52:padding=3"), "takes 67 bits with its padding; 64 is the most"));
}
}  // namespace format_spec_test

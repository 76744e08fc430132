// SPDX-License-Identifier: Apache-2.0
//
// `binade show` as a user meets it: headlines, the block below, JSON, errors.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/lib/cli/run_command.h"

namespace show_command_test {
namespace {

using Arguments = std::vector<std::string>;

std::string show(const Arguments& arguments) {
  return binade::output_of(binade::show_command, arguments);
}

/// The first line of what `show VALUE --format FORMAT …` prints.
std::string headline(const std::string& value, const std::string& format, Arguments more = {}) {
  more.insert(more.begin(), {value, "--format", format});
  const std::string text = show(more);
  return text.substr(0, text.find('\n'));
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE(
    "a literal between two numbers says what was rounded away and on which side of the tie it "
    "lay") {
  CHECK(headline("0.1", "binary16") ==
        "0.1 → 0.0999755859375: rounded away 2.44140625e-05 (0.4 ulp), below the tie "
        "0.100006103515625");
  CHECK(
      headline("0.3", "binary16") ==
      "0.3 → 0.300048828125: rounded up by 4.8828125e-05 (0.2 ulp), above the tie 0.2999267578125");
  CHECK(headline("-0.1", "binary16") ==
        "-0.1 → -0.0999755859375: rounded away 2.44140625e-05 (0.4 ulp), short of the tie "
        "-0.100006103515625");
  CHECK(headline("-0.3", "binary16") ==
        "-0.3 → -0.300048828125: rounded down by 4.8828125e-05 (0.2 ulp), beyond the tie "
        "-0.2999267578125");
  CHECK(headline("0.1", "binary32") ==
        "0.1 → 0.100000001490116119384765625: rounded up by 1.490116119384765625e-09 (0.2 ulp), "
        "above the tie");
}

TEST_CASE("a tie says between which numbers, and which rule broke it") {
  CHECK(headline("2^-25", "binary16") == "2^-25 → 0: a tie between 0 and 2^-24, to even");
  CHECK(headline("-2^-25", "binary16") == "-2^-25 → -0: a tie between 0 and -2^-24, to even");
  CHECK(headline("2^-25", "binary16", {"-r", "rna"}) ==
        "2^-25 → 2^-24 ≈ 5.96046e-08: a tie between 0 and 2^-24, away from zero");
  CHECK(headline("3*2^-25", "binary16") ==
        "3*2^-25 → 2^-23 ≈ 1.19209e-07: a tie between 2^-24 and 2^-23, to even");
  CHECK(headline("2049", "binary16") == "2049 → 2048: a tie between 2048 and 2050, to even");
  CHECK(headline("3", "e8m0") == "3 → 4: a tie between 2 and 4, to the larger");
  CHECK(headline("1.5", "e8m0") == "1.5 → 2: a tie between 1 and 2, to the larger");
}

TEST_CASE("a rest too small to see still decides") {
  const std::string zeros(200, '0');
  CHECK(contains(headline("2049." + zeros + "1", "binary16"), "→ 2050: rounded up by"));
  CHECK(contains(headline("2049." + zeros + "1", "binary16"),
                 "(just below 0.5 ulp), above the tie 2049"));
  CHECK(
      contains(headline("2048." + zeros + "1", "binary16", {"-r", "rp"}), "→ 2050: rounded up by"));
  CHECK(contains(headline("2048." + zeros + "1", "binary16", {"-r", "rp"}),
                 "(just below 1 ulp), toward_positive"));
}

TEST_CASE("overflow names the threshold of its rounding and what it delivers") {
  const Arguments saturate = {"--saturation", "finite"};
  CHECK(headline("65520", "binary16") ==
        "65520 → inf: ≥ 65520, the tie above the largest finite 65504");
  CHECK(headline("-65520", "binary16") ==
        "-65520 → -inf: ≤ -65520, the tie below the lowest finite -65504");
  CHECK(headline("65519", "binary16") ==
        "65519 → 65504: rounded away 15 (0.46875 ulp), below the tie 65520");
  CHECK(headline("1e5", "binary16", saturate) ==
        "1e5 → 65504: ≥ 65520, the tie above the largest finite 65504; saturated");
  CHECK(headline("464", "e4m3") == "464 → 448: a tie between 448 and 480, to even");
  CHECK(headline("465", "e4m3") ==
        "465 → NaN: > 464, the tie above the largest finite 448; e4m3 has no infinity");
  CHECK(headline("465", "e4m3", saturate) ==
        "465 → 448: > 464, the tie above the largest finite 448; saturated");
  CHECK(headline("464", "e4m3", {"-r", "rna"}) ==
        "464 → NaN: ≥ 464, the tie above the largest finite 448; e4m3 has no infinity");
  CHECK(headline("248", "e4m3fnuz") ==
        "248 → NaN: ≥ 248, the tie above the largest finite 240; e4m3fnuz has no infinity");
  CHECK(headline("7", "e2m1") ==
        "7 → 6: ≥ 7, the tie above the largest finite 6; e2m1 has neither infinity nor NaN, so the "
        "largest finite");
  CHECK(headline("1e39", "e8m0") ==
        "1e39 → NaN: ≥ 3*2^126, the tie above the largest finite 2^127; e8m0 has no infinity");
  CHECK(headline("1e300", "binary32") ==
        "1e300 → inf: ≥ (2-2^-24)*2^127, the tie above the largest finite (2-2^-23)*2^127");
}

TEST_CASE("overflow under the other roundings begins where they say") {
  CHECK(headline("65505", "binary16", {"-r", "rp"}) ==
        "65505 → inf: past the largest finite 65504, toward_positive");
  CHECK(headline("-65505", "binary16", {"-r", "rp"}) ==
        "-65505 → -65504: rounded away 1 (0.03125 ulp), toward_positive");
  CHECK(headline("-70000", "binary16", {"-r", "rp"}) ==
        "-70000 → -65504: ≤ -65536, a whole ulp past the lowest finite -65504; toward_positive "
        "delivers the largest finite");
  CHECK(headline("70000", "binary16", {"-r", "rz"}) ==
        "70000 → 65504: ≥ 65536, a whole ulp past the largest finite 65504; toward_zero delivers "
        "the largest finite");
  CHECK(headline("65535", "binary16", {"-r", "rz"}) ==
        "65535 → 65504: rounded away 31 (0.96875 ulp), toward_zero");
  CHECK(headline("470", "e4m3", {"-r", "to_odd"}) ==
        "470 → 448: past the largest finite 448; to_odd delivers the largest finite");
  CHECK(headline("65520", "binary16", {"-r", "rs", "--random-bits", "1", "--random", "1"}) ==
        "65520 → inf: past the largest finite 65504; stochastic: f = 0.5, floor(f*2^1) + r = 1 + 1 "
        "≥ 2");
}

TEST_CASE("stochastic rounding shows f, n and r") {
  const auto with = [](const char* r) {
    return headline("0.1", "binary16", {"-r", "stochastic", "--random-bits", "8", "--random", r});
  };
  CHECK(with("153") ==
        "0.1 → 0.0999755859375: rounded away 2.44140625e-05 (0.4 ulp), "
        "stochastic: f = 0.4, floor(f*2^8) + r = 102 + 153 < 256");
  CHECK(with("154") ==
        "0.1 → 0.10003662109375: rounded up by 3.662109375e-05 (0.6 ulp), "
        "stochastic: f = 0.4, floor(f*2^8) + r = 102 + 154 ≥ 256");
}

TEST_CASE("to odd says that the odd significand decides") {
  CHECK(headline("0.1", "binary16", {"-r", "to_odd"}) ==
        "0.1 → 0.10003662109375: rounded up by 3.662109375e-05 (0.6 ulp), to_odd takes the odd "
        "significand");
}

TEST_CASE("flushing names the smallest normal and what gradual underflow would give") {
  CHECK(headline("2^-15", "binary16", {"--ftz"}) ==
        "2^-15 → 0: flushed to zero (FTZ): below 2^-14, the smallest normal; without FTZ 2^-15");
  CHECK(headline("-2^-15", "binary16", {"--ftz"}) ==
        "-2^-15 → -0: flushed to zero (FTZ): short of -2^-14, the smallest normal; without FTZ "
        "-2^-15");
  CHECK(contains(headline("0.00006103515", "binary16", {"--ftz"}),
                 "→ 2^-14 ≈ 6.10352e-05: rounded up by"));
}

TEST_CASE("special values say what the format has instead") {
  const Arguments saturate = {"--saturation", "finite"};
  CHECK(headline("inf", "binary16") == "inf: exact");
  CHECK(headline("-inf", "binary16", saturate) == "-inf → -65504: saturated");
  CHECK(headline("inf", "e4m3") == "inf → NaN: e4m3 has no infinity");
  CHECK(headline("inf", "e2m1") ==
        "inf → 6: e2m1 has neither infinity nor NaN: the largest finite");
  CHECK(headline("nan", "e2m1") == "nan → 6: e2m1 has no NaN: the largest finite, and invalid");
  CHECK(headline("nan", "binary16") == "nan → NaN: the default quiet NaN");
  CHECK(headline("nan", "e4m3fnuz") == "nan → NaN: the one NaN of e4m3fnuz");
  CHECK(headline("-nan", "e4m3", {"--nan", "propagate"}) == "-nan → NaN: the negative NaN of e4m3");
  CHECK(headline("snan", "binary32", {"--nan", "propagate"}) ==
        "snan → NaN: a signaling NaN raises invalid; sign and leading payload bits kept");
  CHECK(headline("0", "e8m0") ==
        "0 → 2^-127 ≈ 5.877e-39: e8m0 has no zero: its smallest number 2^-127");
  CHECK(headline("1e-50", "e8m0") ==
        "1e-50 → 2^-127 ≈ 5.877e-39: below 2^-127, the smallest number of e8m0, which stands for "
        "all down to zero");
  CHECK(headline("-0", "e5m2fnuz") == "-0 → 0: e5m2fnuz has no -0");
  CHECK(headline("-2", "ue4m3") == "-2 → 2: exact; the sign is ignored, ue4m3 has none");
}

TEST_CASE("the block below the headline takes the bits apart") {
  CHECK(show({"0.1", "-f", "binary16"}) ==
        "0.1 → 0.0999755859375: rounded away 2.44140625e-05 (0.4 ulp), below the tie "
        "0.100006103515625\n"
        "  format  binary16, ties_to_even\n"
        "  bits    0x2e66 = 0 01011 1001100110\n"
        "                   │ │     ╰ fraction 614 / 2^10: significand 1.599609375\n"
        "                   │ ╰ exponent field 11 - bias 15 = -4\n"
        "                   ╰ sign +\n"
        "  class   normal\n"
        "  value   0.0999755859375\n"
        "          0x1.998p-4\n"
        "          1.599609375 * 2^-4\n"
        "  ulp     2^-14 = 6.103515625e-05\n"
        "  below   0x2e65  0.09991455078125\n"
        "  above   0x2e67  0.10003662109375\n"
        "  flags   inexact\n");
}

TEST_CASE("a subnormal says how much precision is left") {
  const std::string text = show({"bits:0x8003", "-f", "binary16"});
  CHECK(contains(text, "bits:0x8003 = -1.78813934326171875e-07\n"));
  CHECK(contains(text, "class   subnormal: 2 of 11 significand bits left\n"));
  CHECK(contains(text, "fraction 3 / 2^10, no hidden bit\n"));
  CHECK(contains(text, "          -3 * 2^-24\n"));
  CHECK(contains(text, "ulp     2^-24 ≈ 5.960e-08\n"));
  CHECK(contains(text, "below   0x8004  -2^-22 ≈ -2.38419e-07\n"));
  CHECK(contains(text, "above   0x8002  -2^-23 ≈ -1.19209e-07\n"));
  CHECK_FALSE(contains(text, "flags"));
}

TEST_CASE("neighbours cross zero, end at infinity, and stop where the format stops") {
  CHECK(contains(show({"bits:0x0", "-f", "binary16"}), "below   0x8001  -2^-24"));
  CHECK(contains(show({"bits:0x0", "-f", "ue4m3"}), "below   nothing"));
  CHECK(contains(show({"bits:0x00", "-f", "e8m0"}), "below   nothing"));
  CHECK(contains(show({"65504", "-f", "binary16"}), "above   0x7c00  inf"));
  CHECK(contains(show({"-inf", "-f", "binary16"}), "above   0xfbff  -65504"));
  CHECK(contains(show({"448", "-f", "e4m3"}), "above   nothing"));
  CHECK(contains(show({"bits:0x81", "-f", "e4m3fnuz"}), "above   0x00  0\n"));
  CHECK(contains(show({"bits:0x81", "-f", "e4m3"}), "above   0x80  -0\n"));
}

TEST_CASE("encodings that are no numbers are named as what they are") {
  CHECK(contains(show({"bits:0x7c01", "-f", "binary16"}), "class   signaling NaN"));
  CHECK(contains(show({"bits:0x7e00", "-f", "binary16"}), "class   quiet NaN"));
  CHECK(contains(show({"bits:0x7f", "-f", "e4m3"}), "fraction 7 / 2^3, all ones: NaN"));
  CHECK(contains(show({"bits:0x80", "-f", "e4m3fnuz"}), "sign bit alone: NaN, where -0 would be"));
  CHECK(contains(show({"bits:0x8000", "-f", "binary16"}), "class   negative zero"));
}

TEST_CASE("the padding of tf32 stays zero, whatever bits are put there") {
  const std::string text = show({"bits:0x3f801fff", "-f", "tf32"});
  CHECK(contains(text, "0x3f800000 = 0 01111111 0000000000 0000000000000"));
  CHECK(contains(text, "value   1\n"));
}

TEST_CASE("several values and formats give one block each, values first") {
  const std::string text = show({"1", "2", "-f", "binary16,e4m3", "-f", "e5m7"});
  std::size_t at = 0;
  for (const char* line :
       {"1: exact", "format  binary16", "format  e4m3", "format  e5m7", "2: exact"}) {
    const std::size_t next = text.find(line, at);
    REQUIRE(next != std::string::npos);
    at = next;
  }
}

TEST_CASE("negative words that look like options are values") {
  CHECK(headline("-inf", "e5m2") == "-inf: exact");
  CHECK(headline("-.5", "e5m2") == "-.5 → -0.5: exact");
}

TEST_CASE("JSON holds every number exactly, as a string where binary64 cannot") {
  const auto json =
      nlohmann::json::parse(show({"-0.1", "bits:0x7c00", "-f", "binary16", "--json"}));
  CHECK(json["schema"] == "binade.show/1");
  const auto& x = json["values"][0];
  CHECK(x["bits"] == "0xae66");
  CHECK(x["binary"] == "1 01011 1001100110");
  CHECK(x["class"] == "normal");
  CHECK(x["value"] == -0.0999755859375);
  CHECK(x["hex"] == "-0x1.998p-4");
  CHECK(x["exponent"] == -4);
  CHECK(x["significand"] == 1.599609375);
  CHECK(x["below"]["bits"] == "0xae67");
  CHECK(x["result_of_rounding"]["fraction_of_ulp"] == "0.4");
  CHECK(x["result_of_rounding"]["rounded_away"] == "2.44140625e-05");
  CHECK(x["result_of_rounding"]["tie"] == -0.100006103515625);
  CHECK(x["result_of_rounding"]["flags"] == nlohmann::json::array({"inexact"}));
  CHECK(json["values"][1]["value"] == "inf");
  CHECK(json["values"][1]["above"].is_null());
  CHECK_FALSE(json["values"][1].contains("result_of_rounding"));
}

TEST_CASE("mistakes get one line with the nearest name") {
  CHECK(show({"1"}) == "error: show needs a format, as in: binade show 1 --format binary16");
  CHECK(contains(show({}), "error: show needs a value"));
  CHECK(
      contains(show({"1", "-f", "binary17"}), "unknown format 'binary17'; did you mean binary16?"));
  CHECK(contains(show({"1", "-f", "binary16", "-r", "ties_to_evne"}),
                 "--rounding ties_to_evne: no such choice; did you mean ties_to_even? there are"));
  CHECK(contains(show({"1", "-f", "binary16", "--saturation", "finit"}), "did you mean finite?"));
  CHECK(contains(show({"1", "-f", "binary16", "--nan", "quite"}), "did you mean quiet?"));
  CHECK(contains(show({"1", "--fromat=binary16"}),
                 "unknown option '--fromat'; did you mean --format?"));
  CHECK(contains(show({"1", "-f", "binary16", "-r", "rs"}),
                 "add --random R with R from 0 to 4294967295"));
  CHECK(contains(show({"1", "-f", "e4m3", "-r", "rs", "--random", "9", "--random-bits", "3"}),
                 "--random 9: from 0 to 7 with --random-bits 3"));
  CHECK(contains(show({"1", "-f", "e4m3", "--random", "3"}),
                 "--random has no effect with --rounding ties_to_even: leave it out, or choose "
                 "stochastic"));
  for (const char* format : {"e8m0", "e4m3fnuz", "ue4m3"}) {
    CHECK(contains(show({"1", "-f", format, "--nan", "propagate"}),
                   std::string("--nan has no effect on ") + format + ", which has one NaN"));
  }
  for (const char* rule :
       {"nvidia", "propagate"}) {  // e3m1 can hold binary64's NaNs with their signs
    CHECK(contains(show({"1", "-f", "e3m1:specials=ieee", "--nan", rule}), "bits"));
  }
  CHECK(contains(show({"1", "-f", "e11m1:specials=ieee", "--nan", "nvidia"}),
                 "which has one positive NaN"));
  CHECK(contains(show({"1", "-f", "e8m0", "--ftz"}), "--ftz has no effect on e8m0"));
  CHECK(contains(show({"1", "-f", "e8m0,e4m3", "--ftz", "--nan", "propagate"}), "format  e4m3"));
  CHECK(contains(show({"1", "-f", "e4m3", "-r", "rs", "--random-bits", "33"}),
                 "from 1 to 32 random bits"));
  CHECK(show({"bits:0x100", "-f", "e4m3"}) ==
        "error: value 'bits:0x100': more than the 8 bits of e4m3");
}

TEST_CASE(
    "a block shows each different outcome once, with its rules, and marks where it parts from the "
    "first") {
  const std::string text =
      show({"--block", "0.1 -3 7 0.26", "--format", "mxfp4", "--scale-rule", "all"});
  CHECK(contains(text, "mxfp4: 4 numbers, amax 7; 28 zeros fill the block\n"));
  CHECK(contains(text,
                 "  A  scale 7F = 2^0, rms error 0.5166: ocp, torchao_floor, torchao018_floor"));
  CHECK(contains(text, "scale 80 = 2^1"));
  CHECK(contains(text, "\n  7         7  6    ≠ 6  8 "));
  const std::string second = show(
      {"--block", "7,1", "--format", "nvfp4", "--scale-rule", "te,torchao", "--tensor-amax", "50"});
  CHECK(contains(second, "A  scale 68 = 64 · 0.01860119 of the tensor"));
  CHECK(contains(second, "te, torchao"));
  // 1 / 448 is 3B124925, which bfloat16 has not.
  const Arguments scaled{"--block",   "1 0.3",        "--format",
                         "fp8_1x128", "--scale-rule", "torchao_inference,deepseek",
                         "--dtype",   "bfloat16"};
  CHECK(contains(show(scaled), "scale 3B120000 = 0.002227783"));
  CHECK(contains(show(scaled), "scale 3B124925 = 0.002232143"));
}

TEST_CASE("what a block cannot be is said with what to write") {
  const auto complaint = [](const Arguments& arguments) { return show(arguments); };
  CHECK(contains(complaint({"--block", "1", "--format", "e4m3"}), "e4m3:block=1x32:scale=e8m0"));
  CHECK(contains(complaint({"1", "--format", "mxfp4"}), "give them as --block"));
  CHECK(contains(complaint({"1", "--format", "e4m3", "--scale-rule", "te"}), "without --block"));
  CHECK(contains(complaint({"--block", "1", "--format", "mxfp4", "--ftz"}), "on a block"));
  CHECK(contains(complaint({"--block", "1"}), "add --format mxfp4"));
  CHECK(contains(complaint({"--block", "1 x", "--format", "mxfp4"}), "'x'"));
  CHECK(contains(complaint({"--block", "3", "--format", "mxfp4", "--tensor-amax", "5"}),
                 "no scale of the tensor"));
  CHECK(contains(complaint({"--block", "3", "--format", "nvfp4", "--tensor-amax", "-3"}),
                 "--tensor-amax: -3 is negative"));
  CHECK(contains(complaint({"--block", "3", "--format", "nvfp4", "--tensor-amax", "1"}),
                 "less than 3"));
  CHECK(contains(complaint({"--block", "3", "--format", "mxfp4", "--dtype", "F64"}),
                 "--dtype: a block is made of numbers of binary32, which has not all of F64"));
  CHECK(contains(complaint({"3", "--format", "e4m3", "--dtype", "BF16"}), "without --block"));
  CHECK(contains(complaint({"--block", "3", "--format", "mxfp4", "-r", "rs"}),
                 "does not round a block"));
}

}  // namespace show_command_test

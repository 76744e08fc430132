// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes format specifications.
#include "lib/format/format_spec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "emulate/block.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

struct NamedSpecials {
  std::string_view name;
  Specials specials;
};

constexpr std::array<NamedSpecials, 4> specials_names{{{"ieee", Specials::ieee},
                                                       {"nan_only", Specials::nan_only},
                                                       {"none", Specials::none},
                                                       {"fnuz", Specials::fnuz}}};

constexpr std::array<std::string_view, 5> keys{"bias", "specials", "zero", "sign", "padding"};

/// What other programs (C, PyTorch, ml_dtypes, vLLM, PTX) call a row of the table.
using OtherName = std::pair<std::string_view, std::string_view>;
constexpr auto other_names = std::to_array<OtherName>({
    {"fp16", "binary16"},
    {"f16", "binary16"},
    {"half", "binary16"},
    {"float16", "binary16"},
    {"bf16", "bfloat16"},
    {"fp32", "binary32"},
    {"f32", "binary32"},
    {"float", "binary32"},
    {"float32", "binary32"},
    {"fp64", "binary64"},
    {"f64", "binary64"},
    {"double", "binary64"},
    {"float64", "binary64"},
    {"float8_e4m3fn", "e4m3"},
    {"fp8_e4m3", "e4m3"},
    {"fp8_e4m3fn", "e4m3"},
    {"fp8_e4m3fnuz", "e4m3fnuz"},
    {"fp8_e5m2fnuz", "e5m2fnuz"},
    {"fp8_e8m0", "e8m0"},
    {"e4m3fn", "e4m3"},
    {"float8_e5m2", "e5m2"},
    {"fp8_e5m2", "e5m2"},
    {"float8_e4m3fnuz", "e4m3fnuz"},
    {"float8_e5m2fnuz", "e5m2fnuz"},
    {"float6_e3m2fn", "e3m2"},
    {"fp6_e3m2", "e3m2"},
    {"float6_e2m3fn", "e2m3"},
    {"fp6_e2m3", "e2m3"},
    {"float4_e2m1fn", "e2m1"},
    {"fp4_e2m1", "e2m1"},
    {"fp4", "e2m1"},
    {"float8_e8m0fnu", "e8m0"},
    {"ue8m0", "e8m0"},
});

Error wrong(std::string_view text, const std::string& what) {
  return Error("format '" + printable(text) + "': " + what);
}

std::optional<int> integer_in(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Removes a number of at most three digits from the front of the text and returns it.
std::optional<int> take_width(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && n < 3 && text[n] >= '0' && text[n] <= '9') ++n;
  const std::optional<int> value = integer_in(text.substr(0, n));
  text.remove_prefix(n);
  return value;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

/// Returns the format of "e5m10" or "ue5m10", with the bias and specials that IEEE 754 would choose
/// for these widths, even if the table has a format of that name. Returns nothing for other texts.
std::optional<Format> widths(std::string_view text) {
  Format f;
  f.has_sign = !take(text, 'u');
  if (!take(text, 'e')) return std::nullopt;
  const std::optional<int> exponent_bits = take_width(text);
  if (!exponent_bits || !take(text, 'm')) return std::nullopt;
  const std::optional<int> fraction_bits = take_width(text);
  if (!fraction_bits || !text.empty()) return std::nullopt;
  f.exponent_bits = *exponent_bits;
  f.precision = *fraction_bits + 1;
  const bool usable = f.exponent_bits >= 2 && f.exponent_bits <= 11;
  f.bias = usable ? (1 << (f.exponent_bits - 1)) - 1 : 0;
  return f;
}

/// Returns the format that `text` names, the part of a specification before the first colon.
/// `whole` is the specification, for messages.
Format base_of(std::string_view text, std::string_view whole) {
  if (const std::optional<Format> named = find_format(text)) return *named;
  std::string lower = lower_case(text);
  if (lower.starts_with("f8_")) lower = "fp8_" + lower.substr(3);  // as safetensors writes F8_E4M3
  if (lower != text) return base_of(lower, whole);
  const auto* const other = std::ranges::find(other_names, text, &OtherName::first);
  const std::optional<Format> f = widths(text);
  // ue8m0 by itself is PTX's name of the table's e8m0; with parts after it (ue8m0:bias=…) it is
  // read by its widths.
  if (other != other_names.end() && (!f || text == whole)) return *find_format(other->second);
  if (f) {
    if (f->exponent_bits < 2 || f->exponent_bits > 11) {
      throw wrong(whole, "an exponent has 2 to 11 bits, not " + std::to_string(f->exponent_bits));
    }
    if (f->precision > 53) {
      throw wrong(whole, "a fraction has 0 to 52 bits, not " + std::to_string(f->fraction_bits()));
    }
    return *f;
  }
  if (find_block_format(text)) {
    throw wrong(whole,
                "a block format, whose elements share scales; here a format of single "
                "numbers is wanted, such as e4m3");
  }
  const std::vector<std::string_view> names = names_of(formats), blocks = names_of(block_formats);
  std::vector<std::string_view> all = names;
  all.insert(all.end(), blocks.begin(), blocks.end());
  const std::string hint = did_you_mean(text, all);
  const bool is_block = !hint.empty() && hint != did_you_mean(text, names);
  throw Error("unknown format '" + printable(text) + "'" + hint +
              (hint.ends_with('?') ? " " : "; ") +
              (is_block ? "block formats are " + listed(blocks) + "; others" : "known") + " are " +
              listed(names) + ", or your own, such as e5m7 or e4m3:bias=8");
}

bool yes_or_no(std::string_view key, std::string_view value, std::string_view whole) {
  if (value == "yes" || value == "no") return value == "yes";
  throw wrong(whole, std::string(key) + " is yes or no, not '" + printable(value) + "'");
}

int bounded(std::string_view key, std::string_view value, int low, int high,
            std::string_view whole) {
  const std::optional<int> number = integer_in(value);
  if (number && *number >= low && *number <= high) return *number;
  throw wrong(whole, std::string(key) + " is a whole number from " + std::to_string(low) + " to " +
                         std::to_string(high) + ", not '" + printable(value) + "'");
}

void set(Format& f, std::string_view key, std::string_view value, std::string_view whole) {
  if (key == "bias") {
    f.bias = bounded(key, value, -16384, 16384, whole);
  } else if (key == "padding") {
    f.padding_bits = bounded(key, value, 0, 62, whole);
  } else if (key == "zero") {
    f.has_zero = yes_or_no(key, value, whole);
  } else if (key == "sign") {
    f.has_sign = yes_or_no(key, value, whole);
  } else if (key == "specials") {
    for (const NamedSpecials& row : specials_names) {
      if (row.name == value) {
        f.specials = row.specials;
        return;
      }
    }
    throw wrong(whole, "specials is one of " + listed(names_of(specials_names)) + ", not '" +
                           printable(value) + "'");
  } else {
    throw wrong(whole, "no such part '" + printable(key) + "'" + did_you_mean(key, keys) +
                           (did_you_mean(key, keys).empty() ? "; " : " ") + "the parts are " +
                           listed(keys) +
                           ", of a block format also block, scale, tensor, each as "
                           ":name=value");
  }
}

void check(const Format& f, std::string_view whole) {
  if (f.specials == Specials::ieee && f.precision < 2) {
    throw wrong(whole,
                "infinity and NaN need a fraction bit; add :specials=nan_only or :specials=none");
  }
  if (f.specials == Specials::fnuz && !(f.has_sign && f.has_zero)) {
    throw wrong(whole, "specials=fnuz puts NaN where -0 would be, so it needs a sign and a zero");
  }
  if (f.bits() + f.padding_bits > 64) {
    throw wrong(whole, "takes " + std::to_string(f.bits() + f.padding_bits) +
                           " bits with its padding; 64 is the most");
  }
  if (!is_valid(f)) throw wrong(whole, "not a format this toolkit computes with");
}

}  // namespace

const char* const format_spec_help =
    "A format is a name from `binade formats`, or your own: eXmY has a sign, X exponent bits "
    "(2-11)\n"
    "and Y fraction bits (0-52), with IEEE 754's bias, infinities and NaNs; ueXmY has no sign:\n"
    "that of a value is dropped before it is rounded, as by NVIDIA's conversions to e8m0.\n"
    "To a name or to eXmY, any of these can be added:\n"
    "  :bias=N          exponent = field - N\n"
    "  :specials=S      ieee (Inf and NaN), nan_only (all ones is NaN), none, or\n"
    "                   fnuz (the encoding of -0 is the only NaN)\n"
    "  :zero=yes|no     whether exponent field 0 holds zero and subnormals, or normal numbers\n"
    "  :sign=yes|no     whether there is a sign\n"
    "  :padding=N       zero bits below the fraction\n"
    "fp16, bf16, fp32, half, float8_e4m3fn, fp8_e4m3 and the like are other names of the same "
    "rows.\n"
    "A name of the table wins: e4m3 is OCP's, without infinity; e4m3:specials=ieee has one.";

std::string_view specials_name(Specials specials) {
  return specials_names[static_cast<std::size_t>(specials)].name;
}

std::string_view table_name_of(std::string_view text) {
  const auto* const other = std::ranges::find(other_names, text, &OtherName::first);
  return other == other_names.end() ? text : other->second;
}

NamedOrCustom parse_format(std::string_view text) {
  const std::size_t colon = text.find(':');
  Format f = base_of(text.substr(0, colon), text);
  std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon);
  while (take(rest, ':')) {
    const std::string_view part = rest.substr(0, rest.find(':'));
    rest.remove_prefix(part.size());
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      throw wrong(text, "'" + printable(part) + "' should be name=value, such as bias=8");
    }
    set(f, part.substr(0, equals), part.substr(equals + 1), text);
  }
  check(f, text);
  return {spec_of(f), f};
}

std::string spec_of(const Format& format) {
  if (const std::string_view name = format_name(format); name != "custom") return std::string(name);
  const auto from = [&](const std::string& base) {
    const std::optional<Format> named = find_format(base);
    const Format f = named ? *named : *widths(base);
    const auto yes_no = [](bool b) { return b ? "yes" : "no"; };
    std::string out = base;
    if (f.bias != format.bias) out += ":bias=" + std::to_string(format.bias);
    if (f.specials != format.specials)
      out += ":specials=" + std::string(specials_name(format.specials));
    if (f.has_zero != format.has_zero) out += std::string(":zero=") + yes_no(format.has_zero);
    if (f.has_sign != format.has_sign) out += std::string(":sign=") + yes_no(format.has_sign);
    if (f.padding_bits != format.padding_bits) {
      out += ":padding=" + std::to_string(format.padding_bits);
    }
    return out;
  };
  const std::string widths_text =
      "e" + std::to_string(format.exponent_bits) + "m" + std::to_string(format.fraction_bits());
  return from((format.has_sign ? "" : "u") + widths_text);
}

}  // namespace binade

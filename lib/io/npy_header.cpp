// SPDX-License-Identifier: Apache-2.0
//
// The header of a .npy: a Python dict with exactly the keys descr, fortran_order and shape, as in
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }. Nothing in it is ever evaluated.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "lib/io/npy.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::uint64_t longest_npy_header = 65536;  // plain types need about a hundred bytes
constexpr std::string_view save_npy_again = "save the array again with numpy.save";
constexpr std::string_view save_plain = "save the array as float32 or another plain type";

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// Reads the header token by token. Whatever does not fit throws an Error with its offset.
class Literal {
 public:
  Literal(std::string_view label, std::string_view header, std::size_t start)
      : label_(label), text_(header), at_(start) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw error_at(label_, what, at_, save_npy_again);
  }

  bool accept(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fail(std::string("bad .npy header, '") + c + "' expected");
  }

  bool at_end() {
    skip_space();
    return at_ == text_.size();
  }

  std::string_view string() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') fail("bad .npy header, a quoted string expected");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("bad .npy header, an unclosed string");
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    if (inside.find('\\') != std::string_view::npos) fail("bad .npy header, an escape");
    at_ = end + 1;
    return inside;
  }

  bool boolean() {
    skip_space();
    std::size_t end = at_;
    while (end < text_.size() && is_letter(text_[end])) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    if (word != "True" && word != "False") fail("bad .npy header, True or False expected");
    at_ = end;
    return word == "True";
  }

  std::uint64_t number() {
    skip_space();
    std::uint64_t value = 0;
    const char* const first = text_.data() + at_;
    const auto [next, status] = std::from_chars(first, text_.data() + text_.size(), value);
    if (status != std::errc()) fail("bad .npy header, a side of 0 to 2^64-1 expected");
    at_ += static_cast<std::size_t>(next - first);
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote 3L
    return value;
  }

  /// Accepts (), (3,), (3, 4) and (3, 4,). It refuses (3), which is a number in Python.
  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> sides;
    expect('(');
    while (!accept(')')) {
      sides.push_back(number());
      if (accept(',')) continue;
      if (sides.size() == 1) fail("bad .npy header, ',' expected");
      expect(')');
      break;
    }
    return sides;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  std::string_view label_;
  std::string_view text_;
  std::size_t at_;
};

/// A type as NumPy writes it: byte order, letter, bytes per element. Examples are '<f4', '>f8',
/// '=f2', '|u1', 'i2' and '|V2'.
void parse_descr(std::string_view label, std::string_view descr, const std::optional<Dtype>& raw,
                 NpyHeader& header) {
  std::string_view type = descr;
  if (!type.empty() && std::string_view("<>=|").find(type[0]) != std::string_view::npos) {
    header.big_endian = type[0] == '>';
    type.remove_prefix(1);
  }
  const std::string quoted = "element type '" + printable(descr) + "'";
  std::uint64_t bytes = 0;
  if (type.size() > 1 && std::ranges::all_of(type.substr(1), is_digit)) {
    std::from_chars(type.data() + 1, type.data() + type.size(), bytes);
  }
  if (type == "f1") {  // how ml_dtypes (0.1 to 0.6) saves float8_e5m2; NumPy cannot read it back
    header.dtype = *find_dtype("F8_E5M2");
    return;
  }
  const bool nameless = type.starts_with('V') && bytes > 0;
  const bool fits = raw && raw->bits % 8 == 0 && raw->bits / 8 == bytes;
  if (fits && (nameless || type.starts_with('u'))) {
    header.dtype = *raw;
    return;
  }
  if (nameless) {
    const std::string misfit = raw ? ", as wide as no " + std::string(raw->name) : "";
    throw error_in(
        label, quoted + " is raw bytes" + misfit,
        bytes == 1   ? "say what they are, as in --dtype float8_e4m3fn, or to identify --types"
        : bytes == 2 ? "say what they are, as in --dtype bfloat16, or to identify --types"
                     : save_plain);
  }
  const auto row = std::ranges::find(dtypes(), type, &Dtype::npy);
  if (type.empty() || row == dtypes().end()) {
    const bool object = type.starts_with('O');
    throw error_in(label,
                   quoted + (object ? " is a pickle, which binade never reads" : " is unknown"),
                   save_plain);
  }
  header.dtype = *row;
}

}  // namespace

bool starts_as_npy(std::span<const std::byte> bytes) { return as_text(bytes).starts_with(magic); }

std::uint64_t npy_header_size(std::string_view label, std::span<const std::byte> preamble) {
  if (!starts_as_npy(preamble)) throw error_at(label, "not a .npy", 0, save_npy_again);
  const auto byte = [&](std::size_t i) {
    if (i >= preamble.size())
      throw error_at(label, "truncated header", preamble.size(), save_npy_again);
    return std::to_integer<std::uint64_t>(preamble[i]);
  };
  const std::uint64_t major = byte(6);
  if (major < 1 || major > 3) {
    throw error_at(label, "unknown .npy version " + std::to_string(major), 6, save_npy_again);
  }
  const std::uint64_t length = major == 1
                                   ? byte(8) | byte(9) << 8
                                   : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (length > longest_npy_header) {
    throw error_at(label, "absurd header of " + std::to_string(length) + " bytes", 8,
                   save_npy_again);
  }
  return length + (major == 1 ? 10 : 12);
}

NpyHeader parse_npy_header(std::string_view label, std::span<const std::byte> bytes,
                           const std::optional<Dtype>& raw) {
  NpyHeader header;
  header.size = bytes.size();
  Literal literal(label, as_text(bytes), std::to_integer<int>(bytes[6]) == 1 ? 10 : 12);
  std::optional<std::string_view> descr;
  bool has_order = false;
  bool has_shape = false;
  literal.expect('{');
  while (!literal.accept('}')) {
    const std::string_view key = literal.string();
    literal.expect(':');
    if (key == "descr" && !descr) {
      if (literal.accept('[')) {
        throw error_in(label, "a structured array", "save each of its fields as a plain array");
      }
      descr = literal.string();
    } else if (key == "fortran_order" && !has_order) {
      header.fortran_order = literal.boolean();
      has_order = true;
    } else if (key == "shape" && !has_shape) {
      header.shape = literal.tuple();
      has_shape = true;
    } else {
      literal.fail("bad .npy header, the key '" + printable(key) + "' is unknown or repeated");
    }
    if (!literal.accept(',')) {
      literal.expect('}');
      break;
    }
  }
  if (!literal.at_end()) literal.fail("bad .npy header, text after the dict");
  if (!descr || !has_order || !has_shape) literal.fail("bad .npy header, a key is missing");
  parse_descr(label, *descr, raw, header);
  const auto size = extent(header.shape, header.dtype);
  if (!size) literal.fail("impossible shape");
  header.extent = *size;
  return header;
}

}  // namespace binade

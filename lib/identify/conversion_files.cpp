// SPDX-License-Identifier: Apache-2.0
//
// Reads a converter's arrays: which format its codes are in, and whether they are codes or values.
#include "lib/identify/conversion_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "lib/format/format_spec.h"
#include "lib/io/opened_tensor.h"
#include "lib/number/encoding_text.h"
#include "lib/range/element_index.h"
#include "lib/text/error.h"
#include "lib/text/shape.h"

namespace binade {
namespace {

/// Returns the elements in C order.
std::vector<std::uint64_t> elements_in_c_order(const OpenedTensor& tensor) {
  std::vector<std::uint64_t> out = read_elements(*tensor.file, tensor.index);
  const ElementIndex index =
      tensor.info().fortran_order ? fortran_index(tensor.info().shape) : ElementIndex();
  if (!index) return out;
  std::vector<std::uint64_t> turned(out.size());
  for (std::uint64_t i = 0; i < out.size(); ++i) turned[index(i)] = out[i];
  return turned;
}

/// Returns the dtype whose elements are encodings of the format, if there is one.
std::optional<Dtype> dtype_of_codes(const std::string& format) {
  for (const Dtype& row : dtypes()) {
    if (row.format == format && row.kind == DtypeKind::floating) return row;
  }
  return std::nullopt;
}

/// Returns two codes of 4 bits for each byte, the one in the low half first.
std::vector<std::uint64_t> unpacked_halves(const std::vector<std::uint64_t>& bytes) {
  std::vector<std::uint64_t> out;
  out.reserve(2 * bytes.size());
  for (const std::uint64_t byte : bytes) {
    out.push_back(byte & 15);
    out.push_back(byte >> 4);
  }
  return out;
}

/// Turns values of a dtype into the encodings that they have in a format.
void encode_values(std::vector<std::uint64_t>& values, const Format& from, const Format& to,
                   const std::string& where) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Projected out = convert(values[i], from, to, {.rounding = Rounding::toward_zero});
    const Kind kind = decode(values[i], from).kind;
    const bool held = kind == Kind::nan        ? to.has_nan()
                      : kind == Kind::infinite ? to.has_infinity()
                                               : (out.flags & Flag::inexact) == 0;
    if (!held) {
      throw error_in(where,
                     fmt::format("element {} is {}, no value of {}", i, value_text(values[i], from),
                                 spec_of(to)),
                     "say by --format what the values are numbers of");
    }
    values[i] = out.bits;
  }
}

/// Throws Error if bits stand above the encoding or in its padding.
void check_codes(const std::vector<std::uint64_t>& codes, const Format& to,
                 const std::string& where) {
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - to.bits()) << to.padding_bits;
  const auto bad = std::ranges::find_if(codes, [&](std::uint64_t x) { return (x & ~mask) != 0; });
  if (bad == codes.end()) return;
  throw error_in(where,
                 fmt::format("element {} is {}, which has bits beside the {} of {}",
                             bad - codes.begin(), hexadecimal(*bad, to), to.bits(), spec_of(to)),
                 "say by --format what the codes are");
}

}  // namespace

Converted read_conversion(const ConversionFiles& files) {
  const OpenedTensor in = open_tensor(
      files.in, {files.dtype.empty() ? std::optional<Dtype>{} : parse_dtype(files.dtype)});
  const TensorInfo& given = in.info();
  if (given.dtype.kind != DtypeKind::floating) {
    throw error_in(files.in, fmt::format("dtype {}, no floating-point numbers", given.dtype.name),
                   "give the converter's inputs, or say by --dtype what raw bytes hold");
  }
  std::optional<NamedOrCustom> named;
  if (!files.format.empty()) named = parse_format(files.format);
  const OpenedTensor out =
      open_tensor(files.codes, {named ? dtype_of_codes(named->name) : std::optional<Dtype>{}});
  const TensorInfo& made = out.info();
  const bool floating = made.dtype.kind == DtypeKind::floating;
  if (!floating && made.dtype.kind != DtypeKind::integer) {
    throw error_in(files.codes, fmt::format("dtype {}", made.dtype.name),
                   "give codes in the dtype of their format or in unsigned integers, or values");
  }
  if (!floating && !named) {
    throw error_in(files.codes, fmt::format("dtype {} names no format", made.dtype.name),
                   "say which by --format");
  }
  Converted x;
  x.from = *find_format(given.dtype.format);
  const Format own = floating ? *find_format(made.dtype.format) : Format{};
  x.to = named ? named->format : own;
  x.values = floating && own != x.to;
  x.shape = given.shape;
  const int width = x.to.storage_bits();
  if (!floating && static_cast<int>(made.dtype.bits) != width) {
    throw error_in(files.codes,
                   fmt::format("{} elements of {} bits, where codes of {} take {}", made.dtype.name,
                               made.dtype.bits, spec_of(x.to), width),
                   "give unsigned integers of that width");
  }
  std::vector<std::uint64_t> halved = given.shape;
  if (!halved.empty()) halved.back() /= 2;
  const bool packed = !floating && x.to.bits() <= 4 && !given.shape.empty() &&
                      given.shape.back() % 2 == 0 && made.shape == halved &&
                      made.shape != given.shape;
  if (made.shape != given.shape && !packed) {
    throw Error(fmt::format("{} is of shape {}, {} of {}; give the codes of these inputs",
                            printable(files.in, longest_path), shape_text(given.shape),
                            printable(files.codes, longest_path), shape_text(made.shape)));
  }
  if (given.elements == 0) {
    throw error_in(files.in, "no elements",
                   "give what the converter was given, one number at least");
  }
  x.inputs = elements_in_c_order(in);
  x.codes = elements_in_c_order(out);
  if (packed) x.codes = unpacked_halves(x.codes);
  if (x.values) {
    encode_values(x.codes, own, x.to, files.codes);
  } else {
    check_codes(x.codes, x.to, files.codes);
  }
  return x;
}

}  // namespace binade

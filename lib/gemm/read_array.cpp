// SPDX-License-Identifier: Apache-2.0
//
// Converts the elements of tensors to encodings of a format, exactly or rounded.
#include "lib/gemm/read_array.h"

#include <fmt/format.h>

#include <algorithm>

#include "emulate/instruction_shapes.h"
#include "lib/format/dtype.h"
#include "lib/format/format_spec.h"
#include "lib/gemm/packed_elements.h"
#include "lib/io/opened_tensor.h"
#include "lib/number/number_text.h"
#include "lib/parallel/parallel.h"
#include "lib/range/quantize_stream.h"
#include "lib/text/error.h"

namespace binade {
namespace {

std::optional<Dtype> dtype_of(const Format& f) {
  for (const Dtype& row : dtypes()) {
    if (row.kind == DtypeKind::floating && row.format == format_name(f)) return row;
  }
  return std::nullopt;
}

std::string words_of(const Format& f) {
  const auto dtype = dtype_of(f);
  const std::string bits =
      fmt::format("bits of {} (uint{})", is_integer(f) ? std::string(type_name(f)) : spec_of(f),
                  f.storage_bits());
  return dtype ? fmt::format("{}, {}", dtype->name, bits) : bits;
}

constexpr std::size_t elements_at_once = std::size_t{1} << 16;

/// Replaces encodings of `from` by encodings of `to`, on all threads. Returns false, and changes
/// nothing, if there are NaNs or infinities, or if an element is no number of `to` and there is no
/// `round`.
bool convert_at_once(std::vector<std::uint64_t>& elements, const Format& from, const Format& to,
                     const std::optional<Rounding>& round) {
  const auto width = static_cast<std::size_t>(from.storage_bits()) / 8;
  std::vector<std::byte> in(elements.size() * width);
  pack_elements(elements, width, in);
  const auto out_width = encoded_dtype(to).bits / 8;
  std::vector<std::byte> out(elements.size() * out_width);
  const Attributes attributes{.rounding = round.value_or(Rounding::ties_to_even)};
  const EventCounts counts = quantize_elements({.format = to, .attributes = attributes}, from,
                                               ResultKind::encodings, in, 0, out);
  if (counts.nan_in != 0 || counts.inf_in != 0) return false;
  if (!round && (counts.inexact != 0 || counts.overflow != 0)) return false;
  unpack_elements(out, out_width, elements);
  return true;
}

/// Replaces encodings of `from` by encodings of `to`. Throws Error that names the first element
/// which is no number of `to`, unless how.round.
void convert_all(std::vector<std::uint64_t>& elements, const Format& from, const Format& to,
                 const std::string& where, const ReadArray& how) {
  if (convert_at_once(elements, from, to, how.round)) return;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (i % elements_at_once == 0) poll();
    const Projected out =
        convert(elements[i], from, to, {.rounding = how.round.value_or(Rounding::ties_to_even)});
    if (out.flags != 0 && !how.round) {
      const Exact x = decode(elements[i], from);
      const Decimal value =
          decimal_of(Dyadic{static_cast<std::uint64_t>(x.significand), x.exponent});
      throw error_in(where,
                     fmt::format("element {} is {}{}, no number of {}", i, x.negative ? "-" : "",
                                 concise_text(value), spec_of(to)),
                     how.may_round ? "--round rounds operands to nearest"
                                   : "give what the kernel was given, in its types");
    }
    elements[i] = out.bits;
  }
}

/// Throws Error where an element has bits that no encoding of its format has.
void check_bits(const Array& x, const std::string& where) {
  const Format& f = x.format;
  const int width = f.storage_bits();
  if (f.bits() == width) return;
  const std::uint64_t used = ((std::uint64_t{1} << f.bits()) - 1) << f.padding_bits;
  const auto found =
      std::ranges::find_if(x.elements, [=](std::uint64_t code) { return (code & ~used) != 0; });
  if (found == x.elements.end()) return;
  throw error_in(where,
                 fmt::format("element {} is {:0{}X}, which has bits beside the {} of {}",
                             found - x.elements.begin(), *found, width / 4, f.bits(), spec_of(f)),
                 f.bits() == 4 ? "give each code a byte of its own, as numpy.stack([x & 15, x >> "
                                 "4], -1).reshape(len(x), -1) does with two in a byte"
                               : "give the codes of this format");
}

}  // namespace

std::vector<std::uint64_t> transposed(const std::vector<std::uint64_t>& in, std::size_t rows,
                                      std::size_t columns) {
  std::vector<std::uint64_t> out(in.size());
  // side of a square tile whose rows and columns both stay in the cache
  constexpr std::size_t tile = 32;
  parallel_for(columns, tile, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t first = 0; first < rows; first += tile) {
      const std::size_t last = std::min(rows, first + tile);
      for (std::size_t j = begin; j < end; ++j) {
        for (std::size_t i = first; i < last; ++i) out[j * rows + i] = in[i * columns + j];
      }
    }
  });
  return out;
}

std::optional<Format> named_format(const std::string& where) {
  const OpenedTensor tensor = open_tensor(where);
  const Dtype& dtype = tensor.info().dtype;
  return dtype.kind == DtypeKind::floating ? find_format(dtype.format) : std::nullopt;
}

std::optional<Format> integer_format(const std::string& where) {
  const std::string name(open_tensor(where).info().dtype.name);
  return name == "I8"    ? std::optional(s8)
         : name == "U8"  ? std::optional(u8)
         : name == "I32" ? std::optional(s32)
                         : std::nullopt;
}

Array read_array(const std::string& where, const Format& format, const ReadArray& how) {
  const OpenedTensor tensor = open_tensor(where, {dtype_of(format)});
  const TensorInfo& info = tensor.info();
  const auto width = static_cast<unsigned>(format.storage_bits());
  const bool bits = info.dtype.kind == DtypeKind::integer && info.dtype.bits == width;
  const std::optional<Format> from =
      info.dtype.kind == DtypeKind::floating ? find_format(info.dtype.format) : std::nullopt;
  const bool numbers = from && !is_integer(format);
  if (!bits && !numbers) {
    throw error_in(where, fmt::format("dtype {}", info.dtype.name),
                   fmt::format("{} takes {}", how.what, words_of(format)));
  }
  Array out{info.shape, read_elements(*tensor.file, tensor.index), format};
  if (bits) check_bits(out, where);
  if (info.fortran_order && out.shape.size() == 2) {
    out.elements = transposed(out.elements, out.shape[1], out.shape[0]);
  } else if (info.fortran_order && out.shape.size() > 2) {
    throw error_in(where, "in Fortran order", "save numpy.ascontiguousarray of it");
  }
  const bool ignored = from == binary32 && format == tf32 && !how.round;
  if (numbers && *from != format && !ignored) convert_all(out.elements, *from, format, where, how);
  return out;
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Takes arrays of the caller's library, without a copy if they lie in C order, and returns results
// as arrays of the same library.
//
//     numpy.ndarray      ─▶ its buffer                                        ─▶ numpy.ndarray
//     all others         ─▶ binade/_foreign.py: a NumPy array of their bits,  ─▶ what `wrap` makes of
//     (torch, jax, …)       the dtype's name, and `wrap`                         a NumPy array of the bits
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>

#include "lib/format/format_spec.h"
#include "lib/io/array_file.h"
#include "lib/python/interpreter.h"

namespace binade::python {

namespace nb = nanobind;

/// An array of the caller. The view is valid while this object lives.
struct Array {
  ArrayView view;
  nb::object owner;  ///< the NumPy array that owns the memory
  nb::object wrap;   ///< wrap(array, dtype name): an array of the caller's library; None for NumPy

  std::size_t elements() const { return static_cast<std::size_t>(view.size().elements); }
  std::span<const std::byte> bytes() const { return {view.data, view.size().bytes}; }
  /// The format of the elements. Raises TypeError, in which `what` names the argument, unless the
  /// dtype is floating.
  Format format(std::string_view what) const;
};

/// The array that x is. Raises TypeError if x is no array of real numbers, and ValueError if it
/// cannot be read where it lies (another byte order, another device).
Array array_of(nb::handle x);
/// As array_of, of codes: a dtype of less than 8 bits of ml_dtypes, or torch's pairs of FP4, is U8.
Array array_of_codes(nb::handle x);
/// As array_of, but takes complex numbers as well, for reports, which name such arrays and skip
/// them.
Array array_of_any_numbers(nb::handle x);

/// A new NumPy array; for a dtype that NumPy lacks, of unsigned integers that hold the bits.
struct NewArray {
  nb::object owner;
  std::span<std::byte> bytes;
};
NewArray new_array(const Dtype& dtype, std::span<const std::uint64_t> shape);

/// The memory of `array`, which array_of made of x, to write to; or why it cannot be written to.
/// For an array without elements the span has length 0 and is not null.
struct WritableMemory {
  std::span<std::byte> bytes;
  std::string why_none;  ///< empty if there is memory
};
WritableMemory memory_of(const Array& array, nb::handle x);

/// Tells the library of x that its memory was written to, so that torch's autograd notices.
void tell_written(nb::handle x);

/// The array for a function's results: a new one, or `out` if it is not None. Raises ValueError if
/// `out` is not of this dtype and shape, not writable, or not in C order. If `out` shares memory
/// with an input whose elements lie at other places, the results are kept in a buffer until all are
/// there.
class Target {
 public:
  Target(nb::handle out, const Dtype& dtype, std::span<const std::uint64_t> shape,
         std::span<const Array> inputs = {});
  const Dtype& dtype() const { return dtype_; }
  std::span<std::byte> bytes() { return apart_.empty() ? array_.bytes : apart_; }
  /// The finished results: `out`, or the new array as one of the library of `like`.
  nb::object finished(const Array& like);

 private:
  Dtype dtype_;
  bool is_given_;
  NewArray array_;
  std::vector<std::byte> apart_;
};

/// The dtype of integers that hold codes of a format.
Dtype code_dtype(const Format& format);

/// The NumPy array as an array of the library of `like`.
nb::object delivered(const NewArray& array, const Dtype& dtype, const Array& like);

/// The format that x names: text such as "e4m3", a binade.Format, or a dtype of NumPy, ml_dtypes or
/// torch. The reference stays valid, since formats of texts are kept.
const NamedOrCustom& format_of(nb::handle x);

/// A function or a class of one of the package's Python modules: python_function("_foreign",
/// "wrapped").
nb::object python_function(const char* module, const char* name);
/// The result of calling that function, by called_back (interpreter.h).
template <class... Arguments>
nb::object python_call(const char* module, const char* name, const Arguments&... arguments) {
  return called_back(python_function(module, name), nb::make_tuple(arguments...));
}

}  // namespace binade::python

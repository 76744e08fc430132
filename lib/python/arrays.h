// SPDX-License-Identifier: Apache-2.0
//
// Arrays of the caller's library in, without a copy where they lie in C order, and results out in the same library.
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

/// An array of the caller's. The view is valid while it lives.
struct Array {
  ArrayView view;
  nb::object owner;  ///< the NumPy array whose memory it is
  nb::object wrap;   ///< wrap(array, dtype name): an array of the caller's library; None: NumPy's

  std::size_t elements() const { return static_cast<std::size_t>(view.size().elements); }
  std::span<const std::byte> bytes() const { return {view.data, view.size().bytes}; }
  /// That of a floating dtype. TypeError for others; `what` names the argument.
  Format format(std::string_view what) const;
};

/// TypeError for what is no array of real numbers; ValueError for arrays that cannot be read as they lie (other byte order,
/// another device).
Array array_of(nb::handle x);
/// The same where complex numbers are no mistake: a report names and skips them.
Array array_of_any_numbers(nb::handle x);

/// A new NumPy array of a dtype: the bits of dtypes that NumPy lacks.
struct NewArray {
  nb::object owner;
  std::span<std::byte> bytes;
};
NewArray new_array(const Dtype& dtype, std::span<const std::uint64_t> shape);

/// The memory of an array that array_of made of x, to write to; or none, and why. (Of no elements: of length 0, not null.)
struct WritableMemory {
  std::span<std::byte> bytes;
  std::string why_none;
};
WritableMemory memory_of(const Array& array, nb::handle x);

/// What is told of x, whose memory was written to without its library's knowledge: autograd must see it.
void tell_written(nb::handle x);

/// Where results go: a new array, or `out`, which must be of the dtype and the shape, writable, and in C order (ValueError).
/// Where `out` lies across an input otherwise than element on element, results lie apart until they are all there.
class Target {
 public:
  Target(nb::handle out, const Dtype& dtype, std::span<const std::uint64_t> shape,
         std::span<const Array> inputs = {});
  const Dtype& dtype() const { return dtype_; }
  std::span<std::byte> bytes() { return apart_.empty() ? array_.bytes : apart_; }
  /// `out`; or the new array, of the library of `like`.
  nb::object finished(const Array& like);

 private:
  Dtype dtype_;
  bool is_given_;
  NewArray array_;
  std::vector<std::byte> apart_;
};

/// What the caller of `like` gets: an array of their library.
nb::object delivered(const NewArray& array, const Dtype& dtype, const Array& like);

/// "e4m3", a binade.Format, or a dtype of NumPy, ml_dtypes or torch. The text is remembered.
const NamedOrCustom& format_of(nb::handle x);

/// A function or a class of the package's own modules in Python.
nb::object python_function(const char* module, const char* name);
/// What it gives, by called_back.
template <class... Arguments>
nb::object python_call(const char* module, const char* name, const Arguments&... arguments) {
  return called_back(python_function(module, name), nb::make_tuple(arguments...));
}

}  // namespace binade::python

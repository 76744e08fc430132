// SPDX-License-Identifier: Apache-2.0
//
// Reads the buffers of NumPy arrays directly, and arrays of all other libraries through
// _foreign.py.
#include "lib/python/arrays.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <mutex>
#include <utility>

#include <nanobind/stl/string.h>

#include "lib/gemm/files.h"
#include "lib/python/arguments.h"
#include "lib/python/keywords.h"
#include "lib/text/error.h"
#include "lib/text/shape.h"

namespace binade::python {
namespace {

/// Letters of the struct module, as NumPy uses them (PEP 3118), for what lies in memory.
constexpr std::array<std::pair<std::string_view, std::string_view>, 16> buffer_dtypes{
    {{"e", "F16"},
     {"f", "F32"},
     {"d", "F64"},
     {"b", "I8"},
     {"B", "U8"},
     {"h", "I16"},
     {"H", "U16"},
     {"i", "I32"},
     {"I", "U32"},
     {"l", "I64"},
     {"L", "U64"},
     {"q", "I64"},
     {"Q", "U64"},
     {"?", "BOOL"},
     {"Zf", "C64"},
     {"Zd", "C128"}}};

/// What Python says of memory, given back when it goes.
class Buffer {
 public:
  Buffer(PyObject* x, int flags) : is_valid_(PyObject_GetBuffer(x, &view_, flags) == 0) {
    if (!is_valid_) PyErr_Clear();
  }
  ~Buffer() {
    if (is_valid_) PyBuffer_Release(&view_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  bool is_valid() const { return is_valid_; }
  const Py_buffer& view() const { return view_; }
  std::optional<Dtype> dtype() const {
    const std::string_view format = view_.format == nullptr ? "B" : view_.format;
    for (const auto& [letters, name] : buffer_dtypes) {
      if (letters == format) return find_dtype(name);
    }
    return std::nullopt;
  }
  std::vector<std::uint64_t> shape() const { return {view_.shape, view_.shape + view_.ndim}; }

 private:
  Py_buffer view_ = {};
  bool is_valid_;
};

nb::object numpy(const char* name) { return imported("numpy").attr(name); }

/// Objects that are looked up once. They stay until the interpreter is gone.
struct Known {
  PyTypeObject* array_type = nullptr;
  PyObject* empty = nullptr;
  PyObject* to_numpy = nullptr;
};
const Known& known() {
  static Known out;
  if (out.array_type == nullptr) {
    out.to_numpy = python_function("_foreign", "to_numpy").release().ptr();
    out.empty = numpy("empty").release().ptr();
    out.array_type = reinterpret_cast<PyTypeObject*>(numpy("ndarray").release().ptr());
  }
  return out;
}

std::optional<Array> array_of_buffer(PyObject* x, std::string_view dtype_name) {
  const Buffer buffer(x, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT);
  if (!buffer.is_valid()) return std::nullopt;
  const std::optional<Dtype> own = buffer.dtype();
  if (!own) return std::nullopt;
  Array out;
  out.view = {dtype_name.empty() ? *own : *find_dtype(dtype_name), buffer.shape(),
              static_cast<const std::byte*>(buffer.view().buf)};
  out.owner = nb::borrow(x);
  out.wrap = nb::none();
  return out;
}

/// How NumPy's dtypes are called there; bits of those that it lacks.
const char* numpy_name(const Dtype& dtype) {
  if (dtype.name == "BOOL") return "bool";
  if (dtype.name == "F16") return "float16";
  if (dtype.name == "F32") return "float32";
  if (dtype.name == "F64") return "float64";
  if (dtype.kind == DtypeKind::integer && dtype.name[0] == 'I') {
    constexpr std::array names{"int8", "int16", "int32", "int64"};
    return names[static_cast<std::size_t>(std::countr_zero(dtype.bits / 8))];
  }
  constexpr std::array names{"uint8", "uint16", "uint32", "uint64"};
  return names[static_cast<std::size_t>(std::countr_zero(dtype.bits / 8))];
}

/// NumPy's dtype objects, by name.
PyObject* numpy_dtype(const Dtype& dtype) {
  static std::map<std::string_view, PyObject*> known;
  const auto found = known.find(dtype.name);
  if (found != known.end()) return found->second;
  PyObject* const made = numpy("dtype")(numpy_name(dtype)).release().ptr();
  known.emplace(find_dtype(dtype.name)->name, made);
  return made;
}

}  // namespace

nb::object python_function(const char* module, const char* name) {
  const nb::object from = imported((std::string("binade.") + module).c_str());
  return from.attr(name);
}

Format Array::format(std::string_view what) const {
  if (view.dtype.kind == DtypeKind::floating) return *find_format(view.dtype.format);
  throw nb::type_error((std::string(what) + ": an array of " + numpy_name(view.dtype) +
                        ", not of a floating-point dtype")
                           .c_str());
}

Array array_of(nb::handle x) {
  Array out = array_of_any_numbers(x);
  if (out.view.dtype.kind == DtypeKind::complex) {
    python_call("_foreign", "refuse_dtype",
                out.view.dtype.name == "C64" ? "complex64" : "complex128");
  }
  return out;
}

Array array_of_codes(nb::handle x) { return array_of(python_call("_foreign", "bits_of_codes", x)); }

Array array_of_any_numbers(nb::handle x) {
  if (Py_TYPE(x.ptr()) == known().array_type) {
    if (std::optional<Array> out = array_of_buffer(x.ptr(), "")) return std::move(*out);
  }
  const nb::object made = called_back(known().to_numpy, nb::make_tuple(x));
  const auto name = nb::cast<std::string>(made[1]);
  std::optional<Array> out = array_of_buffer(nb::object(made[0]).ptr(), name);
  if (!out) throw nb::type_error("an array of a dtype that holds no numbers");
  out->wrap = made[2];
  return std::move(*out);
}

NewArray new_array(const Dtype& dtype, std::span<const std::uint64_t> shape) {
  const nb::object lengths = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    PyTuple_SET_ITEM(lengths.ptr(), static_cast<Py_ssize_t>(i),
                     PyLong_FromUnsignedLongLong(shape[i]));
  }
  std::array<PyObject*, 2> arguments{lengths.ptr(), numpy_dtype(dtype)};
  nb::object owner =
      nb::steal(PyObject_Vectorcall(known().empty, arguments.data(), arguments.size(), nullptr));
  if (!owner.is_valid()) throw nb::python_error();
  const Buffer buffer(owner.ptr(), PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS);
  return {
      std::move(owner),
      {static_cast<std::byte*>(buffer.view().buf), static_cast<std::size_t>(buffer.view().len)}};
}

WritableMemory memory_of(const Array& array, nb::handle x) {
  if (array.owner.ptr() != x.ptr()) {
    const nb::object why = python_call("_foreign", "why_not_in_place", array.owner, nb::borrow(x));
    if (!why.is_none()) return {{}, nb::cast<std::string>(why)};
  }
  const Buffer buffer(array.owner.ptr(), PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS);
  if (!buffer.is_valid()) return {{}, "an array that is read-only"};
  return {{static_cast<std::byte*>(buffer.view().buf), static_cast<std::size_t>(buffer.view().len)},
          ""};
}

void tell_written(nb::handle x) {
  if (Py_TYPE(x.ptr()) != known().array_type)
    python_call("_foreign", "tell_written", nb::borrow(x));
}

namespace {

NewArray array_for(nb::handle out, const Dtype& dtype, std::span<const std::uint64_t> shape) {
  const Array array = array_of(out);
  const std::vector<std::uint64_t> wanted(shape.begin(), shape.end());
  if (array.view.shape != wanted || array.view.dtype != dtype) {
    throw Error("out: shape " + shape_text(array.view.shape) + " of " +
                std::string(array.view.dtype.name) + "; the result is of shape " +
                shape_text(wanted) + " and " + std::string(dtype.name));
  }
  const WritableMemory memory = memory_of(array, out);
  if (!memory.why_none.empty()) throw Error("out: " + memory.why_none);
  return {nb::borrow(out), memory.bytes};
}

/// Whether writing x's element i before another is read may change that.
bool lies_across(std::span<const std::byte> out, std::size_t out_element, const Array& x) {
  const std::span<const std::byte> in = x.bytes();
  if (in.data() >= out.data() + out.size() || out.data() >= in.data() + in.size()) return false;
  return in.data() != out.data() || in.size() != out.size() || x.view.dtype.bits / 8 != out_element;
}

}  // namespace

Target::Target(nb::handle out, const Dtype& dtype, std::span<const std::uint64_t> shape,
               std::span<const Array> inputs)
    : dtype_(dtype),
      is_given_(!out.is_none()),
      array_(is_given_ ? array_for(out, dtype, shape) : new_array(dtype, shape)) {
  const bool is_across = is_given_ && std::ranges::any_of(inputs, [&](const Array& x) {
                           return lies_across(array_.bytes, dtype.bits / 8, x);
                         });
  if (is_across) apart_.resize(array_.bytes.size());
}

nb::object Target::finished(const Array& like) {
  if (!is_given_) return delivered(array_, dtype_, like);
  if (!apart_.empty()) {
    const Released released;
    std::ranges::copy(apart_, array_.bytes.begin());
  }
  tell_written(array_.owner);
  return array_.owner;
}

Dtype code_dtype(const Format& format) {
  constexpr std::array names{"U8", "U16", "U32", "U64"};
  return *find_dtype(names[static_cast<std::size_t>(std::countr_zero(code_bytes(format)))]);
}

nb::object delivered(const NewArray& array, const Dtype& dtype, const Array& like) {
  if (like.wrap.is_none()) return array.owner;
  return like.wrap(array.owner, nb::str(dtype.name.data(), dtype.name.size()));
}

const NamedOrCustom& format_of(nb::handle x) {
  if (const auto* const given = held<NamedOrCustom>(x)) return *given;
  if (!PyUnicode_Check(x.ptr()))
    return format_of(python_call("_foreign", "name_of_dtype", nb::borrow(x)));
  static std::map<std::string, NamedOrCustom, std::less<>> read;
  const std::string name = utf8_of(x);
  const auto found = read.find(name);
  if (found != read.end()) return found->second;
  return read.emplace(name, parse_format(name)).first->second;
}

}  // namespace binade::python

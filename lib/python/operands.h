// SPDX-License-Identifier: Apache-2.0
//
// The operands of matrix products and dot products, which are arrays or paths of files, and the
// making of results. The program reads operands from files; an array stands in the place of a file
// under a name that messages show.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/gemm/gemm_words.h"
#include "lib/gemm/packed_elements.h"
#include "lib/python/arrays.h"
#include "lib/python/documents.h"
#include "lib/python/keywords.h"
#include "lib/text/error.h"

namespace binade::python {

/// Returns the parameters of a signature that file_options are.
inline std::string file_parameters() {
  std::string out;
  for (const FileOption& row : file_options) {
    const std::string usual = GemmFiles{}.*row.value;
    out += (out.empty() ? "" : ", ") + std::string(row.name);
    out += row.kind != FileWord::word ? ": object | None = None"
           : usual.empty()            ? ": int | str | None = None"
                                      : ": str = '" + usual + "'";
  }
  return out;
}

/// The operands of a call: arrays under names, and files.
class Operands {
 public:
  /// Takes the operand `name`, an array or a path, and returns the text that stands where the
  /// program expects a path: the name of the array, or the path; "" for None.
  std::string add(nb::handle x, const std::string& name) {
    if (x.is_none()) return "";
    if (is_path(x)) return file_of(x);
    Array array = array_of(x);
    if (like_.wrap.is_none() && !array.wrap.is_none()) like_.wrap = array.wrap;
    files_.push_back({name, {{"", array.view}}});
    arrays_.push_back(std::move(array));
    return name;
  }
  /// As add, but of a number its text.
  std::string add_number(nb::handle x, const std::string& name) {
    if (!PyFloat_Check(x.ptr()) && !PyLong_Check(x.ptr())) return add(x, name);
    return nb::cast<std::string>(nb::repr(x));
  }
  /// As add, of codes, which may have a dtype of less than 8 bits.
  std::string add_codes(nb::handle x, const std::string& name) {
    if (x.is_none() || is_path(x)) return add(x, name);
    return add(python_call("_foreign", "bits_of_codes", x), name);
  }
  /// As add, but takes a vector as a matrix of one row.
  std::string add_rows(nb::handle x, const std::string& name) {
    std::string out = add(x, name);
    if (x.is_none() || is_path(x)) return out;
    std::vector<std::uint64_t>& shape = files_.back().arrays[0].array.shape;
    if (shape.size() == 1) shape.insert(shape.begin(), 1);
    return out;
  }
  /// As add, but takes a single number as a vector of one element.
  std::string add_column(nb::handle x, const std::string& name) {
    std::string out = add(x, name);
    if (x.is_none() || is_path(x)) return out;
    std::vector<std::uint64_t>& shape = files_.back().arrays[0].array.shape;
    if (shape.empty()) shape.push_back(1);
    return out;
  }
  /// Takes the operands of a product and enters them into its options.
  void set(GemmOptions& o, nb::handle a, nb::handle b, nb::handle c, nb::handle bias) {
    o.files.a = add(a, "a");
    o.files.b = add(b, "b");
    o.c = add(c, "c");
    o.bias = add(bias, "bias");
  }

  /// The path, written such that it is not mistaken for the name of an array: ./a for a file named
  /// a. Throws Error if it is empty.
  static std::string file_of(nb::handle x) {
    const std::string out = path_of(x);
    if (out.empty()) throw Error("a file of no name; give a path, or an array");
    const bool is_plain = out.find('/') == std::string::npos && out != "-";
    return is_plain && is_name(out) ? "./" + out : out;
  }

  std::vector<FileOfArrays> files() const { return files_; }
  /// An operand whose library the results are made for: the first that is not NumPy's, if there is
  /// one.
  const Array& like() const { return like_; }

 private:
  /// Whether the path looks like the name of an array.
  static bool is_name(std::string_view path) {
    constexpr std::array<std::string_view, 7> names{"a", "b", "c", "bias", "d", "x", "codes"};
    const std::string_view name = path.substr(0, path.find_first_of("[:"));
    return std::ranges::find(names, name) != names.end() ||
           std::ranges::find(file_options, name, &FileOption::name) != file_options.end();
  }

  std::vector<FileOfArrays> files_;
  std::vector<Array> arrays_;
  Array like_{{}, {}, nb::none()};
};

/// Returns work(), in which the operands' arrays stand in the place of files, while other Python
/// threads run.
template <class Work>
auto on(const Operands& operands, const Work& work) {
  const NamedArrays arrays(operands.files());
  const Released released;
  return work();
}

/// The encodings as an array of this dtype and shape of the library of `like`, or in `out` if it is
/// not None.
inline nb::object array_from(std::span<const std::uint64_t> elements, const Dtype& dtype,
                             std::span<const std::uint64_t> shape, const Array& like,
                             nb::handle out) {
  Target target(out, dtype, shape);
  {
    const Released released;
    pack_elements(elements, dtype.bits / 8, target.bytes());
  }
  return target.finished(like);
}

/// A document of the class `name` of _products.py, from its text, its JSON, and further arguments
/// of the class.
template <class Made, class... More>
Made product_document(const char* name, const std::string& text, const std::string& json,
                      const More&... more) {
  return nb::borrow<Made>(
      python_call("_products", name, text_object(text), text_object(json), more...));
}

}  // namespace binade::python

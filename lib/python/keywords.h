// SPDX-License-Identifier: Apache-2.0
//
// Arguments that many functions have, as the program takes them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include "lib/explain/attribute_words.h"

namespace binade::python {

namespace nb = nanobind;

/// `flush`: none, results (FTZ), operands (DAZ) or both; Error for another word.
AttributeOptions attribute_options(std::string_view rounding, std::string_view saturation,
                                   std::string_view nan, std::string_view flush, int random_bits);

/// Whether it names a file: a str, or what has __fspath__.
bool is_path(nb::handle x);
/// That name. TypeError for what names none.
std::string path_of(nb::handle x);

/// A str as UTF-8. ValueError for surrogates, which UTF-8 does not have.
std::string utf8_of(nb::handle x);
/// The same of an argument. TypeError for what is no text, with the argument's name.
std::string argument_text(std::string_view key, nb::handle x);

/// TypeError: which argument, what is wanted, what was given.
[[noreturn]] void wrong_type(std::string_view key, const char* wanted, nb::handle x);
/// A number of an argument as binary64. TypeError for what is none, ValueError for an integer beyond its range.
double number_of(std::string_view key, nb::handle x);

bool is_list(nb::handle x);  ///< or a tuple
/// One, or the members of a list or a tuple; none of None.
std::vector<nb::object> in_list(nb::handle x);

/// Values of an option of which there may be one or several. TypeError for what cannot be cast to T: what it is, and the
/// kind that is wanted.
template <class T>
std::vector<T> values_of_option(const char* what, const char* kind, nb::handle x) {
  std::vector<T> out;
  for (const nb::object& one : in_list(x)) {
    T value{};
    if (!nb::try_cast(one, value)) {
      throw nb::type_error((std::string(what) + ": " + kind + ", or a list of them").c_str());
    }
    out.push_back(std::move(value));
  }
  return out;
}

/// Of a report: "binary16", "binary16,e4m3", or a list of names and Formats.
std::vector<std::string> report_format_names(nb::handle x);
/// Of a report: the log2 of a scale, or of several.
std::vector<int> sqnr_scales_of(nb::handle x);

}  // namespace binade::python

// SPDX-License-Identifier: Apache-2.0
//
// Reads arguments that many functions have (attributes, paths, texts, lists) into the values that
// the program's options have.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include "lib/explain/attribute_words.h"

namespace binade::python {

namespace nb = nanobind;

/// The attributes that these words name. `flush` is none, results (FTZ), operands (DAZ) or both;
/// throws Error for another word.
AttributeOptions attribute_options(std::string_view rounding, std::string_view saturation,
                                   std::string_view nan, std::string_view flush, int random_bits);

/// Whether x names a file: it is a str, or has __fspath__.
bool is_path(nb::handle x);
/// The name of the file. Raises TypeError if x names none, and ValueError if no file can have the
/// name: it has a NUL in it, or a surrogate that stands for no byte.
std::string path_of(nb::handle x);

/// The str as UTF-8. Raises ValueError if it holds surrogates, which UTF-8 does not have.
std::string utf8_of(nb::handle x);
/// The same for the argument `key`, which the message names. Raises TypeError if x is no str.
std::string argument_text(std::string_view key, nb::handle x);

/// Raises TypeError, which says the argument, what is wanted and the type of x.
[[noreturn]] void wrong_type(std::string_view key, const char* wanted, nb::handle x);
/// The number that the argument `key` is, as binary64. Raises TypeError if x is no number, and
/// ValueError if it is an integer beyond the range of binary64.
double number_of(std::string_view key, nb::handle x);

/// Whether x is a list or a tuple.
bool is_list(nb::handle x);
/// The members of a list or a tuple; x itself if it is neither; nothing for None.
std::vector<nb::object> in_list(nb::handle x);

/// The values of an option that takes one value or a list of them. `what` names the option and
/// `kind` its values for the TypeError that is raised if one cannot be cast to T.
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

/// The names of a report's formats, from "binary16", "binary16,e4m3", or a list of names and
/// Formats.
std::vector<std::string> report_format_names(nb::handle x);
/// The log2 of a report's scales, from one whole number or a list of them.
std::vector<int> sqnr_scales_of(nb::handle x);

}  // namespace binade::python

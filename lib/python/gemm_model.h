// SPDX-License-Identifier: Apache-2.0
//
// The class binade.GemmModel, which describes what a kernel of matrix products does by the options
// of `binade gemm`, and the arguments of the functions that take such a model or its options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>

#include "lib/gemm/gemm_words.h"

namespace binade::python {

namespace nb = nanobind;

/// The value of a GemmModel: the options, and the model that they mean.
struct ModelObject {
  GemmOptions options;  ///< names no files; of options.files only `round` is used
  NamedGemm named;
};

/// The model of options that name no files. Throws Error if they do not go together.
ModelObject model_object(GemmOptions options);
/// The model of the program's words, such as "--arch sm_90 --instruction … --split 2:16 --c-first".
ModelObject model_of_words(std::string_view words);

/// The options of a product from the arguments of `function`: a GemmModel, beside which only
/// `round` may be given, or None and the options by keyword. Raises TypeError for other keywords;
/// throws Error if there is neither a model nor an instruction.
GemmOptions product_of(nb::handle model, const nb::kwargs& given, const char* function);

/// The text of the parameters of order, epilogue and rules for the signature of GemmModel, and of
/// each function that takes them in the place of a model.
std::string order_parameters();
/// The text of the parameters that name an instruction, and of those that set the rules of its
/// sums, for the signature of a function that takes a model or these.
std::string instruction_parameters();
std::string rule_parameters();

/// The value of the argument `key` (text, a whole number or a Format) as a word of the command
/// line; "" for None. Raises TypeError for another type.
std::string word_of(std::string_view key, nb::handle x);
/// The same for one value or a list of them.
std::vector<std::string> words_in(std::string_view key, nb::handle x);

}  // namespace binade::python

// SPDX-License-Identifier: Apache-2.0
//
// GemmModel: what a kernel of matrix products does, made of the options of `binade gemm`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>

#include "lib/cli/gemm_options.h"

namespace binade::python {

namespace nb = nanobind;

/// What a kernel does, as options and as what they mean.
struct ModelObject {
  GemmOptions options;  ///< without files; files.round counts
  NamedGemm named;
};

/// Of options without files. Error where they do not go together.
ModelObject model_object(GemmOptions options);
/// Of the program's words, "--arch sm_90 --instruction … --split 2:16 --c-first".
ModelObject model_of_words(std::string_view words);

/// The arguments of a call of `function` that say what the kernel does: a GemmModel, or its options by name.
GemmOptions product_of(nb::handle model, const nb::kwargs& given, const char* function);

/// The parameters of a signature that are the options of order, epilogue and rules: GemmModel has them, and each function
/// that takes them in a model's place.
std::string order_parameters();
/// Those that name an instruction, and the rules of its sums; of a function that takes a model in their place.
std::string instruction_parameters();
std::string rule_parameters();

/// Text, a whole number or a Format as the program's word; "" of None.
std::string word_of(std::string_view key, nb::handle x);
/// One or several of these.
std::vector<std::string> words_in(std::string_view key, nb::handle x);

}  // namespace binade::python

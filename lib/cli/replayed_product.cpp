// SPDX-License-Identifier: Apache-2.0
//
// Reads the command in a recording of a product: it is parsed as the program's own options are,
// after a check that it names nothing but a model.
#include "lib/cli/replayed_product.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "lib/cli/gemm_options.h"
#include "lib/cli/parser.h"
#include "lib/device/recording_file.h"
#include "lib/io/safetensors.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

/// Options of `binade gemm` that do not describe a model: those of operands, and --help and
/// --version.
constexpr std::array<std::string_view, 5> no_words_of_a_model{
    "--bias", "--transpose-a", "--transpose-b", "--help", "--version"};

bool begins_an_option(std::string_view word) {
  return word.starts_with("-") &&
         word.find_first_not_of("0123456789.e+-", 1) != std::string_view::npos;
}

/// The words of the command: options with their full names, and their values. Throws Error for any
/// other option.
std::vector<std::string> words_of_command(const SafetensorsFile& file, const App& parser) {
  const std::vector<std::string> known = parser.long_names();
  std::vector<std::string> out;
  for (const std::string_view word : split(metadata_text(file, "command"), ' ')) {
    const std::string_view name = word.substr(0, word.find('='));
    const bool option = begins_an_option(word);
    if (option && (std::ranges::find(known, name) == known.end() ||
                   std::ranges::find(no_words_of_a_model, name) != no_words_of_a_model.end())) {
      bad_metadata(file, "command", "options of binade gemm that name a model");
    }
    out.emplace_back(word);
  }
  return out;
}

bool holds_tensor(const SafetensorsFile& file, std::string_view name) {
  return std::ranges::find(file.tensors(), name, &TensorInfo::name) != file.tensors().end();
}

}  // namespace

ReplayedProduct replayed_product(const std::string& path, std::size_t show,
                                 const RuleChoice& rules) {
  const auto file = open_safetensors(path);
  ValidateGemmOptions options;
  options.d = path + ":d";
  options.show = show;
  GemmOptions& product = options.product;
  const Program parser("", "binade", "");
  const App gemm = parser.add_subcommand("gemm", "");
  add_gemm_options(gemm, product);
  std::vector<std::string> words = words_of_command(*file, gemm);
  const std::string c = holds_tensor(*file, "c") ? path + ":c" : "";
  if (!c.empty()) words.insert(words.begin(), c);
  words.insert(words.begin(), {"binade", "gemm", path + ":a", path + ":b"});
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  try {
    parser.parse(static_cast<int>(arguments.size()), arguments.data());
    model_of(product);
  } catch (const Error& error) {
    throw error_in(path, std::string("metadata 'command': ") + error.what(),
                   std::string(record_again));
  }
  if (product.c != c) bad_metadata(*file, "command", "options of binade gemm that name a model");
  if (holds_tensor(*file, "bias")) product.bias = path + ":bias";
  if (rules.any()) product.rules = rules;
  GemmValidation validation = validated(options);
  return {path, std::move(options), std::move(validation)};
}

}  // namespace binade

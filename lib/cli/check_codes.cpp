// SPDX-License-Identifier: Apache-2.0
//
// The options for a converter's arrays, and the printing of what is found in them.
#include "lib/cli/check_codes.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/cli/command.h"
#include "lib/cli/suggestions.h"
#include "lib/identify/conversion_text.h"
#include "lib/text/json_text.h"

namespace binade {

void add_code_options(App app, ConversionFiles& files) {
  app.add_option(
         "--in", files.in,
         "file of the numbers that a converter was given (.npy, .npz, .safetensors, torch); "
         "FILE:NAME if it holds several")
      .suggest_files();
  app.add_option(
         "--codes", files.codes,
         "file of what the converter gave, of the same shape: codes in the dtype of their "
         "format or in unsigned integers, or values in a wider dtype; FP4 may be packed, two "
         "in a byte, the first in the low half")
      .suggest_files();
  app.add_option("--format", files.format,
                 "format of the codes: a name from `binade formats`, or your own, such as e5m7 "
                 "(default: that of their dtype)")
      .suggest(format_words);
  app.add_option(
         "--dtype", files.dtype,
         "dtype of the elements of --in if it is a .npy file that holds raw bytes (V1, V2), "
         "such as bfloat16")
      .suggest(dtype_words);
}

int check_codes(const ConversionFiles& files, bool json, std::size_t show) {
  const Converted given = read_conversion(files);
  const ConversionFinding found = identify_conversion(given);
  if (json) {
    fmt::print("{}\n", json_text(finding_json(found, given, show), 2));
  } else {
    fmt::print("{}", finding_text(found, given, show));
  }
  return found.conclusion() == ConversionConclusion::none ? exit_different : 0;
}

}  // namespace binade

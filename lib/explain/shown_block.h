// SPDX-License-Identifier: Apache-2.0
//
// One block of a block format under scale rules: what `binade show --block` reports, as a struct,
// and written as text and JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "emulate/block_quantize.h"
#include "lib/format/block_spec.h"

namespace binade {

/// What to show.
struct ShowBlockQuestion {
  std::string numbers;  ///< literals (literal.h) between blanks or commas
  std::string format;   ///< a block format
  std::vector<std::string>
      rules;  ///< names of scale rules; "all" is each that fits; none: the usual
  /// Largest magnitude of the tensor that the block is of, a literal; empty: that of the block.
  std::string tensor_amax;
  /// A rounding of the elements; empty: to nearest, as the rules say.
  std::string rounding;
  /// The format of the numbers, to which they are rounded; empty: binary32.
  std::string input;
};

/// The codes that some rules give.
struct BlockOutcome {
  std::vector<const NamedScaleRule*> rules = {};  ///< all that give these codes
  TensorScale tensor = {};  ///< this, and what follows but for the codes, of the first rule
  BlockScale scale = {};
  std::vector<std::uint64_t> codes = {};  ///< of each element
  std::vector<double> values = {};        ///< of each element under its scales, exact
  std::optional<double> rms_error = {};   ///< of the values; nothing where one is no number
};

struct ShownBlock {
  NamedOrCustomBlock format;
  std::vector<std::string> typed = {};      ///< the numbers
  Format input = binary32;                  ///< to which the numbers are rounded
  std::vector<std::uint32_t> numbers = {};  ///< as binary32, of which blocks are made
  std::uint32_t amax = 0;  ///< of the block: bits of binary32; NaNs are passed over
  std::uint32_t tensor_amax = 0;
  std::size_t padding = 0;  ///< zeros behind them, which change no scale, fill the block
  std::vector<BlockOutcome> outcomes = {};
};

/// Returns what the rules make of the block. Throws Error if a word of the question is wrong.
ShownBlock shown_block(const ShowBlockQuestion& question);

/// Returns the outcomes, each with the rules that give it, and a table of the elements: a mark
/// stands where an outcome is not the first one's.
std::string shown_block_text(const ShownBlock& x);

/// Returns JSON of schema binade.show_block/1. Numbers are exact.
nlohmann::ordered_json shown_block_json(const ShownBlock& x);

}  // namespace binade

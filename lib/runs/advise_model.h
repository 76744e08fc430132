// SPDX-License-Identifier: Apache-2.0
//
// Reads the layers about which `binade advise` gives advice, from options on the command line or
// from a JSON file.
//
//     --linear 4096x4096x50257                    tokens x in x out
//     --conv 32x64x56x56:128x3x3:stride=2:pad=1   batch x channels x height x width : filters x rows x columns
//
//     {"layers": [{"name": "head", "kind": "linear", "tokens": 4096, "in": 4096, "out": 50257},
//                 {"name": "stem", "kind": "conv2d", "batch": 32, "channels": 3, "height": 224, "width": 224,
//                  "filters": 64, "rows": 7, "columns": 7, "stride": 2, "padding": 3}]}
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/train/shapes.h"

namespace binade {

struct AdvisedLayer {
  std::string name;
  std::string words;                ///< "linear, 4096 tokens, 4096 to 50257"
  std::array<Extents, 3> products;  ///< in the order of product_names
  std::uint64_t parameters = 0;     ///< number of weights, without biases
};

/// Parse the value of --linear or --conv. They throw Error if it is malformed, a size is 0 (a
/// padding may be) or above 2^31, a filter is larger than its padded input, or the product of a
/// convolution's sizes is 2^60 or more.
AdvisedLayer linear_of(std::string_view text);
AdvisedLayer conv_of(std::string_view text);

/// Reads a JSON file of layers. Throws Error, which names the file, the layer and what is missing,
/// if it is malformed.
std::vector<AdvisedLayer> read_layers(const std::string& path);
/// Reads the JSON of such a file, and throws the same; `label` names the file in errors.
std::vector<AdvisedLayer> layers_of(const std::string& label, const nlohmann::ordered_json& json);

/// Parses a whole number from 1 to 2^53, such as "7e9", "1.3e9" or "7000000000". Throws Error,
/// which names the option, for anything else.
std::uint64_t parse_count(std::string_view option, std::string_view text);

/// Parses an amount of memory, such as "80GB", "80 GiB", "500kB" or a number of bytes, from 1 to
/// 2^60 bytes; the fraction of a byte is cut off. Throws Error, which names the option, for
/// anything else.
std::uint64_t parse_bytes(std::string_view option, std::string_view text);

}  // namespace binade

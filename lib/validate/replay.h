// SPDX-License-Identifier: Apache-2.0
//
// Sets of dot products, scalar instructions and whole products, held against the emulator one after the other:
// recordings replayed without the GPU they come from, folders of public hardware rows, and a device
// that is here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "lib/device/device.h"
#include "lib/evidence/rule_choice.h"
#include "lib/validate/dots.h"
#include "lib/validate/scalar.h"

namespace binade {

/// One set, compared. Its rows live during the call of the sink only.
struct CheckedSet {
  std::string source;  ///< the file, the set of a folder, or the generator
  Instruction instruction;
  std::string gpu = {};      ///< empty: not said
  bool independent = true;   ///< false: a copy of another set
  std::string skipped = {};  ///< why nothing was compared; empty: it was
  DotCheck check = {};
};
using SetSink = std::function<void(const CheckedSet& set, const Dots& dots)>;

/// A recording of a scalar instruction, compared; its rows are the recording's samples.
struct CheckedScalar {
  std::string source;  ///< the file
  RecordingOrigin origin;
  ScalarCheck check;
};
using ScalarSink = std::function<void(const CheckedScalar& set)>;

/// What came out of a recording of a whole product.
struct ProductCount {
  std::uint64_t elements = 0, different = 0;
};
/// Compares the whole product of a file; of whoever knows the words of its `command`.
using ProductCheck = std::function<ProductCount(const std::string& path)>;

struct SetTotals {
  std::uint64_t sets = 0, rows = 0, different = 0;  ///< sets: that were compared
  std::uint64_t recorded_only = 0;                  ///< approximations: read, not compared

  std::uint64_t equal() const { return rows - different; }
};

/// Recordings (.safetensors), folders of them, and folders with a sets.json: hardware rows as
/// published with Khattak and Mikaitis, arXiv 2512.07004, each array a .npy. Sets come in the order
/// of the paths and of their names. Error if a path holds nothing to compare. Fused sums follow `rules`. Elements of whole
/// products count as rows.
SetTotals replay(std::span<const std::string> paths, std::size_t keep, const RuleChoice& rules,
                 const SetSink& sink, const ScalarSink& scalar_sink = {},
                 const ProductCheck& check_product = {});

struct DeviceRows {
  std::optional<std::uint64_t> rows = {};  ///< at most, of each set; without: full recordings
  std::uint64_t seed = 1;
  std::optional<std::string> generator = {};  ///< one; without: all that suit
};

/// Every instruction of the device's architecture, by every generator. Error where the architecture
/// is unknown.
SetTotals check_device(Device& device, const DeviceRows& what, std::size_t keep,
                       const SetSink& sink);

}  // namespace binade

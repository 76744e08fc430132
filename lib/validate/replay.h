// SPDX-License-Identifier: Apache-2.0
//
// Compares sets of dot products, scalar instructions and whole products with the emulator, one
// after the other. They come from recordings, which need no GPU, from folders of public hardware
// rows, or from a device of this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "lib/device/device.h"
#include "lib/instruction/rule_choice.h"
#include "lib/validate/dots.h"
#include "lib/validate/scalar.h"

namespace binade {

/// A set and what its comparison gave. The Dots that a sink receives with it live until the sink
/// returns.
struct CheckedSet {
  std::string source;  ///< the file, the set of a folder, or the generator
  Instruction instruction;
  std::string gpu = {};      ///< empty: unknown
  bool independent = true;   ///< false: a copy of another set
  std::string skipped = {};  ///< why nothing was compared; empty if it was
  DotCheck check = {};
};
using SetSink = std::function<void(const CheckedSet& set, const Dots& dots)>;

/// A recording of a scalar instruction and what its comparison gave; its rows are the samples of
/// the recording.
struct CheckedScalar {
  std::string source;  ///< the file
  RecordingOrigin origin;
  ScalarCheck check;
};
using ScalarSink = std::function<void(const CheckedScalar& set)>;

/// What the comparison of a recorded whole product gave.
struct ProductCount {
  std::uint64_t elements = 0, different = 0;
};
/// Compares the whole product of a file. The caller defines it, because the file holds the words of
/// a `command` that only the program knows.
using ProductCheck = std::function<ProductCount(const std::string& path)>;

struct SetTotals {
  std::uint64_t sets = 0, rows = 0, different = 0;  ///< `sets` counts those that were compared
  /// Recordings of approximate instructions, which are read but not compared.
  std::uint64_t recorded_only = 0;

  std::uint64_t equal() const { return rows - different; }
};

/// Compares recordings (.safetensors), folders of them, and folders with a sets.json: hardware rows
/// as published with Khattak and Mikaitis, arXiv 2512.07004, each array a .npy. Sets come in the
/// order of the paths, and in a folder, which is searched at any depth, in the order of their
/// names. Fused sums follow `rules`; the elements of whole products and the samples of scalar
/// instructions count as rows. At most the first `keep` differences of a set are kept. Throws Error
/// if there are no paths, if a path holds nothing to compare or cannot be read as what it is, or if
/// it is a whole product and there is no `check_product`.
SetTotals replay(std::span<const std::string> paths, std::size_t keep, const RuleChoice& rules,
                 const SetSink& sink, const ScalarSink& scalar_sink = {},
                 const ProductCheck& check_product = {});

struct DeviceRows {
  /// At most so many rows of each set; empty: as many as a full recording has.
  std::optional<std::uint64_t> rows = {};
  std::uint64_t seed = 1;
  /// The name of one generator; empty: all that suit an instruction.
  std::optional<std::string> generator = {};
};

/// Compares every instruction of the device's architecture on the rows of every generator that
/// suits it; an instruction that the device cannot run reaches `sink` once, as skipped. Throws
/// Error if the architecture or the generator is unknown, or if what.rows is 0.
SetTotals check_device(Device& device, const DeviceRows& what, std::size_t keep,
                       const SetSink& sink);

}  // namespace binade

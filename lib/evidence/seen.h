// SPDX-License-Identifier: Apache-2.0
//
// What the rows of a recorded set saw: the ranges of their operands and results, and how many of them tell
// each rival rule from ours. seen.tsv holds that of every set that was recorded on hardware; a line is
//
//     gpu  architecture  instruction  rows  operands  c  d  told
//
// between tabs. operands (a and b together, without pairs of +0, which fill rows up), c and d are each "least most zeros minus_zeros subnormals
// infinities nans", least and most of the magnitudes of numbers other than zero, "- -" without any; told is
// "rival=rows" of each rival that some row excludes, with semicolons.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/cases/dots.h"
#include "lib/evidence/rivals.h"

namespace binade {

/// Magnitudes of numbers other than zero, and how many of the rest.
struct SeenRange {
  double least = 0, most = 0;  ///< 0: there are none
  std::uint64_t zeros = 0, minus_zeros = 0, subnormals = 0, infinities = 0, nans = 0;

  void add(std::uint64_t bits, const Format& f);
  void merge(const SeenRange& other);
  friend bool operator==(const SeenRange&, const SeenRange&) = default;
};

struct SeenSet {
  std::string gpu;  ///< as the table of architectures has it, or as the recording
  int sm = 0;
  std::string instruction;
  std::uint64_t rows = 0;
  SeenRange operands, c, d;
  /// Rival → rows whose d it does not give; none of 0.
  std::map<std::string, std::uint64_t> told;

  friend bool operator==(const SeenSet&, const SeenSet&) = default;
};

/// What rows saw, on all threads. Rows that our rules do not give exclude nothing.
SeenSet seen_of(const Instruction& instruction, const Dots& dots, std::string_view gpu);

/// The short name of a GPU that the table of architectures has, else its own: H100 of "NVIDIA H100 80GB HBM3".
std::string short_gpu(std::string_view gpu, int sm);

/// The head of a file, and a set's line.
std::string seen_head();
std::string line_of(const SeenSet& set);
/// Error with the line that is wrong.
std::vector<SeenSet> parse_seen(std::string_view text);

/// seen.tsv as it was committed.
const std::vector<SeenSet>& recorded_sets();

/// "1.5e-05 … 4.4, 12 zeros, 3 NaN"
std::string range_text(const SeenRange& range);

}  // namespace binade

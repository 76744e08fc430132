// SPDX-License-Identifier: Apache-2.0
//
// What the rows of a recorded set hold: the ranges of their operands and results, and how many of
// them distinguish each rival rule from ours. seen.tsv has a line of the columns' names, then one
// for every set that was recorded on hardware, with these columns between tabs:
//
//     gpu  architecture  instruction  rows  operands  c  d  told
//
// operands (of a and b together, without pairs of +0, which fill rows up), c and d are each "least
// most zeros minus_zeros subnormals infinities nans". least and most are the ends of the magnitudes
// of the numbers other than zero, "- -" if there are none; the rest are counts (zeros counts -0
// too). told is "rival=rows" for each rival that some rows exclude, separated by semicolons.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/cases/dots.h"
#include "lib/evidence/rivals.h"

namespace binade {

/// The range of the magnitudes of numbers other than zero, and counts of special values.
struct SeenRange {
  double least = 0, most = 0;  ///< both are 0 if there are no such numbers
  /// zeros counts those of both signs.
  std::uint64_t zeros = 0, minus_zeros = 0, subnormals = 0, infinities = 0, nans = 0;

  void add(std::uint64_t bits, const Format& f);
  void merge(const SeenRange& other);
  friend bool operator==(const SeenRange&, const SeenRange&) = default;
};

struct SeenSet {
  std::string gpu;  ///< short name, by short_gpu()
  int sm = 0;
  std::string instruction;
  std::uint64_t rows = 0;
  SeenRange operands, c, d;
  /// For each rival: how many rows have a d that it does not give. Rivals with 0 rows are left out.
  std::map<std::string, std::uint64_t> told;

  friend bool operator==(const SeenSet&, const SeenSet&) = default;
};

/// Returns what the rows of a recording hold, counted on all threads. A row whose d is not ours
/// excludes no rival.
SeenSet seen_of(const Instruction& instruction, const Dots& dots, std::string_view gpu);

/// Returns the short name of a GPU in the table of architectures ("H100" for "NVIDIA H100 80GB
/// HBM3"), or the name, made printable and cut to 60 bytes, if the table has none.
std::string short_gpu(std::string_view gpu, int sm);

/// These return the first line of seen.tsv, and the line of a set.
std::string seen_head();
std::string line_of(const SeenSet& set);
/// Reads the text of seen.tsv, whose first line is not looked at. Throws Error with the number of
/// the first malformed line, or as parse_architecture does if its architecture is unknown.
std::vector<SeenSet> parse_seen(std::string_view text);

/// Returns the sets of seen.tsv, which the build puts into the program.
const std::vector<SeenSet>& recorded_sets();

/// Returns a range as text: "1.5e-05 … 4.4, 12 zeros, 3 NaN"; "no numbers but 0, 12 zeros" if it
/// has no ends.
std::string range_text(const SeenRange& range);

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// How near D lies to the exact sums of a case, in numbers. This only says which mistakes are worth
// a search and where D is far off; what is told of a mistake is counted by models, bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/identify/change.h"

namespace binade {

/// The number that an encoding holds, also of an integer format; NaN for a NaN.
double number_in(std::uint64_t code, const Format& f);

/// The same for many encodings of a format: a table where it is narrow.
class NumbersIn {
 public:
  explicit NumbersIn(const Format& f);
  double operator()(std::uint64_t code) const {
    return code < table_.size() ? table_[code] : number_in(code, f_);
  }

 private:
  Format f_;
  std::vector<double> table_;
};
std::vector<double> numbers_of(const std::vector<std::uint64_t>& codes, const Format& f);

/// A unit in the last place of a format at x; 1 of an integer format.
double ulp_at(double x, const Format& f);

/// The upper median of some numbers; 0 if there are none.
double median(std::vector<double> x);

/// D's elements beside the exact ones, nearly: computed in binary64.
struct NearSums {
  std::vector<double> exact;  ///< alpha·Σab + beta·C + bias
  std::vector<double> size;   ///< the same of magnitudes
  std::vector<double> found;  ///< D

  /// Distance of an element from the exact one, as a part of its size.
  double distance(std::size_t at) const;
};
NearSums near_sums(const KernelCase& x);

/// Whether an element may be the exact one, rounded a few times in binary32 and to D's format.
bool is_near(const NearSums& x, std::size_t at, const Format& d);

struct ChangeFit {
  double near = 0;    ///< share of the elements that are near
  double equal = 0;   ///< share of those that are the exact one, rounded to nearest
  double spread = 0;  ///< median of the distances
};
ChangeFit fit_of(const KernelCase& x);

/// At most `most` of these elements of a run, spread evenly; of all if there are none.
std::vector<std::size_t> some_elements(const KernelRun& run, std::span<const std::size_t> elements,
                                       std::size_t most);
/// Some elements of a case under a change, as a smaller case.
KernelCase sample_of(const KernelCase& given, const Change& change);

}  // namespace binade

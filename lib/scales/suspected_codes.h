// SPDX-License-Identifier: Apache-2.0
//
// Suspicions of codes: other roundings and orders of bits, under scales as they are stored, under
// those of their neighbours, and under those that rules or suspicions of scales give.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/scales/suspected_scales.h"

namespace binade {

/// Under which scales codes are tried, and by whose step.
struct CodesOf {
  std::string_view kind{};
  const NamedScaleRule* rule = nullptr;
};

/// What is told of scales before others: of ways of making codes that differ in a rule's name alone
/// its is told, and of those that differ in the scale of the tensor.
struct ScalesFirst {
  const NamedScaleRule* rule = nullptr;
  std::optional<TensorScale> tensor = {};
};

/// A way of making codes that is tried.
struct SuspectedCodes {
  std::size_t reading = 0;
  NumbersTaken taken = NumbersTaken::as_given;
  std::size_t order = 0;
  BlockQuantizer to = {};
  std::optional<Format> between = {};  ///< CodesCompared::between
  bool away = false, any_nan = false;  ///< of CodesCompared, as are these
  Subnormals subnormals = Subnormals::kept;
  std::vector<std::uint32_t> factors = {};
  const CodeReading* how = nullptr;
  RowsMoved rows = {};
  std::string words = {}, of_any_rounding = {};  ///< the second without what says of a rounding
  ScaleAgreement elements = {};
  CodesOf of = {};
  /// In some bytes the halves are in the other order.
  const CodeReading* how_of_some = nullptr;
  /// How much is not as it is told of what is stored: the plainest of equals is told.
  int changes = 0;
};

/// A search for suspicions of codes, of one reading.
class CodeSuspicions {
 public:
  CodeSuspicions(const ReadingWork& work, std::size_t reading, std::size_t order,
                 NumbersTaken taken, const RowsMoved& rows, const ScalesFirst& first,
                 std::uint64_t& tried, std::vector<SuspectedCodes>& out);

  /// Tries codes under the stored scales, and under those of their neighbours.
  void try_stored() const;
  /// Tries codes under the scales that rules give, whatever is stored, and under suspected ones.
  void try_made(std::span<const SuspectedScales> suspected) const;
  /// Tries codes under the scales of rules before they are rounded to their format.
  void try_unrounded() const;

  /// Counts all elements, and adds a mark for each that is left unequal where that is wanted.
  void count_all(SuspectedCodes& x, std::vector<std::uint8_t>* elements = nullptr) const;
  /// Returns the same with a change of what few elements need, if that leaves a quarter at most.
  std::optional<SuspectedCodes> refined(const SuspectedCodes& x) const;
  /// Returns the same with halves of bytes exchanged in some places, if that leaves a quarter at
  /// most.
  std::optional<SuspectedCodes> partly_exchanged(const SuspectedCodes& x) const;
  /// Counts the codes that are one of the two neighbours of their number; none where how many of
  /// them went up, and away from the nearest, is not what the discarded fractions would give.
  std::uint64_t drawn_neighbours(const SuspectedCodes& x) const;

 private:
  /// Returns the rules that fit, that which is told first before the others.
  std::vector<const NamedScaleRule*> rules() const;
  /// Tries every rounding, and every reading of codes, under these factors; and, if none explains
  /// a sample, quotients that are rounded to a narrower format first.
  void try_under(const BlockQuantizer& to, std::vector<std::uint32_t> factors,
                 const std::string& words, const CodesOf& of) const;
  /// Tries factors that are rounded to a narrower format; returns these if they are better.
  std::optional<std::vector<std::uint32_t>> try_narrow_factors(
      std::span<const std::uint32_t> factors, SuspectedCodes& best) const;
  double discarded_fraction(const SuspectedCodes& x, std::size_t element) const;

  const ReadingWork* work_;
  std::size_t reading_, order_;
  NumbersTaken taken_;
  RowsMoved rows_;
  ScalesFirst first_;
  std::uint64_t* tried_;
  std::vector<SuspectedCodes>* out_;
  std::vector<std::size_t> pieces_;
  std::map<NibbleOrder, std::vector<std::byte>> stored_;
};

}  // namespace binade

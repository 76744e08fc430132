// SPDX-License-Identifier: Apache-2.0
//
// What the search computes with: the numbers of a reading, the scales that a rule makes of them,
// and how many stored codes agree with those that a step makes.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/block/block_pieces.h"
#include "lib/block/block_tensor.h"
#include "lib/scales/scale_search.h"

namespace binade {

/// What the quantizer may have been given: the numbers, or these with a change.
enum class NumbersTaken : std::uint8_t {
  as_given,
  as_bfloat16,
  as_binary16,
  cut_to_bfloat16,
  positive,  ///< those below zero, and -0, are +0
};

/// Returns the ways in which numbers may have been taken, as given first; those that change none
/// of them are left out.
std::vector<NumbersTaken> ways_of_numbers(std::span<const float> x);

/// Rows, or columns, of numbers that the quantizer may have had in other places.
struct RowsMoved {
  std::int64_t by = 0;  ///< each row of a matrix is the one so many before it
  /// Which row of all each is; null: as `by` says.
  std::shared_ptr<const std::vector<std::uint32_t>> from = {};
  /// Which column of each row each is; null: in their places.
  std::shared_ptr<const std::vector<std::uint32_t>> columns = {};
  std::string words =
      {};  ///< "each row is that of the numbers 1 row before"; empty: in their places

  bool is_plain() const { return by == 0 && from == nullptr && columns == nullptr; }
  friend bool operator==(const RowsMoved&, const RowsMoved&) = default;
};

/// An amax that a quantizer may have taken in the place of the tensor's.
struct NamedAmax {
  enum Kind : std::uint8_t { of_all, of_rows, of_columns };

  std::uint32_t amax = 0;
  std::string words = {};  ///< "max(x), not max|x|", "that of part 1 of 2 of the rows"
  Kind kind = of_all;      ///< of which numbers
};

/// The numbers of a reading with all that is found of them again and again.
class ReadingWork {
 public:
  ReadingWork(const Quantized& given, const ScaleReading& reading, NumbersTaken taken,
              const RowsMoved& rows = {});

  const Quantized& given() const { return *given_; }
  const ScaleReading& reading() const { return *reading_; }
  const BlockFormat& format() const { return reading_->format.format; }
  std::span<const float> x() const { return x_; }
  const BlockPieces& pieces() const { return pieces_; }
  /// Returns the steps of a rule for these numbers.
  ScaleRule steps(const NamedScaleRule& row) const { return rule_for(row, input_); }
  /// Returns the amaxes of the blocks, or of the tensor, as a rule takes them.
  const std::vector<std::uint32_t>& amaxes(const ScaleRule& rule) const;
  std::uint32_t amax(const ScaleRule& rule) const;
  /// Returns numbers that are not the tensor's amax, and may stand in its place.
  const std::vector<NamedAmax>& other_amaxes(const ScaleRule& rule) const;
  BlockQuantizer quantizer(const ScaleRule& rule, const TensorScale& tensor) const;
  BlockScales scales(const ScaleRule& rule, const TensorScale& tensor) const;

 private:
  const Quantized* given_;
  const ScaleReading* reading_;
  Format input_;  ///< of the numbers, as the quantizer is taken to have had them
  std::vector<float> turned_;
  std::span<const float> x_;
  BlockPieces pieces_;
  mutable std::array<std::vector<std::uint32_t>, 2> amaxes_;
  mutable std::array<std::vector<NamedAmax>, 2> other_amaxes_;
};

inline float number_of_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

/// Compares expected scales with stored ones.
ScaleAgreement scales_agree(const Format& scale, std::span<const std::uint32_t> expected,
                            const StoredScales& stored);

/// Returns numbers of blocks spread over a tensor, a few hundred at most.
std::vector<std::size_t> sampled_blocks(std::size_t blocks);

/// Returns how many of sampled blocks have the scales of a rule, in the order in which most have.
ScaleAgreement sampled_scales(const ReadingWork& work, const ScaleRule& rule,
                              const TensorScale& tensor, std::span<const StoredScales> stored);

/// Returns a number of binary32 as a narrower format holds it.
std::uint32_t held_scale(std::uint32_t scale, const std::optional<Format>& held);

/// Returns what elements are multiplied or divided by where these are the scales of their blocks.
std::vector<std::uint32_t> factors_under(const ReadingWork& work, const BlockQuantizer& to,
                                         std::span<const std::uint32_t> scales);

/// What is written for codes of subnormal numbers: these, zeros with their signs, or zeros; or
/// these, and zeros without a sign.
enum class Subnormals : std::uint8_t { kept, signed_zero, zero, kept_beside_zero };

/// How far codes are compared.
struct CodesCompared {
  std::span<const std::size_t> pieces = {};        ///< of the reading; empty: all
  bool to_the_first = false;                       ///< ends soon after the first that differs
  std::vector<std::uint8_t>* differing = nullptr;  ///< a mark for each block that has one
  /// A bit for each element that differs, added to what is there.
  std::vector<std::uint8_t>* elements = nullptr;
  std::uint8_t bit = 1;
  /// A format to which quotients are rounded, to nearest even, before they are to elements.
  std::optional<Format> between = {};
  bool away = false;  ///< rounded away from zero, whatever the quantizer says
  /// What stands in the place of codes of subnormal numbers.
  Subnormals subnormals = Subnormals::kept;
  bool any_nan = false;  ///< NaNs are equal whatever their bits
};

/// Compares the codes that a quantizer makes under these factors with stored ones.
ScaleAgreement codes_agree(const ReadingWork& work, const BlockQuantizer& to,
                           std::span<const std::uint32_t> factors,
                           std::span<const std::byte> stored, const CodeReading& how,
                           const CodesCompared& compared);

/// Returns how many numbers of some pieces are zeros.
std::uint64_t zeros_of_pieces(const ReadingWork& work, std::span<const std::size_t> chosen);

/// How codes speak for a reading, whatever rule gave its scales.
struct ReadingEvidence {
  /// The share of sampled codes that are those under the stored scales, or under a rule's, whatever
  /// is stored; 0 if it may be chance's.
  double codes = 0;
  double under_stored = 0;
  std::size_t order = 0;  ///< of the stored scales, in which it is largest
};

/// Shares that differ by less may do so by chance, and codes of 4 bits be equal by it so often.
constexpr double chance = 0.1, chance_of_codes = 0.4;

ReadingEvidence evidence_of_codes(const ReadingWork& work);

/// Returns the block of an element.
std::uint64_t block_of_element(const BlockView& view, std::uint64_t element);

/// Returns the code that a quantizer makes of one element.
std::uint32_t made_code(const BlockQuantizer& to, std::uint32_t factor, float x,
                        const CodeReading& how);

/// Returns rounding directions that are tried, the rule's own first.
std::vector<Rounding> roundings_tried();

/// A reading, and a rule under it.
struct SuspectedRule {
  std::size_t reading = 0, order = 0;
  const NamedScaleRule* rule = nullptr;
  TensorScale tensor = {};
};

/// Adds what may have happened to scales and codes that no rule explains, whose fits are `all`, to
/// finding.hypotheses, and
/// what was tried to finding.codings. Returns the rule whose scales, changed, are told first, if
/// there is one.
std::optional<SuspectedRule> add_scale_hypotheses(const Quantized& given,
                                                  std::span<const ReadingEvidence> evidence,
                                                  std::span<const ScaleRuleFit> all,
                                                  ScaleFinding& finding);

}  // namespace binade

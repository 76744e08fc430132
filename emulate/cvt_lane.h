// SPDX-License-Identifier: Apache-2.0
//
// What one PTX `cvt` between floating-point types does to the bits of its operands: which operand is
// which lane, how a lane is clamped and rounded, what it makes of a NaN, and which random bits it
// draws. Which instructions there are is cvt.h's table. From the PTX ISA 9.0 (cvt), NVIDIA's host
// headers, and the machine code that ptxas 13.0 writes where PTX is silent or the two differ.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "emulate/ptx_scalar.h"

namespace binade {

/// What an instruction makes of a NaN.
enum class NanOperand : std::uint8_t {
  canonical,  ///< the result is Attributes::nan
  /// cvt.rna.tf32 is no instruction of the silicon: ptxas 13.0 expands it, for sm_80, sm_90a and
  /// sm_100a alike, into: unless Inf or NaN, add 0x1000; clear the low 13 bits; with .satfinite,
  /// subtract 0x2000 from what then is Inf or NaN. So a NaN keeps its sign and its upper payload, one
  /// with payload only in the low 13 bits becomes Inf, and .satfinite takes NaNs one code down.
  /// Read off the SASS (cuda/README.md says how); PTX promises no more than "NaN".
  cut_like_a_number,
  /// All bits stay, the signaling NaNs' too: between equal types ptxas writes a move, for f32.bf16 a
  /// shift by 16. NVIDIA's header shifts as well; PTX promises "unspecified NaN".
  kept,
  canonical_first,  ///< made canonical in the operand's format, then converted: cvt.ftz.f64.f32
};

/// Which bits of `rbits` a lane draws for .rs. PTX: "the carry out of the integer addition of the
/// random bits and the discarded bits", aligned at the top of what is discarded. Unproven here:
/// sm_100a and sm_103a alone have .rs.
enum class RandomLayout : std::uint8_t {
  none,
  halves,  ///< lane i draws half i of rbits, of f16 the low 13 bits. PTX's words settle it.
  /// a and b share the upper half, e and f the lower (PTX's words). How a pair shares, PTX shows only
  /// in a figure. Here b and f draw the half as written, a and e with its 16 bits reversed: so report
  /// a public measurement on sm_100a and, of the upper 8 bits, one on sm_103a (rounding.py of quack);
  /// the latter's authors found on sm_100a a plain byte for each lane instead.
  shared_halves,
  shared_bytes,  ///< so too, but a and b share the upper bytes of both halves, e and f the lower
};

/// What says that the bits are right.
enum class CvtEvidence : std::uint8_t {
  /// An H100 and an H200 gave the same bits in every case: all operands up to 2^32 of them, else 10^9.
  /// (tests/recordings/sm_90/scalar; what a table below says is the evidence elsewhere.)
  hardware,
  host_headers,  ///< NVIDIA's headers compute it on the host; tests/outside compares all bits
  documented,    ///< the words of the PTX ISA; of f32's NaNs they promise no bits
  machine_code,  ///< ptxas 13.0 writes simpler instructions whose effect is known
  open,          ///< a -0 under .relu or .sat or the order of random bits is a guess
};

constexpr std::string_view cvt_evidence_name(CvtEvidence evidence) {
  switch (evidence) {
    case CvtEvidence::hardware: return "hardware";
    case CvtEvidence::host_headers: return "host_headers";
    case CvtEvidence::documented: return "documented";
    case CvtEvidence::machine_code: return "machine_code";
    case CvtEvidence::open: return "open";
  }
  return "";
}

/// One instruction. A kernel takes it by value.
struct PtxCvt {
  Format from{}, to{};
  int lanes = 1;
  bool packed_source = false;  ///< one operand holds all lanes, else there is an operand per lane
  Clamp clamp = Clamp::none;   ///< .sat and .relu
  NanOperand nan_operand = NanOperand::canonical;
  RandomLayout random = RandomLayout::none;
  Attributes attributes{.nan = NanResult::nvidia};
  SmTarget target{};
  CvtEvidence evidence = CvtEvidence::open;

  /// Operands before `rbits`.
  constexpr int operand_count() const { return packed_source ? 1 : lanes; }
  constexpr int operand_bits() const {
    return packed_source ? lanes * lane_bits(from) : lane_bits(from);
  }
  constexpr int result_bits() const { return lanes * lane_bits(to); }

  /// Bits from lane to lane: two e2m1 share a byte; e2m3 and e3m2 take the low 6 bits of one each.
  static constexpr int lane_bits(const Format& f) { return f.bits() <= 4 ? 4 : f.storage_bits(); }
};

/// d, a, b or d, {a, b, e, f}: as PTX writes them, so the first goes to the uppermost lane.
using CvtOperands = std::array<std::uint64_t, 4>;

/// The operand of a lane; lane 0 is lowest.
constexpr std::uint64_t lane_operand(const PtxCvt& cvt, const CvtOperands& operands, int lane) {
  const int width = PtxCvt::lane_bits(cvt.from);
  const std::uint64_t bits = cvt.packed_source
                                 ? operands[0] >> (lane * width)
                                 : operands[static_cast<std::size_t>(cvt.lanes - 1 - lane)];
  return bits & (~std::uint64_t{0} >> (64 - width));
}

constexpr std::uint32_t reversed_16(std::uint32_t x) {
  std::uint32_t out = 0;
  for (int i = 0; i < 16; ++i) out |= (x >> i & 1) << (15 - i);
  return out;
}

/// The word whose low Attributes::random_bits bits a lane draws.
constexpr std::uint32_t random_of(const PtxCvt& cvt, std::uint32_t rbits, int lane) {
  const bool upper = 2 * lane >= cvt.lanes;
  std::uint32_t half = upper ? rbits >> 16 : rbits & 0xFFFF;
  if (cvt.random == RandomLayout::halves) return half;
  if (cvt.random == RandomLayout::shared_bytes) {
    const std::uint32_t bytes = upper ? rbits >> 8 : rbits;
    half = (bytes >> 8 & 0xFF00) | (bytes & 0xFF);
  }
  return (lane & 1) != 0 ? reversed_16(half) : half;
}

/// A NaN by the rules that are not Attributes::nan.
constexpr std::uint64_t nan_result(const PtxCvt& cvt, std::uint64_t nan) {
  if (cvt.nan_operand == NanOperand::kept) {
    return nan << (cvt.to.storage_bits() - cvt.from.storage_bits());
  }
  if (cvt.nan_operand == NanOperand::canonical_first) {
    const std::uint64_t canonical = nan_bits(cvt.from, NanResult::nvidia);
    return convert(canonical, cvt.from, cvt.to, {.nan = NanResult::propagate}).bits;
  }
  const std::uint64_t ulp = std::uint64_t{1} << cvt.to.padding_bits;
  const std::uint64_t cut = nan & ~(ulp - 1);
  return cvt.attributes.saturation == Saturation::finite ? cut - ulp : cut;
}

constexpr std::uint64_t compute_lane(const PtxCvt& cvt, std::uint64_t bits, std::uint32_t random) {
  const Exact x = decode_operand(bits, cvt.from, cvt.attributes);
  if (x.kind == Kind::nan && cvt.nan_operand != NanOperand::canonical) return nan_result(cvt, bits);
  return project(clamped(x, cvt.clamp), cvt.to, cvt.attributes, random).bits;
}

/// The result, all lanes. `rbits` counts only for .rs.
constexpr std::uint64_t compute(const PtxCvt& cvt, const CvtOperands& operands,
                                std::uint32_t rbits = 0) {
  std::uint64_t out = 0;
  for (int lane = 0; lane < cvt.lanes; ++lane) {
    const std::uint64_t bits = lane_operand(cvt, operands, lane);
    out |= compute_lane(cvt, bits, random_of(cvt, rbits, lane))
           << (lane * PtxCvt::lane_bits(cvt.to));
  }
  return out;
}

}  // namespace binade

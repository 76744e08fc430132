// SPDX-License-Identifier: Apache-2.0
//
// What one PTX `cvt` between floating-point types does to the bits of its operands: which operand
// goes to which lane, how a lane is clamped and rounded, what a NaN becomes, and which random bits
// a lane draws. The table of instructions is cvt_table.h. The sources are the PTX ISA 9.0 (cvt),
// NVIDIA's host headers, and, where PTX is silent or the two differ, the machine code that ptxas
// 13.0 writes.
//
//     cvt.rn.satfinite.e4m3x2.f32 d, a, b             a = 1.5, b = -2: d = 3CC0
//         lane          1           0
//         bits        15..8       7..0
//                   [ 00111100 ][ 11000000 ]          a is 3C, b is C0
//
//     cvt.rs.satfinite.e2m1x4.f32 d, {a, b, e, f}, rbits
//         lane          3         2        1        0
//         bits       15..12     11..8     7..4     3..0
//                   [   a    ][   b    ][   e    ][   f    ]
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "emulate/ptx_scalar.h"

namespace binade {

/// What an instruction returns for a NaN operand.
enum class NanOperand : std::uint8_t {
  canonical,  ///< the result is Attributes::nan
  /// The rule of cvt.rna.tf32, which is not a machine instruction: ptxas 13.0 expands it, for
  /// sm_80, sm_90a and sm_100a alike, into integer steps. Unless the operand is Inf or NaN, 0x1000
  /// is added; the low 13 bits are cleared; with .satfinite, 0x2000 is subtracted from what is then
  /// Inf or NaN. So a NaN keeps its sign and its upper payload, a NaN whose payload lies only in
  /// the low 13 bits becomes Inf, and .satfinite lowers the code of a NaN by one ulp of tf32:
  ///
  ///     f32 NaN    7F812345   0 11111111 0000001001 0001101000101
  ///     .rna       7F812000   0 11111111 0000001001 0000000000000
  ///     .satfinite 7F810000   0 11111111 0000001000 0000000000000
  ///
  /// This was read from the machine code (cuda/README.md says how); PTX promises no more than
  /// "NaN".
  cut_like_a_number,
  /// All bits of the operand stay, also those of a signaling NaN: between equal types ptxas writes
  /// a move, for f32.bf16 a shift by 16. NVIDIA's header shifts as well; PTX promises "unspecified
  /// NaN".
  kept,
  canonical_first,  ///< made canonical in the operand's format, then converted: cvt.ftz.f64.f32
};

/// Which bits of the operand `rbits` a lane draws for stochastic rounding (.rs). PTX rounds up by
/// "the carry out of the integer addition of the random bits and the discarded bits", aligned at
/// the top of the discarded bits. The layouts are not proven on hardware here: only sm_100a and
/// sm_103a have .rs.
///
///     rbits = 12345678   [31 .. 24][23 .. 16][15 .. 8][7 .. 0]
///     halves              `------ a ------'   `----- b -----'    a: 1234, b: 5678
///     shared_halves       `----- a, b ----'   `---- e, f ---'    b: 1234, f: 5678
///     shared_bytes        `- a, b   `- e, f   `- a, b  `- e, f   b: 1256, f: 3478
///
/// Where lanes share, a and e draw the 16 bits in reversed order: a draws 2C48 under shared_halves.
enum class RandomLayout : std::uint8_t {
  none,
  halves,  ///< lane i draws half i of rbits, for f16 its low 13 bits; the PTX ISA states it so
  /// a and b share the upper half, e and f the lower one, as the PTX ISA says. How two lanes share
  /// a half, PTX shows only in a figure. Here b and f draw the half as it is, a and e its 16 bits
  /// reversed. A public measurement on sm_100a reports this, and one on sm_103a reports it for the
  /// upper 8 bits (rounding.py of quack); the authors of the latter found on sm_100a a plain byte
  /// for each lane instead.
  shared_halves,
  shared_bytes,  ///< as shared_halves, but a and b share the upper bytes of both halves, e and f
                 ///< the lower bytes
};

/// The evidence that the bits of an instruction's results are right.
enum class CvtEvidence : std::uint8_t {
  /// An H100 and an H200 gave the same bits in every case: for all operands if there are at most
  /// 2^32, else for 10^9 (tests/recordings/sm_90/scalar). A row of cvt_table.h has the evidence for
  /// targets that were not recorded.
  hardware,
  host_headers,  ///< NVIDIA's headers compute it on the host; tests/outside compares all bits
  documented,    ///< the text of the PTX ISA, which promises no bits for NaNs of f32
  machine_code,  ///< ptxas 13.0 writes simpler instructions whose effect is known
  open,          ///< unsettled: -0 under .relu or .sat, or the order of random bits, is a guess
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

/// One instruction, as a value that can be passed to a kernel.
struct PtxCvt {
  Format from{}, to{};         ///< of a lane of the operands and of the result
  int lanes = 1;               ///< results that are packed in d: 1, 2 or 4
  bool packed_source = false;  ///< one operand holds all lanes, else there is an operand per lane
  Clamp clamp = Clamp::none;   ///< .sat and .relu
  NanOperand nan_operand = NanOperand::canonical;
  RandomLayout random = RandomLayout::none;  ///< none unless the rounding is .rs
  Attributes attributes{.nan = NanResult::nvidia};
  SmTarget target{};  ///< the lowest target that has the instruction
  CvtEvidence evidence = CvtEvidence::open;

  /// Returns the number of operands before `rbits`.
  constexpr int operand_count() const { return packed_source ? 1 : lanes; }
  /// Returns the width of one operand in bits.
  constexpr int operand_bits() const {
    return packed_source ? lanes * lane_bits(from) : lane_bits(from);
  }
  constexpr int result_bits() const { return lanes * lane_bits(to); }

  /// Returns the distance from lane to lane in bits: two e2m1 share a byte; an e2m3 or e3m2 takes
  /// the low 6 bits of a byte of its own.
  static constexpr int lane_bits(const Format& f) { return f.bits() <= 4 ? 4 : f.storage_bits(); }
};

/// The operands a, b or {a, b, e, f} in the order in which PTX writes them: the first one goes to
/// the uppermost lane. A packed source is operand 0.
using CvtOperands = std::array<std::uint64_t, 4>;

/// Returns the encoding that a lane converts, in the low bits. Lane 0 is in the lowest bits of the
/// result.
constexpr std::uint64_t lane_operand(const PtxCvt& cvt, const CvtOperands& operands, int lane) {
  const int width = PtxCvt::lane_bits(cvt.from);
  const std::uint64_t bits = cvt.packed_source
                                 ? operands[0] >> (lane * width)
                                 : operands[static_cast<std::size_t>(cvt.lanes - 1 - lane)];
  return bits & (~std::uint64_t{0} >> (64 - width));
}

/// Returns the low 16 bits in reversed order.
constexpr std::uint32_t reversed_16(std::uint32_t x) {
  std::uint32_t out = 0;
  for (int i = 0; i < 16; ++i) out |= (x >> i & 1) << (15 - i);
  return out;
}

/// Returns a word whose low Attributes::random_bits bits are the random bits of a lane.
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

/// Returns the encoding that a NaN operand becomes under a rule other than NanOperand::canonical.
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

/// Returns the encoding that one lane's operand becomes: decoded, clamped, rounded.
constexpr std::uint64_t compute_lane(const PtxCvt& cvt, std::uint64_t bits, std::uint32_t random) {
  const Exact x = decode_operand(bits, cvt.from, cvt.attributes);
  if (x.kind == Kind::nan && cvt.nan_operand != NanOperand::canonical) return nan_result(cvt, bits);
  return project(clamped(x, cvt.clamp), cvt.to, cvt.attributes, random).bits;
}

/// Returns the result d with all its lanes, lane 0 in the lowest bits. `rbits` counts only for .rs.
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

// SPDX-License-Identifier: Apache-2.0
//
// Codes are made piece by piece and compared while they are in a cache; none is kept.
#include "lib/scales/scale_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "lib/number/encoding_text.h"
#include "lib/number/spread_places.h"
#include "lib/parallel/parallel.h"
#include "lib/range/quantize_stream.h"
#include "lib/scales/tensor_scales.h"

namespace binade {
namespace {

/// The numbers rounded to a narrower format and back.
std::vector<float> narrowed_numbers(std::span<const float> x, const Format& to,
                                    Rounding rounding = Rounding::ties_to_even) {
  std::vector<float> out(x.size());
  quantize_elements({.format = to, .attributes = {.rounding = rounding}}, binary32, ResultKind::f32,
                    std::as_bytes(x), 0, std::as_writable_bytes(std::span(out)));
  return out;
}

/// Rows in other places; those so many behind them in their matrix, the last ones first.
std::vector<float> moved_rows(std::span<const float> x, const BlockView& view,
                              const RowsMoved& rows) {
  const auto lines = static_cast<std::int64_t>(view.lines);
  std::vector<float> out(x.size());
  for (std::size_t line = 0; line < view.matrices * view.lines; ++line) {
    const auto in_matrix = static_cast<std::int64_t>(line % view.lines);
    const std::int64_t from = ((in_matrix - rows.by) % lines + lines) % lines;
    const std::size_t at = rows.from != nullptr
                               ? (*rows.from)[line]
                               : line - line % view.lines + static_cast<std::size_t>(from);
    const auto row = x.subspan(at * view.length, view.length);
    float* const to = &out[line * view.length];
    for (std::size_t i = 0; i < view.length; ++i) {
      to[i] = row[rows.columns != nullptr ? (*rows.columns)[i] : i];
    }
  }
  return out;
}

/// Marks of blocks are set by threads at the same time.
void mark_block(std::vector<std::uint8_t>& marks, std::size_t block) {
  std::atomic_ref<std::uint8_t>(marks[block]).store(1, std::memory_order_relaxed);
}

/// One line of a piece, of codes of one type: adds what is equal and the first that is not, and
/// calls differs(i) for each that is not where that is wanted.
template <class Code>
void compare_line(const std::byte* made, const std::byte* stored, std::size_t n, std::uint64_t at,
                  ScaleAgreement& out, bool wanted, const auto& differs) {
  const auto code = [](const std::byte* from, std::size_t i) {
    Code x;
    std::memcpy(&x, from + i * sizeof(Code), sizeof x);
    return x;
  };
  std::uint32_t equal = 0;
  for (std::size_t i = 0; i < n; ++i) equal += code(made, i) == code(stored, i) ? 1 : 0;
  out.of += n;
  out.equal += equal;
  if (equal == n) return;
  const bool is_earlier = !out.first || at < *out.first;
  for (std::size_t i = 0; (is_earlier || wanted) && i < n; ++i) {
    if (code(made, i) == code(stored, i)) continue;
    if (!out.first || at + i < *out.first) out.first = at + i;
    if (!wanted) break;
    differs(i);
  }
}

/// What elements of a line of a piece are rounded from, rounded to a format between.
std::vector<float> rounded_quotients(const BlockQuantizer& to, std::span<const float> x,
                                     std::size_t width, const BlockPiece& piece,
                                     std::span<const std::uint32_t> factors,
                                     const Format& between) {
  std::vector<float> out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t block = piece.block + (piece.begin + i) / width - piece.begin / width;
    const float factor = number_of_bits(factors[block]);
    out[i] = divides(to.rule) ? x[i] / factor : x[i] * factor;
  }
  return narrowed_numbers(out, between);
}

}  // namespace

ReadingWork::ReadingWork(const Quantized& given, const ScaleReading& reading, NumbersTaken taken,
                         const RowsMoved& rows)
    : given_(&given),
      reading_(&reading),
      input_(taken == NumbersTaken::as_given || taken == NumbersTaken::positive
                 ? *find_format(given.dtype.format)
             : taken == NumbersTaken::as_binary16 ? binary16
                                                  : bfloat16),
      x_(given.x),
      pieces_(block_pieces(reading.view)) {
  if (taken == NumbersTaken::positive) {
    turned_.assign(x_.begin(), x_.end());
    for (float& one : turned_) one = one <= 0 ? 0 : one;
    x_ = turned_;
  } else if (taken != NumbersTaken::as_given) {
    turned_ = narrowed_numbers(
        x_, input_,
        taken == NumbersTaken::cut_to_bfloat16 ? Rounding::toward_zero : Rounding::ties_to_even);
    x_ = turned_;
  }
  if (reading.transposed) {
    turned_ = transposed_numbers(x_, given.shape);
    x_ = turned_;
  }
  if (!rows.is_plain()) {
    turned_ = moved_rows(x_, reading.view, rows);
    x_ = turned_;
  }
}

std::vector<NumbersTaken> ways_of_numbers(std::span<const float> x) {
  std::vector<NumbersTaken> out{NumbersTaken::as_given, NumbersTaken::as_bfloat16,
                                NumbersTaken::as_binary16, NumbersTaken::cut_to_bfloat16};
  if (std::ranges::any_of(x, [](float one) { return one < 0; })) {
    out.push_back(NumbersTaken::positive);
  }
  return out;
}

const std::vector<std::uint32_t>& ReadingWork::amaxes(const ScaleRule& rule) const {
  std::vector<std::uint32_t>& out = amaxes_[rule.nan_is_amax ? 1 : 0];
  if (out.empty()) out = amaxes_of_blocks(rule, reading_->view, x_);
  return out;
}

std::uint32_t ReadingWork::amax(const ScaleRule& rule) const {
  std::uint32_t out = 0;
  for (const std::uint32_t one : amaxes(rule)) out = next_amax(rule, out, one);
  return out;
}

BlockQuantizer ReadingWork::quantizer(const ScaleRule& rule, const TensorScale& tensor) const {
  BlockQuantizer out{.format = format(), .rule = rule};
  out.tensor = tensor;
  return out;
}

BlockScales ReadingWork::scales(const ScaleRule& rule, const TensorScale& tensor) const {
  ScaleCounts counts;
  return scales_of_blocks(quantizer(rule, tensor), reading_->view, x_, amaxes(rule), counts);
}

std::uint32_t held_scale(std::uint32_t scale, const std::optional<Format>& held) {
  if (!held) return scale;
  const std::uint64_t narrow = convert(scale, binary32, *held).bits;
  return static_cast<std::uint32_t>(convert(narrow, *held, binary32).bits);
}

std::vector<std::size_t> sampled_blocks(std::size_t blocks) { return spread_places(blocks, 256); }

ScaleAgreement sampled_scales(const ReadingWork& work, const ScaleRule& rule,
                              const TensorScale& tensor, std::span<const StoredScales> stored) {
  const std::vector<std::uint32_t>& amaxes = work.amaxes(rule);
  const std::vector<std::size_t> sample = sampled_blocks(amaxes.size());
  const BlockQuantizer to = work.quantizer(rule, tensor);
  std::vector<std::uint64_t> equal(stored.size());
  for (const std::size_t block : sample) {
    std::uint32_t code = 0, factor = 0;
    ScaleCounts counts;
    make_scales(fastest_kernels(), to, work.reading().view, work.x().data(), &amaxes[block], block,
                1, &code, &factor, counts);
    for (std::size_t order = 0; order < stored.size(); ++order) {
      const StoredScales& its = stored[order];
      equal[order] += held_scale(code, its.held) == its.codes[block] || its.is_free(block) ? 1 : 0;
    }
  }
  return {.equal = equal.empty() ? 0 : *std::ranges::max_element(equal), .of = sample.size()};
}

ScaleAgreement scales_agree(const Format& scale, std::span<const std::uint32_t> expected,
                            const StoredScales& stored) {
  using block_steps::is_nan;
  ScaleAgreement out{.of = expected.size()};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::uint32_t made = held_scale(expected[i], stored.held);
    if (made == stored.codes[i]) {
      ++out.equal;
      out.zeros += made == 0 ? 1 : 0;
      continue;
    }
    if (!out.first) out.first = i;
    out.nans += scale == binary32 && is_nan(made) && is_nan(stored.codes[i]) ? 1 : 0;
  }
  return out;
}

std::vector<std::uint32_t> factors_under(const ReadingWork& work, const BlockQuantizer& to,
                                         std::span<const std::uint32_t> scales) {
  using namespace block_steps;
  const std::vector<std::uint32_t>& amaxes = work.amaxes(to.rule);
  const Format& scale = to.format.scale;
  std::vector<std::uint32_t> out(scales.size());
  if (scale.bits() <= 8) {
    const std::uint32_t mask = (1U << scale.bits()) - 1;
    std::array<std::array<std::uint32_t, 2>, 256> table{};
    for (std::uint32_t code = 0; code <= mask; ++code) {
      for (const std::uint32_t amax : {0U, one}) {
        table[code][amax == 0 ? 0 : 1] = factor(to.rule, to.format, code, amax, amax, to.tensor);
      }
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = table[scales[i] & mask][amaxes[i] == 0 ? 0 : 1];
    }
    return out;
  }
  parallel_for(out.size(), 1024, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      const BlockScale made = block_scale(to.rule, to.format, amaxes[i], to.tensor);
      out[i] = made.code == scales[i] ? made.factor
               : to.rule.factor == Factor::encode
                   ? over(one, scales[i])
                   : factor(to.rule, to.format, scales[i], one, amaxes[i], to.tensor);
    }
  });
  return out;
}

ScaleAgreement codes_agree(const ReadingWork& work, const BlockQuantizer& to,
                           std::span<const std::uint32_t> factors,
                           std::span<const std::byte> stored, const CodeReading& how,
                           const CodesCompared& compared) {
  const BlockPieces& pieces = work.pieces();
  const std::size_t bytes = code_bytes(to.format.element);
  const int bits = to.format.element.bits();
  std::array<std::byte, 256> table{};
  const bool flushes = compared.subnormals != Subnormals::kept;
  const bool is_mapped = (how.stored_as != nullptr || flushes) && bits <= 8;
  for (std::uint32_t code = 0; is_mapped && code < 256; ++code) {
    const std::uint32_t mask = (1U << bits) - 1, sign = 1U << (bits - 1), made = code & mask;
    const bool is_subnormal = (made & (sign - 1)) >> to.format.element.fraction_bits() == 0;
    const bool is_flushed =
        flushes && (compared.subnormals == Subnormals::kept_beside_zero ? (made & (sign - 1)) == 0
                                                                        : is_subnormal);
    const std::uint32_t kept = !is_flushed                                      ? made
                               : compared.subnormals == Subnormals::signed_zero ? made & sign
                                                                                : 0;
    table[code] =
        static_cast<std::byte>(how.stored_as == nullptr ? kept : how.stored_as(kept, bits));
  }
  const bool has_nan = bits == 8 && to.format.element.has_nan();
  std::array<bool, 256> nan{};
  for (std::uint32_t code = 0; has_nan && code < 256; ++code) {
    nan[code] = decode(code, to.format.element).kind == Kind::nan;
  }
  std::vector<ScaleAgreement> each(thread_count());
  std::vector<std::vector<std::byte>> made(thread_count()), below(thread_count());
  BlockQuantizer up = to, down = to;
  if (compared.away) {
    up.attributes.rounding = Rounding::toward_positive;
    down.attributes.rounding = Rounding::toward_negative;
  }
  std::atomic<bool> ended = false;
  const Kernels& kernels = fastest_kernels();
  const auto compare = [&](const BlockPiece& piece, std::size_t slot) {
    const std::size_t n = piece.end - piece.begin, width = pieces.view.length_of_block;
    made[slot].resize(n * bytes);
    EventCounts counts;
    std::vector<float> quotients;
    const std::vector<std::uint32_t> ones(compared.between ? piece.blocks : 0, block_steps::one);
    for (std::size_t line = 0; line < piece.lines; ++line) {
      const std::size_t at = (piece.first_line + line) * pieces.view.length + piece.begin;
      const float* numbers = work.x().data() + at;
      if (compared.between) {
        quotients = rounded_quotients(to, {numbers, n}, width, piece, factors, *compared.between);
        numbers = quotients.data();
      }
      const auto make = [&](const BlockQuantizer& by, std::byte* out) {
        kernels.block_codes(by, numbers, n, width,
                            compared.between ? ones.data() : &factors[piece.block], at, {}, out,
                            counts);
      };
      make(up, made[slot].data());
      if (compared.away) {
        below[slot].resize(n * bytes);
        make(down, below[slot].data());
        for (std::size_t i = 0; i < n; ++i) {
          if (std::signbit(numbers[i])) {
            std::memcpy(&made[slot][i * bytes], &below[slot][i * bytes], bytes);
          }
        }
      }
      if (is_mapped && bytes == 1) {
        for (std::byte& code : made[slot]) code = table[std::to_integer<std::size_t>(code)];
      }
      const std::byte* const here = stored.data() + at * bytes;
      const auto differs = [&](std::size_t i) {
        if (has_nan) {
          const auto code = [](std::byte b) { return std::to_integer<std::size_t>(b); };
          const bool are_nans = nan[code(made[slot][i])] && nan[code(here[i])];
          each[slot].nans += are_nans ? 1 : 0;
          if (are_nans && compared.any_nan) return;
        }
        if (compared.elements != nullptr) (*compared.elements)[at + i] |= compared.bit;
        if (compared.differing == nullptr) return;
        mark_block(*compared.differing,
                   piece.block + (piece.begin + i) / width - piece.begin / width);
      };
      const bool wanted = compared.elements != nullptr || compared.differing != nullptr ||
                          (compared.any_nan && has_nan);
      if (bytes == 1) {
        compare_line<std::uint8_t>(made[slot].data(), here, n, at, each[slot], wanted, differs);
      } else {
        compare_line<std::uint16_t>(made[slot].data(), here, n, at, each[slot], wanted, differs);
      }
    }
    if (compared.to_the_first && each[slot].first) ended = true;
  };
  const std::size_t count = compared.pieces.empty() ? pieces.count : compared.pieces.size();
  parallel_for(count, 1, [&](std::size_t begin, std::size_t end, std::size_t slot) {
    for (std::size_t i = begin; i < end && !ended; ++i) {
      const BlockPiece piece = piece_of(pieces, compared.pieces.empty() ? i : compared.pieces[i]);
      if (piece.lines > 0) compare(piece, slot);
    }
  });
  ScaleAgreement out;
  for (const ScaleAgreement& some : each) {
    out.equal += some.equal;
    out.of += some.of;
    out.nans += some.nans;
    if (some.first && (!out.first || *some.first < *out.first)) out.first = some.first;
  }
  if (compared.any_nan) out.equal += std::exchange(out.nans, 0);
  return out;
}

std::uint64_t zeros_of_pieces(const ReadingWork& work, std::span<const std::size_t> chosen) {
  std::uint64_t out = 0;
  for (const std::size_t number : chosen) {
    const BlockPiece piece = piece_of(work.pieces(), number);
    for (std::size_t line = 0; line < piece.lines; ++line) {
      const std::size_t at = (piece.first_line + line) * work.pieces().view.length;
      const auto some = work.x().subspan(at + piece.begin, piece.end - piece.begin);
      out += static_cast<std::uint64_t>(std::ranges::count(some, 0.0F));
    }
  }
  return out;
}

ReadingEvidence evidence_of_codes(const ReadingWork& work) {
  const ScaleReading& reading = work.reading();
  const auto fits_here = [&](const NamedScaleRule& row) { return fits(row, work.format()); };
  const auto rule = std::ranges::find_if(scale_rules, fits_here);
  ReadingEvidence out;
  if (rule == scale_rules.end()) return out;
  const std::vector<std::size_t> pieces = spread_places(work.pieces().count, 3);
  const std::uint64_t zeros = zeros_of_pieces(work, pieces);  // which are zeros under any scale
  const auto choices = tensor_scale_choices(work, *rule, true);
  for (const CodeReading& how :
       code_readings.first(codes_are_packed(work.given(), reading) ? 2 : 1)) {
    const std::vector<std::byte> codes = stored_codes(work.given(), reading, how.order);
    const auto share = [&](const BlockQuantizer& to, std::span<const std::uint32_t> factors) {
      ScaleAgreement all = codes_agree(work, to, factors, codes, how, {.pieces = pieces});
      all.zeros = std::min(all.equal, zeros);
      return all.speaks();
    };
    for (std::size_t order = 0; order < reading.orders.size(); ++order) {
      const StoredScales scales = stored_scales(work.given(), reading, reading.orders[order]);
      for (const TensorScaleChoice& tensor : choices) {
        const BlockQuantizer to = work.quantizer(work.steps(*rule), tensor.scale);
        const double found = share(to, factors_under(work, to, scales.codes)) * scales.weight();
        if (found <= std::max(out.under_stored, chance_of_codes)) continue;
        out.under_stored = found;
        out.order = order;
      }
    }
    std::vector<std::vector<std::uint32_t>> seen;
    for (const NamedScaleRule& row : scale_rules) {
      if (!fits_here(row) || row.rule.four_or_six != FourOrSix::six) continue;
      const TensorScale tensor = tensor_scale_choices(work, row, false)[0].scale;
      BlockScales made = work.scales(work.steps(row), tensor);
      if (std::ranges::find(seen, made.factors) != seen.end()) continue;
      const double found = share(work.quantizer(work.steps(row), tensor), made.factors);
      if (found > std::max(out.codes, chance_of_codes)) out.codes = found;
      seen.push_back(std::move(made.factors));
    }
  }
  out.codes = std::max(out.codes, out.under_stored);
  return out;
}

std::uint64_t block_of_element(const BlockView& view, std::uint64_t element) {
  const std::uint64_t line = element / view.length, column = element % view.length;
  const std::uint64_t matrix = line / view.lines, in_matrix = line % view.lines;
  const std::uint64_t row = matrix * view.block_lines() + in_matrix / view.lines_of_block;
  return row * view.blocks_of_line() + column / view.length_of_block;
}

std::uint32_t made_code(const BlockQuantizer& to, std::uint32_t factor, float x,
                        const CodeReading& how) {
  const BlockScale scale{.factor = factor, .divides = divides(to.rule)};
  const Projected made =
      block_element(to.rule, to.format, scale, std::bit_cast<std::uint32_t>(x), to.attributes);
  const auto code = static_cast<std::uint32_t>(made.bits);
  return how.stored_as == nullptr ? code : how.stored_as(code, to.format.element.bits());
}

std::vector<Rounding> roundings_tried() {
  std::vector<Rounding> out;
  for (const NamedRounding& row : roundings) {
    if (row.rounding != Rounding::stochastic) out.push_back(row.rounding);
  }
  return out;
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Judges of the kernels of blocks: every rule for every block format that it fits, formats of users
// beside them; amaxes and numbers where a step of some rule leaves the normal range, is a tie, or
// is no number.
#include <cmath>
#include <numeric>

#include "emulate/scale_rules.h"
#include "tests/kernels/array_cases.h"

namespace binade::kernel_test {
namespace {

/// A rule for a format, in words.
struct RuleCase {
  std::string name;
  BlockQuantizer to;
};

const std::vector<RuleCase>& rule_cases() {
  static const std::vector<RuleCase> all = [] {
    std::vector<std::pair<std::string, BlockFormat>> tried;
    for (const NamedBlockFormat& row : block_formats) tried.emplace_back(row.name, row.format);
    const auto by_user = [&](const Format& element, const Format& scale, bool tensor) {
      tried.emplace_back(words_of(element) + " under " + words_of(scale),
                         BlockFormat{element, {1, 32}, scale, tensor});
    };
    by_user(binary16, e8m0, false);
    by_user(e4m3fnuz, e8m0, false);
    by_user(binary32, e8m0, false);  // that the loops do not know
    by_user(e2m1, binary32, true);
    by_user(e4m3, ue4m3, true);
    std::vector<RuleCase> out;
    for (const auto& [name, format] : tried) {
      for (const NamedScaleRule& row : scale_rules) {
        if (!fits(row, format) || row.rule.four_or_six != FourOrSix::six) continue;
        const std::string words = name + " by " + std::string(row.name);
        out.push_back({words, {format, row.rule}});
        for (const Format& input : {bfloat16, binary16}) {
          if (!row.steps_of_input) continue;
          out.push_back({words + " in " + words_of(input), {format, rule_for(row, input)}});
        }
      }
    }
    // Limits that no row has.
    const BlockFormat mx = *find_block_format("mxfp4"), nv = *find_block_format("nvfp4");
    out.push_back(
        {"codes 100 to 150", {mx, {.zero_code = 120, .first_code = 100, .last_code = 150}}});
    ScaleRule narrow = find_scale_rule("te", nv)->rule;
    narrow.first_code = 8;
    narrow.last_code = 0x70;
    narrow.inf_code = 0x7F;
    out.push_back({"nvfp4, codes 8 to 112", {nv, narrow}});
    narrow.factor_rounding = FactorRounding::to_power;
    out.push_back({"nvfp4, factors to powers", {nv, narrow}});
    return out;
  }();
  return all;
}

/// Amaxes: powers of two and the numbers beside them, times the largest numbers of formats, half an
/// ulp of theirs beside; zero, subnormal numbers and those above them, infinity, NaN, and random
/// ones.
std::vector<std::uint32_t> hard_amaxes(std::size_t n, Random& random) {
  constexpr std::array<float, 8> factors{1, 1.5F, 1.75F, 6, 7.5F, 448, 57344, 2688};
  std::vector<std::uint32_t> out(n);
  for (std::uint32_t& amax : out) {
    switch (random() % 8) {
      case 0:
        amax = random() % 4 != 0 ? 0 : random() % 2 == 0 ? block_steps::infinity : block_steps::nan;
        break;
      case 1:  // a fourth not far below 6 · 2^-126, of which a sixth is subnormal
        amax =
            static_cast<std::uint32_t>(random() % 4 == 0 ? 0x01C00000 - random() % 0x100000
                                                         : (random() & 0x3FFFFFF) >> random() % 26);
        break;
      case 2: amax = static_cast<std::uint32_t>(random() % block_steps::infinity); break;
      case 3: amax = block_steps::infinity - 1 - static_cast<std::uint32_t>(random() % 3); break;
      default: {
        const int e = static_cast<int>(random() % (random() % 4 == 0 ? 277 : 24)) - 12;
        const float x = std::ldexp(factors[random() % factors.size()], e > 130 ? 118 - e : e);
        amax = std::bit_cast<std::uint32_t>(std::min(x, 0x1.fffffep127F));
        amax += static_cast<std::uint32_t>(random() % 5) - (amax > 2 ? 2U : 0U);
      }
    }
    amax = std::min(amax, block_steps::nan);
  }
  return out;
}

/// The quantizer of the i-th case: other roundings, seeds and scales of the tensor in turn.
BlockQuantizer block_quantizer_of(const RuleCase& one, std::uint64_t i, Random& random) {
  BlockQuantizer out = one.to;
  constexpr std::array roundings{Rounding::ties_to_even, Rounding::ties_to_even,
                                 Rounding::stochastic,   Rounding::toward_zero,
                                 Rounding::ties_to_away, Rounding::toward_positive,
                                 Rounding::to_odd};
  constexpr std::array<int, 3> random_bits{32, 8, 16};
  out.attributes.rounding = roundings[i % roundings.size()];
  out.attributes.random_bits = random_bits[i % 3];
  out.seed = i * 0x9E3779B97F4A7C15;
  out.stream = starts[i % starts.size()];
  const std::uint32_t amax = hard_amaxes(1, random)[0];
  // Under 2^-116 of the tensor 1/S is subnormal, under 1.75 · 2^-114 its products with scales are.
  constexpr std::array<std::uint32_t, 4> given{0x05800000, 0x06E00000, 0x40A00000, 0x40A00000};
  const std::uint32_t other = given[random() % given.size()] + amax % 64;
  out.tensor = tensor_scale(out.rule, out.format, i % 4 == 0 ? amax : other);
  return out;
}

void begin(Verdict& verdict, const RuleCase& one, const std::string& what) {
  verdict.begin(one.name, what);
}

constexpr std::array<std::size_t, 12> widths{1, 2, 3, 15, 16, 17, 31, 32, 48, 128, 129, 4999};
constexpr std::array<std::size_t, 6> block_lengths{0, 1, 31, 129, 1003, 9001};

/// Numbers of blocks of very different sizes; in some cases NaNs, infinities and zeros.
std::vector<float> block_numbers(std::size_t n, std::size_t width, std::uint64_t number,
                                 Random& random) {
  std::vector<float> out(n);
  int e = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (i % width == 0) e = static_cast<int>(random() % (number % 3 == 0 ? 250 : 20)) - 10;
    const auto fraction = static_cast<float>(random() % 4096) / 1024.0F;
    out[i] = std::ldexp(fraction, e > 125 ? 120 - e : e) * (random() % 2 == 0 ? 1.0F : -1.0F);
    const std::uint64_t hostile = number % 4 == 0 ? random() % 256 : 256;
    if (hostile == 0) out[i] = std::bit_cast<float>(0xFF812345);
    if (hostile == 1) out[i] = -std::numeric_limits<float>::infinity();
    if (hostile == 2) out[i] = std::numeric_limits<float>::infinity();
    if (hostile == 3) out[i] = std::bit_cast<float>(0x7FC00001);
    if (hostile == 4) out[i] = std::numeric_limits<float>::denorm_min();
    if (hostile > 4 && hostile < 20) out[i] = -0.0F;
  }
  return out;
}

Verdict judge_block_amaxes(const Kernels& kernels) {
  Verdict verdict;
  Random random(31);
  std::uint64_t number = 0;
  for (const bool nan_is_amax : {true, false}) {
    const ScaleRule rule{.nan_is_amax = nan_is_amax};
    for (const std::size_t width : widths) {
      for (const std::size_t n : block_lengths) {
        for (int i = 0; i < 4; ++i) {
          const std::vector<float> in = block_numbers(n, width, ++number, random);
          const std::size_t blocks = (n + width - 1) / width;
          verdict.begin(nan_is_amax ? "NaNs are amaxes" : "NaNs are passed over",
                        "width " + std::to_string(width) + ", n " + std::to_string(n));
          std::vector<std::uint32_t> want(blocks);
          if (i % 2 == 1) want = hard_amaxes(blocks, random);  // another line's
          Walled<float> from(in, number % 4);
          Walled<std::uint32_t> out(std::span<const std::uint32_t>(want), number / 4 % 4);
          block_amaxes(rule, in.data(), n, width, want.data());
          kernels.block_amaxes(rule, from.data(), n, width, out.data());
          verdict.compare<std::uint32_t>(out.span(), want);
          verdict.require(out.is_whole(), "wrote outside the array");
        }
      }
    }
  }
  return verdict;
}

void compare_counts(Verdict& verdict, const ScaleCounts& got, const ScaleCounts& want) {
  const auto words = [](const ScaleCounts& x) {
    return std::bit_cast<std::array<std::uint64_t, sizeof(ScaleCounts) / 8>>(x);
  };
  verdict.compare<std::uint64_t>(words(got), words(want));
}

Verdict judge_block_scales(const Kernels& kernels) {
  Verdict verdict;
  Random random(32);
  std::uint64_t number = 0;
  for (const RuleCase& one : rule_cases()) {
    for (int i = 0; i < 10; ++i) {
      const BlockQuantizer to = block_quantizer_of(one, ++number, random);
      const std::size_t n = lengths[number % lengths.size()];
      const std::vector<std::uint32_t> amaxes = hard_amaxes(n, random);
      begin(verdict, one, "n " + std::to_string(n));
      std::vector<std::uint32_t> codes(n), factors(n);
      ScaleCounts want, got;
      block_scales(to, amaxes.data(), n, codes.data(), factors.data(), want);
      Walled<std::uint32_t> from(std::span<const std::uint32_t>(amaxes), number % 4);
      Walled<std::uint32_t> out(n, number / 4 % 4), by(n, number % 3);
      kernels.block_scales(to, from.data(), n, out.data(), by.data(), got);
      verdict.compare<std::uint32_t>(out.span(), codes);
      verdict.compare<std::uint32_t>(by.span(), factors);
      compare_counts(verdict, got, want);
      verdict.require(out.is_whole() && by.is_whole(), "wrote outside the array");
    }
  }
  return verdict;
}

/// Numbers with the scales that their blocks have.
struct ScaledBlocks {
  BlockQuantizer to;
  std::size_t width = 1;
  std::vector<float> in;
  std::vector<std::uint32_t> codes, factors;
};

ScaledBlocks blocks_of(const RuleCase& one, std::uint64_t number, std::size_t n, Random& random) {
  ScaledBlocks out;
  out.to = block_quantizer_of(one, number, random);
  out.width = widths[number % widths.size()];
  out.in = block_numbers(n, out.width, number, random);
  const std::size_t blocks = (n + out.width - 1) / out.width;
  std::vector<std::uint32_t> amaxes(blocks);
  block_amaxes(out.to.rule, out.in.data(), n, out.width, amaxes.data());
  out.codes.resize(blocks);
  out.factors.resize(blocks);
  ScaleCounts unused;
  block_scales(out.to, amaxes.data(), blocks, out.codes.data(), out.factors.data(), unused);
  return out;
}

/// Lines under the scales of ScaledBlocks, of which the first is its numbers.
struct ScaledLines {
  std::size_t n = 0;
  Access access;  ///< of `lines` and strides
  std::vector<float> in;

  ScaledLines(const ScaledBlocks& x, std::uint64_t number, Random& random) : n(x.in.size()) {
    access.lines = number % 5 == 1 ? 3 : 1;
    access.stride = n + number % 4;
    access.stride_out = n + number % 7;
    in.resize((access.lines - 1) * access.stride);
    in.insert(in.begin(), x.in.begin(), x.in.end());
    for (std::size_t line = 1; line < access.lines; ++line) {
      std::ranges::copy(block_numbers(n, x.width, number, random),
                        in.begin() + static_cast<std::ptrdiff_t>(line * access.stride));
    }
  }
  std::size_t size_out() const { return (access.lines - 1) * access.stride_out + n; }
  /// Calls run(number of the first operand, number of the first result) for each line.
  template <class Run>
  void each(const Run& run) const {
    for (std::size_t line = 0; line < access.lines; ++line) {
      run(line * access.stride, line * access.stride_out);
    }
  }
};

/// The code of a NaN or an infinity, where the format has one.
std::uint32_t nonfinite_scale(const Format& f) {
  return f == binary32 ? block_steps::infinity : f == e8m0 ? 0xFF : 0x7F;
}

Verdict judge_block_codes(const Kernels& kernels) {
  Verdict verdict;
  Random random(33);
  std::uint64_t number = 0;
  for (const RuleCase& one : rule_cases()) {
    for (int i = 0; i < 6; ++i) {
      ++number;
      const std::size_t n = i == 5 ? 5003 : lengths[number % lengths.size()];
      const ScaledBlocks x = blocks_of(one, number, n, random);
      const ScaledLines lines(x, number, random);
      const std::size_t bytes = code_bytes(x.to.format.element);
      const std::uint64_t first = starts[number * 5 % starts.size()];
      begin(verdict, one,
            "width " + std::to_string(x.width) + ", n " + std::to_string(n) + ", " +
                std::string(rounding_name(x.to.attributes.rounding)));
      std::vector<std::byte> want(lines.size_out() * bytes, std::byte{0xA5});
      EventCounts want_counts, counts;
      lines.each([&](std::size_t at, std::size_t to) {
        block_codes(x.to, lines.in.data() + at, n, x.width, x.factors.data(), first + at,
                    want.data() + to * bytes, want_counts);
      });
      Walled<float> from(lines.in, number % 4);
      Walled<std::byte> out(want.size(), number / 4 % 16);
      Access access = lines.access;
      access.streamed = number % 2 == 0;
      access.next = number % 3 == 0 ? from.data() : nullptr;
      kernels.block_codes(x.to, from.data(), n, x.width, x.factors.data(), first, access,
                          out.data(), counts);
      verdict.compare<std::byte>(out.span(), want);
      kernel_test::compare_counts(verdict, counts, want_counts);
      verdict.require(out.is_whole(), "wrote outside the array");
    }
  }
  return verdict;
}

Verdict judge_block_quantize(const Kernels& kernels) {
  Verdict verdict;
  Random random(36);
  std::uint64_t number = 0;
  for (const RuleCase& one : rule_cases()) {
    for (int i = 0; i < 6; ++i) {
      ++number;
      const std::size_t n = i == 5 ? 5003 : lengths[number % lengths.size()];
      ScaledBlocks x = blocks_of(one, number, n, random);
      if (number % 5 == 0) x.to.attributes.saturation = Saturation::none;
      if (number % 11 == 0) x.to.tensor.decode = block_steps::infinity;
      if (number % 7 == 0 && !x.codes.empty()) x.codes.back() = nonfinite_scale(x.to.format.scale);
      if (number % 3 == 0 && !x.codes.empty()) x.codes.front() = 0;
      const std::uint64_t first = starts[number * 5 % starts.size()];
      begin(verdict, one,
            "width " + std::to_string(x.width) + ", n " + std::to_string(n) + ", " +
                std::string(rounding_name(x.to.attributes.rounding)));
      ScaledLines lines(x, number, random);
      const bool in_place = number % 3 == 0;
      if (in_place) lines.access.stride_out = lines.access.stride;
      Walled<float> from(lines.in, number % 4), out(lines.size_out(), number / 4 % 17);
      float* const result = in_place ? from.data() : out.data();
      std::vector<float> want(result, result + lines.size_out());
      EventCounts want_counts, counts;
      lines.each([&](std::size_t at, std::size_t to) {
        block_quantize(x.to, lines.in.data() + at, n, x.width, x.factors.data(), x.codes.data(),
                       first + at, want.data() + to, want_counts);
      });
      lines.access.streamed = number % 2 == 0;
      kernels.block_quantize(x.to, from.data(), n, x.width, x.factors.data(), x.codes.data(), first,
                             lines.access, result, counts);
      verdict.compare<float>({result, lines.size_out()}, want);
      kernel_test::compare_counts(verdict, counts, want_counts);
      verdict.require(from.is_whole() && out.is_whole(), "wrote outside the array");
    }
  }
  return verdict;
}

template <std::floating_point T, Kernels::BlockValues<T> Kernels::*entry>
Verdict judge_block_values(const Kernels& kernels) {
  Verdict verdict;
  Random random(34);
  std::uint64_t number = 0;
  for (const RuleCase& one : rule_cases()) {
    for (int i = 0; i < 6; ++i) {
      ++number;
      const std::size_t n = i == 5 ? 5003 : lengths[number % lengths.size()];
      const BlockQuantizer to = block_quantizer_of(one, number, random);
      const std::size_t width = widths[number % widths.size()], blocks = (n + width - 1) / width;
      std::vector<std::byte> in(n * code_bytes(to.format.element));
      for (std::byte& byte : in) byte = static_cast<std::byte>(random());
      std::vector<std::uint32_t> scales(blocks);
      for (std::uint32_t& scale : scales) {  // hostile files have any bits
        scale = static_cast<std::uint32_t>(random() & (two_to(to.format.scale.bits()) - 1));
      }
      begin(verdict, one, "width " + std::to_string(width) + ", n " + std::to_string(n));
      std::vector<T> want(n);
      block_values(to.format, in.data(), n, width, scales.data(), to.tensor.decode, want.data());
      Walled<std::byte> from(std::span<const std::byte>(in), number % 8);
      Walled<T> out(n, number % 4);
      (kernels.*entry)(to.format, from.data(), n, width, scales.data(), to.tensor.decode,
                       number % 3 == 0, out.data());
      verdict.compare<T>(out.span(), want);
      verdict.require(out.is_whole(), "wrote outside the array");
    }
  }
  return verdict;
}

Verdict judge_chosen_scale(const Kernels& kernels) {
  Verdict verdict;
  Random random(37);
  std::uint64_t number = 0;
  const BlockFormat format = *find_block_format("nvfp4");
  for (const NamedScaleRule& row : scale_rules) {
    if (row.rule.four_or_six == FourOrSix::six && row.name != "te") continue;
    if (!fits(row, format)) continue;
    for (const std::size_t n :
         {std::size_t{16}, std::size_t{16}, std::size_t{7}, std::size_t{256}}) {
      for (int i = 0; i < 40; ++i) {
        const std::vector<float> in = block_numbers(n, n, ++number, random);
        BlockQuantizer to{format, row.rule};
        std::uint32_t amax = 0;
        block_amaxes(to.rule, in.data(), n, n, &amax);
        const auto tensor_amax = amax + static_cast<std::uint32_t>(random() % 4) * 0x00800000;
        to.tensor = tensor_scale(to.rule, format, std::min(tensor_amax, block_steps::infinity));
        verdict.begin(std::string(row.name), "n " + std::to_string(n));
        std::vector<std::uint32_t> bits(n);
        std::memcpy(bits.data(), in.data(), n * sizeof(float));
        const auto words = [](const BlockScale& x) {
          return std::array<std::uint32_t, 3>{x.code, x.factor, x.divides ? 1U : 0U};
        };
        const auto want = words(chosen_scale(to.rule, format, bits.data(), n, amax, to.tensor));
        verdict.compare<std::uint32_t>(words(kernels.chosen_scale(to, in.data(), n, amax)), want);
      }
    }
  }
  return verdict;
}

Verdict judge_pack_4(const Kernels& kernels) {
  Verdict verdict;
  Random random(35);
  for (const NibbleOrder order : {NibbleOrder::low_first, NibbleOrder::high_first}) {
    for (std::size_t n = 0; n < 150; ++n) {
      std::vector<std::byte> in(n), want((n + 1) / 2);
      for (std::byte& byte : in) byte = static_cast<std::byte>(random());
      verdict.begin(order == NibbleOrder::low_first ? "low_first" : "high_first",
                    "n " + std::to_string(n));
      pack_4(in.data(), n, want.data(), order);
      Walled<std::byte> from(std::span<const std::byte>(in), n % 7), out(want.size(), n % 5);
      kernels.pack_4(from.data(), n, out.data(), order);
      verdict.compare<std::byte>(out.span(), want);
      verdict.require(out.is_whole(), "wrote outside the array");
    }
  }
  return verdict;
}

// The same kernels with faults.

void block_amaxes_with_faults(const ScaleRule& rule, const float* in, std::size_t n,
                              std::size_t width, std::uint32_t* amaxes) {
  called(behind<&Kernels::block_amaxes>, rule, in, n, width, amaxes);
  plant(amaxes, (n + width - 1) / width);
}
void block_scales_with_faults(const BlockQuantizer& to, const std::uint32_t* amaxes, std::size_t n,
                              std::uint32_t* codes, std::uint32_t* factors, ScaleCounts& counts) {
  called(behind<&Kernels::block_scales>, to, amaxes, n, codes, factors, counts);
  const Fault* fault = n == 0 ? nullptr : fault_of_call();
  if (fault == nullptr) return;
  if (fault->in_counts) return turn_bit(&counts.blocks, sizeof counts / 8, *fault);
  turn_bit(fault->call % 2 == 0 ? codes : factors, n, *fault);
}
void block_codes_with_faults(const BlockQuantizer& to, const float* in, std::size_t n,
                             std::size_t width, const std::uint32_t* factors, std::uint64_t first,
                             const Access& access, std::byte* out, EventCounts& counts) {
  called(behind<&Kernels::block_codes>, to, in, n, width, factors, first, access, out, counts);
  plant(out, ((access.lines - 1) * access.stride_out + n) * code_bytes(to.format.element), &counts);
}
template <std::floating_point T, Kernels::BlockValues<T> Kernels::*entry>
void block_values_with_faults(const BlockFormat& format, const std::byte* in, std::size_t n,
                              std::size_t width, const std::uint32_t* scales,
                              std::uint32_t tensor_decode, bool streamed, T* out) {
  called(behind<entry>, format, in, n, width, scales, tensor_decode, streamed, out);
  plant(out, n);
}
void block_quantize_with_faults(const BlockQuantizer& to, const float* in, std::size_t n,
                                std::size_t width, const std::uint32_t* factors,
                                const std::uint32_t* scales, std::uint64_t first,
                                const Access& access, float* out, EventCounts& counts) {
  called(behind<&Kernels::block_quantize>, to, in, n, width, factors, scales, first, access, out,
         counts);
  plant(out, (access.lines - 1) * access.stride_out + n, &counts);
}
BlockScale chosen_scale_with_faults(const BlockQuantizer& to, const float* x, std::size_t n,
                                    std::uint32_t amax) {
  BlockScale out = called(behind<&Kernels::chosen_scale>, to, x, n, amax);
  const Fault* fault = fault_of_call();
  if (fault != nullptr) turn_bit(fault->at_end ? &out.factor : &out.code, 1, *fault);
  return out;
}
void pack_4_with_faults(const std::byte* codes, std::size_t n, std::byte* out, NibbleOrder order) {
  called(behind<&Kernels::pack_4>, codes, n, out, order);
  plant(out, (n + 1) / 2);
}

// What is timed_rules: usual rules, numbers of timed_numbers.

struct TimedRule {
  const char* name;
  const char* format;
  std::size_t width;
};
constexpr std::array<TimedRule, 4> timed_rules{{{"mxfp8_e4m3", "mxfp8_e4m3", 32},
                                                {"nvfp4", "nvfp4", 16},
                                                {"fp8_1x128", "fp8_1x128", 128},
                                                {"mxfp8_e4m3, columns", "mxfp8_e4m3", 1}}};

/// A timed_rules case with what its steps begin from.
struct TimedBlocks {
  BlockQuantizer to;
  std::vector<std::uint32_t> amaxes, scales, factors;
  std::vector<std::byte> codes;
};
TimedBlocks& timed_blocks(std::size_t i) {
  static std::array<TimedBlocks, timed_rules.size()> all = [] {
    std::array<TimedBlocks, timed_rules.size()> out;
    for (std::size_t k = 0; k < timed_rules.size(); ++k) {
      const BlockFormat f = *find_block_format(timed_rules[k].format);
      TimedBlocks& x = out[k];
      x.to = {.format = f, .rule = find_scale_rule("", f)->rule};
      x.to.tensor = tensor_scale(x.to.rule, f, 0x42000000);
      const std::size_t width = timed_rules[k].width, blocks = timed_elements / width;
      x.amaxes.resize(blocks);
      x.scales.resize(blocks);
      x.factors.resize(blocks);
      x.codes.resize(timed_elements);
      const float* const in = timed_numbers<float>().data();
      block_amaxes(x.to.rule, in, timed_elements, width, x.amaxes.data());
      ScaleCounts scales;
      block_scales(x.to, x.amaxes.data(), blocks, x.scales.data(), x.factors.data(), scales);
      EventCounts counts;
      block_codes(x.to, in, timed_elements, width, x.factors.data(), 0, x.codes.data(), counts);
    }
    return out;
  }();
  return all[i];
}

void time_block_amaxes(const Kernels& kernels, std::size_t i) {
  TimedBlocks& x = timed_blocks(i);  // whose amaxes stay as they are
  kernels.block_amaxes(x.to.rule, timed_numbers<float>().data(), timed_elements,
                       timed_rules[i].width, x.amaxes.data());
}
void time_block_scales(const Kernels& kernels, std::size_t i) {
  TimedBlocks& x = timed_blocks(i);
  ScaleCounts counts;
  kernels.block_scales(x.to, x.amaxes.data(), x.amaxes.size(), x.scales.data(), x.factors.data(),
                       counts);
}
void time_block_codes(const Kernels& kernels, std::size_t i) {
  TimedBlocks& x = timed_blocks(i);
  EventCounts counts;
  kernels.block_codes(x.to, timed_numbers<float>().data(), timed_elements, timed_rules[i].width,
                      x.factors.data(), 0, {}, x.codes.data(), counts);
}
template <std::floating_point T, Kernels::BlockValues<T> Kernels::*entry>
void time_block_values(const Kernels& kernels, std::size_t i) {
  TimedBlocks& x = timed_blocks(i);
  (kernels.*entry)(x.to.format, x.codes.data(), timed_elements, timed_rules[i].width,
                   x.scales.data(), x.to.tensor.decode, false, timed_results<T>().data());
}
void time_block_quantize(const Kernels& kernels, std::size_t i) {
  TimedBlocks& x = timed_blocks(i);
  EventCounts counts;
  kernels.block_quantize(x.to, timed_numbers<float>().data(), timed_elements, timed_rules[i].width,
                         x.factors.data(), x.scales.data(), 0, {}, timed_results<float>().data(),
                         counts);
}
void time_chosen_scale(const Kernels& kernels, std::size_t) {
  BlockQuantizer to = timed_blocks(1).to;
  to.rule = find_scale_rule("te_4over6", to.format)->rule;
  for (std::size_t at = 0; at < timed_elements; at += 16) {
    const float* const x = timed_numbers<float>().data() + at;
    volatile std::uint32_t code =
        kernels.chosen_scale(to, x, 16, timed_blocks(1).amaxes[at / 16]).code;
    static_cast<void>(code);
  }
}
void time_pack_4(const Kernels& kernels, std::size_t) {
  kernels.pack_4(timed_blocks(1).codes.data(), timed_elements,
                 reinterpret_cast<std::byte*>(timed_results<std::uint64_t>().data()),
                 NibbleOrder::low_first);
}

std::vector<Work> rule_works(void (*run)(const Kernels&, std::size_t)) {
  std::vector<Work> out;
  for (std::size_t i = 0; i < timed_rules.size(); ++i) {
    out.push_back({timed_rules[i].name, timed_elements, run, i});
  }
  return out;
}
std::vector<Work> scale_works() {
  std::vector<Work> out;
  for (std::size_t i = 0; i < 3; ++i) {
    out.push_back(
        {timed_rules[i].name, timed_elements / timed_rules[i].width, &time_block_scales, i});
  }
  return out;
}

template <std::floating_point T, Kernels::BlockValues<T> Kernels::*entry>
Entry values_entry(std::string_view name) {
  return entry_of<entry, &block_values_with_faults<T, entry>>(
      name, &judge_block_values<T, entry>, rule_works(&time_block_values<T, entry>));
}

}  // namespace

std::vector<Entry> block_entries() {
  using K = Kernels;
  return {
      entry_of<&K::block_amaxes, &block_amaxes_with_faults>("block_amaxes", &judge_block_amaxes,
                                                            rule_works(&time_block_amaxes)),
      entry_of<&K::block_scales, &block_scales_with_faults>("block_scales", &judge_block_scales,
                                                            scale_works()),
      entry_of<&K::block_codes, &block_codes_with_faults>("block_codes", &judge_block_codes,
                                                          rule_works(&time_block_codes)),
      values_entry<float, &K::block_values_f32>("block_values_f32"),
      values_entry<double, &K::block_values_f64>("block_values_f64"),
      entry_of<&K::block_quantize, &block_quantize_with_faults>(
          "block_quantize", &judge_block_quantize, rule_works(&time_block_quantize)),
      entry_of<&K::chosen_scale, &chosen_scale_with_faults>(
          "chosen_scale", &judge_chosen_scale,
          {{"te_4over6", timed_elements, &time_chosen_scale, 0}}),
      entry_of<&K::pack_4, &pack_4_with_faults>("pack_4", &judge_pack_4,
                                                {{"low_first", timed_elements, &time_pack_4, 0}},
                                                "the definition is one short loop, too"),
  };
}

}  // namespace binade::kernel_test

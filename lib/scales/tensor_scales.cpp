// SPDX-License-Identifier: Apache-2.0
//
// A stored number may be any of the three parts of a scale.
#include "lib/scales/tensor_scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "lib/number/encoding_text.h"
#include "lib/scales/other_amaxes.h"

namespace binade {
namespace {

/// A number for people: "0.0625", "about 448.2".
std::string short_number(std::uint32_t bits) {
  const double value = number_of_bits(bits);
  const std::string text = fmt::format("{:.6g}", value);
  return text;
}

/// How far a stored number is from the expected one: "1 ulp from it", "448 times it".
std::string apart_text(std::uint32_t expected, std::uint32_t stored) {
  const std::int64_t ulps = std::abs(std::int64_t{stored} - std::int64_t{expected});
  if (ulps <= 64) return fmt::format("{} ulp{} from it", ulps, ulps == 1 ? "" : "s");
  return fmt::format("{:.6g} times it",
                     static_cast<double>(number_of_bits(stored)) / number_of_bits(expected));
}

constexpr std::array<TensorScalePart, 3> parts_of_tensor_scale{
    TensorScalePart::decode, TensorScalePart::encode, TensorScalePart::amax};

/// Which part a file holds: what its layouts say, or, of arrays, any.
bool may_be_part(const Quantized& given, TensorScalePart part) {
  return given.layouts.empty() ||
         std::ranges::any_of(given.layouts, [&](auto* layout) { return layout->part == part; });
}

/// The amax of the numbers as they are given, whatever was done to those of the work.
std::uint32_t given_amax(const ReadingWork& work, const ScaleRule& rule) {
  std::uint32_t out = 0;
  for (const float x : work.given().x) {
    out = next_amax(rule, out, std::bit_cast<std::uint32_t>(x));
  }
  return out;
}

}  // namespace

bool is_scale_of_amax(const ScaleRule& rule, const BlockFormat& format, TensorScalePart part,
                      std::uint32_t amax, std::uint32_t stored) {
  using namespace block_steps;
  if (part_of(tensor_scale(rule, format, amax), part) == stored) return true;
  if (part == TensorScalePart::amax || amax == 0) return false;
  const std::uint32_t element = largest_of(format.element), scale = largest_scale(rule, format);
  const std::uint32_t most = times(element, scale);
  const std::array<std::uint32_t, 4> decoded{over(amax, most), over(over(amax, element), scale),
                                             over(over(amax, scale), element),
                                             times(amax, over(one, most))};
  return std::ranges::any_of(decoded, [&](std::uint32_t x) {
    return stored == (part == TensorScalePart::decode ? x : over(one, x));
  });
}

std::vector<TensorScaleChoice> tensor_scale_choices(const ReadingWork& work,
                                                    const NamedScaleRule& row, bool imagined) {
  using namespace block_steps;
  const ScaleRule rule = work.steps(row);
  const BlockFormat& format = work.format();
  if (!format.tensor_scale) return {{}};
  const std::optional<std::uint32_t>& stored = work.given().tensor;
  const TensorScale own = tensor_scale(rule, format, work.amax(rule));
  const std::uint32_t amax_as_given = stored ? given_amax(work, rule) : 0;
  std::vector<TensorScaleChoice> out{
      {own, stored ? TensorScaleFit::imagined : TensorScaleFit::absent}};
  if (stored) {
    for (const TensorScalePart part : parts_of_tensor_scale) {
      if (part_of(own, part) != *stored || !may_be_part(work.given(), part)) continue;
      out[0].fit = TensorScaleFit::equal;
      out[0].part = part;
      break;
    }
    const std::vector<const CheckpointLayout*>& layouts = work.given().layouts;
    const TensorScalePart part = layouts.empty() ? TensorScalePart::decode : layouts[0]->part;
    out[0].words = fmt::format(
        "the scale of the tensor by its amax {}, {} ({}), not the stored {} "
        "({}), {}",
        short_number(own.amax), short_number(part_of(own, part)),
        hexadecimal(part_of(own, part), binary32), short_number(*stored),
        hexadecimal(*stored, binary32), apart_text(part_of(own, part), *stored));
  }
  const auto is_near = [&](TensorScalePart part) {
    return may_be_part(work.given(), part) &&
           is_scale_of_amax(rule, format, part, own.amax, *stored);
  };
  out[0].is_near_stored = stored && out[0].fit == TensorScaleFit::imagined &&
                          std::ranges::any_of(parts_of_tensor_scale, is_near);
  if (!imagined) return out;
  const auto add = [&](const TensorScale& scale, const std::string& words) {
    const auto same = [&](const TensorScaleChoice& x) { return x.scale == scale; };
    if (std::ranges::none_of(out, same)) {
      out.push_back({scale, TensorScaleFit::imagined, TensorScalePart::decode, words});
    }
  };
  const bool is_usable =
      stored && *stored > 0 && *stored < infinity;  // others leave no values, or no numbers
  if (is_usable && out[0].fit != TensorScaleFit::equal) {
    for (const TensorScalePart part : parts_of_tensor_scale) {
      // Of the numbers as they are given it is the tensor's, whatever blocks are made of.
      if (amax_as_given != own.amax &&
          is_scale_of_amax(rule, format, part, amax_as_given, *stored)) {
        add(tensor_scale(rule, format, amax_as_given), "");
        continue;
      }
      // Kernels keep the scale by one division and numbers by another.
      for (const NamedAmax& other : work.other_amaxes(rule)) {
        if (!is_scale_of_amax(rule, format, part, other.amax, *stored)) continue;
        const TensorScale scale = tensor_scale(rule, format, other.amax);
        if (part_of(scale, part) == *stored) continue;
        add(scale,
            fmt::format("the scale of the tensor nearly as stored, {} ({}), that of amax {}, "
                        "{}, where the tensor's is {}",
                        short_number(*stored), part_words(part), short_number(other.amax),
                        amax_words(work, rule, part, *stored), short_number(amax_as_given)));
        break;
      }
      const TensorScale scale = scale_of_part(rule, format, part, *stored);
      add(scale,
          fmt::format("the scale of the tensor as stored, {} ({}), that of amax {}, {}, where the "
                      "tensor's is {}",
                      short_number(*stored), part_words(part), short_number(scale.amax),
                      amax_words(work, rule, part, *stored), short_number(amax_as_given)));
    }
  }
  const std::uint32_t most = times(largest_of(format.element), largest_scale(rule, format));
  add({one, one, most}, "no scale of the tensor under those of blocks");
  add({times(own.encode, own.encode), times(own.decode, own.decode), times(own.amax, own.decode)},
      "the scale of the tensor taken twice");
  return out;
}

TensorScale scale_of_part(const ScaleRule& rule, const BlockFormat& format, TensorScalePart part,
                          std::uint32_t stored) {
  using namespace block_steps;
  if (part == TensorScalePart::amax) return tensor_scale(rule, format, stored);
  const std::uint32_t most = times(largest_of(format.element), largest_scale(rule, format));
  const std::uint32_t guess =
      part == TensorScalePart::decode ? times(stored, most) : over(most, stored);
  for (const int step : {0, 1, -1, 2, -2, 3, -3}) {
    const std::uint32_t amax = guess + static_cast<std::uint32_t>(step);
    const TensorScale found = tensor_scale(rule, format, amax);
    if (part_of(found, part) == stored) return found;
  }
  const bool is_decode = part == TensorScalePart::decode;
  return {.encode = is_decode ? over(one, stored) : stored,
          .decode = is_decode ? stored : over(one, stored),
          .amax = guess};
}

std::uint32_t part_of(const TensorScale& scale, TensorScalePart part) {
  return part == TensorScalePart::decode   ? scale.decode
         : part == TensorScalePart::encode ? scale.encode
                                           : scale.amax;
}

std::optional<TensorScalePart> part_that_is(const TensorScale& scale, std::uint32_t stored) {
  for (const TensorScalePart part : parts_of_tensor_scale) {
    if (part_of(scale, part) == stored) return part;
  }
  return std::nullopt;
}

std::string_view part_words(TensorScalePart part) {
  constexpr std::array<std::string_view, 3> words{"what values are multiplied by",
                                                  "what numbers are multiplied by", "the amax"};
  return words[static_cast<std::size_t>(part)];
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// `block_amaxes`, `block_codes`, `block_values` and `pack_4` of emulate/block_arrays.h and
// block_packing.h, the same bytes and counts. Numbers are scaled tile by tile in plain loops; the
// level's own `encode` rounds a tile, its own `decode` reads one:
//
//     numbers    7.5  -3  0.5  1 | 96  0  -2  4      a tile, of which a block is 4 here
//     scaled     3.75 …          | 6   0  …          each times the factor of its block
//     codes      6    …          | 7   0  …          by the level's kernel of arrays
//
// The loops are templates of a tag V, so that each level has its own, which a compiler makes
// vectors of. Scaled numbers that are NaNs or infinities are set aside for the definition.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "emulate/fast/blocks.h"
#include "emulate/fast/kernels.h"

namespace binade::fast {

/// Calls f with a block's width as a constant where it is a usual one, else with 0.
template <class V, class F>
void with_width(std::size_t width, const F& f) {
  switch (width) {
    case 16: return f(std::integral_constant<std::size_t, 16>{});
    case 32: return f(std::integral_constant<std::size_t, 32>{});
    case 128: return f(std::integral_constant<std::size_t, 128>{});
    default: return f(std::integral_constant<std::size_t, 0>{});
  }
}

template <class V>
std::uint32_t largest_magnitude(const float* in, std::size_t n) {
  std::uint32_t out = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t x = std::bit_cast<std::uint32_t>(in[i]) & block_steps::magnitude;
    out = x > out ? x : out;
  }
  return out;
}

/// Amaxes of blocks of one number: those of columns, line after line.
template <class V>
void column_amaxes(const ScaleRule& rule, const float* in, std::size_t n, std::uint32_t* amaxes) {
  constexpr std::size_t part = 256;
  for (std::size_t done = 0; done < n; done += part) {
    const std::size_t count = n - done < part ? n - done : part;
    const float* const x = in + done;
    std::uint32_t* const amax = amaxes + done;
    std::array<std::uint32_t, part> larger;
    std::uint32_t largest = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x[i]) & block_steps::magnitude;
      larger[i] = magnitude > amax[i] ? magnitude : amax[i];
      largest = larger[i] > largest ? larger[i] : largest;
    }
    if (largest > block_steps::infinity) {
      definitions().block_amaxes(rule, x, count, 1, amax);
    } else {
      std::memcpy(amax, larger.data(), count * sizeof *amax);
    }
  }
}

/// Writes the largest magnitudes of as many blocks as a vector has lanes.
template <class V, std::size_t width>
void largest_of_blocks(const float* in, std::uint32_t* out) {
  const auto mask = V::set(block_steps::magnitude);
  typename V::I largest[V::lanes];
  for (std::size_t block = 0; block < V::lanes; ++block) {
    const float* const from = in + block * width;
    for (std::size_t i = 0; i < width; i += 16) V::prefetch(from + prefetch_distance / 4 + i);
    largest[block] = V::bit_and(V::load(from), mask);
    for (std::size_t i = V::lanes; i < width; i += V::lanes) {
      largest[block] = V::max(largest[block], V::bit_and(V::load(from + i), mask));
    }
  }
  V::store(out, V::largest_of_each(largest));
}

template <class V>
void block_amaxes_loops(const ScaleRule& rule, const float* in, std::size_t n, std::size_t width,
                        std::uint32_t* amaxes) {
  if (width == 1) return column_amaxes<V>(rule, in, n, amaxes);
  const auto take = [&](std::size_t block, std::size_t at, std::size_t count,
                        std::uint32_t largest) {
    std::uint32_t& amax = amaxes[block];
    const std::uint32_t larger = largest > amax ? largest : amax;
    if (larger > block_steps::infinity) {
      definitions().block_amaxes(rule, in + at, count, count, &amax);
    } else {
      amax = larger;
    }
  };
  std::size_t at = 0, block = 0;
  with_width<V>(width, [&](auto fixed) {
    const std::size_t step = fixed() == 0 ? width : fixed();
    if constexpr (requires { V::lanes; } && fixed() > 0) {
      std::array<std::uint32_t, V::lanes> largest;
      while (at + V::lanes * step <= n) {
        largest_of_blocks<V, fixed()>(in + at, largest.data());
        for (const std::uint32_t of_block : largest) {
          take(block++, at, step, of_block);
          at += step;
        }
      }
    }
    for (; at + step <= n; at += step, ++block) {
      take(block, at, step, largest_magnitude<V>(in + at, step));
    }
  });
  if (at < n) take(block, at, n - at, largest_magnitude<V>(in + at, n - at));
}

/// Writes step(in[i], the factor of its block) for whole blocks of `fixed` numbers, or of `width`
/// if that is 0.
template <class V, std::size_t fixed, class T, class Step>
void each_of_whole_blocks(const float* in, std::size_t blocks, std::size_t width,
                          const float* factors, T* __restrict out, const Step& step) {
  const std::size_t size = fixed == 0 ? width : fixed;
  for (std::size_t block = 0; block < blocks; ++block, in += size, out += size) {
    const float factor = factors[block];
    for (std::size_t i = 0; i < size; ++i) out[i] = step(in[i], factor);
  }
}

/// Writes step(in[i], the factor of its block) for n numbers, which begin within a block where
/// `width` is larger than n. `out` lies apart from the others.
template <class V, class T, class Step>
void each_of_blocks(const float* in, std::size_t n, std::size_t width, const float* factors,
                    T* __restrict out, const Step& step) {
  if (width == 1) {
    for (std::size_t i = 0; i < n; ++i) out[i] = step(in[i], factors[i]);
    return;
  }
  std::size_t at = n / width * width;
  with_width<V>(width, [&](auto fixed) {
    each_of_whole_blocks<V, fixed()>(in, n / width, width, factors, out, step);
  });
  for (const float factor = at < n ? factors[at / width] : 0; at < n; ++at) {
    out[at] = step(in[at], factor);
  }
}

/// What happened to numbers when they were scaled.
struct ScaledNumbers {
  std::uint64_t vanished = 0;  ///< were not zero and are
  bool nonfinite = false;      ///< some are a NaN or an infinity
};

/// Scales n numbers, which begin within a block where `width` is larger than n.
template <class V>
ScaledNumbers scale_rest(bool divided, const float* in, std::size_t n, std::size_t width,
                         const float* factors, float* out) {
  if (divided) {
    each_of_blocks<V>(in, n, width, factors, out, [](float x, float by) { return x / by; });
  } else {
    each_of_blocks<V>(in, n, width, factors, out, [](float x, float by) { return x * by; });
  }
  std::uint32_t vanished = 0, seen = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t before = std::bit_cast<std::uint32_t>(in[i]) & block_steps::magnitude;
    const std::uint32_t after = std::bit_cast<std::uint32_t>(out[i]) & block_steps::magnitude;
    vanished += static_cast<std::uint32_t>(before != 0) & static_cast<std::uint32_t>(after == 0);
    seen |= after + 0x00800000;  // reaches the sign bit from infinity on
  }
  return {vanished, seen > block_steps::magnitude};
}

/// The sums over vectors that become ScaledNumbers.
template <class V>
struct ScaledVectors {
  using I = typename V::I;
  I largest, vanished;  // of magnitudes; counts

  template <bool divided, bool may_vanish>
  [[gnu::always_inline]] void scale(const float* in, typename V::F factor, float* out) {
    const I magnitude = V::set(block_steps::magnitude);
    const I x = V::load(in);
    const I y = V::bits(divided ? V::div(V::number(x), factor) : V::mul(V::number(x), factor));
    V::store(out, y);
    const I after = V::bit_and(y, magnitude);
    largest = V::max(largest, after);
    if constexpr (may_vanish) {
      const auto was_zero = V::equal(V::bit_and(x, magnitude), V::zero());
      vanished = V::plus_one(vanished, V::but_not(V::equal(after, V::zero()), was_zero));
    }
  }
  ScaledNumbers found() const {
    return {.vanished = V::total(vanished),
            .nonfinite = V::any(V::greater(largest, V::set(block_steps::largest)))};
  }
};

/// Scales whole blocks of `fixed` numbers, or of `width` if that is 0, by vectors that fill them.
template <class V, bool divided, std::size_t fixed>
ScaledNumbers scale_whole_blocks(const float* in, std::size_t blocks, std::size_t width,
                                 const float* factors, float* out) {
  const std::size_t size = fixed == 0 ? width : fixed;
  ScaledVectors<V> all{V::zero(), V::zero()};
  for (std::size_t block = 0; block < blocks; ++block, in += size, out += size) {
    const auto factor = V::set_number(factors[block]);
    // No number becomes smaller by a factor of 1 or more.
    if (!divided && factors[block] >= 1) {
      for (std::size_t i = 0; i < size; i += V::lanes) {
        all.template scale<divided, false>(in + i, factor, out + i);
      }
    } else {
      for (std::size_t i = 0; i < size; i += V::lanes) {
        all.template scale<divided, true>(in + i, factor, out + i);
      }
    }
  }
  return all.found();
}

/// The same of blocks of one number, as many as fill `n` vectors.
template <class V, bool divided>
ScaledNumbers scale_columns(const float* in, std::size_t n, const float* factors, float* out) {
  ScaledVectors<V> all{V::zero(), V::zero()};
  for (std::size_t i = 0; i < n * V::lanes; i += V::lanes) {
    all.template scale<divided, true>(in + i, V::number(V::load(factors + i)), out + i);
  }
  return all.found();
}

/// Scales n numbers by vectors of a level; `width` is 1 or fills whole vectors.
template <class V, bool divided>
ScaledNumbers scale_vectors(const float* in, std::size_t n, std::size_t width, const float* factors,
                            float* out) {
  ScaledNumbers found;
  std::size_t done = 0;
  if (width == 1) {
    found = scale_columns<V, divided>(in, n / V::lanes, factors, out);
    done = n / V::lanes * V::lanes;
  } else {
    with_width<V>(width, [&](auto fixed) {
      found = scale_whole_blocks<V, divided, fixed()>(in, n / width, width, factors, out);
    });
    done = n / width * width;
  }
  if (done == n) return found;
  const ScaledNumbers rest =
      scale_rest<V>(divided, in + done, n - done, width, factors + done / width, out + done);
  return {found.vanished + rest.vanished, found.nonfinite || rest.nonfinite};
}

template <class V>
ScaledNumbers scale_numbers(bool divided, const float* in, std::size_t n, std::size_t width,
                            const float* factors, float* out) {
  if constexpr (requires { V::lanes; }) {
    if (width == 1 || width % V::lanes == 0) {
      return divided ? scale_vectors<V, true>(in, n, width, factors, out)
                     : scale_vectors<V, false>(in, n, width, factors, out);
    }
  }
  return scale_rest<V>(divided, in, n, width, factors, out);
}

/// Gives codes of one byte the signs of zeros that the rule's cast has, and then two's complement
/// where the format has it.
template <class V>
void finish_codes(const BlockQuantizer& to, const float* scaled, std::size_t n, std::byte* codes) {
  const auto each = [&](const auto& step) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t y = std::bit_cast<std::uint32_t>(scaled[i]) & block_steps::magnitude;
      codes[i] = static_cast<std::byte>(step(std::to_integer<std::uint8_t>(codes[i]), y == 0));
    }
  };
  const Format& f = to.format.element;
  const auto sign = static_cast<std::uint8_t>(1U << (f.bits() - 1));
  if (f.has_negative_zero()) {
    switch (to.rule.cast.zero) {
      case ZeroSign::kept: break;
      case ZeroSign::of_negative:
        each([](std::uint8_t code, bool is_zero) { return is_zero ? std::uint8_t{0} : code; });
        break;
      case ZeroSign::minus_zero:
        each([=](std::uint8_t code, bool is_zero) { return is_zero ? sign : code; });
        break;
      case ZeroSign::positive:
        each([=](std::uint8_t code, bool) { return code == sign ? std::uint8_t{0} : code; });
        break;
    }
  }
  if (!to.format.twos_complement) return;
  const auto mask = static_cast<std::uint8_t>(2 * sign - 1);
  each([=](std::uint8_t code, bool) {
    const auto negative = static_cast<std::uint8_t>((0U - (code ^ sign)) & mask);
    return (code & sign) != 0 ? negative : code;
  });
}

/// Returns how elements are rounded once they are scaled.
template <class V>
Quantizer element_quantizer(const BlockQuantizer& to) {
  Quantizer out{.format = to.format.element,
                .attributes = to.attributes,
                .seed = to.seed,
                .stream = to.stream};
  if (out.attributes.rounding == Rounding::ties_to_even) {
    out.attributes.rounding = to.rule.cast.ties;
  }
  return out;
}

/// Scales a tile and puts zeros in the places of NaNs and infinities, which it returns. These are
/// counted as zeros when the tile is rounded, which is taken back here.
template <class V>
std::vector<std::size_t> scale_tile(const BlockQuantizer& to, const float* in, std::size_t n,
                                    std::size_t width, const float* factors, float* scaled,
                                    EventCounts& counts) {
  const ScaledNumbers what = scale_numbers<V>(divides(to.rule), in, n, width, factors, scaled);
  counts.to_zero += what.vanished;
  std::vector<std::size_t> specials;
  for (std::size_t i = 0; what.nonfinite && i < n; ++i) {
    const std::uint32_t y = std::bit_cast<std::uint32_t>(scaled[i]) & block_steps::magnitude;
    if (y < block_steps::infinity) continue;
    specials.push_back(i);
    scaled[i] = 0;
  }
  counts.values -= specials.size();
  return specials;
}

/// Calls run(begin, count, factors) for each tile, which lies within one block or begins with one.
template <class V, class Run>
void each_block_tile(std::size_t n, std::size_t width, const std::uint32_t* factors,
                     const Run& run) {
  for (std::size_t done = 0; done < n;) {
    const std::size_t most = width > block_tile ? width - done % width : block_tile / width * width;
    const std::size_t count = std::min({most, block_tile, n - done});
    std::array<float, block_tile> of_tile;
    const std::size_t blocks = (count + width - 1) / width;
    std::memcpy(of_tile.data(), factors + done / width, blocks * sizeof(float));
    run(done, count, of_tile.data());
    done += count;
  }
}

template <class V, auto encode>
void block_codes_tiles(const BlockQuantizer& to, const float* in, std::size_t n, std::size_t width,
                       const std::uint32_t* factors, std::uint64_t first, std::byte* out,
                       EventCounts& counts) {
  if (!knows_codes(to)) {
    return definitions().block_codes(to, in, n, width, factors, first, out, counts);
  }
  const Quantizer element = element_quantizer<V>(to);
  const std::size_t bytes = code_bytes(to.format.element);
  each_block_tile<V>(
      n, width, factors, [&](std::size_t begin, std::size_t count, const float* of_tile) {
        std::array<float, block_tile> scaled;
        std::byte* const codes = out + begin * bytes;
        const std::vector<std::size_t> specials =
            scale_tile<V>(to, in + begin, count, width, of_tile, scaled.data(), counts);
        encode(scaled.data(), codes, count, first + begin, element, counts);
        finish_codes<V>(to, scaled.data(), count, codes);
        for (const std::size_t i : specials) {
          definitions().block_codes(to, in + begin + i, 1, 1, factors + (begin + i) / width,
                                    first + begin + i, codes + i * bytes, counts);
        }
      });
}

/// Writes scales as floats.
template <class V, auto decode>
void scale_values(const Format& f, const std::uint32_t* codes, std::size_t n, float* out) {
  if (f == binary32) return static_cast<void>(std::memcpy(out, codes, n * sizeof(float)));
  if (f == e8m0) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t code = codes[i] & 0xFF;
      const std::uint32_t power = code == 0 ? 0x00400000U : code << 23;
      out[i] = std::bit_cast<float>(code == 0xFF ? block_steps::nan : power);
    }
    return;
  }
  std::array<std::byte, block_tile> narrow;
  for (std::size_t i = 0; i < n; ++i) narrow[i] = static_cast<std::byte>(codes[i]);
  decode(narrow.data(), out, n, f);
}

/// Returns element · scale · decode in Wide, with the one NaN that the definition has.
template <class V, class T, class Wide>
T scaled_value(float element, float scale, Wide decode) {
  using Bits = typename Carrier<T>::Bits;
  constexpr auto infinity = static_cast<Bits>(infinity_bits(Carrier<T>::format, false));
  constexpr auto nan = static_cast<Bits>(nan_bits(Carrier<T>::format, NanResult::quiet));
  const Wide product = static_cast<Wide>(element) * static_cast<Wide>(scale) * decode;
  const auto bits = std::bit_cast<Bits>(static_cast<T>(product));
  return std::bit_cast<T>(static_cast<Bits>(bits << 1) > static_cast<Bits>(infinity << 1) ? nan
                                                                                          : bits);
}

/// Copies what a tile made to its place past the caches.
template <class V>
void stream_out(const std::byte* from, std::byte* to, std::size_t size) {
  std::size_t at = 0;
  if constexpr (requires { V::bytes; }) {
    const std::size_t past = reinterpret_cast<std::uintptr_t>(to) % V::bytes;
    at = std::min(size, past == 0 ? 0 : V::bytes - past);
    std::memcpy(to, from, at);
    for (; at + V::bytes <= size; at += V::bytes) V::stream(to + at, V::load(from + at));
  }
  std::memcpy(to + at, from + at, size - at);
}

template <class V, auto decode, class T>
void block_values_tiles(const BlockFormat& format, const std::byte* in, std::size_t n,
                        std::size_t width, const std::uint32_t* scales, std::uint32_t tensor_decode,
                        bool streamed, T* out) {
  const ValuePlan plan = value_plan(format, tensor_decode);
  if (!plan.in_f64 && (!plan.in_f32 || sizeof(T) > sizeof(float))) {
    return (definitions().*KernelsOf<T>::block_values)(format, in, n, width, scales, tensor_decode,
                                                       streamed, out);
  }
  const std::size_t bytes = code_bytes(format.element);
  const auto tensor = std::bit_cast<float>(tensor_decode);
  const float quantum = value_of<float>(min_bits(format.element, false), format.element);
  for (std::size_t done = 0; done < n;) {
    const std::size_t most = width > block_tile ? width - done % width : block_tile / width * width;
    const std::size_t count = std::min({most, block_tile, n - done});
    std::array<float, block_tile> elements, of_tile;
    std::array<T, block_tile> values;
    if (plan.is_integer) {
      for (std::size_t i = 0; i < count; ++i) {
        elements[i] = static_cast<float>(static_cast<std::int8_t>(in[done + i])) * quantum;
      }
    } else {
      decode(in + done * bytes, elements.data(), count, format.element);
    }
    scale_values<V, decode>(format.scale, scales + done / width, (count + width - 1) / width,
                            of_tile.data());
    T* const to = streamed ? values.data() : out + done;
    if (plan.in_f32 && sizeof(T) == sizeof(float)) {
      each_of_blocks<V>(elements.data(), count, width, of_tile.data(), to,
                        [=](float x, float by) { return scaled_value<V, T>(x, by, tensor); });
    } else {
      each_of_blocks<V>(elements.data(), count, width, of_tile.data(), to, [=](float x, float by) {
        return scaled_value<V, T>(x, by, double{tensor});
      });
    }
    if (streamed) {
      stream_out<V>(reinterpret_cast<const std::byte*>(values.data()),
                    reinterpret_cast<std::byte*>(out + done), count * sizeof(T));
    }
    done += count;
  }
  if constexpr (requires { V::streamed(); }) {
    if (streamed) V::streamed();
  }
}

/// Gives numbers that are zero the signs that their codes would have.
template <class V>
void finish_zeros(const BlockQuantizer& to, const float* scaled, std::size_t n, float* rounded) {
  const ZeroSign zero = to.rule.cast.zero;
  if (to.format.twos_complement || zero == ZeroSign::positive) {
    for (std::size_t i = 0; i < n; ++i) rounded[i] += 0.0F;
  } else if (zero != ZeroSign::kept && to.format.element.has_negative_zero()) {
    const float of_zeros = zero == ZeroSign::minus_zero ? -0.0F : 0.0F;
    for (std::size_t i = 0; i < n; ++i) rounded[i] = scaled[i] == 0 ? of_zeros : rounded[i];
  }
}

/// Multiplies the numbers of whole blocks by their scales, by vectors that fill them.
template <class V, std::size_t fixed>
void unscale_whole_blocks(const float* in, std::size_t blocks, std::size_t width,
                          const float* scales, float decode, bool streamed, float* out) {
  const std::size_t size = fixed == 0 ? width : fixed;
  const auto of_tensor = V::set_number(decode);
  for (std::size_t block = 0; block < blocks; ++block, in += size, out += size) {
    const auto scale = V::set_number(scales[block]);
    for (std::size_t i = 0; i < size; i += V::lanes) {
      const auto x = V::mul(V::number(V::load(in + i)), scale);
      V::put(streamed, out + i, V::bits(V::mul(x, of_tensor)));
    }
  }
}

/// Multiplies rounded numbers by their scales; these are finite.
template <class V>
void unscale_numbers(const float* rounded, std::size_t n, std::size_t width, const float* scales,
                     float decode, bool streamed, float* out) {
  std::size_t done = 0;
  if constexpr (requires { V::lanes; }) {
    if (width % V::lanes == 0 && reinterpret_cast<std::uintptr_t>(out) % V::bytes == 0) {
      with_width<V>(width, [&](auto fixed) {
        unscale_whole_blocks<V, fixed()>(rounded, n / width, width, scales, decode, streamed, out);
      });
      done = n / width * width;
      rounded += done;
      scales += done / width;
    }
  }
  const auto multiply = [=](float x, float scale) { return x * scale * decode; };
  if (!streamed || done > 0) {
    return each_of_blocks<V>(rounded, n - done, width, scales, out + done, multiply);
  }
  std::array<float, block_tile> values;
  each_of_blocks<V>(rounded, n, width, scales, values.data(), multiply);
  stream_out<V>(reinterpret_cast<const std::byte*>(values.data()),
                reinterpret_cast<std::byte*>(out), n * sizeof(float));
}

template <class V, auto encode, auto quantize, auto decode>
void block_quantize_tiles(const BlockQuantizer& to, const float* in, std::size_t n,
                          std::size_t width, const std::uint32_t* factors,
                          const std::uint32_t* scales, std::uint64_t first, bool streamed,
                          float* out, EventCounts& counts) {
  const bool known = knows_codes(to) && value_plan(to.format, to.tensor.decode).in_f32 &&
                     to.attributes.saturation == Saturation::finite &&
                     (to.tensor.decode & block_steps::magnitude) < block_steps::infinity;
  const Quantizer element = element_quantizer<V>(to);
  const auto tensor = std::bit_cast<float>(to.tensor.decode);
  const std::size_t bytes = code_bytes(to.format.element);
  each_block_tile<V>(
      n, width, factors, [&](std::size_t begin, std::size_t count, const float* of_tile) {
        std::array<float, block_tile> scaled, rounded, floats;
        const std::size_t blocks = (count + width - 1) / width;
        const std::uint32_t* const tile_scales = scales + begin / width;
        scale_values<V, decode>(to.format.scale, tile_scales, blocks, floats.data());
        if (!known || largest_magnitude<V>(floats.data(), blocks) >= block_steps::infinity) {
          std::vector<std::byte> codes(count * bytes);
          block_codes_tiles<V, encode>(to, in + begin, count, width, factors + begin / width,
                                       first + begin, codes.data(), counts);
          return block_values_tiles<V, decode>(to.format, codes.data(), count, width, tile_scales,
                                               to.tensor.decode, streamed, out + begin);
        }
        const std::vector<std::size_t> specials =
            scale_tile<V>(to, in + begin, count, width, of_tile, scaled.data(), counts);
        quantize(scaled.data(), rounded.data(), count, first + begin, element, counts);
        finish_zeros<V>(to, scaled.data(), count, rounded.data());
        std::vector<float> specials_in;  // out may be in
        for (const std::size_t i : specials) specials_in.push_back(in[begin + i]);
        unscale_numbers<V>(rounded.data(), count, width, floats.data(), tensor, streamed,
                           out + begin);
        if constexpr (requires { V::streamed(); }) {
          if (streamed && !specials.empty()) V::streamed();
        }
        for (std::size_t k = 0; k < specials.size(); ++k) {
          const std::size_t i = specials[k], block = (begin + i) / width;
          definitions().block_quantize(to, &specials_in[k], 1, 1, factors + block, scales + block,
                                       first + begin + i, false, out + begin + i, counts);
        }
      });
  if constexpr (requires { V::streamed(); }) {
    if (streamed) V::streamed();
  }
}

template <class V>
void pack_4_loops(const std::byte* codes, std::size_t n, std::byte* out, NibbleOrder order) {
  const int first = order == NibbleOrder::low_first ? 0 : 4;
  for (std::size_t i = 0; i < n / 2; ++i) {
    std::uint16_t two;
    std::memcpy(&two, codes + 2 * i, sizeof two);
    constexpr bool little = std::endian::native == std::endian::little;
    const unsigned low = (little ? two : two >> 8) & 0xFU, high = (little ? two >> 8 : two) & 0xFU;
    out[i] = static_cast<std::byte>(low << first | high << (4 - first));
  }
  if (n % 2 == 1) binade::pack_4(codes + n - 1, 1, out + n / 2, order);
}

}  // namespace binade::fast

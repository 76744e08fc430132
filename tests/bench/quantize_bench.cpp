// SPDX-License-Identifier: Apache-2.0
//
// Rows of quantize, encode, decode and unscale of an array, and of random words.
#include <string>

#include "lib/range/fate.h"
#include "tests/bench/arrays.h"
#include "tests/bench/rows.h"

namespace binade::bench {
namespace {

constexpr Traffic floats{1, sizeof(float), sizeof(float)};
constexpr Limit memcpy_of_floats{floats, true};

Arrays floats_to_output() { return {{reinterpret_cast<const std::byte*>(input())}, output()}; }

const float* in_floats(const Arrays& arrays) {
  return reinterpret_cast<const float*>(arrays.in[0]);
}
float* out_floats(const Arrays& arrays) { return reinterpret_cast<float*>(arrays.out); }

std::string name_of_work(const char* what, const NamedFormat& format, Rounding rounding) {
  return std::string(what) + "/" + std::string(format.name) + "/" +
         std::string(rounding_name(rounding));
}

void add_quantize(std::size_t n, const NamedFormat& format, Rounding rounding) {
  const Quantizer to{.format = format.format, .attributes = {.rounding = rounding}};
  const Work work{.name = name_of_work("quantize", format, rounding),
                  .n = n,
                  .limit = memcpy_of_floats,
                  .arrays = &floats_to_output,
                  .run = [to](const Kernels& kernels, const Arrays& arrays, std::size_t begin,
                              std::size_t end) {
                    EventCounts counts;
                    kernels.quantize_f32(in_floats(arrays) + begin, out_floats(arrays) + begin,
                                         end - begin, begin, to, counts);
                  }};
  add_rows(work, levels_of(&Kernels::quantize_f32));
  const bool alone = rounding != Rounding::ties_to_even && rounding != Rounding::stochastic;
  if (n > in_l2 && !alone) add_thread_rows(work, levels_of(&Kernels::quantize_f32));
}

void add_encode(std::size_t n, const NamedFormat& format, Rounding rounding) {
  const Quantizer to{.format = format.format, .attributes = {.rounding = rounding}};
  const std::size_t size = code_bytes(format.format);
  const Work work{.name = name_of_work("encode", format, rounding),
                  .n = n,
                  .limit = {{1, sizeof(float), size}},
                  .arrays = &floats_to_output,
                  .run = [to, size](const Kernels& kernels, const Arrays& arrays, std::size_t begin,
                                    std::size_t end) {
                    EventCounts counts;
                    kernels.encode_f32(in_floats(arrays) + begin, arrays.out + begin * size,
                                       end - begin, begin, to, counts);
                  }};
  add_rows(work, levels_of(&Kernels::encode_f32));
  const bool alone = rounding != Rounding::ties_to_even;
  if (n > in_l2 && !alone) add_thread_rows(work, levels_of(&Kernels::encode_f32));
}

void add_decode(std::size_t n, const NamedFormat& format) {
  const Format& f = format.format;
  const std::size_t size = code_bytes(f);
  add_rows({.name = "decode/" + std::string(format.name),
            .n = n,
            .limit = {{1, size, sizeof(float)}},
            .arrays =
                [f] {
                  return Arrays{{codes(f)}, output()};
                },
            .run =
                [f, size](const Kernels& kernels, const Arrays& arrays, std::size_t begin,
                          std::size_t end) {
                  kernels.decode_f32(arrays.in[0] + begin * size, out_floats(arrays) + begin,
                                     end - begin, f);
                }},
           levels_of(&Kernels::decode_f32));
}

/// Adds rows that unscale gradients of a format, which had a loss scale of 2^16.
void add_unscale(std::size_t n, const NamedFormat& format) {
  const Format& f = format.format;
  add_rows(
      {.name = "unscale/" + std::string(format.name),
       .n = n,
       .limit = memcpy_of_floats,
       .arrays =
           [f] {
             return Arrays{{reinterpret_cast<const std::byte*>(operand(f, 0))}, output()};
           },
       .run =
           [f](const Kernels& kernels, const Arrays& arrays, std::size_t begin, std::size_t end) {
             kernels.unscale_f32(in_floats(arrays) + begin, out_floats(arrays) + begin, end - begin,
                                 f, 0x1p-16F);
           }},
      levels_of(&Kernels::unscale_f32));
}

void add_random_words(std::size_t n) {
  add_rows(
      {.name = "random_words",
       .n = n,
       .limit = {{0, 0, sizeof(std::uint32_t)}},
       .arrays =
           [] {
             return Arrays{{}, output()};
           },
       .run =
           [](const Kernels& kernels, const Arrays& arrays, std::size_t begin, std::size_t end) {
             kernels.random_words(1, 2, begin, end - begin,
                                  reinterpret_cast<std::uint32_t*>(arrays.out) + begin);
           }},
      levels_of(&Kernels::random_words));
}

}  // namespace

void add_quantizers() {
  for (const std::size_t n : {in_l2, from_dram}) {
    for (const NamedFormat& format : report_formats) {
      for (const NamedRounding& row : roundings) add_quantize(n, format, row.rounding);
    }
    for (const NamedFormat& format : report_formats) {
      for (const NamedRounding& row : roundings) add_encode(n, format, row.rounding);
    }
    for (const NamedFormat& format : report_formats) add_decode(n, format);
    add_random_words(n);
  }
  for (const std::size_t n : {in_l2, several_from_dram}) {
    for (const NamedFormat& format :
         {NamedFormat{"binary32", binary32, ""}, report_formats[0], report_formats[1]}) {
      add_unscale(n, format);
    }
  }
}

}  // namespace binade::bench

// SPDX-License-Identifier: Apache-2.0
//
// The rows `reference` and `portable` of the table, and the full rows that callers get: each entry is wrapped in a
// function that sets the default floating-point environment first.
#include "emulate/fast/kernels.h"

#include <type_traits>
#include <utility>

#include "emulate/fast/decode.h"
#include "emulate/fast/elementwise.h"
#include "emulate/fast/encode.h"
#include "emulate/fast/environment.h"
#include "emulate/fast/histogram.h"
#include "emulate/fast/nonfinite.h"
#include "emulate/fast/quantize.h"
#include "emulate/fast/stochastic.h"
#include "emulate/fast/unscale.h"

namespace binade {
namespace {

void random_words_by_definition(std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                                std::size_t n, std::uint32_t* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = random_word(seed, stream, first + i);
}

template <std::floating_point T>
void range_count_by_definition(const T* in, std::size_t n, RangeBlock<T>& block,
                               fast::RangeCells&) {
  range_count(in, n, block);
}

constexpr Kernels reference{
    .quantize_f32 = &quantize<float>,
    .quantize_f64 = &quantize<double>,
    .encode_f32 = &quantize_to_codes<float>,
    .encode_f64 = &quantize_to_codes<double>,
    .decode_f32 = &values_of_codes<float>,
    .decode_f64 = &values_of_codes<double>,
    .random_words = &random_words_by_definition,
    .unscale_f32 = &unscale,
    .elementwise_f32 = &elementwise<float>,
    .elementwise_f64 = &elementwise<double>,
    .range_count_f32 = &range_count_by_definition<float>,
    .range_count_f64 = &range_count_by_definition<double>,
    .histogram_8 = &histogram<8>,
    .histogram_16 = &histogram<16>,
    .any_nonfinite = &any_nonfinite,
    .dot_blocks = &defined_dots,
    .chains = &defined_dots,
    .integers = &defined_dots,
    .dots = &defined_dots,
    .add_sums = &add_sums,
    .epilogue = &epilogue_row,
    .epilogue_f32 = &epilogue_values,
};

constexpr Kernels portable{
    .quantize_f32 = &fast::quantize,
    .quantize_f64 = &fast::quantize,
    .encode_f32 = &fast::quantize_to_codes,
    .encode_f64 = &fast::quantize_to_codes,
    .decode_f32 = &fast::values_of_codes,
    .decode_f64 = &fast::values_of_codes,
    .random_words = &fast::random_words,
    .unscale_f32 = &fast::unscale,
    .elementwise_f32 = &fast::elementwise,
    .range_count_f32 = &fast::range_count,
    .histogram_8 = &fast::histogram,
    .histogram_16 = &fast::histogram,
    .any_nonfinite = &fast::any_nonfinite,
    .dot_blocks = &fast::dot_blocks,
    .chains = &fast::chains,
    .integers = &fast::integers,
    .add_sums = &fast::add_sums,
    .epilogue = &fast::epilogue_row,
    .epilogue_f32 = &fast::epilogue_values,
};

#ifdef __x86_64__
}  // namespace
extern const Kernels avx2_kernels, avx512_kernels;
namespace {
#else
constexpr Kernels avx2_kernels, avx512_kernels;
#endif

/// A level's own entry as callers get it: `enter` sets the default floating-point environment, calls the entry, and
/// restores the caller's environment.
template <Level level, auto entry, class Entry = std::remove_cvref_t<decltype(Kernels{}.*entry)>>
struct Door;

template <class Function>
Function* opaque(Function* kernel) {
  // The compiler cannot see through the pointer, so it moves none of the kernel's arithmetic in front of the
  // environment.
  asm volatile("" : "+r"(kernel) : : "memory");
  return kernel;
}

template <Level level, auto entry, class Result, class... Arguments>
struct Door<level, entry, Result (*)(Arguments...)> {
  static Result enter(Arguments... arguments) {
    const fast::DefaultEnvironment environment;
    return opaque(own_kernels(level).*entry)(arguments...);
  }
  static constexpr auto value = &enter;
};

template <Level level, auto entry>
struct Door<level, entry, const ProductKernel*> {
  template <auto step, class Step = std::remove_cvref_t<decltype(ProductKernel{}.*step)>>
  struct StepDoor;
  template <auto step, class Result, class... Arguments>
  struct StepDoor<step, Result (*)(Arguments...)> {
    static Result enter(Arguments... arguments) {
      const fast::DefaultEnvironment environment;
      return opaque((own_kernels(level).*entry)->*step)(arguments...);
    }
  };
  static constexpr ProductKernel kernel{
      &StepDoor<&ProductKernel::packing>::enter, &StepDoor<&ProductKernel::place>::enter,
      &StepDoor<&ProductKernel::decode>::enter,  &StepDoor<&ProductKernel::pack>::enter,
      &StepDoor<&ProductKernel::run>::enter,     &StepDoor<&ProductKernel::sum>::enter};
  static constexpr const ProductKernel* value = &kernel;
};

template <auto entry, std::size_t... level>
void open_doors(std::array<Kernels, levels.size()>& tables, std::index_sequence<level...>) {
  const auto open = [&]<std::size_t at>() {
    if (own_kernels(static_cast<Level>(at)).*entry != nullptr) {
      tables[at].*entry = Door<static_cast<Level>(at), entry>::value;
    } else if constexpr (at > 0) {
      tables[at].*entry = tables[at - 1].*entry;
    }
  };
  (open.template operator()<level>(), ...);
}

template <std::size_t... name>
std::array<Kernels, levels.size()> doors(std::index_sequence<name...>) {
  std::array<Kernels, levels.size()> out;
  (open_doors<std::get<name>(kernel_names).entry>(out, std::make_index_sequence<levels.size()>{}),
   ...);
  return out;
}

}  // namespace

const Kernels& own_kernels(Level level) {
  switch (level) {
    case Level::reference: return reference;
    case Level::portable: return portable;
    case Level::avx2: return avx2_kernels;
    case Level::avx512: return avx512_kernels;
  }
  return reference;
}

const Kernels& kernels(Level level) {
  static const std::array<Kernels, levels.size()> tables =
      doors(std::make_index_sequence<std::tuple_size_v<decltype(kernel_names)>>{});
  return tables[static_cast<std::size_t>(level)];
}

}  // namespace binade

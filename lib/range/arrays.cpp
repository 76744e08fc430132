// SPDX-License-Identifier: Apache-2.0
//
// Checks what is given, and calls the kernels on pieces of the arrays.
#include "lib/range/arrays.h"

#include <string>
#include <string_view>

#include "lib/format/dtype.h"
#include "lib/format/format_spec.h"
#include "lib/range/counted_loop.h"
#include "lib/range/counter.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::size_t arrays_grain = std::size_t{1} << 14;

void require_size(std::string_view what, std::size_t size, std::size_t wanted) {
  if (size == wanted) return;
  throw Error(std::string(what) + ": " + std::to_string(size) + " elements, not " +
              std::to_string(wanted) + "; give spans of the same size");
}

/// Throws Error unless T holds every number of the format.
template <std::floating_point T>
void require_carried(const Format& f) {
  if (fits_in(f, Carrier<T>::format)) return;
  throw Error(spec_of(f) + ": not all of its numbers are numbers of " +
              (std::is_same_v<T, float> ? "float; give spans of double" : "double"));
}

template <std::floating_point T>
EventCounts quantize_values(std::span<const T> in, std::span<T> out, const Quantizer& to,
                            std::uint64_t first) {
  require_size("out", out.size(), in.size());
  require_carried<T>(to.format);
  const auto kernel = fastest_kernels().*KernelsOf<T>::quantize;
  return counted_loop(
      in.size(), arrays_grain, [&](std::size_t begin, std::size_t end, EventCounts& counts) {
        kernel(in.data() + begin, out.data() + begin, end - begin, first + begin, to, counts);
      });
}

template <std::floating_point T>
EventCounts encode_values(std::span<const T> in, std::span<std::byte> out, const Quantizer& to,
                          std::uint64_t first) {
  const std::size_t width = code_bytes(to.format);
  require_size("out", out.size(), in.size() * width);
  const auto kernel = fastest_kernels().*KernelsOf<T>::encode;
  return counted_loop(in.size(), arrays_grain,
                      [&](std::size_t begin, std::size_t end, EventCounts& counts) {
                        kernel(in.data() + begin, out.data() + begin * width, end - begin,
                               first + begin, to, counts);
                      });
}

template <std::floating_point T>
void decode_values(std::span<const std::byte> in, std::span<T> out, const Format& format) {
  const std::size_t width = code_bytes(format);
  require_size("in", in.size(), out.size() * width);
  require_carried<T>(format);
  const auto kernel = fastest_kernels().*KernelsOf<T>::decode;
  parallel_for(out.size(), arrays_grain, [&](std::size_t begin, std::size_t end, std::size_t) {
    kernel(in.data() + begin * width, out.data() + begin, end - begin, format);
  });
}

template <std::floating_point T>
EventCounts operate_on_values(std::span<const T> a, std::span<const T> b, std::span<const T> c,
                              std::span<T> out, const Elementwise& how, std::uint64_t first) {
  const std::span<const T> operands[]{a, b, c};
  const char* const names[]{"a", "b", "c"};
  for (std::size_t i = 0; i < 3; ++i) {
    const bool is_used = i < static_cast<std::size_t>(operand_count(how.operation));
    require_size(names[i], operands[i].size(), is_used ? out.size() : 0);
    if (is_used) require_carried<T>(how.from[i]);
  }
  require_carried<T>(how.to);
  const auto kernel = fastest_kernels().*KernelsOf<T>::elementwise;
  const auto at = [](std::span<const T> x, std::size_t begin) {
    return x.empty() ? nullptr : x.data() + begin;
  };
  return counted_loop(out.size(), arrays_grain,
                      [&](std::size_t begin, std::size_t end, EventCounts& counts) {
                        kernel(at(a, begin), at(b, begin), at(c, begin), out.data() + begin,
                               end - begin, first + begin, how, counts);
                      });
}

template <std::floating_point T>
RangeSummary summary_of_values(std::span<const T> values, const std::vector<ErrorColumn>& columns) {
  if (columns.size() > max_error_columns) {
    throw Error(std::to_string(columns.size()) + " columns of squared errors; give at most " +
                std::to_string(max_error_columns));
  }
  RangeCounter counter(columns);
  counter.add(std::as_bytes(values), *find_dtype(std::is_same_v<T, float> ? "F32" : "F64"));
  return counter.finish();
}

}  // namespace

EventCounts quantize(std::span<const float> in, std::span<float> out, const Quantizer& to,
                     std::uint64_t first) {
  return quantize_values(in, out, to, first);
}
EventCounts quantize(std::span<const double> in, std::span<double> out, const Quantizer& to,
                     std::uint64_t first) {
  return quantize_values(in, out, to, first);
}

EventCounts quantize_to_codes(std::span<const float> in, std::span<std::byte> out,
                              const Quantizer& to, std::uint64_t first) {
  return encode_values(in, out, to, first);
}
EventCounts quantize_to_codes(std::span<const double> in, std::span<std::byte> out,
                              const Quantizer& to, std::uint64_t first) {
  return encode_values(in, out, to, first);
}

void values_of_codes(std::span<const std::byte> in, std::span<float> out, const Format& format) {
  decode_values(in, out, format);
}
void values_of_codes(std::span<const std::byte> in, std::span<double> out, const Format& format) {
  decode_values(in, out, format);
}

EventCounts elementwise(std::span<const float> a, std::span<const float> b,
                        std::span<const float> c, std::span<float> out, const Elementwise& how,
                        std::uint64_t first) {
  return operate_on_values(a, b, c, out, how, first);
}
EventCounts elementwise(std::span<const double> a, std::span<const double> b,
                        std::span<const double> c, std::span<double> out, const Elementwise& how,
                        std::uint64_t first) {
  return operate_on_values(a, b, c, out, how, first);
}

RangeSummary range_summary(std::span<const float> values, const std::vector<ErrorColumn>& columns) {
  return summary_of_values(values, columns);
}
RangeSummary range_summary(std::span<const double> values,
                           const std::vector<ErrorColumn>& columns) {
  return summary_of_values(values, columns);
}

}  // namespace binade

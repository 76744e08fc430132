// SPDX-License-Identifier: Apache-2.0
//
// Checks what is given, and calls the kernels on pieces of the arrays.
#include "lib/range/arrays.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "lib/format/dtype.h"
#include "lib/format/format_spec.h"
#include "lib/range/counted_loop.h"
#include "lib/range/counter.h"
#include "lib/range/fate.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::size_t arrays_grain = std::size_t{1} << 14;

void require_size(std::string_view what, std::size_t size, std::size_t wanted) {
  if (size == wanted) return;
  throw Error(std::string(what) + ": " + std::to_string(size) + " elements, not " +
              std::to_string(wanted) + "; give spans of the same size");
}

/// Throws Error unless the emulator computes with a format.
void require_format(std::string_view what, const Format& f) {
  if (is_valid(f) && f.specials <= Specials::fnuz) return;
  throw Error(std::string(what) +
              ": no format that is computed with; give a named one, or one of " + "parse_format()");
}

/// Throws Error unless the enumerations have such values and random_bits is from 1 to 32.
void require_attributes(const Attributes& x) {
  const bool known = static_cast<std::size_t>(x.rounding) < roundings.size() &&
                     x.saturation <= Saturation::finite &&
                     x.tininess <= Tininess::before_rounding && x.nan <= NanResult::propagate;
  if (!known) {
    throw Error(
        "attributes: a rounding, saturation, tininess or nan that there is not; give one "
        "of its enumeration");
  }
  if (x.random_bits < 1 || x.random_bits > 32) {
    throw Error("attributes.random_bits " + std::to_string(x.random_bits) +
                ": give an integer from 1 to 32");
  }
}

void require_quantizer(const Quantizer& to) {
  require_format("format", to.format);
  if (to.operands.precision != 0) require_format("operands", to.operands);
  require_attributes(to.attributes);
}

/// Throws Error if a summary cannot have these columns, with the words of summary_from_bytes()
/// where that would refuse them.
void require_columns(const std::vector<ErrorColumn>& columns) {
  if (columns.size() > max_error_columns) {
    throw Error(std::to_string(columns.size()) + " columns of squared errors; give at most " +
                std::to_string(max_error_columns));
  }
  for (const ErrorColumn& column : columns) {
    const Format& f = column.format;
    require_format("columns", f);
    if (column.scale_log2 < lowest_scale_log2 || column.scale_log2 > highest_scale_log2) {
      throw Error("columns: no such scale, 2^" + std::to_string(column.scale_log2) +
                  "; give one from 2^" + std::to_string(lowest_scale_log2) + " to 2^" +
                  std::to_string(highest_scale_log2));
    }
    const int unit = 2 * (f.emax() - f.fraction_bits() - column.scale_log2);
    if (!f.has_zero || !fits_in(f, binary64) || unit < ExactSum::unit_exponent) {
      throw Error("columns: " + spec_of(f) +
                  ", whose squared errors a summary does not sum; give a format of the report");
    }
    if (std::ranges::count(columns, column) > 1) {
      throw Error("columns: a column twice; give each format and scale once");
    }
  }
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
  require_quantizer(to);
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
  require_quantizer(to);
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
  require_format("format", format);
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
  if (static_cast<std::size_t>(how.operation) >= operations.size()) {
    throw Error("operation: there is none of this number; give one of Operation");
  }
  require_format("to", how.to);
  require_attributes(how.attributes);
  const std::span<const T> operands[]{a, b, c};
  const char* const names[]{"a", "b", "c"};
  for (std::size_t i = 0; i < 3; ++i) {
    const bool is_used = i < static_cast<std::size_t>(operand_count(how.operation));
    require_size(names[i], operands[i].size(), is_used ? out.size() : 0);
    if (!is_used) continue;
    require_format("from", how.from[i]);
    require_carried<T>(how.from[i]);
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
  require_columns(columns);
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

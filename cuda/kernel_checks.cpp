// SPDX-License-Identifier: Apache-2.0
//
// The cases on which the bulk kernels are checked: every format, rounding and model, sizes around
// that of a block of threads, and places in a stream at which groups of four are not aligned.
#include "cuda/kernel_checks.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <span>

#include "cuda/emulated_matmul.h"
#include "cuda/gemm.h"
#include "cuda/quantize.h"
#include "cuda/range_count.h"
#include "lib/device/matrix_product.h"

namespace binade {
namespace {

constexpr std::uint64_t seed = 1;

/// Compares results one by one and keeps the account of a check.
class KernelComparison {
 public:
  KernelComparison(std::string kernel, std::string what) {
    check_.kernel = std::move(kernel);
    check_.what = std::move(what);
  }

  void add(const std::string& where, std::uint64_t got, std::uint64_t want) {
    check_.values += 1;
    if (got == want) return;
    if (check_.different++ > 0) return;
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), ": GPU 0x%llX, definition 0x%llX",
                  static_cast<unsigned long long>(got), static_cast<unsigned long long>(want));
    check_.first = where + text.data();
  }
  template <class Code>
  void add(std::span<const Code> got, std::span<const Code> want) {
    check_.values += want.size();
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (got[i] == want[i]) continue;
      check_.values -= 1;  // counted where it differs
      add("element " + std::to_string(i) + " of " + std::to_string(want.size()), got[i], want[i]);
    }
  }
  KernelCheck done() const { return check_; }

 private:
  KernelCheck check_;
};

/// Returns encodings of floats: one in eight has any bits, the others lie around 2^-28 to 2^4.
std::vector<std::uint32_t> float_bits(std::size_t n, std::uint64_t stream) {
  std::vector<std::uint32_t> out(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::array<std::uint32_t, 4> x = random_words(seed, stream, i);
    const std::uint32_t field = 99 + x[1] % 33;
    out[i] = x[2] % 8 == 0 ? x[0] : (x[0] & 0x807FFFFF) | field << 23;
  }
  return out;
}

std::vector<float> floats_of(const std::vector<std::uint32_t>& bits) {
  std::vector<float> out(bits.size());
  std::transform(bits.begin(), bits.end(), out.begin(),
                 [](std::uint32_t x) { return std::bit_cast<float>(x); });
  return out;
}
std::vector<std::uint32_t> bits_of_all(const std::vector<float>& values) {
  std::vector<std::uint32_t> out(values.size());
  std::transform(values.begin(), values.end(), out.begin(),
                 [](float x) { return std::bit_cast<std::uint32_t>(x); });
  return out;
}

void add_counts(KernelComparison& to, const EventCounts& got, const EventCounts& want) {
  to.add("count of values", got.values, want.values);
  to.add("count of NaN in", got.nan_in, want.nan_in);
  to.add("count of Inf in", got.inf_in, want.inf_in);
  to.add("count of invalid", got.invalid, want.invalid);
  to.add("count of to zero", got.to_zero, want.to_zero);
  to.add("count of subnormal", got.subnormal, want.subnormal);
  to.add("count of overflow", got.overflow, want.overflow);
  to.add("count of saturated", got.saturated, want.saturated);
  to.add("count of inexact", got.inexact, want.inexact);
}

KernelCheck check_quantize(const NamedFormat& format, const NamedRounding& rounding) {
  KernelComparison out("quantize", std::string(format.name) + " " + std::string(rounding.name));
  static const std::vector<float> all = floats_of(float_bits(100'003, 1));
  struct Case {
    std::size_t n;
    std::uint64_t first;
    bool flush;
  };
  for (const Case& x :
       {Case{all.size(), 0, false}, {40'001, 3, true}, {1, 1, false}, {1029, 1u << 20, true}}) {
    const Quantizer to{format.format,
                       {.rounding = rounding.rounding,
                        .saturation = x.flush ? Saturation::finite : Saturation::none,
                        .flush_results = x.flush,
                        .flush_operands = x.flush,
                        .random_bits = x.flush ? 12 : 32},
                       seed,
                       x.first};
    const std::span<const float> in(all.data(), x.n);
    std::vector<float> got(x.n), want(x.n);
    EventCounts got_counts, want_counts;
    quantize_on_gpu(in, got, x.first, to, got_counts);
    quantize(in.data(), want.data(), x.n, x.first, to, want_counts);
    out.add<std::uint32_t>(bits_of_all(got), bits_of_all(want));
    add_counts(out, got_counts, want_counts);
  }
  return out.done();
}

KernelCheck check_range_count(std::size_t n, const std::vector<ErrorColumn>& columns,
                              decltype(&range_count_on_gpu) count, const std::string& how) {
  KernelComparison out("range_count", std::to_string(n) + " floats, " +
                                          std::to_string(columns.size()) + " error columns" + how);
  const std::vector<float> in = floats_of(float_bits(n, 2));
  const auto got = std::make_unique<RangeBlock<float>>();
  const auto want = std::make_unique<RangeBlock<float>>();
  got->reset(columns);
  want->reset(columns);
  count(in, columns, *got);
  range_count(in.data(), n, *want);
  out.add("zeros", got->zeros, want->zeros);
  out.add("NaNs", got->nan, want->nan);
  out.add("infinities", got->inf, want->inf);
  out.add("negatives", got->negative, want->negative);
  out.add("smallest", got->smallest, want->smallest);
  out.add("largest", got->largest, want->largest);
  const auto wide = [&out](const std::string& where, uint128 a, uint128 b) {
    out.add(where + ", low", static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b));
    out.add(where + ", high", static_cast<std::uint64_t>(a >> 64),
            static_cast<std::uint64_t>(b >> 64));
  };
  for (std::size_t i = 0; i < want->rows.size(); ++i) {
    const std::string row =
        "binade " + std::to_string(RangeBlock<float>::lowest + static_cast<int>(i));
    for (std::size_t s = 0; s < want->rows[i].count.size(); ++s) {
      out.add(row + " count", got->rows[i].count[s], want->rows[i].count[s]);
      out.add(row + " sum", got->rows[i].sum[s], want->rows[i].sum[s]);
    }
    wide(row + " squares", got->rows[i].squares, want->rows[i].squares);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      wide(row + " squared error", got->rows[i].squared_error[c], want->rows[i].squared_error[c]);
    }
  }
  return out.done();
}

/// Where the exponents of operands lie: such that products and c are about 1, or that products lie
/// below the smallest numbers.
enum class Magnitudes : std::uint8_t { about_one, tiny };

/// Returns codes of a format: one in 64 has any bits, the others have near exponents.
std::vector<std::uint64_t> codes_of(const Format& f, std::size_t n, std::uint64_t stream,
                                    Magnitudes magnitudes = Magnitudes::about_one) {
  const int lowest = magnitudes == Magnitudes::tiny ? f.bias / 2 - 7 : f.bias - 7;
  std::vector<std::uint64_t> out(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::array<std::uint32_t, 4> x = random_words(seed, stream, i);
    const std::uint64_t bits = std::uint64_t{x[0]} << 32 | x[1];
    const int field = std::clamp(lowest + static_cast<int>(x[2] % 15), 0,
                                 static_cast<int>(f.exponent_mask()) - 1);
    const Fields near{x[3] % 2 == 0, static_cast<std::uint64_t>(field), bits & f.fraction_mask()};
    out[i] = x[3] % 64 == 0 ? bits >> (64 - f.bits()) << f.padding_bits : bits_of(near, f);
  }
  return out;
}

std::vector<std::uint64_t> matmul_by_definition(const Matmul& x,
                                                const std::vector<std::uint64_t>& a,
                                                const std::vector<std::uint64_t>& b,
                                                const std::vector<std::uint64_t>& c) {
  std::vector<std::uint64_t> d(c.size());
  const auto n = static_cast<std::size_t>(x.n);
  const auto k = static_cast<std::size_t>(x.k);
  for (std::size_t i = 0; i < d.size(); ++i) {
    d[i] = dot(x.model, x.types, a.data() + i / n * k, b.data() + i % n * k, x.k, c[i]);
  }
  return d;
}

/// Returns types that a row of the table is for.
DotTypes types_of(const ModelRow& row) {
  DotTypes out{row.d, row.d, row.unlike_c ? binary32 : row.d, row.d};
  for (const NamedFormat& f : formats) {
    if (contains(row.operands, f.format)) out.a = out.b = f.format;
  }
  return out;
}

KernelCheck check_emulated_matmul(const ModelRow& row, Magnitudes magnitudes) {
  const DotTypes types = types_of(row);
  KernelComparison out("emulated matmul", "sm_" + std::to_string(row.first_sm) + " " +
                                              std::string(format_name(types.d)) + " of " +
                                              std::string(format_name(types.a)) + ", blocks of " +
                                              std::to_string(row.model.block) +
                                              (magnitudes == Magnitudes::tiny ? ", tiny" : ""));
  const int k = row.model.recipe == Recipe::expanded ? 32 : 3 * row.model.block + 5;
  const Matmul x{row.model, types, 130, 70, k};
  const auto size = [](int n, int m) {
    return static_cast<std::size_t>(n) * static_cast<std::size_t>(m);
  };
  const auto a = codes_of(types.a, size(x.m, k), 4, magnitudes);
  const auto b = codes_of(types.b, size(x.n, k), 5, magnitudes);
  const bool is_tiny = magnitudes == Magnitudes::tiny;
  const auto c = is_tiny ? std::vector<std::uint64_t>(size(x.m, x.n), zero_bits(types.c, true))
                         : codes_of(types.c, size(x.m, x.n), 6);
  EmulatedMatmul on_gpu(x, a, b, c);
  on_gpu.launch();
  std::vector<std::uint64_t> got(c.size());
  on_gpu.results(got);
  out.add<std::uint64_t>(got, matmul_by_definition(x, a, b, c));
  return out.done();
}

KernelCheck check_gemm(const Instruction& how) {
  KernelComparison out("gemm", "mma.m16n8k" + std::to_string(how.k) + " " +
                                   std::string(format_name(how.types.d)) + " of " +
                                   std::string(format_name(how.types.a)) + " and " +
                                   std::string(format_name(how.types.b)));
  const int m = 200, n = 150, padded = 6 * how.k, k = padded - 3;
  const auto size = [](int rows, int width) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(width);
  };
  const auto a = codes_of(how.types.a, size(m, k), 7);
  const auto b = codes_of(how.types.b, size(n, k), 8);
  const auto c = codes_of(how.types.c, size(m, n), 9);
  Gemm on_gpu(how, m, n, k, a, b, c);
  on_gpu.launch();
  std::vector<std::uint64_t> got(c.size());
  on_gpu.results(got);
  const auto row_of = [&](const std::vector<std::uint64_t>& from, int row) {
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(size(row, k));
    std::vector<std::uint64_t> whole(begin, begin + k);
    whole.resize(static_cast<std::size_t>(padded));
    return whole;
  };
  std::vector<std::uint64_t> want = c;
  for (int i = 0; i < m; ++i) {
    const auto row = row_of(a, i);
    for (int j = 0; j < n; ++j) {
      std::uint64_t& sum = want[size(i, n) + static_cast<std::size_t>(j)];
      sum = chain(how, row.data(), row_of(b, j).data(), padded, sum);
    }
  }
  out.add<std::uint64_t>(got, want);
  return out.done();
}

}  // namespace

std::vector<KernelCheck> check_kernels_on_gpu(int sm) {
  std::vector<KernelCheck> out;
  for (const NamedFormat& format : formats) {
    if (!fits_in(format.format, binary32)) continue;
    for (const NamedRounding& rounding : roundings) out.push_back(check_quantize(format, rounding));
  }
  const std::vector<ErrorColumn> columns{
      {binary16, 0}, {binary16, 8}, {bfloat16, 0}, {e4m3, 3}, {e5m2, -9}};
  out.push_back(check_range_count(3'000'001, columns, &range_count_on_gpu, ""));
  out.push_back(check_range_count(77, {}, &range_count_on_gpu, ""));
  for (const std::size_t n : {std::size_t{100'003}, std::size_t{1}}) {
    out.push_back(check_range_count(n, columns, &range_count_on_own_stream, ", in place"));
  }
  for (const ModelRow& row : model_rows) {  // integers have codes of another kind
    if (row.model.recipe == Recipe::exact_integer) continue;
    out.push_back(check_emulated_matmul(row, Magnitudes::about_one));
    out.push_back(check_emulated_matmul(row, Magnitudes::tiny));
  }
  for (const NamedFormat& a : formats) {
    for (const NamedFormat& b : formats) {
      for (const Format& d : {binary32, binary16}) {
        const std::optional<Instruction> how = gemm_instruction(sm, a.format, b.format, d);
        if (how && has_gemm(*how)) out.push_back(check_gemm(*how));
      }
    }
  }
  return out;
}

}  // namespace binade

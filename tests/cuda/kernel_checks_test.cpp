// SPDX-License-Identifier: Apache-2.0
//
// The checks of the bulk kernels, with the definitions in the GPU's place: they find nothing, look at
// every kernel, and find one bit, one count and one sum that are wrong.
#include "cuda/kernel_checks.h"

#include <doctest/doctest.h>

#include <set>

#include "cuda/emulated_matmul.h"
#include "cuda/gemm.h"
#include "cuda/multiply.h"
#include "cuda/quantize.h"
#include "cuda/range_count.h"

namespace binade {
namespace {

enum class Lie { none, event, all };
Lie lie = Lie::none;

std::vector<std::uint64_t> product_of(const Matmul& x, std::span<const std::uint64_t> a,
                                      std::span<const std::uint64_t> b,
                                      std::span<const std::uint64_t> c) {
  std::vector<std::uint64_t> d(c.size());
  const auto n = static_cast<std::size_t>(x.n);
  const auto k = static_cast<std::size_t>(x.k);
  for (std::size_t i = 0; i < d.size(); ++i) {
    d[i] = dot(x.model, x.types, a.data() + i / n * k, b.data() + i % n * k, x.k, c[i]);
  }
  return d;
}

}  // namespace

void quantize_on_gpu(std::span<const float> in, std::span<float> out, std::uint64_t first,
                     const Quantizer& to, EventCounts& counts) {
  quantize(in.data(), out.data(), in.size(), first, to, counts);
  if (lie == Lie::all && in.size() > 70000) out[70000] = -out[70000];
  if (lie == Lie::event) counts.subnormal += 1;
}

void range_count_on_gpu(std::span<const float> in, std::span<const ErrorColumn>,
                        RangeBlock<float>& block) {
  range_count(in.data(), in.size(), block);
  if (lie == Lie::all) block.rows[100].squares += uint128{1} << 70;
}

struct EmulatedMatmul::OnDevice {
  std::vector<std::uint64_t> d;
};
EmulatedMatmul::EmulatedMatmul(const Matmul& matmul, std::span<const std::uint64_t> a,
                               std::span<const std::uint64_t> b, std::span<const std::uint64_t> c)
    : on_device_(new OnDevice{product_of(matmul, a, b, c)}) {
  if (lie == Lie::all) on_device_->d.back() ^= 1;
}
EmulatedMatmul::~EmulatedMatmul() = default;
void EmulatedMatmul::launch() {}
void EmulatedMatmul::results(std::span<std::uint64_t> d) const {
  std::copy(on_device_->d.begin(), on_device_->d.end(), d.begin());
}

std::optional<Instruction> gemm_instruction(int sm, const Format& a, const Format& b,
                                            const Format& d) {
  return find_instruction(Family::mma, sm, 16, 8, 256 / a.storage_bits(), {a, b, d, d});
}
bool has_gemm(const Instruction& x) {
  return x.types.a == binary16 || (x.types.a == e4m3 && x.types.b == e5m2);
}
struct Gemm::OnDevice {
  std::vector<std::uint64_t> d;
};
/// One Matmul over all of k: for a fused block the same as the chain of instructions.
Gemm::Gemm(const Instruction& how, int m, int n, int k, std::span<const std::uint64_t> a,
           std::span<const std::uint64_t> b, std::span<const std::uint64_t> c)
    : on_device_(new OnDevice{product_of({how.model, how.types, m, n, k}, a, b, c)}) {
  if (lie == Lie::all) on_device_->d[5] += 1;
}
Gemm::~Gemm() = default;
void Gemm::launch() {}
void Gemm::results(std::span<std::uint64_t> d) const {
  std::copy(on_device_->d.begin(), on_device_->d.end(), d.begin());
}

namespace {

struct Checked {
  std::set<std::string> kernels, differing;
};

Checked check_all(Lie how) {
  lie = how;
  Checked out;
  for (const KernelCheck& check : check_kernels_on_gpu(89)) {
    CAPTURE(check.kernel);
    CAPTURE(check.what);
    CAPTURE(check.first);
    CHECK(check.values > 0);
    CHECK((check.different == 0) == check.first.empty());
    out.kernels.insert(check.kernel);
    if (check.different > 0) out.differing.insert(check.kernel);
  }
  return out;
}

const std::set<std::string> all_kernels{"emulated matmul", "gemm", "quantize", "range_count"};

TEST_CASE("the definitions pass their own checks, and every kernel has some") {
  const Checked checked = check_all(Lie::none);
  CHECK(checked.differing.empty());
  CHECK(checked.kernels == all_kernels);
}

/// Codes of any bits but NaNs and infinities, with near exponents.
std::vector<std::uint64_t> some_codes(const Format& f, int n, std::uint64_t stream) {
  std::vector<std::uint64_t> out;
  for (int i = 0; i < n; ++i) {
    const auto x = random_words(3, stream, static_cast<std::uint64_t>(i));
    const auto field = static_cast<std::uint64_t>(f.bias - 2 + static_cast<int>(x[1] % 5));
    out.push_back(bits_of({x[2] % 2 == 0, field, x[0] & f.fraction_mask()}, f));
  }
  return out;
}

struct Multiplied {
  ProductWay way;
  std::uint64_t different = 0;
};

/// A product on a GPU of this architecture against the chains that its elements are.
Multiplied multiplied(int sm, const Instruction& how) {
  const int m = 5, n = 6, k = 4 * how.k;
  const auto a = some_codes(how.types.a, m * k, 1);
  const auto b = some_codes(how.types.b, n * k, 2);
  const auto before = some_codes(how.types.d, m * n, 3);
  auto sums = before;
  Multiplied out{multiply_on_gpu(sm, {how, m, n, k, a, b, sums})};
  for (int at = 0; at < m * n; ++at) {
    const auto i = static_cast<std::size_t>(at);
    const std::uint64_t want =
        chain(how, a.data() + at / n * k, b.data() + at % n * k, k, before[i]);
    out.different += sums[i] == want ? 0 : 1;
  }
  return out;
}

TEST_CASE("products are chains, by the instruction itself only where it is the GPU's own") {
  lie = Lie::none;
  const auto mma = [](int sm, int k, const DotTypes& types) {
    return *find_instruction(Family::mma, sm, 16, 8, k, types);
  };
  const DotTypes halves{binary16, binary16, binary32, binary32};
  const Instruction own = mma(80, 16, halves);
  CHECK(multiplied(80, own).way == ProductWay::instruction);
  CHECK(multiplied(80, own).different == 0);
  Instruction changed = own;
  changed.model.exponent_floor += 3;
  const Instruction half_k = mma(80, 8, halves);
  const Instruction other_sm = mma(90, 16, halves);
  const Instruction wmma = *find_instruction(Family::wmma, 80, 16, 16, 16, halves);
  const Instruction unlike =
      *find_instruction(Family::wmma, 80, 16, 16, 16, {binary16, binary16, binary32, binary16});
  const Instruction two_parts = mma(90, 32, {e4m3, e4m3, binary32, binary32});
  const Instruction rounded{
      .k = 1, .types = halves, .model = {Recipe::fma_chain, 1, 0, 0, binary32}};
  std::size_t one_dot = 0;
  for (const Instruction& how : {changed, half_k, other_sm, wmma, unlike, two_parts, rounded}) {
    CAPTURE(how.sm);
    CAPTURE(how.k);
    const Multiplied got = multiplied(80, how);
    CHECK(got.way == ProductWay::emulated);
    CHECK(got.different == 0);
    one_dot += is_one_dot(how) ? 1 : 0;
  }
  CHECK(one_dot == 5);
}

TEST_CASE("one wrong bit, count, sum or product is found, and only that") {
  CHECK(check_all(Lie::all).differing == all_kernels);
  CHECK(check_all(Lie::event).differing == std::set<std::string>{"quantize"});
}

}  // namespace
}  // namespace binade

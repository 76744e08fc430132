// SPDX-License-Identifier: Apache-2.0
//
// The checks of the bulk kernels, with the definitions in the GPU's place: they find nothing, look
// at every kernel, and find one bit, one count and one sum that are wrong.
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

void range_count_on_own_stream(std::span<const float> in, std::span<const ErrorColumn> columns,
                               RangeBlock<float>& block) {
  range_count_on_gpu(in, columns, block);
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
  const auto instruction = [](Family family, int sm, int n, int k, const DotTypes& types) {
    return *find_instruction(family, sm, 16, n, k, types);
  };
  const DotTypes halves{binary16, binary16, binary32, binary32};
  const Instruction own = instruction(Family::mma, 80, 8, 16, halves);
  const Multiplied by_itself = multiplied(80, own);
  CHECK(by_itself.way == ProductWay::instruction);
  CHECK(by_itself.different == 0);
  const auto changed = [&](const auto& change) {
    Instruction out = own;
    change(out);
    return out;
  };
  struct Row {
    Instruction how;
    bool one_dot;
  };
  const Row rows[] = {
      {instruction(Family::mma, 80, 8, 8, halves), true},
      {instruction(Family::mma, 86, 8, 16, halves), true},
      {instruction(Family::mma, 90, 8, 16, halves), true},
      {instruction(Family::wmma, 80, 16, 16, halves), true},
      {instruction(Family::wmma, 80, 16, 16, {binary16, binary16, binary16, binary32}), false},
      {instruction(Family::wmma, 80, 16, 16, {binary16, binary16, binary32, binary16}), false},
      {instruction(Family::mma, 90, 8, 32, {e4m3, e4m3, binary32, binary32}), false},
      {instruction(Family::mma_sp, 80, 8, 32, halves), false},
      {{.k = 1, .types = halves, .model = {Recipe::fma_chain, 1, 0, 0, binary32}}, true},
      {changed([](Instruction& x) { x.model.exponent_floor += 3; }), true},
      {changed([](Instruction& x) { x.model.block = 12; }), false},
      {changed([](Instruction& x) { x.model.c_last = true; }), false},
      {changed([](Instruction& x) { x.model.descending = true; }), false},
      {changed([](Instruction& x) {
         x.types.c = x.types.d = binary16;
         x.model.through_f32 = true;
       }),
       false},
      {changed([](Instruction& x) {
         x.k = 32;
         x.model.recipe = Recipe::expanded;
       }),
       false},
  };
  for (const Row& row : rows) {
    CAPTURE(&row - rows);
    const Multiplied got = multiplied(80, row.how);
    CHECK(got.way == ProductWay::emulated);
    CHECK(got.different == 0);
    CHECK(is_one_dot(row.how.model, row.how.types, row.how.k) == row.one_dot);
  }
}

TEST_CASE("one wrong bit, count, sum or product is found, and only that") {
  CHECK(check_all(Lie::all).differing == all_kernels);
  CHECK(check_all(Lie::event).differing == std::set<std::string>{"quantize"});
}

}  // namespace
}  // namespace binade

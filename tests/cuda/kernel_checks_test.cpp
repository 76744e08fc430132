// SPDX-License-Identifier: Apache-2.0
//
// The checks of the bulk kernels, with the definitions in the GPU's place: they find nothing, look at
// every kernel, and find one bit, one count and one sum that are wrong.
#include "cuda/kernel_checks.h"

#include <doctest/doctest.h>

#include <set>

#include "cuda/emulated_matmul.h"
#include "cuda/gemm.h"
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
  std::vector<Factor> factors(a.size() + b.size());
  const auto finite = std::make_unique<bool[]>(static_cast<std::size_t>(x.m + x.n));
  matmul(x, a.data(), b.data(), c.data(), d.data(), {factors.data(), finite.get()});
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

TEST_CASE("one wrong bit, count, sum or product is found, and only that") {
  CHECK(check_all(Lie::all).differing == all_kernels);
  CHECK(check_all(Lie::event).differing == std::set<std::string>{"quantize"});
}

}  // namespace
}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Products of hard operands by the vector kernels, of one instruction with a C or of a few in a
// chain. A matrix of dot products at a time is compared, at every level that the machine has, with
// the portable kernels, and one matrix in 64 with the definition, which takes 100 to 3000 ns for a
// dot product. One matrix in eight has infinities and NaNs. Each row of the table has 2^30 dot
// products. `--slice N` tests every N-th matrix; `--threads N`.
#include <cstdio>
#include <mutex>
#include <vector>

#include "lib/gemm/named_gemm.h"
#include "lib/gemm/prepared_product.h"
#include "tests/emulate/dot_draw.h"
#include "tests/outside/patterns.h"

namespace {

using namespace binade;

struct Row {
  const char* instruction;
  int sm;  ///< 0: a chain
};
constexpr Row rows[]{{"mma.m16n8k16.f32.f16.f16.f32", 90},
                     {"mma.m16n8k16.f32.f16.f16.f32", 80},
                     {"wmma.m16n16k16.f32.f16.f16.f32", 70},
                     {"mma.m16n8k16.f16.f16.f16.f16", 90},
                     {"mma.m16n8k16.f32.bf16.bf16.f32", 90},
                     {"mma.m16n8k8.f32.tf32.tf32.f32", 80},
                     {"mma.m16n8k32.f32.e4m3.e4m3.f32", 89},
                     {"mma.m16n8k32.f32.e4m3.e5m2.f32", 90},
                     {"mma.m16n8k32.f32.e4m3.e4m3.f32", 120},
                     {"wgmma.m64n8k32.f32.e5m2.e5m2", 90},
                     {"mma.m8n8k4.f16.f16.f16.f16", 80},
                     {"mma.sp.m16n8k32.f32.f16.f16.f32", 80},
                     {"mma.m16n8k32.s32.s8.s8.s32", 80},
                     {"fma.rn.f32.f32.f32.f32", 0},
                     {"fma.rn.f16.f16.f16.f16", 0},
                     {"mul_add.rn.f16.f16.f16.f16", 0},
                     {"fma.rn.f64.f64.f64.f64", 0}};

constexpr std::size_t side = 64;
constexpr std::uint64_t matrices = (std::uint64_t{1} << 30) / (side * side), by_definition = 64;

GemmOperands draw(test::Random& random, const GemmModel& g, std::size_t k) {
  GemmOperands out{side, side, k, {}, {}, {}, {}};
  const auto append = [](std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  const DotTypes swapped{g.types.b, g.types.a, g.types.c, g.types.d};
  for (std::size_t i = 0; i < side; ++i) {
    append(out.a, test::draw_dot(random, g.types, static_cast<int>(k)).a);
    append(out.b, test::draw_dot(random, swapped, static_cast<int>(k)).a);
  }
  std::vector<std::uint64_t> c(side);
  for (std::uint64_t& x : c) x = test::draw_dot(random, g.types, 1).c;
  for (std::size_t i = 0; i < side * side; ++i) out.c.push_back(c[random() % side]);
  return out;
}

/// Replaces operands that the portable kernels leave to the definition by zeros.
void drop_specials(std::vector<std::uint64_t>& codes, const Format& f) {
  if (is_integer(f)) return;
  for (std::uint64_t& code : codes) {
    const Kind kind = kind_of(fields_of(code, f), f);
    if (kind == Kind::nan || kind == Kind::infinite) code = zero_bits(f, false);
  }
}

struct Total {
  std::mutex mutex;
  std::uint64_t dots = 0, defined = 0, different = 0;
};

void compare(const GemmModel& g, std::uint64_t number, bool is_defined, Total& total) {
  test::Random random(number + 1);
  const std::size_t k = static_cast<std::size_t>(g.k) * (random() % 3 == 0 ? 3 : 1);
  GemmOperands x = draw(random, g, k);
  if (random() % 8 != 0) {
    drop_specials(x.a, g.types.a);
    drop_specials(x.b, g.types.b);
    drop_specials(x.c, g.types.c);
  }
  const ProductShape shape{.k = k, .has_c = true};
  const auto product = [&](Level level) {
    return PreparedProduct(g, shape, kernels(level)).all(x);
  };
  const std::vector<std::uint64_t> want = product(Level::portable);
  std::uint64_t different = is_defined && product(Level::reference) != want ? 1 : 0;
  for (const auto& [name, level] : levels) {
    if (level <= Level::portable || !machine_has(level)) continue;
    const std::vector<std::uint64_t> got = product(level);
    for (std::size_t i = 0; i < want.size(); ++i) different += got[i] == want[i] ? 0 : 1;
  }
  const std::scoped_lock lock(total.mutex);
  total.dots += want.size();
  total.defined += is_defined ? want.size() : 0;
  if (different > 0 && total.different == 0) {
    std::printf("  matrix %llu differs\n", static_cast<unsigned long long>(number));
  }
  total.different += different;
}

}  // namespace

int main(int argc, char** argv) {
  const outside::Options options = outside::options_of(argc, argv);
  bool good = true;
  for (const Row& row : rows) {
    GemmModel g = parse_gemm(row.instruction, row.sm).model;
    g.c = g.types.c;
    g.sum.c_first = true;
    g.epilogue = {.compute = g.types.d, .out = g.types.d};
    Total total;
    outside::in_parallel(options.threads, matrices / options.slice + 1, [&](std::uint64_t i) {
      compare(g, i * options.slice, i % by_definition == 0, total);
    });
    std::printf("sm_%-3d %-34s %9llu dots, %8llu by the definition, %llu different\n", row.sm,
                row.instruction, static_cast<unsigned long long>(total.dots),
                static_cast<unsigned long long>(total.defined),
                static_cast<unsigned long long>(total.different));
    std::fflush(stdout);
    good = good && total.different == 0 && total.defined > 0;
  }
  return good ? 0 : 1;
}

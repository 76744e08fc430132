// SPDX-License-Identifier: Apache-2.0
//
// Writes the account of a small product as a page and as JSON, for the test of the page.
//   write_account PAGE.html ACCOUNT.json
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "emulate/carrier.h"
#include "lib/gemm/account_html.h"
#include "lib/gemm/account_json.h"
#include "lib/gemm/named_gemm.h"

int main(int argc, char** argv) {
  using namespace binade;
  if (argc != 3) return 2;
  NamedGemm g = parse_gemm("wgmma.m64n8k32.f32.e4m3.e5m2", 90);
  g.model.sum.promote_every = 4;
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0, 0.25);
  GemmOperands x{12, 10, 700, {}, {}, {}, {}};
  const auto draw = [&](const Format& f) {
    const double value = normal(random);
    return convert(bits_of(value), binary64, f).bits;
  };
  for (std::size_t i = 0; i < x.m * x.k; ++i) x.a.push_back(draw(e4m3));
  for (std::size_t i = 0; i < x.n * x.k; ++i) x.b.push_back(draw(e5m2));
  x.a[0] = 0x7F;  // a row of NaN
  const GemmTitle title{g.instruction, "sm_90", order_text(g.model), "a.npy × b.npy"};
  const auto json = to_json(account(g.model, x), title);
  std::ofstream(argv[1]) << account_html(json);
  std::ofstream(argv[2]) << json.dump() << "\n";
}

// SPDX-License-Identifier: Apache-2.0
//
// Encodes floats and decodes results by the kernels of lib/range.
#include "lib/gemm/matrices.h"

#include <string>

#include "emulate/instruction_shapes.h"
#include "lib/gemm/model_check.h"
#include "lib/gemm/packed_elements.h"
#include "lib/range/arrays.h"
#include "lib/text/error.h"

namespace binade {
namespace {

void require_floating(const char* what, const Format& f) {
  if (!is_integer(f)) return;
  throw Error(std::string(what) + ": integers, which are their own encodings; use GemmOperands");
}

std::vector<std::uint64_t> encodings_of(std::span<const float> values, const Format& format) {
  if (values.empty()) return {};
  std::vector<std::byte> codes(values.size() * code_bytes(format));
  quantize_to_codes(values, codes, {.format = format});
  std::vector<std::uint64_t> out(values.size());
  unpack_elements(codes, code_bytes(format), out);
  return out;
}

}  // namespace

GemmOperands rounded_operands(const GemmModel& model, const FloatMatrices& x) {
  check(model, {!x.c.empty(), !x.bias.empty()});
  if (x.k == 0) throw Error("k: a size from 1 to 2^30 is wanted");
  check(sizes_of(x));
  require_floating("a", model.types.a);
  require_floating("b", model.types.b);
  GemmOperands out{x.m,
                   x.n,
                   x.k,
                   encodings_of(x.a, model.types.a),
                   {},
                   encodings_of(x.c, model.c),
                   encodings_of(x.bias, model.bias)};
  const std::vector<std::uint64_t> rows = encodings_of(x.b, model.types.b);
  out.b.resize(rows.size());
  for (std::size_t i = 0; i < x.k; ++i) {
    for (std::size_t j = 0; j < x.n; ++j) out.b[j * x.k + i] = rows[i * x.n + j];
  }
  return out;
}

std::vector<double> result_values(const GemmModel& model, std::span<const std::uint64_t> d) {
  const Format& format = model.epilogue.out;
  require_floating("d", format);
  std::vector<std::byte> codes(d.size() * code_bytes(format));
  pack_elements(d, code_bytes(format), codes);
  std::vector<double> out(d.size());
  values_of_codes(codes, out, format);
  return out;
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// The table of element types, and the other names under which users know them.
#include "lib/format/dtype.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

using enum DtypeKind;

constexpr auto table = std::to_array<Dtype>({
    {"F64", 64, floating, "binary64", "f8"},
    {"F32", 32, floating, "binary32", "f4"},
    {"F16", 16, floating, "binary16", "f2"},
    {"BF16", 16, floating, "bfloat16", ""},
    {"F8_E4M3", 8, floating, "e4m3", ""},
    {"F8_E5M2", 8, floating, "e5m2", ""},
    {"F8_E4M3FNUZ", 8, floating, "e4m3fnuz", ""},
    {"F8_E5M2FNUZ", 8, floating, "e5m2fnuz", ""},
    {"F8_E8M0", 8, floating, "e8m0", ""},
    {"F6_E2M3", 6, packed, "e2m3", ""},
    {"F6_E3M2", 6, packed, "e3m2", ""},
    {"F4", 4, packed, "e2m1", ""},
    {"I64", 64, integer, "", "i8"},
    {"I32", 32, integer, "", "i4"},
    {"I16", 16, integer, "", "i2"},
    {"I8", 8, integer, "", "i1"},
    {"U64", 64, integer, "", "u8"},
    {"U32", 32, integer, "", "u4"},
    {"U16", 16, integer, "", "u2"},
    {"U8", 8, integer, "", "u1"},
    {"BOOL", 8, boolean, "", "b1"},
    {"C64", 64, complex, "", "c8"},
    {"C128", 128, complex, "", "c16"},  // only NumPy has a name for it
});

/// Names in PyTorch and ml_dtypes that neither safetensors nor binade uses.
constexpr auto aliases = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"float64", "F64"},
    {"double", "F64"},
    {"float32", "F32"},
    {"float", "F32"},
    {"float16", "F16"},
    {"half", "F16"},
    {"float8_e4m3fn", "F8_E4M3"},
    {"float8_e5m2", "F8_E5M2"},
    {"float8_e4m3fnuz", "F8_E4M3FNUZ"},
    {"float8_e5m2fnuz", "F8_E5M2FNUZ"},
    {"float8_e8m0fnu", "F8_E8M0"},
});

}  // namespace

std::span<const Dtype> dtypes() { return table; }

std::optional<Dtype> find_dtype(std::string_view name) {
  const auto row = std::ranges::find(table, name, &Dtype::name);
  return row == table.end() ? std::nullopt : std::optional(*row);
}

Dtype parse_dtype(std::string_view name) {
  std::string wanted = lower_case(name);
  if (wanted.starts_with("torch.")) wanted.erase(0, 6);
  for (const Dtype& row : table) {
    if (wanted == lower_case(row.name) || (wanted == row.format && !wanted.empty())) return row;
  }
  for (const auto& [alias, dtype] : aliases) {
    if (wanted == alias) return *find_dtype(dtype);
  }
  std::string known;
  for (const Dtype& row : table) {
    if (!row.format.empty()) known += (known.empty() ? "" : " ") + std::string(row.name);
  }
  throw Error("unknown element type '" + printable(name) + "'; the floating ones are " + known +
              ", or PyTorch's names for them");
}

std::string_view to_string(DtypeKind kind) {
  switch (kind) {
    case floating: return "floating";
    case integer: return "integer";
    case boolean: return "boolean";
    case complex: return "complex";
    case packed: return "packed";
    case foreign: return "foreign";
  }
  return "";
}

std::optional<Extent> extent(std::span<const std::uint64_t> shape, const Dtype& dtype) {
  if (std::ranges::find(shape, 0U) != shape.end()) return Extent{0, 0};
  constexpr std::uint64_t limit = std::numeric_limits<std::int64_t>::max();
  std::uint64_t elements = 1;
  for (const std::uint64_t side : shape) {
    if (side > limit / elements) return std::nullopt;
    elements *= side;
  }
  if (elements > limit / dtype.bits) return std::nullopt;
  const std::uint64_t bits = elements * dtype.bits;
  if (bits % 8 != 0) return std::nullopt;
  return Extent{elements, bits / 8};
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Writes what ml_dtypes_test.py compares: into the folder named by the argument, `cases.f32`
// (float32 inputs) and for each format ml_dtypes' name with `.values` (float64, one per encoding)
// and `.codes` (uint16, one per input). Overflow is not saturated, and NaNs keep their sign.
#include <bit>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "emulate/quantize.h"

namespace {

using namespace binade;

struct Row {
  const char* name;
  Format format;
  Rounding rounding = Rounding::ties_to_even;
};

// In binade the last three are user-made formats.
const Row rows[] = {
    {"bfloat16", bfloat16},        {"float8_e4m3fn", e4m3},
    {"float8_e5m2", e5m2},         {"float8_e4m3fnuz", e4m3fnuz},
    {"float8_e5m2fnuz", e5m2fnuz}, {"float8_e8m0fnu", e8m0},
    {"float6_e3m2fn", e3m2},       {"float6_e2m3fn", e2m3},
    {"float4_e2m1fn", e2m1},       {"float8_e4m3", {4, 4, 7}},
    {"float8_e3m4", {3, 5, 3}},    {"float8_e4m3b11fnuz", {4, 4, 11, Specials::fnuz}},
};

template <class T>
bool write(const std::string& path, const std::vector<T>& data) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(data.data()),
            static_cast<std::streamsize>(data.size() * sizeof(T)));
  return out.good();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::puts("usage: ml_dtypes_cases FOLDER"), 2;
  const std::string folder = std::string(argv[1]) + "/";
  // Every upper half with lower halves on, beside and between the ties of all these formats.
  std::vector<std::uint32_t> cases;
  for (std::uint32_t high = 0; high < 65536; ++high) {
    for (const std::uint32_t low :
         {0x0000U, 0x0001U, 0x5A5AU, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU}) {
      cases.push_back(high << 16 | low);
    }
  }
  bool good = write(folder + "cases.f32", cases);
  for (const Row& row : rows) {
    std::vector<double> values;
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << row.format.bits(); ++bits) {
      values.push_back(value_of<double>(bits, row.format));
    }
    const Attributes attributes{.rounding = row.rounding, .nan = NanResult::propagate};
    std::vector<std::uint16_t> codes;
    for (const std::uint32_t x : cases) {
      codes.push_back(
          static_cast<std::uint16_t>(convert(x, binary32, row.format, attributes).bits));
    }
    good = good && write(folder + row.name + ".values", values) &&
           write(folder + row.name + ".codes", codes);
  }
  return good ? 0 : 1;
}

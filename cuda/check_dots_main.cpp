// SPDX-License-Identifier: Apache-2.0
//
// The gpu suite's check of Tensor Core instructions: every one that the GPU here can run, on the rows
// of every generator, against the emulator, as a program that needs nothing but emulate/, lib/record
// and the CUDA runtime: check_dots [--rows N].
// Exit status: 0 equal, 1 different, 2 a fault, 77 no GPU or nothing that it can run.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "lib/record/device.h"
#include "lib/record/dot_cases.h"
#include "lib/record/instruction_name.h"
#include "lib/record/row_plan.h"

namespace {

using namespace binade;

constexpr std::uint64_t seed = 1;

struct Totals {
  std::uint64_t sets = 0, rows = 0, different = 0;
};

/// One instruction on one generator's rows; nothing where the device cannot run it.
void check_set(Device& device, const Instruction& how, const DotGenerator& generator,
               std::uint64_t most, Totals& totals) {
  const std::uint64_t rows = std::min(full_rows(generator, how), most);
  Dots dots = make_dots(generator, how, seed, 0, rows);
  if (run_rows(device, {{&generator, rows}}, how, dots)) return;
  const auto k = static_cast<std::size_t>(how.k);
  std::uint64_t different = 0;
  std::string first;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::uint64_t emulated =
        dot(how.model, how.types, dots.a.data() + i * k, dots.b.data() + i * k, how.k, dots.c[i]);
    if (emulated == dots.d[i]) continue;
    char text[96];
    std::snprintf(text, sizeof text, "; row %zu: hardware %llX, emulated %llX", i,
                  static_cast<unsigned long long>(dots.d[i]),
                  static_cast<unsigned long long>(emulated));
    if (different++ == 0) first = text;
  }
  const std::string name = name_of(how);
  std::printf("%-32s %-18s rows %8llu, different %llu%s\n", name.c_str(),
              std::string(generator.name).c_str(), static_cast<unsigned long long>(rows),
              static_cast<unsigned long long>(different), first.c_str());
  totals.sets += 1;
  totals.rows += rows;
  totals.different += different;
}

int run(std::uint64_t most) {
  const OpenedDevice opened = open_device();
  if (!opened.device) {
    std::printf("%s\n", opened.why_none.c_str());
    return 77;
  }
  const DeviceInfo& info = opened.device->info();
  const int sm = parse_architecture(std::to_string(info.compute_capability));
  Totals totals;
  for (const Instruction& how : instructions_of(sm)) {
    for (const DotGenerator& generator : dot_generators()) {
      if (generator.suits(how.types)) check_set(*opened.device, how, generator, most, totals);
    }
  }
  std::printf("%s: sets %llu, rows %llu, different %llu\n", info.name.c_str(),
              static_cast<unsigned long long>(totals.sets),
              static_cast<unsigned long long>(totals.rows),
              static_cast<unsigned long long>(totals.different));
  return totals.rows == 0 ? 77 : totals.different == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t most = 20000;
  const bool rows = argc == 3 && std::string_view(argv[1]) == "--rows";
  if (rows) most = std::strtoull(argv[2], nullptr, 10);
  if ((argc != 1 && !rows) || most == 0) {
    std::fputs("usage: check_dots [--rows N]\n", stderr);
    return 2;
  }
  try {
    return run(most);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "check_dots: %s\n", error.what());
    return 2;
  }
}

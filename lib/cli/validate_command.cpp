// SPDX-License-Identifier: Apache-2.0
//
// `binade validate`: bits of real kernels and real GPUs held against the emulator.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/cli/command.h"
#include "lib/cli/number_text.h"
#include "lib/cli/rounding_words.h"
#include "lib/tensor/error.h"
#include "lib/validate/dots.h"
#include "lib/validate/instruction_name.h"

namespace binade {
namespace {

struct DotOptions {
  std::string architecture, instruction;
  DotFiles files;
  std::string c;
  std::size_t show = 5;
  bool json = false;
};

std::string hexadecimal(std::uint64_t bits, const Format& f) {
  return fmt::format("{:0{}X}", bits, f.storage_bits() / 4);
}

std::string evidence_text(const Instruction& x) {
  const auto kind = evidence_names[static_cast<std::size_t>(x.evidence)];
  return fmt::format("{} ({}){}{}", kind, x.source, x.open.empty() ? "" : "; open: ", x.open);
}

std::string operands_text(const std::vector<std::uint64_t>& values, std::size_t row,
                          const Instruction& x, const Format& f) {
  const auto k = static_cast<std::size_t>(x.k);
  std::string out;
  std::size_t n = k;  // padding is left out
  while (n > 1 && values[row * k + n - 1] == 0) --n;
  for (std::size_t i = 0; i < n; ++i)
    out += (i > 0 ? " " : "") + hexadecimal(values[row * k + i], f);
  return out + (n < k ? fmt::format("  and {} zeros", k - n) : "");
}

std::string distance_text(const DotDifference& x, const Format& f) {
  const auto distance = ulp_distance(x.recorded, x.emulated, f);
  return distance ? fmt::format("{} ulp apart", *distance) : "one is NaN";
}

std::string difference_text(const DotDifference& x, const Dots& dots, const Instruction& how) {
  const auto row = static_cast<std::size_t>(x.row);
  const DotTypes& types = how.types;
  std::string out = fmt::format("row {}: {}\n", x.row, distance_text(x, types.d));
  out += fmt::format("  a         {}\n", operands_text(dots.a, row, how, types.a));
  out += fmt::format("  b         {}\n", operands_text(dots.b, row, how, types.b));
  const auto line = [&](const char* name, std::uint64_t bits, const Format& f) {
    out += fmt::format("  {:<10}{}  {}\n", name, hexadecimal(bits, f), value_with_digits(bits, f));
  };
  line("c", dots.c[row], types.c);
  line("recorded", x.recorded, types.d);
  line("emulated", x.emulated, types.d);
  return out;
}

nlohmann::ordered_json json_of(const DotCheck& check, const Dots& dots, const Instruction& how) {
  nlohmann::ordered_json out{{"schema", "binade.validate_dots/1"},
                             {"architecture", fmt::format("sm_{}", how.sm)},
                             {"instruction", name_of(how)},
                             {"evidence", evidence_names[static_cast<std::size_t>(how.evidence)]},
                             {"rows", check.rows},
                             {"equal", check.equal()},
                             {"different", check.different},
                             {"differences", nlohmann::ordered_json::array()}};
  for (const DotDifference& x : check.first) {
    const Format& d = how.types.d;
    const auto distance = ulp_distance(x.recorded, x.emulated, d);
    nlohmann::ordered_json row{{"row", x.row},
                               {"c", hexadecimal(dots.c[x.row], how.types.c)},
                               {"recorded", hexadecimal(x.recorded, d)},
                               {"emulated", hexadecimal(x.emulated, d)},
                               {"ulp_distance", nullptr}};
    if (distance) row["ulp_distance"] = *distance;
    out["differences"].push_back(row);
  }
  return out;
}

int validate_dots(const DotOptions& options) {
  const Instruction instruction =
      parse_instruction(options.instruction, parse_architecture(options.architecture));
  DotFiles files = options.files;
  if (!options.c.empty()) files.c = options.c;
  const Dots dots = read_dots(files, instruction);
  const DotCheck check = check_dots(dots, instruction, options.show);
  if (options.json) {
    fmt::print("{}\n", json_of(check, dots, instruction).dump(2));
  } else {
    for (const DotDifference& x : check.first) {
      fmt::print("{}\n", difference_text(x, dots, instruction));
    }
    fmt::print("sm_{} {}: {}\n", instruction.sm, name_of(instruction), evidence_text(instruction));
    fmt::print("rows {}, equal {}, different {}\n", check.rows, check.equal(), check.different);
  }
  return check.different == 0 ? 0 : exit_different;
}

void define(CLI::App& app, int& status) {
  const auto options = std::make_shared<DotOptions>();
  CLI::App& dots = *app.add_subcommand("dots", "recorded dot products: d = c + sum of a·b");
  app.require_subcommand(1);
  dots.add_option("--arch", options->architecture, "sm_70 … sm_120")->required();
  dots.add_option("--instruction", options->instruction,
                  "as mma.m16n8k16.f32.f16.f16.f32; see binade architectures")
      ->required();
  dots.add_option("--a", options->files.a, ".npy of shape (rows, K): bits, or the dtype itself")
      ->required();
  dots.add_option("--b", options->files.b, "likewise")->required();
  dots.add_option("--c", options->c, ".npy of shape (rows,); without it +0");
  dots.add_option("--d", options->files.d, ".npy of shape (rows,): what the hardware gave")
      ->required();
  dots.add_option("--show", options->show, "how many differences to show")->capture_default_str();
  dots.add_flag("--json", options->json, "as JSON");
  dots.footer("\nExit status: 0 all equal, 1 differences, 2 files that do not fit.");
  dots.callback([&status, options] { status = validate_dots(*options); });
}

}  // namespace

const Command validate_command{"validate", "hold bits of real kernels against the emulator",
                               &define};

}  // namespace binade

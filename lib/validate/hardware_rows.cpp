// SPDX-License-Identifier: Apache-2.0
//
// Turns the sets of sets.json into instructions and file names. Only words of the tables below
// become part of a file name.
#include "lib/validate/hardware_rows.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "lib/instruction/instruction_name.h"
#include "lib/io/input_file.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

constexpr std::uint64_t longest_list = std::uint64_t{1} << 20;  // most bytes of sets.json

struct GpuRow {
  std::string_view name;
  int sm;
};

/// Returns the GPU names of the table of architectures, one in each row.
std::vector<GpuRow> gpu_rows() {
  std::vector<GpuRow> out;
  for (const Architecture& row : architectures) {
    for (const std::string_view name : gpu_names(row)) out.push_back({name, row.sm});
  }
  return out;
}

/// A type's name in sets.json, and in PTX.
struct TypeWord {
  std::string_view name, ptx;
};
constexpr std::array<TypeWord, 5> inputs{
    {{"fp16", "f16"}, {"bf16", "bf16"}, {"tf32", "tf32"}, {"E4M3", "e4m3"}, {"E5M2", "e5m2"}}};
constexpr std::array<TypeWord, 2> outputs{{{"fp32", "f32"}, {"fp16", "f16"}}};

/// How an instruction's text in sets.json begins, and binade's name of it without the types.
struct InstructionWord {
  std::string_view name, shape;
  bool has_c;
};
constexpr std::array<InstructionWord, 4> instructions{{
    {"wmma.mma_sync m16n16k16", "wmma.m16n16k16", true},
    {"wmma.mma_sync m16n16k8", "wmma.m16n16k8", true},
    {"mma.sync m16n8k32", "mma.m16n8k32", true},
    {"wgmma m64nNk32", "wgmma.m64n8k32", false},
}};

/// Reads one set; looks up each of its words in a table.
class SetReader {
 public:
  SetReader(std::string path, std::size_t number, const nlohmann::json& set)
      : path_(std::move(path)), number_(number), set_(set) {}

  HardwareSet read(const std::string& folder) const {
    static const std::vector<GpuRow> gpus = gpu_rows();
    const GpuRow& gpu = row_of(gpus, "gpu", false);
    const TypeWord& input = row_of(inputs, "input", false);
    const TypeWord& output = row_of(outputs, "output", false);
    const InstructionWord& how = row_of(instructions, "instruction", true);
    std::string name(how.shape);
    for (const std::string_view type : {output.ptx, input.ptx, input.ptx}) {
      name += "." + std::string(type);
    }
    if (how.has_c) name += "." + std::string(output.ptx);
    const auto file = [&](std::string_view field) {
      const std::filesystem::path base(folder);
      return (base / (std::string(gpu.name) + "_" + std::string(input.name) + "_" +
                      std::string(field) + ".npy"))
          .string();
    };
    HardwareSet out{.source = folder + ": " + std::string(gpu.name) + " " +
                              std::string(input.name) + " to " + std::string(output.name),
                    .instruction = instruction(name, gpu.sm),
                    .gpu = std::string(gpu.name),
                    .files = {file("a"), file("b"), file("d_" + std::string(output.name))}};
    const std::string c = text("c_used");
    const std::string c_field = "c_" + std::string(output.name);
    if (c == c_field) {
      out.files.c = file(c_field);
    } else if (!c.starts_with("none")) {
      fail("c_used", c, c_field + " or none");
    }
    const auto rows = set_.find("rows");
    if (rows != set_.end()) {
      if (!rows->is_number_unsigned() || rows->get<std::uint64_t>() == 0) {
        fail("rows", rows->dump(), "a number above 0");
      }
      out.rows = rows->get<std::uint64_t>();
    }
    const auto independent = set_.find("independent");
    if (independent != set_.end()) {
      if (!independent->is_boolean()) fail("independent", independent->dump(), "true or false");
      out.independent = independent->get<bool>();
    }
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& key, const std::string& value,
                         const std::string& wanted) const {
    throw error_in(
        path_, "set " + std::to_string(number_) + ": '" + key + "' is '" + printable(value) + "'",
        "it must be " + wanted);
  }

  std::string text(const std::string& key) const {
    const auto found = set_.is_object() ? set_.find(key) : set_.end();
    if (found == set_.end() || !found->is_string()) {
      throw error_in(path_, "set " + std::to_string(number_) + " has no text '" + key + "'",
                     "a set has gpu, input, output, instruction and c_used");
    }
    return found->get<std::string>();
  }

  template <class Table>
  const typename Table::value_type& row_of(const Table& table, const std::string& key,
                                           bool beginning) const {
    const std::string word = text(key);
    const auto fits = [&](const auto& row) {
      if (!beginning || word == row.name) return word == row.name;
      return word.starts_with(std::string(row.name) + " ");
    };
    const auto row = std::ranges::find_if(table, fits);
    if (row == table.end()) fail(key, word, "one of " + listed(names_of(table)));
    return *row;
  }

  Instruction instruction(const std::string& name, int sm) const {
    try {
      return parse_instruction(name, sm);
    } catch (const Error& error) {
      throw error_in(path_, "set " + std::to_string(number_) + ": " + error.what(),
                     "correct the set");
    }
  }

  std::string path_;
  std::size_t number_;
  const nlohmann::json& set_;
};

std::string list_of(const std::string& folder) {
  return (std::filesystem::path(folder) / "sets.json").string();
}

}  // namespace

bool holds_hardware_rows(const std::string& folder) {
  std::error_code ignored;
  return std::filesystem::exists(list_of(folder), ignored);
}

std::vector<HardwareSet> read_hardware_sets(const std::string& folder) {
  const std::string path = list_of(folder);
  const nlohmann::json json =
      nlohmann::json::parse(read_text(path, longest_list, "give a list of sets"), nullptr, false);
  if (!json.is_array()) throw error_in(path, "not a JSON list", "export it again");
  if (json.empty()) throw error_in(path, "no sets", "there is nothing to compare");
  std::vector<HardwareSet> out;
  for (std::size_t i = 0; i < json.size(); ++i) {
    out.push_back(SetReader(path, i, json[i]).read(folder));
  }
  return out;
}

}  // namespace binade

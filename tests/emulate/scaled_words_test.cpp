// SPDX-License-Identifier: Apache-2.0
//
// Words that a B200 gave for tcgen05.mma with block scales, public rows in ../shared/hw_vectors (or
// the folder that BINADE_HW_VECTORS names): the table's instructions give each of them. Of operands
// on which published models differ it gives one of the answers.
#include "emulate/tensor_core.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace binade {
namespace {

using Json = nlohmann::json;

std::uint32_t word(const Json& digits) {
  return static_cast<std::uint32_t>(std::stoul(digits.get<std::string>(), nullptr, 16));
}

/// Codes in the order of k: all of them, or those that are not 0 by their places.
std::vector<std::uint8_t> codes_of(const Json& x) {
  std::vector<std::uint8_t> out(x.is_object() ? 64 : 0);
  if (x.is_object()) {
    for (const auto& [place, code] : x.items()) {
      out.at(std::stoul(place)) = static_cast<std::uint8_t>(word(code));
    }
  } else {
    for (const Json& code : x) out.push_back(static_cast<std::uint8_t>(word(code)));
  }
  return out;
}

/// The instruction of tcgen05 that a row names.
Instruction instruction_of(const Json& row, int k) {
  const std::string words = row.value("instruction_kind", "mxf4nvf4 scale_vec 4X");
  for (std::size_t i = 1; i < scaled_kinds.size(); ++i) {
    const ScaledKindName& name = scaled_kinds[i];
    const std::string own = std::string(name.kind) + " scale_vec " + std::string(name.vector);
    if (!words.starts_with(own) || row["scale_format"] != name.type) continue;
    return find_instruction(Family::tcgen05, 100, 128, 64, k, {e2m1, e2m1, binary32, binary32},
                            static_cast<ScaledKind>(i))
        .value();
  }
  throw std::runtime_error("no kind " + words);
}

/// The word that a row's instruction gives, or would give if each product were scaled by itself.
std::uint64_t d_of(const Json& row, bool one_by_one = false) {
  const std::vector<std::uint8_t> a = codes_of(row["a"]), b = codes_of(row["b"]),
                                  scale_a = codes_of(row["scale_a"]),
                                  scale_b = codes_of(row["scale_b"]);
  Instruction x = instruction_of(row, static_cast<int>(a.size()));
  if (x.model.scaling.share != row["block"]) throw std::runtime_error("scales of another block");
  if (one_by_one) x.model.scaling.group = 0;
  return dot(x.model, x.types, a.data(), b.data(), x.k, word(row["c"]), NoTrace{},
             {scale_a.data(), scale_b.data()});
}

int compare_words(const Json& file) {
  int equal = 0, other = 0, undecided = 0, exclude = 0;
  for (const Json& row : file["rows"]) {
    const std::uint64_t d = d_of(row), want = word(row["d"]);
    (d == want ? equal : other) += 1;
    exclude += d_of(row, true) != want ? 1 : 0;
    if (d != want) {
      std::printf("FAIL: %s, %s: %08llx, the B200 gave %08llx\n",
                  row["instruction_kind"].get<std::string>().c_str(),
                  row["name"].get<std::string>().c_str(), static_cast<unsigned long long>(d),
                  static_cast<unsigned long long>(want));
    }
  }
  for (const Json& row : file["undecided"]) {
    bool known = false;
    for (const Json& answer : row["undecided"]) known = known || d_of(row) == word(answer);
    undecided += known ? 1 : 0;
    if (!known)
      std::printf("FAIL: none of the answers: %s\n", row["why"].get<std::string>().c_str());
  }
  std::printf(
      "%d words equal, %d others; %d operands with one of two answers; %d words exclude "
      "products that are scaled one by one\n",
      equal, other, undecided, exclude);
  return equal >= 7 && other == 0 && undecided >= 3 && exclude >= 1 ? 0 : 1;
}

}  // namespace
}  // namespace binade

int main() try {
  const char* named = std::getenv("BINADE_HW_VECTORS");
  const std::filesystem::path folder =
      named != nullptr ? std::filesystem::path(named)
                       : std::filesystem::path(BINADE_SOURCE_ROOT) / "../shared/hw_vectors";
  std::ifstream file(folder / "B200_block_scaled.json");
  if (!file) {
    std::puts("the words of a B200 are not here: nothing was compared");
    return 77;
  }
  return binade::compare_words(nlohmann::json::parse(file));
} catch (const std::exception& error) {
  std::printf("FAIL: %s\n", error.what());
  return 1;
}

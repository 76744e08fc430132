// SPDX-License-Identifier: Apache-2.0
//
// Rows recorded on real GPUs, with the name of the instruction hidden: the true one is always among
// those that explain every bit.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "lib/device/recording.h"
#include "lib/identify/identification.h"
#include "lib/instruction/instruction_name.h"

namespace binade::public_rows_test {
namespace {

struct Set {
  std::string name;
  Instruction instruction;
  KernelRun run;
};

std::vector<Set> sets() {
  std::vector<Set> out;
  const std::filesystem::path folder = std::string(BINADE_SOURCE_ROOT) + "/tests/recordings/public";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") continue;
    const std::string path = entry.path().string();
    const RecordingInfo info = read_recording_info(path);
    const Instruction how =
        parse_instruction(info.instruction, parse_architecture(info.architecture));
    const Dots dots = read_recording(path, how);
    const std::size_t rows = dots.d.size();
    out.push_back(
        {entry.path().stem().string(),
         how,
         {rows, rows, static_cast<std::size_t>(how.k), true, dots.a, dots.b, dots.c, {}, dots.d}});
  }
  return out;
}

/// Returns whether a model that explains the rows is the instruction's own, without order or
/// epilogue.
bool is_named(const Identification& found, const Verdict& x, const Instruction& truth) {
  std::vector<std::size_t> all{x.candidate};
  all.insert(all.end(), x.same.begin(), x.same.end());
  return std::ranges::any_of(all, [&](std::size_t i) {
    const Candidate& candidate = found.candidates[i];
    const GemmModel plain = named_gemm(truth).model;
    Accumulation sum = candidate.model.sum;
    sum.c_first = plain.sum.c_first;
    return found.core(candidate).plain == plain && sum == plain.sum;
  });
}

/// Returns how many of the models are Tensor Core models with different names.
std::size_t cores_among(const Identification& found) {
  std::vector<std::size_t> cores;
  for (const Verdict& x : found.result.explaining) {
    const std::size_t core = found.candidate(x).core;
    if (std::ranges::find(cores, core) == cores.end()) cores.push_back(core);
  }
  return cores.size();
}

TEST_CASE("the true instruction explains every public row") {
  std::size_t compared = 0, alone = 0;
  for (const Set& set : sets()) {
    CAPTURE(set.name);
    const DotTypes& t = set.instruction.types;
    const Identification found = identify({t.a, t.b, t.c, t.d, t.d}, {set.run}, {}, {.nearest = 0});
    CHECK(std::ranges::any_of(found.result.explaining, [&](const Verdict& x) {
      return is_named(found, x, set.instruction);
    }));
    CHECK(found.result.explaining.size() < found.result.tried);
    alone += cores_among(found) == 1 ? 1 : 0;
    ++compared;
  }
  CHECK(compared == 42);
  MESSAGE("sets explained by the instructions of one model alone: " << alone);
}

TEST_CASE("a flipped bit of a public row leaves no model of it") {
  std::vector<Set> all = sets();
  REQUIRE(!all.empty());
  for (std::size_t i = 0; i < all.size(); i += 5) {
    Set& set = all[i];
    CAPTURE(set.name);
    const DotTypes& t = set.instruction.types;
    set.run.d[7] ^= std::uint64_t{1} << (t.d.fraction_bits() - 1);
    const Identification found =
        identify({t.a, t.b, t.c, t.d, t.d}, {set.run}, {}, {.nearest = 1, .rare = false});
    CHECK(found.result.explaining.empty());
    REQUIRE(!found.result.rejected.empty());
    CHECK(found.result.rejected[0].equal == set.run.size() - 1);
    CHECK(found.result.rejected[0].first->element == 7);
  }
}

}  // namespace
}  // namespace binade::public_rows_test

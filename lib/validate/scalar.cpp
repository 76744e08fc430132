// SPDX-License-Identifier: Apache-2.0
//
// Runs cases in slices, so that progress can be reported and a fault names its cases; then finds
// the lowest differing ones, one after the other.
#include "lib/validate/scalar.h"

#include <algorithm>
#include <array>

#include "lib/device/emulated_device.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

/// Cases first … end - 1, and what they gave.
struct Slice {
  std::uint64_t first, end;
  ScalarTally tally;
};

/// A kind of difference, by the members of ScalarTally with its count and its lowest case.
struct Kind {
  std::uint64_t ScalarTally::*count;
  std::uint64_t ScalarTally::*lowest;
};
constexpr std::array<Kind, 2> kinds{
    {{&ScalarTally::mismatches, &ScalarTally::lowest_mismatch},
     {&ScalarTally::nan_differences, &ScalarTally::lowest_nan_difference}}};

class Checking {
 public:
  Checking(Device& device, const ScalarInstruction& instruction, const ScalarOptions& options)
      : device_(device), options_(options) {
    check.instruction = instruction;
    check.cases = cases_to_check(instruction, options);
  }

  void run(const CheckProgress& progress) {
    const std::uint64_t count = check.cases.count;
    for (std::uint64_t first = 0; first < count; first += options_.slice) {
      Slice slice{first, std::min(first + options_.slice, count), {}};
      if (const CannotRun why = tally(slice)) {
        check.skipped = *why;
        return;
      }
      check.tally.merge(slice.tally);
      if (slice.tally.mismatches + slice.tally.nan_differences > 0) different_.push_back(slice);
      if (progress) {
        progress(check.instruction.name,
                 static_cast<double>(slice.end) / static_cast<double>(count));
      }
    }
    if (check.tally.cases != count) {
      throw Error(check.instruction.name + ": " + std::to_string(check.tally.cases) + " of " +
                  std::to_string(count) + " cases were run; this is a defect, report it");
    }
    for (const Kind& kind : kinds) list(kind);
  }

  ScalarCheck check;

 private:
  CannotRun tally(Slice& slice) {
    return device_.tally_scalar(check.instruction, check.cases, slice.first, slice.end,
                                slice.tally);
  }

  /// Lists the lowest differences of a kind. Each is found by a run that begins behind the one
  /// before, so the list does not depend on the order of threads. Slices without a difference are
  /// not run again.
  void list(const Kind& kind) {
    std::vector<std::uint64_t> numbers;
    for (Slice slice : different_) {
      while (slice.tally.*kind.count > 0 && numbers.size() < options_.keep) {
        numbers.push_back(slice.tally.*kind.lowest);
        slice = {numbers.back() + 1, slice.end, {}};
        if (slice.first < slice.end) tally(slice);
      }
    }
    std::vector<std::uint64_t> results(numbers.size());
    const ScalarInstruction& x = check.instruction;
    if (const CannotRun why = device_.run_scalar(x, check.cases, numbers, results)) {
      throw Error(x.name + ": " + *why);
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const ScalarOperands operands = operands_of(x.operation, check.cases, numbers[i]);
      check.first.push_back({numbers[i], operands, results[i], emulate(x.operation, operands)});
    }
  }

  Device& device_;
  const ScalarOptions& options_;
  std::vector<Slice> different_;
};

}  // namespace

bool all_equal(std::span<const ScalarCheck> checks) {
  return std::ranges::none_of(checks, &ScalarCheck::differs) &&
         std::ranges::any_of(checks, &ScalarCheck::was_compared);
}

std::vector<ScalarInstruction> scalar_instructions_with(std::span<const std::string> words) {
  const std::span<const ScalarInstruction> all = scalar_instructions();
  const auto stands_in = [](const std::string& name) {
    return [&name](const std::string& word) { return name.find(word) != std::string::npos; };
  };
  for (const std::string& word : words) {
    const bool found = std::ranges::any_of(
        all, [&](const ScalarInstruction& x) { return stands_in(x.name)(word); });
    if (!found) {
      throw Error("no scalar instruction has '" + printable(word) + "' in its name" +
                  did_you_mean(word, names_of(all)));
    }
  }
  std::vector<ScalarInstruction> out;
  for (const ScalarInstruction& x : all) {
    if (words.empty() || std::ranges::any_of(words, stands_in(x.name))) out.push_back(x);
  }
  return out;
}

std::uint64_t default_cases(const ScalarOperation& x) {
  const bool plain = x.kind == ScalarKind::arithmetic && !x.arithmetic.extremum &&
                     x.arithmetic.clamp == Clamp::none &&
                     x.arithmetic.attributes.rounding == Rounding::ties_to_even;
  return plain ? 10'000'000'000 : 1'000'000'000;
}

ScalarCases cases_to_check(const ScalarInstruction& instruction, const ScalarOptions& options) {
  const ScalarOperation& x = instruction.operation;
  const std::uint64_t all = exhaustive_cases(x);
  return cases_of(x, options.cases.value_or(all != 0 ? all : default_cases(x)), options.seed);
}

ScalarCheck check_scalar(Device& device, const ScalarInstruction& instruction,
                         const ScalarOptions& options, const CheckProgress& progress) {
  if (options.cases == 0) throw Error("no cases; there is nothing to compare");
  if (options.slice == 0 || options.slice % 32 != 0) {
    throw Error("slices of " + std::to_string(options.slice) +
                " cases; give a multiple of 32, the threads of a warp");
  }
  Checking checking(device, instruction, options);
  checking.run(progress);
  return checking.check;
}

ScalarCheck check_recording(const ScalarRecording& recording, std::size_t keep) {
  ScalarCheck out{.instruction = recording.instruction, .cases = recording.cases};
  const ScalarOperation& x = recording.instruction.operation;
  std::vector<ScalarDifference> nans;
  for (std::size_t i = 0; i < recording.d.size(); ++i) {
    const std::uint64_t number = recording.number_of(i);
    const ScalarOperands operands = operands_of(x, recording.cases, number);
    if (!recording.instruction.is_emulated()) {
      out.tally.add(x, number, recording.d[i]);
      continue;
    }
    const ScalarDifference here{number, operands, recording.d[i], emulate(x, operands)};
    out.tally.add(x, number, here.hardware, here.emulated);
    const ScalarVerdict verdict = judge(x, here.hardware, here.emulated);
    if (verdict == ScalarVerdict::mismatch && out.first.size() < keep) out.first.push_back(here);
    if (verdict == ScalarVerdict::nan_difference && nans.size() < keep) nans.push_back(here);
  }
  out.first.insert(out.first.end(), nans.begin(), nans.end());
  return out;
}

bool has_emulated_hash(const ScalarRecording& recording) {
  EmulatedDevice device(recording.instruction.target.sm);
  ScalarTally tally;
  if (const CannotRun why = device.tally_scalar(recording.instruction, recording.cases, 0,
                                                recording.cases.count, tally)) {
    throw Error(recording.instruction.name + ": " + *why);
  }
  return tally.hash == recording.hash;
}

}  // namespace binade

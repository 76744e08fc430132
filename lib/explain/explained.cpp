// SPDX-License-Identifier: Apache-2.0
//
// Reads the operands of one sum, from arrays, a recording or typed terms, and explains the sum.
#include "lib/explain/explained.h"

#include <fmt/format.h>

#include <array>

#include "lib/device/recording.h"
#include "lib/explain/dot_terms.h"
#include "lib/instruction/instruction_name.h"
#include "lib/text/error.h"
#include "lib/text/idle_option.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

/// The operands of one instruction as encodings, and the result that a GPU gave, if it is known.
struct ExplainedOperands {
  Instruction instruction;
  std::vector<std::uint64_t> a, b;
  std::uint64_t c = 0;
  std::optional<std::uint64_t> d = {};
  std::vector<std::uint8_t> a_scales = {}, b_scales = {};

  DotScales scales() const {
    return a_scales.empty() ? DotScales{} : DotScales{a_scales.data(), b_scales.data()};
  }
};

ExplainedOperands row_of(const Dots& dots, const Instruction& instruction, const OneDot& options,
                         const std::string& source) {
  if (!options.row) throw Error("--row is missing: which row is to be explained, from 0");
  const std::uint64_t row = *options.row;
  if (row >= dots.d.size()) {
    throw error_in(source, fmt::format("no row {}", row),
                   fmt::format("it has rows 0 to {}", dots.d.size() - 1));
  }
  const RowOperands x = operands_of_row(dots, row);
  const auto scales = static_cast<std::ptrdiff_t>(scales_of_row(instruction));
  return {instruction,
          {x.a, x.a + instruction.k},
          {x.b, x.b + instruction.k},
          x.c,
          dots.d[row],
          {x.a_scales.begin(), x.a_scales.begin() + scales},
          {x.b_scales.begin(), x.b_scales.begin() + scales}};
}

/// A row of a recording, for the recording's own instruction or for another of the same types and K
/// that the options name.
ExplainedOperands recorded(const OneDot& options) {
  const RecordingInfo info = read_recording_info(options.recording);
  const Instruction own =
      parse_instruction(info.instruction, parse_architecture(info.architecture));
  ExplainedOperands out =
      row_of(read_recording(options.recording, own), own, options, options.recording);
  const DotOptions& dots = options.dots;
  if (dots.architecture.empty() && dots.instruction.empty()) return out;
  const int sm = dots.architecture.empty() ? own.sm : parse_architecture(dots.architecture);
  out.instruction =
      parse_instruction(dots.instruction.empty() ? info.instruction : dots.instruction, sm);
  const bool is_same = out.instruction.types == own.types && out.instruction.k == own.k;
  const bool has_same_scales = scales_of_row(out.instruction) == scales_of_row(own) &&
                               out.instruction.model.scaling.format == own.model.scaling.format;
  if (!is_same || !has_same_scales) {
    throw error_in(options.recording, "rows of " + instruction_name(own),
                   instruction_name(out.instruction) +
                       (is_same ? " takes other scales" : " takes other types or another K"));
  }
  return out;
}

/// Reads scales between commas, one for each block of k, or one for all.
std::vector<std::uint8_t> typed_scales(const std::string& text, const Instruction& x,
                                       const char* option) {
  const std::size_t number = scales_of_row(x);
  if (text.empty()) {
    return std::vector<std::uint8_t>(
        number, number == 0 ? std::uint8_t{0} : static_cast<std::uint8_t>(scale_of_one(x)));
  }
  std::vector<std::uint8_t> out;
  for (const std::string_view word : split(text, ',')) {
    out.push_back(static_cast<std::uint8_t>(exact_encoding(word, x.model.scaling.format)));
  }
  if (out.size() == 1) out.resize(number, out[0]);
  if (out.size() == number) return out;
  throw Error(fmt::format("{} '{}': {} scales; {} of each row, or one for all, are wanted", option,
                          printable(text), out.size(), number));
}

ExplainedOperands typed(const OneDot& options) {
  const Instruction x = instruction_of(options.dots);
  DotTerms terms = parse_terms(options.terms, x.types, x.k);
  const std::uint64_t c =
      options.addend.empty() ? std::uint64_t{0} : exact_encoding(options.addend, x.types.c);
  const DotFiles& files = options.dots.files;
  check_has_scales(x, files.a_scale, files.b_scale);
  return {x,
          terms.a,
          terms.b,
          c,
          {},
          typed_scales(files.a_scale, x, "--a-scale"),
          typed_scales(files.b_scale, x, "--b-scale")};
}

ExplainedOperands operands_of(const OneDot& options) {
  const bool files = !options.dots.files.a.empty() || !options.dots.files.b.empty();
  const int ways =
      (options.recording.empty() ? 0 : 1) + (options.terms.empty() ? 0 : 1) + (files ? 1 : 0);
  if (ways != 1) {
    throw Error("give one of --terms, --recording, or --a and --b; see binade explain dots --help");
  }
  const bool is_recorded = !options.recording.empty();
  const bool is_typed = !options.terms.empty();
  const std::string beside_terms = "with --terms, which are one sum";
  const std::string beside_recording = "with --recording, which has its own";
  refuse_idle(std::array{
      IdleOption{"--row", is_typed && options.row, beside_terms},
      IdleOption{"--c", is_typed && !options.dots.c.empty(), beside_terms, "give --addend"},
      IdleOption{"--d", is_typed && !options.dots.files.d.empty(), beside_terms},
      IdleOption{"--c", is_recorded && !options.dots.c.empty(), beside_recording},
      IdleOption{"--d", is_recorded && !options.dots.files.d.empty(), beside_recording},
      IdleOption{"--a-scale", is_recorded && !options.dots.files.a_scale.empty(), beside_recording},
      IdleOption{"--b-scale", is_recorded && !options.dots.files.b_scale.empty(), beside_recording},
  });
  if (is_recorded) return recorded(options);
  if (options.dots.architecture.empty() || options.dots.instruction.empty()) {
    throw Error("--arch and --instruction say which rules to explain; see binade architectures");
  }
  if (is_typed) return typed(options);
  if (options.dots.files.a.empty() || options.dots.files.b.empty()) {
    throw Error("--a and --b go together");
  }
  const Instruction instruction = instruction_of(options.dots);
  const DotFiles of_rows = files_of(options.dots);
  ExplainedOperands out = row_of(read_dots(of_rows, instruction), instruction, options, of_rows.a);
  if (of_rows.d.empty()) out.d.reset();
  return out;
}

}  // namespace

Explanation explained(const OneDot& options) {
  ExplainedOperands x = operands_of(options);
  const Brief known = brief_of(x.instruction);
  x.instruction.model =
      ruled_model(x.instruction.model, instruction_name(x.instruction), options.rules);
  Explanation out = explain_dot(x.instruction, x.a, x.b, x.c, x.scales());
  out.known = known;  // of the instruction, whatever rules were chosen
  if (x.d) out.hardware = Typed{*x.d, x.instruction.types.d};
  return out;
}

Explanation explained(const OneElement& options) {
  NamedGemm named = model_of(options.product);
  if (!options.d.empty()) adopt_output(options.product, options.d, named.model);
  const GemmOperands operands = operands_of(options.product, named.model);
  const std::uint64_t i = options.element[0];
  const std::uint64_t j = options.element[1];
  if (i >= operands.m || j >= operands.n) {
    throw Error(fmt::format("--element {} {}: D is of {} rows and {} columns, counted from 0", i, j,
                            operands.m, operands.n));
  }
  if (!operands.groups.has(i)) {
    throw Error(fmt::format("--element {} {}: row {} is in no group", i, j, i));
  }
  Explanation out = explain_element(named, operands.element(i, j));
  if (!options.d.empty()) {
    const auto d = read_result(options.d, named.model, operands);
    out.hardware = Typed{d[i * operands.n + j], named.model.epilogue.out};
  }
  return out;
}

}  // namespace binade

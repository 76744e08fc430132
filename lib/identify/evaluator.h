// SPDX-License-Identifier: Apache-2.0
//
// Elements of D by any candidate, quickly: operands are taken apart once for all candidates that read
// them alike, an order is compiled once for all elements. Equal to `gemm_element` in every bit, but for
// the bits of a chain's NaN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "lib/gemm/sum_program.h"
#include "lib/identify/cores.h"
#include "lib/identify/kernel_run.h"

namespace binade {

/// Rows of a, or columns of b, taken apart; one with a NaN or an infinity is not usable.
template <class Operand>
struct DecodedLines {
  std::vector<Operand> operands;
  std::vector<std::uint8_t> usable;
};

template <class Operand>
struct DecodedRun {
  DecodedLines<Operand> a, b;
};

/// How the cores of one kind see the operands of one run; nothing where only the definition will do.
using Decoded =
    std::variant<std::monostate, DecodedRun<Factor>, DecodedRun<float>, DecodedRun<double>>;

/// A model made ready for a run. One thread uses it at a time.
class Prepared {
 public:
  Prepared(const GemmModel& model, const KernelRun& run, const Decoded& operands);
  std::uint64_t element(std::size_t at);
  const SumProgram& program() const { return program_; }

 private:
  template <class Way>
  bool quickly(const Way& way, const DecodedRun<typename Way::Operand>& operands,
               const GemmElement<std::uint64_t>& x, std::size_t at, Typed& sum);
  bool quickly(const GemmElement<std::uint64_t>& x, std::size_t at, Typed& sum);

  const GemmModel& model_;
  const KernelRun& run_;
  const Decoded& decoded_;
  SumProgram program_;
  std::vector<int> sources_;  // of the operands, in the program's order
  std::variant<std::monostate, std::vector<Factor>, std::vector<float>, std::vector<double>>
      gathered_;
};

/// The operands of all runs, for all cores. Keeps references to both.
class Evaluator {
 public:
  Evaluator(const std::vector<Core>& cores, std::span<const KernelRun> runs);
  Prepared prepare(const GemmModel& model, std::size_t core, std::size_t run) const {
    return {model, runs_[run], *decoded_[core * runs_.size() + run]};
  }
  std::span<const KernelRun> runs() const { return runs_; }

 private:
  std::span<const KernelRun> runs_;
  std::vector<std::shared_ptr<const Decoded>> decoded_;  // core after core, run after run
};

/// Whether two results are one: bit for bit, but where the bits of a chain's NaN are open.
bool is_same_result(std::uint64_t x, std::uint64_t y, const Format& f, bool any_nan);

}  // namespace binade

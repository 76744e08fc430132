// SPDX-License-Identifier: Apache-2.0
//
// The list of all instructions of ptx_scalar.h by their names. It has what ptxas 13.0 assembles at
// PTX ISA 9.0, except the directed roundings of fma.bf16, which ptxas assembles and PTX does not
// have; tests/cuda/scalar_names_test.py compares the list with ptxas.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "emulate/ptx_scalar.h"

namespace binade {

/// A name of at most 48 characters that is put together from words.
class PtxName {
 public:
  constexpr PtxName with(std::string_view word) const {
    PtxName out = *this;
    for (const char letter : word) out.text_[out.size_++] = letter;
    return out;
  }
  constexpr std::string_view view() const { return {text_.data(), size_}; }

 private:
  std::array<char, 48> text_{};
  std::size_t size_ = 0;
};

/// The qualifiers in PTX's order: a name has one of each row. The empty word stands for none.
inline constexpr std::array<std::array<std::string_view, 5>, 5> ptx_qualifiers{{
    {"", ".rn", ".rz", ".rm", ".rp"},
    {"", ".ftz"},
    {"", ".NaN"},
    {"", ".xorsign.abs"},
    {"", ".sat", ".relu"},
}};

/// Calls visit(name, instruction) for every instruction of an opcode and a type, given the
/// qualifiers that are already chosen from the rows of ptx_qualifiers before `row`.
template <class Visit>
constexpr void for_each_ptx_scalar(const PtxOpcode& opcode, const PtxType& type,
                                   const PtxName& qualifiers, std::size_t row, Visit visit) {
  if (row == ptx_qualifiers.size()) {
    const auto found = qualified(opcode, type, qualifiers.view());
    const PtxName name = PtxName().with(opcode.name).with(qualifiers.view());
    if (found) visit(name.with(".").with(type.name).view(), *found);
    return;
  }
  for (std::size_t i = 0; i < ptx_qualifiers[row].size(); ++i) {
    const std::string_view word = ptx_qualifiers[row][i];
    if (i > 0 && word.empty()) break;
    for_each_ptx_scalar(opcode, type, qualifiers.with(word), row + 1, visit);
  }
}

/// Calls visit(name, instruction) for every instruction.
template <class Visit>
constexpr void for_each_ptx_scalar(Visit visit) {
  for (const PtxOpcode& opcode : ptx_opcodes) {
    for (const PtxType& type : ptx_types) for_each_ptx_scalar(opcode, type, {}, 0, visit);
  }
}

}  // namespace binade

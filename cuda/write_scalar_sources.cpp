// SPDX-License-Identifier: Apache-2.0
//
// Writes the .cu sources of the scalar instructions, when the project is built: for every
// instruction of lib/instruction/scalar_instruction.h a wrapper of PTX's own name with one asm line, and
// for every kind the switch over its wrappers and the kernel. What an architecture lacks is left out
// of its code. Arguments: conversion.cu arithmetic.cu, with their folders; approximations are in the first.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "lib/instruction/scalar_instruction.h"

namespace {

using binade::ScalarInstruction;
using binade::ScalarKind;
using binade::ScalarOperation;

struct Source {
  const char* name;
  ScalarKind kind;
  std::vector<const ScalarInstruction*> instructions = {};
};

std::string integer_of(int bits) {
  return "std::uint" + std::to_string(bits < 16 ? 16 : bits) + "_t";
}

/// The register that a constraint of asm stands for. There is none of 8 bits: the wrappers of e2m1x2
/// move it.
const char* constraint_of(int bits) { return bits <= 16 ? "h" : bits == 32 ? "r" : "l"; }

std::string identifier(std::string name) {
  for (char& letter : name) {
    if (letter == '.' || letter == ':') letter = '_';
  }
  return name;
}

/// What the preprocessor asks an architecture for (as has_instruction does).
std::string guard(const ScalarInstruction& x) {
  const std::string least = "__CUDA_ARCH__ >= " + std::to_string(10 * x.target.sm);
  if (x.target.suffix == 'a') {
    return "defined(__CUDA_ARCH_SPECIFIC__) && (__CUDA_ARCH__ == 1000 || __CUDA_ARCH__ == 1030)";
  }
  return x.target.suffix == 'f' ? "defined(__CUDA_ARCH_FAMILY_SPECIFIC__) && " + least : least;
}

const char* const letters = "abefr";  // PTX's: d, a, b or d, {a, b, e, f}

char letter_of(const ScalarOperation& x, int word) {
  if (x.random && word == x.words - 1) return 'r';
  return x.inputs == 3 ? "abc"[word] : letters[word];
}

std::string parameters(const ScalarOperation& x) {
  std::string out;
  for (int i = 0; i < x.words; ++i) {
    out += (i > 0 ? ", " : "") + integer_of(x.word_bits[static_cast<std::size_t>(i)]) + " " +
           letter_of(x, i);
  }
  return out;
}

/// "%1, %2" or "{%1, %2, %3, %4}, %5"; an operand of 8 bits is the register t.
std::string ptx_operands(const ScalarOperation& x) {
  if (x.word_bits[0] == 8) return "t";
  const int values = x.words - (x.random ? 1 : 0);
  std::string out = values == 4 ? "{" : "";
  for (int i = 0; i < x.words; ++i) {
    out += (i > 0 ? ", %" : "%") + std::to_string(i + 1);
    if (values == 4 && i == 3) out += "}";
  }
  return out;
}

std::string asm_text(const ScalarInstruction& x) {
  const std::string call = x.name + " ";
  const std::string operands = ptx_operands(x.operation);
  if (x.operation.result_bits == 8) {
    return "{ .reg .b8 t; " + call + "t, " + operands + "; cvt.u16.u8 %0, t; }";
  }
  if (x.operation.word_bits[0] == 8) {
    return "{ .reg .b8 t; cvt.u8.u16 t, %1; " + call + "%0, t; }";
  }
  return call + "%0, " + operands + ";";
}

std::string wrapper(const ScalarInstruction& x) {
  const ScalarOperation& operation = x.operation;
  const std::string result = integer_of(operation.result_bits);
  const bool in_memory = operation.kind == ScalarKind::memory;
  // ptxas 13.0 takes the upper half of red.shared.add's x2 operand from another register where the wrapper
  // is written out in the kernel (an H100 left the upper lane as it was).
  std::string out = std::string("__device__ ") + (in_memory ? "BINADE_OUT_OF_LINE " : "") +
                    "inline " + result + " " + identifier(x.name) + "(" + parameters(operation) +
                    ") {\n";
  if (in_memory) {
    const std::string space = x.name.find(".shared.") != std::string::npos ? "shared" : "global";
    out +=
        "  volatile " + result + "* const m = " + space + "_memory<" + result + ">();\n  *m = a;\n";
    return out + "  asm volatile(\"" + x.name + " [%0], %1;\" : : \"l\"(__cvta_generic_to_" +
           space + "(const_cast<" + result + "*>(m))), \"" + constraint_of(operation.result_bits) +
           "\"(b) : \"memory\");\n  return *m;\n}\n";
  }
  std::string inputs;
  for (int i = 0; i < operation.words; ++i) {
    inputs += std::string(i > 0 ? ", \"" : "\"") +
              constraint_of(operation.word_bits[static_cast<std::size_t>(i)]) + "\"(" +
              letter_of(operation, i) + ")";
  }
  return out + "  " + result + " d;\n  asm(\"" + asm_text(x) +
         "\" : \"=" + constraint_of(operation.result_bits) + "\"(d) : " + inputs +
         ");\n  return d;\n}\n";
}

std::string case_of(const ScalarInstruction& x) {
  std::string arguments;
  for (int i = 0; i < x.operation.words; ++i) {
    arguments += std::string(i > 0 ? ", " : "") + "static_cast<" +
                 integer_of(x.operation.word_bits[static_cast<std::size_t>(i)]) + ">(x[" +
                 std::to_string(i) + "])";
  }
  return "      case " + std::to_string(x.number) + ": return " + identifier(x.name) + "(" +
         arguments + ");\n";
}

/// text(instruction) of all, those that want the same of an architecture under one #if.
template <class Text>
std::string guarded(const Source& source, Text text) {
  std::string out, open;
  for (const ScalarInstruction* x : source.instructions) {
    const std::string wanted = guard(*x);
    if (wanted != open) {
      out += (open.empty() ? "" : "#endif\n") + ("#if " + wanted + "\n");
      open = wanted;
    }
    out += text(*x);
  }
  return out + (open.empty() ? "" : "#endif\n");
}

/// How a file begins.
constexpr std::string_view head = R"(// SPDX-License-Identifier: Apache-2.0
//
// Written by cuda/write_scalar_sources.cpp: instructions, one wrapper each, and their kernels.
#include "cuda/run_scalar.h"
#include "cuda/scalar_kernels.cuh"
#include "cuda/scalar_memory.cuh"
)";

/// A kind; KIND, WRAPPERS and CASES stand for what differs.
constexpr std::string_view pattern = R"(
namespace binade {
namespace {

WRAPPERS
struct KIND_instructions {
  static constexpr ScalarKind kind = ScalarKind::KIND;
  static __device__ std::uint64_t run(int number, const ScalarOperands& x) {
    switch (number) {
CASES    }
    __trap();  // the host asks for what the code has
    return 0;
  }
};

__global__ void run_KIND(const __grid_constant__ ScalarLaunch launch, std::uint64_t first,
                         std::uint64_t end, ScalarTally* total) {
  scalar_body<KIND_instructions>(launch, first, end, total);
}

}  // namespace

const ScalarKernel KIND_kernel = &run_KIND;

}  // namespace binade
)";

std::string replaced(std::string text, std::string_view word, const std::string& by) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
    text.replace(at, word.size(), by);
    at += by.size();
  }
  return text;
}

std::string text_of(const Source& source) {
  const std::string text = replaced(std::string(pattern), "KIND", source.name);
  return replaced(replaced(text, "WRAPPERS", guarded(source, wrapper)), "CASES",
                  guarded(source, case_of));
}

std::string text_in(const char* file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

int main(int argc, char** argv) {
  Source sources[] = {{"conversion", ScalarKind::conversion},
                      {"approximation", ScalarKind::approximation},
                      {"arithmetic", ScalarKind::arithmetic}};
  if (argc != 3) {
    std::fputs("usage: write_scalar_sources CONVERSION.cu ARITHMETIC.cu\n", stderr);
    return 2;
  }
  std::string texts[] = {std::string(head), std::string(head)};
  for (Source& source : sources) {
    for (const ScalarInstruction& x : binade::scalar_instructions()) {
      const ScalarKind kind = x.operation.kind;
      if ((kind == ScalarKind::memory ? ScalarKind::arithmetic : kind) == source.kind) {
        source.instructions.push_back(&x);
      }
    }
    texts[source.kind == ScalarKind::arithmetic ? 1 : 0] += text_of(source);
  }
  for (int i = 0; i < 2; ++i) {
    if (text_in(argv[i + 1]) == texts[i]) continue;  // an older file is not compiled again
    std::ofstream out(argv[i + 1]);
    out << texts[i] << std::flush;
    if (!out) {
      std::fprintf(stderr, "write_scalar_sources: cannot write %s\n", argv[i + 1]);
      return 2;
    }
  }
  return 0;
}

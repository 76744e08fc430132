// SPDX-License-Identifier: Apache-2.0
//
// Writes the .cu sources of the scalar instructions while the project is built: for every
// instruction of scalar_instructions() a function with one asm statement, and for every kind of
// instruction a kernel with a switch over its functions. Instructions that an architecture lacks
// are left out of its code. Arguments: the paths of the two files to write, of conversions and
// approximations, and of arithmetic and sums in memory. A list of the instructions by name ends
// this file.
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

/// Returns the asm constraint of a register of so many bits. asm has none of 8 bits, so operands
/// and results of 8 bits (e2m1x2) are passed in 16 bits and moved to and from a register of 8.
const char* constraint_of(int bits) { return bits <= 16 ? "h" : bits == 32 ? "r" : "l"; }

std::string identifier(std::string name) {
  for (char& letter : name) {
    if (letter == '.' || letter == ':') letter = '_';
  }
  return name;
}

/// Returns the preprocessor condition under which the compiled architecture has the instruction, by
/// the rule of has_instruction.
std::string guard(const ScalarInstruction& x) {
  const std::string least = "__CUDA_ARCH__ >= " + std::to_string(10 * x.target.sm);
  if (x.target.suffix == 'a') {
    std::string any;
    for (const int sm : binade::arch_specific) {
      any += (any.empty() ? "" : " || ") + ("__CUDA_ARCH__ == " + std::to_string(10 * sm));
    }
    return "defined(__CUDA_ARCH_SPECIFIC__) && (" + any + ")";
  }
  return x.target.suffix == 'f' ? "defined(__CUDA_ARCH_FAMILY_SPECIFIC__) && " + least : least;
}

const char* const letters = "abefr";  // PTX's names of operands: d, a, b or d, {a, b, e, f}

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

/// Returns the operands of the asm text: "%1, %2" or "{%1, %2, %3, %4}, %5", or the register t if
/// the operand has 8 bits.
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

/// Returns the text of the asm statement. It contains x.name, which is PTX's own.
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
  // ptxas 13.0 takes the upper half of red.shared.add's x2 operand from another register where the
  // wrapper is written out in the kernel (an H100 left the upper lane as it was).
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

/// Returns text(instruction) of all instructions of a source; neighbours that need the same of an
/// architecture share one #if.
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

/// The beginning of a file.
constexpr std::string_view head = R"(// SPDX-License-Identifier: Apache-2.0
//
// Written by cuda/write_scalar_sources.cpp: instructions, one wrapper each, and their kernels.
#include "cuda/run_scalar.h"
#include "cuda/scalar_kernels.cuh"
#include "cuda/scalar_memory.cuh"
)";

/// The code of one kind of instructions; KIND, WRAPPERS and CASES are replaced.
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

// The instructions for which functions are written, by PTX's names, for whoever searches for one.
// tests/cuda/ptx_names_test.py compares the list with the tables.
// cvt.rn.f16.f32 cvt.rz.f16.f32 cvt.rm.f16.f32 cvt.rp.f16.f32 cvt.rn.ftz.f16.f32 cvt.rz.ftz.f16.f32
// cvt.rm.ftz.f16.f32 cvt.rp.ftz.f16.f32 cvt.rn.sat.f16.f32 cvt.rn.ftz.sat.f16.f32
// cvt.rz.sat.f16.f32 cvt.rz.ftz.sat.f16.f32 cvt.rm.sat.f16.f32 cvt.rm.ftz.sat.f16.f32
// cvt.rp.sat.f16.f32 cvt.rp.ftz.sat.f16.f32 cvt.rn.satfinite.f16.f32 cvt.rz.satfinite.f16.f32
// cvt.rn.relu.f16.f32 cvt.rn.relu.satfinite.f16.f32 cvt.rz.relu.f16.f32
// cvt.rz.relu.satfinite.f16.f32 cvt.rn.f16.f64 cvt.rz.f16.f64 cvt.rm.f16.f64 cvt.rp.f16.f64
// cvt.rn.sat.f16.f64 cvt.rz.sat.f16.f64 cvt.rm.sat.f16.f64 cvt.rp.sat.f16.f64 cvt.f16.f16
// cvt.sat.f16.f16 cvt.rn.f16.bf16 cvt.rz.f16.bf16 cvt.rm.f16.bf16 cvt.rp.f16.bf16 cvt.f16.bf16
// cvt.rn.bf16.f32 cvt.rz.bf16.f32 cvt.rm.bf16.f32 cvt.rp.bf16.f32 cvt.rn.ftz.bf16.f32
// cvt.rz.ftz.bf16.f32 cvt.rm.ftz.bf16.f32 cvt.rp.ftz.bf16.f32 cvt.rn.satfinite.bf16.f32
// cvt.rz.satfinite.bf16.f32 cvt.rn.relu.bf16.f32 cvt.rn.relu.satfinite.bf16.f32
// cvt.rz.relu.bf16.f32 cvt.rz.relu.satfinite.bf16.f32 cvt.rn.bf16.f64 cvt.rz.bf16.f64
// cvt.rm.bf16.f64 cvt.rp.bf16.f64 cvt.rn.bf16.f16 cvt.rz.bf16.f16 cvt.rm.bf16.f16 cvt.rp.bf16.f16
// cvt.bf16.f16 cvt.bf16.bf16 cvt.f32.f32 cvt.ftz.f32.f32 cvt.sat.f32.f32 cvt.ftz.sat.f32.f32
// cvt.f32.f16 cvt.ftz.f32.f16 cvt.sat.f32.f16 cvt.ftz.sat.f32.f16 cvt.f32.bf16 cvt.rn.f32.bf16
// cvt.rz.f32.bf16 cvt.rm.f32.bf16 cvt.rp.f32.bf16 cvt.ftz.f32.bf16 cvt.rn.ftz.f32.bf16
// cvt.rz.ftz.f32.bf16 cvt.rm.ftz.f32.bf16 cvt.rp.ftz.f32.bf16 cvt.rn.f32.f64 cvt.rz.f32.f64
// cvt.rm.f32.f64 cvt.rp.f32.f64 cvt.rn.ftz.f32.f64 cvt.rn.sat.f32.f64 cvt.rn.ftz.sat.f32.f64
// cvt.rz.ftz.f32.f64 cvt.rz.sat.f32.f64 cvt.rz.ftz.sat.f32.f64 cvt.rm.ftz.f32.f64
// cvt.rm.sat.f32.f64 cvt.rm.ftz.sat.f32.f64 cvt.rp.ftz.f32.f64 cvt.rp.sat.f32.f64
// cvt.rp.ftz.sat.f32.f64 cvt.f64.f64 cvt.sat.f64.f64 cvt.f64.f32 cvt.ftz.f64.f32 cvt.sat.f64.f32
// cvt.ftz.sat.f64.f32 cvt.f64.f16 cvt.sat.f64.f16 cvt.f64.bf16 cvt.rn.f64.bf16 cvt.rz.f64.bf16
// cvt.rm.f64.bf16 cvt.rp.f64.bf16 cvt.rna.tf32.f32 cvt.rna.satfinite.tf32.f32 cvt.rn.tf32.f32
// cvt.rz.tf32.f32 cvt.rn.relu.tf32.f32 cvt.rz.relu.tf32.f32 cvt.rn.satfinite.tf32.f32
// cvt.rz.satfinite.tf32.f32 cvt.rn.satfinite.relu.tf32.f32 cvt.rz.satfinite.relu.tf32.f32
// cvt.rn.f16x2.f32 cvt.rz.f16x2.f32 cvt.rn.satfinite.f16x2.f32 cvt.rz.satfinite.f16x2.f32
// cvt.rn.relu.f16x2.f32 cvt.rn.relu.satfinite.f16x2.f32 cvt.rz.relu.f16x2.f32
// cvt.rz.relu.satfinite.f16x2.f32 cvt.rn.bf16x2.f32 cvt.rz.bf16x2.f32 cvt.rn.satfinite.bf16x2.f32
// cvt.rz.satfinite.bf16x2.f32 cvt.rn.relu.bf16x2.f32 cvt.rn.relu.satfinite.bf16x2.f32
// cvt.rz.relu.bf16x2.f32 cvt.rz.relu.satfinite.bf16x2.f32 cvt.rs.f16x2.f32 cvt.rs.relu.f16x2.f32
// cvt.rs.satfinite.f16x2.f32 cvt.rs.relu.satfinite.f16x2.f32 cvt.rs.bf16x2.f32
// cvt.rs.relu.bf16x2.f32 cvt.rs.satfinite.bf16x2.f32 cvt.rs.relu.satfinite.bf16x2.f32
// cvt.rn.satfinite.e4m3x2.f32 cvt.rn.satfinite.relu.e4m3x2.f32 cvt.rn.satfinite.e5m2x2.f32
// cvt.rn.satfinite.relu.e5m2x2.f32 cvt.rn.satfinite.e4m3x2.f16x2 cvt.rn.satfinite.relu.e4m3x2.f16x2
// cvt.rn.satfinite.e5m2x2.f16x2 cvt.rn.satfinite.relu.e5m2x2.f16x2 cvt.rn.satfinite.e2m3x2.f32
// cvt.rn.satfinite.relu.e2m3x2.f32 cvt.rn.satfinite.e3m2x2.f32 cvt.rn.satfinite.relu.e3m2x2.f32
// cvt.rn.satfinite.e2m1x2.f32 cvt.rn.satfinite.relu.e2m1x2.f32 cvt.rn.satfinite.e2m1x2.f16x2
// cvt.rn.satfinite.relu.e2m1x2.f16x2 cvt.rn.f16x2.e4m3x2 cvt.rn.relu.f16x2.e4m3x2
// cvt.rn.f16x2.e5m2x2 cvt.rn.relu.f16x2.e5m2x2 cvt.rn.f16x2.e2m3x2 cvt.rn.relu.f16x2.e2m3x2
// cvt.rn.f16x2.e3m2x2 cvt.rn.relu.f16x2.e3m2x2 cvt.rn.f16x2.e2m1x2 cvt.rn.relu.f16x2.e2m1x2
// cvt.rs.satfinite.e4m3x4.f32 cvt.rs.relu.satfinite.e4m3x4.f32 cvt.rs.satfinite.e5m2x4.f32
// cvt.rs.relu.satfinite.e5m2x4.f32 cvt.rs.satfinite.e2m3x4.f32 cvt.rs.relu.satfinite.e2m3x4.f32
// cvt.rs.satfinite.e3m2x4.f32 cvt.rs.relu.satfinite.e3m2x4.f32 cvt.rs.satfinite.e2m1x4.f32
// cvt.rs.relu.satfinite.e2m1x4.f32 cvt.rz.ue8m0x2.f32 cvt.rz.satfinite.ue8m0x2.f32
// cvt.rp.ue8m0x2.f32 cvt.rp.satfinite.ue8m0x2.f32 cvt.rz.ue8m0x2.bf16x2
// cvt.rz.satfinite.ue8m0x2.bf16x2 cvt.rp.ue8m0x2.bf16x2 cvt.rp.satfinite.ue8m0x2.bf16x2
// cvt.rn.bf16x2.ue8m0x2
// add.f32 add.sat.f32 add.ftz.f32 add.ftz.sat.f32 add.rn.f32 add.rn.sat.f32 add.rn.ftz.f32
// add.rn.ftz.sat.f32 add.rz.f32 add.rz.sat.f32 add.rz.ftz.f32 add.rz.ftz.sat.f32 add.rm.f32
// add.rm.sat.f32 add.rm.ftz.f32 add.rm.ftz.sat.f32 add.rp.f32 add.rp.sat.f32 add.rp.ftz.f32
// add.rp.ftz.sat.f32 add.f32x2 add.ftz.f32x2 add.rn.f32x2 add.rn.ftz.f32x2 add.rz.f32x2
// add.rz.ftz.f32x2 add.rm.f32x2 add.rm.ftz.f32x2 add.rp.f32x2 add.rp.ftz.f32x2 add.f16 add.sat.f16
// add.ftz.f16 add.ftz.sat.f16 add.rn.f16 add.rn.sat.f16 add.rn.ftz.f16 add.rn.ftz.sat.f16 add.f16x2
// add.sat.f16x2 add.ftz.f16x2 add.ftz.sat.f16x2 add.rn.f16x2 add.rn.sat.f16x2 add.rn.ftz.f16x2
// add.rn.ftz.sat.f16x2 add.bf16 add.rn.bf16 add.bf16x2 add.rn.bf16x2 add.f32.f16 add.sat.f32.f16
// add.rn.f32.f16 add.rn.sat.f32.f16 add.rz.f32.f16 add.rz.sat.f32.f16 add.rm.f32.f16
// add.rm.sat.f32.f16 add.rp.f32.f16 add.rp.sat.f32.f16 add.f32.bf16 add.sat.f32.bf16
// add.rn.f32.bf16 add.rn.sat.f32.bf16 add.rz.f32.bf16 add.rz.sat.f32.bf16 add.rm.f32.bf16
// add.rm.sat.f32.bf16 add.rp.f32.bf16 add.rp.sat.f32.bf16
// sub.f32 sub.sat.f32 sub.ftz.f32 sub.ftz.sat.f32 sub.rn.f32 sub.rn.sat.f32 sub.rn.ftz.f32
// sub.rn.ftz.sat.f32 sub.rz.f32 sub.rz.sat.f32 sub.rz.ftz.f32 sub.rz.ftz.sat.f32 sub.rm.f32
// sub.rm.sat.f32 sub.rm.ftz.f32 sub.rm.ftz.sat.f32 sub.rp.f32 sub.rp.sat.f32 sub.rp.ftz.f32
// sub.rp.ftz.sat.f32 sub.f32x2 sub.ftz.f32x2 sub.rn.f32x2 sub.rn.ftz.f32x2 sub.rz.f32x2
// sub.rz.ftz.f32x2 sub.rm.f32x2 sub.rm.ftz.f32x2 sub.rp.f32x2 sub.rp.ftz.f32x2 sub.f16 sub.sat.f16
// sub.ftz.f16 sub.ftz.sat.f16 sub.rn.f16 sub.rn.sat.f16 sub.rn.ftz.f16 sub.rn.ftz.sat.f16 sub.f16x2
// sub.sat.f16x2 sub.ftz.f16x2 sub.ftz.sat.f16x2 sub.rn.f16x2 sub.rn.sat.f16x2 sub.rn.ftz.f16x2
// sub.rn.ftz.sat.f16x2 sub.bf16 sub.rn.bf16 sub.bf16x2 sub.rn.bf16x2 sub.f32.f16 sub.sat.f32.f16
// sub.rn.f32.f16 sub.rn.sat.f32.f16 sub.rz.f32.f16 sub.rz.sat.f32.f16 sub.rm.f32.f16
// sub.rm.sat.f32.f16 sub.rp.f32.f16 sub.rp.sat.f32.f16 sub.f32.bf16 sub.sat.f32.bf16
// sub.rn.f32.bf16 sub.rn.sat.f32.bf16 sub.rz.f32.bf16 sub.rz.sat.f32.bf16 sub.rm.f32.bf16
// sub.rm.sat.f32.bf16 sub.rp.f32.bf16 sub.rp.sat.f32.bf16
// mul.f32 mul.sat.f32 mul.ftz.f32 mul.ftz.sat.f32 mul.rn.f32 mul.rn.sat.f32 mul.rn.ftz.f32
// mul.rn.ftz.sat.f32 mul.rz.f32 mul.rz.sat.f32 mul.rz.ftz.f32 mul.rz.ftz.sat.f32 mul.rm.f32
// mul.rm.sat.f32 mul.rm.ftz.f32 mul.rm.ftz.sat.f32 mul.rp.f32 mul.rp.sat.f32 mul.rp.ftz.f32
// mul.rp.ftz.sat.f32 mul.f32x2 mul.ftz.f32x2 mul.rn.f32x2 mul.rn.ftz.f32x2 mul.rz.f32x2
// mul.rz.ftz.f32x2 mul.rm.f32x2 mul.rm.ftz.f32x2 mul.rp.f32x2 mul.rp.ftz.f32x2 mul.f16 mul.sat.f16
// mul.ftz.f16 mul.ftz.sat.f16 mul.rn.f16 mul.rn.sat.f16 mul.rn.ftz.f16 mul.rn.ftz.sat.f16 mul.f16x2
// mul.sat.f16x2 mul.ftz.f16x2 mul.ftz.sat.f16x2 mul.rn.f16x2 mul.rn.sat.f16x2 mul.rn.ftz.f16x2
// mul.rn.ftz.sat.f16x2 mul.bf16 mul.rn.bf16 mul.bf16x2 mul.rn.bf16x2
// fma.rn.f32 fma.rn.sat.f32 fma.rn.ftz.f32 fma.rn.ftz.sat.f32 fma.rz.f32 fma.rz.sat.f32
// fma.rz.ftz.f32 fma.rz.ftz.sat.f32 fma.rm.f32 fma.rm.sat.f32 fma.rm.ftz.f32 fma.rm.ftz.sat.f32
// fma.rp.f32 fma.rp.sat.f32 fma.rp.ftz.f32 fma.rp.ftz.sat.f32 fma.rn.f32x2 fma.rn.ftz.f32x2
// fma.rz.f32x2 fma.rz.ftz.f32x2 fma.rm.f32x2 fma.rm.ftz.f32x2 fma.rp.f32x2 fma.rp.ftz.f32x2
// fma.rn.f16 fma.rn.sat.f16 fma.rn.relu.f16 fma.rn.ftz.f16 fma.rn.ftz.sat.f16 fma.rn.ftz.relu.f16
// fma.rn.f16x2 fma.rn.sat.f16x2 fma.rn.relu.f16x2 fma.rn.ftz.f16x2 fma.rn.ftz.sat.f16x2
// fma.rn.ftz.relu.f16x2 fma.rn.bf16 fma.rn.relu.bf16 fma.rn.bf16x2 fma.rn.relu.bf16x2
// fma.rn.f32.f16 fma.rn.sat.f32.f16 fma.rz.f32.f16 fma.rz.sat.f32.f16 fma.rm.f32.f16
// fma.rm.sat.f32.f16 fma.rp.f32.f16 fma.rp.sat.f32.f16 fma.rn.f32.bf16 fma.rn.sat.f32.bf16
// fma.rz.f32.bf16 fma.rz.sat.f32.bf16 fma.rm.f32.bf16 fma.rm.sat.f32.bf16 fma.rp.f32.bf16
// fma.rp.sat.f32.bf16
// min.f32 min.xorsign.abs.f32 min.NaN.f32 min.NaN.xorsign.abs.f32 min.ftz.f32
// min.ftz.xorsign.abs.f32 min.ftz.NaN.f32 min.ftz.NaN.xorsign.abs.f32 min.f16 min.xorsign.abs.f16
// min.NaN.f16 min.NaN.xorsign.abs.f16 min.ftz.f16 min.ftz.xorsign.abs.f16 min.ftz.NaN.f16
// min.ftz.NaN.xorsign.abs.f16 min.f16x2 min.xorsign.abs.f16x2 min.NaN.f16x2
// min.NaN.xorsign.abs.f16x2 min.ftz.f16x2 min.ftz.xorsign.abs.f16x2 min.ftz.NaN.f16x2
// min.ftz.NaN.xorsign.abs.f16x2 min.bf16 min.xorsign.abs.bf16 min.NaN.bf16 min.NaN.xorsign.abs.bf16
// min.bf16x2 min.xorsign.abs.bf16x2 min.NaN.bf16x2 min.NaN.xorsign.abs.bf16x2
// max.f32 max.xorsign.abs.f32 max.NaN.f32 max.NaN.xorsign.abs.f32 max.ftz.f32
// max.ftz.xorsign.abs.f32 max.ftz.NaN.f32 max.ftz.NaN.xorsign.abs.f32 max.f16 max.xorsign.abs.f16
// max.NaN.f16 max.NaN.xorsign.abs.f16 max.ftz.f16 max.ftz.xorsign.abs.f16 max.ftz.NaN.f16
// max.ftz.NaN.xorsign.abs.f16 max.f16x2 max.xorsign.abs.f16x2 max.NaN.f16x2
// max.NaN.xorsign.abs.f16x2 max.ftz.f16x2 max.ftz.xorsign.abs.f16x2 max.ftz.NaN.f16x2
// max.ftz.NaN.xorsign.abs.f16x2 max.bf16 max.xorsign.abs.bf16 max.NaN.bf16 max.NaN.xorsign.abs.bf16
// max.bf16x2 max.xorsign.abs.bf16x2 max.NaN.bf16x2 max.NaN.xorsign.abs.bf16x2
// red.global.add.f32 red.shared.add.f32 red.global.add.noftz.f16 red.shared.add.noftz.f16
// red.global.add.noftz.f16x2 red.shared.add.noftz.f16x2 red.global.add.noftz.bf16
// red.shared.add.noftz.bf16 red.global.add.noftz.bf16x2 red.shared.add.noftz.bf16x2
// ex2.approx.f16 ex2.approx.ftz.bf16
// tanh.approx.f16 tanh.approx.bf16 tanh.approx.f32
// ex2.approx.f32 ex2.approx.ftz.f32
// lg2.approx.f32 lg2.approx.ftz.f32
// rcp.approx.f32 rcp.approx.ftz.f32
// rsqrt.approx.f32 rsqrt.approx.ftz.f32
// sqrt.approx.f32 sqrt.approx.ftz.f32
// sin.approx.f32 sin.approx.ftz.f32
// cos.approx.f32 cos.approx.ftz.f32

// SPDX-License-Identifier: Apache-2.0
//
// Gathers the instructions of every architecture by what they compute.
#include "lib/identify/cores.h"

#include <algorithm>
#include <array>

#include "emulate/codec.h"
#include "lib/instruction/instruction_name.h"

namespace binade {
bool is_exact_product(const Format& a, const Format& b, const Format& d) {
  return a.precision + b.precision <= d.precision && a.emax() + b.emax() + 1 <= d.emax() &&
         a.quantum_exponent() + b.quantum_exponent() >= d.quantum_exponent();
}

namespace {

/// Returns whether an instruction is tried. Sparse ones need metadata that a product does not have,
/// and scale-d 0 drops the accumulator.
bool takes_part(const Instruction& x, const Format& a, const Format& b) {
  return x.types.a == a && x.types.b == b && x.model.sparse_group == 0 &&
         x.model.scales == WgmmaScales{};
}

/// Adds a name to a core. wgmma of another n and wmma of other m and n follow the same model, so
/// one name for each family and k is enough. Architectures share a name's line only if their
/// evidence is the same.
void add_name(std::vector<CoreName>& names, const NamedGemm& x) {
  const auto same = [&](const CoreName& name) {
    return name.instruction == x.instruction && name.evidence == x.known.evidence &&
           name.source == x.known.source;
  };
  auto found = std::ranges::find_if(names, same);
  if (found == names.end()) {
    names.push_back({x.instruction, {}, x.known.evidence, x.known.source});
    found = names.end() - 1;
  }
  found->architectures.push_back(x.sm);
}

void add_instructions(std::vector<Core>& cores, const Format& a, const Format& b,
                      std::span<const int> of) {
  for (const Architecture& row : architectures) {
    if (!of.empty() && std::ranges::find(of, row.sm) == of.end()) continue;
    for (const Instruction& x : instructions_of(row.sm)) {
      if (!takes_part(x, a, b)) continue;
      const NamedGemm named = named_gemm(x);
      const auto same = [&](const Core& core) { return core.plain == named.model; };
      auto found = std::ranges::find_if(cores, same);
      if (found == cores.end()) {
        cores.push_back({named.model, {}});
        found = cores.end() - 1;
      }
      add_name(found->names, named);
    }
  }
}

/// Adds a chain of an operation, such as "fma.rn.", as a core or as another name of one.
void add_chain(std::vector<Core>& cores, const char* operation, const Format& a, const Format& b,
               const Format& d) {
  std::string name = operation;
  for (const Format& f : {d, a, b, d}) name.append(type_name(f)).append(".");
  name.pop_back();
  const NamedGemm named = parse_gemm(name, 0);
  const CoreName core_name{name, {}, named.known.evidence, named.known.source};
  const auto fused = std::ranges::find_if(cores, [&](const Core& core) {
    return core.is_chain() && core.plain.types == named.model.types;
  });
  if (fused != cores.end() && is_exact_product(a, b, d)) {
    fused->names.push_back(core_name);
  } else {
    cores.push_back({named.model, {core_name}});
  }
}

constexpr std::array chain_operations{"fma.rn.", "mul_add.rn."};

/// Adds the chains of rounded operations. Their accumulator is binary32 or binary64, or has the
/// operands' own type.
void add_chains(std::vector<Core>& cores, const Format& a, const Format& b) {
  for (const char* operation : chain_operations) {
    for (const Format& d : {binary32, binary64, binary16, bfloat16}) {
      const bool usual = d == binary32 || d == binary64;
      if (usual ? !fits_in(a, d) || !fits_in(b, d) : a != d || b != d) continue;
      add_chain(cores, operation, a, b, d);
    }
  }
}

}  // namespace

std::vector<Core> cores_for(const KernelTypes& types, const Searched& searched) {
  std::vector<Core> instructions, chains;
  const bool integers = is_integer(types.a) || is_integer(types.b);
  const auto add = [&](const Format& a, const Format& b) {
    // Sums of integers are exact, so that instructions stand for loops, too.
    if (searched.instructions || integers) {
      add_instructions(instructions, a, b, searched.architectures);
    }
    if (!integers) add_chains(chains, a, b);
  };
  add(types.a, types.b);
  if (searched.tf32 && types.a == binary32 && types.b == binary32) add(tf32, tf32);
  std::vector<Core>& first = searched.gpu ? instructions : chains;
  std::ranges::move(searched.gpu ? chains : instructions, std::back_inserter(first));
  return std::move(first);
}

void add_unusual_chains(std::vector<Core>& cores, const KernelTypes& types) {
  if (is_integer(types.a) || is_integer(types.b)) return;
  for (const char* operation : chain_operations) {
    for (const Format& d : {binary16, bfloat16, tf32}) {
      if (types.a != d || types.b != d) add_chain(cores, operation, types.a, types.b, d);
    }
  }
}

bool looks_like_gpu(const KernelTypes& types, std::span<const KernelRun> runs) {
  const auto narrow = [](const Format& f) { return !is_integer(f) && f.storage_bits() < 16; };
  if (narrow(types.a) || narrow(types.b)) return true;
  if (is_integer(types.d) || types.d.specials != Specials::ieee) return false;
  const auto holds_nan = [](const std::vector<std::uint64_t>& matrix, const Format& f) {
    return !is_integer(f) && std::ranges::any_of(matrix, [&f](std::uint64_t bits) {
      return decode(bits, f).kind == Kind::nan;
    });
  };
  const std::uint64_t nan = nan_bits(types.d, NanResult::nvidia);
  return std::ranges::any_of(runs, [&](const KernelRun& run) {
    return std::ranges::find(run.d, nan) != run.d.end() && !holds_nan(run.a, types.a) &&
           !holds_nan(run.b, types.b) && !holds_nan(run.c, types.c) &&
           !holds_nan(run.bias, types.bias);
  });
}

}  // namespace binade

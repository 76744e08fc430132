// SPDX-License-Identifier: Apache-2.0
//
// Elements are decoded, operated on and written in parts that stay in the cache. Counts are
// integers, so their order does not matter.
#include "lib/range/elementwise.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <vector>

#include "lib/parallel/parallel.h"
#include "lib/range/counted_loop.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

/// A name that users may type for an operation.
struct OperationWord {
  std::string_view name;
  Operation operation;
};

std::vector<OperationWord> operation_words() {
  std::vector<OperationWord> words;
  for (const NamedOperation& row : operations) words.push_back({row.name, row.operation});
  for (const NamedOperation& row : operations) {
    if (!row.testfloat.empty()) words.push_back({row.testfloat, row.operation});
  }
  words.push_back({"fma", Operation::multiply_add});
  words.push_back({"min", Operation::minimum});
  words.push_back({"max", Operation::maximum});
  return words;
}

constexpr std::size_t elementwise_grain = std::size_t{1}
                                          << 14;  ///< elements a thread takes at a time
constexpr std::size_t elementwise_part = 1024;    ///< elements decoded at a time

/// Computes the results from `begin` to `end`. T holds every operand and the result; U holds the
/// result.
template <std::floating_point T, std::floating_point U>
void operate_on_run(const Elementwise& how, std::span<const OperandBytes> operands,
                    std::uint64_t first, std::span<std::byte> results, std::size_t begin,
                    std::size_t end, EventCounts& counts) {
  const Kernels& kernels = fastest_kernels();
  std::array<std::array<T, elementwise_part>, 3> values;
  const auto decode = [&](std::size_t operand, std::size_t at, std::size_t n) {
    const Format& from = how.from[operand];
    (kernels.*KernelsOf<T>::decode)(operands[operand].elements.data() + at * code_bytes(from),
                                    values[operand].data(), n, from);
  };
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].repeated) continue;
    decode(i, 0, 1);
    values[i].fill(values[i][0]);
  }
  for (std::size_t start = begin; start < end; start += elementwise_part) {
    const std::size_t n = std::min(elementwise_part, end - start);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].repeated) decode(i, start, n);
    }
    std::array<T, elementwise_part> carried;
    (kernels.*KernelsOf<T>::elementwise)(values[0].data(), values[1].data(), values[2].data(),
                                         carried.data(), n, first + start, how, counts);
    std::array<U, elementwise_part> held;
    std::copy_n(carried.begin(), n, held.begin());
    std::memcpy(results.data() + start * sizeof(U), held.data(), n * sizeof(U));
  }
}

}  // namespace

const NamedOperation& parse_operation(std::string_view text) {
  const auto words = operation_words();
  const auto found = std::ranges::find(words, text, &OperationWord::name);
  if (found != words.end()) return operations[static_cast<std::size_t>(found->operation)];
  const std::string hint = did_you_mean(text, names_of(words));
  throw Error("no operation '" + printable(text) + "'" + hint + "; there are " +
              listed(names_of(operations)));
}

EventCounts operate_on_elements(const Elementwise& how, std::span<const OperandBytes> operands,
                                std::uint64_t first, ResultKind results, std::span<std::byte> out,
                                const ElementIndex& index) {
  assert(operands.size() == static_cast<std::size_t>(operand_count(how.operation)));
  assert(results != ResultKind::encodings);
  const auto is_narrow = [](const Format& f) { return fits_in(f, binary32); };
  const bool narrow = is_narrow(how.to) &&
                      std::ranges::all_of(std::span(how.from).first(operands.size()), is_narrow);
  const auto run = results == ResultKind::f64 ? &operate_on_run<double, double>
                   : narrow                   ? &operate_on_run<float, float>
                                              : &operate_on_run<double, float>;
  const bool draws_by_index = index && how.attributes.rounding == Rounding::stochastic;
  const std::size_t n = out.size() / (results == ResultKind::f64 ? sizeof(double) : sizeof(float));
  return counted_loop(n, elementwise_grain,
                      [&](std::size_t begin, std::size_t end, EventCounts& counts) {
                        if (!draws_by_index) {
                          return run(how, operands, first, out, begin, end, counts);
                        }
                        for (std::size_t i = begin; i < end; ++i) {
                          const std::uint64_t drawn = index(first + i);
                          run(how, operands, drawn - i, out, i, i + 1, counts);
                        }
                      });
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Rows of operations on arrays whose operands and results have one format, as in a GPU's
// elementwise kernels.
#include <string>

#include "lib/range/fate.h"
#include "tests/bench/arrays.h"
#include "tests/bench/rows.h"

namespace binade::bench {
namespace {

void add_operation(std::size_t n, const NamedOperation& operation, const NamedFormat& format,
                   Rounding rounding) {
  const Format& f = format.format;
  const auto operands = static_cast<std::size_t>(operation.operands);
  const Elementwise how{.operation = operation.operation,
                        .from = {f, f, f},
                        .to = f,
                        .attributes = {.rounding = rounding}};
  const Work work{
      .name = "elementwise/" + std::string(operation.name) + "/" + std::string(format.name) + "/" +
              std::string(rounding_name(rounding)),
      .n = n,
      .limit = {{operands, sizeof(float), sizeof(float)}},
      .arrays =
          [f, operands] {
            Arrays arrays{{}, output()};
            for (std::size_t k = 0; k < operands; ++k) {
              arrays.in[k] = reinterpret_cast<const std::byte*>(operand(f, k));
            }
            return arrays;
          },
      .run =
          [how](const Kernels& kernels, const Arrays& arrays, std::size_t begin, std::size_t end) {
            const auto in = [&](std::size_t k) {
              return arrays.in[k] == nullptr ? nullptr
                                             : reinterpret_cast<const float*>(arrays.in[k]) + begin;
            };
            EventCounts counts;
            kernels.elementwise_f32(in(0), in(1), in(2),
                                    reinterpret_cast<float*>(arrays.out) + begin, end - begin,
                                    begin, how, counts);
          }};
  add_rows(work, levels_of(&Kernels::elementwise_f32));
  const bool threaded = f == binary16 && rounding == Rounding::ties_to_even && n > in_l2;
  if (threaded) add_thread_rows(work, levels_of(&Kernels::elementwise_f32));
}

}  // namespace

void add_operations() {
  for (const std::size_t n : {in_l2, several_from_dram}) {
    for (const NamedOperation& operation : operations) {
      const Operation o = operation.operation;
      if (o == Operation::subtract || o == Operation::remainder) continue;
      const bool in_all = o != Operation::divide && o != Operation::square_root;
      for (const NamedFormat& format : report_formats) {
        for (const NamedRounding& row : roundings) {
          const bool wanted =
              row.rounding == Rounding::ties_to_even || (in_all && format.format == binary16);
          if (wanted) add_operation(n, operation, format, row.rounding);
        }
      }
    }
  }
}

}  // namespace binade::bench

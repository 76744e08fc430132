// SPDX-License-Identifier: Apache-2.0
//
// The emulated device computes dot products by the CPU's kernels, scalar instructions by their
// model and bulk work by its definitions, on all threads.
#include "lib/device/emulated_device.h"

#include <utility>
#include <vector>

#include "emulate/range_count.h"
#include "lib/cases/crossing.h"
#include "lib/cases/scalar_cases.h"
#include "lib/device/dot_products.h"
#include "lib/device/matrix_product.h"
#include "lib/device/scalar_tally.h"
#include "lib/parallel/parallel.h"

namespace binade {

EmulatedDevice::EmulatedDevice(int sm, Planted planted, PlantedScalar planted_scalar,
                               const std::string& words)
    : planted_(std::move(planted)), planted_scalar_(std::move(planted_scalar)) {
  info_.name = "emulated sm_" + std::to_string(sm) + words;
  info_.compute_capability = sm;
}

CannotRun EmulatedDevice::other_architecture(const Instruction& instruction) const {
  if (instruction.sm == info_.compute_capability) return std::nullopt;
  return info_.name + " runs no instructions of sm_" + std::to_string(instruction.sm);
}

void EmulatedDevice::check_rows(const Instruction& instruction, const Dots& dots) const {
  if (fit(dots, instruction)) return;
  throw Error(info_.name + ": " + std::to_string(dots.c.size()) +
              " rows that do not fit a and b, or their scales; report this as a bug of binade");
}

DotModel EmulatedDevice::used_model(const Instruction& instruction) const {
  DotModel model = instruction.model;
  if (planted_) planted_(model);
  return model;
}

CannotRun EmulatedDevice::run_dots(const Instruction& instruction, Dots& dots) {
  if (CannotRun why = other_architecture(instruction)) return why;
  check_rows(instruction, dots);
  Instruction used = instruction;
  used.model = used_model(instruction);
  dots.d = dots_of(used, dots);
  return std::nullopt;
}

CannotRun EmulatedDevice::tally_crossed(const Instruction& instruction, const Dots& pool,
                                        const Crossing& crossing, CrossTally& tally) {
  if (CannotRun why = other_architecture(instruction)) return why;
  check_rows(instruction, pool);
  const bool any_n = dense_family(instruction.family) == Family::wgmma && crossing.n == 8;
  if (crossing.m != instruction.m || (crossing.n != instruction.n && !any_n) ||
      crossing.rows == 0 || crossing.rows != pool.c.size()) {
    throw Error(info_.name + ": a crossing of " + std::to_string(crossing.rows) +
                " rows in tiles of " + std::to_string(crossing.m) + " × " +
                std::to_string(crossing.n) +
                " fits neither the instruction nor the pool; report this as a bug of binade");
  }
  Instruction used = instruction;
  used.model = used_model(instruction);
  const DotProducts device(used, pool);
  const DotProducts emulator(instruction, pool);
  const auto m = static_cast<std::uint64_t>(crossing.m);
  const auto n = static_cast<std::uint64_t>(crossing.n);
  std::vector<CrossTally> slots(thread_count());
  parallel_for(crossing.tiles, 16, [&](std::size_t begin, std::size_t end, std::size_t slot) {
    for (std::uint64_t tile = crossing.first + begin; tile < crossing.first + end; ++tile) {
      const CrossedRows start = start_of_tile(crossing, tile);
      for (std::uint64_t e = 0; e < m * n; ++e) {
        const CrossedRows rows =
            crossed_rows(crossing, start, static_cast<int>(e / n), static_cast<int>(e % n));
        const auto made_by = [&](const DotProducts& by) { return by(rows.a, rows.b, rows.c); };
        const bool same = made_by(device) == made_by(emulator);
        slots[slot].merge({1, same ? 0U : 1U, same ? CrossTally::none : tile * m * n + e});
      }
    }
  });
  tally = {};
  for (const CrossTally& of_slot : slots) tally.merge(of_slot);
  return std::nullopt;
}

CannotRun EmulatedDevice::cannot_run(const ScalarInstruction& instruction) const {
  if (!instruction.is_emulated()) return "approximations have no emulation";
  return why_lacking(instruction, {info_.compute_capability, 'a'});
}

ScalarOperation EmulatedDevice::believed(const ScalarInstruction& instruction) const {
  ScalarOperation out = instruction.operation;
  if (planted_scalar_) planted_scalar_(out);
  return out;
}

CannotRun EmulatedDevice::tally_scalar(const ScalarInstruction& instruction,
                                       const ScalarCases& cases, std::uint64_t first,
                                       std::uint64_t end, ScalarTally& tally) {
  if (CannotRun why = cannot_run(instruction)) return why;
  const ScalarOperation& x = instruction.operation;
  const ScalarOperation device = believed(instruction);
  std::vector<ScalarTally> of_slot(thread_count());
  const auto body = [&](std::size_t begin, std::size_t stop, std::size_t slot) {
    for (std::uint64_t n = first + begin; n < first + stop; ++n) {
      const ScalarOperands operands = operands_of(x, cases, n);
      of_slot[slot].add(x, n, emulate(device, operands), emulate(x, operands));
    }
  };
  parallel_for(end - first, std::size_t{1} << 14, body);
  for (const ScalarTally& part : of_slot) tally.merge(part);
  return std::nullopt;
}

CannotRun EmulatedDevice::run_scalar(const ScalarInstruction& instruction, const ScalarCases& cases,
                                     std::span<const std::uint64_t> numbers,
                                     std::span<std::uint64_t> results) {
  if (CannotRun why = cannot_run(instruction)) return why;
  const ScalarOperation device = believed(instruction);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    results[i] = emulate(device, operands_of(instruction.operation, cases, numbers[i]));
  }
  return std::nullopt;
}

CannotRun EmulatedDevice::quantize(std::span<const float> in, std::span<float> out,
                                   std::uint64_t first, const Quantizer& to, EventCounts& counts) {
  std::vector<EventCounts> of_slot(thread_count());
  parallel_for(in.size(), 4096, [&](std::size_t begin, std::size_t end, std::size_t slot) {
    binade::quantize(in.data() + begin, out.data() + begin, end - begin, first + begin, to,
                     of_slot[slot]);
  });
  for (const EventCounts& part : of_slot) counts += part;
  return std::nullopt;
}

CannotRun EmulatedDevice::range_count(std::span<const float> values,
                                      std::span<const ErrorColumn> /*columns*/,
                                      RangeBlock<float>& block) {
  binade::range_count(values.data(), values.size(), block);
  return std::nullopt;
}

CannotRun EmulatedDevice::range_count_at(const void* device_address, std::size_t n,
                                         std::span<const ErrorColumn> columns,
                                         std::uintptr_t /*stream*/, RangeBlock<float>& block) {
  return range_count({static_cast<const float*>(device_address), n}, columns, block);
}

CannotRun EmulatedDevice::multiply(const MatrixProduct& x, ProductWay& way) {
  Instruction how = x.how;
  how.model = used_model(how);
  const auto n = static_cast<std::size_t>(x.n);
  const auto k = static_cast<std::size_t>(x.k);
  parallel_for(x.sums.size(), 64, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t at = begin; at < end; ++at) {
      x.sums[at] = chain(how, x.a.data() + at / n * k, x.b.data() + at % n * k, x.k, x.sums[at]);
    }
  });
  way = ProductWay::emulated;
  return std::nullopt;
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Dot products by the reference model, on all threads.
#include "lib/record/emulated_device.h"

#include <utility>

#include "lib/parallel/parallel.h"
#include "lib/record/dots.h"

namespace binade {

EmulatedDevice::EmulatedDevice(int sm, Planted planted) : planted_(std::move(planted)) {
  info_.name = "emulated sm_" + std::to_string(sm);
  info_.compute_capability = sm;
}

std::vector<ConversionCheck> EmulatedDevice::check_conversions(const CheckProgress&) { return {}; }

std::optional<std::string> EmulatedDevice::run_dots(const Instruction& instruction, Dots& dots) {
  if (instruction.sm != info_.compute_capability) {
    return info_.name + " runs no instructions of sm_" + std::to_string(instruction.sm);
  }
  const auto k = static_cast<std::size_t>(instruction.k);
  if (dots.a.size() != dots.c.size() * k || dots.b.size() != dots.c.size() * k) {
    throw Error(info_.name + ": " + std::to_string(dots.c.size()) +
                " rows that do not fit a and b; report this as a bug of binade");
  }
  DotModel model = instruction.model;
  if (planted_) planted_(model);
  dots.d.resize(dots.c.size());
  parallel_for(dots.c.size(), 1024, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      dots.d[i] = dot(model, instruction.types, dots.a.data() + i * k, dots.b.data() + i * k,
                      instruction.k, dots.c[i]);
    }
  });
  return std::nullopt;
}

}  // namespace binade

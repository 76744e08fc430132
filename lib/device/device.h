// SPDX-License-Identifier: Apache-2.0
//
// A device: the silicon whose bits the emulator must give. `open_device` finds the one there is in a
// module that it loads when called (device_module.h), so nothing else in lib knows about CUDA.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/device/kernel_check.h"
#include "lib/text/error.h"

namespace binade {

struct DeviceInfo {
  std::string name;
  int compute_capability = 0;  ///< 10 · major + minor: 90 for sm_90
  int multiprocessors = 0;
  std::uint64_t memory = 0;  ///< bytes
  std::string driver = {};   ///< its version, as 580.159.04; empty: not to be had
  int driver_cuda = 0;       ///< newest CUDA the driver serves: 1000 · major + 10 · minor
  int runtime_cuda = 0;      ///< CUDA its module was built with, the same way
};

struct Instruction;        // emulate/tensor_core.h
struct Dots;               // lib/cases/dots.h
struct Crossing;           // lib/cases/crossing.h
struct CrossTally;         // lib/cases/crossing.h
struct ScalarInstruction;  // lib/instruction/scalar_instruction.h
struct ScalarCases;        // lib/cases/scalar_cases.h
struct ScalarTally;        // lib/device/scalar_tally.h
struct Quantizer;          // emulate/quantize.h
struct EventCounts;        // emulate/event_count.h
struct ErrorColumn;        // emulate/range_count.h
template <std::floating_point T>
struct RangeBlock;                     // emulate/range_count.h
struct MatrixProduct;                  // lib/device/matrix_product.h
enum class ProductWay : std::uint8_t;  // lib/device/matrix_product.h

/// Why a device cannot run something; none: it did.
using CannotRun = std::optional<std::string>;

/// A call that fails throws Error with the call, the kernel and the case.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;

  /// Fills d of the rows.
  virtual CannotRun run_dots(const Instruction&, Dots&) {
    return "this device has no Tensor Core instructions";
  }
  /// Runs whole tiles of rows crossed with rows, and tallies them against the emulator.
  virtual CannotRun tally_crossed(const Instruction&, const Dots&, const Crossing&, CrossTally&) {
    return "this device has no Tensor Core instructions";
  }

  /// Runs the cases first … end - 1, and adds them to the tally beside the emulator's results.
  virtual CannotRun tally_scalar(const ScalarInstruction&, const ScalarCases&,
                                 std::uint64_t /*first*/, std::uint64_t /*end*/, ScalarTally&) {
    return "this device has no scalar instructions";
  }
  /// results[i] = what case cases[i] gives; both of one size.
  virtual CannotRun run_scalar(const ScalarInstruction&, const ScalarCases&,
                               std::span<const std::uint64_t> /*cases*/,
                               std::span<std::uint64_t> /*results*/) {
    return "this device has no scalar instructions";
  }

  /// `quantize` of emulate/quantize.h, of floats to a format that fits in binary32: bytes and counts. `out` may
  /// be `in`.
  virtual CannotRun quantize(std::span<const float> /*in*/, std::span<float> /*out*/,
                             std::uint64_t /*first*/, const Quantizer&, EventCounts&) {
    return "this device quantizes nothing";
  }
  /// `range_count` of emulate/range_count.h; the block was reset with these columns.
  virtual CannotRun range_count(std::span<const float>, std::span<const ErrorColumn>,
                                RangeBlock<float>&) {
    return "this device counts no ranges";
  }
  /// The same of n floats that lie in the device's memory (an emulator's is the host's), after what one of its streams has to
  /// do, for which it waits. `stream`: CUDA's handle; 0: the default one.
  virtual CannotRun range_count_at(const void* /*device_address*/, std::size_t /*n*/,
                                   std::span<const ErrorColumn>, std::uintptr_t /*stream*/,
                                   RangeBlock<float>&) {
    return "this device counts no ranges in its memory";
  }
  /// Each sum becomes its `chain` (lib/device/matrix_product.h).
  virtual CannotRun multiply(const MatrixProduct&, ProductWay&) {
    return "this device multiplies no matrices";
  }

  /// The device's bulk kernels against their definitions, byte for byte.
  virtual std::vector<KernelCheck> check_kernels() { return {}; }
  /// How fast they are, each beside the limit measured in the same run.
  virtual std::vector<KernelRate> measure_rates() { return {}; }
};

/// Error where the device could not do what a command asked of it.
inline void expect_done(const Device& device, const CannotRun& why) {
  if (why) throw Error(device.info().name + ": " + *why + "; leave --device out");
}

/// The shared library that a device's code comes from.
struct DeviceModule {
  std::string file = {};           ///< empty: there is none
  std::string architectures = {};  ///< that it was built for: "80 90a"
};

struct OpenedDevice {
  std::unique_ptr<Device> device = {};  ///< null: there is none
  std::string why_none = {};
  DeviceModule module = {};
};

/// The first GPU that CUDA shows (CUDA_VISIBLE_DEVICES chooses), or why there is none. Error where the
/// module beside the program is not for this program, or cannot be loaded.
OpenedDevice open_device();

}  // namespace binade

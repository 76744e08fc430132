// SPDX-License-Identifier: Apache-2.0
//
// The interface of a device: a GPU, whose bits the emulator must reproduce, or the emulator in its
// place. `open_device` loads a module (device_module.h) that finds the machine's GPU, so nothing
// else in lib depends on CUDA.
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
  std::string driver = {};   ///< version of the driver, "580.159.04"; empty if unknown
  int driver_cuda = 0;       ///< newest CUDA that the driver serves: 1000 · major + 10 · minor
  int runtime_cuda = 0;      ///< CUDA that the module was built with: 1000 · major + 10 · minor
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

/// The reason why a device cannot run what was requested; nothing if it ran.
using CannotRun = std::optional<std::string>;

/// A device. Each function throws Error with the call, the kernel and the case if the device fails.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;

  /// Runs the instruction on every row and writes the results to d.
  virtual CannotRun run_dots(const Instruction&, Dots&) {
    return "this device has no Tensor Core instructions";
  }
  /// Runs tiles of m × n dot products made of rows of the pool, which Dots holds
  /// (lib/cases/crossing.h), compares each element with the emulator's, and sets the tally to the
  /// outcome.
  virtual CannotRun tally_crossed(const Instruction&, const Dots&, const Crossing&, CrossTally&) {
    return "this device has no Tensor Core instructions";
  }

  /// Runs the cases first … end - 1, compares their results with the emulator's and adds the
  /// outcome to the tally.
  virtual CannotRun tally_scalar(const ScalarInstruction&, const ScalarCases&,
                                 std::uint64_t /*first*/, std::uint64_t /*end*/, ScalarTally&) {
    return "this device has no scalar instructions";
  }
  /// Sets results[i] to the result of the case with number cases[i]. Both spans have the same size.
  virtual CannotRun run_scalar(const ScalarInstruction&, const ScalarCases&,
                               std::span<const std::uint64_t> /*cases*/,
                               std::span<std::uint64_t> /*results*/) {
    return "this device has no scalar instructions";
  }

  /// Does what `quantize` of emulate/quantize.h does with floats, for a format whose numbers are
  /// all binary32 numbers, and adds the same counts. `first` is the index of in[0] in the stream of
  /// random words; `out` may be `in`.
  virtual CannotRun quantize(std::span<const float> /*in*/, std::span<float> /*out*/,
                             std::uint64_t /*first*/, const Quantizer&, EventCounts&) {
    return "this device quantizes nothing";
  }
  /// Does what `range_count` of emulate/range_count.h does. The caller has reset the block with
  /// these columns: the formats and scales whose squared errors are summed.
  virtual CannotRun range_count(std::span<const float>, std::span<const ErrorColumn>,
                                RangeBlock<float>&) {
    return "this device counts no ranges";
  }
  /// Does what range_count does for n floats in the device's memory (for an emulated device, the
  /// host's), after it has waited for the work of one CUDA stream. `stream` is CUDA's handle; 0 is
  /// the default stream.
  virtual CannotRun range_count_at(const void* /*device_address*/, std::size_t /*n*/,
                                   std::span<const ErrorColumn>, std::uintptr_t /*stream*/,
                                   RangeBlock<float>&) {
    return "this device counts no ranges in its memory";
  }
  /// Sets each sum to itself plus its K products, instruction after instruction (`chain` of
  /// lib/device/matrix_product.h). Sets the last argument to whether the emulator's arithmetic or
  /// the instruction did it.
  virtual CannotRun multiply(const MatrixProduct&, ProductWay&) {
    return "this device multiplies no matrices";
  }

  /// Compares the device's bulk kernels with their definitions, byte for byte.
  virtual std::vector<KernelCheck> check_kernels() { return {}; }
  /// Measures how fast the bulk kernels are, each beside the limit measured in the same run.
  virtual std::vector<KernelRate> measure_rates() { return {}; }
};

/// Throws Error with the reason if the device could not do what a command requested.
inline void expect_done(const Device& device, const CannotRun& why) {
  if (why) throw Error(device.info().name + ": " + *why + "; leave --device out");
}

/// The shared library that a device's code comes from.
struct DeviceModule {
  std::string file = {};           ///< path; empty if there is no module
  std::string architectures = {};  ///< architectures that it was built for: "80 90a"
};

struct OpenedDevice {
  std::unique_ptr<Device> device = {};  ///< null if there is none
  std::string why_none = {};            ///< the reason why there is none
  DeviceModule module = {};
};

/// Returns the first GPU that CUDA shows (CUDA_VISIBLE_DEVICES chooses), or the reason why there is
/// none. Throws Error if the module beside the program was not built with this program or cannot be
/// loaded.
OpenedDevice open_device();

}  // namespace binade

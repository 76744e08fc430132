// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's autocast: within its scope, the list that an operation is on decides the format to
// which its inputs are cast. Each thread has its own state; scopes nest, and an inner scope may
// switch autocast off again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "emulate/format.h"
#include "lib/amp/op_lists.h"

namespace binade {

/// Returns the low-precision format of a device when no scope chooses one: binary16 for CUDA, MPS
/// and XPU (for XPU bfloat16 in older versions of PyTorch), bfloat16 for CPU.
Format default_autocast_dtype(DeviceType device);

/// torch.autocast(device_type, dtype, enabled, cache_enabled): the scope lasts from construction to
/// destruction. Scopes must end in the reverse order of their beginning, on the thread that began
/// them. Unlike PyTorch, which for some formats and devices warns and disables autocast, any valid
/// format may be the low-precision one; the constructor throws Error for an invalid one.
class Autocast {
 public:
  struct Options {
    std::optional<Format> dtype =
        {};  ///< none: that of the surrounding scope of this device, else the default
    bool enabled = true;
    std::optional<bool> cache_enabled = {};  ///< none: the surrounding scope's, else true
    /// CastLists::apex: Apex's O1, with `dtype` in the place of binary16.
    CastLists lists = CastLists::pytorch;
  };

  explicit Autocast(DeviceType device) : Autocast(device, Options()) {}
  Autocast(DeviceType device, const Options& options);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  DeviceType device_, surrounding_device_;
  Format surrounding_dtype_;
  bool surrounding_enabled_, surrounding_cache_enabled_;
  CastLists surrounding_lists_;
};

bool autocast_enabled(DeviceType device);
/// Returns the device's low-precision format, even if autocast is disabled, as
/// torch.get_autocast_dtype does.
Format autocast_low_dtype(DeviceType device);
/// Returns the device of the innermost scope; CUDA outside of any scope.
DeviceType autocast_device();

/// Returns whether autocast may cast an input of this format: every format but binary64.
bool is_autocast_eligible(const Format& input);

/// Returns the format to which the op's eligible inputs are cast or, for an op with a dtype
/// argument, the format in which it is made to compute. Returns none if all inputs stay as they
/// are: autocast is disabled, the op is unlisted, or no input is eligible (for an op with a dtype
/// argument: the first input is not). `op` is an ATen name without overload ("addmm"). PyTorch does
/// not autocast calls with an explicit dtype, in-place calls and calls with out=; the caller must
/// not pass those. Throws Error for a banned op, and for an op that promotes if an eligible input
/// before the first one of binary32 has neither the scope's format nor binary32, or if the scope's
/// format is binary64.
std::optional<Format> autocast_dtype(DeviceType device, std::string_view op,
                                     std::span<const Format> inputs);
/// Returns the same for the device and the lists of the innermost scope; by Apex's lists it throws
/// Error as apex_dtype.
std::optional<Format> autocast_dtype(std::string_view op, std::span<const Format> inputs);
/// Returns the policy of the op on the lists of the innermost scope; `unlisted` if autocast is
/// disabled.
CastPolicy autocast_policy(std::string_view op);

/// torch.promote_types for floating-point formats: returns the format that holds all numbers of the
/// other, else binary32 (as for binary16 and bfloat16), else binary64; the rule also covers formats
/// that PyTorch lacks. Throws Error for two different formats of which one is stored in 8 bits or
/// fewer, as PyTorch does for its float8 types, and if no format holds both.
Format promote_types(const Format& a, const Format& b);

/// Returns a number that identifies the outermost scope of this thread, unique in the process; 0
/// outside of any scope. A cast of a weight may be reused while the number stays the same, for the
/// same low-precision format, if autocast_cache_enabled().
std::uint64_t autocast_epoch();
bool autocast_cache_enabled();

}  // namespace binade

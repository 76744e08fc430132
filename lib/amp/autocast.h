// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's autocast: a scope within which each operation's list decides the format its inputs are cast
// to. The state is the thread's; scopes nest, an inner one may switch off what an outer one switched on.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "emulate/format.h"
#include "lib/amp/op_lists.h"

namespace binade {

/// The low precision format of a device before any scope chose one: binary16 for CUDA and MPS, bfloat16 for CPU;
/// for XPU binary16 (bfloat16 in older PyTorch).
Format default_autocast_dtype(DeviceType device);

/// torch.autocast(device_type, dtype, enabled, cache_enabled), from construction to destruction. Scopes
/// end in the reverse order of their beginning, on the thread that began them.
/// Departure: any format may be the low one; PyTorch warns and disables itself for some on some devices.
class Autocast {
 public:
  struct Options {
    std::optional<Format> dtype =
        {};  ///< none: the surrounding scope's of this device, else the default
    bool enabled = true;
    std::optional<bool> cache_enabled = {};  ///< none: the surrounding scope's, else true
    /// apex: its O1, from amp.initialize on, with any format in the place of binary16.
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
Format autocast_low_dtype(DeviceType device);  ///< also where disabled, as torch.get_autocast_dtype
/// The device of the innermost scope; CUDA outside of any.
DeviceType autocast_device();

/// Whether autocast may cast an input: all but binary64.
bool is_autocast_eligible(const Format& input);

/// The format to which the op's eligible inputs are cast, or in which an op
/// with a dtype argument is told to compute; none where all inputs stay as they are: disabled, unlisted,
/// no eligible input (of ops with a dtype argument: the first input is not eligible).
/// `op` is an ATen name without overload ("addmm"). A call with an explicit dtype, an in-place call and one
/// with out= are not autocast in PyTorch: do not ask for them.
/// Throws Error for a banned op, and where PyTorch's promotion meets a format that is neither the scope's nor
/// binary32.
std::optional<Format> autocast_dtype(DeviceType device, std::string_view op,
                                     std::span<const Format> inputs);
/// The same on the device, and by the lists, of the innermost scope.
std::optional<Format> autocast_dtype(std::string_view op, std::span<const Format> inputs);
/// What these lists say of the op; unlisted where the scope is disabled.
CastPolicy autocast_policy(std::string_view op);

/// torch.promote_types on floating formats: the wider one; binary16 and bfloat16 give binary32. Throws Error
/// for two different formats of which one has 8 bits or fewer, as PyTorch does for its float8 types.
/// Formats PyTorch lacks: the one that holds the other's numbers, else binary32, else binary64.
Format promote_types(const Format& a, const Format& b);

/// 0 outside of any scope; from the beginning of the outermost scope of this thread to its end one number,
/// another one for each outermost scope of the process. A cast of a weight made within may be reused
/// while the number stays, for the same low format.
std::uint64_t autocast_epoch();
bool autocast_cache_enabled();

}  // namespace binade

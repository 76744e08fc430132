// SPDX-License-Identifier: Apache-2.0
//
// The operations that autocast runs in the low-precision format, in binary32, or in the widest
// format of their inputs, and those that it refuses: PyTorch's lists for CUDA, CPU, XPU and MPS,
// and Apex's lists, as data.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace binade {

/// What autocast does with an op. The first five names are PyTorch's
/// (aten/src/ATen/autocast_mode.h); banned and unlisted stand for its banned functions and for its
/// fall-through.
enum class CastPolicy : std::uint8_t {
  lower_precision_fp,  ///< every eligible input is cast to the scope's format
  fp32,                ///< every eligible input is cast to binary32
  fp32_set_opt_dtype,  ///< the op's own dtype argument is set to binary32 unless the caller set it
  fp32_append_dtype,   ///< the overload with a dtype argument is called, with binary32 (norm)
  promote,             ///< eligible inputs are cast to the widest of them and the scope's format
  banned,              ///< the call is an error that says what to call instead
  unlisted,            ///< the inputs are not cast
};

enum class DeviceType : std::uint8_t { cuda, cpu, xpu, mps };
inline constexpr std::array device_types{DeviceType::cuda, DeviceType::cpu, DeviceType::xpu,
                                         DeviceType::mps};

struct ListedOp {
  std::string_view
      name;  ///< the ATen name without overload; on Apex's lists the function's or method's name
  CastPolicy policy;
  std::string_view source;  ///< the file that lists it, in aten/src/ATen/ or apex/amp/lists/
};

/// The version of PyTorch whose lists these are.
inline constexpr std::string_view op_lists_version = "2.11";

/// Returns the list of a device, grouped by policy in the order of CastPolicy; within a group the
/// order is the source's.
std::span<const ListedOp> op_list(DeviceType device);
/// Returns the row of an op on a device's list; none if the op is not on it.
std::optional<ListedOp> listed_op(DeviceType device, std::string_view op);
/// Returns the policy of an op on a device's list; `unlisted` if the op is not on it.
CastPolicy cast_policy(DeviceType device, std::string_view op);

/// Apex's lists (apex/amp/lists/), with PyTorch's names of policies: its FP16 functions are
/// lower_precision_fp, its FP32 functions fp32, its casts and sequence casts promote, and its
/// banned functions banned.
std::span<const ListedOp> apex_op_list();
std::optional<ListedOp> apex_listed_op(std::string_view op);
CastPolicy apex_cast_policy(std::string_view op);

/// A difference between the list of another version of PyTorch, from 2.5 to 2.15, and the list
/// here.
struct OpListChange {
  DeviceType device;
  std::string_view op;
  std::string_view what;  ///< "fp32 from PyTorch 2.12 on"
};
std::span<const OpListChange> op_list_changes();

/// Which lists decide: those of a device (torch.autocast), or Apex's (its level O1).
enum class CastLists : std::uint8_t { pytorch, apex };

std::string_view cast_policy_name(CastPolicy policy);  ///< "lower_precision_fp"
std::string_view device_type_name(DeviceType device);  ///< "cuda"

/// Says in one line why autocast refuses a banned op and what to call instead. Throws Error for an
/// op that is not banned.
std::string_view banned_reason(std::string_view op);

}  // namespace binade

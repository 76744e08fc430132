// SPDX-License-Identifier: Apache-2.0
//
// Which operations autocast runs in the low precision format, which in binary32, which in the widest of
// their inputs, and which it refuses: PyTorch's lists for CUDA, CPU, XPU and MPS, and Apex's, as data.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace binade {

/// PyTorch's names (aten/src/ATen/autocast_mode.h), and what its fall-through and its banned functions are.
enum class CastPolicy : std::uint8_t {
  lower_precision_fp,  ///< every eligible input is cast to the scope's format
  fp32,                ///< every eligible input is cast to binary32
  fp32_set_opt_dtype,  ///< the op's own dtype argument is set to binary32 unless the caller set it
  fp32_append_dtype,   ///< the overload with a dtype argument is called, with binary32 (norm)
  promote,             ///< the widest of the inputs, at least the scope's format
  banned,              ///< an error that says what to call instead
  unlisted,            ///< runs in whatever its inputs are
};

enum class DeviceType : std::uint8_t { cuda, cpu, xpu, mps };
inline constexpr std::array device_types{DeviceType::cuda, DeviceType::cpu, DeviceType::xpu,
                                         DeviceType::mps};

struct ListedOp {
  std::string_view
      name;  ///< the ATen name without overload; of Apex the function's or method's name
  CastPolicy policy;
  std::string_view source;  ///< the file that has it: of aten/src/ATen/, of apex/amp/lists/
};

/// The version of PyTorch whose lists these are.
inline constexpr std::string_view op_lists_version = "2.11";

/// The list of a device, grouped by policy in the order of the enumeration, as its source has it.
std::span<const ListedOp> op_list(DeviceType device);
/// Its row of an op; none where the list has no such name.
std::optional<ListedOp> listed_op(DeviceType device, std::string_view op);
/// The policy of an op there; `unlisted` where the list has no such name.
CastPolicy cast_policy(DeviceType device, std::string_view op);

/// Apex's lists (apex/amp/lists/): fp16 as lower_precision_fp, fp32, casts and sequence casts as promote, banned.
std::span<const ListedOp> apex_op_list();
std::optional<ListedOp> apex_listed_op(std::string_view op);
CastPolicy apex_cast_policy(std::string_view op);

/// What another PyTorch of 2.5 to 2.15 has in another way.
struct OpListChange {
  DeviceType device;
  std::string_view op;
  std::string_view what;  ///< "fp32 from PyTorch 2.12 on"
};
std::span<const OpListChange> op_list_changes();

/// Whose lists decide: those of a device (torch.autocast), or Apex's (its O1).
enum class CastLists : std::uint8_t { pytorch, apex };

std::string_view cast_policy_name(CastPolicy policy);  ///< "lower_precision_fp"
std::string_view device_type_name(DeviceType device);  ///< "cuda"

/// Why autocast refuses an op and what to call instead, in one line.
std::string_view banned_reason(std::string_view op);

}  // namespace binade

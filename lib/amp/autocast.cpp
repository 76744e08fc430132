// SPDX-License-Identifier: Apache-2.0
//
// The autocast state of each thread, and the decision for one call: prioritize, promote_type and
// is_eligible of aten/src/ATen/autocast_mode.h, clause by clause.
#include "lib/amp/autocast.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "lib/amp/apex.h"
#include "lib/format/format_spec.h"
#include "lib/text/error.h"

namespace binade {
namespace {

struct DeviceState {
  Format dtype;
  bool enabled = false;
};

struct ThreadState {
  std::array<DeviceState, device_types.size()> devices{
      {{default_autocast_dtype(DeviceType::cuda), false},
       {default_autocast_dtype(DeviceType::cpu), false},
       {default_autocast_dtype(DeviceType::xpu), false},
       {default_autocast_dtype(DeviceType::mps), false}}};
  DeviceType device = DeviceType::cuda;
  bool cache_enabled = true;
  CastLists lists = CastLists::pytorch;
  int nesting = 0;
  std::uint64_t epoch = 0;
};

ThreadState& thread_state() {
  thread_local ThreadState state;
  return state;
}

DeviceState& state_of(DeviceType device) {
  return thread_state().devices.at(static_cast<std::size_t>(device));
}

std::uint64_t next_epoch() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

bool any_eligible(std::span<const Format> inputs) {
  for (const Format& input : inputs) {
    if (is_autocast_eligible(input)) return true;
  }
  return false;
}

/// Returns the widest of the scope's format and the inputs' formats; binary64 inputs are ignored.
/// Throws Error if an input before the first one of binary32 has another format than the scope's or
/// binary32, or if the scope's is binary64.
Format widest(std::string_view op, std::span<const Format> inputs, const Format& low) {
  Format current = low;
  for (const Format& next : inputs) {
    if (current == binary64) {
      throw Error(
          fmt::format("{}: promote type is double in at::autocast::prioritize; autocast to a "
                      "narrower format",
                      op));
    }
    if (next == binary64) continue;
    if (current == binary32 || next == binary32) {
      current = binary32;
    } else if (next != low) {
      throw Error(
          fmt::format("{}: Unexpected floating ScalarType in at::autocast::prioritize: {} under "
                      "autocast to {}; cast the input to one of the scope's formats",
                      op, spec_of(next), spec_of(low)));
    }
  }
  return current;
}

}  // namespace

Format default_autocast_dtype(DeviceType device) {
  return device == DeviceType::cpu ? bfloat16 : binary16;
}

Autocast::Autocast(DeviceType device, const Options& options) : device_(device) {
  ThreadState& thread = thread_state();
  DeviceState& state = state_of(device);
  if (options.dtype && !is_valid(*options.dtype)) {
    throw Error("autocast: this is no format; give one of `binade formats` or a valid own one");
  }
  surrounding_device_ = thread.device;
  surrounding_dtype_ = state.dtype;
  surrounding_enabled_ = state.enabled;
  surrounding_cache_enabled_ = thread.cache_enabled;
  surrounding_lists_ = thread.lists;
  state.dtype = options.dtype.value_or(state.dtype);
  state.enabled = options.enabled;
  thread.device = device;
  thread.lists = options.lists;
  thread.cache_enabled = options.cache_enabled.value_or(thread.cache_enabled);
  if (thread.nesting++ == 0) thread.epoch = next_epoch();
}

Autocast::~Autocast() {
  ThreadState& thread = thread_state();
  if (--thread.nesting == 0) thread.epoch = 0;
  DeviceState& state = state_of(device_);
  state.dtype = surrounding_dtype_;
  state.enabled = surrounding_enabled_;
  thread.device = surrounding_device_;
  thread.cache_enabled = surrounding_cache_enabled_;
  thread.lists = surrounding_lists_;
}

bool autocast_enabled(DeviceType device) { return state_of(device).enabled; }
Format autocast_low_dtype(DeviceType device) { return state_of(device).dtype; }
DeviceType autocast_device() { return thread_state().device; }
std::uint64_t autocast_epoch() { return thread_state().epoch; }
bool autocast_cache_enabled() { return thread_state().cache_enabled; }

bool is_autocast_eligible(const Format& input) { return input != binary64; }

std::optional<Format> autocast_dtype(DeviceType device, std::string_view op,
                                     std::span<const Format> inputs) {
  const DeviceState& state = state_of(device);
  if (!state.enabled) return std::nullopt;
  switch (cast_policy(device, op)) {
    case CastPolicy::unlisted: return std::nullopt;
    case CastPolicy::banned: throw Error(std::string(banned_reason(op)));
    case CastPolicy::fp32_set_opt_dtype:
    case CastPolicy::fp32_append_dtype:
      if (inputs.empty() || !is_autocast_eligible(inputs.front())) return std::nullopt;
      return binary32;
    case CastPolicy::lower_precision_fp:
      if (!any_eligible(inputs)) return std::nullopt;
      return state.dtype;
    case CastPolicy::fp32:
      if (!any_eligible(inputs)) return std::nullopt;
      return binary32;
    case CastPolicy::promote: {
      const Format to = widest(op, inputs, state.dtype);
      if (!any_eligible(inputs)) return std::nullopt;
      return to;
    }
  }
  return std::nullopt;
}

std::optional<Format> autocast_dtype(std::string_view op, std::span<const Format> inputs) {
  const DeviceState& state = state_of(autocast_device());
  if (thread_state().lists == CastLists::pytorch || !state.enabled) {
    return autocast_dtype(autocast_device(), op, inputs);
  }
  std::vector<Format> known(inputs.begin(), inputs.end());
  std::ranges::replace(known, state.dtype, binary16);
  const std::optional<Format> to = apex_dtype(op, known);
  return to == binary16 ? state.dtype : to;
}

CastPolicy autocast_policy(std::string_view op) {
  if (!autocast_enabled(autocast_device())) return CastPolicy::unlisted;
  return thread_state().lists == CastLists::apex ? apex_cast_policy(op)
                                                 : cast_policy(autocast_device(), op);
}

Format promote_types(const Format& a, const Format& b) {
  if (a == b) return a;
  if (a.storage_bits() <= 8 || b.storage_bits() <= 8) {
    throw Error(
        fmt::format("Promotion for Float8 Types is not supported, attempted to promote {} and {}; "
                    "cast one of them",
                    spec_of(a), spec_of(b)));
  }
  for (const Format& wide : {a, b, binary32, binary64}) {
    if (fits_in(a, wide) && fits_in(b, wide)) return wide;
  }
  throw Error(fmt::format("no format holds the numbers of both {} and {}; cast one of them",
                          spec_of(a), spec_of(b)));
}

}  // namespace binade

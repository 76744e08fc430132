// SPDX-License-Identifier: Apache-2.0
//
// Metadata are any text, so a text that is not a positive number states no scale.
#include "lib/report/used_scale.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "lib/report/counts_tensor_file.h"

namespace binade {
namespace {

std::optional<double> scale_in(const TensorFile& file, std::uint64_t step) {
  if (const RunCounts* const run = run_in(file)) {
    const auto& windows = run->watched.windows;
    const auto at = std::ranges::lower_bound(windows, step, {}, &RunWindow::first);
    return at == windows.end() || at->first != step ? std::nullopt : at->loss_scale;
  }
  const auto found = file.metadata().find(used_scale_key);
  if (found == file.metadata().end()) return std::nullopt;
  const std::string& text = found->second;
  double scale = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), scale);
  const bool whole = problem == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(scale) && scale > 0 ? std::optional(scale) : std::nullopt;
}

}  // namespace

std::optional<double> used_scale(const NamedTensor& tensor) {
  return tensor.time ? scale_in(*tensor.place.file, tensor.time->step) : std::nullopt;
}

void take_used_scales(std::vector<StepScale>& scales, std::span<const NamedTensor> tensors) {
  const TensorFile* file = nullptr;
  std::optional<double> scale;
  for (const NamedTensor& tensor : tensors) {
    if (!tensor.time || !is_gradient(tensor.time->role)) continue;
    if (tensor.place.file != file || tensor.by_run) {
      file = tensor.place.file;
      scale = used_scale(tensor);
    }
    if (!scale) continue;
    const auto at = std::ranges::lower_bound(scales, tensor.time->step, {}, &StepScale::step);
    if (at != scales.end() && at->step == tensor.time->step && !at->used) at->used = scale;
  }
}

}  // namespace binade

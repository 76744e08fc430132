// SPDX-License-Identifier: Apache-2.0
//
// The threads of the counter read their own pieces; a device gets one chunk after another.
#include "lib/report/tensor_counting.h"

#include <algorithm>
#include <span>
#include <utility>

#include "lib/format/format_spec.h"
#include "lib/report/counts_tensor_file.h"

namespace binade {
namespace {

CountFloats counts_on(Device* device, const std::vector<ErrorColumn>& columns) {
  if (device == nullptr) return {};
  return [device, columns](std::span<const float> values, RangeBlock<float>& block) {
    expect_done(*device, device->range_count(values, columns, block));
  };
}

}  // namespace

TensorCounting::TensorCounting(const std::vector<ErrorColumn>& columns, Device* device,
                               Progress progress)
    : device_(device),
      columns_(columns),
      counter_(columns, counts_on(device, columns)),
      progress_(std::move(progress)) {}

void TensorCounting::expect(const UpdatePair& pair) {
  expect(pair.weight);
  expect(pair.update);
}

void TensorCounting::advance(std::uint64_t bytes) {
  const std::lock_guard lock(advancing_);
  done_ += bytes;
  if (progress_) progress_(done_, bytes_);
}

Error without_column(std::string_view name, const ErrorColumn& column) {
  return Error("the summary of " + printable(name) + " has no squared errors of " +
               spec_of(column.format) + " at scale 2^" + std::to_string(column.scale_log2) +
               "; give the formats and scales that it was made with");
}

RangeSummary TensorCounting::with_columns(RangeSummary summary, const std::string& name) const {
  if (summary.columns == columns_) return summary;
  std::vector<ExactSum> errors;
  for (const ErrorColumn& column : columns_) {
    const auto at = std::ranges::find(summary.columns, column);
    if (at == summary.columns.end()) {
      throw without_column(name, column);
    }
    errors.push_back(summary.squared_error[static_cast<std::size_t>(at - summary.columns.begin())]);
  }
  summary.columns = columns_;
  summary.squared_error = std::move(errors);
  return summary;
}

RangeSummary TensorCounting::summary_of(const TensorPlace& tensor) {
  const TensorFile& file = *tensor.file;
  const Dtype& dtype = tensor.info().dtype;
  if (&file != held_file_) held_ = file.hold();
  held_file_ = &file;
  if (const Counted* const counted = counted_in(file)) {
    RangeSummary out = with_columns(counted->summary(tensor.index), tensor.info().name);
    advance(tensor.info().bytes);
    return out;
  }
  if (device_ != nullptr) {
    file.read(tensor.index, [&](std::span<const std::byte> chunk) {
      counter_.add(chunk, dtype);
      advance(chunk.size());
    });
  } else {
    file.read_on_threads(tensor.index, [&](std::span<const std::byte> piece, std::size_t slot) {
      counter_.add(piece, dtype, slot);
      advance(piece.size());
    });
  }
  return counter_.finish();
}

UpdateCounts TensorCounting::counts_of(const UpdatePair& pair) {
  return count_updates(pair.weight, pair.update, [this](std::uint64_t n) { advance(n); });
}

}  // namespace binade

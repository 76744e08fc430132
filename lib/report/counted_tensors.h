// SPDX-License-Identifier: Apache-2.0
//
// Tensors whose elements are not at hand, as a file of them: they were counted before.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/io/tensor_file.h"
#include "lib/report/counted_run.h"
#include "lib/text/error.h"

namespace binade {

/// What takes the elements' place.
struct Counted {
  /// Of a tensor by its index. Nothing: the summaries are elsewhere, in the parts of a report.
  std::function<RangeSummary(std::size_t)> summary = {};
  bool has_errors = true;                      ///< whether the summaries have squared errors
  std::shared_ptr<const CountedRun> run = {};  ///< that they are of, tensor by tensor
  std::map<std::string, std::string> metadata = {};
  std::shared_ptr<const InputFile> from = {};  ///< that the summaries are read from
};

class CountedTensors final : public TensorFile {
 public:
  CountedTensors(std::string path, std::vector<TensorInfo> tensors, Counted counted)
      : TensorFile(std::move(path)), counted_(std::move(counted)) {
    tensors_ = std::move(tensors);
    metadata_ = counted_.metadata;
    file_ = counted_.from;
  }

  const Counted& counted() const { return counted_; }

 private:
  void read_data(std::size_t, const ChunkSink&) const override {
    throw Error("a summary holds no elements");
  }

  Counted counted_;
};

/// Of a file that gives summaries; null of others.
inline const Counted* counted_in(const TensorFile& file) {
  const auto* const tensors = dynamic_cast<const CountedTensors*>(&file);
  return tensors != nullptr && tensors->counted().summary ? &tensors->counted() : nullptr;
}

/// The run that a file is of; null of others.
inline const CountedRun* run_in(const TensorFile& file) {
  const Counted* const counted = counted_in(file);
  return counted == nullptr ? nullptr : counted->run.get();
}

/// A run as a file. `summary`: of a tensor by its index; `bytes`: of each in the file they are read from, where they are.
std::unique_ptr<TensorFile> file_of_run(std::string path, std::shared_ptr<const CountedRun> run,
                                        std::function<RangeSummary(std::size_t)> summary,
                                        const std::vector<std::uint64_t>& bytes = {},
                                        std::shared_ptr<const InputFile> from = nullptr);

}  // namespace binade

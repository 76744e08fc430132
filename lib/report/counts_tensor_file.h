// SPDX-License-Identifier: Apache-2.0
//
// A TensorFile whose tensors were counted before: it has their summaries and not their elements.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/io/tensor_file.h"
#include "lib/report/run_counts.h"
#include "lib/text/error.h"

namespace binade {

/// What such a file has in place of elements.
struct Counted {
  /// Gives the summary of a tensor by its index. Not set if the summaries are elsewhere, in
  /// the parts of a report.
  std::function<RangeSummary(std::size_t)> summary = {};
  bool has_errors = true;  ///< whether the summaries have squared errors
  /// If it is a counted run, that run; its tensors are the file's, one by one.
  std::shared_ptr<const RunCounts> run = {};
  std::map<std::string, std::string> metadata = {};
  std::shared_ptr<const InputFile> from = {};  ///< the file that summaries are read from, if any
};

class CountsTensorFile final : public TensorFile {
 public:
  CountsTensorFile(std::string path, std::vector<TensorInfo> tensors, Counted counted)
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

/// Returns what a file has in place of elements, or null if it has elements or if its summaries are
/// elsewhere.
inline const Counted* counted_in(const TensorFile& file) {
  const auto* const tensors = dynamic_cast<const CountsTensorFile*>(&file);
  return tensors != nullptr && tensors->counted().summary ? &tensors->counted() : nullptr;
}

/// Returns the counted run that a file is, or null if it is none.
inline const RunCounts* run_in(const TensorFile& file) {
  const Counted* const counted = counted_in(file);
  return counted == nullptr ? nullptr : counted->run.get();
}

/// Makes a file of a counted run. `summary` returns the summary of a tensor, given its index.
/// `bytes` are the sizes of the summaries in the file `from`, from which they are read; both are
/// left out if they are in memory.
std::unique_ptr<TensorFile> file_of_run(std::string path, std::shared_ptr<const RunCounts> run,
                                        std::function<RangeSummary(std::size_t)> summary,
                                        const std::vector<std::uint64_t>& bytes = {},
                                        std::shared_ptr<const InputFile> from = nullptr);

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// The directory of a file whose elements are not at hand: they were counted before.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/io/tensor_file.h"
#include "lib/tensor/error.h"

namespace binade {

class AbsentTensors final : public TensorFile {
 public:
  AbsentTensors(std::string path, std::vector<TensorInfo> tensors,
                std::map<std::string, std::string> metadata = {})
      : TensorFile(std::move(path)) {
    tensors_ = std::move(tensors);
    metadata_ = std::move(metadata);
  }

 private:
  void read_data(std::size_t, const ChunkSink&) const override {
    throw Error("a summary holds no elements");
  }
};

}  // namespace binade

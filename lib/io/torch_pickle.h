// SPDX-License-Identifier: Apache-2.0
//
// What torch's pickles say of tensors: the globals that rebuild them, and the tensors of a tree of values with their names.
// Of a pickle nothing is run: a global that stands in no row of the table is refused by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/format/dtype.h"
#include "lib/io/pickle.h"

namespace binade {

/// A tensor as a view of a storage, a run of bytes that the pickle only names.
struct PickledTensor {
  std::string
      name;  ///< keys and places on the way to it, joined by "."; empty where the pickle is one tensor
  Dtype dtype;
  std::string_view storage;
  std::uint64_t storage_bytes = 0;  ///< as the pickle says
  std::uint64_t offset = 0;         ///< of the first element, in elements
  std::vector<std::uint64_t> sizes;
  std::vector<std::uint64_t> strides;  ///< in elements
  std::uint32_t at = 0;                ///< where the pickle makes it
};

/// Throws for globals that are neither in torch's table nor among `others`.
CheckGlobal only_torch_globals(const std::string& label, std::vector<std::string_view> others = {});

/// Those that dicts, lists and tuples lead to from the root. What is no tensor is passed over: numbers, texts, and the
/// objects of the table that training scripts lay beside tensors. Error if two have the same name.
std::vector<PickledTensor> pickled_tensors(const Pickle& pickle);

/// Of "torch.float32"; nothing for what is no dtype of ours.
std::optional<Dtype> torch_dtype(const PickleValue& value);

/// The most bytes of a tensor's name: it is copied and compared, and values that are shared name many.
constexpr std::size_t most_of_a_name = std::size_t{64} << 10;

/// Of a tuple or torch.Size of at most 64 numbers that are not negative; nothing for anything else.
std::optional<std::vector<std::uint64_t>> torch_sizes(const PickleValue& value);

}  // namespace binade

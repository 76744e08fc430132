// SPDX-License-Identifier: Apache-2.0
//
// What pickles of torch say about tensors: the calls that rebuild them, and all tensors that a
// pickle holds, with their names. Nothing in a pickle is executed, and a global that is in no row
// of the table (torch_globals.h) is refused by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/format/dtype.h"
#include "lib/io/pickle.h"

namespace binade {

/// A tensor as a view of a storage: a run of bytes outside of the pickle, which only names it.
struct PickledTensor {
  /// The keys and indices that lead to it from the root, joined by "."; empty if the pickle is one
  /// tensor.
  std::string name;
  Dtype dtype;
  std::string_view storage;
  std::uint64_t storage_bytes = 0;  ///< as stated in the pickle
  std::uint64_t offset = 0;         ///< of the first element in the storage, in elements
  std::vector<std::uint64_t> sizes;
  std::vector<std::uint64_t> strides;  ///< in elements
  std::uint32_t at = 0;                ///< offset in the pickle of the call that makes it
  /// For a foreign tensor, which is no view of one storage, the global that makes it or is its
  /// class; nothing else but name and at is set then.
  std::string foreign = {};
};

/// A global that is not in torch's table, or that the table refuses.
struct UnknownGlobal {
  std::string name;
  std::uint64_t at = 0;  ///< offset in the pickle
};

/// Returns a function that throws Error for globals that are neither in torch's table nor among
/// `others`, and for those that the table refuses.
CheckGlobal only_torch_globals(const std::string& label, std::vector<std::string_view> others = {});

/// Returns a function that adds these globals to `found`, for pickled_tensors() to decide on.
CheckGlobal noting_unknown_globals(std::vector<UnknownGlobal>& found);

/// Returns the tensors that are reached from the root through dicts, lists, tuples and sets.
/// Whatever is no tensor is skipped: numbers, texts, and the objects in the table that training
/// scripts save beside tensors. Throws Error if two tensors have the same name, if a tensor is
/// damaged, a negated or conjugate view, or under a key that is neither text nor an integer, or if
/// dicts and lists are nested too deeply. A tensor of a class that is not in the table, or that the
/// table refuses, is foreign; `unknown` globals anywhere but inside of such tensors are refused,
/// and so is a pickle of no other tensors.
std::vector<PickledTensor> pickled_tensors(const Pickle& pickle,
                                           std::span<const UnknownGlobal> unknown = {});

/// Returns the dtype of a global such as "torch.float32"; nothing for any other value and for
/// dtypes that are not in lib/format.
std::optional<Dtype> torch_dtype(const PickleValue& value);

/// The longest name of a tensor in bytes. Names are copied and compared, and a small pickle can
/// make many long names out of shared values.
constexpr std::size_t most_of_a_name = std::size_t{64} << 10;

/// Returns the numbers of a tuple or torch.Size; nothing unless they are at most 64 integers that
/// are not negative.
std::optional<std::vector<std::uint64_t>> torch_sizes(const PickleValue& value);

}  // namespace binade

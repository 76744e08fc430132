// SPDX-License-Identifier: Apache-2.0
//
// Walks from the root of the pickle to its tensors, and reads the arguments of the calls that make
// them (torch/_utils.py).
#include "lib/io/torch_pickle.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "lib/io/torch_foreign.h"
#include "lib/io/torch_globals.h"
#include "lib/text/error.h"

namespace binade {
namespace {

std::optional<std::uint64_t> not_negative(const PickleValue& value) {
  if (!value.is(PickleValue::integer) || value.integer_value < 0) return std::nullopt;
  return static_cast<std::uint64_t>(value.integer_value);
}

bool is_unknown(const std::string& global) {
  const TorchGlobal* row = find_torch_global(global);
  return row == nullptr || row->meaning == TorchMeaning::refused;
}

[[noreturn]] void refuse_global(const std::string& label, const UnknownGlobal& global) {
  const TorchGlobal* row = find_torch_global(global.name);
  if (row != nullptr) {
    throw error_at(label, "holds a tensor made by " + printable(global.name), global.at, row->of);
  }
  throw error_at(label,
                 "asks for " + printable(global.name) + ", which makes none of torch's tensors,",
                 global.at, "save a dict of tensors and numbers alone (model.state_dict())");
}

/// Visits all values from the root and keeps the keys that lead to the current one.
class TensorWalk {
 public:
  TensorWalk(const Pickle& pickle, std::span<const UnknownGlobal> unknown)
      : pickle_(pickle), unknown_(unknown) {}

  std::vector<PickledTensor> tensors() {
    visit(pickle_.root());
    const bool all_foreign = std::ranges::all_of(
        tensors_, [](const PickledTensor& tensor) { return !tensor.foreign.empty(); });
    for (const UnknownGlobal& global : unknown_) {
      if (all_foreign || !in_foreign_.contains(global.at)) refuse_global(pickle_.label(), global);
    }
    std::vector<const PickledTensor*> sorted;
    for (const PickledTensor& tensor : tensors_) sorted.push_back(&tensor);
    std::ranges::sort(sorted, {}, &PickledTensor::name);
    const auto twin = std::ranges::adjacent_find(sorted, {}, &PickledTensor::name);
    if (twin != sorted.end()) {
      fail(**std::next(twin), "two values named '" + printable((*twin)->name) + "', the other",
           "give them names that differ when joined by '.'");
    }
    return std::move(tensors_);
  }

 private:
  template <class Where>  // a value or a tensor
  [[noreturn]] void fail(const Where& where, const std::string& what,
                         std::string_view what_to_do) const {
    throw error_at(pickle_.label(), what, where.at, what_to_do);
  }
  [[noreturn]] void fail_as_damaged(const PickleValue& where, const std::string& what) const {
    fail(where, "tensor '" + printable(joined_name()) + "' " + what, "save it again");
  }

  void visit(const PickleValue& value) {
    constexpr std::size_t deepest = 64;
    if (++visited_ > Pickle::most_values) {
      fail(value, "shared values that unfold to more than a pickle may hold",
           "save a flatter dict");
    }
    if (keys_.size() > deepest) fail(value, "dicts and lists too deep", "save a flatter dict");
    switch (value.kind) {
      case PickleValue::tuple:
      case PickleValue::list:
      case PickleValue::set: return visit_items(value);
      case PickleValue::dict: return visit_dict(value);
      case PickleValue::call: return visit_call(value);
      case PickleValue::persistent:
        fail(value, "a storage that belongs to no tensor", "save tensors, not their storages");
      default: return;
    }
  }

  void visit_items(const PickleValue& list) {
    keys_.emplace_back();
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      keys_.back().place = i;
      visit(*list.items[i]);
    }
    keys_.pop_back();
  }

  void visit_dict(const PickleValue& dict) {
    keys_.emplace_back();
    for (std::size_t i = 0; i < dict.items.size(); i += 2) {
      keys_.back().value = dict.items[i];
      visit(*dict.items[i + 1]);
    }
    keys_.pop_back();
  }

  /// One step on the way to a value: a key of a dict, or (where `value` is null) an index of a
  /// list.
  struct Key {
    const PickleValue* value = nullptr;
    std::size_t place = 0;

    bool names_a_tensor() const {
      return value == nullptr || value->is(PickleValue::text) || value->is(PickleValue::integer);
    }
  };

  void visit_call(const PickleValue& call) {
    const TorchGlobal* row = find_torch_global(call.function->text_value);
    if (const PickleValue* maker = foreign_maker(call)) return add_foreign(call, *maker);
    if (row == nullptr || row->meaning == TorchMeaning::plain ||
        row->meaning == TorchMeaning::sizes)
      return;
    const auto& given = call.arguments->items;
    bool fits = false;
    switch (row->meaning) {
      case TorchMeaning::dict: fits = given.empty(); break;
      case TorchMeaning::default_dict:
        fits = given.empty() || (given.size() == 1 && !given[0]->is(PickleValue::dict));
        break;
      case TorchMeaning::counter:
        fits = given.size() == 1 && given[0]->is(PickleValue::dict) && call.items.empty();
        break;
      default: return add(call);
    }
    if (!fits)
      fail(call, "a " + std::string(row->name) + " of other arguments", "save a plain dict");
    visit_dict(row->meaning == TorchMeaning::counter ? *given[0] : call);
  }

  std::string joined_name() const {
    std::string name;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (i > 0) name += '.';
      const auto& [value, place] = keys_[i];
      if (value == nullptr) {
        name += std::to_string(place);
      } else if (value->is(PickleValue::text)) {
        name += value->text_value;
      } else {
        name += std::to_string(value->integer_value);
      }
    }
    return name;
  }

  void check_keys(const PickleValue& value) const {
    std::size_t texts = 0;
    for (const Key& key : keys_) {
      if (!key.names_a_tensor()) {
        fail(value, "a tensor under a key that is neither text nor a number", "name it by text");
      }
      texts += key.value == nullptr ? 0 : key.value->text_value.size();
    }
    if (texts > most_of_a_name) {
      fail(value,
           "a tensor whose name is of more than " + std::to_string(most_of_a_name) + " bytes",
           "give it a shorter one");
    }
  }

  void add(const PickleValue& value) {
    check_keys(value);
    add(value, described(value));
  }

  void add_foreign(const PickleValue& value, const PickleValue& maker) {
    check_keys(value);
    PickledTensor tensor;
    tensor.foreign = printable(maker.text_value);
    add(value, std::move(tensor));
    excuse(value);
  }

  /// Allows the unknown globals of which a foreign tensor is made.
  void excuse(const PickleValue& tensor) {
    std::vector<const PickleValue*> left = {&tensor};
    while (!left.empty()) {
      const PickleValue* const value = left.back();
      left.pop_back();
      if (value == nullptr || !excused_.insert(value).second) continue;
      if (value->is(PickleValue::global)) in_foreign_.insert(value->at);
      left.insert(left.end(), {value->function, value->arguments, value->state});
      left.insert(left.end(), value->items.begin(), value->items.end());
    }
  }

  void add(const PickleValue& value, PickledTensor tensor) {
    constexpr std::size_t most_tensors = 1'000'000, most_of_names = std::size_t{1} << 28;
    tensor.name = joined_name();
    tensor.at = value.at;
    name_bytes_ += tensor.name.size();
    if (tensors_.size() == most_tensors || name_bytes_ > most_of_names) {
      fail(value, "more than a million tensors, or names of more than 2^28 bytes",
           "save fewer in one file");
    }
    tensors_.push_back(std::move(tensor));
  }

  /// Returns the tensor that a call makes, where the call may be wrapped in others (a Parameter,
  /// say).
  PickledTensor described(const PickleValue& value) const {
    const PickleValue* function = value.function;
    const PickleValue* arguments = value.arguments;
    std::optional<Dtype> stated;
    constexpr int most_wraps = 4;
    for (int wraps = 0; wraps < most_wraps; ++wraps) {
      const TorchGlobal* row = find_torch_global(function->text_value);
      const auto& given = arguments->items;
      if (row != nullptr && row->meaning == TorchMeaning::device_tensor && given.size() == 4 &&
          given[0]->is(PickleValue::call)) {
        stated = torch_dtype(*given[1]);
        if (!stated) fail_as_damaged(value, "has no dtype");
        function = given[0]->function;
        arguments = given[0]->arguments;
      } else if (row != nullptr && row->meaning == TorchMeaning::parameter && !given.empty() &&
                 given[0]->is(PickleValue::call)) {
        function = given[0]->function;
        arguments = given[0]->arguments;
      } else if (row != nullptr && row->meaning == TorchMeaning::with_attributes &&
                 given.size() == 4 && given[0]->is(PickleValue::global) &&
                 given[2]->is(PickleValue::tuple)) {
        function = given[0];
        arguments = given[2];
      } else if (row != nullptr && row->meaning == TorchMeaning::tensor) {
        return of_dtype(stated, value, view(value, given, std::nullopt));
      } else if (row != nullptr && row->meaning == TorchMeaning::untyped_tensor &&
                 given.size() >= 7) {
        const auto dtype = torch_dtype(*given[6]);
        if (!dtype) fail_as_damaged(value, "has no dtype");
        return of_dtype(stated, value, view(value, given, dtype));
      } else {
        break;
      }
    }
    fail_as_damaged(value, "is made by a call that torch does not write");
  }

  PickledTensor of_dtype(const std::optional<Dtype>& stated, const PickleValue& value,
                         PickledTensor tensor) const {
    if (stated && *stated != tensor.dtype) fail_as_damaged(value, "is of two dtypes");
    return tensor;
  }

  PickledTensor view(const PickleValue& value, const std::vector<const PickleValue*>& given,
                     const std::optional<Dtype>& dtype) const {
    PickledTensor out;
    if (given.size() < 4 || !given[0]->is(PickleValue::persistent)) {
      fail_as_damaged(value, "has no storage");
    }
    take_storage(value, *given[0]->arguments, dtype, out);
    const auto offset = not_negative(*given[1]);
    const auto sizes = torch_sizes(*given[2]), strides = torch_sizes(*given[3]);
    if (!offset || !sizes || !strides || sizes->size() != strides->size()) {
      fail_as_damaged(value, "has no shape, strides and offset of at most 64 dimensions");
    }
    const std::size_t metadata = dtype ? 7 : 6;  // the bits to negate or conjugate
    if (given.size() > metadata && !given[metadata]->items.empty()) {
      fail(value, "tensor '" + printable(joined_name()) + "' is a negated or conjugate view",
           "save it resolved (.resolve_neg().resolve_conj())");
    }
    out.offset = *offset;
    out.sizes = *sizes;
    out.strides = *strides;
    return out;
  }

  /// Reads the identifier of a storage: ('storage', class, key, device, elements).
  void take_storage(const PickleValue& value, const PickleValue& id,
                    const std::optional<Dtype>& dtype, PickledTensor& out) const {
    const auto& parts = id.items;
    const bool fits = id.is(PickleValue::tuple) && parts.size() == 5 &&
                      parts[0]->is(PickleValue::text) && parts[0]->text_value == "storage" &&
                      parts[1]->is(PickleValue::global) && parts[2]->is(PickleValue::text) &&
                      not_negative(*parts[4]);
    const TorchGlobal* row = fits ? find_torch_global(parts[1]->text_value) : nullptr;
    // The class of a storage must be one of bytes exactly if the tensor states a dtype itself.
    if (row == nullptr || row->meaning != TorchMeaning::storage ||
        row->of.empty() != dtype.has_value()) {
      fail_as_damaged(value, "has a storage that torch does not write");
    }
    out.dtype = dtype ? *dtype : *find_dtype(row->of);
    out.storage = parts[2]->text_value;
    const std::uint64_t unit = dtype ? 1 : out.dtype.bits / 8;
    if (__builtin_mul_overflow(*not_negative(*parts[4]), unit, &out.storage_bytes)) {
      fail_as_damaged(value, "has a storage of 2^64 bytes or more");
    }
  }

  const Pickle& pickle_;
  std::span<const UnknownGlobal> unknown_;
  std::unordered_set<const PickleValue*> excused_;  ///< parts of foreign tensors
  std::unordered_set<std::uint64_t> in_foreign_;    ///< offsets of globals among them
  std::vector<Key> keys_;
  std::size_t visited_ = 0;
  std::size_t name_bytes_ = 0;
  std::vector<PickledTensor> tensors_;
};

}  // namespace

CheckGlobal only_torch_globals(const std::string& label, std::vector<std::string_view> others) {
  return [label, others = std::move(others)](const std::string& name, std::uint64_t at) {
    if (std::ranges::find(others, name) != others.end()) return;
    if (is_unknown(name)) refuse_global(label, {name, at});
  };
}

CheckGlobal noting_unknown_globals(std::vector<UnknownGlobal>& found) {
  return [&found](const std::string& name, std::uint64_t at) {
    if (is_unknown(name)) found.push_back({name, at});
  };
}

std::vector<PickledTensor> pickled_tensors(const Pickle& pickle,
                                           std::span<const UnknownGlobal> unknown) {
  return TensorWalk(pickle, unknown).tensors();
}

std::optional<Dtype> torch_dtype(const PickleValue& value) {
  if (!value.is(PickleValue::global)) return std::nullopt;
  const TorchGlobal* row = find_torch_global(value.text_value);
  if (row == nullptr || row->meaning != TorchMeaning::dtype) return std::nullopt;
  return find_dtype(row->of);
}

std::optional<std::vector<std::uint64_t>> torch_sizes(const PickleValue& value) {
  const PickleValue* tuple = &value;
  if (value.is_call_of("torch.Size") && value.arguments->items.size() == 1) {
    tuple = value.arguments->items[0];
  }
  constexpr std::size_t most_dimensions = 64;
  if (!tuple->is(PickleValue::tuple) || tuple->items.size() > most_dimensions) return std::nullopt;
  std::vector<std::uint64_t> out;
  for (const PickleValue* item : tuple->items) {
    const auto size = not_negative(*item);
    if (!size) return std::nullopt;
    out.push_back(*size);
  }
  return out;
}

}  // namespace binade

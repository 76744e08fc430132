// SPDX-License-Identifier: Apache-2.0
//
// The table of globals, and the walk through the tree. The names are those of torch/_utils.py, torch/storage.py and
// torch/serialization.py, of torch 1.6 to 2.15; Python's and NumPy's under the names of each protocol and version.
#include "lib/io/torch_pickle.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "lib/tensor/error.h"

namespace binade {
namespace {

/// What a global's result is, or the global itself.
enum class Meaning {
  plain,         ///< no tensor, and none in it that anybody asks for
  dict,          ///< made of nothing
  default_dict,  ///< made of nothing, or of what makes its values
  counter,       ///< made of a dict
  sizes,
  dtype,
  storage,         ///< of a row's dtype, or of bytes
  tensor,          ///< (storage, offset, sizes, strides, ...) of the storage's dtype
  untyped_tensor,  ///< (storage of bytes, offset, sizes, strides, requires_grad, hooks, dtype, ...)
  parameter,       ///< (tensor, ...)
  device_tensor,   ///< (tensor, its dtype, device, requires_grad)
  with_attributes,  ///< (function, class, arguments, attributes)
  refused,  ///< a tensor whose elements are not a view of one storage; a row says what to do
};

struct Row {
  std::string_view name;
  Meaning meaning;
  std::string_view of = "";  ///< safetensors' name of a dtype; what to do about a refusal
};

constexpr auto rows = std::to_array<Row>({
    {"torch._utils._rebuild_tensor", Meaning::tensor},
    {"torch._utils._rebuild_tensor_v2", Meaning::tensor},
    {"torch._utils._rebuild_tensor_v3", Meaning::untyped_tensor},
    {"torch._utils._rebuild_parameter", Meaning::parameter},
    {"torch._utils._rebuild_parameter_with_state", Meaning::parameter},
    {"torch._utils._rebuild_device_tensor_from_cpu_tensor", Meaning::device_tensor},
    {"torch._tensor._rebuild_from_type_v2", Meaning::with_attributes},
    {"torch.storage.UntypedStorage", Meaning::storage},
    {"torch.DoubleStorage", Meaning::storage, "F64"},
    {"torch.FloatStorage", Meaning::storage, "F32"},
    {"torch.HalfStorage", Meaning::storage, "F16"},
    {"torch.BFloat16Storage", Meaning::storage, "BF16"},
    {"torch.LongStorage", Meaning::storage, "I64"},
    {"torch.IntStorage", Meaning::storage, "I32"},
    {"torch.ShortStorage", Meaning::storage, "I16"},
    {"torch.CharStorage", Meaning::storage, "I8"},
    {"torch.ByteStorage", Meaning::storage, "U8"},
    {"torch.BoolStorage", Meaning::storage, "BOOL"},
    {"torch.ComplexFloatStorage", Meaning::storage, "C64"},
    {"torch.ComplexDoubleStorage", Meaning::storage, "C128"},
    {"torch.float64", Meaning::dtype, "F64"},
    {"torch.float32", Meaning::dtype, "F32"},
    {"torch.float16", Meaning::dtype, "F16"},
    {"torch.bfloat16", Meaning::dtype, "BF16"},
    {"torch.float8_e4m3fn", Meaning::dtype, "F8_E4M3"},
    {"torch.float8_e5m2", Meaning::dtype, "F8_E5M2"},
    {"torch.float8_e4m3fnuz", Meaning::dtype, "F8_E4M3FNUZ"},
    {"torch.float8_e5m2fnuz", Meaning::dtype, "F8_E5M2FNUZ"},
    {"torch.float8_e8m0fnu", Meaning::dtype, "F8_E8M0"},
    {"torch.int64", Meaning::dtype, "I64"},
    {"torch.int32", Meaning::dtype, "I32"},
    {"torch.int16", Meaning::dtype, "I16"},
    {"torch.int8", Meaning::dtype, "I8"},
    {"torch.uint64", Meaning::dtype, "U64"},
    {"torch.uint32", Meaning::dtype, "U32"},
    {"torch.uint16", Meaning::dtype, "U16"},
    {"torch.uint8", Meaning::dtype, "U8"},
    {"torch.bool", Meaning::dtype, "BOOL"},
    {"torch.complex64", Meaning::dtype, "C64"},
    {"torch.complex128", Meaning::dtype, "C128"},
    {"torch._utils._rebuild_sparse_tensor", Meaning::refused, "save it dense (.to_dense())"},
    {"torch._utils._rebuild_sparse_csr_tensor", Meaning::refused, "save it dense (.to_dense())"},
    {"torch._utils._rebuild_nested_tensor", Meaning::refused, "save its parts (.unbind())"},
    {"torch._utils._rebuild_qtensor", Meaning::refused, "save its values (.dequantize())"},
    {"torch._utils._rebuild_device_tensor_from_numpy", Meaning::refused,
     "save it from the CPU (.cpu() first)"},
    {"torch._utils._rebuild_xla_tensor", Meaning::refused, "save it from the CPU (.cpu() first)"},
    {"torch._utils._rebuild_meta_tensor_no_storage", Meaning::refused,
     "it has no values: save it from the device that has them"},
    {"torch._utils._rebuild_wrapper_subclass", Meaning::refused,
     "save plain tensors in place of the subclass's"},
    {"torch.Size", Meaning::sizes},
    {"torch.Tensor", Meaning::plain},
    {"torch.nn.parameter.Parameter", Meaning::plain},
    {"torch.device", Meaning::plain},
    {"torch.serialization._get_layout", Meaning::plain},
    {"collections.OrderedDict", Meaning::dict},
    {"collections.defaultdict", Meaning::default_dict},
    {"collections.Counter", Meaning::counter},
    {"builtins.set", Meaning::plain},
    {"builtins.frozenset", Meaning::plain},
    {"builtins.bytearray", Meaning::plain},
    {"builtins.complex", Meaning::plain},
    {"builtins.slice", Meaning::plain},
    {"builtins.dict", Meaning::plain},
    {"builtins.list", Meaning::plain},
    {"builtins.int", Meaning::plain},
    {"builtins.float", Meaning::plain},
    {"_codecs.encode", Meaning::plain},
    {"argparse.Namespace", Meaning::plain},
    {"types.SimpleNamespace", Meaning::plain},
    {"datetime.datetime", Meaning::plain},
    {"datetime.date", Meaning::plain},
    {"datetime.time", Meaning::plain},
    {"datetime.timedelta", Meaning::plain},
    {"datetime.timezone", Meaning::plain},
    {"uuid.UUID", Meaning::plain},
    {"pathlib.PosixPath", Meaning::plain},
    {"pathlib.WindowsPath", Meaning::plain},
    {"pathlib._local.PosixPath", Meaning::plain},
    {"pathlib._local.WindowsPath", Meaning::plain},
    {"numpy.dtype", Meaning::plain},
    {"numpy.ndarray", Meaning::plain},
    {"numpy.core.multiarray.scalar", Meaning::plain},
    {"numpy.core.multiarray._reconstruct", Meaning::plain},
    {"numpy.core.numeric._frombuffer", Meaning::plain},
    {"numpy._core.multiarray.scalar", Meaning::plain},
    {"numpy._core.multiarray._reconstruct", Meaning::plain},
    {"numpy._core.numeric._frombuffer", Meaning::plain},
});

/// Protocol 2 has the names of Python 2.
const Row* find_row(std::string_view name) {
  constexpr std::string_view old_builtins = "__builtin__.", builtins = "builtins.";
  const auto is_named = [&](const Row& row) {
    if (!name.starts_with(old_builtins)) return row.name == name;
    return row.name.starts_with(builtins) &&
           row.name.substr(builtins.size()) == name.substr(old_builtins.size());
  };
  const auto row = std::ranges::find_if(rows, is_named);
  return row == rows.end() ? nullptr : &*row;
}

std::optional<std::uint64_t> not_negative(const PickleValue& value) {
  if (!value.is(PickleValue::integer) || value.integer_value < 0) return std::nullopt;
  return static_cast<std::uint64_t>(value.integer_value);
}

/// A walk from the root, names on the way.
class TensorWalk {
 public:
  explicit TensorWalk(const Pickle& pickle) : pickle_(pickle) {}

  std::vector<PickledTensor> tensors() {
    visit(pickle_.root());
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
      fail(value, "values within each other more than a pickle holds", "save a flatter dict");
    }
    if (keys_.size() > deepest) fail(value, "dicts and lists too deep", "save a flatter dict");
    switch (value.kind) {
      case PickleValue::tuple:
      case PickleValue::list:
      case PickleValue::set: return visit_items(value);
      case PickleValue::dict: return visit_dict(value);
      case PickleValue::call: return visit_call(value);
      case PickleValue::persistent:
        fail(value, "a storage that is no tensor's", "save tensors, not their storages");
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

  /// On the way to a value: of a dict the key, of a list the place.
  struct Key {
    const PickleValue* value = nullptr;
    std::size_t place = 0;

    bool names_a_tensor() const {
      return value == nullptr || value->is(PickleValue::text) || value->is(PickleValue::integer);
    }
  };

  void visit_call(const PickleValue& call) {
    const Row* row = find_row(call.function->text_value);
    if (row == nullptr || row->meaning == Meaning::plain || row->meaning == Meaning::sizes) return;
    const auto& given = call.arguments->items;
    bool fits = false;
    switch (row->meaning) {
      case Meaning::dict: fits = given.empty(); break;
      case Meaning::default_dict:
        fits = given.empty() || (given.size() == 1 && !given[0]->is(PickleValue::dict));
        break;
      case Meaning::counter:
        fits = given.size() == 1 && given[0]->is(PickleValue::dict) && call.items.empty();
        break;
      default: return add(call);
    }
    if (!fits)
      fail(call, "a " + std::string(row->name) + " of other arguments", "save a plain dict");
    visit_dict(row->meaning == Meaning::counter ? *given[0] : call);
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
    constexpr std::size_t most_tensors = 1'000'000, most_of_names = std::size_t{1} << 28;
    check_keys(value);
    PickledTensor tensor = described(value);
    tensor.name = joined_name();
    tensor.at = value.at;
    name_bytes_ += tensor.name.size();
    if (tensors_.size() == most_tensors || name_bytes_ > most_of_names) {
      fail(value, "more than a million tensors, or names without end", "save fewer in one file");
    }
    tensors_.push_back(std::move(tensor));
  }

  /// Of a call, or of what it wraps.
  PickledTensor described(const PickleValue& value) const {
    const PickleValue* function = value.function;
    const PickleValue* arguments = value.arguments;
    std::optional<Dtype> stated;
    constexpr int most_wraps = 4;
    for (int wraps = 0; wraps < most_wraps; ++wraps) {
      const Row* row = find_row(function->text_value);
      const auto& given = arguments->items;
      if (row != nullptr && row->meaning == Meaning::device_tensor && given.size() == 4 &&
          given[0]->is(PickleValue::call)) {
        stated = torch_dtype(*given[1]);
        if (!stated) fail_as_damaged(value, "has no dtype");
        function = given[0]->function;
        arguments = given[0]->arguments;
      } else if (row != nullptr && row->meaning == Meaning::parameter && !given.empty() &&
                 given[0]->is(PickleValue::call)) {
        function = given[0]->function;
        arguments = given[0]->arguments;
      } else if (row != nullptr && row->meaning == Meaning::with_attributes && given.size() == 4 &&
                 given[0]->is(PickleValue::global) && given[2]->is(PickleValue::tuple)) {
        function = given[0];
        arguments = given[2];
      } else if (row != nullptr && row->meaning == Meaning::tensor) {
        return of_dtype(stated, value, view(value, given, std::nullopt));
      } else if (row != nullptr && row->meaning == Meaning::untyped_tensor && given.size() >= 7) {
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
    const std::size_t metadata = dtype ? 7 : 6;  // bits that negate or conjugate the view
    if (given.size() > metadata && !given[metadata]->items.empty()) {
      fail(value, "tensor '" + printable(joined_name()) + "' is a negated or conjugate view",
           "save it resolved (.resolve_neg().resolve_conj())");
    }
    out.offset = *offset;
    out.sizes = *sizes;
    out.strides = *strides;
    return out;
  }

  /// ('storage', class, key, device, elements)
  void take_storage(const PickleValue& value, const PickleValue& id,
                    const std::optional<Dtype>& dtype, PickledTensor& out) const {
    const auto& parts = id.items;
    const bool fits = id.is(PickleValue::tuple) && parts.size() == 5 &&
                      parts[0]->is(PickleValue::text) && parts[0]->text_value == "storage" &&
                      parts[1]->is(PickleValue::global) && parts[2]->is(PickleValue::text) &&
                      not_negative(*parts[4]);
    const Row* row = fits ? find_row(parts[1]->text_value) : nullptr;
    // A storage of bytes goes with a tensor that says its dtype itself.
    if (row == nullptr || row->meaning != Meaning::storage ||
        row->of.empty() != dtype.has_value()) {
      fail_as_damaged(value, "has a storage that torch does not write");
    }
    out.dtype = dtype ? *dtype : *find_dtype(row->of);
    out.storage = parts[2]->text_value;
    const std::uint64_t unit = dtype ? 1 : out.dtype.bits / 8;
    if (__builtin_mul_overflow(*not_negative(*parts[4]), unit, &out.storage_bytes)) {
      fail_as_damaged(value, "has a storage without end");
    }
  }

  const Pickle& pickle_;
  std::vector<Key> keys_;
  std::size_t visited_ = 0;
  std::size_t name_bytes_ = 0;
  std::vector<PickledTensor> tensors_;
};

}  // namespace

CheckGlobal only_torch_globals(const std::string& label, std::vector<std::string_view> others) {
  return [label, others = std::move(others)](const std::string& name, std::uint64_t at) {
    if (std::ranges::find(others, name) != others.end()) return;
    const Row* row = find_row(name);
    if (row == nullptr) {
      throw error_at(label,
                     "asks for " + printable(name) + ", which makes none of torch's tensors,", at,
                     "save a dict of tensors and numbers alone (model.state_dict())");
    }
    if (row->meaning == Meaning::refused) {
      throw error_at(label, "holds a tensor made by " + printable(name), at, row->of);
    }
  };
}

std::vector<PickledTensor> pickled_tensors(const Pickle& pickle) {
  return TensorWalk(pickle).tensors();
}

std::optional<Dtype> torch_dtype(const PickleValue& value) {
  if (!value.is(PickleValue::global)) return std::nullopt;
  const Row* row = find_row(value.text_value);
  if (row == nullptr || row->meaning != Meaning::dtype) return std::nullopt;
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

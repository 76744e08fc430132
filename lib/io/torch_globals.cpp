// SPDX-License-Identifier: Apache-2.0
//
// The table of globals. The names are those of torch/_utils.py, torch/storage.py and
// torch/serialization.py in torch 1.6 to 2.15. Globals of Python and NumPy are listed under the
// names they have in each protocol and version.
#include "lib/io/torch_globals.h"

#include <algorithm>
#include <array>

namespace binade {
namespace {

using Meaning = TorchMeaning;

constexpr auto rows = std::to_array<TorchGlobal>({
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

}  // namespace

const TorchGlobal* find_torch_global(std::string_view name) {
  constexpr std::string_view old_builtins = "__builtin__.", builtins = "builtins.";
  const auto is_named = [&](const TorchGlobal& row) {
    if (!name.starts_with(old_builtins)) return row.name == name;
    return row.name.starts_with(builtins) &&
           row.name.substr(builtins.size()) == name.substr(old_builtins.size());
  };
  const auto row = std::ranges::find_if(rows, is_named);
  return row == rows.end() ? nullptr : &*row;
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Looks through wraps (a Parameter, a tensor with attributes) for the global that is not in the
// table.
#include "lib/io/torch_foreign.h"

#include <vector>

#include "lib/io/torch_globals.h"

namespace binade {
namespace {

/// Returns the class of storages or the dtype that a tensor names and the table does not have;
/// null if there is none.
const PickleValue* foreign_type(const TorchGlobal& row,
                                const std::vector<const PickleValue*>& given) {
  const auto unknown = [](const PickleValue& value) {
    return value.is(PickleValue::global) && find_torch_global(value.text_value) == nullptr;
  };
  if (row.meaning == TorchMeaning::untyped_tensor && given.size() >= 7 && unknown(*given[6])) {
    return given[6];
  }
  if (row.meaning != TorchMeaning::tensor || given.empty() ||
      !given[0]->is(PickleValue::persistent)) {
    return nullptr;
  }
  const auto& id = given[0]->arguments->items;
  return id.size() == 5 && unknown(*id[1]) ? id[1] : nullptr;
}

}  // namespace

const PickleValue* foreign_maker(const PickleValue& call) {
  const PickleValue* function = call.function;
  const PickleValue* arguments = call.arguments;
  constexpr int most_wraps = 4;
  for (int wraps = 0; wraps < most_wraps; ++wraps) {
    const TorchGlobal* row = find_torch_global(function->text_value);
    const auto& given = arguments->items;
    if (row == nullptr) return wraps > 0 ? function : nullptr;
    if (row->meaning == TorchMeaning::refused) return function;
    if (row->meaning == TorchMeaning::with_attributes && given.size() == 4 &&
        given[0]->is(PickleValue::global) && given[2]->is(PickleValue::tuple)) {
      if (given[1]->is(PickleValue::global) && !find_torch_global(given[1]->text_value)) {
        return given[1];
      }
      function = given[0];
      arguments = given[2];
    } else if ((row->meaning == TorchMeaning::parameter ||
                row->meaning == TorchMeaning::device_tensor) &&
               !given.empty() && given[0]->is(PickleValue::call)) {
      function = given[0]->function;
      arguments = given[0]->arguments;
    } else {
      return foreign_type(*row, given);
    }
  }
  return nullptr;
}

}  // namespace binade

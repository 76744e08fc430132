// SPDX-License-Identifier: Apache-2.0
//
// Numbers, integers and truth values are copied.
#include "lib/block/copied_tensors.h"

#include <fmt/format.h>

#include "lib/text/error.h"

namespace binade {

void CopiedTensors::each(const TensorFile& file, const std::function<bool(unsigned)>& fits,
                         const std::function<void(std::size_t)>& act) const {
  for (const unsigned bits : {64U, 32U, 16U, 8U}) {
    if (!fits(bits)) continue;
    for (const std::size_t i : indices) {
      if (file.tensors()[i].dtype.bits == bits) act(i);
    }
  }
}

CopiedTensors tensors_to_copy(const TensorFile& file, std::span<const std::size_t> among) {
  CopiedTensors out;
  for (const std::size_t i : among) {
    const TensorInfo& info = file.tensors()[i];
    const DtypeKind kind = info.dtype.kind;
    const bool is_plain =
        kind == DtypeKind::floating || kind == DtypeKind::integer || kind == DtypeKind::boolean;
    if (is_plain) {
      out.indices.push_back(i);
    } else {
      out.left_out.push_back(
          fmt::format("{} ({}, {})", printable(info.name, 60), info.dtype.name, to_string(kind)));
    }
  }
  return out;
}

}  // namespace binade

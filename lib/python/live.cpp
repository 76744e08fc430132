// SPDX-License-Identifier: Apache-2.0
//
// What hooks in a running training ask of memory that they know the address of: a summary of the values, and whether one
// is a NaN or an infinity. Their names are private: an address is believed.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nanobind/stl/string_view.h>

#include "lib/cli/report_options.h"
#include "lib/python/arguments.h"
#include "lib/python/counting.h"
#include "lib/python/interpreter.h"
#include "lib/python/module.h"
#include "lib/range/nonfinite.h"
#include "lib/report/report.h"
#include "lib/tensor/error.h"

namespace binade::python {
namespace {

using namespace nanobind::literals;

/// Contiguous elements of a floating dtype in this process.
struct Live {
  Dtype dtype;
  std::span<const std::byte> bytes;
};

Live live_values(std::uint64_t address, std::uint64_t elements, std::string_view dtype_name) {
  const std::optional<Dtype> dtype = find_dtype(dtype_name);
  if (!dtype || dtype->kind != DtypeKind::floating) {
    throw Error("dtype '" + printable(dtype_name) +
                "': none of a floating-point number; give safetensors' name, as F32");
  }
  const std::uint64_t size = dtype->bits / 8;
  if (elements > (std::uint64_t{1} << 63) / size) throw Error("elements: more than memory holds");
  return {*dtype,
          {reinterpret_cast<const std::byte*>(address), static_cast<std::size_t>(elements * size)}};
}

/// Those of RangeSummary(), or none.
const std::vector<ErrorColumn>& live_columns(bool sqnr) {
  static const std::vector<ErrorColumn> all = error_columns(report_options({})), none;
  return sqnr ? all : none;
}

RangeSummary count_at(Whole<std::uint64_t> address, Whole<std::uint64_t> elements,
                      std::string_view dtype, Truth sqnr) {
  const Live live = live_values(address, elements, dtype);
  const Released released;
  return counted(live_columns(sqnr),
                 [&live](RangeCounter& counter) { counter.add(live.bytes, live.dtype); });
}

bool any_nonfinite_at(Whole<std::uint64_t> address, Whole<std::uint64_t> elements,
                      std::string_view dtype) {
  const Live live = live_values(address, elements, dtype);
  const Released released;
  return any_nonfinite(live.bytes, live.dtype);
}

}  // namespace

void add_live(nb::module_& m) {
  m.def("_count_at", &count_at, "address"_a, "elements"_a, "dtype"_a, "sqnr"_a);
  m.def("_any_nonfinite_at", &any_nonfinite_at, "address"_a, "elements"_a, "dtype"_a);
}

}  // namespace binade::python

// SPDX-License-Identifier: Apache-2.0
//
// Private functions for the hooks of binade.torch.watch, which pass addresses of memory: a summary
// of the values there, on a GPU as well, and whether one of them is a NaN or an infinity. They are
// private because they trust the address that they get.
#include <pthread.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "lib/device/chosen_device.h"
#include "lib/python/arguments.h"
#include "lib/python/counting.h"
#include "lib/python/interpreter.h"
#include "lib/python/module.h"
#include "lib/range/nonfinite.h"
#include "lib/report/report.h"
#include "lib/report/report_words.h"
#include "lib/text/error.h"

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
  if (address == 0 && elements > 0) throw Error("address: memory is wanted, not 0");
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

/// A device, opened once: to begin takes a GPU's driver longer than a step of a training.
class KeptDevice {
 public:
  explicit KeptDevice(const std::string& emulated)
      : opened_(open_chosen_device({.emulated = emulated})) {}

  /// Empty where there is one.
  const std::string& why_none() const { return opened_.why_none; }

  RangeSummary count(std::uint64_t address, std::size_t n, std::uint64_t stream, bool sqnr) {
    if (!opened_.device) throw Error(opened_.why_none);
    const std::vector<ErrorColumn>& columns = live_columns(sqnr);
    const std::lock_guard lock(counting_);
    std::unique_ptr<RangeBlock<float>>& block = blocks_[sqnr ? 1 : 0];
    if (!block) {
      block = std::make_unique<RangeBlock<float>>();
      block->reset(columns);
    }
    const auto* const values = reinterpret_cast<const void*>(address);
    expect_done(*opened_.device,
                opened_.device->range_count_at(values, n, columns, stream, *block));
    RangeSummary out = empty_summary(columns);
    add_block(out, *block, n);
    block->clear();
    return out;
  }

 private:
  OpenedDevice opened_;
  std::mutex counting_;
  std::array<std::unique_ptr<RangeBlock<float>>, 2> blocks_;  ///< without error columns, and with
};

/// By what is emulated; empty: the GPU.
struct KeptDevices {
  std::mutex opening;
  std::map<std::string, KeptDevice> devices;

  KeptDevice& get(const std::string& emulated) {
    const std::lock_guard lock(opening);
    return devices.try_emplace(emulated, emulated).first->second;
  }
};

/// Never closed: threads may still count when the interpreter ends. A forked child takes new ones.
KeptDevices* kept_devices = new KeptDevices;

RangeSummary count_on_device(Whole<std::uint64_t> address, Whole<std::uint64_t> elements,
                             Whole<std::uint64_t> stream, Truth sqnr, const std::string& emulated) {
  if (address % alignof(float) != 0)
    throw Error("address: of no float32, which begin at multiples of 4");
  if (elements > RangeBlock<float>::capacity)
    throw Error("elements: more than are counted at once");
  const Released released;
  return kept_devices->get(emulated).count(address, elements, stream, sqnr);
}

std::string has_device(const std::string& emulated) {
  const Released released;
  return kept_devices->get(emulated).why_none();
}

}  // namespace

void add_live(nb::module_& m) {
  pthread_atfork(nullptr, nullptr, [] { kept_devices = new KeptDevices; });
  m.def("_count_at", &count_at, "address"_a, "elements"_a, "dtype"_a, "sqnr"_a);
  m.def("_any_nonfinite_at", &any_nonfinite_at, "address"_a, "elements"_a, "dtype"_a);
  m.def("_count_on_device", &count_on_device, "address"_a, "elements"_a, "stream"_a, "sqnr"_a,
        "emulated"_a);
  m.def("_has_device", &has_device, "emulated"_a);
}

}  // namespace binade::python

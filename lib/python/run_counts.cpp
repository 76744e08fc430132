// SPDX-License-Identifier: Apache-2.0
//
// For binade.torch.watch: makes a report, or a file run.binade, of what was counted while a
// training ran.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "lib/io/fnv.h"
#include "lib/io/output_paths.h"
#include "lib/parallel/parallel.h"
#include "lib/python/arguments.h"
#include "lib/python/interpreter.h"
#include "lib/python/keywords.h"
#include "lib/python/module.h"
#include "lib/python/report.h"
#include "lib/report/counts_file.h"
#include "lib/report/named_tensors.h"
#include "lib/report/run_file.h"
#include "lib/text/error.h"

namespace binade::python {
namespace {

using namespace nanobind::literals;

Dtype floating_dtype(std::string_view name) {
  const std::optional<Dtype> dtype = find_dtype(name);
  if (dtype && reason_to_skip(*dtype).empty()) return *dtype;
  throw Error("dtype " + printable(name) +
              ": no floating one by safetensors' name, as F32 or BF16");
}

TensorRole role_called(std::string_view name) {
  if (const std::optional<TensorRole> role = find_role(name)) return *role;
  throw Error("role " + printable(name) + ": give act, dAct, weight, dW, grad, update or state");
}

/// Of `elements` numbers at each address. The caller vouches for the memory.
void add_updates_at(UpdateCounts& to, Whole<std::uintptr_t> weight, Whole<std::uintptr_t> update,
                    Whole<std::size_t> elements, std::string_view dtype_name,
                    std::string_view update_dtype) {
  const Format format = *find_format(floating_dtype(dtype_name).format);
  const Format of_update =
      update_dtype.empty() ? format : *find_format(floating_dtype(update_dtype).format);
  UpdateCounts counts;
  {
    const Released released;
    std::vector<UpdateCounts> slots(thread_count());
    add_updates(slots, {std::bit_cast<const std::byte*>(weight.value), format,
                        std::bit_cast<const std::byte*>(update.value), of_update, elements.value});
    counts = merged(slots);
  }
  merge(to, counts);
}

void add_held(UpdateCounts& to, Whole<std::uint64_t> asked, Whole<std::uint64_t> lost,
              Whole<std::uint64_t> unknown, Whole<std::uint64_t> decay_asked,
              Whole<std::uint64_t> decay_lost, Whole<std::uint64_t> idle,
              const std::vector<std::uint64_t>& by_size) {
  HeldUpdates held{.asked = asked,
                   .lost = lost,
                   .unknown = unknown,
                   .decay_asked = decay_asked,
                   .decay_lost = decay_lost,
                   .idle = idle,
                   .lost_by_size = {}};
  if (by_size.size() > held.lost_by_size.size()) throw Error("by_size: more sizes than there are");
  std::ranges::copy(by_size, held.lost_by_size.begin());
  merge(to.held, held);
}

constexpr CountsKind updates_kind{.magic = {"binade.updates/1", 16},
                                  .any_version = "binade.updates/",
                                  .noun = "update counts",
                                  .where_from = "give what to_bytes() gave, unchanged",
                                  .again = "give what to_bytes() gave, unchanged"};

std::string checksum_of(std::string_view bytes) {
  Fnv1a hash;
  hash.add(bytes);
  CountsBytes to;
  to.number(hash.value());
  return to.bytes();
}

nb::bytes bytes_of_updates(const UpdateCounts& counts) {
  std::string out = std::string(updates_kind.magic) + update_bytes(counts);
  out += checksum_of(out);
  return nb::bytes(out.data(), out.size());
}

UpdateCounts updates_from_bytes(const nb::bytes& data) try {
  const std::string path = "the bytes of update counts";
  std::string_view bytes(data.c_str(), data.size());
  constexpr std::size_t around = 8;
  if (!bytes.starts_with(updates_kind.magic) || bytes.size() < updates_kind.magic.size() + around) {
    refuse_counts(updates_kind, path, "something else, of another version, or cut off");
  }
  const std::string_view checksum = bytes.substr(bytes.size() - around);
  bytes.remove_suffix(around);
  if (checksum != checksum_of(bytes)) {
    refuse_counts(updates_kind, path, "damaged or cut off, by their checksum");
  }
  return update_from({bytes.substr(updates_kind.magic.size()), updates_kind, path});
} catch (const FileError& error) {
  throw Error(error.what());  // no file is at fault
}

void add_update_counts(nb::module_& m) {
  nb::class_<UpdateCounts> counts(m, "_UpdateCounts",
                                  R"(Updates held against the weights that they are subtracted from.

    Counts of parts add up exactly. values: pairs of elements; updates: of these, with an update that is finite and not zero
    and a finite weight.
)");
  counts.def(nb::init<>());
  counts.def("add_at", &add_updates_at, "weight_address"_a, "update_address"_a, "elements"_a,
             "dtype"_a, "update_dtype"_a = "",
             R"(Counts contiguous elements of both, of dtypes by safetensors' names, on all threads.

    update_dtype: empty: that of the weight. The memory must be there until this returns. The update is what is subtracted from the weight: w - u is the next one.
)");
  counts.def(
      "__add__",
      [](const UpdateCounts& a, const UpdateCounts& b) {
        UpdateCounts out = a;
        merge(out, b);
        return out;
      },
      nb::is_operator());
  counts.def(
      "__eq__",
      [](const UpdateCounts& a, nb::handle b) {
        const auto* const other = held<UpdateCounts>(b);
        return other != nullptr && *other == a;
      },
      "other"_a.none());
  counts.attr("__hash__") = nb::none();
  counts.def("to_bytes", &bytes_of_updates);
  counts.def_static("from_bytes", &updates_from_bytes, "data"_a);
  counts.def("__getstate__", &bytes_of_updates);
  counts.def("__setstate__", [](UpdateCounts& self, const nb::bytes& data) {
    new (&self) UpdateCounts(updates_from_bytes(data));
  });
  counts.def("__copy__", [](const UpdateCounts& self) { return UpdateCounts(self); });
  counts.def_ro("values", &UpdateCounts::values);
  counts.def_ro("updates", &UpdateCounts::updates);
  counts.def("add_held", &add_held, nb::kw_only(), "asked"_a = 0, "lost"_a = 0, "unknown"_a = 0,
             "decay_asked"_a = 0, "decay_lost"_a = 0, "idle"_a = 0,
             "by_size"_a = std::vector<std::uint64_t>{},
             R"(Adds counts of updates that were asked for.

    by_size: of the lost ones of a known size: at 0 those of an ulp of the weight or more, at k those below 2^(1-k) ulp.
)");
  const auto held_count = [&counts](const char* name, std::uint64_t HeldUpdates::*count) {
    counts.def_prop_ro(name, [count](const UpdateCounts& self) { return self.held.*count; });
  };
  held_count("asked", &HeldUpdates::asked);
  held_count("lost", &HeldUpdates::lost);
  held_count("unknown", &HeldUpdates::unknown);
  held_count("decay_asked", &HeldUpdates::decay_asked);
  held_count("decay_lost", &HeldUpdates::decay_lost);
  held_count("idle", &HeldUpdates::idle);
  counts.def_prop_ro("median_log2_of_ulp",
                     [](const UpdateCounts& self) { return self.held.median_log2_of_ulp(); });
}

/// A run as it grows. Reports share it, so whoever changes it meanwhile is refused.
struct GrowingRun {
  std::shared_ptr<RunCounts> run = std::make_shared<RunCounts>();
  std::shared_ptr<std::vector<RangeSummary>> summaries =
      std::make_shared<std::vector<RangeSummary>>();
  Occupied place = {};

  static constexpr const char* name = "a counted run";
};

/// Where one of the step goes: after those of its step and of earlier ones.
template <class All, class StepOf>
auto place_of_step(All& all, std::uint64_t step, const StepOf& step_of) {
  return std::ranges::upper_bound(all, step, {}, step_of);
}

void add_tensor(GrowingRun& self, Whole<std::uint64_t> step, const std::string& layer,
                std::string_view role, std::string_view dtype, nb::handle shape,
                const RangeSummary& summary, Truth binds_scale) {
  self.place.check(GrowingRun::name);
  RunTensor tensor{.time = {step, layer, role_called(role)},
                   .dtype = floating_dtype(dtype),
                   .shape = {},
                   .values = summary.values,
                   .binds_scale = binds_scale};
  if (!shape.is_none()) {
    tensor.shape.emplace();
    for (const nb::object& n : in_list(shape)) {
      Whole<std::uint64_t> extent;
      if (!nb::try_cast(n, extent)) throw nb::type_error("shape: a tuple of integers, or None");
      tensor.shape->push_back(extent);
    }
  }
  RunCounts& run = *self.run;
  if (run.tensors.empty()) run.columns = summary.columns;
  if (run.columns != summary.columns) {
    throw Error(printable(run_tensor_name(tensor)) +
                ": its summary has other squared errors than the run's first");
  }
  const auto at = place_of_step(run.tensors, step, [](auto& t) { return t.time.step; });
  self.summaries->insert(self.summaries->begin() + (at - run.tensors.begin()), summary);
  run.tensors.insert(at, std::move(tensor));
}

void add_run_updates(GrowingRun& self, Whole<std::uint64_t> step, const std::string& layer,
                     const UpdateCounts& counts) {
  self.place.check(GrowingRun::name);
  auto& all = self.run->updates;
  all.insert(place_of_step(all, step, &RunUpdates::step), {step, layer, counts});
}

void add_window(GrowingRun& self, Whole<std::uint64_t> first, Whole<std::uint64_t> last,
                Whole<std::uint64_t> steps, std::optional<double> loss_scale) {
  self.place.check(GrowingRun::name);
  self.run->watched.windows.push_back({first, last, steps, loss_scale});
}

void set_about(GrowingRun& self, Whole<std::uint64_t> every, const std::vector<std::string>& notes,
               std::optional<std::string> first_nonfinite) {
  self.place.check(GrowingRun::name);
  Watched& watched = self.run->watched;
  std::optional<FirstNonFinite> first;
  if (first_nonfinite) first = parse_first_nonfinite(*first_nonfinite);
  watched.every = every;
  watched.notes = notes;
  watched.first_nonfinite = std::move(first);
}

void save_run(GrowingRun& self, nb::handle to) {
  const Inside inside(self.place, GrowingRun::name);
  const std::string path = path_of(to);
  const Released released;
  prepare_outputs({}, std::array{OutputPath{"path", path}});
  write_run(*self.run, *self.summaries, path);
}

ReportObject report_on_run(GrowingRun& self, Whole<int> headroom, double target_loss,
                           double target_sqnr, double target_weight_sqnr, std::string_view prefer,
                           nb::handle formats, nb::handle sqnr_scale, Whole<std::size_t> tensors) {
  const Inside inside(self.place, GrowingRun::name);
  const ReportOptions options =
      report_options(report_words_of(headroom, target_loss, target_sqnr, target_weight_sqnr, prefer,
                                     formats, sqnr_scale, "", nb::none()));
  return report_object([&] { return inputs_of(self.run, self.summaries, options); }, tensors,
                       [](const ReportInputs& inputs, const TensorSink& on_tensor, std::string&) {
                         return read_report(
                             inputs, [](std::uint64_t, std::uint64_t) { poll(); }, nullptr,
                             on_tensor);
                       });
}

}  // namespace

void add_run_counts(nb::module_& m) {
  add_update_counts(m);
  nb::class_<GrowingRun> run(m, "_CountedRun", "A run whose tensors were counted while it ran.");
  run.def(nb::init<>());
  run.def("add", &add_tensor, "step"_a, "layer"_a, "role"_a, "dtype"_a, "shape"_a.none(),
          "summary"_a, "binds_scale"_a = true, R"(All tensors of a window, layer and role.

    step: the window's first. dtype: safetensors' name. shape: of each, or None where they differ. Summaries have the same
    squared errors. binds_scale: False for gradients that stay in FP32, which no loss scale has to keep.
)");
  run.def("add_update", &add_run_updates, "step"_a, "layer"_a, "counts"_a);
  run.def("add_window", &add_window, "first"_a, "last"_a, "steps"_a, "loss_scale"_a.none());
  run.def("set_about", &set_about, "every"_a, "notes"_a, "first_nonfinite"_a.none(),
          R"(every: of which step each multiple was watched. notes: a line each.

    first_nonfinite: JSON, an object with "text", a line, and where they are known step, layer, role, phase, found, skipped,
    inputs.
)");
  run.def("save", &save_run, "path"_a, "For binade report; whole or not at all.");
  run.def("report", &report_on_run, nb::kw_only(), "headroom"_a = 1, "target_loss"_a = 1e-3,
          "target_sqnr"_a = 20.0, "target_weight_sqnr"_a = 30.0, "prefer"_a = "margin",
          "formats"_a = nb::none(), "sqnr_scale"_a = 0, "tensors"_a = 20, "The Report on it.");
}

}  // namespace binade::python

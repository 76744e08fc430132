// SPDX-License-Identifier: Apache-2.0
//
// Where values lie and what becomes of them: range summaries of arrays, reports, loss scales.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <pthread.h>
#include <nlohmann/json.hpp>

#include "lib/cli/device_option.h"
#include "lib/cli/report_options.h"
#include "lib/io/array_file.h"
#include "lib/io/atomic_file.h"
#include "lib/io/opened_tensor.h"
#include "lib/io/output_paths.h"
#include "lib/python/arguments.h"
#include "lib/python/arrays.h"
#include "lib/python/documents.h"
#include "lib/python/keywords.h"
#include "lib/python/module.h"
#include "lib/range/counter.h"
#include "lib/range/summary_bytes.h"
#include "lib/report/csv.h"
#include "lib/report/html.h"
#include "lib/report/json.h"
#include "lib/report/named_tensors.h"
#include "lib/report/report.h"
#include "lib/report/text.h"
#include "lib/tensor/error.h"

namespace binade::python {
namespace {

using namespace nanobind::literals;

/// "binary16", "binary16,e4m3", or a list of names and Formats.
std::vector<std::string> report_format_names(nb::handle x) {
  std::vector<std::string> out;
  for (const nb::object& one : in_list(x)) {
    const std::string text = utf8_of(nb::str(one));
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(',', at), text.size());
      out.push_back(text.substr(at, end - at));
      at = end + 1;
    }
  }
  return out;
}

template <class T>
std::vector<T> words_of_option(const char* what, const char* kind, nb::handle x) {
  std::vector<T> out;
  for (const nb::object& one : in_list(x)) {
    T value{};
    if (!nb::try_cast(one, value)) {
      throw nb::type_error((std::string(what) + ": " + kind + ", or a list of them").c_str());
    }
    out.push_back(std::move(value));
  }
  return out;
}

std::vector<int> sqnr_scales_of(nb::handle x) {
  const auto scales =
      words_of_option<Whole<int>>("sqnr_scale", "the log2 of a scale, an integer", x);
  return {scales.begin(), scales.end()};
}

// ---------------------------------------------------------------------------------------------------------------------

/// Counters that wait for work: what one needs to begin with costs more than a small array.
class CounterPool {
 public:
  std::unique_ptr<RangeCounter> take(const std::vector<ErrorColumn>& columns) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = std::ranges::find(waiting_, columns, &Waiting::first);
      if (found != waiting_.end()) {
        std::unique_ptr<RangeCounter> out = std::move(found->second);
        waiting_.erase(found);
        return out;
      }
    }
    return std::make_unique<RangeCounter>(columns);
  }
  /// Of one that is finished; one that was interrupted is not given back.
  void give_back(const std::vector<ErrorColumn>& columns, std::unique_ptr<RangeCounter> counter) {
    constexpr std::size_t most = 4;
    const std::lock_guard lock(mutex_);
    if (waiting_.size() == most) waiting_.erase(waiting_.begin());
    waiting_.emplace_back(columns, std::move(counter));
  }

 private:
  using Waiting = std::pair<std::vector<ErrorColumn>, std::unique_ptr<RangeCounter>>;
  std::mutex mutex_;
  std::vector<Waiting> waiting_;
};

/// Never freed: threads may still count when the interpreter ends. A forked child takes a new one, as another thread may
/// have been at the old one.
CounterPool* counters = new CounterPool;

/// count(counter) adds to it; the summary of that.
template <class Count>
RangeSummary counted(const std::vector<ErrorColumn>& columns, const Count& count) {
  std::unique_ptr<RangeCounter> counter = counters->take(columns);
  count(*counter);
  RangeSummary out = counter->finish();
  counters->give_back(columns, std::move(counter));
  return out;
}

RangeSummary summary_of_file(const std::string& path, const std::vector<ErrorColumn>& columns) {
  const OpenedTensor tensor = open_tensor(path);
  const Dtype& dtype = tensor.info().dtype;
  if (const std::string reason = reason_to_skip(dtype); !reason.empty()) {
    throw Error(printable(path, longest_path) + ": a tensor of " + std::string(dtype.name) + " (" +
                reason + "); ranges are of floating-point numbers");
  }
  return counted(columns, [&](RangeCounter& counter) {
    tensor.file->read_on_threads(tensor.index,
                                 [&](std::span<const std::byte> piece, std::size_t slot) {
                                   counter.add(piece, dtype, slot);
                                 });
  });
}

void merge_checked(RangeSummary& a, const RangeSummary& b) {
  if (a.columns != b.columns) {
    throw Error("RangeSummary: the two have squared errors of different formats or scales");
  }
  std::uint64_t values = 0;
  if (__builtin_add_overflow(a.values, b.values, &values)) {
    throw Error("RangeSummary: 2^64 values or more");
  }
  merge(a, b);
}

/// TypeError for what is none.
RangeSummary& summary_in(nb::handle self) {
  RangeSummary* const summary = held<RangeSummary>(self);
  if (summary == nullptr) throw nb::type_error("a RangeSummary is wanted");
  return *summary;
}

nb::object add_to_summary(nb::object self, nb::handle x) {
  const std::vector<ErrorColumn> columns = summary_in(self).columns;
  RangeSummary more;
  if (is_path(x)) {
    const std::string path = path_of(x);
    const Released released;
    more = summary_of_file(path, columns);
  } else {
    const Array in = array_of(x);
    static_cast<void>(in.format("RangeSummary.add"));
    const Released released;
    more = counted(columns, [&](RangeCounter& counter) { counter.add(in.bytes(), in.view.dtype); });
  }
  merge_checked(summary_in(self), more);
  return self;
}

nb::bytes summary_bytes(const RangeSummary& summary) {
  const std::vector<std::byte> bytes = bytes_of(summary);
  return nb::bytes(bytes.data(), bytes.size());
}

RangeSummary summary_of_bytes(nb::handle data) {
  if (PyObject_CheckBuffer(data.ptr()) == 0) throw nb::type_error("data: bytes are wanted");
  const nb::object bytes = nb::steal(PyBytes_FromObject(data.ptr()));
  if (!bytes.is_valid()) throw nb::python_error();
  const std::string_view text(PyBytes_AS_STRING(bytes.ptr()),
                              static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr())));
  return summary_from_bytes(std::as_bytes(std::span(text)));
}

nb::object magnitude(const Placed& x) {
  return x.significand == 0 ? nb::object(nb::none()) : nb::object(nb::float_(value_of(x)));
}

/// A NumPy array of 64-bit integers, of a figure per binade.
template <class Of>
nb::object per_binade(const char* dtype, const RangeSummary& summary, const Of& of) {
  const std::array<std::uint64_t, 1> shape{summary.binades.size()};
  const NewArray out = new_array(*find_dtype(dtype), shape);
  std::size_t at = 0;
  for (const auto& [exponent, row] : summary.binades) {
    const auto x = static_cast<std::uint64_t>(of(exponent, row));
    std::memcpy(out.bytes.data() + 8 * at++, &x, 8);
  }
  return out.owner;
}

std::string repr_of(const RangeSummary& s) {
  std::string out = "RangeSummary(values=" + std::to_string(s.values);
  for (const auto& [name, count] :
       {std::pair("zeros", s.zeros), std::pair("nan", s.nan), std::pair("inf", s.inf)}) {
    if (count != 0) out += std::string(", ") + name + "=" + std::to_string(count);
  }
  if (s.nonzero() > 0) {
    out += ", smallest=" + nb::cast<std::string>(nb::repr(magnitude(s.smallest)));
    out += ", largest=" + nb::cast<std::string>(nb::repr(magnitude(s.largest)));
  }
  return out + ")";
}

void add_summary_class(nb::module_& m) {
  nb::class_<RangeSummary> summary(m, "RangeSummary",
                                   R"(Where the values of arrays lie, in integers alone.

    formats, sqnr_scale: of the report's formats (binary16, bfloat16, tf32, e5m2, e4m3), and the log2 of the scales, for
    which squared rounding errors are summed; report wants a summary with those that it is to tell of.

    One pass over an array says all that report says of it, at every power-of-two scale. Summaries add up exactly: any
    split of the values over calls, threads, processes and files gives equal summaries and equal bytes. 2 MB at most.

    Attributes, counts of values: values, zeros, nan, inf, negative (sign bit set, NaN not), nonzero (finite and not zero).
    smallest, largest: magnitudes of these, exact, or None. exponents, counts: NumPy arrays of equal length, the binades
    [2^e, 2^(e + 1)) that hold magnitudes and how many, rising. columns: (format, log2 of a scale) of the squared errors.

    >>> import numpy as np
    >>> a = RangeSummary().add(np.array([1, -3, 0, np.inf], "f"))
    >>> a
    RangeSummary(values=4, zeros=1, inf=1, smallest=1.0, largest=3.0)
    >>> dict(zip(a.exponents.tolist(), a.counts.tolist()))
    {0: 1, 1: 1}
    >>> a + a == RangeSummary().add(np.array([1, -3, 0, np.inf] * 2, "d"))
    True
)");
  summary.def(
      "__init__",
      [](RangeSummary* self, nb::handle formats, nb::handle scales) {
        const ReportOptions options = report_options({.formats = report_format_names(formats),
                                                      .roles = {},
                                                      .scales = sqnr_scales_of(scales),
                                                      .dtype = {}});
        new (self) RangeSummary(empty_summary(error_columns(options)));
      },
      nb::kw_only(), "formats"_a = nb::none(), "sqnr_scale"_a = 0);
  summary.def(
      "add", &add_to_summary, "x"_a, nb::sig("def add(self, x: object) -> RangeSummary"),
      R"(Counts the values of an array, on all threads and without a copy where it is contiguous; returns self.

    x: an array of any shape and floating dtype, or the name of a file: "grads.npy", "grads.safetensors:fc1.weight". Nothing
    is counted if it raises. TypeError for other dtypes.
)");
  summary.def(
      "__add__",
      [](const RangeSummary& a, const RangeSummary& b) {
        RangeSummary out = a;
        merge_checked(out, b);
        return out;
      },
      nb::is_operator());
  summary.def(
      "__iadd__",
      [](nb::object self, const RangeSummary& b) {
        const RangeSummary copy = b;  // which may be the same
        merge_checked(summary_in(self), copy);
        return self;
      },
      nb::is_operator());
  summary.def("__eq__", [](const RangeSummary& a, nb::handle b) {
    const auto* const other = held<RangeSummary>(b);
    return other != nullptr && *other == a;
  });
  summary.attr("__hash__") = nb::none();
  summary.def("to_bytes", &summary_bytes,
              "All of it, exactly: equal summaries give equal bytes, on every machine and in every "
              "process.");
  summary.def_static(
      "from_bytes", &summary_of_bytes, "data"_a,
      "The summary that gave the bytes. ValueError, one line, for bytes that none gave.");
  summary.def("__getstate__", &summary_bytes);
  summary.def("__setstate__", [](RangeSummary& self, nb::handle data) {
    new (&self) RangeSummary(summary_of_bytes(data));
  });
  summary.def("__copy__", [](const RangeSummary& self) { return RangeSummary(self); });
  summary.def("__deepcopy__",
              [](const RangeSummary& self, nb::handle) { return RangeSummary(self); });
  for (const auto& [name, count] :
       {std::pair("values", &RangeSummary::values), std::pair("zeros", &RangeSummary::zeros),
        std::pair("nan", &RangeSummary::nan), std::pair("inf", &RangeSummary::inf),
        std::pair("negative", &RangeSummary::negative)}) {
    summary.def_ro(name, count);
  }
  summary.def_prop_ro("nonzero", &RangeSummary::nonzero);
  summary.def_prop_ro("smallest", [](const RangeSummary& s) { return magnitude(s.smallest); });
  summary.def_prop_ro("largest", [](const RangeSummary& s) { return magnitude(s.largest); });
  summary.def_prop_ro("exponents", [](const RangeSummary& s) {
    return per_binade("I64", s,
                      [](int exponent, const BinadeRow&) { return std::int64_t{exponent}; });
  });
  summary.def_prop_ro("counts", [](const RangeSummary& s) {
    return per_binade("U64", s, [](int, const BinadeRow& row) { return row.total(); });
  });
  summary.def_prop_ro("columns", [](const RangeSummary& s) {
    nb::list out;
    for (const auto& [format, scale] : s.columns) {
      const auto* row = std::ranges::find(report_formats, format, &NamedFormat::format);
      out.append(nb::make_tuple(nb::str(row->name.data(), row->name.size()), scale));
    }
    return out;
  });
  summary.def("__repr__", &repr_of);
  summary.def("_repr_html_",
              [](nb::handle self) { return python_function("_report", "summary_html")(self); });
}

// ---------------------------------------------------------------------------------------------------------------------

/// What a report is of: files, arrays in the place of one, or summaries.
struct ReportSource {
  std::vector<std::string> paths = {};
  std::vector<Array> owners = {};  ///< of the arrays
  FileOfArrays arrays = {};
  std::vector<NamedSummary> summaries = {};
};

constexpr const char* name_of_arrays = "arrays";

/// An array of a dict: what is wrong with it is told with its name.
Array array_named(const std::string& name, nb::handle x) {
  try {
    return array_of(x);
  } catch (const nb::python_error& error) {
    const std::string line =
        printable(name) + ": " + nb::cast<std::string>(nb::str(nb::handle(error.value())));
    if (error.matches(PyExc_TypeError)) throw nb::type_error(line.c_str());
    if (error.matches(PyExc_ValueError)) throw Error(line);
    throw;
  }
}

void add_named(ReportSource& source, const std::string& name, nb::handle x) {
  if (x.is_none()) return;  // a parameter without a gradient
  if (const auto* const summary = held<RangeSummary>(x)) {
    source.summaries.push_back({name, *summary});
  } else {
    source.owners.push_back(array_named(name, x));
    source.arrays.arrays.push_back({name, source.owners.back().view});
  }
  if (!source.summaries.empty() && !source.owners.empty()) {
    throw nb::type_error("a report is of arrays or of summaries, not of both");
  }
}

ReportSource source_of(nb::handle x) {
  ReportSource out;
  out.arrays.name = name_of_arrays;
  if (is_path(x)) {
    out.paths.push_back(path_of(x));
    return out;
  }
  const bool is_vector =
      nb::hasattr(x, "ndim") && nb::object(x.attr("ndim")).equal(nb::int_(1));  // pandas.Series
  if (PyMapping_Check(x.ptr()) != 0 && nb::hasattr(x, "items") && !is_vector) {
    for (const nb::handle item : nb::object(x.attr("items")())) {
      const nb::object name = item[0];
      if (!PyUnicode_Check(name.ptr())) throw nb::type_error("names of arrays are text");
      add_named(out, utf8_of(name), nb::object(item[1]));
    }
    if (out.owners.empty() && out.summaries.empty()) throw Error("no array; nothing to report on");
    return out;
  }
  if (is_list(x)) {
    const std::vector<nb::object> all = in_list(x);
    if (!all.empty() &&
        std::ranges::all_of(all, [](const nb::object& one) { return is_path(one); })) {
      for (const nb::object& one : all) out.paths.push_back(path_of(one));
      return out;
    }
    if (std::ranges::any_of(
            all, [](const nb::object& one) { return nb::isinstance<RangeSummary>(one); })) {
      throw nb::type_error("summaries have names: give a dict {name: RangeSummary}");
    }
  }
  add_named(out, nb::isinstance<RangeSummary>(x) ? "summary" : "array", x);
  return out;
}

/// Without the interpreter's lock, polled.
Report make_report(const ReportSource& source, const ReportOptions& options, const DeviceOption& on,
                   std::string& told) {
  if (!source.summaries.empty()) {
    if (on.asked()) throw Error("--device, --emulated: summaries are counted already");
    return report_of(source.summaries, options, [](std::uint64_t, std::uint64_t) { poll(); });
  }
  OpenedDevice opened;
  if (on.asked()) {
    opened = open_chosen_device(on);
    if (!opened.device) throw FileError("no GPU: " + opened.why_none);
  }
  std::vector<FileOfArrays> files;
  std::vector<std::string> paths{source.arrays.name};
  if (source.paths.empty()) {
    files.push_back(source.arrays);
  } else {
    paths = expand_paths(source.paths);
  }
  const NamedArrays named(std::move(files));
  Report report = read_report(
      paths, options, [](std::uint64_t, std::uint64_t) { poll(); }, opened.device.get());
  if (opened.device) {
    const auto of_f32 = std::ranges::count(report.tensors, "F32", &TensorReport::dtype);
    told = tensors_on_device("counted", *opened.device, static_cast<std::size_t>(of_f32),
                             report.tensors.size());
  }
  return report;
}

ReportWords report_words_of(int headroom, double target_loss, std::string_view prefer,
                            nb::handle formats, nb::handle scales, std::string_view dtype,
                            nb::handle role) {
  return {.formats = report_format_names(formats),
          .roles = words_of_option<std::string>("role", "text ROLE=REGEX", role),
          .scales = sqnr_scales_of(scales),
          .headroom = headroom,
          .target_loss = target_loss,
          .prefer = std::string(prefer),
          .dtype = std::string(dtype)};
}

ReportObject report_on(nb::handle source, Whole<int> headroom, double target_loss,
                       std::string_view prefer, nb::handle formats, nb::handle sqnr_scale,
                       std::string_view dtype, nb::handle role, Whole<std::size_t> tensors,
                       Truth device, std::string_view emulated) {
  const ReportOptions options = report_options(
      report_words_of(headroom, target_loss, prefer, formats, sqnr_scale, dtype, role));
  const ReportSource of = source_of(source);
  const DeviceOption on{.emulated = std::string(emulated), .device = device};
  std::string text, json;
  {
    const Released released;
    std::string told;
    const Report report = make_report(of, options, on, told);
    text = report_text(report, {false, tensors}) + told;
    json = json_text(to_json(report));
  }
  return nb::borrow<ReportObject>(
      python_function("_report", "Report")(text_object(text), text_object(json)));
}

nb::dict loss_scale(nb::handle source, Whole<int> headroom, double target_loss,
                    std::string_view prefer, std::string_view dtype, nb::handle role) {
  const ReportOptions options = report_options(
      report_words_of(headroom, target_loss, prefer, nb::none(), nb::int_(0), dtype, role));
  const ReportSource of = source_of(source);
  ReportOptions without_errors = options;
  without_errors.formats.clear();
  nlohmann::ordered_json json;
  {
    const Released released;
    std::string told;
    json = joint_scale_json(make_report(of, without_errors, {}, told).loss_scale);
  }
  return nb::borrow<nb::dict>(python_of(json));
}

nlohmann::ordered_json json_of_text(const std::string& json) {
  return nlohmann::ordered_json::parse(json);
}

/// By the ending of the path.
void save_report(const std::string& json, nb::handle to) {
  if (!is_path(to)) throw nb::type_error("path: text or os.PathLike");
  const std::string path = path_of(to);
  std::string suffix = std::filesystem::path(path).extension().string();
  for (char& c : suffix) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::array known{".html", ".json", ".csv"};
  if (std::ranges::find(known, suffix) == known.end()) {
    throw Error(printable(path, longest_path) + ": a report is saved as .html, .json or .csv");
  }
  const Released released;
  prepare_outputs({}, std::array{OutputPath{"path", path}});
  write_file(path, suffix == ".json"  ? json
                   : suffix == ".csv" ? report_csv(json_of_text(json))
                                      : report_html(json_of_text(json)));
}

/// (name, kind) of each column, and the rows.
nb::object table_of_report(const std::string& json) {
  constexpr std::array kinds{"text", "integer", "number"};
  TensorTable table;
  {
    const Released released;
    table = tensor_table(json_of_text(json));
  }
  nb::list columns, rows;
  for (const TensorColumn& column : table.columns) {
    columns.append(nb::make_tuple(column.name, kinds[static_cast<std::size_t>(column.kind)]));
  }
  for (const auto& row : table.rows) {
    nb::list cells;
    for (const nlohmann::ordered_json& cell : row) cells.append(python_of(cell));
    rows.append(cells);
  }
  return nb::make_tuple(columns, rows);
}

constexpr const char* report_docstring =
    R"(What becomes of the values of tensors in FP16, BF16, TF32 and FP8, and which loss scale saves them.

    source: a dict {name: array}; a path, a glob or a list of them (.safetensors, .npy, .npz); a dict {name: RangeSummary};
        or one array. Arrays have any shape and floating dtype; integers and truth values are named in the report and
        skipped, None is passed over. Names tell what a tensor is: "fc1.weight.grad" is a gradient, and gradients alone set the loss scale (binade report --help).
    headroom: binades kept free below overflow when a scale is chosen. target_loss: the largest share of a tensor's L2
    norm that may become zero. prefer: "s_max" or "s_min", the end of the interval of scales to recommend.
    formats: some of binary16, bfloat16, tf32, e5m2, e4m3; None for all. sqnr_scale: log2 of scales at which SQNR is
    measured besides 0. dtype: what unsigned integers or raw arrays hold ("bfloat16"). role: rules "ROLE=REGEX" that come
    before what names tell. tensors: rows of the text's table, 0 for all. device, emulated: where float32 is counted.

    Returns a Report: str() is the text of `binade report`, to_json() its JSON, save(path) writes .html, .json or .csv,
    to_pandas() gives a row a tensor. ValueError for what options cannot be, TypeError for what is no array, OSError for
    files that cannot be read.

    >>> import numpy as np
    >>> r = report({"fc1.weight.grad": np.float32([1e-8, 1e-3, 0])})
    >>> r.loss_scale["recommended_log2"]
    24
)";

}  // namespace

void add_ranges(nb::module_& m) {
  pthread_atfork(nullptr, nullptr, [] { counters = new CounterPool; });
  add_summary_class(m);
  m.def("report", &report_on, "source"_a, nb::kw_only(), "headroom"_a = 1, "target_loss"_a = 1e-3,
        "prefer"_a = "s_max", "formats"_a = nb::none(), "sqnr_scale"_a = 0, "dtype"_a = "",
        "role"_a = nb::none(), "tensors"_a = 20, "device"_a = false, "emulated"_a = "",
        report_docstring);
  m.def(
      "loss_scale", &loss_scale, "source"_a, nb::kw_only(), "headroom"_a = 1,
      "target_loss"_a = 1e-3, "prefer"_a = "s_max", "dtype"_a = "", "role"_a = nb::none(),
      R"(The power-of-two loss scale for gradients in FP16, and why: "loss_scale" of a report's JSON, as a dict.

    source and options as those of report; of summaries none of its squared errors is needed. Keys: status ("ok",
    "empty interval", …), s_min_log2 and s_max_log2 (between these nothing overflows and no tensor loses more than
    target_loss of its L2 norm), recommended_log2, lost_l2_at_recommended (a share), binding_min and binding_max (the
    tensors that set the ends), reason and basis (sentences).

    >>> import numpy as np
    >>> found = loss_scale({"a.grad": np.float32([1e-7, 1e-3]), "b.grad": np.float32([60000.0])})
    >>> found["status"], found["s_max_log2"], found["binding_max"]
    ('ok', -1, 'b.grad')
)");
  m.def("_save_report", &save_report);
  m.def("_write_whole", [](nb::handle to, const std::string& content) {
    const std::string path = path_of(to);
    const Released released;
    prepare_outputs({}, std::array{OutputPath{"path", path}});
    write_file(path, content);
  });
  m.def("_table_of_report", &table_of_report);
  m.def("_percent", &percent);
}

}  // namespace binade::python

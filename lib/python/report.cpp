// SPDX-License-Identifier: Apache-2.0
//
// The functions report() and loss_scale(), of files, arrays or summaries.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <nlohmann/json.hpp>

#include "lib/device/chosen_device.h"
#include "lib/io/array_file.h"
#include "lib/io/file_format.h"
#include "lib/python/arguments.h"
#include "lib/python/arrays.h"
#include "lib/python/keywords.h"
#include "lib/python/module.h"
#include "lib/python/report.h"
#include "lib/report/csv.h"
#include "lib/report/json.h"
#include "lib/report/named_tensors.h"
#include "lib/report/write_report.h"
#include "lib/text/error.h"
#include "lib/text/paragraph.h"
#include "lib/text/percent.h"

namespace binade::python {
namespace {

using namespace nanobind::literals;

/// What a report is of: files, arrays in the place of one, or summaries.
struct ReportSource {
  std::vector<std::string> paths = {};
  std::vector<Array> owners = {};  ///< of the arrays
  FileOfArrays arrays = {};
  std::vector<NamedSummary> summaries = {};
};

/// Its files, opened; arrays are while NamedArrays(files_in(source)) lives.
ReportInputs open_source(const ReportSource& source, const ReportOptions& options) {
  if (!source.summaries.empty()) return inputs_of(source.summaries, options);
  return open_inputs(
      source.paths.empty() ? std::vector{source.arrays.name} : expand_paths(source.paths), options);
}

std::vector<FileOfArrays> files_in(const ReportSource& source) {
  return source.paths.empty() ? std::vector{source.arrays} : std::vector<FileOfArrays>{};
}

constexpr const char* name_of_arrays = "arrays";

/// An array of a dict: what is wrong with it is told with its name.
Array array_named(const std::string& name, nb::handle x, bool has_dtype) {
  try {
    return array_of_any_numbers(python_call("_foreign", "bits_of_raw", x, nb::bool_(has_dtype)));
  } catch (const nb::python_error& error) {
    const std::string line =
        printable(name) + ": " + nb::cast<std::string>(nb::str(nb::handle(error.value())));
    if (error.matches(PyExc_TypeError)) throw nb::type_error(line.c_str());
    if (error.matches(PyExc_ValueError)) throw Error(line);
    throw;
  }
}

void add_named(ReportSource& source, const std::string& name, nb::handle x, bool has_dtype) {
  if (x.is_none()) return;  // a parameter without a gradient
  if (const auto* const summary = held<RangeSummary>(x)) {
    source.summaries.push_back({name, *summary});
  } else {
    source.owners.push_back(array_named(name, x, has_dtype));
    source.arrays.arrays.push_back({name, source.owners.back().view});
  }
  if (!source.summaries.empty() && !source.owners.empty()) {
    throw nb::type_error("a report is of arrays or of summaries, not of both");
  }
}

/// Of named_parameters(): (name, array), one after the other.
bool is_named(const nb::object& x) {
  return PyTuple_Check(x.ptr()) && nb::len(x) == 2 && PyUnicode_Check(nb::object(x[0]).ptr());
}

/// has_dtype: the caller says what bare bits hold.
ReportSource source_of(nb::handle x, bool has_dtype) {
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
      add_named(out, utf8_of(name), nb::object(item[1]), has_dtype);
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
    if (all.empty()) throw Error("no array; nothing to report on");
    if (std::ranges::all_of(all, is_named)) {
      for (const nb::object& one : all) {
        add_named(out, utf8_of(nb::object(one[0])), nb::object(one[1]), has_dtype);
      }
      return out;
    }
  }
  add_named(out, nb::isinstance<RangeSummary>(x) ? "summary" : "array", x, has_dtype);
  return out;
}

/// Without the interpreter's lock, polled.
Report report_on_inputs(const ReportInputs& inputs, const DeviceOption& on, std::string& told,
                        const TensorSink& on_tensor) {
  OpenedDevice opened;
  if (on.asked()) {
    opened = open_chosen_device(on);
    if (!opened.device) throw FileError(opened.why_none);
  }
  std::size_t of_f32 = 0;
  Report report = read_report(
      inputs, [](std::uint64_t, std::uint64_t) { poll(); }, opened.device.get(),
      [&](const TensorReport& tensor) {
        of_f32 += tensor.dtype == "F32" ? 1 : 0;
        if (on_tensor) on_tensor(tensor);
      });
  if (opened.device) {
    told = tensors_on_device("counted", *opened.device, of_f32, report.rows.size());
  }
  return report;
}

ReportObject report_on(nb::handle source, Whole<int> headroom, double target_loss,
                       double target_sqnr, double target_weight_sqnr, std::string_view prefer,
                       nb::handle formats, nb::handle sqnr_scale, std::string_view dtype,
                       nb::handle role, Whole<std::size_t> tensors, Truth device,
                       std::string_view emulated) {
  const ReportOptions options =
      report_options(report_words_of(headroom, target_loss, target_sqnr, target_weight_sqnr, prefer,
                                     formats, sqnr_scale, dtype, role));
  const ReportSource of = source_of(source, !dtype.empty());
  const DeviceOption on{.emulated = std::string(emulated), .device = device};
  if (on.asked() && !of.summaries.empty()) {
    throw Error("--device, --emulated: summaries are counted already");
  }
  const NamedArrays named(files_in(of));
  return report_object(
      [&] { return open_source(of, options); }, tensors,
      [&](const ReportInputs& inputs, const TensorSink& on_tensor, std::string& told) {
        return report_on_inputs(inputs, on, told, on_tensor);
      });
}

nb::dict loss_scale(nb::handle source, nb::handle format, Whole<int> headroom, double target_loss,
                    std::string_view prefer, std::string_view dtype, nb::handle role) {
  ReportOptions options = report_options(
      report_words_of(headroom, target_loss, ReportWords().target_sqnr,
                      ReportWords().target_weight_sqnr, prefer, format, nb::int_(0), dtype, role));
  if (options.formats.size() > 1 && !format.is_none()) throw Error("format: give one");
  options.scale_format = options.formats.front();
  options.formats.clear();
  const ReportSource of = source_of(source, !dtype.empty());
  const NamedArrays named(files_in(of));
  nlohmann::ordered_json json;
  {
    const Released released;
    std::string told;
    const auto scale = [&] {
      return report_on_inputs(open_source(of, options), {}, told, {}).loss_scale;
    };
    LossScale found = scale();
    if (found.status == "no gradients" && of.paths.empty()) {
      // Arrays are often given under the names of their parameters; who asks for the scale of them
      // means gradients.
      options.roles.push_back(parse_role_rule("--role", "grad=."));
      found = scale();
    }
    json = joint_scale_json(found);
  }
  return nb::borrow<nb::dict>(python_of(json));
}

nlohmann::ordered_json json_of_text(const std::string& json) {
  return nlohmann::ordered_json::parse(json);
}

/// By the ending of the path.
void save_to(const std::string& json, const nb::bytes& page, nb::handle to) {
  if (!is_path(to)) throw nb::type_error("path: text or os.PathLike");
  const std::string path = path_of(to);
  const Released released;
  save_report(json, {page.c_str(), page.size()}, path);
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

std::string report_docstring() {
  return R"(Reports what becomes of the values of tensors in FP16, BF16, TF32 and FP8, and which loss scale saves them.

)" +
         wrapped(
             "    source: a dict {name: array} or {name: RangeSummary}; a list of (name, array), "
             "such as "
             "list(model.named_parameters()); one array; or a path, a glob or a list of them (" +
                 files_of_tensors() +
                 ", a watched run's .binade). Arrays have any shape and floating dtype; arrays of "
                 "integers, truth "
                 "values and complex numbers are named in the report and skipped, None is passed "
                 "over. The name of a "
                 "tensor tells its role: \"fc1.weight.grad\" is a gradient, and only gradients set "
                 "the loss scale "
                 "(binade report --help).",
             8, 127) +
         R"(    headroom: how many binades a loss scale leaves free below overflow, 0 to 100.
    target_loss: the largest share of a tensor's L2 norm that may become zero, from 0 to below 1.
    target_sqnr, target_weight_sqnr: the smallest signal-to-quantization-noise ratio, in dB from 0 to 300, that the narrowest
        format of a role must keep: in activations, gradients and updates, and in weights, states and the rest.
    prefer: which of the good scales to recommend: "s_max" or "s_min", the largest or the smallest, or "margin", the largest less
        as many binades as the largest gradients of a run lie above those of its usual step.
    formats: names of binary16, bfloat16, tf32, e5m2 and e4m3 to report on; None for all. Loss scales are for the first.
    sqnr_scale: log2 of the scales at which SQNR is measured beside 0, from -126 to 127, one or a list.
    dtype: dtype of the elements of arrays of raw bytes or unsigned integers, such as "bfloat16".
    role: rules "ROLE=REGEX", one or a list: a name in which the expression is found has that role.
    tensors: how many rows the text's table has, 0 for all.
    device: whether a GPU counts the float32 tensors. emulated: an architecture, such as "sm_90", whose emulator does.

    Returns a Report: str() is the text of `binade report`, to_json() its JSON, save(path) writes .html, .json or .csv,
    to_pandas() gives a row for each tensor. Raises ValueError for a wrong option, TypeError for a source that is no array, and
    OSError for a file that cannot be read.

    >>> import numpy as np
    >>> r = report({"fc1.weight.grad": np.float32([1e-8, 1e-3, 0])})
    >>> r.loss_scale["recommended_log2"]
    24
)";
}

}  // namespace

ReportWords report_words_of(int headroom, double target_loss, double target_sqnr,
                            double target_weight_sqnr, std::string_view prefer, nb::handle formats,
                            nb::handle scales, std::string_view dtype, nb::handle role) {
  return {.formats = report_format_names(formats),
          .roles = values_of_option<std::string>("role", "text ROLE=REGEX", role),
          .scales = sqnr_scales_of(scales),
          .headroom = headroom,
          .target_loss = target_loss,
          .target_sqnr = target_sqnr,
          .target_weight_sqnr = target_weight_sqnr,
          .prefer = std::string(prefer),
          .dtype = std::string(dtype)};
}

ReportObject report_object(
    const std::function<ReportInputs()>& open, std::size_t tensors,
    const std::function<Report(const ReportInputs&, const TensorSink&, std::string& told)>& read) {
  WrittenReport written;
  {
    const Released released;
    std::string told;
    written =
        write_report(open(), tensors, [&](const ReportInputs& inputs, const TensorSink& on_tensor) {
          return read(inputs, on_tensor, told);
        });
    written.text += told;
  }
  return nb::borrow<ReportObject>(
      python_call("_report", "Report", text_object(written.text), text_object(written.json),
                  nb::bytes(written.page_data.data(), written.page_data.size())));
}

void add_report(nb::module_& m) {
  m.def("report", &report_on, "source"_a, nb::kw_only(), "headroom"_a = 1, "target_loss"_a = 1e-3,
        "target_sqnr"_a = 20.0, "target_weight_sqnr"_a = 30.0, "prefer"_a = "margin",
        "formats"_a = nb::none(), "sqnr_scale"_a = 0, "dtype"_a = "", "role"_a = nb::none(),
        "tensors"_a = 20, "device"_a = false, "emulated"_a = "", report_docstring().c_str());
  m.def(
      "loss_scale", &loss_scale, "source"_a, nb::kw_only(), "format"_a = "binary16",
      "headroom"_a = 1, "target_loss"_a = 1e-3, "prefer"_a = "margin", "dtype"_a = "",
      "role"_a = nb::none(),
      R"(Returns the power-of-two loss scale for gradients in a format, and why: "loss_scale" of a report's JSON, as a dict.

    source and options are those of report(); summaries need no squared errors. Arrays whose names tell no gradient, as those of
    parameters, are taken as gradients; a file of such is not. format: binary16, bfloat16, tf32, e5m2 or e4m3. Keys: format,
    own_scales (whether tensors in it have a scale of each one's own, as in FP8, of which tensors_served says for how many of
    tensors there is one), status ("ok", "empty interval", "no gradients", …),
    s_min_log2 and s_max_log2 (at scales from 2^s_min_log2 to 2^s_max_log2 nothing overflows and no tensor loses more than
    target_loss of its L2 norm), recommended_log2 (from -126 to 127, since scales are kept in FP32; None if values overflow at
    all of these), lost_l2_at_recommended (a share), free_binades (by how many the largest value may grow there), over_run (how near
    the steps of a run come to overflow), negligible and first_negligible (gradients of weights that rounding may have left of
    zero, which set no end), at_floor and first_at_floor (gradients of which the smaller values are zero already; with any, s_min_log2
    is that of what is left), binding_min and binding_max (the tensors that set the ends), reason and
    basis (sentences). Raises as report() does.

    >>> import numpy as np
    >>> found = loss_scale({"a.grad": np.float32([1e-7, 1e-3]), "b.grad": np.float32([60000.0])})
    >>> found["status"], found["s_max_log2"], found["binding_max"]
    ('ok', -1, 'b.grad')
)");
  m.def("_save_report", &save_to);
  m.def("_table_of_report", &table_of_report);
  m.def("_percent", &percent);
  m.def("_printable", [](std::string_view text) { return printable(text, std::string::npos); });
  m.def("_is_negligible", &is_negligible, "some"_a, "all"_a);
}

}  // namespace binade::python

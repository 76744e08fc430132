// SPDX-License-Identifier: Apache-2.0
//
// The class binade.RangeSummary, which counts in which binades the values of arrays lie.
#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "lib/io/opened_tensor.h"
#include "lib/python/arguments.h"
#include "lib/python/arrays.h"
#include "lib/python/counting.h"
#include "lib/python/keywords.h"
#include "lib/python/module.h"
#include "lib/range/counter.h"
#include "lib/range/summary_bytes.h"
#include "lib/report/held_floor.h"
#include "lib/report/named_tensors.h"
#include "lib/report/report.h"
#include "lib/report/report_words.h"
#include "lib/report/tensor_report.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade::python {
namespace {

using namespace nanobind::literals;

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

nb::dict dict_of(const Share& share) {
  nb::dict out;
  out["count"] = share.count;
  out["of_values"] = share.of_values;
  out["of_nonzero"] = share.of_nonzero;
  return out;
}

nb::dict becomes(const RangeSummary& summary, nb::handle format, Whole<int> scale_log2) {
  const NamedOrCustom& asked = format_of(format);
  const auto* row = std::ranges::find(report_formats, asked.format, &NamedFormat::format);
  if (row == report_formats.end()) {
    throw Error("format " + printable(asked.name) + ": a summary knows what becomes of values in " +
                listed(names_of(report_formats)) + "; quantize counts in others");
  }
  if (scale_log2 < binary64.emin() || scale_log2 > binary64.emax()) {
    throw Error("scale_log2 " + std::to_string(scale_log2) + ": give an integer from " +
                std::to_string(binary64.emin()) + " to " + std::to_string(binary64.emax()));
  }
  const Fates fate = fates(summary, row->format, scale_log2);
  const std::optional<Losses> lost = losses(summary, row->format, scale_log2);
  nb::dict out;
  out["to_zero"] = dict_of(share(fate.to_zero, summary));
  out["subnormal"] = dict_of(share(fate.subnormal, summary));
  out["overflow"] = dict_of(share(fate.overflow, summary));
  const auto part = [&lost](double Losses::*of) {
    return lost ? nb::object(nb::float_((*lost).*of)) : nb::object(nb::none());
  };
  out["lost_l1"] = part(&Losses::l1);
  out["lost_l2"] = part(&Losses::l2);
  out["clipped_l1"] = part(&Losses::clipped_l1);
  return out;
}

nb::object held_in_name(std::string_view dtype, bool any_half, Whole<std::uint64_t> nonzero,
                        Whole<int> least_exponent) {
  const std::optional<Format> format = held_in(dtype, any_half, nonzero, least_exponent);
  if (!format) return nb::none();
  return nb::cast(std::ranges::find(report_formats, *format, &NamedFormat::format)->name);
}

nb::object share_of_floor(const RangeSummary& summary, nb::handle format, Whole<int> scale_log2) {
  const auto share = share_at_floor(summary, norms(summary), format_of(format).format, scale_log2);
  return share ? nb::object(nb::float_(*share)) : nb::object(nb::none());
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

}  // namespace

void add_range_summary(nb::module_& m) {
  pthread_atfork(nullptr, nullptr, &forget_counters);
  nb::class_<RangeSummary> summary(
      m, "RangeSummary",
      R"(Counts in which binades the values of arrays lie, by integers alone.

    formats: formats of a report (binary16, bfloat16, tf32, e5m2, e4m3), one or a list, for which squared rounding errors are
    summed; None: all of them; []: none, and a report of such a summary has no SQNR. sqnr_scale: the log2 of the scale at which
    they are summed, from -126 to 127, or a list of them. report() needs those of which it is to tell.

    One pass over an array gives all that report() says of it, at every power-of-two scale. Summaries add up exactly: every
    split of the values over calls, threads, processes and files gives equal summaries and equal bytes. A summary takes 2 MB at
    most.

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
        ReportOptions options = report_options({.formats = report_format_names(formats),
                                                .roles = {},
                                                .scales = sqnr_scales_of(scales),
                                                .dtype = {}});
        if (is_list(formats) && in_list(formats).empty()) options.formats.clear();
        new (self) RangeSummary(empty_summary(error_columns(options)));
      },
      nb::kw_only(), "formats"_a = nb::none(), "sqnr_scale"_a = 0);
  summary.def("add", &add_to_summary, "x"_a, nb::sig("def add(self, x: object) -> RangeSummary"),
              R"(Counts the values of an array and returns self.

    x: an array of any shape and floating dtype, which is read without a copy if it is contiguous; or the path of a file:
    "grads.npy", "grads.safetensors:fc1.weight". Raises TypeError for other dtypes and OSError for files; nothing is counted
    then.
)");
  summary.def(
      "__add__",
      [](const RangeSummary& a, const RangeSummary& b) {
        RangeSummary out = a;
        merge_checked(out, b);
        return out;
      },
      nb::is_operator());
  summary.def("__radd__", &added_to_zero<RangeSummary>, nb::is_operator(),
              nb::sig("def __radd__(self, zero: int) -> RangeSummary"),
              "Returns 0 + summary, with which Python's sum() begins.");
  summary.def(
      "__iadd__",
      [](nb::object self, const RangeSummary& b) {
        // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): b may be self
        const RangeSummary copy = b;
        merge_checked(summary_in(self), copy);
        return self;
      },
      nb::is_operator());
  summary.def(
      "__eq__",
      [](const RangeSummary& a, nb::handle b) {
        const auto* const other = held<RangeSummary>(b);
        return other != nullptr && *other == a;
      },
      "other"_a.none());
  summary.attr("__hash__") = nb::none();
  summary.def(
      "scaled", [](const RangeSummary& self, Whole<int> log2) { return scaled(self, log2); },
      "log2"_a,
      R"(Returns the summary of the values times 2^log2, exactly; for example of gradients, from those of a scaled loss.

    The squared errors at a scale of 2^s become those at 2^(s - log2), at which the same numbers are rounded. Raises ValueError
    if a binade would leave the range of binary64, or s - log2 the range from -126 to 127.

    >>> import numpy as np
    >>> binade.RangeSummary().add(np.array([3.0, 0.5])).scaled(-4)
    RangeSummary(values=2, smallest=0.03125, largest=0.1875)
)");
  summary.def(
      "becomes", &becomes, "format"_a, "scale_log2"_a = 0,
      nb::sig("def becomes(self, format: object, scale_log2: int = 0) -> dict[str, typing.Any]"),
      R"(Tells what becomes of the values times 2^scale_log2 in a format: binary16, bfloat16, tf32, e5m2 or e4m3.

    Returns a dict with the keys of a report's JSON for a format. to_zero, subnormal, overflow: {"count", "of_values",
    "of_nonzero"}, how many finite values that are not zero become so, and which share this is of all values and of the finite
    values that are not zero. lost_l1, lost_l2: the share of the norm (sum of magnitudes, root of the sum of squares) that becomes
    zero. clipped_l1: by how much magnitudes exceed the largest number, as a share of the sum of magnitudes. These three are None
    if no value is finite and not zero.

    >>> import numpy as np
    >>> found = binade.RangeSummary().add(np.array([1, 2**-26, 2**-16, 2**17])).becomes("binary16")
    >>> found["to_zero"]
    {'count': 1, 'of_values': 0.25, 'of_nonzero': 0.25}
    >>> found["overflow"]["count"], binade.RangeSummary().becomes("e4m3", -3)["lost_l1"]
    (1, None)
)");
  summary.def(
      "to_bytes", &summary_bytes,
      "Returns the whole summary as bytes. Equal summaries give equal bytes, on every machine and "
      "in every process.");
  summary.def_static("from_bytes", &summary_of_bytes, "data"_a,
                     "Returns the summary of which to_bytes() gave these bytes. Raises ValueError "
                     "for any others.");
  summary.def("__getstate__", &summary_bytes);
  summary.def("__setstate__", [](RangeSummary& self, nb::handle data) {
    new (&self) RangeSummary(summary_of_bytes(data));
  });
  summary.def("__copy__", [](const RangeSummary& self) { return RangeSummary(self); });
  summary.def("__deepcopy__",
              [](const RangeSummary& self, nb::handle) { return RangeSummary(self); });
  summary.def_ro("values", &RangeSummary::values, "Number of all values.");
  summary.def_ro("zeros", &RangeSummary::zeros, "Number of zeros.");
  summary.def_ro("nan", &RangeSummary::nan, "Number of NaNs.");
  summary.def_ro("inf", &RangeSummary::inf, "Number of infinities.");
  summary.def_ro("negative", &RangeSummary::negative,
                 "Number of values whose sign bit is set, NaNs not included.");
  summary.def_prop_ro("nonzero", &RangeSummary::nonzero,
                      "Number of values that are finite and not zero.");
  summary.def_prop_ro(
      "smallest", [](const RangeSummary& s) { return magnitude(s.smallest); },
      "The smallest magnitude of a finite value that is not zero, exactly; None without one.");
  summary.def_prop_ro(
      "largest", [](const RangeSummary& s) { return magnitude(s.largest); },
      "The largest magnitude of a finite value that is not zero, exactly; None without one.");
  summary.def_prop_ro(
      "exponents",
      [](const RangeSummary& s) {
        return per_binade("I64", s,
                          [](int exponent, const BinadeRow&) { return std::int64_t{exponent}; });
      },
      "A NumPy array of int64: e of every binade [2^e, 2^(e + 1)) that holds magnitudes, rising.");
  summary.def_prop_ro(
      "counts",
      [](const RangeSummary& s) {
        return per_binade("U64", s, [](int, const BinadeRow& row) { return row.total(); });
      },
      "A NumPy array of uint64: how many magnitudes lie in each binade of exponents.");
  summary.def_prop_ro(
      "columns",
      [](const RangeSummary& s) {
        nb::list out;
        for (const auto& [format, scale] : s.columns) {
          const auto* row = std::ranges::find(report_formats, format, &NamedFormat::format);
          out.append(nb::make_tuple(nb::str(row->name.data(), row->name.size()), scale));
        }
        return out;
      },
      "The (format, log2 of a scale) pairs for which squared rounding errors are summed, as a "
      "list.");
  summary.def("__repr__", &repr_of);
  summary.def("_repr_html_",
              [](nb::handle self) { return python_call("_report", "summary_html", self); });
  m.def("_held_in", &held_in_name, "dtype"_a, "any_half"_a, "nonzero"_a, "least_exponent"_a);
  m.def("_share_at_floor", &share_of_floor, "summary"_a, "format"_a, "scale_log2"_a);
}

}  // namespace binade::python

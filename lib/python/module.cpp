// SPDX-License-Identifier: Apache-2.0
//
// The extension module: puts its parts together, translates C++ exceptions to Python's, and handles
// fork and exit.
#include "lib/python/module.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "emulate/event_count.h"
#include "lib/io/atomic_file.h"
#include "lib/io/output_paths.h"
#include "lib/io/own_folder.h"
#include "lib/parallel/parallel.h"
#include "lib/program.h"
#include "lib/python/arguments.h"
#include "lib/python/arrays.h"
#include "lib/python/calls.h"
#include "lib/python/interpreter.h"
#include "lib/python/keywords.h"
#include "lib/range/event_columns.h"
#include "lib/runs/data_folder.h"
#include "lib/text/error.h"
#include "lib/version.h"

namespace binade::python {
namespace {

using namespace nanobind::literals;

/// An option in a line of the program's as the keyword of the same name: "--random-bits 40: …" is
/// "random_bits 40: …". Flushing is one keyword for two options. Commands that a line names stay as
/// they are typed.
std::string in_keywords(const std::string& line) {
  std::string out;
  std::size_t end_of_command = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line.compare(i, 7, "binade ") == 0) {
      end_of_command = std::min(line.find_first_of(";,()'", i), line.size());
    }
    if (i < end_of_command) {
      out += line[i];
      continue;
    }
    const bool begins = line.compare(i, 2, "--") == 0 && i + 2 < line.size() &&
                        std::islower(static_cast<unsigned char>(line[i + 2])) != 0 &&
                        (i == 0 || line[i - 1] == ' ' || line[i - 1] == '(' || line[i - 1] == '\'');
    if (!begins) {
      out += line[i];
      continue;
    }
    std::string name;
    for (i += 2; i < line.size(); ++i) {
      const char c = line[i];
      const auto letter = static_cast<unsigned char>(c);
      if (std::islower(letter) == 0 && std::isdigit(letter) == 0 && c != '-') break;
      name += c == '-' ? '_' : c;
    }
    --i;
    out += name == "ftz" ? "flush=\"results\"" : name;
  }
  return out;
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const FileError& error) {
    PyErr_SetString(PyExc_OSError, error.what());
  } catch (const Error& error) {
    PyErr_SetString(PyExc_ValueError, in_keywords(error.what()).c_str());
  } catch (const nb::cast_error&) {
    PyErr_SetString(PyExc_TypeError, "a value of another type than is wanted");
  }
}

/// The program with these arguments; its exit status.
int run(nb::handle arguments) {
  if (!is_list(arguments)) throw nb::type_error("arguments: a list of text is wanted");
  std::vector<std::string> texts;
  for (const nb::object& one : in_list(arguments))
    texts.push_back(path_of(one));  // any bytes, as a shell gives them
  std::vector<const char*> words{"binade"};
  for (const std::string& one : texts) words.push_back(one.c_str());
  const Released released;
  return run_program(static_cast<int>(words.size()), words.data(), &pass_python_on);
}

/// A file, whole or not at all.
void write_whole(nb::handle to, std::string_view content) {
  const std::string path = path_of(to);
  const Released released;
  prepare_outputs({}, std::array{OutputPath{"path", path}});
  write_file(path, content);
}

/// The data of the experiments, where they were installed with the package.
void find_data() {
  const std::filesystem::path folder = own_folder() / "data";
  std::error_code unseen;
  if (std::filesystem::is_directory(folder, unseen)) set_default_data_folder(folder.string());
}

void add_counts(nb::module_& m) {
  nb::class_<EventCounts> counts(
      m, "Counts",
      R"(Counts of what happened to the elements of an array that were rounded.

    Functions that round return them with counts=True. The counts of parts of an array add up to those of the whole.

    >>> import numpy as np
    >>> _, counts = binade.quantize(np.float32([1e-9, 0.1, 1e9]), "binary16", counts=True)
    >>> counts.to_zero, counts.overflow, counts.inexact
    (1, 1, 3)
)");
  counts.def(nb::init<>());
  struct Field {
    const char* name;
    std::uint64_t EventCounts::*field;
    const char* about;
  };
  static constexpr Field fields[] = {
      {"values", &EventCounts::values, "Number of all elements."},
      {"nan_in", &EventCounts::nan_in,
       "Elements with a NaN operand, which count elsewhere only in values and invalid."},
      {"inf_in", &EventCounts::inf_in,
       "Elements with an infinite operand, which count elsewhere only in values and invalid."},
      {"invalid", &EventCounts::invalid,
       "Elements that raise IEEE 754's invalid: Inf - Inf, 0 * Inf, 0 / 0, a signaling NaN, "
       "0 * Inf + NaN, a NaN into a format without NaN. They count elsewhere only in values, "
       "nan_in "
       "and inf_in."},
      {"to_zero", &EventCounts::to_zero, "Results that were not zero and were rounded to zero."},
      {"subnormal", &EventCounts::subnormal, "Results that are subnormal after rounding."},
      {"overflow", &EventCounts::overflow,
       "Results beyond the largest finite number, rounded as if the exponent had no end, whatever "
       "was delivered."},
      {"saturated", &EventCounts::saturated,
       "Overflows delivered as the largest finite number because of saturation=\"finite\"."},
      {"inexact", &EventCounts::inexact, "Results whose magnitude rounding changed."}};
  for (const auto& [name, field, about] : fields) counts.def_ro(name, field, about);
  counts.def(
      "__eq__",
      [](const EventCounts& a, nb::handle b) {
        const auto* const other = held<EventCounts>(b);
        return other != nullptr && *other == a;
      },
      "other"_a.none());
  counts.attr("__hash__") = nb::none();
  counts.def(
      "__add__", [](EventCounts a, const EventCounts& b) { return a += b; }, nb::is_operator());
  counts.def("__radd__", &added_to_zero<EventCounts>, nb::is_operator(),
             nb::sig("def __radd__(self, zero: int) -> Counts"),
             "Returns 0 + counts, with which Python's sum() begins.");
  counts.def(
      "to_dict",
      [](nb::handle self) {
        nb::dict out;
        for (const Field& field : fields) out[field.name] = self.attr(field.name);
        return out;
      },
      "Returns a new dict of all counts by name.");
  counts.def("__repr__", [](nb::handle self) {
    std::string out = "Counts(";
    for (const Field& field : fields) {
      out += std::string(out.back() == '(' ? "" : ", ") + field.name + "=" +
             nb::cast<std::string>(nb::str(nb::object(self.attr(field.name))));
    }
    return out + ")";
  });
  counts.def("__getstate__", [](const EventCounts& x) {
    std::vector<std::uint64_t> out;
    for (const Field& field : fields) out.push_back(x.*field.field);
    return out;
  });
  counts.def("__setstate__", [](EventCounts& x, const std::vector<std::uint64_t>& state) {
    new (&x) EventCounts();
    for (std::size_t i = 0; i < std::size(fields) && i < state.size(); ++i) {
      x.*fields[i].field = state[i];
    }
  });
}

}  // namespace

}  // namespace binade::python

NB_MODULE(_binade_parts, m) {
  using namespace binade::python;
  nanobind::register_exception_translator(&translate);
  nanobind::set_leak_warnings(
      false);  // of what a user's own cycles still hold when the interpreter ends
  pthread_atfork(nullptr, nullptr, &binade::lose_threads);
  find_data();
  watch_for_end();
  m.attr("__version__") = binade::version;
  m.def("main", &run, nanobind::arg("arguments"),
        nanobind::sig("def main(arguments: list[str] | tuple[str, ...]) -> int"),
        "Runs the program `binade` with these arguments and returns its exit status.\n\n"
        "    What is wrong is printed as a line on standard error, and the status is 2.\n\n"
        "    >>> main([\"formats\", \"no_such_format\"])\n"
        "    2\n");
  m.def("_write_whole", &write_whole);
  m.def("_write_whole", [](nb::handle to, const nb::bytes& content) {
    write_whole(to, {content.c_str(), content.size()});
  });
  add_counts(m);
  add_formats(m);
  add_gemm_model(m);
  add_products(m);
  add_identification(m);
  add_live(m);
  add_order_checker(m);
  add_range_summary(m);
  add_report(m);
  add_run_counts(m);
  add_rounding(m);
  add_loss_scaler(m);
  add_training(m);
  add_value_products(m);
  refuse_in_one_line(m);
}

/// What Python calls. A second import, after the first was thrown out of sys.modules, is refused,
/// as NumPy refuses it; another interpreter of this process before nanobind forgets the first one's
/// types for its sake.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): CPython's name
extern "C" NB_EXPORT PyObject* PyInit__binade() {
  static bool is_loaded = false;
  const bool is_first = PyInterpreterState_Get() == PyInterpreterState_Main();
  if (is_first && !std::exchange(is_loaded, true)) return PyInit__binade_parts();
  PyErr_SetString(PyExc_ImportError,
                  is_first
                      ? "binade cannot be loaded twice in a process; keep it in sys.modules"
                      : "binade works in a process's first interpreter, not in one made inside it");
  return nullptr;
}

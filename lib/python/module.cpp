// SPDX-License-Identifier: Apache-2.0
//
// The extension: errors, events of the process, and the parts put together.
#include "lib/python/module.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <pthread.h>

#include <cctype>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "emulate/event_count.h"
#include "lib/cli/count_columns.h"
#include "lib/cli/data_folder.h"
#include "lib/cli/program.h"
#include "lib/io/own_folder.h"
#include "lib/parallel/parallel.h"
#include "lib/python/arrays.h"
#include "lib/tensor/error.h"
#include "lib/tensor/version.h"

namespace binade::python {
namespace {

using namespace nanobind::literals;

/// An option in a line of the program's as the keyword of the same name: "--random-bits 40: …" is "random_bits 40: …".
std::string in_keywords(const std::string& line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool begins = line.compare(i, 2, "--") == 0 && i + 2 < line.size() &&
                        std::islower(static_cast<unsigned char>(line[i + 2])) != 0 &&
                        (i == 0 || line[i - 1] == ' ' || line[i - 1] == '(' || line[i - 1] == '\'');
    if (!begins) {
      out += line[i];
      continue;
    }
    for (i += 2; i < line.size(); ++i) {
      const char c = line[i];
      if (std::islower(static_cast<unsigned char>(c)) == 0 && c != '-') break;
      out += c == '-' ? '_' : c;
    }
    --i;
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
  }
}

/// The program with these arguments; its exit status.
int run(const std::vector<std::string>& arguments) {
  std::vector<const char*> words{"binade"};
  for (const std::string& one : arguments) words.push_back(one.c_str());
  const nb::gil_scoped_release released;
  return run_program(static_cast<int>(words.size()), words.data());
}

/// The data of the experiments, where they were installed with the package.
void find_data() {
  const std::filesystem::path folder = own_folder() / "data";
  std::error_code unseen;
  if (std::filesystem::is_directory(folder, unseen)) set_default_data_folder(folder.string());
}

void add_counts(nb::module_& m) {
  nb::class_<EventCounts> counts(m, "Counts",
                                 R"(What happened to the elements of an array that were rounded.

    values: all elements. nan_in, inf_in: with a NaN or an infinite operand, in no other count but invalid and values.
    invalid: Inf - Inf, 0 · Inf, 0 / 0. to_zero: not zero before, zero after. subnormal: not zero, subnormal after.
    overflow: beyond the largest finite number, whatever was delivered; saturated: of these, delivered as that number.
    inexact: not what it was before. Counts of parts add up.
)");
  counts.def(nb::init<>());
  static constexpr std::pair<const char*, std::uint64_t EventCounts::*> fields[] = {
      {"values", &EventCounts::values},     {"nan_in", &EventCounts::nan_in},
      {"inf_in", &EventCounts::inf_in},     {"invalid", &EventCounts::invalid},
      {"to_zero", &EventCounts::to_zero},   {"subnormal", &EventCounts::subnormal},
      {"overflow", &EventCounts::overflow}, {"saturated", &EventCounts::saturated},
      {"inexact", &EventCounts::inexact}};
  for (const auto& [name, field] : fields) counts.def_rw(name, field);
  counts.def("__eq__", [](const EventCounts& a, nb::handle b) {
    return nb::isinstance<EventCounts>(b) && *nb::inst_ptr<EventCounts>(b) == a;
  });
  counts.def("__add__", [](EventCounts a, const EventCounts& b) { return a += b; });
  counts.def("to_dict", [](nb::handle self) {
    nb::dict out;
    for (const auto& [name, field] : fields) {
      static_cast<void>(field);
      out[name] = self.attr(name);
    }
    return out;
  });
  counts.def("__repr__", [](nb::handle self) {
    std::string out = "Counts(";
    for (const auto& [name, field] : fields) {
      static_cast<void>(field);
      out += std::string(out.back() == '(' ? "" : ", ") + name + "=" +
             nb::cast<std::string>(nb::str(nb::object(self.attr(name))));
    }
    return out + ")";
  });
  counts.def("__getstate__", [](const EventCounts& x) {
    std::vector<std::uint64_t> out;
    for (const auto& [name, field] : fields) out.push_back(x.*field);
    return out;
  });
  counts.def("__setstate__", [](EventCounts& x, const std::vector<std::uint64_t>& state) {
    new (&x) EventCounts();
    for (std::size_t i = 0; i < std::size(fields) && i < state.size(); ++i) {
      x.*fields[i].second = state[i];
    }
  });
}

}  // namespace

}  // namespace binade::python

NB_MODULE(_binade_parts, m) {
  using namespace binade::python;
  nanobind::register_exception_translator(&translate);
  pthread_atfork(nullptr, nullptr, &binade::lose_threads);
  find_data();
  m.attr("__version__") = binade::version;
  m.def("main", &run, nanobind::arg("arguments"),
        "Run the program `binade` with these arguments; returns its exit status.");
  add_counts(m);
  add_formats(m);
  add_gemm_model(m);
  add_products(m);
  add_identification(m);
  add_ranges(m);
  add_rounding(m);
  add_loss_scaler(m);
  add_grad_scaler(m);
  add_training(m);
}

/// What Python calls. Another interpreter of this process is refused before nanobind forgets the first one's types for its
/// sake.
extern "C" NB_EXPORT PyObject* PyInit__binade() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return PyInit__binade_parts();
  PyErr_SetString(PyExc_ImportError,
                  "binade works in a process's first interpreter, not in one made inside it");
  return nullptr;
}

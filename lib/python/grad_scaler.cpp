// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's GradScaler over any policy, on gradients that are changed in place.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>

#include "lib/amp/grad_scaler.h"
#include "lib/amp/loss_scaler.h"
#include "lib/amp/scaler_options.h"
#include "lib/python/arrays.h"
#include "lib/python/documents.h"
#include "lib/python/keywords.h"
#include "lib/python/module.h"
#include "lib/python/scalers.h"
#include "lib/range/quantize_stream.h"
#include "lib/tensor/error.h"
#include "lib/tensor/spelling.h"

namespace binade::python {
namespace {

using namespace nanobind::literals;
using Json = nlohmann::ordered_json;

/// A gradient that is changed in place: the caller's memory, or binary32 values that go back into it.
struct GradientInPlace {
  Array array;
  Format format = binary32;
  std::span<std::byte> memory;  ///< the caller's
  std::vector<float> copy;

  GradientView view() {
    if (format == binary32) {
      return {format, {reinterpret_cast<float*>(memory.data()), array.elements()}};
    }
    return {format, copy};
  }
  void write_back() const {
    if (format == binary32) return;
    const Quantizer exactly{.format = format, .attributes = {.nan = NanResult::propagate}};
    quantize_elements(exactly, binary32, ResultKind::encodings, std::as_bytes(std::span(copy)), 0,
                      memory);
  }
};

/// ValueError for what was copied on its way here, or may not be written.
GradientInPlace gradient_in_place(nb::handle x) {
  GradientInPlace out{.array = array_of(x), .memory = {}, .copy = {}};
  out.format = out.array.format("gradients");
  out.memory = memory_of(out.array, x);
  if (out.memory.data() == nullptr) {
    throw Error(
        "gradients: an array that is not writable, or not in C order; it is changed in place");
  }
  if (out.format == binary32 || !fits_in(out.format, binary32)) return out;
  out.copy.resize(std::max<std::size_t>(out.array.elements(), 1));  // empty: PyTorch's None
  decode_elements(out.format, out.array.bytes(), ResultKind::f32,
                  std::as_writable_bytes(std::span(out.copy).first(out.array.elements())));
  return out;
}

struct GradientsInPlace {
  std::vector<GradientInPlace> gradients;
  OptimizerView view;

  void write_back() const {
    for (const GradientInPlace& one : gradients) one.write_back();
  }
};

void gradients_in_place(nb::handle x, nb::handle optimizer, GradientsInPlace& out) {
  const Py_hash_t id = PyObject_Hash(optimizer.ptr());
  if (id == -1) throw nb::python_error();
  out.view.id = static_cast<std::uint64_t>(id);
  if (x.is_none()) return;
  std::vector<std::size_t> places;  // of the gradients that there are
  const auto add = [&](nb::handle one) {
    out.view.gradients.push_back({binary32, {}});
    if (one.is_none()) return;
    places.push_back(out.view.gradients.size() - 1);
    out.gradients.push_back(gradient_in_place(one));
  };
  if (is_list(x)) {
    for (const nb::handle one : nb::borrow(x)) add(one);
  } else {
    add(x);
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    out.view.gradients[places[i]] = out.gradients[i].view();
  }
}

GradScaler made_grad_scaler(std::string_view policy, const nb::dict& parameters, bool enabled) {
  LossScalePolicy row = loss_scale_policy(policy);
  const ScalerParameters given = given_parameters(policy, parameters);
  if (policy == "torch") {  // its own checks, in its own words
    for (const PolicyParameter& parameter : policy_parameters()) {
      const auto value = given.find(parameter.name);
      if (value != given.end()) parameter.set(row, value->second);
    }
    row.backoff_divides = false;
  } else {
    row = with_parameters(row, given);
  }
  return {row, {.enabled = enabled}};
}

struct GradScalerObject {
  std::string policy;
  nb::object parameters;
  GradScaler scaler;
};

nb::object scaled(GradScalerObject& self, nb::handle x) {
  if (PyFloat_Check(x.ptr()) || PyLong_Check(x.ptr())) {
    return nb::float_(
        static_cast<double>(self.scaler.scale_loss(static_cast<float>(nb::cast<double>(x)))));
  }
  if (is_list(x)) {
    nb::list out;
    for (const nb::handle one : nb::borrow(x)) out.append(scaled(self, one));
    return nb::object(std::move(out));
  }
  const Array in = array_of(x);
  if (in.format("outputs") != binary32) {
    throw Error("outputs: an array of " + std::string(in.view.dtype.name) +
                "; losses are scaled in float32");
  }
  const NewArray out = new_array(in.view.dtype, in.view.shape);
  std::ranges::copy(in.bytes(), out.bytes.begin());
  self.scaler.scale({reinterpret_cast<float*>(out.bytes.data()), in.elements()});
  return delivered(out, in.view.dtype, in);
}

nb::object grad_state(const GradScalerObject& self) {
  return with_numbers(self.scaler.state_dict());
}

}  // namespace

void add_grad_scaler(nb::module_& m) {
  nb::class_<GradScalerObject> scaler(
      m, "GradScaler",
      R"(torch.amp.GradScaler to the letter, over any policy of loss_scalers().

    Where PyTorch's takes an optimizer, this one takes its gradients, arrays that it changes in place, and `optimizer`, any
    hashable name that tells several apart. Errors are ValueError with PyTorch's texts. Parameters: init_scale,
    growth_factor, backoff_factor, growth_interval; of other policies those that they have.

    >>> import numpy as np
    >>> scaler, weights = GradScaler(init_scale=8.0), np.ones(2, np.float32)
    >>> gradient = np.array([4, 2], np.float32) * np.float32(scaler.scale(1.0))
    >>> scaler.unscale_([gradient]); gradient.tolist()
    [4.0, 2.0]
    >>> scaler.step(lambda: None), scaler.update(), scaler.get_scale()
    (True, None, 8.0)
)");
  scaler.def(
      "__init__",
      [](GradScalerObject* self, bool enabled, const std::string& policy, const nb::kwargs& given) {
        new (self) GradScalerObject{policy, given, made_grad_scaler(policy, given, enabled)};
      },
      nb::kw_only(), "enabled"_a = true, "policy"_a = "torch", "parameters"_a);
  scaler.def_ro("policy", &GradScalerObject::policy);
  scaler.def("scale", &scaled, "outputs"_a,
             "A loss, a float32 array or a list of them, times the scale in binary32.");
  scaler.def(
      "unscale_",
      [](GradScalerObject& self, nb::handle gradients, nb::handle optimizer) {
        GradientsInPlace all;
        gradients_in_place(gradients, optimizer, all);
        self.scaler.unscale_(all.view);
        all.write_back();
      },
      "gradients"_a, nb::kw_only(), "optimizer"_a = 0,
      R"(Divides the gradients by the scale, in place, and records whether one was infinite or NaN before.

    gradients: an array or a list of arrays of float32 or bfloat16, None for a parameter without one; float16 is refused.
)");
  scaler.def(
      "step",
      [](GradScalerObject& self, nb::handle step, nb::handle gradients, nb::handle optimizer) {
        GradientsInPlace all;
        gradients_in_place(gradients, optimizer, all);
        all.view.step = [&] {
          all.write_back();
          if (!step.is_none()) nb::borrow(step)();
        };
        const bool stepped = self.scaler.step(all.view);
        if (!stepped) all.write_back();
        return stepped;
      },
      "step"_a = nb::none(), "gradients"_a = nb::none(), nb::kw_only(), "optimizer"_a = 0,
      R"(Calls `step`, the optimizer's, unless a gradient was infinite or NaN; True where it was (to be) called.

    gradients: as for unscale_, which is done first where it was not called.
)");
  scaler.def(
      "update",
      [](GradScalerObject& self, std::optional<float> new_scale) { self.scaler.update(new_scale); },
      "new_scale"_a = nb::none(), "Ends the iteration: the policy's next scale, or the given one.");
  scaler.def("get_scale", [](const GradScalerObject& self) { return self.scaler.get_scale(); });
  scaler.def("is_enabled", [](const GradScalerObject& self) { return self.scaler.is_enabled(); });
  scaler.def("get_growth_tracker",
             [](const GradScalerObject& self) { return self.scaler.get_growth_tracker(); });
  scaler.def("get_growth_factor",
             [](const GradScalerObject& self) { return self.scaler.get_growth_factor(); });
  scaler.def("get_backoff_factor",
             [](const GradScalerObject& self) { return self.scaler.get_backoff_factor(); });
  scaler.def("get_growth_interval",
             [](const GradScalerObject& self) { return self.scaler.get_growth_interval(); });
  scaler.def(
      "set_growth_factor",
      [](GradScalerObject& self, double x) { self.scaler.set_growth_factor(x); }, "new_factor"_a);
  scaler.def(
      "set_backoff_factor",
      [](GradScalerObject& self, double x) { self.scaler.set_backoff_factor(x); }, "new_factor"_a);
  scaler.def(
      "set_growth_interval",
      [](GradScalerObject& self, std::int64_t x) { self.scaler.set_growth_interval(x); },
      "new_interval"_a);
  scaler.def(
      "found_inf",
      [](const GradScalerObject& self, nb::handle optimizer) {
        return self.scaler.found_inf(static_cast<std::uint64_t>(nb::hash(optimizer)));
      },
      nb::kw_only(), "optimizer"_a = 0,
      "Whether this iteration's gradients held an infinity or a NaN; None before they were "
      "unscaled.");
  scaler.def_prop_ro(
      "first_found_inf",
      [](const GradScalerObject& self) -> nb::object {
        const std::optional<FoundInf>& first = self.scaler.first_found_inf();
        if (!first) return nb::none();
        return nb::make_tuple(first->gradient, first->element, first->value);
      },
      "Who made a step be skipped: (gradient's index, element's, its scaled value), or None.");
  scaler.def(
      "state_dict", &grad_state,
      "PyTorch's: scale, growth_factor, backoff_factor, growth_interval, _growth_tracker; {} where "
      "disabled. Other policies add policy and state.");
  scaler.def(
      "load_state_dict",
      [](GradScalerObject& self, nb::dict state) {
        self.scaler.load_state_dict(nlohmann::json(json_of_python(state)));
      },
      "state_dict"_a, "Takes PyTorch's, too; ValueError for what is none.");
  scaler.def("__getstate__", [](const GradScalerObject& self) {
    if (!self.scaler.is_between_iterations()) {
      throw Error(
          "A GradScaler instance may only be pickled at the beginning of an iteration, or at the "
          "end after scaler.update().");
    }
    return nb::make_tuple(self.policy, self.parameters, self.scaler.is_enabled(), grad_state(self));
  });
  scaler.def("__setstate__", [](GradScalerObject& self,
                                const std::tuple<std::string, nb::dict, bool, nb::dict>& state) {
    const auto& [policy, parameters, enabled, remembered] = state;
    GradScaler made = made_grad_scaler(policy, parameters, enabled);
    made.load_state_dict(nlohmann::json(json_of_python(remembered)));
    new (&self) GradScalerObject{policy, parameters, std::move(made)};
  });
  scaler.def("__repr__", [](const GradScalerObject& self) {
    const std::string enabled = self.scaler.is_enabled() ? "" : ", enabled=False";
    return "GradScaler(policy='" + self.policy + "'" + enabled + "), scale " +
           nb::cast<std::string>(nb::repr(nb::float_(self.scaler.get_scale())));
  });
}

}  // namespace binade::python

// SPDX-License-Identifier: Apache-2.0
//
// The class binade.GradScaler: PyTorch's GradScaler with any policy, on arrays of gradients that are changed in place.
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

#include "lib/amp/loss_scaler.h"
#include "lib/amp/scaler_json.h"
#include "lib/amp/scaler_options.h"
#include "lib/python/arguments.h"
#include "lib/python/arrays.h"
#include "lib/python/documents.h"
#include "lib/python/keywords.h"
#include "lib/python/module.h"
#include "lib/python/scalers.h"
#include "lib/range/quantize_stream.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade::python {
namespace {

using namespace nanobind::literals;
using Json = nlohmann::ordered_json;

/// A gradient that is changed in place: the caller's memory, or binary32 values that go back into it.
struct GradientInPlace {
  Array array;
  Format format = binary32;
  std::span<std::byte> memory;  ///< the caller's, or of a copy in C order
  nb::object
      target;  ///< the caller's, whose values come from the copy in the end; None: there is no copy
  std::vector<float> copy;

  GradientView view() {
    if (format == binary32) {
      return {format, {reinterpret_cast<float*>(memory.data()), array.elements()}};
    }
    return {format, copy};
  }
  void write_back(nb::handle given) const {
    if (format != binary32) {
      const Quantizer exactly{.format = format, .attributes = {.nan = NanResult::propagate}};
      const Released released;
      quantize_elements(exactly, binary32, ResultKind::encodings,
                        std::as_bytes(std::span(copy).first(array.elements())), 0, memory);
    }
    if (target.is_none()) return tell_written(given);
    python_call("_foreign", "put", target, array.owner,
                nb::str(array.view.dtype.name.data(), array.view.dtype.name.size()));
  }
};

/// ValueError for what may not be written, and for dtypes that are not unscaled.
GradientInPlace gradient_in_place(nb::handle x) {
  GradientInPlace out{.array = array_of(x), .memory = {}, .target = nb::none(), .copy = {}};
  out.format = out.array.format("gradients");
  const bool is_fp16 = out.format == binary16;  // refused in PyTorch's words, by the scaler
  if (out.format != binary32 && out.format != bfloat16 && !is_fp16) {
    throw Error("gradients: an array of " + std::string(out.array.view.dtype.name) +
                "; give float32 or bfloat16");
  }
  WritableMemory memory = memory_of(out.array, x);
  if (!memory.why_none.empty()) {
    if (!nb::cast<bool>(python_call("_foreign", "can_put", nb::borrow(x)))) {
      throw Error("gradients: " + memory.why_none + "; it is changed in place");
    }
    out.target = nb::borrow(x);
    memory = memory_of(out.array, out.array.owner);
  }
  out.memory = memory.bytes;
  if (out.format == binary32) return out;
  out.copy.resize(std::max<std::size_t>(out.array.elements(), 1));  // empty: PyTorch's None
  const Released released;
  decode_elements(out.format, out.array.bytes(), ResultKind::f32,
                  std::as_writable_bytes(std::span(out.copy).first(out.array.elements())));
  return out;
}

struct GradientsInPlace {
  std::vector<GradientInPlace> gradients;
  std::vector<nb::object> given;
  OptimizerView view;

  void write_back() const {
    for (std::size_t i = 0; i < given.size(); ++i) gradients[i].write_back(given[i]);
  }
};

/// Error for gradients that share memory: what is shared would be divided once for each of them. Of arrays in another order
/// than C's only the same object is found.
void check_apart(const GradientsInPlace& all) {
  constexpr const char* shared =
      "gradients: two of the arrays share memory; give each of them once";
  std::vector<std::span<const std::byte>> places;
  for (const GradientInPlace& one : all.gradients) {
    if (!one.memory.empty()) places.emplace_back(one.memory);
  }
  std::vector<PyObject*> objects;
  for (const nb::object& one : all.given) objects.push_back(one.ptr());
  std::ranges::sort(objects);
  if (std::ranges::adjacent_find(objects) != objects.end()) throw Error(shared);
  const auto begin_of = [](std::span<const std::byte> place) { return place.data(); };
  std::ranges::sort(places, std::less<>(), begin_of);
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i - 1].data() + places[i - 1].size() > places[i].data()) {
      throw Error(shared);
    }
  }
}

void gradients_in_place(nb::handle x, GradientsInPlace& out) {
  if (x.is_none()) return;
  std::vector<std::size_t> places;  // of the gradients that there are
  const auto add = [&](nb::handle one) {
    out.view.gradients.push_back({binary32, {}});
    if (one.is_none()) return;
    places.push_back(out.view.gradients.size() - 1);
    out.gradients.push_back(gradient_in_place(one));
    out.given.push_back(nb::borrow(one));
  };
  if (is_list(x)) {
    for (const nb::handle one : nb::borrow(x)) add(one);
  } else {
    add(x);
  }
  check_apart(out);
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

constexpr const char* grad_scaler_name = "GradScaler";

/// What Python holds. Its methods change the scaler without the interpreter's lock; another thread that comes meanwhile is
/// refused.
struct GradScalerObject {
  std::string policy;
  nb::object parameters;
  GradScaler scaler;
  nb::dict optimizers = {};  ///< numbers of those that were named in this iteration
  Occupied occupied = {};

  GradScaler& idle() {
    occupied.check(grad_scaler_name);
    return scaler;
  }
  const GradScaler& idle() const { return const_cast<GradScalerObject&>(*this).idle(); }
  /// TypeError for what has no hash.
  std::optional<std::uint64_t> known_optimizer(nb::handle name) const {
    if (!optimizers.contains(name)) return std::nullopt;
    return nb::cast<std::uint64_t>(optimizers[name]);
  }
  std::uint64_t optimizer(nb::handle name) {
    if (const auto known = known_optimizer(name)) return *known;
    const std::uint64_t out = optimizers.size();
    optimizers[name] = out;
    return out;
  }
};

// Names of optimizers may hold the scaler: the collector of cycles sees them.
int visit_grad_scaler(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const auto* const scaler = nb::inst_ptr<GradScalerObject>(self);
  Py_VISIT(scaler->parameters.ptr());
  Py_VISIT(scaler->optimizers.ptr());
  return 0;
}
int clear_grad_scaler(PyObject* self) {
  if (!nb::inst_ready(self)) return 0;
  auto* const scaler = nb::inst_ptr<GradScalerObject>(self);
  scaler->parameters = nb::none();
  scaler->optimizers = nb::dict();
  return 0;
}
PyType_Slot grad_scaler_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&visit_grad_scaler)},
                                   {Py_tp_clear, reinterpret_cast<void*>(&clear_grad_scaler)},
                                   {0, nullptr}};

nb::object scaled(GradScalerObject& self, nb::handle x) {
  if (!self.idle().is_enabled()) return nb::borrow(x);
  if (PyFloat_Check(x.ptr()) || PyLong_Check(x.ptr())) {
    return nb::float_(
        static_cast<double>(self.scaler.scale_loss(static_cast<float>(number_of("outputs", x)))));
  }
  if (is_list(x)) {
    const Deeper deeper;
    nb::list out;
    for (const nb::handle one : nb::borrow(x)) out.append(scaled(self, one));
    return PyTuple_Check(x.ptr()) ? nb::object(nb::tuple(out)) : nb::object(std::move(out));
  }
  if (nb::cast<bool>(python_call("_foreign", "is_tensor", x))) {  // autograd sees it
    self.scaler.scale({});
    return python_call("_foreign", "scaled_tensor", x, self.scaler.get_scale());
  }
  const Array in = array_of(x);
  if (in.format("outputs") != binary32) {
    throw Error("outputs: an array of " + std::string(in.view.dtype.name) +
                "; losses are scaled in float32");
  }
  const NewArray out = new_array(in.view.dtype, in.view.shape);
  {
    const Inside inside(self.occupied, grad_scaler_name);
    const Released released;
    std::ranges::copy(in.bytes(), out.bytes.begin());
    self.scaler.scale({reinterpret_cast<float*>(out.bytes.data()), in.elements()});
  }
  return delivered(out, in.view.dtype, in);
}

nb::object grad_state(const GradScalerObject& self) {
  return with_numbers(grad_scaler_json(self.idle()));
}

}  // namespace

void add_grad_scaler(nb::module_& m) {
  nb::class_<GradScalerObject> scaler(
      m, "GradScaler", nb::type_slots(grad_scaler_slots),
      R"(A scaler of losses and gradients that behaves exactly as torch.amp.GradScaler, with any policy.

    policy: a name of loss_scalers() that does not look at gradients. enabled: if False, all methods do nothing, as PyTorch's.
    parameters: those of the policy, by keyword: init_scale, growth_factor, backoff_factor and growth_interval of "torch".

    In the place of an optimizer this class takes its gradients, arrays that it changes in place, and `optimizer`, any hashable
    name, which is needed only if there are several. Raises ValueError, with PyTorch's texts, where PyTorch raises.

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
      [](GradScalerObject* self, Truth enabled, const std::string& policy,
         const nb::kwargs& given) {
        new (self) GradScalerObject{.policy = policy,
                                    .parameters = given,
                                    .scaler = made_grad_scaler(policy, given, enabled)};
      },
      nb::kw_only(), "enabled"_a = true, "policy"_a = "torch", "parameters"_a);
  scaler.def_ro("policy", &GradScalerObject::policy, "The policy, as it was named.");
  scaler.def("scale", &scaled, "outputs"_a,
             "Returns a loss, or a list of losses, times the scale.\n\n"
             "    outputs: numbers and float32 arrays, which are multiplied in binary32, or "
             "tensors of torch, "
             "which torch multiplies\n    in their graph.\n");
  scaler.def(
      "unscale_",
      [](GradScalerObject& self, nb::handle gradients, nb::handle optimizer) {
        const Inside inside(self.occupied, grad_scaler_name);
        if (!self.scaler.is_enabled()) return;
        GradientsInPlace all;
        gradients_in_place(gradients, all);
        all.view.id = self.optimizer(optimizer);
        {
          const Released released;
          self.scaler.unscale_(all.view);
        }
        all.write_back();
      },
      "gradients"_a, nb::kw_only(), "optimizer"_a = 0,
      R"(Divides the gradients by the scale, in place, and records whether one of them held an infinity or a NaN.

    gradients: an array or a list of arrays of float32 or bfloat16, in any order of memory; None for a parameter without a
    gradient. Raises ValueError for other arrays, and if it was called before for this optimizer and iteration.
)");
  scaler.def(
      "step",
      [](GradScalerObject& self, nb::handle step, nb::handle gradients, nb::handle optimizer) {
        Inside inside(self.occupied, grad_scaler_name);
        GradientsInPlace all;
        if (self.scaler.is_enabled()) gradients_in_place(gradients, all);
        all.view.id = self.optimizer(optimizer);
        all.view.step = [&] {
          const Acquired acquired;
          inside.leave();  // what is called may ask it
          all.write_back();
          if (!step.is_none()) called_back(step);
          inside.come_back();
        };
        bool stepped = false;
        {
          const Released released;
          stepped = self.scaler.step(all.view);
        }
        if (!stepped) all.write_back();
        return stepped;
      },
      "step"_a = nb::none(), "gradients"_a = nb::none(), nb::kw_only(), "optimizer"_a = 0,
      R"(Calls the function `step`, the optimizer's, unless a gradient held an infinity or a NaN.

    step: a function without arguments, or None. gradients: as for unscale_(), which is done first unless it was called in this
    iteration. Returns True if step was called, or was to be called if it is None.
)");
  scaler.def(
      "update",
      [](GradScalerObject& self, std::optional<double> new_scale) {
        if (new_scale && std::isfinite(*new_scale) && std::fabs(*new_scale) >= 0x1.ffffffp127) {
          throw Error("new_scale: beyond float32's range");
        }
        self.idle().update(new_scale);
        self.optimizers = nb::dict();  // PyTorch forgets them, too
      },
      "new_scale"_a = nb::none(),
      "Ends the iteration: sets the scale that the policy gives next, or new_scale.");
  scaler.def(
      "get_scale", [](const GradScalerObject& self) { return self.idle().get_scale(); },
      "Returns the scale; 1.0 if the scaler is disabled.");
  scaler.def(
      "is_enabled", [](const GradScalerObject& self) { return self.idle().is_enabled(); },
      "Whether the scaler is enabled.");
  scaler.def(
      "get_growth_tracker",
      [](const GradScalerObject& self) { return self.idle().get_growth_tracker(); },
      "Returns how many steps in a row had no infinity or NaN since the scale changed.");
  scaler.def(
      "get_growth_factor",
      [](const GradScalerObject& self) { return self.idle().get_growth_factor(); },
      "Returns the factor by which the scale grows.");
  scaler.def(
      "get_backoff_factor",
      [](const GradScalerObject& self) { return self.idle().get_backoff_factor(); },
      "Returns the factor, below 1, by which an infinity or a NaN multiplies the scale.");
  scaler.def(
      "get_growth_interval",
      [](const GradScalerObject& self) { return self.idle().get_growth_interval(); },
      "Returns after how many steps without an infinity or a NaN the scale grows.");
  scaler.def(
      "set_growth_factor",
      [](GradScalerObject& self, double x) { self.idle().set_growth_factor(x); }, "new_factor"_a,
      "Sets the factor by which the scale grows.");
  scaler.def(
      "set_backoff_factor",
      [](GradScalerObject& self, double x) { self.idle().set_backoff_factor(x); }, "new_factor"_a,
      "Sets the factor by which an infinity or a NaN multiplies the scale.");
  scaler.def(
      "set_growth_interval",
      [](GradScalerObject& self, Whole<std::int64_t> x) { self.idle().set_growth_interval(x); },
      "new_interval"_a, "Sets after how many steps without an infinity or a NaN the scale grows.");
  scaler.def(
      "found_inf",
      [](const GradScalerObject& self, nb::handle optimizer) {
        const auto known = self.known_optimizer(optimizer);
        return known ? self.idle().found_inf(*known) : std::nullopt;
      },
      nb::kw_only(), "optimizer"_a = 0,
      "Whether this iteration's gradients held an infinity or a NaN; None if they were not "
      "unscaled "
      "yet.");
  scaler.def_prop_ro(
      "first_found_inf",
      [](const GradScalerObject& self) -> nb::object {
        const std::optional<FoundInf>& first = self.idle().first_found_inf();
        if (!first) return nb::none();
        return nb::make_tuple(first->gradient, first->element, first->value);
      },
      "The first infinity or NaN that made a step be skipped, (index of the gradient, index of the "
      "element, its scaled value), or None.");
  scaler.def(
      "state_dict", &grad_state,
      "Returns the state as PyTorch's: scale, growth_factor, backoff_factor, growth_interval and "
      "_growth_tracker; {} if the scaler is disabled. Other policies add policy and state.");
  scaler.def(
      "load_state_dict",
      [](GradScalerObject& self, const nb::dict& state) {
        load_grad_scaler_json(self.idle(), nlohmann::json(json_of_python(state)));
      },
      "state_dict"_a,
      "Sets the state that state_dict() returned, or PyTorch's. Raises ValueError for anything "
      "else.");
  scaler.def("__getstate__", [](const GradScalerObject& self) {
    if (!self.idle().is_between_iterations()) {
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
    load_grad_scaler_json(made, nlohmann::json(json_of_python(remembered)));
    new (&self)
        GradScalerObject{.policy = policy, .parameters = parameters, .scaler = std::move(made)};
  });
  scaler.def("__repr__", [](const GradScalerObject& self) {
    const std::string enabled = self.scaler.is_enabled() ? "" : ", enabled=False";
    return "GradScaler(policy='" + self.policy + "'" + enabled + "), scale " +
           nb::cast<std::string>(nb::repr(nb::float_(self.idle().get_scale())));
  });
}

}  // namespace binade::python

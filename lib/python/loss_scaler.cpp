// SPDX-License-Identifier: Apache-2.0
//
// The class binade.LossScaler, with every policy of lib/amp, and the function loss_scalers().
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
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
#include "lib/amp/step_statistics.h"
#include "lib/python/arguments.h"
#include "lib/python/arrays.h"
#include "lib/python/documents.h"
#include "lib/python/keywords.h"
#include "lib/python/module.h"
#include "lib/range/quantize_stream.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade::python {
namespace {

using namespace nanobind::literals;
using Json = nlohmann::ordered_json;

// Gradients

/// Values of an array of a dtype that binary32 holds: the caller's memory, or a copy.
struct FloatValues {
  Array array;
  std::vector<float> copy;

  std::span<const float> values() const {
    if (!copy.empty()) return copy;
    return {reinterpret_cast<const float*>(array.view.data), array.elements()};
  }
};

FloatValues float_values(nb::handle x, std::string_view what) {
  FloatValues out{.array = array_of(x), .copy = {}};
  const Format format = out.array.format(what);
  if (format == binary32) return out;
  if (!fits_in(format, binary32)) {
    throw Error(std::string(what) + ": an array of " + std::string(out.array.view.dtype.name) +
                ", which binary32 does not hold");
  }
  out.copy.resize(out.array.elements());
  const Released released;
  decode_elements(format, out.array.bytes(), ResultKind::f32,
                  std::as_writable_bytes(std::span(out.copy)));
  return out;
}

/// Of an array or a list of arrays; None is a parameter without a gradient.
std::vector<FloatValues> gradients_of(nb::handle x) {
  std::vector<FloatValues> out;
  if (!is_list(x)) {
    out.push_back(float_values(x, "gradients"));
    return out;
  }
  for (const nb::handle one : nb::borrow(x)) {
    if (!one.is_none()) out.push_back(float_values(one, "gradients"));
  }
  return out;
}

StepStatistics look_at(const std::vector<FloatValues>& gradients) {
  std::vector<std::span<const float>> spans;
  for (const FloatValues& one : gradients) spans.push_back(one.values());
  const Released released;
  return statistics_of(spans);
}

// Scalers

using AnyScaler = std::variant<LossScaler, LogMaxScaler, HistogramScaler, AdaptiveLayerScaler>;

/// Those that look at gradients, beside loss_scale_policies().
struct LookingScaler {
  std::string_view name, source;
  AnyScaler (*make)(const ScalerParameters& parameters);
  std::vector<std::pair<ScalerParameter, double>> (*parameters)();
};

template <class Options>
std::vector<std::pair<ScalerParameter, double>> with_defaults(
    std::span<const OptionParameter<Options>> table) {
  std::vector<std::pair<ScalerParameter, double>> out;
  for (const auto& row : table) out.emplace_back(row, row.get(Options{}));
  return out;
}

const std::array looking_scalers{
    LookingScaler{
        "log_max", "open_seq2seq/optimizers/automatic_loss_scaler.py (LogMaxScaler)",
        [](const ScalerParameters& p) -> AnyScaler { return LogMaxScaler(log_max_options(p)); },
        [] { return with_defaults(log_max_parameters()); }},
    LookingScaler{"histogram", "PopART's automatic loss scaling (LossScaleUpdateOp)",
                  [](const ScalerParameters& p) -> AnyScaler {
                    return HistogramScaler(histogram_options(p));
                  },
                  [] { return with_defaults(histogram_parameters()); }},
    LookingScaler{"adaptive", "ada_loss/core.py, method approx_range (arXiv 1910.12385)",
                  [](const ScalerParameters& p) -> AnyScaler {
                    return AdaptiveLayerScaler(adaptive_options(p));
                  },
                  [] { return with_defaults(adaptive_parameters()); }},
};

const LookingScaler* looking(std::string_view name) {
  const auto* const found = std::ranges::find(looking_scalers, name, &LookingScaler::name);
  return found == looking_scalers.end() ? nullptr : found;
}

/// What it takes, with the values it has where they are not given; none: it has no such end.
std::vector<std::pair<ScalerParameter, std::optional<double>>> parameters_of(
    std::string_view name) {
  std::vector<std::pair<ScalerParameter, std::optional<double>>> out;
  if (const LookingScaler* const row = looking(name)) {
    for (const auto& [parameter, value] : row->parameters()) out.emplace_back(parameter, value);
    return out;
  }
  const LossScalePolicy policy = loss_scale_policy(name);
  if (name.starts_with("static:")) return out;
  const std::vector<std::string_view> taken = binade::parameters_of(policy);
  for (const PolicyParameter& row : policy_parameters()) {
    if (std::ranges::find(taken, row.name) != taken.end()) out.emplace_back(row, row.get(policy));
  }
  return out;
}

nb::object value_object(const ScalerParameter& parameter, std::optional<double> value) {
  if (!value) return nb::none();
  if (parameter.kind == ParameterKind::truth) return nb::bool_(*value != 0);
  if (parameter.kind == ParameterKind::whole) return nb::int_(static_cast<std::int64_t>(*value));
  return nb::float_(*value);
}

/// The value of one that was given: a number, a whole one, or True and False.
double value_of(const ScalerParameter& parameter, nb::handle given) {
  const std::string name(parameter.name);
  const Json value = json_of_python(given);
  if (parameter.kind == ParameterKind::truth) {
    if (!value.is_boolean()) throw nb::type_error((name + ": True or False").c_str());
    return value.get<bool>() ? 1 : 0;
  }
  if (!value.is_number()) throw nb::type_error((name + ": a number").c_str());
  const auto number = value.get<double>();
  if (parameter.kind == ParameterKind::whole && number != std::floor(number)) {
    throw Error(name + ": a whole number");
  }
  if (parameter.kind == ParameterKind::whole && !(std::fabs(number) < 0x1p53)) {
    throw Error(name + ": a whole number below 2^53");
  }
  return number;
}

ScalerParameters given_parameters(std::string_view policy, const nb::dict& given) {
  const auto known = parameters_of(policy);
  ScalerParameters out;
  const auto own =
      nb::steal<nb::dict>(PyDict_Copy(given.ptr()));  // of the caller: numbers may change it
  for (auto [key, value] : own) {
    const std::string name = utf8_of(key);
    const auto row =
        std::ranges::find_if(known, [&](const auto& p) { return p.first.name == name; });
    if (row == known.end()) {
      std::vector<std::string_view> names;
      for (const auto& [parameter, unused] : known) names.push_back(parameter.name);
      throw Error("loss scaler " + printable(policy) + " has no parameter " + printable(name) +
                  (names.empty() ? "; it has none"
                                 : did_you_mean(name, names) + "; there are " + listed(names)));
    }
    out[name] = value_of(row->first, value);
  }
  return out;
}

struct ScalerObject {
  std::string policy;
  nb::object parameters;  ///< a dict, as given
  AnyScaler scaler;
  Occupied occupied = {};

  AnyScaler& idle() {
    occupied.check("LossScaler");
    return scaler;
  }
  const AnyScaler& idle() const { return const_cast<ScalerObject&>(*this).idle(); }
};

AnyScaler scaler_for(std::string_view policy, const ScalerParameters& parameters) {
  if (const LookingScaler* const row = looking(policy)) return row->make(parameters);
  return LossScaler(with_parameters(loss_scale_policy(policy), parameters));
}

/// Error for a policy that there is not, with all that there are.
void check_policy(const std::string& policy) {
  if (looking(policy) != nullptr || policy.starts_with("static:")) return;
  std::vector<std::string_view> names;
  for (const LossScalePolicy& row : loss_scale_policies()) names.push_back(row.name);
  for (const LookingScaler& row : looking_scalers) names.push_back(row.name);
  if (std::ranges::find(names, policy) != names.end()) return;
  throw Error("loss scaler " + printable(policy) + ": there is none" + did_you_mean(policy, names) +
              "; there are " + listed(names));
}

ScalerObject made_scaler(const std::string& policy, const nb::dict& parameters) {
  check_policy(policy);
  return {policy, parameters, scaler_for(policy, given_parameters(policy, parameters))};
}

double scale_of(const ScalerObject& self) {
  return std::visit(
      [](const auto& scaler) -> double {
        if constexpr (requires { scaler.scale(); }) {
          return static_cast<double>(scaler.scale());
        } else {
          return scaler.options().init_scale;
        }
      },
      self.idle());
}

/// A truth value, or none of gradients: bool, 0 or 1 of any kind of integer, or an array of one of
/// these without axes.
std::optional<bool> truth_in(nb::handle x) {
  if (is_list(x) || is_path(x)) return std::nullopt;
  if (is_truth_value(x)) return PyObject_IsTrue(x.ptr()) == 1;
  const bool has_axes = nb::hasattr(x, "ndim") && !nb::object(x.attr("ndim")).equal(nb::int_(0));
  if (has_axes) return std::nullopt;
  if (Whole<int> whole; nb::try_cast(x, whole) && (whole == 0 || whole == 1)) return whole == 1;
  if (!nb::hasattr(x, "ndim") && !PyFloat_Check(x.ptr()) && !PyIndex_Check(x.ptr()))
    return std::nullopt;
  const nb::object item = nb::hasattr(x, "item") ? nb::object(x.attr("item")()) : nb::borrow(x);
  if (PyBool_Check(item.ptr())) return item.ptr() == Py_True;
  throw nb::type_error(
      "update: a number is neither a truth value nor gradients; give True or False, or a list of "
      "arrays");
}

bool update_scaler(ScalerObject& self, nb::handle seen) {
  const std::optional<bool> truth = truth_in(seen);
  if (auto* const scaler = std::get_if<LossScaler>(&self.idle())) {
    const bool found_inf = truth ? *truth : look_at(gradients_of(seen)).found_inf;
    return scaler->update(found_inf);
  }
  if (truth) {
    throw nb::type_error(
        ("update: " + self.policy + " looks at gradients; give an array or a list of arrays")
            .c_str());
  }
  const std::vector<FloatValues> gradients = gradients_of(seen);
  if (auto* const scaler = std::get_if<HistogramScaler>(&self.scaler)) {
    const Inside inside(self.occupied, "LossScaler");
    const Released released;
    for (const FloatValues& one : gradients) scaler->count(one.values());
    scaler->update();
    return true;
  }
  const StepStatistics statistics = look_at(gradients);
  self.occupied.check("LossScaler");
  if (auto* const scaler = std::get_if<LogMaxScaler>(&self.scaler)) {
    const auto inverse = static_cast<float>(1 / scale_of(self));
    return scaler->update(statistics.found_inf, statistics.amax * inverse);
  }
  return !statistics.found_inf;
}

AdaptiveLayerScaler& layers_of(ScalerObject& self) {
  auto* const scaler = std::get_if<AdaptiveLayerScaler>(&self.idle());
  if (scaler != nullptr) return *scaler;
  throw Error("loss scaler " + self.policy + ": has one scale for all layers; adaptive has many");
}

// What they remember, as dict

constexpr std::tuple log_max_fields{std::pair{"scale", &LogMaxState::scale},
                                    std::pair{"mean", &LogMaxState::mean},
                                    std::pair{"slow_mean", &LogMaxState::slow_mean},
                                    std::pair{"second_moment", &LogMaxState::second_moment},
                                    std::pair{"beta1_power", &LogMaxState::beta1_power},
                                    std::pair{"beta2_power", &LogMaxState::beta2_power}};
constexpr std::tuple histogram_fields{
    std::pair{"scale", &HistogramState::scale}, std::pair{"below", &HistogramState::below},
    std::pair{"above", &HistogramState::above}, std::pair{"steps", &HistogramState::steps}};

template <class Fields, class Use>
void each_field(const Fields& fields, const Use& use) {
  std::apply([&](const auto&... field) { (use(field.first, field.second), ...); }, fields);
}

/// The value of a key of a state. Error for a key that is missing and for what is no number.
template <class T>
T number_in(const nb::dict& state, const char* key) {
  [[maybe_unused]] T out{};
  if constexpr (std::integral<T>) {
    if (Whole<T> whole; state.contains(key) && nb::try_cast(state[key], whole) && whole >= 0) {
      return whole;
    }
  } else if (state.contains(key) && !is_truth_value(state[key]) &&
             nb::try_cast<T>(state[key], out)) {
    return out;
  }
  throw Error(std::string("loss scaler state: ") + key +
              " is missing or no number; give what state_dict() gave");
}

nb::object with_numbers(const Json& state) {
  nb::object out = python_of(state);
  for (const char* key : {"scale", "next_scale"}) {
    if (!state.contains(key)) continue;
    if (const auto scale = binade::scale_of(nlohmann::json(state[key]))) out[key] = *scale;
  }
  return out;
}

nb::dict state_dict(const ScalerObject& self) {
  nb::dict out;
  out["policy"] = self.policy;
  if (const auto* const scaler = std::get_if<LossScaler>(&self.idle())) {
    out.update(nb::borrow<nb::dict>(with_numbers(loss_scaler_json(scaler->state()))));
  } else if (const auto* const log_max = std::get_if<LogMaxScaler>(&self.scaler)) {
    each_field(log_max_fields,
               [&](const char* key, auto field) { out[key] = log_max->state().*field; });
  } else if (const auto* const histogram = std::get_if<HistogramScaler>(&self.scaler)) {
    each_field(histogram_fields,
               [&](const char* key, auto field) { out[key] = histogram->state().*field; });
  } else {
    nb::list layers;
    for (const AdaptiveLayer& layer : std::get<AdaptiveLayerScaler>(self.scaler).state()) {
      nb::dict row;
      row["layer"] = layer.last.layer;
      row["scale"] = layer.last.scale;
      row["product"] = layer.last.product;
      row["passes"] = layer.passes;
      row["wanted"] = layer.wanted;
      layers.append(row);
    }
    out["layers"] = layers;
  }
  return out;
}

void load_state_dict(ScalerObject& self, const nb::dict& state) {
  std::string policy;
  if (!state.contains("policy") || !nb::try_cast<std::string>(state["policy"], policy) ||
      policy != self.policy) {
    throw Error("loss scaler state: it is not of the policy " + self.policy +
                "; load it into a scaler of its own");
  }
  if (auto* const scaler = std::get_if<LossScaler>(&self.idle())) {
    scaler->set_state(loss_scaler_state(nlohmann::json(json_of_python(state))));
  } else if (auto* const log_max = std::get_if<LogMaxScaler>(&self.scaler)) {
    LogMaxState read;
    each_field(log_max_fields, [&](const char* key, auto field) {
      read.*field = static_cast<float>(number_in<double>(state, key));
    });
    log_max->set_state(read);
  } else if (auto* const histogram = std::get_if<HistogramScaler>(&self.scaler)) {
    HistogramState read;
    each_field(histogram_fields, [&]<class T>(const char* key, T HistogramState::*field) {
      read.*field = number_in<T>(state, key);
    });
    histogram->set_state(read);
  } else {
    std::vector<AdaptiveLayer> layers;
    if (!state.contains("layers") || !is_list(state["layers"])) {
      throw Error("loss scaler state: layers is missing; give what state_dict() gave");
    }
    for (const nb::handle one : nb::borrow(state["layers"])) {
      if (!PyDict_Check(one.ptr())) {
        throw Error("loss scaler state: a layer is no dict; give what state_dict() gave");
      }
      const auto row = nb::borrow<nb::dict>(one);
      AdaptiveLayer layer{
          .last = {.layer = "",
                   .scale = static_cast<float>(number_in<double>(row, "scale")),
                   .product = static_cast<float>(number_in<double>(row, "product"))},
          .passes = number_in<std::int64_t>(row, "passes"),
          .wanted = number_in<double>(row, "wanted")};
      if (!row.contains("layer") || !nb::try_cast<std::string>(row["layer"], layer.last.layer)) {
        throw Error("loss scaler state: layer is missing; give what state_dict() gave");
      }
      layers.push_back(std::move(layer));
    }
    std::get<AdaptiveLayerScaler>(self.scaler).set_state(std::move(layers));
  }
}

nb::list scaler_rows() {
  const nb::object row_type = python_function("_training", "LossScalerRow");
  nb::list out;
  const auto add = [&](std::string_view name, std::string_view source, bool looks) {
    nb::dict parameters;
    for (const auto& [parameter, value] : parameters_of(name)) {
      parameters[nb::str(parameter.name.data(), parameter.name.size())] =
          value_object(parameter, value);
    }
    out.append(called_back(
        row_type, nb::make_tuple(nb::str(name.data(), name.size()),
                                 nb::str(source.data(), source.size()), parameters, looks)));
  };
  for (const LossScalePolicy& policy : loss_scale_policies())
    add(policy.name, policy.source, false);
  for (const LookingScaler& row : looking_scalers) add(row.name, row.source, true);
  return out;
}

}  // namespace

void add_loss_scaler(nb::module_& m) {
  nb::class_<ScalerObject> scaler(m, "LossScaler",
                                  R"(A loss scale that is set step by step, as a framework sets it.

    policy: a name of loss_scalers() ("torch", "apex", "deepspeed", "megatron", …), "static:1024", "log_max", "histogram" or
    "adaptive". parameters: those of the policy, by keyword; their defaults are the framework's. Raises ValueError for a policy or
    a parameter that there is not.

    >>> scaler = LossScaler("torch", init_scale=1024, growth_interval=2)
    >>> [(scaler.update(found_inf), scaler.scale) for found_inf in (True, False, False)]
    [(False, 512.0), (True, 512.0), (True, 1024.0)]
)");
  scaler.def(
      "__init__",
      [](ScalerObject* self, const std::string& policy, const nb::kwargs& parameters) {
        new (self) ScalerObject(made_scaler(policy, parameters));
      },
      "policy"_a = "torch", "parameters"_a);
  scaler.def_ro("policy", &ScalerObject::policy, "The policy, as it was named.");
  scaler.def_prop_ro(
      "parameters", [](const ScalerObject& self) { return self.parameters.attr("copy")(); },
      "A new dict of the parameters that were given.");
  scaler.def_prop_ro("scale", &scale_of,
                     "The factor by which the loss of the next step is to be multiplied.");
  scaler.def("update", &update_scaler, "seen"_a,
             R"(Ends a step, and returns True if the optimizer is to step.

    seen: True or False, whether a gradient held an infinity or a NaN; or the scaled gradients themselves, an array or a list of
    arrays of dtypes whose values float32 holds (None for a parameter without a gradient). The policies log_max, histogram and
    adaptive need the arrays. Raises ValueError if the policy gives up, as DeepSpeed's and fairseq's do at their least scale.
)");
  scaler.def(
      "layer_scale",
      [](ScalerObject& self, std::string_view layer, nb::handle gradient, nb::handle weights,
         Whole<std::size_t> terms, float product) {
        const FloatValues of_loss = float_values(gradient, "gradient");
        const FloatValues of_layer = float_values(weights, "weights");
        AdaptiveLayerScaler& layers = layers_of(self);
        const Inside inside(self.occupied, "LossScaler");
        const Released released;
        return layers.next(layer, of_loss.values(), of_layer.values(), terms, product);
      },
      "layer"_a, "gradient"_a, "weights"_a, "terms"_a, "product"_a = 1.0F,
      R"(With the policy adaptive: returns the power of two by which a layer's gradient is multiplied on its way to the input.

    layer: the layer's name. gradient: the gradient of the layer's output, which carries `product` times the scale of the loss.
    weights: the layer's weights. terms: how many products each sum of gradient and weights has. Raises ValueError with other
    policies.
)");
  scaler.def_prop_ro(
      "layer_scales",
      [](ScalerObject& self) {
        nb::list out;
        for (const LayerScale& layer : layers_of(self).scales()) {
          out.append(nb::make_tuple(layer.layer, layer.scale, layer.product));
        }
        return out;
      },
      "With the policy adaptive: a list of (layer, its last scale, product of all scales from the "
      "loss "
      "on), in the order of the backward pass.");
  scaler.def("state_dict", &state_dict, "Returns the state as a dict, for a checkpoint.");
  scaler.def("load_state_dict", &load_state_dict, "state"_a,
             "Sets the state that state_dict() of a scaler of the same policy returned. Raises "
             "ValueError for "
             "any other.");
  scaler.def("__getstate__", [](const ScalerObject& self) {
    return nb::make_tuple(self.policy, self.parameters, state_dict(self));
  });
  scaler.def("__setstate__",
             [](ScalerObject& self, const std::tuple<std::string, nb::dict, nb::dict>& state) {
               const auto& [policy, parameters, remembered] = state;
               ScalerObject made = made_scaler(policy, parameters);
               load_state_dict(made, remembered);
               new (&self) ScalerObject(std::move(made));
             });
  scaler.def(
      "__eq__",
      [](const ScalerObject& self, nb::handle other) {
        const auto* const held_other = held<ScalerObject>(other);
        if (held_other == nullptr) return false;
        const ScalerObject& that = *held_other;
        return self.policy == that.policy && self.parameters.equal(that.parameters) &&
               state_dict(self).equal(state_dict(that));
      },
      "other"_a.none());
  scaler.attr("__hash__") = nb::none();
  scaler.def("__repr__", [](const ScalerObject& self) {
    std::string out = "LossScaler('" + self.policy + "'";
    for (auto [key, value] : nb::borrow<nb::dict>(self.parameters)) {
      out += ", " + nb::cast<std::string>(key) + "=" + nb::cast<std::string>(nb::repr(value));
    }
    return out + "), scale " + nb::cast<std::string>(nb::repr(nb::float_(scale_of(self))));
  });
  m.def(
      "loss_scalers", &scaler_rows,
      R"(Returns all policies of LossScaler, as a list of (name, source, parameters, looks_at_gradients).

    parameters: a dict of what can be set, with the framework's defaults; None for a limit that the framework does not have.
    source: where the original is defined. looks_at_gradients: whether update() needs the gradients. A static scale can also be
    written "static:1024".

    >>> {row.name: row.parameters["growth_interval"] for row in loss_scalers() if row.name.startswith("deepspeed")}
    {'deepspeed': 1000, 'deepspeed_class': 1000}
)");
}

}  // namespace binade::python

// SPDX-License-Identifier: Apache-2.0
//
// Adds the changes that an optimizer's row computes to the weights, and counts which changes were
// lost.
#include "lib/train/optimizer.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>

#include "lib/amp/autocast.h"
#include "lib/parallel/parallel.h"
#include "lib/train/nearest.h"

namespace binade {
namespace {

/// Returns decayed(weights[i]) + change[i], summed in binary64 and rounded stochastically with word
/// first + i of the stream. Sums of weights of up to 20 bits are rounded as the exact sum would be.
/// For a weight of 24 bits, binary64 has 29 bits below the weight's last bit, so that the last
/// three bits of the word have no effect.
template <class T, class Decayed>
std::vector<double> stochastic_sums(std::span<const T> weights, std::span<const T> change,
                                    const Decayed& decayed, std::uint64_t first,
                                    const Quantizer& to) {
  std::vector<double> out(weights.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<double>(decayed(weights[i])) + static_cast<double>(change[i]);
  }
  EventCounts counts;
  fastest_kernels().quantize_f64(out.data(), out.data(), out.size(), first, to, counts);
  return out;
}

}  // namespace

template <std::floating_point T>
Optimizer<T>::Optimizer(std::vector<Parameter<T>*> parameters, const OptimizerOptions& options)
    : parameters_(std::move(parameters)),
      options_(options),
      row_(&optimizer_row(options.name)),
      slots_(parameters_.size()) {
  const auto moments = static_cast<std::size_t>(moments_of(*row_, options.momentum != 0));
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Tensor<T>& weight = parameters_[i]->value;
    Slot& slot = slots_[i];
    if (options_.master_weights && weight.dtype != Carrier<T>::format) {
      slot.master = Tensor<T>(weight.shape, Carrier<T>::format, weight.values);
    }
    slot.moments.resize(weight.size() * moments);
    if (options_.update == UpdateRule::kahan) slot.compensation.resize(weight.size());
  }
}

template <std::floating_point T>
void Optimizer<T>::zero_grad() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    parameters_[i]->gradient.clear();
    slots_[i].gradient.clear();
  }
}

template <std::floating_point T>
std::vector<typename Optimizer<T>::Gradient> Optimizer<T>::gradients() {
  std::vector<Gradient> out;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Parameter<T>& parameter = *parameters_[i];
    if (slots_[i].master.size() == 0) {
      out.push_back({parameter.value.dtype, parameter.gradient});
      continue;
    }
    slots_[i].gradient = parameter.gradient;
    out.push_back({Carrier<T>::format, slots_[i].gradient});
  }
  return out;
}

template <std::floating_point T>
void Optimizer<T>::step_one(Parameter<T>& parameter, Slot& slot, std::size_t index) {
  const bool has_master = slot.master.size() != 0;
  Tensor<T>& weights = has_master ? slot.master : parameter.value;
  const std::vector<T>& gradient = has_master ? slot.gradient : parameter.gradient;
  slot.change.resize(gradient.size());
  if (gradient.empty()) return;
  const OptimizerOptions& o = options_;
  ++slot.steps;
  const bool decays = row_->takes("weight_decay") && o.weight_decay != 0;
  const bool decays_weight = decays && row_->decoupled_decay;
  const T decay = static_cast<T>(1 - o.lr * o.weight_decay);
  const Nearest<T> round(weights.dtype), round_model(parameter.value.dtype);
  const bool stochastic = o.update == UpdateRule::stochastic && !has_master;
  const bool kahan = o.update == UpdateRule::kahan && !has_master;
  const auto decayed = [&](T weight) { return decays_weight ? round(weight * decay) : weight; };
  // Each step and parameter has its own stream; a weight uses the word that has its index.
  const std::uint64_t stream = static_cast<std::uint64_t>(steps_) << 20 | index;
  const std::size_t moments = slot.moments.size() / weights.size();
  std::mutex adding;
  for_pieces(weights.size(), [&](std::size_t begin, std::size_t end) {
    const auto piece = [&](auto& values, std::size_t of_each = 1) {
      return std::span(values).subspan(begin * of_each, (end - begin) * of_each);
    };
    std::get<OptimizerStep<T>>(row_->step)({o, slot.steps, weights.dtype, decays && !decays_weight,
                                            piece(weights.values), piece(gradient),
                                            piece(slot.moments, moments), piece(slot.change)});
    std::vector<double> sums;
    if (stochastic) {
      const Quantizer to{weights.dtype, {.rounding = Rounding::stochastic}, o.seed, stream};
      sums = stochastic_sums<T>(piece(weights.values), piece(slot.change), decayed, begin, to);
    }
    StepCounts counts;
    for (std::size_t i = begin; i < end; ++i) {
      const T before = weights.values[i], change = slot.change[i];
      T w = decayed(before);
      const T compensation_before = kahan ? slot.compensation[i] : T{0};
      if (kahan) {
        const T y = round(round(change) - slot.compensation[i]);
        const T sum = round(w + y);
        slot.compensation[i] = round(round(sum - w) - y);
        w = sum;
      } else if (stochastic) {
        w = static_cast<T>(sums[i - begin]);
      } else {
        w = round(w + change);
      }
      weights.values[i] = w;
      // The amount to be subtracted from the weight, including a decoupled decay.
      const T update = decays_weight ? (before - before * decay) - change : -change;
      slot.change[i] = update;
      const bool asked = update != 0, stayed = asked && w == before;
      const bool compensated = kahan && slot.compensation[i] != compensation_before;
      const bool lost = stayed && !compensated;
      bool not_shown = stayed && compensated;
      if (has_master) {
        const T copy = round_model(w);
        not_shown = asked && !stayed && copy == parameter.value.values[i];
        parameter.value.values[i] = copy;
      }
      counts.weights += 1;
      counts.asked += asked ? 1 : 0;
      counts.lost += lost ? 1 : 0;
      counts.not_shown += not_shown ? 1 : 0;
      counts.below_2_11 += asked && std::abs(before) > 2048 * std::abs(update) ? 1 : 0;
    }
    const std::lock_guard lock(adding);
    counts_ += counts;
  });
}

template <std::floating_point T>
void Optimizer<T>::step() {
  ++steps_;
  counts_ = {};
  for (std::size_t i = 0; i < slots_.size(); ++i) step_one(*parameters_[i], slots_[i], i);
}

template <std::floating_point T>
T clip_grad_norm(const std::vector<typename Optimizer<T>::Gradient>& gradients, double max_norm) {
  const auto norm_of = [](const std::vector<T>& values, const Format& dtype) {
    std::vector<T> squares(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) squares[i] = values[i] * values[i];
    return Nearest<T>(dtype)(std::sqrt(pairwise_sum(squares.data(), squares.size())));
  };
  std::vector<T> norms;
  std::optional<Format> common;
  for (const auto& gradient : gradients) {
    if (gradient.values.empty()) continue;
    norms.push_back(norm_of({gradient.values.begin(), gradient.values.end()}, gradient.dtype));
    common = common ? promote_types(*common, gradient.dtype) : gradient.dtype;
  }
  const Format dtype = common.value_or(Carrier<T>::format);
  const Nearest<T> round(dtype);
  const T norm = norm_of(norms, dtype);
  // PyTorch divides a number by a tensor by multiplying it with the tensor's reciprocal.
  const T reciprocal = round(1 / round(norm + static_cast<T>(1e-6)));
  const T factor = std::min(round(reciprocal * static_cast<T>(max_norm)), T{1});
  for (const auto& gradient : gradients) {
    const T own = Nearest<T>(gradient.dtype)(factor);
    for (T& x : gradient.values) x *= own;
    round_to(gradient.dtype, gradient.values);
  }
  return norm;
}

template class Optimizer<float>;
template class Optimizer<double>;
template float clip_grad_norm<float>(const std::vector<Optimizer<float>::Gradient>&, double);
template double clip_grad_norm<double>(const std::vector<Optimizer<double>::Gradient>&, double);

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// What all networks share: how parameters are initialized, counted and cast.
#include "lib/train/model.h"

#include <cmath>

#include "emulate/philox.h"

namespace binade {

template <std::floating_point T>
std::vector<Parameter<T>*> Model<T>::pointers() const {
  std::vector<Parameter<T>*> out;
  for (const auto& parameter : parameters) out.push_back(parameter.get());
  return out;
}

template <std::floating_point T>
std::size_t Model<T>::parameter_count() const {
  std::size_t count = 0;
  for (const auto& parameter : parameters) count += parameter->value.size();
  return count;
}

template <std::floating_point T>
void cast_model(Model<T>& model, const Format& dtype, bool keep_batch_norm) {
  for (const auto& parameter : model.parameters) {
    if (keep_batch_norm && parameter->of_batch_norm) continue;
    parameter->value.dtype = dtype;
    round_to(dtype, std::span(parameter->value.values));
  }
}

template <std::floating_point T>
Parameter<T>& add_uniform(Model<T>& model, const std::string& name, Shape shape, double bound,
                          std::uint64_t seed) {
  auto parameter = std::make_unique<Parameter<T>>();
  parameter->name = name;
  parameter->value = Tensor<T>(std::move(shape));
  const std::uint64_t stream = model.parameters.size();
  for (std::size_t i = 0; i < parameter->value.size(); ++i) {
    const double unit = std::ldexp(static_cast<double>(random_word(seed, stream, i)), -32);
    // Rounded to binary32 for either T, so that a training in FP64 begins with the same weights.
    parameter->value.values[i] = static_cast<T>(static_cast<float>((2 * unit - 1) * bound));
  }
  model.parameters.push_back(std::move(parameter));
  return *model.parameters.back();
}

template <std::floating_point T>
Parameter<T>& add_constant(Model<T>& model, const std::string& name, Shape shape, T value,
                           bool of_batch_norm) {
  auto parameter = std::make_unique<Parameter<T>>();
  parameter->name = name;
  parameter->value = Tensor<T>(std::move(shape));
  parameter->value.values.assign(parameter->value.size(), value);
  parameter->of_batch_norm = of_batch_norm;
  model.parameters.push_back(std::move(parameter));
  return *model.parameters.back();
}

template struct Model<float>;
template struct Model<double>;
template void cast_model(Model<float>&, const Format&, bool);
template void cast_model(Model<double>&, const Format&, bool);
template Parameter<float>& add_uniform(Model<float>&, const std::string&, Shape, double,
                                       std::uint64_t);
template Parameter<double>& add_uniform(Model<double>&, const std::string&, Shape, double,
                                        std::uint64_t);
template Parameter<float>& add_constant(Model<float>&, const std::string&, Shape, float, bool);
template Parameter<double>& add_constant(Model<double>&, const std::string&, Shape, double, bool);

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Writes the tensors of a training. Those of a step are kept in memory until the step is over, then
// written to one file. Gradients are unscaled as in PyTorch (torch/amp/grad_scaler.py, unscale_):
// the reciprocal of the scale is computed in binary64 and rounded to binary32, and each gradient is
// multiplied by it in binary32.
#include "lib/runs/tensor_dump.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "lib/io/output_paths.h"
#include "lib/io/safetensors_writer.h"
#include "lib/text/error.h"

namespace binade {
namespace {

/// Returns the factor that takes a loss scale out of gradients; nothing if no finite non-zero
/// binary32 number does.
std::optional<float> unscaling(double scale) {
  const auto factor = static_cast<float>(1 / scale);
  if (!std::isfinite(factor) || factor == 0) return {};
  return factor;
}

/// The tensors of one step, kept until they are written.
struct Pending {
  MadeFolders made;
  std::string folder;
  std::int64_t step = -1;
  double scale = 1;
  std::vector<DumpedTensor> tensors;

  void write() {
    if (tensors.empty()) return;
    write_step(folder, step, scale, tensors);
    tensors.clear();
  }
};

/// Returns the layer of a parameter: "fc1" for "fc1.weight". A bias is a layer of its own:
/// "fc1.bias".
std::string layer_of(const std::string& parameter) {
  constexpr std::string_view suffix = ".weight";
  return parameter.ends_with(suffix) ? parameter.substr(0, parameter.size() - suffix.size())
                                     : parameter;
}

/// Throws Error if the folder, or for a recursive Iterator a folder below it, has a file of a dump;
/// the message has the first of them by name.
template <class Iterator>
void refuse_dumped(const std::string& folder) {
  std::error_code problem;
  std::optional<std::filesystem::path> first;
  for (Iterator at(folder, problem); !problem && at != Iterator(); at.increment(problem)) {
    const std::filesystem::path& path = at->path();
    const bool is_step =
        path.filename().string().starts_with("step") && path.extension() == ".safetensors";
    if (is_step && (!first || path < *first)) first = path;
  }
  if (!first) return;
  throw error_in(first->string(), "an earlier dump, with which this one would mix",
                 "remove that dump or name another folder");
}

}  // namespace

std::vector<float> unscaled(std::vector<float> gradient, double scale) {
  const float factor = unscaling(scale).value_or(1);
  for (float& x : gradient) x *= factor;
  return gradient;
}

void write_step(const std::string& folder, std::int64_t step, double scale,
                std::span<const DumpedTensor> tensors) {
  const Dtype f32 = *find_dtype("F32");
  std::vector<TensorSpec> specs;
  for (const DumpedTensor& t : tensors) {
    specs.push_back({fmt::format("step{:06}/{}/{}", step, t.layer, tensor_role_name(t.role)), f32,
                     std::vector<std::uint64_t>(t.shape.begin(), t.shape.end())});
  }
  SafetensorsWriter file(fmt::format("{}/step{:06}.safetensors", folder, step), specs,
                         {{"step", std::to_string(step)},
                          {"loss_scale", fmt::format("{}", scale)},
                          {"gradients", unscaling(scale) ? "unscaled" : "scaled"}});
  for (const DumpedTensor& t : tensors) file.write(std::as_bytes(std::span(t.values)));
  file.finish();
}

void visit_after_backward(const StepView<float>& view, const TensorVisitor& visit) {
  for (const auto& [name, var] : view.tape.watched()) {
    visit(name, TensorRole::act, view.tape.shape(var), view.tape.values(var));
    if (!view.tape.gradient(var).empty()) {
      visit(name, TensorRole::d_act, view.tape.shape(var),
            unscaled(view.tape.gradient(var),
                     view.scale * static_cast<double>(view.tape.gradient_scale(var))));
    }
  }
  for (const auto& parameter : view.model.parameters) {
    const std::string layer = layer_of(parameter->name);
    visit(layer, TensorRole::weight, parameter->value.shape, parameter->value.values);
    if (parameter->gradient.empty()) continue;
    visit(layer, TensorRole::d_weight, parameter->value.shape,
          unscaled(parameter->gradient, view.scale));
  }
}

void visit_after_step(const StepView<float>& view, const TensorVisitor& visit) {
  for (std::size_t i = 0; i < view.model.parameters.size(); ++i) {
    const Parameter<float>& parameter = *view.model.parameters[i];
    const std::vector<float>& update = view.optimizer.update(i);
    if (update.empty()) continue;  // the backward pass did not reach the parameter
    visit(layer_of(parameter.name), TensorRole::update, parameter.value.shape, update);
  }
}

void refuse_dumps_below(const std::string& folder) {
  refuse_dumped<std::filesystem::recursive_directory_iterator>(folder);
}

Hooks<float> dump_hooks(const std::string& folder, std::int64_t every, std::int64_t steps) {
  const auto pending = std::make_shared<Pending>();
  pending->folder = folder;
  pending->made.make({"the dump", folder, OutputKind::folder});
  refuse_dumped<std::filesystem::directory_iterator>(folder);
  const auto wanted = [every, steps](std::int64_t step) {
    return step % every == 0 || step + 1 == steps;
  };
  const auto keep = [pending](const std::string& layer, TensorRole role, const Shape& shape,
                              const std::vector<float>& values) {
    pending->tensors.push_back({layer, role, shape, values});
  };
  Hooks<float> hooks;
  hooks.after_backward = [pending, wanted, keep](const StepView<float>& view) {
    pending->write();  // the step before this one was skipped
    pending->step = view.step;
    pending->scale = view.scale;
    if (wanted(view.step)) visit_after_backward(view, keep);
  };
  hooks.after_step = [pending, wanted, keep](const StepView<float>& view) {
    if (!wanted(view.step)) return;
    visit_after_step(view, keep);
    pending->write();
  };
  hooks.progress = [pending](std::int64_t done, std::int64_t of) {
    if (done == of) pending->write();
  };
  return hooks;
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Runs optimizers on weights and gradients that torch_optimizer_test.py wrote, and writes the
// weights after each step beside them. FOLDER/cases.txt has a line per case, "index dtype kind lr
// momentum nesterov beta1 beta2 eps weight_decay master clip late"; weights are FOLDER/index.w.npy
// (n), gradients FOLDER/index.g.npy (steps, n), results FOLDER/index.y.npy (steps, n), all float32
// on the dtype's grid. In the first `late` steps there is no gradient. Run as torch_optimizer
// FOLDER.
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "lib/io/npy_writer.h"
#include "lib/io/tensor_file.h"
#include "lib/text/error.h"
#include "lib/train/optimizer.h"

namespace binade {
namespace {

std::vector<float> read(const std::string& path) {
  const auto file = open_tensor_file(path);
  const TensorInfo& info = file->tensors().front();
  if (info.bytes != info.elements * sizeof(float)) throw Error(path + ": not float32");
  std::vector<float> out(info.elements);
  std::size_t at = 0;
  file->read(0, [&](std::span<const std::byte> bytes) {
    std::memcpy(reinterpret_cast<std::byte*>(out.data()) + at, bytes.data(), bytes.size());
    at += bytes.size();
  });
  return out;
}

struct Case {
  std::string index, dtype;
  OptimizerOptions options;
  double clip = 0;
  std::size_t late = 0;
};

Case parsed(const std::string& line) {
  std::istringstream words(line);
  Case c;
  OptimizerOptions& o = c.options;
  words >> c.index >> c.dtype >> o.name >> o.lr >> o.momentum >> o.nesterov >> o.beta1 >> o.beta2 >>
      o.eps >> o.weight_decay >> o.master_weights >> c.clip >> c.late;
  if (!words) throw Error(line + ": not a case");
  return c;
}

void run(const std::string& folder, const Case& c) {
  const std::string stem = folder + "/" + c.index + ".";
  const std::vector<float> w = read(stem + "w.npy"), g = read(stem + "g.npy");
  const std::size_t steps = g.size() / w.size();
  Parameter<float> parameter;
  parameter.value = Tensor<float>({w.size()}, c.dtype == "float16" ? binary16 : binary32, w);
  Optimizer<float> optimizer({&parameter}, c.options);
  std::vector<float> out;
  for (std::size_t i = 0; i < steps; ++i) {
    const auto begin = g.begin() + static_cast<std::ptrdiff_t>(i * w.size());
    if (i >= c.late) {
      parameter.gradient.assign(begin, begin + static_cast<std::ptrdiff_t>(w.size()));
    }
    const auto gradients = optimizer.gradients();
    if (c.clip > 0) clip_grad_norm<float>(gradients, c.clip);
    optimizer.step();
    const std::vector<float>& values = parameter.value.values;
    out.insert(out.end(), values.begin(), values.end());
  }
  const std::vector<std::uint64_t> shape{steps, w.size()};
  NpyWriter writer(stem + "y.npy", *find_dtype("F32"), shape);
  writer.write(std::as_bytes(std::span(out)));
  writer.finish();
}

}  // namespace
}  // namespace binade

int main(int count, char** words) try {
  if (count != 2) throw binade::Error("usage: torch_optimizer FOLDER");
  const std::string folder = words[1];
  std::ifstream lines(folder + "/cases.txt");
  for (std::string line; std::getline(lines, line);) binade::run(folder, binade::parsed(line));
  return 0;
} catch (const std::exception& error) {
  std::cerr << "torch_optimizer: " << error.what() << "\n";
  return 2;
}

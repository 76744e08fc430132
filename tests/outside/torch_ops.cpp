// SPDX-License-Identifier: Apache-2.0
//
// Runs ops of the engine on arrays that torch_ops_test.py wrote, and writes results and gradients
// beside them. FOLDER/cases.txt has a line per case, "index op dtype inputs parameter…"; arrays are
// FOLDER/index.in0.npy …, the gradient of the result is index.dy.npy; float64 for dtype float64,
// else float32 on the dtype's grid. Run as torch_ops FOLDER.
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "lib/io/npy_writer.h"
#include "lib/io/tensor_file.h"
#include "lib/text/error.h"
#include "lib/train/ops.h"

namespace binade {
namespace {

struct Case {
  std::string index, op, dtype;
  std::size_t inputs = 0;
  std::vector<std::size_t> parameters;
};

template <std::floating_point T>
using Op = std::function<Var(Tape<T>&, const std::vector<Var>&, const std::vector<std::size_t>&)>;

std::vector<std::int32_t> whole(const std::vector<std::size_t>& p) {
  std::vector<std::int32_t> out;
  for (const std::size_t x : p) out.push_back(static_cast<std::int32_t>(x));
  return out;
}

template <std::floating_point T>
std::map<std::string, Op<T>> table() {
  using V = std::vector<Var>;
  using P = std::vector<std::size_t>;
  using Net = Tape<T>;
  const auto window = [](const P& p) { return Window{p[0], p[1], p[2]}; };
  const auto bias = [](const V& v) { return v.size() > 2 ? std::optional(v[2]) : std::nullopt; };
  const auto batch = [](Net& t, const V& v, bool training) {
    const std::size_t channels = t.shape(v[1])[0];
    RunningStatistics<T> running{std::vector<T>(channels, T{0.5}), std::vector<T>(channels, T{2})};
    return batch_norm(t, v[0], v[1], v[2], running, training);
  };
  return {
      {"linear", [bias](Net& t, const V& v, const P&) { return linear(t, v[0], v[1], bias(v)); }},
      {"matmul", [](Net& t, const V& v, const P&) { return matmul(t, v[0], v[1]); }},
      {"conv2d", [window, bias](Net& t, const V& v,
                                const P& p) { return conv2d(t, v[0], v[1], bias(v), window(p)); }},
      {"attention",
       [](Net& t, const V& v, const P& p) {
         return scaled_dot_product_attention(t, v[0], v[1], v[2], p[0] != 0);
       }},
      {"add", [](Net& t, const V& v, const P&) { return add(t, v[0], v[1]); }},
      {"sub", [](Net& t, const V& v, const P&) { return sub(t, v[0], v[1]); }},
      {"mul", [](Net& t, const V& v, const P&) { return mul(t, v[0], v[1]); }},
      {"div", [](Net& t, const V& v, const P&) { return div(t, v[0], v[1]); }},
      {"scale", [](Net& t, const V& v, const P&) { return scale(t, v[0], T{0.3125}); }},
      {"exp", [](Net& t, const V& v, const P&) { return exp(t, v[0]); }},
      {"log", [](Net& t, const V& v, const P&) { return log(t, v[0]); }},
      {"pow", [](Net& t, const V& v, const P& p) { return pow(t, v[0], static_cast<int>(p[0])); }},
      {"relu", [](Net& t, const V& v, const P&) { return relu(t, v[0]); }},
      {"tanh", [](Net& t, const V& v, const P&) { return tanh(t, v[0]); }},
      {"sigmoid", [](Net& t, const V& v, const P&) { return sigmoid(t, v[0]); }},
      {"gelu", [](Net& t, const V& v, const P&) { return gelu(t, v[0]); }},
      {"softmax", [](Net& t, const V& v, const P&) { return softmax(t, v[0]); }},
      {"log_softmax", [](Net& t, const V& v, const P&) { return log_softmax(t, v[0]); }},
      {"layer_norm", [](Net& t, const V& v, const P&) { return layer_norm(t, v[0], v[1], v[2]); }},
      {"group_norm",
       [](Net& t, const V& v, const P& p) { return group_norm(t, v[0], p[0], v[1], v[2]); }},
      {"batch_norm", [batch](Net& t, const V& v, const P& p) { return batch(t, v, p[0] != 0); }},
      {"max_pool2d",
       [window](Net& t, const V& v, const P& p) { return max_pool2d(t, v[0], window(p)); }},
      {"avg_pool2d",
       [window](Net& t, const V& v, const P& p) { return avg_pool2d(t, v[0], window(p)); }},
      {"permute", [](Net& t, const V& v, const P& p) { return permute(t, v[0], p); }},
      {"reshape", [](Net& t, const V& v, const P& p) { return reshape(t, v[0], p); }},
      {"embedding", [](Net& t, const V& v, const P& p) { return embedding(t, v[0], whole(p)); }},
      {"sum", [](Net& t, const V& v, const P&) { return sum(t, v[0]); }},
      {"mean", [](Net& t, const V& v, const P&) { return mean(t, v[0]); }},
      {"nll_loss", [](Net& t, const V& v, const P& p) { return nll_loss(t, v[0], whole(p)); }},
      {"cross_entropy",
       [](Net& t, const V& v, const P& p) { return cross_entropy(t, v[0], whole(p)); }},
      {"mse_loss", [](Net& t, const V& v, const P&) { return mse_loss(t, v[0], v[1]); }},
      {"bce", [](Net& t, const V& v,
                 const P&) { return binary_cross_entropy_with_logits(t, v[0], v[1]); }},
  };
}

template <std::floating_point T>
Tensor<T> read(const std::string& path, const Format& dtype) {
  const auto file = open_tensor_file(path);
  const TensorInfo& info = file->tensors().front();
  if (info.bytes != info.elements * sizeof(T)) throw Error(path + ": not of the carrier's type");
  Tensor<T> out({info.shape.begin(), info.shape.end()}, dtype);
  std::size_t at = 0;
  file->read(0, [&](std::span<const std::byte> bytes) {
    std::memcpy(reinterpret_cast<std::byte*>(out.values.data()) + at, bytes.data(), bytes.size());
    at += bytes.size();
  });
  return out;
}

template <std::floating_point T>
void write(const std::string& path, const Shape& shape, const std::vector<T>& values) {
  const std::vector<std::uint64_t> sizes(shape.begin(), shape.end());
  NpyWriter writer(path, *find_dtype(sizeof(T) == 8 ? "F64" : "F32"), sizes);
  writer.write(std::as_bytes(std::span(values)));
  writer.finish();
}

template <std::floating_point T>
void run(const std::string& folder, const Case& c, const Format& dtype) {
  static const std::map<std::string, Op<T>> ops = table<T>();
  const auto op = ops.find(c.op);
  if (op == ops.end()) throw Error(c.op + ": no such op");
  const std::string stem = folder + "/" + c.index + ".";
  Tape<T> tape;
  std::vector<Var> in;
  for (std::size_t i = 0; i < c.inputs; ++i) {
    in.push_back(tape.input(read<T>(stem + "in" + std::to_string(i) + ".npy", dtype)));
  }
  const Var y = op->second(tape, in, c.parameters);
  write(stem + "y.npy", tape.shape(y), tape.values(y));
  // The gradient of y is dy itself: 1·dy.
  const Var dy = tape.constant(read<T>(stem + "dy.npy", dtype));
  tape.backward(sum(tape, mul(tape, y, dy)));
  for (std::size_t i = 0; i < in.size(); ++i) {
    write(stem + "d" + std::to_string(i) + ".npy", tape.shape(in[i]), tape.gradient(in[i]));
  }
}

void run_all(const std::string& folder) {
  std::ifstream lines(folder + "/cases.txt");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    Case c;
    words >> c.index >> c.op >> c.dtype >> c.inputs;
    for (std::size_t p = 0; words >> p;) c.parameters.push_back(p);
    if (c.dtype == "float64") {
      run<double>(folder, c, binary64);
    } else {
      run<float>(folder, c,
                 c.dtype == "float32"   ? binary32
                 : c.dtype == "float16" ? binary16
                                        : bfloat16);
    }
  }
}

}  // namespace
}  // namespace binade

int main(int count, char** words) try {
  if (count != 2) throw binade::Error("usage: torch_ops FOLDER");
  binade::run_all(words[1]);
  return 0;
} catch (const std::exception& error) {
  std::cerr << "torch_ops: " << error.what() << "\n";
  return 2;
}

// SPDX-License-Identifier: Apache-2.0
//
// Convolution as matrix products on channels-last operands. Each pass is one product per batch,
// whose sums are rounded once (k is the size of the filter):
//
//   fprop   Y (n·oh·ow, o) = patches of X (n·oh·ow, k·k·c) · Wᵀ
//   dgrad  dX (n·h·w, c)   = patches of dY (n·h·w, k·k·o) · W, with zeros at places that a stride skips
//   wgrad  dW (o, k·k·c)   = dYᵀ · patches of X
#include "lib/text/shape.h"
#include "lib/train/kernels.h"
#include "lib/train/ops.h"

namespace binade {
namespace {

/// Sizes of one convolution.
struct Convolution {
  std::size_t n = 0, c = 0, h = 0, w = 0, o = 0, oh = 0, ow = 0;
  Window window{};

  std::size_t pixels_in() const { return n * h * w; }
  std::size_t pixels_out() const { return n * oh * ow; }
  std::size_t depth(std::size_t channels) const { return window.size * window.size * channels; }
};

Convolution convolution_of(const Shape& x, const Shape& weight, const Window& window) {
  const std::size_t k = window.size;
  const auto fits = [&](std::size_t n) { return n + 2 * window.padding >= k; };
  if (x.size() != 4 || weight.size() != 4 || x[1] != weight[1] || weight[2] != k ||
      weight[3] != k || k == 0 || window.stride == 0 || !fits(x[2]) || !fits(x[3])) {
    throw Error(
        fmt::format("conv2d of {} and {} in windows of {}, stride {}, padding {}: x is "
                    "(n, c, h, w), weight (o, c, window, window)",
                    shape_text(x), shape_text(weight), k, window.stride, window.padding));
  }
  const auto steps = [&](std::size_t n) {
    return (n + 2 * window.padding - k) / window.stride + 1;
  };
  return {x[0], x[1], x[2], x[3], weight[0], steps(x[2]), steps(x[3]), window};
}

/// Returns, for images (n, height, width, channels), the patch of each of n·rows·columns pixels:
/// the values at (filter row, filter column, channel), channels fastest. pixel_of(at, tap, size)
/// returns the row or column of the image, whose height or width is `size`, on which filter row or
/// column `tap` lies for the pixel in row or column `at`; where it is not below `size` the patch
/// holds zeros.
template <std::floating_point T, class F>
std::vector<T> patches(const std::vector<T>& images, const Shape& shape, std::size_t rows,
                       std::size_t columns, std::size_t taps, const F& pixel_of) {
  const std::size_t height = shape[1], width = shape[2], channels = shape[3];
  const std::size_t depth = taps * taps * channels, run = taps * channels;
  const auto places = [&](std::size_t pixels, std::size_t size) {
    std::vector<std::size_t> of(pixels * taps);
    for (std::size_t i = 0; i < of.size(); ++i) of[i] = pixel_of(i / taps, i % taps, size);
    return of;
  };
  const std::vector<std::size_t> row_of = places(rows, height), column_of = places(columns, width);
  std::vector<T> out(shape[0] * rows * columns * depth);
  for_rows(shape[0] * rows, columns * depth, [&](std::size_t line) {
    const std::size_t image = line / rows, i = line % rows;
    T* to = out.data() + line * columns * depth;
    for (std::size_t j = 0; j < columns; ++j) {
      const std::size_t* const column = column_of.data() + j * taps;
      const bool is_run =
          column[0] < width && column[taps - 1] < width && column[taps - 1] == column[0] + taps - 1;
      for (std::size_t kr = 0; kr < taps; ++kr, to += run) {
        const std::size_t row = row_of[i * taps + kr];
        if (row >= height) continue;
        const T* const from = images.data() + (image * height + row) * width * channels;
        if (is_run) {
          std::copy_n(from + column[0] * channels, run, to);
          continue;
        }
        for (std::size_t kc = 0; kc < taps; ++kc) {
          if (column[kc] >= width) continue;
          std::copy_n(from + column[kc] * channels, channels, to + kc * channels);
        }
      }
    }
  });
  return out;
}

/// Returns the patch of x, channels last, from which each output pixel is computed.
template <std::floating_point T>
std::vector<T> patches_of_x(const Convolution& f, const std::vector<T>& x) {
  return patches(permuted(x, {f.n, f.c, f.h, f.w}, {0, 2, 3, 1}), {f.n, f.h, f.w, f.c}, f.oh, f.ow,
                 f.window.size, [&f](std::size_t at, std::size_t tap, std::size_t) {
                   // A place before the first row or column wraps to a number that is larger than
                   // any image.
                   return at * f.window.stride + tap - f.window.padding;
                 });
}

/// Returns, for each input pixel, the patch of dy (n, oh, ow, o): the gradients of the output
/// pixels that depend on it.
template <std::floating_point T>
std::vector<T> patches_of_dy(const Convolution& f, const std::vector<T>& dy) {
  return patches(dy, {f.n, f.oh, f.ow, f.o}, f.h, f.w, f.window.size,
                 [&f](std::size_t at, std::size_t tap, std::size_t size) {
                   const std::size_t from = at + f.window.padding;
                   if (from < tap || (from - tap) % f.window.stride != 0) return size;
                   return (from - tap) / f.window.stride;
                 });
}

}  // namespace

template <std::floating_point T>
Var conv2d(Tape<T>& tape, Var x_in, Var weight_in, std::optional<Var> bias_in,
           const Window& window) {
  std::vector<Var> given{x_in, weight_in};
  if (bias_in) given.push_back(*bias_in);
  const OpInputs op = op_inputs(tape, "conv2d", std::move(given));
  const Var x = op[0], weight = op[1];
  const Convolution f = convolution_of(tape.shape(x), tape.shape(weight), window);
  const std::size_t k = window.size;
  std::span<const T> bias;
  if (bias_in) bias = tape.values(op[2]);
  using View = MatrixView<T>;
  const std::string layer = LayerScope::current();
  const std::vector<T> seen = patches_of_x(f, tape.values(x));
  const std::vector<T> kernels = permuted(tape.values(weight), {f.o, f.c, k, k}, {0, 2, 3, 1});
  const std::vector<T> y =
      product(tape.products(), {Pass::fprop, op.dtype, true, layer},
              View::dense(seen.data(), f.pixels_out(), f.depth(f.c)),
              View::dense(kernels.data(), f.o, f.depth(f.c)).transposed(), bias);
  return tape.record(
      "conv2d", op.dtype, {f.n, f.o, f.oh, f.ow}, permuted(y, {f.n, f.oh, f.ow, f.o}, {0, 3, 1, 2}),
      op.inputs, [op, x, weight, f, k, layer](Tape<T>& t, const std::vector<T>& g) {
        const std::vector<T> dy = permuted(g, {f.n, f.o, f.oh, f.ow}, {0, 2, 3, 1});
        if (t.needs_gradient(weight)) {
          const std::vector<T> again = patches_of_x(f, t.values(x));
          const std::vector<T> dw =
              product<T>(t.products(), {Pass::wgrad, op.dtype, true, layer},
                         View::dense(dy.data(), f.pixels_out(), f.o).transposed(),
                         View::dense(again.data(), f.pixels_out(), f.depth(f.c)));
          t.add_gradient(weight, permuted(dw, {f.o, k, k, f.c}, {0, 3, 1, 2}));
        }
        if (op.inputs.size() == 3) t.add_gradient(op[2], column_sums(dy, f.pixels_out(), f.o));
        if (t.needs_gradient(x)) {
          const std::vector<T> from =
              patches_of_dy(f, t.scaled_for_input(layer, op.dtype, dy, weight, f.depth(f.o)));
          const std::vector<T> taps = permuted(t.values(weight), {f.o, f.c, k, k}, {2, 3, 0, 1});
          const std::vector<T> dx =
              product<T>(t.products(), {Pass::dgrad, op.dtype, true, layer},
                         View::dense(from.data(), f.pixels_in(), f.depth(f.o)),
                         View::dense(taps.data(), f.depth(f.o), f.c));
          t.add_gradient(x, permuted(dx, {f.n, f.h, f.w, f.c}, {0, 3, 1, 2}));
        }
      });
}

template Var conv2d(Tape<float>&, Var, Var, std::optional<Var>, const Window&);
template Var conv2d(Tape<double>&, Var, Var, std::optional<Var>, const Window&);

}  // namespace binade

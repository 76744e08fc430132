// SPDX-License-Identifier: Apache-2.0
//
// Normalisation. The dtype of x decides the dtype of the op. Statistics are computed in T from x
// after its cast, the variance by a second pass over the deviations from the mean. Weights and
// their gradients keep their own dtype.
#include <array>

#include "lib/text/shape.h"
#include "lib/train/functions.h"
#include "lib/train/kernels.h"
#include "lib/train/ops.h"

namespace binade {
namespace {

/// The shape of x as (batch, channels, spatial), normalised in `groups` of channels. layer_norm has
/// one group and a `spatial` of 1.
struct Layout {
  std::size_t batch = 0, channels = 0, spatial = 1, groups = 1;

  std::size_t rows() const { return batch * groups; }
  std::size_t columns() const { return channels / groups * spatial; }
  /// Returns the channel of element j of a row.
  std::size_t channel(std::size_t row, std::size_t j) const {
    return row % groups * (channels / groups) + j / spatial;
  }
};

template <std::floating_point T>
void need_weights(const Tape<T>& tape, std::string_view op, Var x, Var weight, Var bias,
                  const Layout& layout) {
  const Shape want{layout.channels};
  if (tape.shape(weight) == want && tape.shape(bias) == want && !tape.values(x).empty()) return;
  throw Error(fmt::format("{} of {}: weight {} and bias {} are not of shape {}", op,
                          shape_text(tape.shape(x)), shape_text(tape.shape(weight)),
                          shape_text(tape.shape(bias)), shape_text(want)));
}

/// Returns, per channel, the sum over batch and space: first the sums of the planes, then the sum
/// of these, each pairwise.
template <std::floating_point T>
std::vector<T> channel_sums(const std::vector<T>& x, const Layout& l) {
  if (l.spatial == 1) return column_sums(x, l.batch, l.channels);
  std::vector<T> planes(l.batch * l.channels);
  for_rows(planes.size(), l.spatial, [&](std::size_t plane) {
    planes[plane] = pairwise_sum(x.data() + plane * l.spatial, l.spatial);
  });
  return column_sums(planes, l.batch, l.channels);
}

/// Returns f(i, channel) for every element i.
template <std::floating_point T, class F>
std::vector<T> by_channel(const Layout& l, const F& f) {
  std::vector<T> out(l.batch * l.channels * l.spatial);
  for_rows(l.batch, l.channels * l.spatial, [&](std::size_t image) {
    std::size_t i = image * l.channels * l.spatial;
    for (std::size_t channel = 0; channel < l.channels; ++channel) {
      for (std::size_t j = 0; j < l.spatial; ++j, ++i) out[i] = f(i, channel);
    }
  });
  return out;
}

/// What normalisation subtracts (mean) and multiplies by (rstd = 1/√(variance + eps)), per row or
/// per channel.
template <std::floating_point T>
struct Moments {
  std::vector<T> mean, rstd;
};

template <std::floating_point T>
Moments<T> row_moments(const std::vector<T>& x, const Layout& l, T eps) {
  const std::size_t n = l.columns();
  Moments<T> out{std::vector<T>(l.rows()), std::vector<T>(l.rows())};
  for_rows(l.rows(), n, [&](std::size_t row) {
    const T* from = x.data() + row * n;
    const T mean = pairwise_sum(from, n) / static_cast<T>(n);
    std::vector<T> squares(n);
    for (std::size_t j = 0; j < n; ++j) squares[j] = (from[j] - mean) * (from[j] - mean);
    out.mean[row] = mean;
    out.rstd[row] = rsqrt_of(pairwise_sum(squares.data(), n) / static_cast<T>(n) + eps);
  });
  return out;
}

/// Returns (x - mean)·rstd, row by row.
template <std::floating_point T>
std::vector<T> normalised(const std::vector<T>& x, const Layout& l, const Moments<T>& moments) {
  std::vector<T> out(x.size());
  const std::size_t n = l.columns();
  for_rows(l.rows(), n, [&](std::size_t row) {
    for (std::size_t j = row * n; j < (row + 1) * n; ++j) {
      out[j] = (x[j] - moments.mean[row]) * moments.rstd[row];
    }
  });
  return out;
}

/// Returns dx = rstd·(d - mean(d) - y·mean(d·y)), where d = g·weight, y = (x - mean)·rstd, and
/// means are those of rows.
template <std::floating_point T>
std::vector<T> row_gradient(const std::vector<T>& g, const std::vector<T>& y,
                            const std::vector<T>& weight, const Layout& l,
                            const Moments<T>& moments) {
  std::vector<T> dx(g.size());
  const std::size_t n = l.columns();
  for_rows(l.rows(), n, [&](std::size_t row) {
    const std::size_t first = row * n;
    std::vector<T> d(n), dy(n);
    for (std::size_t j = 0; j < n; ++j) {
      d[j] = g[first + j] * weight[l.channel(row, j)];
      dy[j] = d[j] * y[first + j];
    }
    const T mean_d = pairwise_sum(d.data(), n) / static_cast<T>(n);
    const T mean_dy = pairwise_sum(dy.data(), n) / static_cast<T>(n);
    for (std::size_t j = 0; j < n; ++j) {
      dx[first + j] = moments.rstd[row] * (d[j] - mean_d - y[first + j] * mean_dy);
    }
  });
  return dx;
}

template <std::floating_point T>
std::vector<T> products(const std::vector<T>& a, const std::vector<T>& b) {
  return map(a, b, [](T x, T y) { return x * y; });
}

template <std::floating_point T>
Var row_norm(Tape<T>& tape, std::string_view name, Var x_in, Var weight, Var bias, const Layout& l,
             T eps) {
  need_weights(tape, name, x_in, weight, bias, l);
  const OpInputs op = op_inputs(tape, name, {x_in});
  const Var x = op[0];
  const Moments<T> moments = row_moments(tape.values(x), l, eps);
  const std::vector<T> y = normalised(tape.values(x), l, moments);
  const std::vector<T>&w = tape.values(weight), &b = tape.values(bias);
  std::vector<T> out = by_channel<T>(
      l, [&](std::size_t i, std::size_t channel) { return y[i] * w[channel] + b[channel]; });
  return tape.record(name, op.dtype, tape.shape(x), std::move(out), {x, weight, bias},
                     [x, weight, bias, l, moments](Tape<T>& t, const std::vector<T>& g) {
                       const std::vector<T> again = normalised(t.values(x), l, moments);
                       if (t.needs_gradient(x)) {
                         t.add_gradient(x, row_gradient(g, again, t.values(weight), l, moments));
                       }
                       t.add_gradient(weight, channel_sums(products(g, again), l));
                       t.add_gradient(bias, channel_sums(g, l));
                     });
}

/// Computes the batch's statistics per channel, and updates `running` with them.
template <std::floating_point T>
Moments<T> batch_moments(const std::vector<T>& x, const Layout& l, T eps,
                         RunningStatistics<T>& running) {
  const T n = static_cast<T>(l.batch * l.spatial);
  Moments<T> out;
  out.mean = map(channel_sums(x, l), [n](T sum) { return sum / n; });
  const std::vector<T> squares = by_channel<T>(l, [&](std::size_t i, std::size_t channel) {
    return (x[i] - out.mean[channel]) * (x[i] - out.mean[channel]);
  });
  const std::vector<T> sums = channel_sums(squares, l);
  out.rstd = map(sums, [n, eps](T sum) { return rsqrt_of(sum / n + eps); });
  const T momentum = running.momentum;
  const auto learn = [momentum](T& kept, T seen) {
    kept = momentum * seen + (1 - momentum) * kept;
  };
  for (std::size_t c = 0; c < l.channels; ++c) {
    learn(running.mean[c], out.mean[c]);
    learn(running.variance[c], sums[c] / (n - 1));
  }
  return out;
}

/// Adds the gradients of batch_norm. The statistics depend on x, and so contribute to its gradient,
/// only in training.
template <std::floating_point T>
void batch_backward(Tape<T>& t, const std::array<Var, 3>& in, const Layout& l,
                    const Moments<T>& moments, bool training, const std::vector<T>& g) {
  const auto [x, weight, bias] = in;
  const std::vector<T>&values = t.values(x), &w = t.values(weight);
  const std::vector<T> y = by_channel<T>(l, [&](std::size_t i, std::size_t channel) {
    return (values[i] - moments.mean[channel]) * moments.rstd[channel];
  });
  std::vector<T> dw = channel_sums(products(g, y), l), db = channel_sums(g, l);
  if (t.needs_gradient(x)) {
    const T n = static_cast<T>(l.batch * l.spatial);
    const auto slope = [&](std::size_t i, std::size_t channel) {
      const T straight = training ? g[i] - db[channel] / n - y[i] * (dw[channel] / n) : g[i];
      return w[channel] * moments.rstd[channel] * straight;
    };
    t.add_gradient(x, by_channel<T>(l, slope));
  }
  t.add_gradient(weight, std::move(dw));
  t.add_gradient(bias, std::move(db));
}

}  // namespace

template <std::floating_point T>
Var layer_norm(Tape<T>& tape, Var x, Var weight, Var bias, T eps) {
  const Shape& shape = tape.shape(x);
  if (shape.empty() || shape.back() == 0) {
    throw shapes_do_not_fit("layer_norm", shape, tape.shape(weight));
  }
  const Layout l{.batch = elements(shape) / shape.back(), .channels = shape.back()};
  return row_norm(tape, "layer_norm", x, weight, bias, l, eps);
}

template <std::floating_point T>
Var group_norm(Tape<T>& tape, Var x, std::size_t groups, Var weight, Var bias, T eps) {
  const Shape& shape = tape.shape(x);
  if (shape.size() != 4 || groups == 0 || shape[1] % groups != 0) {
    throw Error(
        fmt::format("group_norm of {} in {} groups: x is (n, c, h, w), and c a multiple "
                    "of the groups",
                    shape_text(shape), groups));
  }
  const Layout l{shape[0], shape[1], shape[2] * shape[3], groups};
  return row_norm(tape, "group_norm", x, weight, bias, l, eps);
}

template <std::floating_point T>
Var batch_norm(Tape<T>& tape, Var x_in, Var weight, Var bias, RunningStatistics<T>& running,
               bool training, T eps) {
  const Shape shape = tape.shape(x_in);
  if (shape.size() != 4 && shape.size() != 2) {
    throw shapes_do_not_fit("batch_norm", shape, tape.shape(weight));
  }
  const Layout l{.batch = shape[0],
                 .channels = shape[1],
                 .spatial = shape.size() == 4 ? shape[2] * shape[3] : 1};
  need_weights(tape, "batch_norm", x_in, weight, bias, l);
  if (running.mean.size() != l.channels || running.variance.size() != l.channels ||
      (training && l.batch * l.spatial < 2)) {
    throw Error(
        fmt::format("batch_norm of {} with running statistics of {} and {} channels: "
                    "there must be {} of each, and in training two values of each channel",
                    shape_text(shape), running.mean.size(), running.variance.size(), l.channels));
  }
  const OpInputs op = op_inputs(tape, "batch_norm", {x_in});
  const std::array<Var, 3> in{op[0], weight, bias};
  const std::vector<T>&x = tape.values(op[0]), &w = tape.values(weight), &b = tape.values(bias);
  const Moments<T> moments =
      training ? batch_moments(x, l, eps, running)
               : Moments<T>{running.mean,
                            map(running.variance, [eps](T v) { return rsqrt_of(v + eps); })};
  std::vector<T> out = by_channel<T>(l, [&](std::size_t i, std::size_t channel) {
    return (x[i] - moments.mean[channel]) * moments.rstd[channel] * w[channel] + b[channel];
  });
  return tape.record("batch_norm", op.dtype, shape, std::move(out), {op[0], weight, bias},
                     [in, l, moments, training](Tape<T>& t, const std::vector<T>& g) {
                       batch_backward(t, in, l, moments, training, g);
                     });
}

#define BINADE_NORMS(T)                                             \
  template Var layer_norm(Tape<T>&, Var, Var, Var, T);              \
  template Var group_norm(Tape<T>&, Var, std::size_t, Var, Var, T); \
  template Var batch_norm(Tape<T>&, Var, Var, Var, RunningStatistics<T>&, bool, T);
BINADE_NORMS(float)
BINADE_NORMS(double)
#undef BINADE_NORMS

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// The workloads: their networks, and batches of their data sets in an order drawn from the seed.
#include "lib/runs/workloads.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "emulate/philox.h"
#include "lib/io/fnv.h"
#include "lib/runs/digits.h"
#include "lib/runs/fashion_mnist.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

/// First numbers of the random streams for epochs and texts; parameters use the small numbers.
constexpr std::uint64_t epoch_streams = std::uint64_t{1} << 32;
constexpr std::uint64_t text_streams = std::uint64_t{2} << 32;

constexpr std::size_t test_rows = 500;  ///< rows of a test batch

std::vector<std::size_t> permutation(std::size_t n, std::uint64_t seed, std::uint64_t epoch) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = n; i-- > 1;) {
    const std::uint64_t word = random_word(seed, epoch_streams + epoch, i);
    std::swap(order[i], order[static_cast<std::size_t>(word * (i + 1) >> 32)]);
  }
  return order;
}

/// Returns the given rows of a set of images as a batch, (n, features) if `flat`, else (n, c, h,
/// w).
template <std::floating_point T>
Batch<T> rows_of(const Images& from, const std::vector<std::size_t>& rows, bool flat) {
  const std::size_t size = from.channels * from.height * from.width;
  Batch<T> batch{.inputs = {}, .tokens = {}, .rows = rows.size(), .targets = {}};
  batch.inputs = Tensor<T>(flat ? Shape{rows.size(), size}
                                : Shape{rows.size(), from.channels, from.height, from.width});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      batch.inputs.values[i * size + j] = static_cast<T>(from.pixels[rows[i] * size + j]);
    }
    batch.targets.push_back(from.labels[rows[i]]);
  }
  return batch;
}

template <std::floating_point T>
void give_images(Workload<T>& out, const std::shared_ptr<const ImageSplit>& data, std::size_t batch,
                 bool flat) {
  constexpr std::size_t most_tests = 2000;
  const std::size_t tests = std::min(data->test.count, most_tests);
  struct Epoch {
    std::uint64_t seed = 0, number = ~std::uint64_t{0};
    std::vector<std::size_t> order;
  };
  const auto epoch = std::make_shared<Epoch>();
  out.train_batch = [data, epoch, batch, flat](std::uint64_t seed, std::int64_t step) {
    const std::size_t steps = data->train.count / batch;
    const std::uint64_t number = static_cast<std::uint64_t>(step) / steps;
    if (epoch->number != number || epoch->seed != seed) {
      *epoch = {seed, number, permutation(data->train.count, seed, number)};
    }
    const auto first = epoch->order.begin() + static_cast<std::ptrdiff_t>(
                                                  static_cast<std::uint64_t>(step) % steps * batch);
    return rows_of<T>(data->train, {first, first + static_cast<std::ptrdiff_t>(batch)}, flat);
  };
  out.test_batches = (tests + test_rows - 1) / test_rows;
  out.test_batch = [data, flat, tests](std::size_t i) {
    std::vector<std::size_t> rows(std::min(test_rows, tests - i * test_rows));
    std::iota(rows.begin(), rows.end(), i * test_rows);
    return rows_of<T>(data->test, rows, flat);
  };
}

/// Returns the texts of `length` characters that begin at `starts`; the target of a character is
/// the next character.
template <std::floating_point T>
Batch<T> texts_at(const std::vector<std::int32_t>& from, const std::vector<std::size_t>& starts,
                  std::size_t length) {
  Batch<T> batch{.inputs = {}, .tokens = {}, .rows = starts.size(), .targets = {}};
  for (const std::size_t start : starts) {
    for (std::size_t i = start; i < start + length; ++i) {
      batch.tokens.push_back(from[i]);
      batch.targets.push_back(from[i + 1]);
    }
  }
  return batch;
}

constexpr std::size_t text_length = 32;  ///< characters per row

Text long_enough(Text text) {
  if (text.train.size() < 2 * text_length || text.test.size() < 64 * text_length + 1) {
    throw Error(fmt::format("text of {} characters: too short to train on; give a longer one",
                            text.train.size() + text.test.size()));
  }
  return text;
}

template <std::floating_point T>
void give_texts(Workload<T>& out, const std::shared_ptr<const Text>& text, std::size_t batch) {
  out.train_batch = [text, batch](std::uint64_t seed, std::int64_t step) {
    const std::uint64_t room = text->train.size() - text_length;
    std::vector<std::size_t> starts(batch);
    for (std::size_t i = 0; i < batch; ++i) {
      const std::uint64_t word =
          random_word(seed, text_streams + static_cast<std::uint64_t>(step), i);
      starts[i] = static_cast<std::size_t>(word * room >> 32);
    }
    return texts_at<T>(text->train, starts, text_length);
  };
  out.test_batches = 4;
  out.test_batch = [text](std::size_t i) {
    std::vector<std::size_t> starts;
    for (std::size_t j = 0; j < 16; ++j) starts.push_back((i * 16 + j) * text_length);
    return texts_at<T>(text->test, starts, text_length);
  };
}

DataSet of_images(ImageSplit images) {
  return {.images = std::make_shared<const ImageSplit>(std::move(images)), .text = nullptr};
}

DataSet of_text(Text text) {
  return {.images = nullptr, .text = std::make_shared<const Text>(std::move(text))};
}

/// Adds the bytes of a list of numbers after their count.
template <class Numbers>
void add_numbers(Fnv1a& hash, const Numbers& numbers) {
  const std::uint64_t count = numbers.size();
  for (const auto bytes : {std::as_bytes(std::span(&count, 1)),
                           std::as_bytes(std::span<const typename Numbers::value_type>(numbers))}) {
    hash.add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
}

void add_images(Fnv1a& hash, const Images& images) {
  const std::array<std::uint64_t, 5> sizes{images.count, images.channels, images.height,
                                           images.width, images.classes};
  add_numbers(hash, sizes);
  add_numbers(hash, images.pixels);
  add_numbers(hash, images.labels);
}

std::string nothing() { return ""; }

constexpr DataSource digits_data{
    "digits", [](const std::string& data_folder) { return of_images(digits(data_folder)); },
    nothing};
constexpr DataSource fashion_data{
    "fashion_mnist", [](const std::string&) { return of_images(fashion_mnist()); },
    [] {
      return std::string(has_fashion_mnist()
                             ? ""
                             : "Fashion-MNIST is not here (apt-get install dataset-fashion-mnist)");
    }};
constexpr DataSource licence_data{
    "licence_text", [](const std::string&) { return of_text(long_enough(licence_text())); },
    [] { return std::string(has_licence_text() ? "" : "there are no licence texts here"); }};

/// Returns the makers of a network that a template of a type, of a seed and of a vocabulary gives.
template <class Make>
constexpr NetworkMaker maker_of(Make, bool takes_flat_images = false) {
  return {[](std::uint64_t seed, std::size_t vocabulary) {
            return Make{}.template operator()<float>(seed, vocabulary);
          },
          [](std::uint64_t seed, std::size_t vocabulary) {
            return Make{}.template operator()<double>(seed, vocabulary);
          },
          takes_flat_images};
}

constexpr auto all_workloads = std::to_array<WorkloadRow>({
    {"digits_mlp", &digits_data,
     maker_of(
         []<class T>(std::uint64_t seed, std::size_t) { return make_mlp<T>(MlpShape{}, seed); },
         true),
     128, "sgd", 0.1, "MLP 64-128-128-10, ReLU, on the digits"},
    {"digits_tanh8", &digits_data,
     maker_of(
         []<class T>(std::uint64_t seed, std::size_t) {
           return make_mlp<T>({.widths = {64, 64, 64, 64, 64, 64, 64, 64, 10},
                               .activation = HiddenActivation::tanh},
                              seed);
         },
         true),
     128, "sgd", 0.05, "MLP of eight layers of 64, tanh, on the digits"},
    {"fashion_cnn", &fashion_data, maker_of([]<class T>(std::uint64_t seed, std::size_t) {
       return make_cnn<T>({.channels = {8, 16}}, seed);
     }),
     64, "sgd", 0.05, "two convolutions (8, 16 channels) and batch norms, on Fashion-MNIST", false,
     true},
    {"char_transformer", &licence_data,
     maker_of([]<class T>(std::uint64_t seed, std::size_t vocabulary) {
       return make_transformer<T>(
           {.vocabulary = vocabulary, .length = text_length, .width = 32, .heads = 2, .layers = 2},
           seed);
     }),
     16, "adamw", 0.003, "two blocks of width 32, 32 characters, on the system's licences", true},
});

}  // namespace

std::span<const WorkloadRow> workload_rows() { return all_workloads; }

std::uint64_t digest_of(const DataSet& data) {
  Fnv1a hash;
  if (data.images) {
    add_images(hash, data.images->train);
    add_images(hash, data.images->test);
  } else {
    add_numbers(hash, data.text->vocabulary);
    add_numbers(hash, data.text->train);
    add_numbers(hash, data.text->test);
  }
  return hash.value();
}

std::size_t epoch_rows(const DataSet& data) {
  return data.images ? data.images->train.count : std::numeric_limits<std::size_t>::max();
}

void check_batch(std::string_view name, std::size_t batch, std::size_t epoch_rows) {
  if (batch == 0) batch = workload_row(name).batch;
  if (batch <= epoch_rows) return;
  throw Error(fmt::format("batch of {}: the data of {} have {} rows; give a smaller one", batch,
                          printable(name), epoch_rows));
}

std::string missing_data(std::string_view name) { return workload_row(name).data->missing(); }

const WorkloadRow& workload_row(std::string_view name) {
  const auto row = std::ranges::find(all_workloads, name, &WorkloadRow::name);
  if (row != all_workloads.end()) return *row;
  throw Error(fmt::format("workload {}: there is none; choose of {}", printable(name),
                          listed(names_of(all_workloads))));
}

template <std::floating_point T>
Workload<T> workload(std::string_view name, const DataSet& data, std::size_t batch) {
  const WorkloadRow& row = workload_row(name);
  if (batch == 0) batch = row.batch;
  check_batch(row.name, batch, epoch_rows(data));
  Workload<T> out;
  if (data.images) {
    give_images(out, data.images, batch, row.network.takes_flat_images);
  } else {
    give_texts(out, data.text, batch);
  }
  out.make = [network = row.network,
              vocabulary = data.text ? data.text->vocabulary.size() : 0](std::uint64_t seed) {
    if constexpr (std::same_as<T, float>) return network.in_float(seed, vocabulary);
    if constexpr (std::same_as<T, double>) return network.in_double(seed, vocabulary);
  };
  return out;
}

template <std::floating_point T>
Workload<T> workload(std::string_view name, const std::string& data_folder, std::size_t batch) {
  return workload<T>(name, workload_row(name).data->read(data_folder), batch);
}

template Workload<float> workload(std::string_view, const DataSet&, std::size_t);
template Workload<double> workload(std::string_view, const DataSet&, std::size_t);
template Workload<float> workload(std::string_view, const std::string&, std::size_t);
template Workload<double> workload(std::string_view, const std::string&, std::size_t);

}  // namespace binade

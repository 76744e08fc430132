// SPDX-License-Identifier: Apache-2.0
//
// The workloads that experiments and sweeps train, by name: networks on real data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "lib/runs/images.h"
#include "lib/runs/text_corpus.h"
#include "lib/train/trainer.h"

namespace binade {

/// A data set in memory, which any number of workloads may share: images or a text.
struct DataSet {
  std::shared_ptr<const ImageSplit> images;
  std::shared_ptr<const Text> text;
};

/// A data set as it can be had.
struct DataSource {
  std::string_view name;
  /// Throws Error if the data are missing, damaged or too few.
  DataSet (*read)(const std::string& data_folder);
  /// What this machine lacks of the data; empty if none are missing. Committed data are taken to be
  /// there.
  std::string (*missing)();
};

/// Functions that make a network from a seed; `vocabulary` is the size of a text's, 0 for images.
struct NetworkMaker {
  Model<float> (*in_float)(std::uint64_t seed, std::size_t vocabulary);
  Model<double> (*in_double)(std::uint64_t seed, std::size_t vocabulary);
  bool takes_flat_images = false;  ///< an image as one row of pixels
};

struct WorkloadRow {
  std::string_view name;
  const DataSource* data;
  NetworkMaker network;
  std::size_t batch;           ///< samples per step: images, or texts
  std::string_view optimizer;  ///< a name in optimizers(); its momentum, if it has one, is 0.9
  double lr;                   ///< a learning rate with which it trains well in binary32
  std::string_view what;
  bool attends = false;      ///< it has attention
  bool batch_norms = false;  ///< it has batch norms
};

/// The table.
std::span<const WorkloadRow> workload_rows();

/// Returns the row of a workload. Throws Error, which lists the names, for an unknown name.
const WorkloadRow& workload_row(std::string_view name);

/// Says which data the workload needs that this machine lacks; empty if none are missing. Throws
/// Error for an unknown name.
std::string missing_data(std::string_view name);

/// Returns a hash of all that a training can read of the data: of their contents, whatever the
/// files are called.
std::uint64_t digest_of(const DataSet& data);

/// Returns how many rows an epoch has, which is the largest batch; for text, which gives batches of
/// any size, the largest std::size_t.
std::size_t epoch_rows(const DataSet& data);

/// Throws Error if a batch (0: the workload's own) is larger than an epoch.
void check_batch(std::string_view name, std::size_t batch, std::size_t epoch_rows);

/// Returns the network and its data. An epoch of images is a permutation drawn from the seed that
/// train_batch is given; the rows after its last whole batch are not used. Of images to test, the
/// first 2000 are used. `batch` 0 is the workload's own. Throws Error as check_batch does. The data
/// are those that the workload's row names.
template <std::floating_point T>
Workload<T> workload(std::string_view name, const DataSet& data, std::size_t batch = 0);

/// The same with the data that are read from the folder; throws Error as DataSource::read does,
/// too.
template <std::floating_point T>
Workload<T> workload(std::string_view name, const std::string& data_folder, std::size_t batch = 0);

}  // namespace binade

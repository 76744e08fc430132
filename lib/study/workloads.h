// SPDX-License-Identifier: Apache-2.0
//
// Networks on real data, by name: what experiments and sweeps train.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "lib/train/trainer.h"

namespace binade {

struct WorkloadRow {
  std::string_view name;
  std::size_t batch;           ///< rows of a step
  std::string_view optimizer;  ///< of optimizers(); with momentum 0.9, where it takes one
  double lr;                   ///< with which it trains well in binary32
  std::string_view what;
  bool attends = false;
  bool batch_norms = false;
};
inline constexpr std::array<WorkloadRow, 4> workload_rows{{
    {"digits_mlp", 128, "sgd", 0.1, "MLP 64-128-128-10, ReLU, on the digits"},
    {"digits_tanh8", 128, "sgd", 0.05, "MLP of eight layers of 64, tanh, on the digits"},
    {"fashion_cnn", 64, "sgd", 0.05,
     "two convolutions (8, 16 channels) and batch norms, on Fashion-MNIST", false, true},
    {"char_transformer", 16, "adamw", 0.003,
     "two blocks of width 32, 32 characters, on the system's licences", true},
}};

/// Error with the names, or where the data are missing.
const WorkloadRow& workload_row(std::string_view name);

/// What a machine lacks for the workload, with the remedy; empty: nothing. The committed data are always there.
std::string missing_data(std::string_view name);

/// How many rows an epoch has, the most that a batch may have; text gives batches of any size. Reads the
/// data: Error where they are missing.
std::size_t epoch_rows(std::string_view name, const std::string& data_folder);

/// Error where a batch (0: the workload's own) is larger than an epoch.
void check_batch(std::string_view name, std::size_t batch, std::size_t epoch_rows);

/// The network and its data. Epochs are permutations drawn from the seed; what is left over of an epoch
/// is not used. `batch` 0: the row's.
template <std::floating_point T>
Workload<T> workload(std::string_view name, const std::string& data_folder, std::size_t batch = 0);

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// The 1797 handwritten digits of 8 × 8 pixels that are committed with the project (UCI Optical
// Recognition of Handwritten Digits, Alpaydin and Kaynak 1998).
#pragma once

#include <string>

#include "lib/runs/images.h"

namespace binade {

/// Returns 1437 images to train and 360 to test, in the order that torch.manual_seed(0) and
/// torch.randperm(1797) give: this is the split of experiments/data/make_digits_gradients.py.
/// Pixels are multiples of 1/16, from 0 to 1, and exact in every format of training_formats. Throws
/// Error if `data_folder` has no digits.csv.gz or it is damaged.
ImageSplit digits(const std::string& data_folder);

}  // namespace binade

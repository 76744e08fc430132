// SPDX-License-Identifier: Apache-2.0
//
// Fashion-MNIST (Xiao, Rasul and Vollgraf 2017): 60 000 images of 28 × 28 pixels to train, 10 000
// to test, ten classes. It is not committed; Debian packages it as dataset-fashion-mnist.
#pragma once

#include "lib/runs/images.h"

namespace binade {

/// Reads the images. Pixels are x/255, rounded to binary32. The folder of the files is
/// BINADE_FASHION_MNIST or, if that is not set or empty, the one of Debian's package; each file may
/// be gzipped or plain. Throws Error if a file is missing, its size or contents do not agree with
/// its header, or the images to train and to test differ in size.
ImageSplit fashion_mnist();

/// Returns whether BINADE_FASHION_MNIST is set and not empty, or Debian's package is installed. If
/// not, experiments that need the images are skipped.
bool has_fashion_mnist();

}  // namespace binade

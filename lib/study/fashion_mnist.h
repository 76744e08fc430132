// SPDX-License-Identifier: Apache-2.0
//
// Fashion-MNIST (Xiao, Rasul and Vollgraf 2017): 60 000 images of 28 × 28 pixels to train, 10 000 to
// test, ten classes. It is not committed; Debian packages it as dataset-fashion-mnist.
#pragma once

#include "lib/study/images.h"

namespace binade {

/// Pixels are x/255, rounded to binary32. The folder is BINADE_FASHION_MNIST, or where Debian's
/// package puts the files; each may be gzipped or plain. Error if one is missing or not what it says.
ImageSplit fashion_mnist();

/// Whether BINADE_FASHION_MNIST is set or Debian's package is there: where not, an experiment says that
/// it is skipped.
bool has_fashion_mnist();

}  // namespace binade

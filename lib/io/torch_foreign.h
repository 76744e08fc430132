// SPDX-License-Identifier: Apache-2.0
//
// Tensors in torch's pickles whose class, storage or dtype is not torch's own, or is not read:
// subclasses, nested, sparse and quantized ones, unknown dtypes. They are named and left out.
#pragma once

#include "lib/io/pickle.h"

namespace binade {

/// Returns the global that makes a foreign tensor, or is its class; null if the call makes a
/// tensor of torch's, or no tensor.
const PickleValue* foreign_maker(const PickleValue& call);

}  // namespace binade

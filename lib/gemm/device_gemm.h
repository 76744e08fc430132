// SPDX-License-Identifier: Apache-2.0
//
// Whole products whose sums a device makes, in pieces of bounded size; the epilogue is the emulator's. The
// same bytes as `gemm`'s.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/device/device.h"
#include "lib/device/matrix_product.h"
#include "lib/gemm/gemm.h"
#include "lib/gemm/named_gemm.h"

namespace binade {

/// What a device gets at a time, at most: a GiB with all that a kernel keeps of it.
struct ProductPiece {
  std::size_t rows = 4096, columns = 4096, k = 4096;
};

struct DeviceGemm {
  std::vector<std::uint64_t> d = {};  ///< as `gemm` gives it
  ProductWay way = ProductWay::emulated;
};

/// Error, naming the option of `binade gemm` to leave out, where sums are not in plain order: one chain, k
/// ascending.
void check_order_for_device(const GemmModel& model);

/// Error too where the device cannot multiply.
DeviceGemm gemm_on_device(Device& device, const NamedGemm& named, const GemmOperands& operands,
                          const GemmProgress& progress = {}, const ProductPiece& most = {});

}  // namespace binade

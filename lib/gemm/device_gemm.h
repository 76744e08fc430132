// SPDX-License-Identifier: Apache-2.0
//
// Whole matrix products whose sums a device computes, in pieces of bounded size. The CPU computes
// the epilogue by the emulator, and D has the same bytes as that of `gemm` (lib/gemm/gemm.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/device/device.h"
#include "lib/device/matrix_product.h"
#include "lib/gemm/gemm.h"
#include "lib/gemm/named_gemm.h"

namespace binade {

/// The largest product that a device is given at a time: with these defaults a kernel needs at most
/// a GiB for it.
struct ProductPiece {
  std::size_t rows = 4096, columns = 4096, k = 4096;
};

struct DeviceGemm {
  std::vector<std::uint64_t> d = {};      ///< D as `gemm` returns it: m × n, row after row
  ProductWay way = ProductWay::emulated;  ///< how the device computed the last piece
};

/// Throws Error unless the sums are in plain order, which is one chain with k ascending. The
/// message names the option of `binade gemm` to leave out.
void check_order_for_device(const GemmModel& model);

/// Computes a product with the sums of a device. Throws Error if the order is not plain, or if the
/// device cannot multiply by this instruction.
DeviceGemm gemm_on_device(Device& device, const NamedGemm& named, const GemmOperands& operands,
                          const GemmProgress& progress = {}, const ProductPiece& most = {});

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// What a number is: formats, rounding, operations, conversions and scalar instructions of PTX,
// Tensor Core instructions and whole matrix products, as constexpr functions of bits. These headers
// need nothing but a C++20 compiler with unsigned __int128 and IEEE arithmetic
// (emulate/compiler.h).
//
//     #include <binade/emulate.h>
//     static_assert(binade::convert(0x33000000, binade::binary32, binade::binary16).bits == 0);  // 2^-25 dies
#pragma once

#include "emulate/architectures.h"
#include "emulate/arithmetic.h"
#include "emulate/attributes.h"
#include "emulate/block.h"
#include "emulate/block_arrays.h"
#include "emulate/block_packing.h"
#include "emulate/block_quantize.h"
#include "emulate/carrier.h"
#include "emulate/codec.h"
#include "emulate/compare.h"
#include "emulate/compiler.h"
#include "emulate/cvt.h"
#include "emulate/cvt_lane.h"
#include "emulate/cvt_table.h"
#include "emulate/dot.h"
#include "emulate/dot_model.h"
#include "emulate/double_double.h"
#include "emulate/elementwise.h"
#include "emulate/event_count.h"
#include "emulate/format.h"
#include "emulate/functions.h"
#include "emulate/fused_sum.h"
#include "emulate/gemm.h"
#include "emulate/gemm_model.h"
#include "emulate/histogram.h"
#include "emulate/instruction_models.h"
#include "emulate/instruction_shapes.h"
#include "emulate/integer.h"
#include "emulate/integer_dot.h"
#include "emulate/leading_zeros.h"
#include "emulate/nonfinite.h"
#include "emulate/operation.h"
#include "emulate/philox.h"
#include "emulate/project.h"
#include "emulate/ptx_scalar.h"
#include "emulate/ptx_scalar_table.h"
#include "emulate/quantize.h"
#include "emulate/range_count.h"
#include "emulate/refined_functions.h"
#include "emulate/scale_rule.h"
#include "emulate/scale_rules.h"
#include "emulate/sm_target.h"
#include "emulate/sparse.h"
#include "emulate/stream_k.h"
#include "emulate/sum_order.h"
#include "emulate/tensor_core.h"
#include "emulate/trace.h"
#include "emulate/unscale.h"

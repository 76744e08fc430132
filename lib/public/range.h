// SPDX-License-Identifier: Apache-2.0
//
// What becomes of numbers in a format, on all threads and with the machine's fastest kernels:
// rounding arrays, operations on arrays, and RangeSummary, from which everything about zeros,
// subnormals, overflow and loss scales follows.
//
//     const binade::RangeSummary s = binade::range_summary(gradients);
//     const binade::Fates f = binade::fates(s, binade::binary16, 0);  // f.to_zero, f.subnormal, f.overflow
//     const auto scales = binade::scale_interval(s, binade::binary16, 1, 1e-3);
#pragma once

#include "lib/format/format_spec.h"
#include "lib/public/emulate.h"
#include "lib/public/error.h"
#include "lib/range/arrays.h"
#include "lib/range/fate.h"
#include "lib/range/summary.h"
#include "lib/range/summary_bytes.h"

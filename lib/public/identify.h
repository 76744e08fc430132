// SPDX-License-Identifier: Apache-2.0
//
// Searches for the models (instruction, order, epilogue) that explain every bit of what a kernel
// gave.
//
//     const auto types = binade::KernelTypes{binade::binary16, binade::binary16, binade::binary32, binade::binary32, {}};
//     const auto found = binade::identify(types, runs, {}, {});
//     std::cout << binade::identification_text(found, 5);
#pragma once

#include "lib/identify/identification.h"
#include "lib/identify/text.h"
#include "lib/public/gemm.h"

// SPDX-License-Identifier: Apache-2.0
//
// The dynamic loss scales of many frameworks as a table, and PyTorch's GradScaler, reproduced
// exactly.
//
//     binade::GradScaler scaler(binade::loss_scale_policy("torch"));
#pragma once

#include "lib/amp/grad_scaler.h"
#include "lib/amp/loss_scaler.h"
#include "lib/public/emulate.h"
#include "lib/public/error.h"

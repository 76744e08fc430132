// SPDX-License-Identifier: Apache-2.0
//
// The parts of the extension module: each function adds to m the classes and functions that the
// source file of its name defines.
#pragma once

#include <nanobind/nanobind.h>

namespace binade::python {

void add_formats(nanobind::module_& m);
void add_gemm_model(nanobind::module_& m);
void add_identification(nanobind::module_& m);
void add_live(nanobind::module_& m);
void add_loss_scaler(nanobind::module_& m);
void add_order_checker(nanobind::module_& m);
void add_products(nanobind::module_& m);
void add_range_summary(nanobind::module_& m);
void add_report(nanobind::module_& m);
void add_rounding(nanobind::module_& m);
void add_run_counts(nanobind::module_& m);
void add_training(nanobind::module_& m);
void add_value_products(nanobind::module_& m);

}  // namespace binade::python

// SPDX-License-Identifier: Apache-2.0
//
// What a framework's emulated products ask of matrices in memory that they know the address of: a model's products of
// binary32 numbers, prepared once for a length of K, and exact ones. Their names are private: an address is believed.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "emulate/architectures.h"
#include "emulate/fast/kernels.h"
#include "lib/cli/gemm_options.h"
#include "lib/format/format_spec.h"
#include "lib/gemm/exact_sums.h"
#include "lib/gemm/files.h"
#include "lib/gemm/prepared_product.h"
#include "lib/parallel/parallel.h"
#include "lib/python/arguments.h"
#include "lib/python/gemm_model.h"
#include "lib/python/interpreter.h"
#include "lib/python/module.h"
#include "lib/text/error.h"
#include "lib/train/product.h"

namespace binade::python {
namespace {

using namespace nanobind::literals;

const ModelObject& model_in(nb::handle x) {
  const auto* const model = held<ModelObject>(x);
  if (model == nullptr) throw nb::type_error("model: a GemmModel is wanted");
  if (result_dtype(model->named.model).name != "F32") {
    throw Error("model: one whose D is binary32 is wanted; give out_format=\"binary32\"");
  }
  return *model;
}

/// Numbers of binary32 as an instruction takes them.
class Reading {
 public:
  Reading(const Format& format, bool round) : format_(format), round_(round) {}

  /// The same numbers where they are on the format's grid; else rounded, or with tf32's low bits ignored, in `space`.
  /// Error where they are neither and `round` was not asked for.
  std::span<const float> operator()(std::span<const float> in, std::vector<float>& space) const {
    if (format_ == binary32) return in;
    space.resize(in.size());
    const bool ignores = format_ == tf32 && !round_;
    const Quantizer to{
        .format = format_,
        .attributes = {.rounding = ignores ? Rounding::toward_zero : Rounding::ties_to_even}};
    EventCounts counts{};
    fastest_kernels().quantize_f32(in.data(), space.data(), in.size(), 0, to, counts);
    if (!round_ && !ignores && (counts.inexact != 0 || counts.overflow != 0)) {
      throw Error(
          "operands are not numbers of the instruction's type; give a model with round=True");
    }
    return space;
  }

 private:
  Format format_;
  bool round_;
};

/// Matrices on all threads, or where they are few, each on all of them: some(begin, end).
template <class Some>
void for_batch(std::size_t batch, const Some& some) {
  const std::size_t threads = thread_count();
  if (batch < 2 * threads) return some(0, batch);
  parallel_for(batch, 1 + batch / (8 * threads),
               [&](std::size_t begin, std::size_t end, std::size_t) { some(begin, end); });
}

/// What lies at an address.
template <class T>
T* at(std::uint64_t address) {
  return reinterpret_cast<T*>(address);
}

class ValueProduct {
 public:
  ValueProduct(nb::handle model, Whole<std::size_t> k)
      : k_(k),
        read_a_(model_in(model).named.model.types.a, model_in(model).options.files.round),
        read_b_(model_in(model).named.model.types.b, model_in(model).options.files.round),
        product_(model_in(model).named.model, {.k = k}) {}

  /// D[i], m × n, of each of the batch's A[i], m × k, and B[i], n × k (a column of the product after another), all row after
  /// row; the steps are elements from one matrix to the next, 0: the same for all.
  void run(Whole<std::uint64_t> a, Whole<std::uint64_t> b, Whole<std::uint64_t> d,
           Whole<std::size_t> m, Whole<std::size_t> n, Whole<std::size_t> batch,
           Whole<std::size_t> step_a, Whole<std::size_t> step_b) const {
    const Released released;
    const auto matrix = [this](std::uint64_t address, std::size_t rows, std::size_t step,
                               std::size_t i) {
      return std::span(at<const float>(address) + i * step, rows * k_);
    };
    for_batch(batch, [&](std::size_t begin, std::size_t end) {
      std::vector<float> space_a, space_b;
      std::span<const float> right;
      for (std::size_t i = begin; i < end; ++i) {
        const std::span<const float> left = read_a_(matrix(a, m, step_a, i), space_a);
        if (i == begin || step_b != 0) right = read_b_(matrix(b, n, step_b, i), space_b);
        const std::vector<float> out =
            product_.all(GemmValues{.m = m, .n = n, .k = k_, .a = left, .b = right, .bias = {}});
        std::ranges::copy(out, at<float>(d) + i * m * n);
      }
    });
  }

 private:
  std::size_t k_;
  Reading read_a_, read_b_;
  PreparedProduct product_;
};

/// D[i] = alpha · A[i]·B[i] + beta · C[i] as ValueProduct::run has them, each exact and rounded once (exact_gemm); C at
/// address 0: none; its steps are elements from a matrix, a row and a column to the next.
void exact_products(Whole<std::uint64_t> a, Whole<std::uint64_t> b, Whole<std::uint64_t> c,
                    Whole<std::uint64_t> d, Whole<std::size_t> m, Whole<std::size_t> n,
                    Whole<std::size_t> k, Whole<std::size_t> batch, Whole<std::size_t> step_a,
                    Whole<std::size_t> step_b, std::array<Whole<std::size_t>, 3> steps_c,
                    double alpha, double beta, Truth to_odd) {
  const Released released;
  for_batch(batch, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      exact_gemm({.m = m,
                  .n = n,
                  .k = k,
                  .a = {at<const float>(a) + i * step_a, m * k},
                  .b = {at<const float>(b) + i * step_b, n * k},
                  .c = c == 0 ? nullptr : at<const float>(c) + i * steps_c[0],
                  .c_row = steps_c[1],
                  .c_column = steps_c[2],
                  .alpha = alpha,
                  .beta = beta,
                  .rounding = to_odd ? Rounding::to_odd : Rounding::ties_to_even},
                 {at<float>(d) + i * m * n, m * n});
    }
  });
}

/// The name of the instruction that an architecture's libraries use; "" where they have none.
std::string usual_instruction(Whole<int> sm, std::string_view format,
                              std::string_view accumulator) {
  const Architecture* const on = find_architecture(sm);
  if (on == nullptr) throw Error("sm_" + std::to_string(sm) + ": no architecture of the table");
  const UsualInstruction* const usual = on->usual_for(format, accumulator);
  return usual == nullptr ? "" : std::string(usual->name);
}

/// Whether a model's operands may be numbers of a format: as they are, rounded, or with the low bits that hardware ignores.
bool takes(nb::handle model, std::string_view format) {
  const ModelObject& how = model_in(model);
  const Format from = parse_format(format).format;
  const auto taken = [&](const Format& to) {
    return how.options.files.round || fits_in(from, to) || (from == binary32 && to == tf32);
  };
  return taken(how.named.model.types.a) && taken(how.named.model.types.b);
}

}  // namespace

void add_value_products(nb::module_& m) {
  nb::class_<ValueProduct>(m, "_ValueProduct")
      .def(nb::init<nb::handle, Whole<std::size_t>>(), "model"_a, "k"_a)
      .def("run", &ValueProduct::run, "a"_a, "b"_a, "d"_a, "m"_a, "n"_a, "batch"_a, "step_a"_a,
           "step_b"_a);
  m.def(
      "_amax_scale_log2",
      [](double amax, std::string_view format) {
        return amax_scale_log2(amax, parse_format(format).format);
      },
      "amax"_a, "format"_a);
  m.def("_exact_products", &exact_products, "a"_a, "b"_a, "c"_a, "d"_a, "m"_a, "n"_a, "k"_a,
        "batch"_a, "step_a"_a, "step_b"_a, "steps_c"_a, "alpha"_a, "beta"_a, "to_odd"_a);
  m.def("_takes", &takes, "model"_a, "format"_a);
  m.def("_usual_instruction", &usual_instruction, "sm"_a, "format"_a, "accumulator"_a);
}

}  // namespace binade::python

// SPDX-License-Identifier: Apache-2.0
//
// Private functions for the emulated products of binade.torch.tensor_cores, which pass addresses of
// matrices: products by a model that is prepared once for a length of K, and exact products. They
// are private because they trust the addresses they get.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "emulate/architectures.h"
#include "emulate/fast/kernels.h"
#include "lib/format/format_spec.h"
#include "lib/gemm/exact_gemm.h"
#include "lib/gemm/files.h"
#include "lib/gemm/gemm_words.h"
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

/// Numbers as an instruction takes them.
class Reading {
 public:
  Reading(const Format& format, std::string_view round)
      : format_(format), round_(operand_rounding(round)) {}

  /// The same numbers where they are on the format's grid; else rounded, or with tf32's low bits
  /// ignored. In `space` where they are not binary32 already. Error where they are neither and
  /// `round` was not asked for.
  const float* operator()(const std::byte* in, const Format& is, std::size_t n,
                          std::unique_ptr<float[]>& space) const {
    if (is == binary32 && format_ == binary32) return reinterpret_cast<const float*>(in);
    if (space == nullptr) space = std::make_unique_for_overwrite<float[]>(n);
    const bool ignores = format_ == tf32 && !round_;
    const Quantizer to{
        .format = format_,
        .attributes = {
            .rounding = round_.value_or(ignores ? Rounding::toward_zero : Rounding::ties_to_even)}};
    std::vector<EventCounts> counts(thread_count());
    parallel_for(n, std::size_t{1} << 15,
                 [&](std::size_t begin, std::size_t end, std::size_t slot) {
                   const Kernels& kernels = fastest_kernels();
                   float* const out = space.get() + begin;
                   const std::byte* const from = in + begin * code_bytes(is);
                   const auto* numbers = reinterpret_cast<const float*>(from);
                   if (is != binary32) {
                     kernels.decode_f32(from, out, end - begin, is);
                     numbers = out;
                   }
                   if (!fits_in(is, format_)) {
                     kernels.quantize_f32(numbers, out, end - begin, 0, to, counts[slot]);
                   }
                 });
    const bool changed = std::ranges::any_of(
        counts, [](const EventCounts& of) { return of.inexact != 0 || of.overflow != 0; });
    if (!round_ && !ignores && changed) {
      throw Error(
          "operands are not numbers of the instruction's type; give a model with round=True");
    }
    return space.get();
  }

 private:
  Format format_;
  std::optional<Rounding> round_;
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

/// Where each element of some axes lies, the last one innermost; of an axis (length, stride).
template <class Place>
std::vector<Place> places(nb::handle axes) {
  std::vector<std::int64_t> out{0};
  for (const nb::handle axis : axes) {
    const auto length = nb::cast<std::int64_t>(axis[0]), stride = nb::cast<std::int64_t>(axis[1]);
    std::vector<std::int64_t> all;
    all.reserve(out.size() * static_cast<std::size_t>(length));
    for (const std::int64_t at : out) {
      for (std::int64_t i = 0; i < length; ++i) all.push_back(at + i * stride);
    }
    out = std::move(all);
  }
  if (out.back() > std::numeric_limits<Place>::max()) {
    throw Error("the operands of one sum lie more than 2^31 numbers apart; give smaller matrices");
  }
  return {out.begin(), out.end()};
}

/// A framework's matrices, one side of a product: (address, format, elements from one to the next,
/// the axes of rows or columns, those of K).
class Matrices {
 public:
  explicit Matrices(nb::handle x)
      : first_(reinterpret_cast<const std::byte*>(nb::cast<std::uintptr_t>(x[0]))),
        format_(parse_format(nb::cast<std::string>(x[1])).format),
        step_(nb::cast<std::size_t>(x[2])),
        places_{places<std::int64_t>(x[3]), places<std::int32_t>(x[4])} {}

  std::size_t lines() const { return places_.starts.size(); }
  bool are_one() const { return step_ == 0; }

  ValueLines read(std::size_t i, const Reading& reading, std::unique_ptr<float[]>& space) const {
    const std::byte* const from = first_ + i * step_ * code_bytes(format_);
    const auto n = static_cast<std::size_t>(places_.starts.back() + places_.offsets.back() + 1);
    return places_.of(reading(from, format_, n, space));
  }

 private:
  const std::byte* first_;
  Format format_;
  std::size_t step_;
  LinePlaces places_;
};

class ValueProduct {
 public:
  ValueProduct(nb::handle model, Whole<std::size_t> k)
      : read_a_(model_in(model).named.model.types.a, model_in(model).options.files.round),
        read_b_(model_in(model).named.model.types.b, model_in(model).options.files.round),
        product_(model_in(model).named.model, {.k = k}) {}

  /// D[i], m × n, of each of the batch's A[i], of m rows, and B[i], of n columns, all row after
  /// row. What lies between operands in memory is read, too.
  void run(nb::handle of_a, nb::handle of_b, Whole<std::uint64_t> d,
           Whole<std::size_t> batch) const {
    const Matrices a(of_a), b(of_b);
    const Released released;
    for_batch(batch, [&](std::size_t begin, std::size_t end) {
      std::unique_ptr<float[]> space_a, space_b;
      GemmValues x;
      for (std::size_t i = begin; i < end; ++i) {
        if (i == begin || !a.are_one()) x.a = a.read(i, read_a_, space_a);
        if (i == begin || !b.are_one()) x.b = b.read(i, read_b_, space_b);
        product_.all(x, at<float>(d) + i * a.lines() * b.lines());
      }
    });
  }

 private:
  Reading read_a_, read_b_;
  PreparedProduct product_;
};

/// D[i] = alpha · A[i]·B[i] + beta · C[i], m × n, of numbers of binary32, A m × k and B n × k (a
/// column of the product after another), all row after row, each exact and rounded once
/// (exact_gemm); steps are elements from one matrix to the next, of C also from a row and a column
/// to the next. C at address 0: none.
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

/// The name of an architecture's usual instruction (emulate/architectures.h); "" where it has none.
std::string usual_instruction(Whole<int> sm, std::string_view format,
                              std::string_view accumulator) {
  const Architecture* const on = find_architecture(sm);
  if (on == nullptr) throw Error("sm_" + std::to_string(sm) + ": no architecture of the table");
  const UsualInstruction* const usual = on->usual_for(format, accumulator);
  return usual == nullptr ? "" : std::string(usual->name);
}

/// Whether a model's operands may be numbers of a format: as they are, rounded, or with the low
/// bits that hardware ignores.
bool takes(nb::handle model, std::string_view format) {
  const ModelObject& how = model_in(model);
  const Format from = parse_format(format).format;
  const auto taken = [&](const Format& to) {
    return !how.options.files.round.empty() || fits_in(from, to) ||
           (from == binary32 && to == tf32);
  };
  return taken(how.named.model.types.a) && taken(how.named.model.types.b);
}

}  // namespace

void add_value_products(nb::module_& m) {
  nb::class_<ValueProduct>(m, "_ValueProduct")
      .def(nb::init<nb::handle, Whole<std::size_t>>(), "model"_a, "k"_a)
      .def("run", &ValueProduct::run, "a"_a, "b"_a, "d"_a, "batch"_a);
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

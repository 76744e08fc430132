// SPDX-License-Identifier: Apache-2.0
//
// The functions on elements of arrays: quantize(), encode(), decode(), arith() and cvt(), PTX's
// conversions; and the class binade.Counts.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "lib/explain/shown_encoding.h"
#include "lib/gemm/files.h"
#include "lib/instruction/scalar_instruction.h"
#include "lib/number/encoding_text.h"
#include "lib/python/arguments.h"
#include "lib/python/arrays.h"
#include "lib/python/blocks.h"
#include "lib/python/keywords.h"
#include "lib/python/module.h"
#include "lib/range/elementwise.h"
#include "lib/range/quantize_stream.h"
#include "lib/text/error.h"
#include "lib/text/idle_option.h"
#include "lib/text/shape.h"
#include "lib/text/spelling.h"

namespace binade::python {
namespace {

using namespace nanobind::literals;

/// "e4m3" where a result of it is wanted as values.
void check_has_values(const NamedOrCustom& format) {
  if (fits_in(format.format, binary64)) return;
  throw Error(
      "format " + format.name +
      ": no dtype holds all its values, which go beyond binary64's; encode gives encodings");
}

/// The caller's own dtype where that holds the format, else the narrower of F32 and F64.
Dtype result_dtype(const Dtype& own, const Format& own_format, const Format& format) {
  return holds(own_format, format) ? own : value_dtype(format);
}

ResultKind results_in(const Dtype& dtype) {
  return dtype.name == "F32"   ? ResultKind::f32
         : dtype.name == "F64" ? ResultKind::f64
                               : ResultKind::encodings;
}

/// Values of F32 or F64 as encodings of a dtype that holds them.
void narrow(std::span<const std::byte> values, const Dtype& from, const Dtype& to,
            std::span<std::byte> out) {
  const Quantizer exactly{.format = *find_format(to.format),
                          .attributes = {.nan = NanResult::propagate}};
  quantize_elements(exactly, *find_format(from.format), ResultKind::encodings, values, 0, out);
}

/// fill(dtype, bytes) writes values of F32 or F64; they end in an array of `dtype`.
template <class Fill>
nb::object filled(const Dtype& dtype, const Format& format, std::span<const Array> in,
                  const Array& like, nb::handle out, const Fill& fill) {
  Target target(out, dtype, like.view.shape, in);
  const bool is_direct = results_in(dtype) != ResultKind::encodings;
  {
    const Released released;
    if (is_direct) {
      fill(dtype, target.bytes());
    } else {
      const Dtype wide = value_dtype(format);
      std::vector<std::byte> values(like.elements() * (wide.bits / 8));
      fill(wide, values);
      narrow(values, wide, dtype, target.bytes());
    }
  }
  return target.finished(like);
}

nb::object with_counts(nb::object result, const EventCounts& counts, bool wanted) {
  if (!wanted) return result;
  return nb::make_tuple(std::move(result), counts);
}

/// The attributes of rounding to a format. Throws Error if a word is wrong, or an option has no
/// effect.
Attributes rules_for(const NamedOrCustom& to, const AttributeOptions& words, std::uint64_t seed) {
  const Attributes out = attributes_of(words);
  check_effects(out, std::span(&to, 1));
  check_seed(out, seed);
  return out;
}

nb::object quantize_array(nb::handle x, nb::handle format, std::string_view rounding,
                          std::string_view saturation, std::string_view nan, std::string_view flush,
                          Whole<std::uint64_t> seed, Whole<int> random_bits, Truth counts,
                          nb::handle out, nb::handle scale_rule, Whole<int> axis,
                          nb::handle tensor_amax) {
  const AttributeOptions words = attribute_options(rounding, saturation, nan, flush, random_bits);
  const BlockArguments given{scale_rule, tensor_amax, axis};
  if (is_block_format(format)) {
    return quantize_to_blocks(x, format, words, seed, given, counts, out);
  }
  refuse_block_arguments(given);
  const NamedOrCustom& to = format_of(format);
  const Attributes rules = rules_for(to, words, seed);
  check_has_values(to);
  const Array in = array_of(x);
  const Format from = in.format("quantize");
  const Quantizer by{.format = to.format, .attributes = rules, .seed = seed};
  EventCounts found;
  nb::object result =
      filled(result_dtype(in.view.dtype, from, to.format), to.format, std::span(&in, 1), in, out,
             [&](const Dtype& dtype, std::span<std::byte> bytes) {
               found = quantize_elements(by, from, results_in(dtype), in.bytes(), 0, bytes);
             });
  return with_counts(std::move(result), found, counts);
}

nb::object encode_array(nb::handle x, nb::handle format, std::string_view rounding,
                        std::string_view saturation, std::string_view nan, std::string_view flush,
                        Whole<std::uint64_t> seed, Whole<int> random_bits, Truth counts,
                        Truth as_dtype, nb::handle out, nb::handle scale_rule, Whole<int> axis,
                        nb::handle tensor_amax, Truth packed) {
  const AttributeOptions words = attribute_options(rounding, saturation, nan, flush, random_bits);
  const BlockArguments given{scale_rule, tensor_amax, axis, packed};
  if (is_block_format(format)) {
    return encode_to_blocks(x, format, words, seed, given, counts, as_dtype, out);
  }
  refuse_block_arguments(given);
  const NamedOrCustom& to = format_of(format);
  const Attributes rules = rules_for(to, words, seed);
  const Array in = array_of(x);
  const Format from = in.format("encode");
  const Dtype dtype = as_dtype ? encoded_dtype(to.format) : code_dtype(to.format);
  Target target(out, dtype, in.view.shape, std::span(&in, 1));
  EventCounts found;
  {
    const Released released;
    found = quantize_elements({.format = to.format, .attributes = rules, .seed = seed}, from,
                              ResultKind::encodings, in.bytes(), 0, target.bytes());
  }
  nb::object result = target.finished(in);
  if (out.is_none() && as_dtype && in.wrap.is_none()) {
    result = python_call("_foreign", "to_ml_dtypes", result,
                         nb::str(dtype.name.data(), dtype.name.size()));
  }
  return with_counts(std::move(result), found, counts);
}

/// Error where an element has bits that no encoding has: two e2m1 in a byte, or another format.
void check_codes(const Array& in, const NamedOrCustom& of) {
  const Format& f = of.format;
  const auto width = static_cast<unsigned>(f.storage_bits());
  if (static_cast<unsigned>(f.bits()) == width) return;
  const std::uint64_t used = ((std::uint64_t{1} << f.bits()) - 1) << f.padding_bits;
  const std::size_t bytes = width / 8;
  parallel_for(
      in.elements(), std::size_t{1} << 14, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t i = begin; i < end; ++i) {
          std::uint64_t code = 0;
          std::memcpy(&code, in.view.data + i * bytes, bytes);
          if ((code & ~used) == 0) continue;
          throw Error("codes: element " + std::to_string(i) + ", " + bits_text(code, f) +
                      ", has bits beside the " + std::to_string(f.bits()) + " of " + of.name);
        }
      });
}

nb::object decode_array(nb::handle codes, nb::handle format, nb::handle scales,
                        nb::handle tensor_scale, Whole<int> axis, Truth packed, nb::handle out) {
  if (is_block_format(format)) {
    return decode_blocks(codes, format, scales, tensor_scale, axis, packed, out);
  }
  const std::string because = "without a block format, such as \"mxfp4\"";
  refuse_idle(std::array{IdleOption{"scales", !scales.is_none(), because},
                         IdleOption{"tensor_scale", !tensor_scale.is_none(), because},
                         IdleOption{"axis", axis != -1, because},
                         IdleOption{"packed", packed, because}});
  const NamedOrCustom& from = format_of(format);
  check_has_values(from);
  const Array in = array_of(codes);
  const Dtype& own = in.view.dtype;
  const bool is_bits = own.kind == DtypeKind::integer &&
                       own.bits == static_cast<unsigned>(from.format.storage_bits());
  const bool is_named = own.kind == DtypeKind::floating && *find_format(own.format) == from.format;
  if (!is_bits && !is_named) {
    throw Error("decode: an array of " + std::string(own.name) + "; codes of " + from.name +
                " are integers of " + std::to_string(from.format.storage_bits()) + " bits");
  }
  const Dtype dtype = value_dtype(from.format);
  Target target(out, dtype, in.view.shape, std::span(&in, 1));
  {
    const Released released;
    check_codes(in, from);
    decode_elements(from.format, in.bytes(), results_in(dtype), target.bytes());
  }
  return target.finished(in);
}

nb::object operate(std::string_view name, const nb::args& arrays, nb::handle format,
                   std::string_view rounding, std::string_view saturation, std::string_view nan,
                   std::string_view flush, Whole<std::uint64_t> seed, Whole<int> random_bits,
                   Truth counts, nb::handle out) {
  const NamedOperation& operation = parse_operation(name);
  const NamedOrCustom& to = format_of(format);
  const Attributes rules =
      rules_for(to, attribute_options(rounding, saturation, nan, flush, random_bits), seed);
  check_has_values(to);
  const auto wanted = static_cast<std::size_t>(operation.operands);
  if (arrays.size() != wanted) {
    throw Error(std::string(operation.name) + " has " + std::to_string(wanted) +
                (wanted == 1 ? " operand" : " operands") + ", not " +
                std::to_string(arrays.size()));
  }
  Elementwise how{
      .operation = operation.operation, .to = to.format, .attributes = rules, .seed = seed};
  std::vector<Array> in;
  for (std::size_t i = 0; i < wanted; ++i) {
    in.push_back(array_of(arrays[i]));
    how.from[i] = in[i].format("operand " + std::string(1, static_cast<char>('a' + i)));
  }
  // As the operand of most elements; of equals the one of most axes.
  const Array& whole = *std::ranges::max_element(
      in, {}, [](const Array& x) { return std::pair(x.elements() != 1, x.view.shape.size()); });
  std::vector<OperandBytes> operands;
  for (const Array& x : in) {
    const bool is_repeated = x.elements() == 1 && whole.elements() != 1;
    if (!is_repeated && x.view.shape != whole.view.shape && x.elements() != 1) {
      throw Error("shape " + shape_text(x.view.shape) + " beside " + shape_text(whole.view.shape) +
                  "; operands are of one shape, or of one element");
    }
    operands.push_back({x.bytes(), is_repeated});
  }
  EventCounts found;
  nb::object result =
      filled(result_dtype(whole.view.dtype, *find_format(whole.view.dtype.format), to.format),
             to.format, in, whole, out, [&](const Dtype& dtype, std::span<std::byte> bytes) {
               found = operate_on_elements(how, operands, 0, results_in(dtype), bytes);
             });
  return with_counts(std::move(result), found, counts);
}

/// An operand word of an instruction as bits: integers of its width as they are, floats where they
/// are numbers of its format.
std::vector<std::uint64_t> words_of(const Array& x, const ScalarOperation& operation, int word) {
  const int bits = operation.word_bits[static_cast<std::size_t>(word)];
  const bool is_rbits = operation.random && word == operation.words - 1;
  const bool is_number = !is_rbits && (operation.lanes == 1 || !operation.packed);
  const std::string name = "operand " + std::to_string(word + 1);
  std::vector<std::uint64_t> out(x.elements());
  const std::size_t width = x.view.dtype.bits / 8;
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::memcpy(&out[i], x.view.data + i * width, width);
  }
  const auto container = std::max(8U, std::bit_ceil(static_cast<unsigned>(bits)));
  if (x.view.dtype.kind == DtypeKind::integer && x.view.dtype.bits == container) {
    const std::uint64_t most = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (out[i] > most) {
        throw Error(name + ": element " + std::to_string(i) + " has more than " +
                    std::to_string(bits) + " bits");
      }
    }
    return out;
  }
  const Format& format = operation.from[operation.inputs == 1 ? 0 : static_cast<std::size_t>(word)];
  if (!is_number || x.view.dtype.kind != DtypeKind::floating) {
    throw Error(name + ": an array of " + std::string(x.view.dtype.name) +
                "; it is an integer of " + std::to_string(bits) + " bits" +
                (is_number ? ", or a number" : ""));
  }
  const Format from = *find_format(x.view.dtype.format);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i % 4096 == 0) poll();
    const Projected to = convert(out[i], from, format, {.nan = NanResult::propagate});
    if ((to.flags & ~Flag::invalid) != 0) {
      throw Error(name + ": element " + std::to_string(i) + " is no number of " + spec_of(format));
    }
    out[i] = to.bits;
  }
  return out;
}

nb::object convert_by_ptx(std::string_view name, const nb::args& arrays) {
  const ScalarInstruction& instruction = parse_scalar_instruction(name);
  const ScalarOperation& operation = instruction.operation;
  if (!instruction.is_emulated()) {
    throw Error(instruction.name + " is an approximation, whose bits only a recording knows");
  }
  const auto wanted = static_cast<std::size_t>(operation.words);
  if (arrays.size() != wanted) {
    throw Error(instruction.name + " takes " + std::to_string(wanted) +
                (wanted == 1 ? " operand" : " operands") + ", not " +
                std::to_string(arrays.size()));
  }
  std::vector<Array> in;
  for (std::size_t i = 0; i < wanted; ++i) in.push_back(array_of(arrays[i]));
  const Array& whole = *std::ranges::max_element(
      in, {}, [](const Array& x) { return std::pair(x.elements() != 1, x.view.shape.size()); });
  std::vector<std::vector<std::uint64_t>> words;
  for (std::size_t i = 0; i < wanted; ++i) {
    {
      const Released released;
      words.push_back(words_of(in[i], operation, static_cast<int>(i)));
    }
    if (in[i].elements() != 1 && in[i].view.shape != whole.view.shape) {
      throw Error("shape " + shape_text(in[i].view.shape) + " beside " +
                  shape_text(whole.view.shape) + "; operands are of one shape, or of one element");
    }
  }
  constexpr std::array names{"U8", "U16", "U32", "U64"};
  const auto bytes = std::bit_ceil(static_cast<unsigned>(operation.result_bits + 7) / 8);
  Dtype dtype = *find_dtype(names[static_cast<std::size_t>(std::countr_zero(bytes))]);
  if (operation.lanes == 1 && !is_integer(operation.result) &&
      operation.result.storage_bits() == operation.result_bits) {
    const Dtype named = encoded_dtype(operation.result);
    if (named.kind == DtypeKind::floating) dtype = named;
  }
  const NewArray array = new_array(dtype, whole.view.shape);
  {
    const Released released;
    parallel_for(whole.elements(), std::size_t{1} << 12,
                 [&](std::size_t begin, std::size_t end, std::size_t) {
                   for (std::size_t i = begin; i < end; ++i) {
                     ScalarOperands operands{};
                     for (std::size_t w = 0; w < wanted; ++w) {
                       operands[w] = words[w][words[w].size() == 1 ? 0 : i];
                     }
                     const std::uint64_t result = emulate(operation, operands);
                     std::memcpy(array.bytes.data() + i * bytes, &result, bytes);
                   }
                 });
  }
  return delivered(array, dtype, whole);
}

constexpr const char* rules_help = R"(; PTX's names ("rn", "rz", …) are understood, too.
    saturation: "none" (an overflow becomes infinity, or what the format has in its place) or "finite" (an overflow or an
        infinity becomes the largest finite number).
    nan: which NaN a result is: "quiet" (0x7E00 in binary16), "nvidia" (0x7FFF) or "propagate" (sign and payload of the operand).
    flush: "none", "results" (FTZ: a subnormal result becomes zero), "operands" (DAZ: an operand that is subnormal in the dtype
        of its array counts as zero) or "both".
    seed: seed of stochastic rounding, from 0 to 2^64 - 1; element i, in C order, draws word i of Philox stream 0.
    random_bits: how many bits of that word stochastic rounding uses, 1 to 32.

    Raises ValueError for a format or an option that there is not, or an option without effect, and TypeError for an array of
    another dtype.
)";

std::string with_rules(const char* text, const char* example) {
  std::vector<std::string> names = words_of_table(roundings);
  for (std::string& name : names) name = '"' + name + '"';
  const std::string known = alternatives(std::vector<std::string_view>(names.begin(), names.end()));
  return std::string(text) + "\n    rounding: " + known + rules_help +
         "\n    >>> import numpy as np\n" + example;
}

}  // namespace

void add_rounding(nb::module_& m) {
  static const std::string quantize_help = with_rules(
      R"(Rounds every element of an array to a format and returns the values.

    x: an array of any shape and floating dtype. format: a name such as "e4m3", a specification such as "e5m7", or a Format.
    Returns an array of x's library, shape and dtype; if the dtype does not hold every value of the format (its numbers, -0,
    infinities and NaNs), of float32, or else of float64. With counts=True the result is a pair of the array and the Counts of
    what happened. out: an array for the result, which may be x.

    format may be a block format, as "mxfp4", "nvfp4", "e2m1:block=1x32:scale=e8m0", whose blocks lie along `axis`. scale_rule: a
    name of scale_rules(); None: the first that fits. Some stacks compute in the dtype of x: numbers of bfloat16 that stand in
    float32 count as binary32's; give them in their own dtype. tensor_amax: the largest magnitude that the scale over a tensor is made of,
    rounded to binary32, where the format has one; None: that of x. Numbers of float64 are rounded to binary32 first. The values are exact in float64,
    for x of that dtype, else rounded once to float32. The counts are a dict of "elements", Counts, and "scales": blocks, and of
    these those whose scale a limit decided (clamped), is 0 (zero) or no number (nonfinite), whose largest number saturates, and
    the zeros that fill short blocks (padding). Elements are counted as their codes are: under a scale that is 0 all values are,
    which `zero` alone tells.
)",
      R"(    >>> quantize(np.array([0.1, 1000.0], "f"), "e4m3", saturation="finite")
    array([1.015625e-01, 4.480000e+02], dtype=float32)
)");
  m.def("quantize", &quantize_array, "x"_a.none(), "format"_a, nb::kw_only(),
        "rounding"_a = "ties_to_even", "saturation"_a = "none", "nan"_a = "quiet",
        "flush"_a = "none", "seed"_a = 0, "random_bits"_a = 32, "counts"_a = false,
        "out"_a = nb::none(), "scale_rule"_a = nb::none(), "axis"_a = -1,
        "tensor_amax"_a = nb::none(), quantize_help.c_str());
  static const std::string encode_help = with_rules(
      R"(Rounds every element of an array to a format and returns the encodings.

    x, format, counts, out: as for quantize(). Returns unsigned integers of the format's storage_bits (8 to 64), which hold the
    bits right-aligned; only those of tf32 are the 19 high bits of 32, as in a register. With as_dtype=True the result is an
    array of the dtype that has this format, if there is one: NumPy's float16 to float64, or bfloat16, float8_e4m3fn,
    float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz and float8_e8m0fnu of ml_dtypes (of torch for tensors). torch before 2.3 has
    no unsigned integers of 16 bits and more, so signed integers hold the bits there.

    For a block format, with scale_rule, axis and tensor_amax as for quantize(), the result is a tuple of the codes, a byte each;
    of the codes of the scales, one for each block (float32 where scales are); and of the scale of the tensor by which values are
    multiplied, a float, which is 1.0 where the format has none. packed=True: along the last axis two codes of 4 bits share a
    byte, the first in its low half (as torch.float4_e2m1fn_x2), and four of 6 bits share three.
)",
      R"(    >>> encode(np.array([0.1, 1.0], "f"), "binary16")
    array([11878, 15360], dtype=uint16)
)");
  m.def("encode", &encode_array, "x"_a.none(), "format"_a, nb::kw_only(),
        "rounding"_a = "ties_to_even", "saturation"_a = "none", "nan"_a = "quiet",
        "flush"_a = "none", "seed"_a = 0, "random_bits"_a = 32, "counts"_a = false,
        "as_dtype"_a = false, "out"_a = nb::none(), "scale_rule"_a = nb::none(), "axis"_a = -1,
        "tensor_amax"_a = nb::none(), "packed"_a = false, encode_help.c_str());
  m.def("decode", &decode_array, "codes"_a.none(), "format"_a, nb::kw_only(),
        "scales"_a = nb::none(), "tensor_scale"_a = nb::none(), "axis"_a = -1, "packed"_a = false,
        "out"_a = nb::none(),
        R"(Returns the exact values of encodings.

    codes: an array of any shape of integers of the format's storage_bits, or of the dtype that has the format. format: as for
    quantize(). Returns an array of that shape of float32 if it holds every number of the format, else of float64. out: an
    array for the result. Raises ValueError or TypeError if codes are not of that width or dtype.

    For a block format, scales and tensor_scale are as encode() returns them, and axis and packed as were given there. Values are of float32
    where scales are powers of two, else of float64, and exact but for those beyond float32.

    >>> import numpy as np
    >>> decode(np.array([0x2E66, 0x3C00], np.uint16), "binary16")
    array([0.09997559, 1.        ], dtype=float32)
)");
  static const std::string arith_help = with_rules(
      R"(Computes an arithmetic operation on every element, exactly, and rounds each result once to a format.

    operation: "add", "subtract", "multiply", "divide", "remainder", "square_root", "multiply_add", "minimum", "maximum",
    "minimum_number" or "maximum_number"; or, for short, "sub", "mul", "div", "rem", "sqrt", "fma", "min" and "max". arrays: as
    many arrays of floating dtypes as it has operands, all of one shape; one of a single element is used for every element.
    format, counts, out: as for quantize(). Returns what quantize() returns for the operand that has most elements.
)",
      R"(    >>> arith("fma", np.float32([3, 7]), np.float32([5, 9]), np.float32([1, 2]), format="e4m3")
    array([16., 64.], dtype=float32)
)");
  m.def("arith", &operate, "operation"_a, "arrays"_a, nb::kw_only(), "format"_a,
        "rounding"_a = "ties_to_even", "saturation"_a = "none", "nan"_a = "quiet",
        "flush"_a = "none", "seed"_a = 0, "random_bits"_a = 32, "counts"_a = false,
        "out"_a = nb::none(), arith_help.c_str());
  m.def("cvt", &convert_by_ptx, "instruction"_a, "operands"_a,
        R"(Runs a scalar or packed instruction of PTX, by its full name, on every element.

    operands: as many arrays as the instruction has operands, of one shape; one of a single element is used for every element.
    Integers of the operand's width, such as numpy.uint32, are its bits. Floats are taken by their values, which is possible if
    the operand is a single number. Returns an array of floats if the result is a number that a dtype has, else of unsigned
    integers that hold the bits of the result. Raises ValueError for an instruction that there is not, or with the wrong number
    of operands.

    >>> import numpy as np
    >>> cvt("cvt.rn.satfinite.e4m3x2.f32", np.float32([1.0]), np.float32([2.0]))
    array([14400], dtype=uint16)
)");
}

}  // namespace binade::python

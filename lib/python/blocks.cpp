// SPDX-License-Identifier: Apache-2.0
//
// Arrays to codes and scales of block formats and back. Codes have a byte each, or fill bytes.
#include "lib/python/blocks.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/stl/string.h>

#include "emulate/block_packing.h"
#include "lib/block/block_tensor.h"
#include "lib/format/block_spec.h"
#include "lib/parallel/parallel.h"
#include "lib/python/interpreter.h"
#include "lib/python/keywords.h"
#include "lib/range/quantize_stream.h"
#include "lib/text/error.h"
#include "lib/text/idle_option.h"
#include "lib/text/shape.h"

namespace binade::python {
namespace {

/// A block format, the rule of its scales, and where the blocks of an array are.
struct BlockCall {
  NamedOrCustomBlock format;
  BlockQuantizer to;
  BlockView view;
};

/// The largest magnitude of a tensor, rounded to binary32.
float amax_given(nb::handle x) {
  const double value = number_of("tensor_amax", x);
  if (!(value >= 0))
    throw Error("tensor_amax: a largest magnitude is a number that is not negative");
  return static_cast<float>(value);
}

float float_of(nb::handle x, const std::string& name) {
  const double value = PyFloat_AsDouble(x.ptr());
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  const auto out = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(out) == value) return out;
  throw Error(name + ": a number that binary32 does not have; round it first");
}

BlockCall call_of(nb::handle format, const AttributeOptions& words, std::uint64_t seed,
                  const BlockArguments& given, const Array& in, const Format& from) {
  BlockCall out{.format = parse_block_format(utf8_of(format)), .to = {}, .view = {}};
  out.to.format = out.format.format;
  out.to.attributes = element_attributes_of(words);
  check_seed(out.to.attributes, seed);
  out.to.seed = seed;
  const std::string rule =
      given.scale_rule.is_none() ? "" : argument_text("scale_rule", given.scale_rule);
  out.to.rule = rule_for(parse_scale_rule(rule, out.format), from);
  refuse_idle(std::array{
      IdleOption{"tensor_amax", !given.tensor_amax.is_none() && !out.to.format.tensor_scale,
                 "with " + out.format.name + ", which has no scale of the tensor"},
      IdleOption{"axis", given.axis != -1 && out.to.format.is_of_tensor(),
                 "with " + out.format.name + ", which has one scale for the tensor"},
  });
  out.view = block_view(out.to.format, in.view.shape, given.axis);
  return out;
}

/// The numbers of an array, with the scale of the given amax of the tensor or of the numbers' own.
std::vector<float> numbers_for(BlockCall& call, const Array& in, const Format& from,
                               nb::handle tensor_amax) {
  std::optional<float> given;
  if (!tensor_amax.is_none()) given = amax_given(tensor_amax);
  const Released released;
  std::vector<float> x(in.elements());
  to_binary32(from, in.bytes(), x);
  if (call.to.format.tensor_scale) {
    const std::uint32_t amax =
        given ? std::bit_cast<std::uint32_t>(*given) : amax_of(call.to.rule, x);
    call.to.tensor = tensor_scale(call.to.rule, call.to.format, amax);
  }
  return x;
}

BlockTensor blocks_of(BlockCall& call, const Array& in, const Format& from, nb::handle tensor_amax,
                      BlockCounts& counts) {
  const std::vector<float> x = numbers_for(call, in, from, tensor_amax);
  const Released released;
  return quantize_blocks(call.to, call.view, x, counts);
}

nb::object with_block_counts(nb::object result, const BlockCounts& counts, bool wanted) {
  if (!wanted) return result;
  nb::dict scales;
  scales["blocks"] = counts.scales.blocks;
  scales["clamped"] = counts.scales.clamped;
  scales["zero"] = counts.scales.zero;
  scales["nonfinite"] = counts.scales.nonfinite;
  scales["saturated"] = counts.scales.saturated;
  scales["padding"] = counts.padding;
  nb::dict out;
  out["elements"] = nb::cast(counts.elements);
  out["scales"] = scales;
  return nb::make_tuple(std::move(result), out);
}

void write_block_values(const BlockFormat& format, const BlockTensor& x, Target& target) {
  const Released released;
  std::byte* const bytes = target.bytes().data();
  const std::size_t n = x.view.elements();
  if (target.dtype().name == "F64") {
    values_of_blocks(format, x, std::span(reinterpret_cast<double*>(bytes), n));
  } else {
    values_of_blocks(format, x, std::span(reinterpret_cast<float*>(bytes), n));
  }
}

Dtype dtype_of_block_scales(const Format& scale) {
  return scale == binary32 ? *find_dtype("F32") : code_dtype(scale);
}

/// Integers as an array of the dtype that has the format.
nb::object as_ml_dtype(nb::object array, const Format& format, bool wanted) {
  if (!wanted) return array;
  const Dtype dtype = encoded_dtype(format == ue4m3 ? e4m3 : format);
  return python_call("_foreign", "to_ml_dtypes", array,
                     nb::str(dtype.name.data(), dtype.name.size()));
}

/// Throws Error unless the array holds codes of a format, as integers or in a dtype of their own.
void check_holds(const Array& array, const Format& of, const char* what,
                 const std::string& format) {
  const Dtype& own = array.view.dtype;
  const bool is_bits = own.kind == DtypeKind::integer && own.bits == 8 * code_bytes(of);
  const bool is_named =
      own.kind == DtypeKind::floating &&
      (*find_format(own.format) == of || (of == ue4m3 && *find_format(own.format) == e4m3));
  if (is_bits || is_named) return;
  throw Error(std::string("decode: ") + what + " of " + std::string(own.name) + "; those of " +
              format + " are " +
              (of == binary32 ? std::string("float32")
                              : "integers of " + std::to_string(8 * code_bytes(of)) + " bits"));
}

/// How many codes of a format fill how many bytes.
struct CodePacking {
  std::size_t codes = 1, bytes = 1;
};

CodePacking packing_of(const NamedOrCustomBlock& format) {
  switch (format.format.element.bits()) {
    case 4: return {2, 1};
    case 6: return {4, 3};
    default:
      throw Error("packed has no effect with " + format.name +
                  ", whose codes fill bytes as they are");
  }
}

/// The shape of packed codes, or of those that were packed: its last axis has `to` in the place of
/// `from` codes or bytes.
std::vector<std::uint64_t> repacked_shape(const std::vector<std::uint64_t>& shape, std::size_t from,
                                          std::size_t to, const char* what) {
  if (shape.empty() || shape.back() % from != 0) {
    throw Error("packed: a last axis of " + std::to_string(shape.empty() ? 1 : shape.back()) + ' ' +
                what + " is no multiple of " + std::to_string(from) + "; pad it");
  }
  std::vector<std::uint64_t> out = shape;
  out.back() = out.back() / from * to;
  return out;
}

/// "; packed codes have them: give packed=True", where the shape of scales says so.
std::string packed_hint(const NamedOrCustomBlock& format, bool packed,
                        const std::vector<std::uint64_t>& codes,
                        const std::vector<std::uint64_t>& scales, int axis) {
  const int bits = format.format.element.bits();
  if (packed || (bits != 4 && bits != 6) || codes.empty()) return "";
  const CodePacking packing = packing_of(format);
  if (codes.back() % packing.bytes != 0) return "";
  const BlockView view =
      block_view(format.format, repacked_shape(codes, packing.bytes, packing.codes, "bytes"), axis);
  return view.scale_shape == scales ? "; packed codes have those given: give packed=True" : "";
}

void pack_codes(const CodePacking& packing, const std::vector<std::byte>& codes, std::byte* out) {
  if (packing.codes == 2) {
    fastest_kernels().pack_4(codes.data(), codes.size(), out, NibbleOrder::low_first);
  } else {
    pack_6(codes.data(), codes.size(), out);
  }
}

std::vector<std::byte> unpacked_codes(const CodePacking& packing, std::span<const std::byte> in) {
  std::vector<std::byte> out(in.size() / packing.bytes * packing.codes);
  if (packing.codes == 2) {
    unpack_4(in.data(), out.size(), out.data());
  } else {
    unpack_6(in.data(), out.size(), out.data());
  }
  return out;
}

/// Throws Error where a byte has bits beside those of a code, as two packed ones have.
void check_unpacked(std::span<const std::byte> codes, const Format& f, const std::string& what,
                    const char* remedy) {
  const int bits = f.bits();
  for (std::size_t i = 0; bits < 8 && i < codes.size(); ++i) {
    if (std::to_integer<int>(codes[i]) >> bits == 0) continue;
    throw Error("decode: " + what + ' ' + std::to_string(i) + " has bits beside the " +
                std::to_string(bits) + " of a code" + remedy);
  }
}

}  // namespace

bool is_block_format(nb::handle format) {
  return nb::isinstance<nb::str>(format) && names_block_format(utf8_of(format));
}

void refuse_block_arguments(const BlockArguments& given) {
  const std::string because = "without a block format, such as \"mxfp4\"";
  refuse_idle(std::array{
      IdleOption{"scale_rule", !given.scale_rule.is_none(), because},
      IdleOption{"tensor_amax", !given.tensor_amax.is_none(), because},
      IdleOption{"axis", given.axis != -1, because},
      IdleOption{"packed", given.packed, because},
  });
}

nb::object quantize_to_blocks(nb::handle x, nb::handle format, const AttributeOptions& words,
                              std::uint64_t seed, const BlockArguments& given, bool counts,
                              nb::handle out) {
  const Array in = array_of(x);
  const Format from = in.format("quantize");
  BlockCall call = call_of(format, words, seed, given, in, from);
  BlockCounts found;
  Target target(out, *find_dtype(from == binary64 ? "F64" : "F32"), in.view.shape,
                std::span(&in, 1));
  if (from == binary64) {
    const BlockTensor made = blocks_of(call, in, from, given.tensor_amax, found);
    write_block_values(call.to.format, made, target);
  } else {
    const std::vector<float> numbers = numbers_for(call, in, from, given.tensor_amax);
    auto* const values = reinterpret_cast<float*>(target.bytes().data());
    const Released released;
    quantize_blocks(call.to, call.view, numbers, {.values = values}, found);
  }
  return with_block_counts(target.finished(in), found, counts);
}

nb::object encode_to_blocks(nb::handle x, nb::handle format, const AttributeOptions& words,
                            std::uint64_t seed, const BlockArguments& given, bool counts,
                            bool as_dtype, nb::handle out) {
  const Array in = array_of(x);
  const Format from = in.format("encode");
  BlockCall call = call_of(format, words, seed, given, in, from);
  const BlockFormat& f = call.to.format;
  const CodePacking packing = given.packed ? packing_of(call.format) : CodePacking{};
  const std::vector<std::uint64_t> shape =
      given.packed ? repacked_shape(in.view.shape, packing.codes, packing.bytes, "codes")
                   : in.view.shape;
  Target codes(out, code_dtype(f.element), shape, std::span(&in, 1));
  BlockCounts found;
  const BlockTensor made = blocks_of(call, in, from, given.tensor_amax, found);
  if (given.packed) {
    pack_codes(packing, made.codes, codes.bytes().data());
  } else if (!made.codes.empty()) {
    std::memcpy(codes.bytes().data(), made.codes.data(), made.codes.size());
  }
  const Dtype scale_dtype = dtype_of_block_scales(f.scale);
  const NewArray scales = new_array(scale_dtype, made.view.scale_shape);
  const std::size_t bytes = code_bytes(f.scale);
  for (std::size_t i = 0; i < made.scales.size(); ++i) {
    std::memcpy(scales.bytes.data() + i * bytes, &made.scales[i], bytes);
  }
  const bool named = as_dtype && in.wrap.is_none();
  nb::object result = nb::make_tuple(
      as_ml_dtype(codes.finished(in), f.element,
                  named && !f.twos_complement && f.element.bits() == 8 && out.is_none()),
      as_ml_dtype(delivered(scales, scale_dtype, in), f.scale, named && f.scale != binary32),
      std::bit_cast<float>(made.tensor.decode));
  return with_block_counts(std::move(result), found, counts);
}

nb::object decode_blocks(nb::handle codes, nb::handle format, nb::handle scales,
                         nb::handle tensor_scale, int axis, bool packed, nb::handle out) {
  const NamedOrCustomBlock named = parse_block_format(utf8_of(format));
  const BlockFormat& f = named.format;
  if (scales.is_none()) {
    throw Error("decode: codes of " + named.name +
                " have no values without their scales; give scales=");
  }
  if (f.tensor_scale && tensor_scale.is_none()) {
    throw Error("decode: " + named.name + " has a scale of the tensor; give tensor_scale=");
  }
  refuse_idle(std::array{
      IdleOption{"tensor_scale", !tensor_scale.is_none() && !f.tensor_scale,
                 "with " + named.name + ", which has no scale of the tensor"},
      IdleOption{"axis", axis != -1 && f.is_of_tensor(),
                 "with " + named.name + ", which has one scale for the tensor"},
  });
  const std::array<Array, 2> in{array_of_codes(codes), array_of(scales)};
  check_holds(in[0], f.element, "codes", named.name);
  check_holds(in[1], f.scale, "scales", named.name);
  const CodePacking packing = packed ? packing_of(named) : CodePacking{};
  const std::vector<std::uint64_t> shape =
      packed ? repacked_shape(in[0].view.shape, packing.bytes, packing.codes, "bytes")
             : in[0].view.shape;
  BlockTensor x{.view = block_view(f, shape, axis), .codes = {}, .scales = {}, .tensor = {}};
  if (in[1].view.shape != x.view.scale_shape) {
    throw Error("decode: scales of shape " + shape_text(in[1].view.shape) + "; codes of shape " +
                shape_text(shape) + " in " + named.name + " have scales of shape " +
                shape_text(x.view.scale_shape) +
                packed_hint(named, packed, in[0].view.shape, in[1].view.shape, axis));
  }
  if (packed) {
    x.codes = unpacked_codes(packing, in[0].bytes());
  } else {
    x.codes.assign(in[0].bytes().begin(), in[0].bytes().end());
  }
  check_unpacked(x.codes, f.element, "element", "; give packed=True if several share bytes");
  check_unpacked(in[1].bytes(), f.scale, "scale", ": a sign, which no scale has");
  const std::size_t bytes = code_bytes(f.scale);
  x.scales.resize(in[1].elements());
  for (std::size_t i = 0; i < x.scales.size(); ++i) {
    std::memcpy(&x.scales[i], in[1].bytes().data() + i * bytes, bytes);
  }
  if (f.tensor_scale) {
    const float scale = float_of(tensor_scale, "tensor_scale");
    if (scale < 0) throw Error("tensor_scale: a negative number, which no scale is");
    x.tensor.decode = std::bit_cast<std::uint32_t>(scale);
  }
  Target target(out, *find_dtype(f.scale == e8m0 ? "F32" : "F64"), shape, in);
  write_block_values(f, x, target);
  return target.finished(in[0]);
}

}  // namespace binade::python

// SPDX-License-Identifier: Apache-2.0
//
// A tensor is found by its own name. If A holds one tensor alone, and the other file the parts of
// one alone, names do not matter.
#include "lib/scales/quantized.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "lib/block/block_file.h"
#include "lib/io/opened_tensor.h"
#include "lib/range/element_index.h"
#include "lib/text/error.h"
#include "lib/text/shape.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

/// The numbers of the tensors in a file that are the parts of one.
struct QuantizedParts {
  std::size_t codes = 0, scales = 0;
  std::optional<std::size_t> tensor = {};
  std::vector<const CheckpointLayout*> layouts = {};
};

StoredArray stored_array(const TensorFile& file, std::size_t index) {
  const TensorInfo& info = file.tensors()[index];
  StoredArray out{.dtype = info.dtype, .shape = info.shape};
  out.bytes.reserve(info.bytes);
  file.read(index, [&](std::span<const std::byte> chunk) {
    out.bytes.insert(out.bytes.end(), chunk.begin(), chunk.end());
  });
  if (!info.fortran_order || info.shape.size() < 2) return out;
  const ElementIndex index_of = fortran_index(info.shape);
  if (!index_of) return out;
  const std::size_t size = info.dtype.bits / 8;
  std::vector<std::byte> turned(out.bytes.size());
  for (std::size_t i = 0; i < info.elements; ++i) {
    std::memcpy(&turned[index_of(i) * size], &out.bytes[i * size], size);
  }
  out.bytes = std::move(turned);
  return out;
}

std::uint32_t scale_of_tensor(const TensorFile& file, std::size_t index) {
  const TensorInfo& info = file.tensors()[index];
  if (info.elements != 1 || info.dtype.name != "F32") {
    throw error_in(file.path(),
                   fmt::format("{}: {} {}, where the scale of a tensor is one number in F32",
                               info.name.empty() ? "the array" : printable(info.name, 60),
                               info.dtype.name, shape_text(info.shape)),
                   "give a scale of one tensor");
  }
  const StoredArray stored = stored_array(file, index);
  std::uint32_t bits = 0;
  std::memcpy(&bits, stored.bytes.data(), sizeof bits);
  return bits;
}

std::uint32_t given_scale_of_tensor(const std::string& text) {
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) {
    return std::bit_cast<std::uint32_t>(value);
  }
  const OpenedTensor opened = open_tensor(text);
  return scale_of_tensor(*opened.file, opened.index);
}

std::optional<std::size_t> tensor_of_name(const TensorFile& file, std::string_view name) {
  const auto found = std::ranges::find(file.tensors(), name, &TensorInfo::name);
  if (found == file.tensors().end()) return std::nullopt;
  return static_cast<std::size_t>(found - file.tensors().begin());
}

/// The parts of a tensor by the first layout that has codes and scales of it, and all layouts that
/// have the same ones.
std::optional<QuantizedParts> parts_in(const TensorFile& file, std::string_view name) {
  std::optional<QuantizedParts> out;
  for (const CheckpointLayout& layout : checkpoint_layouts) {
    const auto codes = tensor_of_name(file, part_name(layout.elements, name));
    const auto scales = tensor_of_name(file, part_name(layout.scales, name));
    if (!codes || !scales) continue;
    std::optional<std::size_t> tensor;
    if (!layout.tensor.empty()) tensor = tensor_of_name(file, part_name(layout.tensor, name));
    if (!out) out = QuantizedParts{*codes, *scales, tensor};
    if (out->codes == *codes && out->scales == *scales && out->tensor == tensor) {
      out->layouts.push_back(&layout);
    }
  }
  return out;
}

/// The tensors of which a file has the parts.
std::vector<std::string> quantized_names(const TensorFile& file) {
  std::vector<std::string> out;
  for (const TensorInfo& info : file.tensors()) {
    for (const CheckpointLayout& layout : checkpoint_layouts) {
      const auto name = name_of_part(layout.scales, info.name);
      if (!name || !tensor_of_name(file, part_name(layout.elements, *name))) continue;
      if (std::ranges::find(out, *name) == out.end()) out.push_back(*name);
    }
  }
  return out;
}

Quantized numbers_given(const TensorFile& file, std::size_t index) {
  const TensorInfo& info = file.tensors()[index];
  if (info.dtype.kind != DtypeKind::floating) {
    throw error_in(file.path(), fmt::format("dtype {}, no floating-point numbers", info.dtype.name),
                   "give what was quantized, or say by --dtype what raw bytes hold");
  }
  if (info.elements == 0) throw error_in(file.path(), "no elements", "give one number at least");
  return {.name = info.name,
          .dtype = info.dtype,
          .shape = info.shape,
          .x = numbers_of_tensor(file, index, [](std::uint64_t) {}),
          .codes = {},
          .scales = {}};
}

void take_parts(Quantized& x, const TensorFile& file, const QuantizedParts& parts) {
  x.codes = stored_array(file, parts.codes);
  x.scales = stored_array(file, parts.scales);
  if (parts.tensor) x.tensor = scale_of_tensor(file, *parts.tensor);
  x.layouts = parts.layouts;
}

Error no_parts(const std::string& b, const std::string& what,
               const std::vector<std::string>& names) {
  if (names.empty()) {
    return error_in(b, "no tensor with its codes and scales by the names of any --layout",
                    "give the arrays themselves, --codes and --scales");
  }
  const std::vector<std::string_view> shown(
      names.begin(), names.begin() + std::min<std::ptrdiff_t>(std::ssize(names), 5));
  return error_in(b, fmt::format("no codes and scales of {}", what),
                  fmt::format("it has those of {}{}; name one, FILE:NAME, in both files",
                              listed(shown), names.size() > shown.size() ? " …" : ""));
}

void each_of_file(const ScaleFiles& files, const OpenOptions& options,
                  const std::function<void(Quantized&&)>& take) {
  const std::string b_path = file_of(files.b);
  const std::string b_name =
      files.b.size() > b_path.size() ? files.b.substr(b_path.size() + 1) : std::string();
  const auto b = open_tensor_file(b_path);
  const std::vector<std::string> names = quantized_names(*b);
  const std::string a_path = file_of(files.a);
  const auto a = open_tensor_file(a_path, options);
  const bool is_one = files.a.size() > a_path.size() || a->tensors().size() == 1 || !b_name.empty();
  if (is_one) {
    const bool by_name = files.a.size() == a_path.size() && a->tensors().size() > 1;
    const OpenedTensor given = open_tensor(by_name ? files.a + ":" + b_name : files.a, options);
    const std::string& name = given.info().name;
    auto parts = parts_in(*b, b_name.empty() ? name : b_name);
    if (!parts && b_name.empty() && names.size() == 1) parts = parts_in(*b, names[0]);
    if (!parts) {
      const std::string& wanted = b_name.empty() ? name : b_name;
      throw no_parts(b_path, wanted.empty() ? "a tensor without a name" : printable(wanted, 60),
                     names);
    }
    Quantized x = numbers_given(*given.file, given.index);
    take_parts(x, *b, *parts);
    return take(std::move(x));
  }
  bool any = false;
  for (std::size_t i = 0; i < a->tensors().size(); ++i) {
    const TensorInfo& info = a->tensors()[i];
    if (info.dtype.kind != DtypeKind::floating || info.elements == 0) continue;
    const auto parts = parts_in(*b, info.name);
    if (!parts) continue;
    Quantized x = numbers_given(*a, i);
    take_parts(x, *b, *parts);
    take(std::move(x));
    any = true;
  }
  if (!any) throw no_parts(b_path, "any tensor of " + printable(a_path, longest_path), names);
}

}  // namespace

void each_quantized(const ScaleFiles& files, const std::function<void(Quantized&&)>& take) {
  const OpenOptions options{.dtype = files.dtype.empty() ? std::optional<Dtype>{}
                                                         : parse_dtype(files.dtype)};
  if (!files.b.empty()) return each_of_file(files, options, take);
  const OpenedTensor given = open_tensor(files.a, options);
  Quantized x = numbers_given(*given.file, given.index);
  // Raw bytes are taken as what they are: which format they are of is what is found out.
  const OpenOptions raw{.dtype = find_dtype("U8")};
  const auto stored = [&](const std::string& where) {
    const OpenedTensor opened = open_tensor(where, raw);
    return stored_array(*opened.file, opened.index);
  };
  x.codes = stored(files.codes);
  x.scales = stored(files.scales);
  if (!files.tensor_scale.empty()) x.tensor = given_scale_of_tensor(files.tensor_scale);
  take(std::move(x));
}

}  // namespace binade

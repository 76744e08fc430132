// SPDX-License-Identifier: Apache-2.0
//
// A tensor is found by its own name. If A holds one tensor alone, and the other file the parts of
// one alone, names do not matter.
#include "lib/scales/quantized.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>

#include "lib/block/block_file.h"
#include "lib/block/block_view.h"
#include "lib/io/array_file.h"
#include "lib/io/opened_tensor.h"
#include "lib/text/error.h"
#include "lib/text/shape.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

/// Whether a number may be a scale of a tensor: other ones than those above 0 come from zeros, NaNs
/// and infinities alone.
bool may_scale(float scale, std::span<const float> x) {
  const auto any = [&](auto&& is) { return std::ranges::any_of(x, is); };
  if (std::isnan(scale)) return any([](float v) { return std::isnan(v); });
  if (std::signbit(scale)) return false;
  if (std::isinf(scale)) return any([](float v) { return !std::isfinite(v); });
  return scale > 0 || !any([](float v) { return std::abs(v) >= 0x1p-100F; });
}

std::vector<std::uint32_t> given_scales_of_tensor(const std::string& text, std::span<const float> x,
                                                  std::size_t most) {
  const auto check = [&](float value, const std::string& told) {
    if (may_scale(value, x)) return;
    throw Error("the scale of the tensor: " + told +
                " is no scale of these numbers; give a finite one above 0");
  };
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) {
    check(value, text);
    return {std::bit_cast<std::uint32_t>(value)};
  }
  std::error_code ignored;
  if (NamedArrays::find(text) == nullptr && !std::filesystem::exists(file_of(text), ignored)) {
    throw Error(
        fmt::format("the scale of the tensor: '{}' is no number of binary32, and no file "
                    "has this name; give one of them",
                    printable(text, 60)));
  }
  const OpenedTensor opened = open_tensor(text);
  const std::vector<std::uint32_t> out = stored_numbers(*opened.file, opened.index, most);
  for (const std::uint32_t bits : out) {
    const auto one = std::bit_cast<float>(bits);
    check(one, fmt::format("{:g} in {}", one, printable(text, longest_path)));
  }
  return out;
}

Quantized numbers_given(const TensorFile& file, std::size_t index, const OpenOptions& options) {
  const TensorInfo& info = file.tensors()[index];
  if (options.dtype && options.dtype->name != info.dtype.name) {
    throw error_in(file.path(),
                   fmt::format("its numbers are {}, whatever dtype is given", info.dtype.name),
                   "leave the dtype out");
  }
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

/// Gives codes of which each block has an axis of its own, as gpt-oss has them, the axes of x.
void join_blocks(StoredArray& codes, const std::vector<std::uint64_t>& shape) {
  const std::size_t axes = codes.shape.size();
  if (axes != shape.size() + 1 || axes < 2 || codes.shape[axes - 1] < 2) return;
  const std::uint64_t last = codes.shape[axes - 1];
  codes.shape.pop_back();
  codes.shape.back() *= last;
}

/// What a tensor became, with the scale of it, or of each in a stack.
struct GivenParts {
  Quantized x;
  std::vector<std::uint32_t> tensors = {};
};

GivenParts with_parts(Quantized&& x, const TensorFile& file, const QuantizedParts& parts) {
  GivenParts out{std::move(x)};
  out.x.codes = stored_array(file, parts.codes);
  join_blocks(out.x.codes, out.x.shape);
  out.x.scales = stored_array(file, parts.scales);
  if (parts.tensor) {
    out.tensors = stored_numbers(file, *parts.tensor, tensors_in_stack(out.x.shape));
  }
  out.x.layouts = parts.layouts;
  return out;
}

/// Array number i of n behind each other.
StoredArray slice_of(const StoredArray& all, std::size_t i, std::size_t n, std::string_view what) {
  const std::size_t bytes = all.bytes.size() / n, element = all.dtype.bits / 8;
  if (all.bytes.size() % n != 0 || bytes % element != 0) {
    throw Error(fmt::format("{} {} {} are not those of {} tensors in a stack", what, all.dtype.name,
                            shape_text(all.shape), n));
  }
  const bool is_axis = !all.shape.empty() && all.shape[0] == n;
  StoredArray out{.dtype = all.dtype, .shape = {bytes / element}};
  if (is_axis) out.shape.assign(all.shape.begin() + 1, all.shape.end());
  const auto begin = all.bytes.begin() + static_cast<std::ptrdiff_t>(i * bytes);
  out.bytes.assign(begin, begin + static_cast<std::ptrdiff_t>(bytes));
  return out;
}

/// Gives the tensor, or each of a stack.
void take_each(bool stack, GivenParts&& given, const std::function<void(Quantized&&)>& take) {
  Quantized& x = given.x;
  const bool is_stack = stack && x.shape.size() > 2;
  if (!is_stack && given.tensors.size() < 2) {
    if (!given.tensors.empty()) x.tensor = given.tensors[0];
    take(std::move(x));
    return;
  }
  const std::size_t n = x.shape[0], size = x.x.size() / n;
  for (std::size_t i = 0; i < n; ++i) {
    Quantized one{.name = fmt::format("{}[{}]", x.name, i),
                  .dtype = x.dtype,
                  .codes = slice_of(x.codes, i, n, "codes"),
                  .scales = slice_of(x.scales, i, n, "scales"),
                  .layouts = x.layouts,
                  .of_stack = true};
    one.shape.assign(x.shape.begin() + 1, x.shape.end());
    const auto begin = x.x.begin() + static_cast<std::ptrdiff_t>(i * size);
    one.x.assign(begin, begin + static_cast<std::ptrdiff_t>(size));
    if (!given.tensors.empty()) one.tensor = given.tensors[given.tensors.size() == 1 ? 0 : i];
    take(std::move(one));
  }
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

/// Tensors of a file that a layout has beside its codes and scales, and that are not read.
std::vector<std::string> unread_parts(const TensorFile& file) {
  std::vector<std::string> out;
  for (const TensorInfo& info : file.tensors()) {
    for (const CheckpointLayout& layout : checkpoint_layouts) {
      const auto is_end = [&](std::string_view end) {
        return !end.empty() && info.name.ends_with(end);
      };
      if (std::ranges::any_of(split(layout.unread, ' '), is_end)) {
        out.push_back(fmt::format("{}: {} {}, by {} a copy along columns, which is not read",
                                  printable(info.name, 60), info.dtype.name, shape_text(info.shape),
                                  layout.name));
      }
    }
  }
  return out;
}

/// Throws Error if no tensor that is taken may be a stack, though the caller says so.
void check_stack(const ScaleFiles& files, const Quantized& x) {
  if (!files.stack || x.shape.size() > 2) return;
  throw Error(
      fmt::format("--stack: {} {} has less than 3 axes, and no tensors along the first: leave "
                  "it out",
                  x.name.empty() ? "the array" : printable(x.name, 60), shape_text(x.shape)));
}

std::vector<std::string> each_of_file(const ScaleFiles& files, const OpenOptions& options,
                                      const std::function<void(Quantized&&)>& take) {
  const std::string b_path = file_of(files.b);
  const std::string b_name =
      files.b.size() > b_path.size() ? files.b.substr(b_path.size() + 1) : std::string();
  const auto b = open_tensor_file(b_path);
  const auto told = b->metadata().find("binade.stack");
  const bool stack = files.stack || (told != b->metadata().end() && told->second == "yes");
  const TensorPlaces places = tensor_places(*b);
  const std::vector<std::string> names = quantized_names(*b, places);
  const std::string a_path = file_of(files.a);
  const auto a = open_tensor_file(a_path, options);
  const bool is_one = files.a.size() > a_path.size() || a->tensors().size() == 1 || !b_name.empty();
  if (is_one) {
    const bool by_name = files.a.size() == a_path.size() && a->tensors().size() > 1;
    const OpenedTensor given = open_tensor(by_name ? files.a + ":" + b_name : files.a, options);
    const std::string& name = given.info().name;
    auto parts = parts_of_tensor(places, b_name.empty() ? name : b_name);
    // An array without a name of its own is held against the only tensor there is.
    const bool is_other = files.a.size() > a_path.size();
    if (!parts && !is_other && b_name.empty() && names.size() == 1) {
      parts = parts_of_tensor(places, names[0]);
    }
    if (!parts) {
      const std::string& wanted = b_name.empty() ? name : b_name;
      throw no_parts(b_path, wanted.empty() ? "a tensor without a name" : printable(wanted, 60),
                     names);
    }
    Quantized x = numbers_given(*given.file, given.index, options);
    check_stack(files, x);
    take_each(stack, with_parts(std::move(x), *b, *parts), take);
    const bool is_named = files.a.size() > a_path.size() || !b_name.empty();
    return is_named ? std::vector<std::string>() : unread_parts(*b);
  }
  if (files.stack && std::ranges::none_of(a->tensors(), [](const TensorInfo& info) {
        return info.shape.size() > 2;
      })) {
    throw error_in(a_path, "no tensor of 3 axes or more, as --stack takes apart", "leave it out");
  }
  std::set<std::string> held, empty;
  for (std::size_t i = 0; i < a->tensors().size(); ++i) {
    const TensorInfo& info = a->tensors()[i];
    if (info.dtype.kind != DtypeKind::floating) continue;
    const auto parts = parts_of_tensor(places, info.name);
    if (!parts) continue;
    if (info.elements == 0) {
      empty.insert(info.name);
      continue;
    }
    take_each(stack, with_parts(numbers_given(*a, i, options), *b, *parts), take);
    held.insert(info.name);
  }
  if (held.empty()) {
    throw no_parts(b_path, "any tensor of " + printable(a_path, longest_path), names);
  }
  std::vector<std::string> left = unread_parts(*b);
  for (const LonePart& part : lone_parts(*b, places, names)) {
    left.push_back(lone_part_text(*b, part));
  }
  for (const std::string& name : names) {
    if (held.contains(name) || empty.contains(name)) continue;
    left.push_back(printable(name, 60) + ": codes and scales of a tensor whose numbers A lacks");
  }
  return left;
}

}  // namespace

std::vector<std::string> each_quantized(const ScaleFiles& files,
                                        const std::function<void(Quantized&&)>& take) {
  const OpenOptions options{.dtype = files.dtype.empty() ? std::optional<Dtype>{}
                                                         : parse_dtype(files.dtype)};
  if (!files.b.empty()) return each_of_file(files, options, take);
  const OpenedTensor given = open_tensor(files.a, options);
  Quantized x = numbers_given(*given.file, given.index, options);
  check_stack(files, x);
  // Raw bytes are taken as what they are: which format they are of is what is found out.
  const OpenOptions raw{.dtype = find_dtype("U8")};
  const auto stored = [&](const std::string& where) {
    const OpenedTensor opened = open_tensor(where, raw);
    return stored_array(*opened.file, opened.index);
  };
  x.codes = stored(files.codes);
  join_blocks(x.codes, x.shape);
  x.scales = stored(files.scales);
  GivenParts all{std::move(x)};
  if (!files.tensor_scale.empty()) {
    all.tensors =
        given_scales_of_tensor(files.tensor_scale, all.x.x, tensors_in_stack(all.x.shape));
  }
  take_each(files.stack, std::move(all), take);
  return {};
}

}  // namespace binade

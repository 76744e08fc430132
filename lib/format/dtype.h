// SPDX-License-Identifier: Apache-2.0
//
// The element types that files hold, one row each, under the names that safetensors uses. A row
// says how wide an element is, what kind of value it is, which of binade's formats its bits are in,
// and what NumPy calls the type.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace binade {

/// The kind of an element. Packed types have elements that share bytes; foreign ones are those of a
/// class that is not torch's own. Tensors of these are listed and skipped, never read.
enum class DtypeKind { floating, integer, boolean, complex, packed, foreign };

struct Dtype {
  std::string_view name;  ///< safetensors' name: "BF16"
  unsigned bits = 0;      ///< width of one element
  DtypeKind kind = {};
  std::string_view format;  ///< binade's format: "bfloat16"; empty if there is none
  std::string_view npy;     ///< NumPy's type letter and size: "f4"; empty where NumPy has no type

  friend bool operator==(const Dtype& a, const Dtype& b) { return a.name == b.name; }
};

/// The type of tensors whose class this toolkit does not know. It is no row of the table.
inline constexpr Dtype foreign_dtype = {"foreign", 8, DtypeKind::foreign, "", ""};

/// Returns all rows of the table.
std::span<const Dtype> dtypes();

/// Returns the row with exactly this name of safetensors, or nothing.
std::optional<Dtype> find_dtype(std::string_view name);

/// Returns the row for any name a user may type, in any case: safetensors' ("F8_E4M3"), binade's
/// ("e4m3"), or, of floating types only, that of PyTorch, NumPy and ml_dtypes ("float8_e4m3fn",
/// "torch.float8_e4m3fn"). Integers are known by safetensors' names alone ("I32", not "int32").
/// Throws Error if the name is unknown.
Dtype parse_dtype(std::string_view name);

/// Returns "floating", "integer", …
std::string_view to_string(DtypeKind kind);

/// The size of an array: its elements (1 for the empty shape of a scalar) and their bytes. extent()
/// returns both as 0 if any side of the shape is 0, and nothing if the elements or their bits (not
/// bytes) are more than 2^63 - 1 or if the last element ends inside a byte.
struct Extent {
  std::uint64_t elements;
  std::uint64_t bytes;
};
std::optional<Extent> extent(std::span<const std::uint64_t> shape, const Dtype& dtype);

}  // namespace binade

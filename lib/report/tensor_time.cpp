// SPDX-License-Identifier: Apache-2.0
//
// Takes names apart. A name that does not fit exactly has no time, which is no error.
#include "lib/report/tensor_time.h"

#include <algorithm>
#include <charconv>

namespace binade {
namespace {

constexpr std::string_view prefix = "step";
constexpr std::uint64_t largest_step = std::uint64_t{1} << 53;

std::optional<std::uint64_t> parse_step(std::string_view digits) {
  std::uint64_t step = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, step);
  if (error != std::errc{} || stopped != end || step > largest_step) return {};
  return step;
}

}  // namespace

std::optional<TensorTime> tensor_time(std::string_view name) {
  if (!name.starts_with(prefix)) return {};
  name.remove_prefix(prefix.size());
  const std::size_t first = name.find('/');
  const std::size_t last = name.rfind('/');
  if (first == last || last <= first + 1) return {};  // a single slash, none, or an empty layer
  const std::optional<std::uint64_t> step = parse_step(name.substr(0, first));
  const auto* const role = std::ranges::find(tensor_role_names, name.substr(last + 1));
  if (!step || role == tensor_role_names.end()) return {};
  return TensorTime{*step, std::string(name.substr(first + 1, last - first - 1)),
                    static_cast<TensorRole>(role - tensor_role_names.begin())};
}

}  // namespace binade

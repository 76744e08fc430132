// SPDX-License-Identifier: Apache-2.0
//
// Writes field by field and reads the same way; refuses whatever no program has written.
#include "lib/report/part_bytes.h"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <utility>

#include "lib/report/counts_tensor_file.h"
#include "lib/report/used_scale.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::size_t longest_shape = 64;

TensorInfo info_from(CountsBytesReader& from) {
  TensorInfo out;
  out.name = from.text();
  out.dtype = dtype_from(from);
  const std::size_t dimensions = from.count(8);
  if (dimensions > longest_shape) from.refuse("damaged: it has a shape of too many dimensions");
  for (std::size_t d = 0; d < dimensions; ++d) out.shape.push_back(from.number());
  out.fortran_order = from.number(0, 1, "order of storage") == 1;
  const std::optional<Extent> size = extent(out.shape, out.dtype);
  if (!size) from.refuse("damaged: it has a shape that no tensor has");
  out.elements = size->elements;
  out.bytes = size->bytes;
  return out;
}

}  // namespace

std::string options_bytes(const ReportOptions& options) {
  CountsBytes to;
  to.number(options.headroom);
  to.number(std::bit_cast<std::uint64_t>(options.target_loss));
  to.number(std::bit_cast<std::uint64_t>(options.target_sqnr));
  to.number(std::bit_cast<std::uint64_t>(options.target_weight_sqnr));
  to.number(std::uint64_t{static_cast<std::uint8_t>(options.prefer)});
  to.number(std::uint64_t{options.formats.size()});
  for (const NamedFormat& row : options.formats) to.text(row.name);
  to.number(std::uint64_t{options.scales_log2.size()});
  for (const int scale : options.scales_log2) to.number(scale);
  to.text(options.dtype ? options.dtype->name : "");
  to.number(std::uint64_t{options.roles.size()});
  for (const RoleRule& rule : options.roles) to.text(rule.text);
  return to.bytes();
}

ReportOptions options_from(CountsBytesReader from) {
  ReportOptions out;
  out.headroom = from.number(0, most_headroom, "headroom");
  out.target_loss = std::bit_cast<double>(from.number());
  if (!(out.target_loss >= 0 && out.target_loss < 1))
    from.refuse("damaged: it has no such target loss");
  for (double* const target : {&out.target_sqnr, &out.target_weight_sqnr}) {
    *target = std::bit_cast<double>(from.number());
    if (!(*target >= 0 && *target <= 300)) from.refuse("damaged: it has no such target SQNR");
  }
  out.prefer = static_cast<ScaleChoice>(from.number(0, 2, "preference"));
  out.formats.clear();
  for (std::size_t n = from.count(8); n-- > 0;) out.formats.push_back(report_format_from(from));
  out.scales_log2.clear();
  for (std::size_t n = from.count(8); n-- > 0;) {
    out.scales_log2.push_back(from.number(lowest_scale_log2, highest_scale_log2, "scale"));
  }
  if (out.formats.empty() || std::ranges::find(out.scales_log2, 0) == out.scales_log2.end() ||
      out.formats.size() * out.scales_log2.size() > max_error_columns) {
    from.refuse("damaged: it has options that no report has");
  }
  if (const std::string_view name = from.text(); !name.empty()) {
    out.dtype = find_dtype(name);
    if (!out.dtype) from.refuse("damaged: it names a dtype that no file has");
  }
  for (std::size_t n = from.count(8); n-- > 0;) {
    out.roles.push_back(parse_role_rule("--role", from.text()));
    check_rules(out.roles);
  }
  if (!from.at_end()) from.refuse("damaged: it has more than options");
  return out;
}

std::string inputs_bytes(const TensorFiles& files) {
  CountsBytes to;
  to.number(std::uint64_t{files.size()});
  for (const auto& file : files) {
    to.text(file->path());
    to.number(file->file_bytes());
    to.number(static_cast<std::uint64_t>(file->modified_ns()));
    const auto used = file->metadata().find(used_scale_key);
    to.text(used == file->metadata().end() ? "" : used->second);
    to.number(std::uint64_t{file->tensors().size()});
    for (const TensorInfo& info : file->tensors()) {
      to.text(info.name);
      to.text(info.dtype.name);
      to.number(std::uint64_t{info.shape.size()});
      for (const std::uint64_t n : info.shape) to.number(n);
      to.number(info.fortran_order ? 1 : 0);
    }
  }
  return to.bytes();
}

TensorFiles inputs_from(CountsBytesReader from) {
  constexpr std::size_t least_of_file = 40, least_of_tensor = 32;
  TensorFiles out;
  for (std::size_t files = from.count(least_of_file); files-- > 0;) {
    const std::string path(from.text());
    from.number();  // size and time of modification, which are not needed
    from.number();
    const Counted absent{.metadata = {{used_scale_key, std::string(from.text())}}};
    std::vector<TensorInfo> tensors;
    for (std::size_t n = from.count(least_of_tensor); n-- > 0;) tensors.push_back(info_from(from));
    out.push_back(std::make_unique<CountsTensorFile>(path, std::move(tensors), absent));
  }
  if (!from.at_end()) from.refuse("damaged: it has more than inputs");
  return out;
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// The header is padded with spaces and ends in a newline so that the data begin at a multiple
// of 64.
#include "lib/io/npy_writer.h"

#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::size_t preamble = 10;
constexpr std::size_t alignment = 64;

std::string descr(const Dtype& dtype) {
  const std::string width = std::to_string(dtype.bits / 8);
  if (dtype.npy.empty()) return (dtype.bits > 8 ? "<V" : "|V") + width;
  return (dtype.bits > 8 ? "<" : "|") + std::string(dtype.npy);
}

}  // namespace

std::string npy_header(const std::string& path, const Dtype& dtype,
                       std::span<const std::uint64_t> shape, bool fortran_order) {
  std::string dict = "{'descr': '" + descr(dtype) +
                     "', 'fortran_order': " + (fortran_order ? "True" : "False") + ", 'shape': (";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    dict += (i == 0 ? "" : " ") + std::to_string(shape[i]) + (i + 1 < shape.size() ? "," : "");
  }
  dict += shape.size() == 1 ? ",), }" : "), }";
  const std::size_t end = preamble + dict.size() + 1;
  dict.append((alignment - end % alignment) % alignment, ' ');
  dict += '\n';
  if (!extent(shape, dtype) || dtype.kind == DtypeKind::packed || dict.size() > 65535 - preamble) {
    throw error_in(path, "a shape or type that .npy cannot hold", "write .safetensors");
  }
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(dict.size() & 0xFF);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

NpyWriter::NpyWriter(const std::string& path, const Dtype& dtype,
                     std::span<const std::uint64_t> shape, bool fortran_order)
    : path_(path), file_(path) {
  const std::string header = npy_header(path, dtype, shape, fortran_order);
  left_ = extent(shape, dtype)->bytes;
  file_.write(header);
}

void NpyWriter::write(std::span<const std::byte> data) {
  if (data.size() > left_) {
    throw error_in(path_, "more data than its shape holds", "report this as a bug of binade");
  }
  left_ -= data.size();
  file_.write(data);
}

void NpyWriter::finish() {
  if (left_ != 0) {
    throw error_in(path_, "fewer data than its shape holds", "report this as a bug of binade");
  }
  file_.commit();
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// The .npz file: each member is a .npy that must fill its entry to the last byte.
#include "lib/io/npz.h"

#include <algorithm>
#include <set>

#include "lib/io/file_format.h"
#include "lib/io/npy.h"
#include "lib/io/zip.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::string_view npy_extension = ".npy";

class NpzFile : public TensorFile {
 public:
  NpzFile(std::shared_ptr<const InputFile> file, const OpenOptions& options)
      : TensorFile(std::move(file)) {
    const std::string& path = file_->path();
    std::set<std::string> names;
    for (ZipMember& member : zip_directory(*file_)) {
      if (member.name.ends_with('/') && member.size == 0) continue;
      const std::string quoted = "member '" + printable(member.name) + "'";
      if (!member.name.ends_with(npy_extension)) {
        throw error_at(path, quoted + " is no .npy", member.header,
                       "save tensors with numpy.savez or safetensors");
      }
      if (!names.insert(member.name).second) {
        throw error_at(path, quoted + " is there twice, again", member.header, "save it once");
      }
      add(std::move(member), options);
    }
  }

  void read_data(std::size_t index, const ChunkSink& sink) const override {
    const TensorInfo& tensor = tensors_.at(index);
    const NpyHeader& header = headers_[index];
    ZipReader reader(label(members_[index]), *file_, members_[index]);
    std::vector<std::byte> buffer(header.size);
    reader.read(buffer);
    constexpr std::uint64_t most = std::uint64_t{4} << 20;
    for (std::uint64_t left = tensor.bytes; left != 0; left -= buffer.size()) {
      buffer.resize(std::min(left, most));
      reader.read(buffer);
      if (header.big_endian) swap_bytes(buffer, header.dtype);
      sink(buffer);
    }
    reader.finish();
  }

 private:
  std::string label(const ZipMember& member) const {
    return path() + "[" + printable(member.name) + "]";
  }

  void add(ZipMember member, const OpenOptions& options) {
    const std::string name = label(member);
    ZipReader reader(name, *file_, member);
    std::vector<std::byte> bytes(std::min<std::uint64_t>(npy_preamble, member.size));
    reader.read(bytes);
    const std::uint64_t size = npy_header_size(name, bytes);
    if (size > member.size) {
      throw error_at(name, "truncated header", member.size, "export the file again");
    }
    const std::size_t known = bytes.size();
    bytes.resize(size);
    if (size > known) reader.read(std::span(bytes).subspan(known));
    headers_.push_back(parse_npy_header(name, bytes, options.dtype));
    const std::uint64_t promised = headers_.back().extent.bytes;
    if (promised != member.size - size) {
      throw error_at(name,
                     "the header promises " + std::to_string(promised) +
                         " bytes of data, the archive " + std::to_string(member.size - size),
                     size, "export the file again");
    }
    std::string tensor = member.name.substr(0, member.name.size() - npy_extension.size());
    tensors_.push_back(npy_info(std::move(tensor), headers_.back()));
    members_.push_back(std::move(member));
  }

  std::vector<ZipMember> members_;
  std::vector<NpyHeader> headers_;
};

}  // namespace

/// Each tensor is named as its member, without ".npy". It is an Error if a member (other than an
/// empty folder) is no .npy or has another size than its header says, or if two have the same name.
extern const FileFormat npz_format{".npz", ".npz", ".npz", starts_as_npz,
                                   [](const std::string&, std::shared_ptr<const InputFile> file,
                                      const OpenOptions& options) -> std::unique_ptr<TensorFile> {
                                     return std::make_unique<NpzFile>(std::move(file), options);
                                   }};

}  // namespace binade

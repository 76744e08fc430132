// SPDX-License-Identifier: Apache-2.0
//
// Reads the members of the archive, each of which must have a place in the format, and checks
// tensors against their storages.
#include "lib/io/torch_file.h"

#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "lib/io/file_format.h"
#include "lib/io/torch_pickle.h"
#include "lib/io/zip.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::string_view pickle_member = "/data.pkl", storage_folder = "data/";
constexpr std::string_view cut_off = "a torch.save archive that was cut off";
constexpr std::string_view save_torch_again = "save it again with torch.save";

class TorchArchive {
 public:
  TorchArchive(std::shared_ptr<const InputFile> file, std::uint64_t begin, std::uint64_t size)
      : file_(std::move(file)), size_(size) {
    for (ZipMember& member : zip_directory(*file_, begin, size, cut_off)) take(std::move(member));
    // After torch.serialization.set_crc32_options(False), torch writes zeros for all checksums.
    has_checksums_ = std::ranges::any_of(members_, [](const auto& m) { return m.second.crc != 0; });
    for (const auto& [name, member] : members_) {
      if (!has_checksums_ || !name.starts_with(storage_folder)) continue;
      auto storage = std::make_shared<ChecksummedBytes>();
      storage->begin = member.packed_at;
      storage->size = member.size;
      storage->crc = member.crc;
      storages_.emplace(name, std::move(storage));
    }
    if (!members_.contains("data.pkl")) {
      throw error_at(file_->path(), "an archive without data.pkl", begin, save_torch_again);
    }
    if (members_.contains("byteorder") && contents("byteorder", 16) != "little") {
      throw error_at(file_->path(), "the elements are big-endian", members_.at("byteorder").header,
                     "save it on a little-endian machine");
    }
  }

  std::vector<TorchTensor> tensors() const {
    const std::string label =
        file_->path() + "[" + printable(prefix_) + std::string(pickle_member) + "]";
    std::vector<UnknownGlobal> unknown;
    const Pickle pickle(label, contents("data.pkl", Pickle::most_bytes),
                        noting_unknown_globals(unknown));
    std::vector<TorchTensor> out;
    std::uint64_t all = 0;
    for (PickledTensor& tensor : pickled_tensors(pickle, unknown)) {
      out.push_back(placed(label, std::move(tensor)));
      // A small file can describe a huge amount of tensor data: views with strides of 0, or many
      // views of one storage.
      constexpr std::uint64_t most_times = 1024, at_least = std::uint64_t{1} << 30;
      const std::uint64_t most = std::min(size_, std::uint64_t{1} << 50) * most_times + at_least;
      if (__builtin_add_overflow(all, out.back().info.bytes, &all) || all > most) {
        throw error_in(label,
                       "tensors of more than " + std::to_string(most) +
                           " bytes, more than 1024 times the archive's",
                       "save expanded tensors before they are expanded");
      }
    }
    return out;
  }

 private:
  void take(ZipMember member) {
    const std::string quoted = "member '" + printable(member.name) + "'";
    if (members_.empty()) prefix_ = member.name.substr(0, member.name.find('/'));
    const bool inside = member.name.starts_with(prefix_ + "/");
    std::string name = inside ? member.name.substr(prefix_.size() + 1) : "";
    constexpr std::string_view known[] = {"data.pkl",           "version",
                                          "byteorder",          ".format_version",
                                          ".storage_alignment", ".data/serialization_id"};
    if (name == "constants.pkl" || name.starts_with("code/")) {
      throw error_in(file_->path(), "an archive of TorchScript's, which is a program",
                     "save its tensors: torch.save(torch.jit.load(...).state_dict(), ...)");
    }
    if (!name.starts_with(storage_folder) && std::ranges::find(known, name) == std::end(known)) {
      throw error_at(file_->path(), quoted + " is none that torch.save writes, first",
                     member.header, save_torch_again);
    }
    if (member.deflated) {
      throw error_at(file_->path(), quoted + " is compressed, as torch.save leaves none,",
                     member.header, save_torch_again);
    }
    const std::uint64_t header = member.header;
    if (!members_.emplace(std::move(name), std::move(member)).second) {
      throw error_at(file_->path(), quoted + " is there twice, again", header, save_torch_again);
    }
  }

  /// Returns the whole contents of a small member.
  std::string contents(const std::string& name, std::uint64_t most) const {
    const ZipMember& member = members_.at(name);
    if (member.size > most) {
      throw error_at(file_->path(),
                     "member '" + printable(member.name) + "' is of more than " +
                         std::to_string(most) + " bytes",
                     member.header, save_torch_again);
    }
    std::string text(member.size, '\0');
    file_->read(member.packed_at, std::as_writable_bytes(std::span(text)));
    const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size());
    if (has_checksums_ && crc != member.crc) {
      throw error_at(file_->path(),
                     "the checksum (CRC-32) of member '" + printable(member.name) + "' differs",
                     member.packed_at, save_torch_again);
    }
    return text;
  }

  /// Returns a tensor that is listed and never read.
  TorchTensor foreign(PickledTensor tensor) const {
    TorchTensor out;
    out.info = {.name = std::move(tensor.name),
                .dtype = foreign_dtype,
                .shape = {0},
                .made_by = std::move(tensor.foreign)};
    out.block = {.file = file_, .offsets = {0}, .sizes = {0}, .strides = {0}};
    return out;
  }

  TorchTensor placed(const std::string& label, PickledTensor tensor) const {
    if (!tensor.foreign.empty()) return foreign(std::move(tensor));
    const std::string quoted = "tensor '" + printable(tensor.name) + "'";
    const auto fail = [&](const std::string& what) {
      throw error_at(label, quoted + " " + what, tensor.at, save_torch_again);
    };
    const std::string storage =
        "storage '" + printable(tensor.storage) + "' of " + std::to_string(tensor.storage_bytes);
    const auto found = members_.find(std::string(storage_folder) + std::string(tensor.storage));
    const std::uint64_t bytes = tensor.dtype.bits / 8;
    if (found == members_.end()) fail("is a view of " + storage + " bytes, which is missing,");
    const ZipMember& member = found->second;
    // The size of a storage is given in elements, so bytes at its end that make no whole element
    // are not counted.
    if (member.size < tensor.storage_bytes || member.size - tensor.storage_bytes >= bytes) {
      fail("is a view of " + storage + " bytes, which has " + std::to_string(member.size) + ",");
    }
    const auto size = extent(tensor.sizes, tensor.dtype);
    if (!size) fail("has an absurd shape,");
    const std::uint64_t available = tensor.storage_bytes / bytes;
    if (size->elements == 0) tensor.offset = 0;
    std::uint64_t reach = tensor.offset;  // becomes the index of the last element
    for (std::size_t i = 0; size->elements != 0 && i < tensor.sizes.size(); ++i) {
      std::uint64_t step = 0;
      if (tensor.sizes[i] == 1) tensor.strides[i] = 0;
      if (__builtin_mul_overflow(tensor.sizes[i] - 1, tensor.strides[i], &step) ||
          __builtin_add_overflow(reach, step, &reach)) {
        fail("has an absurd shape,");
      }
    }
    if (size->elements != 0 && reach >= available) {
      fail("reaches outside of its " + storage + " bytes,");
    }
    for (std::uint64_t& stride : tensor.strides) stride *= size->elements != 0 ? bytes : 0;
    TorchTensor out;
    out.info = {.name = std::move(tensor.name),
                .dtype = tensor.dtype,
                .shape = tensor.sizes,
                .elements = size->elements,
                .bytes = size->bytes};
    out.block = {.file = file_,
                 .begin = member.packed_at + tensor.offset * bytes,
                 .offsets = std::vector<std::uint64_t>(tensor.sizes.size()),
                 .sizes = std::move(tensor.sizes),
                 .strides = std::move(tensor.strides)};
    if (const auto stored = storages_.find(found->first); stored != storages_.end()) {
      out.block.storage = stored->second;
    }
    return out;
  }

  std::shared_ptr<const InputFile> file_;
  std::uint64_t size_;
  std::string prefix_;
  std::map<std::string, ZipMember> members_;  ///< by their names after "NAME/"
  bool has_checksums_ = false;
  std::map<std::string, std::shared_ptr<const ChecksummedBytes>> storages_;  ///< by the same names
};

}  // namespace

std::vector<TorchTensor> torch_tensors(std::shared_ptr<const InputFile> file, std::uint64_t begin,
                                       std::uint64_t size) {
  return TorchArchive(std::move(file), begin, size).tensors();
}

std::unique_ptr<TensorFile> open_torch_file(std::shared_ptr<const InputFile> file) {
  std::vector<TensorInfo> infos;
  std::vector<StridedFile::Blocks> blocks;
  for (TorchTensor& tensor : torch_tensors(file, 0, file->size())) {
    if (tensor.info.name.empty()) {
      tensor.info.name = std::filesystem::path(file->path()).stem().string();
    }
    infos.push_back(std::move(tensor.info));
    blocks.push_back({std::move(tensor.block)});
  }
  const std::string path = file->path();
  return std::make_unique<StridedFile>(path, std::move(file), std::move(infos), std::move(blocks));
}

extern const FileFormat torch_file_format{
    "torch.save's .pt", "torch.save's", "torch's", starts_as_torch,
    [](const std::string&, std::shared_ptr<const InputFile> file, const OpenOptions&) {
      return open_torch_file(std::move(file));
    }};

}  // namespace binade

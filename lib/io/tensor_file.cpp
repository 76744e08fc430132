// SPDX-License-Identifier: Apache-2.0
//
// Which reader a file needs, by its first bytes; and the files that a command line names.
#include "lib/io/tensor_file.h"

#include <glob.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>

#include "lib/io/array_file.h"
#include "lib/io/npy.h"
#include "lib/io/npz.h"
#include "lib/io/safetensors.h"
#include "lib/parallel/parallel.h"
#include "lib/tensor/error.h"

namespace binade {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> matches(const std::string& pattern) {
  std::error_code failed;
  if (pattern == "-" || fs::exists(pattern, failed)) return {pattern};
  struct Result {
    glob_t found = {};
    ~Result() { globfree(&found); }
  } result;
  std::vector<std::string> names;
  if (glob(pattern.c_str(), GLOB_BRACE | GLOB_NOSORT, nullptr, &result.found) == 0) {
    names.assign(result.found.gl_pathv, result.found.gl_pathv + result.found.gl_pathc);
    std::error_code ignored;
    std::erase_if(names, [&](const std::string& name) { return fs::is_directory(name, ignored); });
  }
  if (names.empty()) {
    const bool is_glob = pattern.find_first_of("*?[{") != std::string::npos;
    throw file_error(pattern,
                     is_glob  ? "matches no file"
                     : failed ? failed.message()
                              : "no such file",
                     "check the spelling");
  }
  return names;
}

bool begins_with(std::span<const std::byte> bytes, std::string_view beginning) {
  return bytes.size() >= beginning.size() &&
         std::memcmp(bytes.data(), beginning.data(), beginning.size()) == 0;
}

/// What torch.save writes: a .zip whose first member is NAME/data.pkl, before 1.6 pickles that begin with a
/// number of its own; and pickles of any kind under the names that its users give them.
bool starts_as_pytorch(std::span<const std::byte> bytes, const std::string& extension) {
  using namespace std::string_view_literals;
  constexpr std::size_t name_length_at = 26, name_at = 30;  // APPNOTE.TXT 4.3.7
  if (begins_with(bytes, "PK\x03\x04") && bytes.size() > name_at) {
    const auto length = std::to_integer<std::size_t>(bytes[name_length_at]) |
                        std::to_integer<std::size_t>(bytes[name_length_at + 1]) << 8;
    const auto rest = bytes.subspan(name_at);
    const std::string_view name(reinterpret_cast<const char*>(rest.data()),
                                std::min(length, rest.size()));
    return name.ends_with("/data.pkl");
  }
  const bool named = extension == ".pt" || extension == ".pth" || extension == ".ckpt" ||
                     extension == ".bin" || extension == ".pkl";
  return begins_with(bytes, "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20j\xa8P\x19"sv) ||
         (named && begins_with(bytes, "\x80"));
}

Error pytorch_error(const std::string& name) {
  const std::string path = name == "stdin" ? "FILE.pt" : name;
  const std::string to = fs::path(path).replace_extension(".safetensors").string();
  return error_in(
      name, "a file of torch.save's, which is Python inside",
      "convert it in Python: import torch, safetensors.torch; safetensors.torch.save_file("
      "{k: v.contiguous() for k, v in torch.load('" +
          printable(path, longest_path) + "', map_location='cpu').items()}, '" +
          printable(to, longest_path) + "')");
}

/// The reader that the first bytes ask for.
std::unique_ptr<TensorFile> open_by_contents(std::shared_ptr<const InputFile> file,
                                             const OpenOptions& options) {
  constexpr std::uint64_t beginning = 4096;
  const std::string path = file->path();
  std::vector<std::byte> bytes(std::min(file->size(), beginning));
  file->read(0, bytes);
  const std::string extension = fs::path(path).extension().string();
  if (bytes.empty()) throw error_in(path, "an empty file", "export it again");
  if (starts_as_npy(bytes)) return open_npy(std::move(file), options);
  if (starts_as_pytorch(bytes, extension)) throw pytorch_error(path);
  if (starts_as_npz(bytes)) return open_npz(std::move(file), options);
  if (starts_as_safetensors(bytes) || extension == ".safetensors") {
    return open_safetensors(std::move(file));
  }
  if (extension == ".npy" || extension == ".npz") {
    throw error_at(path, "the contents are not " + extension, 0, "export the file again");
  }
  throw error_in(path, "neither .safetensors nor .npy nor .npz by its contents",
                 "save tensors in one of these");
}

/// What went wrong in a file that changed meanwhile went wrong because it changed.
template <class Work>
auto unless_changed(const InputFile& file, Work&& work) {
  try {
    return work();
  } catch (const Error&) {
    file.check_unchanged();
    throw;
  }
}

}  // namespace

void TensorFile::read(std::size_t index, const ChunkSink& sink) const {
  if (!file_) return read_data(index, sink);
  const auto held = file_->hold();
  unless_changed(*file_, [&] { read_data(index, sink); });
  file_->check_unchanged();
}

void TensorFile::read_on_threads(std::size_t index, const PieceSink& sink) const {
  const auto divide_chunk = [&sink](std::span<const std::byte> chunk) {
    parallel_for(chunk.size(), InputFile::piece_bytes,
                 [&](std::size_t begin, std::size_t end, std::size_t slot) {
                   sink(chunk.subspan(begin, end - begin), slot);
                 });
  };
  if (!file_) return read_data(index, divide_chunk);
  const auto held = file_->hold();
  unless_changed(*file_, [&] {
    const std::optional<std::uint64_t> begin = begin_of(index);
    if (!begin) return read_data(index, divide_chunk);
    file_->stream_on_threads(*begin, tensors_[index].bytes, sink);
  });
  file_->check_unchanged();
}

std::unique_ptr<TensorFile> open_tensor_file(const std::string& path, const OpenOptions& options) {
  if (const FileOfArrays* arrays = NamedArrays::find(path)) return open_arrays(*arrays, options);
  const auto file = std::make_shared<const InputFile>(path);
  const auto held = file->hold();
  return unless_changed(*file, [&] { return open_by_contents(file, options); });
}

std::vector<std::string> expand_paths(std::span<const std::string> patterns) {
  std::vector<std::string> names;
  for (const std::string& pattern : patterns) {
    std::ranges::copy(matches(pattern), std::back_inserter(names));
  }
  std::ranges::sort(names);
  std::set<std::string> seen;
  std::erase_if(names, [&](const std::string& name) {
    std::error_code failed;
    const fs::path file = fs::canonical(is_standard_input(name) ? "/dev/stdin" : name, failed);
    return !seen.insert(failed ? input_name(name) : file.string()).second;
  });
  return names;
}

std::vector<std::uint64_t> read_elements(const TensorFile& file, std::size_t index) {
  const TensorInfo& info = file.tensors()[index];
  std::vector<std::uint64_t> out;
  out.reserve(info.elements);
  const auto append = [&out]<class Word>(std::span<const std::byte> chunk, Word word) {
    for (std::size_t i = 0; i + sizeof(Word) <= chunk.size(); i += sizeof(Word)) {
      std::memcpy(&word, chunk.data() + i, sizeof(Word));
      out.push_back(word);
    }
  };
  file.read(index, [&](std::span<const std::byte> chunk) {
    switch (info.dtype.bits) {
      case 8: return append(chunk, std::uint8_t{});
      case 16: return append(chunk, std::uint16_t{});
      case 32: return append(chunk, std::uint32_t{});
      default: return append(chunk, std::uint64_t{});
    }
  });
  return out;
}

}  // namespace binade

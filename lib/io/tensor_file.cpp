// SPDX-License-Identifier: Apache-2.0
//
// Chooses the reader of a file by its first bytes, and finds the files that a command line names.
#include "lib/io/tensor_file.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <set>
#include <string_view>

#include "lib/io/array_file.h"
#include "lib/io/file_format.h"
#include "lib/io/file_pattern.h"
#include "lib/io/torch_checkpoint.h"
#include "lib/parallel/parallel.h"
#include "lib/text/error.h"

namespace binade {
namespace {

namespace fs = std::filesystem;

/// Returns the file that describes a folder: for a folder of torch.distributed.checkpoint its
/// .metadata, else the path itself.
std::string file_of_folder(const std::string& path) {
  std::error_code failed;
  const fs::path inside = fs::path(path) / torch_checkpoint_metadata;
  return fs::is_directory(path, failed) && fs::exists(inside, failed) ? inside.string() : path;
}

std::vector<std::string> matches(const std::string& pattern) {
  std::error_code failed;
  if (pattern == "-" || fs::exists(pattern, failed)) return {pattern};
  const bool is_pattern = is_file_pattern(pattern);
  std::vector<std::string> names;
  if (is_pattern) {
    names = paths_matching(pattern);
    std::error_code ignored;
    std::erase_if(names, [&](const std::string& name) {
      return fs::is_directory(file_of_folder(name), ignored);
    });
  }
  if (names.empty()) {
    throw file_error(pattern,
                     is_pattern ? "matches no file"
                     : failed   ? failed.message()
                                : "no such file",
                     "check the spelling");
  }
  return names;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool begins_with(std::span<const std::byte> bytes, std::string_view beginning) {
  return text_of(bytes).starts_with(beginning);
}

/// Returns whether the bytes begin with the number that torch.save wrote before 1.6, as a pickle,
/// or are any pickle in a file with one of the extensions that torch's users give.
bool starts_as_bare_pickle(std::span<const std::byte> bytes, const std::string& extension) {
  using namespace std::string_view_literals;
  const bool named = extension == ".pt" || extension == ".pth" || extension == ".ckpt" ||
                     extension == ".bin" || extension == ".pkl";
  return begins_with(bytes, "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20j\xa8P\x19"sv) ||
         (named && begins_with(bytes, "\x80"));
}

Error bare_pickle_error(const std::string& name) {
  const fs::path path = name == "stdin" ? "FILE.pt" : name;
  const std::string to = (path.parent_path() / path.stem()).string() + "_archive.pt";
  return error_in(
      name, "a bare pickle, as torch.save wrote before 1.6, and not an archive as it writes now",
      "save its tensors again in Python: import torch; torch.save(torch.load('" +
          printable(path.string(), longest_path) + "', map_location='cpu'), '" +
          printable(to, longest_path) + "'); of a whole model its state_dict()");
}

/// Opens the file with the reader that its first bytes ask for.
std::unique_ptr<TensorFile> open_by_contents(const std::string& path,
                                             std::shared_ptr<const InputFile> file,
                                             const OpenOptions& options) {
  const std::string name = file->path();
  const std::vector<std::byte> bytes = beginning_of(*file);
  const std::string extension = fs::path(name).extension().string();
  if (bytes.empty()) throw error_in(name, "an empty file", "export it again");
  if (begins_with(bytes, run_file_prefix)) {
    if (options.open_run) return options.open_run(std::move(file));
    throw error_in(name, "a run that was counted while it ran holds no elements",
                   "binade report tells of it");
  }
  for (const FileFormat* format : file_formats()) {
    if (format->begins(bytes)) return format->open(path, std::move(file), options);
  }
  if (starts_as_bare_pickle(bytes, extension)) throw bare_pickle_error(name);
  for (const FileFormat* format : file_formats()) {
    if (extension != format->files) continue;
    if (format->is_opened_by_name) return format->open(path, std::move(file), options);
    throw error_at(name, "the contents are not " + extension, 0, "export the file again");
  }
  std::string none;
  for (const FileFormat* format : file_formats()) {
    if (format->contents.empty()) continue;
    none += (none.empty() ? "neither " : " nor ") + std::string(format->contents);
  }
  throw error_in(name, none + " by its contents", "save tensors in one of these");
}

/// Calls `work`, which reads the files. If a file changed meanwhile, the Error says that instead of
/// what went wrong in `work`.
void with_unchanged(const std::vector<const InputFile*>& files, const std::function<void()>& work) {
  constexpr std::size_t most_open = 64;  // the others are opened for each call
  std::vector<std::shared_ptr<const void>> held;
  for (const InputFile* file : files) {
    if (held.size() < most_open) held.push_back(file->hold());
  }
  const auto check = [&] {
    for (const InputFile* file : files) file->check_unchanged();
  };
  try {
    work();
  } catch (const Error&) {
    check();
    throw;
  }
  check();
}

}  // namespace

void TensorFile::read(std::size_t index, const ChunkSink& sink) const {
  with_unchanged(sources(index), [&] { read_data(index, sink); });
}

void TensorFile::read_on_threads(std::size_t index, const PieceSink& sink) const {
  with_unchanged(sources(index), [&] { read_data_on_threads(index, sink); });
}

void TensorFile::read_data_on_threads(std::size_t index, const PieceSink& sink) const {
  if (const std::optional<Place> place = place_of(index)) {
    return place->file->stream_on_threads(
        place->begin, tensors_[index].bytes,
        [&sink](std::span<const std::byte> piece, std::size_t slot, std::uint64_t) {
          sink(piece, slot);
        });
  }
  read_data(index, [&sink](std::span<const std::byte> chunk) {
    parallel_for(chunk.size(), InputFile::piece_bytes,
                 [&](std::size_t begin, std::size_t end, std::size_t slot) {
                   sink(chunk.subspan(begin, end - begin), slot);
                 });
  });
}

std::int64_t TensorFile::modified_ns() const {
  std::int64_t out = file_ ? file_->modified_ns() : 0;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    for (const InputFile* file : sources(i)) out = std::max(out, file->modified_ns());
  }
  return out;
}

std::vector<const InputFile*> TensorFile::sources(std::size_t) const {
  if (!file_) return {};
  return {file_.get()};
}

bool is_run_file(const std::string& path) {
  return begins_with(beginning_of(InputFile(path)), run_file_prefix);
}

std::unique_ptr<TensorFile> open_tensor_file(const std::string& path, const OpenOptions& options) {
  if (const FileOfArrays* arrays = NamedArrays::find(path)) return open_arrays(*arrays, options);
  const auto file = std::make_shared<const InputFile>(file_of_folder(path));
  std::unique_ptr<TensorFile> out;
  with_unchanged({file.get()}, [&] { out = open_by_contents(path, file, options); });
  return out;
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
    const fs::path file =
        fs::canonical(is_standard_input(name) ? "/dev/stdin" : file_of_folder(name), failed);
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

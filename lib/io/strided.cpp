// SPDX-License-Identifier: Apache-2.0
//
// A tensor is assembled box by box, where a box is what a chunk holds, and each block contributes
// its part of the box. If the elements of a part are close together in the file, the part is read
// in windows, which are runs along its widest stride; else it is read piece by piece along that
// stride.
#include "lib/io/strided.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "lib/parallel/parallel.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::uint64_t most_in_a_box = std::uint64_t{8} << 20;
constexpr std::uint64_t most_in_a_window = std::uint64_t{16} << 20;
constexpr std::uint64_t read_anyway = 4096;  ///< bytes that are read in the time that a call takes

/// One dimension of a part: the number of indices, and the distance between neighbours in bytes, in
/// the file and in the box.
struct Step {
  std::uint64_t count, from, to;
};

/// Returns the bytes from the beginning of the first element to the end of the last one.
std::uint64_t reach_of(std::span<const Step> steps, std::uint64_t element_bytes) {
  for (const Step& step : steps) element_bytes += (step.count - 1) * step.from;
  return element_bytes;
}

/// Returns the cost of reading a part, in bytes: the bytes read and, per call, read_anyway more, by
/// the cheaper of two methods: one window, or piece by piece along the widest stride.
std::uint64_t cost_of(std::span<const Step> steps, std::uint64_t element_bytes) {
  const std::uint64_t whole = reach_of(steps, element_bytes) + read_anyway;
  if (steps.empty()) return whole;
  const std::uint64_t inner = cost_of(steps.subspan(1), element_bytes);
  return inner < whole / steps[0].count ? inner * steps[0].count : whole;
}

/// Copies the elements of a window to their places in a box.
template <std::size_t Bytes>
void scatter(const std::byte* from, std::byte* to, std::span<const Step> steps) {
  if (steps.empty()) {
    std::memcpy(to, from, Bytes);
    return;
  }
  const Step step = steps.front();
  if (steps.size() == 1 && step.from == Bytes && step.to == Bytes) {
    std::memcpy(to, from, step.count * Bytes);
    return;
  }
  for (std::uint64_t i = 0; i < step.count; ++i) {
    if (steps.size() == 1) {
      std::memcpy(to + i * step.to, from + i * step.from, Bytes);
    } else {
      scatter<Bytes>(from + i * step.from, to + i * step.to, steps.subspan(1));
    }
  }
}

/// Returns the strides, in bytes, of elements that are contiguous in C order.
std::vector<std::uint64_t> c_strides(std::span<const std::uint64_t> sizes,
                                     std::uint64_t element_bytes) {
  std::vector<std::uint64_t> strides(sizes.size());
  for (std::size_t i = sizes.size(); i-- > 0; element_bytes *= sizes[i]) strides[i] = element_bytes;
  return strides;
}

std::uint64_t crc_after(std::uint64_t crc, std::span<const std::byte> bytes) {
  return crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

class BlockReader {
 public:
  BlockReader(std::span<const std::uint64_t> shape, std::uint64_t element_bytes,
              std::span<const StridedBlock> blocks)
      : shape_(shape), element_bytes_(element_bytes), blocks_(blocks) {}

  void stream(const ChunkSink& sink) {
    const std::size_t rank = shape_.size();
    std::vector<std::uint64_t> begin(rank), size(shape_.begin(), shape_.end());
    if (rank == 0) return read_box(begin, size, sink);
    // A chunk holds one index of the dimensions before `divided`, a run of indices of that
    // dimension, and all of those after it.
    std::size_t divided = rank - 1;
    std::uint64_t inner = element_bytes_;
    while (divided > 0 && shape_[divided] <= most_in_a_box / inner) inner *= shape_[divided--];
    const std::uint64_t rows = std::clamp<std::uint64_t>(most_in_a_box / inner, 1, shape_[divided]);
    std::fill_n(size.begin(), divided, 1);
    while (true) {
      size[divided] = std::min(rows, shape_[divided] - begin[divided]);
      read_box(begin, size, sink);
      begin[divided] += size[divided];
      for (std::size_t i = divided; begin[i] == shape_[i]; ++begin[--i]) {
        if (i == 0) return;
        begin[i] = 0;
      }
    }
  }

 private:
  void read_box(std::span<const std::uint64_t> begin, std::span<const std::uint64_t> size,
                const ChunkSink& sink) {
    poll();
    const std::vector<std::uint64_t> strides = c_strides(size, element_bytes_);
    box_.resize(std::accumulate(size.begin(), size.end(), element_bytes_, std::multiplies<>()));
    for (const StridedBlock& block : blocks_) {
      std::vector<Step> steps;
      std::uint64_t from = block.begin, to = 0;
      bool empty = false;
      for (std::size_t i = 0; i < size.size(); ++i) {
        const std::uint64_t first = std::max(begin[i], block.offsets[i]);
        const std::uint64_t last = std::min(begin[i] + size[i], block.offsets[i] + block.sizes[i]);
        if (first >= last) empty = true;
        if (empty) break;
        from += (first - block.offsets[i]) * block.strides[i];
        to += (first - begin[i]) * strides[i];
        if (last - first > 1) steps.push_back({last - first, block.strides[i], strides[i]});
      }
      if (empty) continue;
      std::ranges::stable_sort(steps, std::greater<>(), &Step::from);
      gather(*block.file, from, box_.data() + to, merged(steps));
    }
    sink(box_);
  }

  /// Merges neighbouring dimensions that are contiguous both in the file and in the box.
  static std::vector<Step> merged(const std::vector<Step>& steps) {
    std::vector<Step> out;
    for (const Step& step : steps) {
      if (!out.empty() && out.back().from == step.count * step.from &&
          out.back().to == step.count * step.to) {
        out.back() = {out.back().count * step.count, step.from, step.to};
      } else {
        out.push_back(step);
      }
    }
    return out;
  }

  void gather(const InputFile& file, std::uint64_t from, std::byte* to,
              std::span<const Step> steps) {
    const std::uint64_t reach = reach_of(steps, element_bytes_);
    const auto inner = steps.subspan(steps.empty() ? 0 : 1);
    const std::uint64_t inner_reach = reach_of(inner, element_bytes_);
    const bool apart = !steps.empty() && (inner_reach > most_in_a_window ||
                                          cost_of(inner, element_bytes_) < reach / steps[0].count);
    if (apart) {
      const Step step = steps.front();
      for (std::uint64_t i = 0; i < step.count; ++i) {
        gather(file, from + i * step.from, to + i * step.to, inner);
      }
      return;
    }
    if (reach > most_in_a_window) {
      const Step step = steps.front();
      const std::uint64_t most = (most_in_a_window - inner_reach) / step.from + 1;
      std::vector<Step> run(steps.begin(), steps.end());
      for (std::uint64_t i = 0; i < step.count; i += most) {
        run[0].count = std::min(most, step.count - i);
        gather(file, from + i * step.from, to + i * step.to, run);
      }
      return;
    }
    window_.resize(std::max<std::size_t>(window_.size(), reach));
    file.read(from, std::span(window_).first(reach));
    switch (element_bytes_) {
      case 1: return scatter<1>(window_.data(), to, steps);
      case 2: return scatter<2>(window_.data(), to, steps);
      case 4: return scatter<4>(window_.data(), to, steps);
      case 8: return scatter<8>(window_.data(), to, steps);
      default: return scatter<16>(window_.data(), to, steps);
    }
  }

  std::span<const std::uint64_t> shape_;
  std::uint64_t element_bytes_;
  std::span<const StridedBlock> blocks_;
  std::vector<std::byte> box_, window_;
};

/// Returns whether the elements are contiguous in C order; strides of dimensions of size 1 do not
/// matter.
bool is_contiguous(const StridedBlock& block, std::uint64_t element_bytes) {
  const std::vector<std::uint64_t> strides = c_strides(block.sizes, element_bytes);
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (block.sizes[i] > 1 && block.strides[i] != strides[i]) return false;
  }
  return true;
}

}  // namespace

StridedFile::StridedFile(std::string path, std::shared_ptr<const InputFile> directory,
                         std::vector<TensorInfo> tensors, std::vector<Blocks> blocks)
    : TensorFile(std::move(directory)), blocks_(std::move(blocks)) {
  path_ = std::move(path);
  tensors_ = std::move(tensors);
}

std::optional<TensorFile::Place> StridedFile::place_of(std::size_t index) const {
  const Blocks& blocks = blocks_.at(index);
  const bool whole = blocks.size() == 1 && is_contiguous(blocks[0], tensors_[index].dtype.bits / 8);
  if (!whole) return std::nullopt;
  return Place{blocks[0].file.get(), blocks[0].begin};
}

std::vector<const InputFile*> StridedFile::sources(std::size_t index) const {
  std::vector<const InputFile*> out;
  for (const StridedBlock& block : blocks_.at(index)) out.push_back(block.file.get());
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void StridedFile::check_crc(std::size_t index, const ChecksummedBytes& storage,
                            std::uint64_t found) const {
  if (storage.crc == found) return;
  throw error_at(
      blocks_[index][0].file->path(),
      "the checksum (CRC-32) of tensor '" + printable(tensors_[index].name) + "' differs",
      storage.begin, "the archive is damaged: save it again");
}

/// Returns whether reading the tensor reads exactly the bytes that a checksum covers, in order.
bool StridedFile::is_checked_whole(std::size_t index) const {
  const Blocks& blocks = blocks_[index];
  return blocks.size() == 1 && blocks[0].storage != nullptr &&
         blocks[0].storage->size == tensors_[index].bytes && place_of(index).has_value();
}

/// Checks the checksums of storages of which the tensor reads only a part: each is read as a whole,
/// once.
void StridedFile::check_storages(std::size_t index) const {
  for (const StridedBlock& block : blocks_[index]) {
    if (block.storage == nullptr) continue;
    const ChecksummedBytes& storage = *block.storage;
    std::call_once(storage.checked, [&] {
      std::uint64_t crc = 0;
      block.file->stream(storage.begin, storage.size, [&](std::span<const std::byte> chunk) {
        poll();
        crc = crc_after(crc, chunk);
      });
      check_crc(index, storage, crc);
    });
  }
}

void StridedFile::read_data(std::size_t index, const ChunkSink& sink) const {
  const TensorInfo& tensor = tensors_.at(index);
  if (tensor.elements == 0) return;
  const bool is_whole = is_checked_whole(index);
  if (!is_whole) check_storages(index);
  if (const auto place = place_of(index)) {
    std::uint64_t crc = 0;
    place->file->stream(place->begin, tensor.bytes, [&](std::span<const std::byte> chunk) {
      crc = crc_after(crc, chunk);
      sink(chunk);
    });
    if (is_whole) check_crc(index, *blocks_[index][0].storage, crc);
  } else {
    BlockReader(tensor.shape, tensor.dtype.bits / 8, blocks_[index]).stream(sink);
  }
}

void StridedFile::read_data_on_threads(std::size_t index, const PieceSink& sink) const {
  const auto place = place_of(index);
  if (!place) return TensorFile::read_data_on_threads(index, sink);
  const bool is_whole = is_checked_whole(index);
  if (!is_whole) check_storages(index);
  constexpr std::uint64_t most = InputFile::piece_bytes;
  const std::uint64_t bytes = tensors_[index].bytes;
  std::vector<std::uint64_t> crcs((bytes + most - 1) / most);
  place->file->stream_on_threads(
      place->begin, bytes,
      [&](std::span<const std::byte> piece, std::size_t slot, std::uint64_t begin) {
        crcs[begin / most] = crc_after(0, piece);
        sink(piece, slot);
      });
  std::uint64_t crc = 0;
  for (std::size_t i = 0; i < crcs.size(); ++i) {
    const std::uint64_t size = std::min(most, bytes - i * most);
    crc = crc32_combine(crc, crcs[i], static_cast<z_off_t>(size));
  }
  if (is_whole) check_crc(index, *blocks_[index][0].storage, crc);
}

}  // namespace binade

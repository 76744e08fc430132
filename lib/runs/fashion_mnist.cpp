// SPDX-License-Identifier: Apache-2.0
//
// Reads the idx files of MNIST and its successors: a magic number whose last byte is the number of
// dimensions, the dimensions as big-endian 32-bit numbers, then a byte per element.
//
//   0x00000803 | images | height | width | pixels       0x00000801 | labels | digits 0 … 9
#include "lib/runs/fashion_mnist.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "lib/io/gzip.h"
#include "lib/io/input_file.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr const char* debian_fashion_folder = "/usr/share/datasets/fashion-mnist";
constexpr std::size_t most_bytes_of_images = std::size_t{64} << 20;  // 47 040 016 when unzipped
constexpr std::uint32_t most_side = 1024;
constexpr std::uint32_t classes = 10;

/// Returns BINADE_FASHION_MNIST; empty if it is not set.
std::string given_folder() {
  const char* folder = std::getenv("BINADE_FASHION_MNIST");
  return folder != nullptr ? folder : "";
}

struct Idx {
  std::string path, bytes;

  std::uint32_t number(std::size_t index) const {  // big-endian; number 0 is the magic number
    std::uint32_t n = 0;
    for (std::size_t i = 4 * index; i < 4 * index + 4; ++i) {
      n = n << 8 | static_cast<unsigned char>(bytes[i]);
    }
    return n;
  }
};

/// Reads a file. Throws Error if its header is incomplete or has another magic number.
Idx read_idx(const std::string& folder, const std::string& name, std::uint32_t dimensions) {
  Idx idx{folder + "/" + name + ".gz", {}};
  std::error_code ignored;
  if (std::filesystem::exists(idx.path, ignored)) {
    idx.bytes = read_gzip(idx.path, most_bytes_of_images);
  } else {
    idx.path = folder + "/" + name;
    if (!std::filesystem::exists(idx.path, ignored)) {
      throw error_in(idx.path + ".gz", "no such file",
                     "apt-get install dataset-fashion-mnist, or set BINADE_FASHION_MNIST to the "
                     "folder of its four files");
    }
    idx.bytes = read_text(idx.path, most_bytes_of_images, "give the file that is asked for");
  }
  const std::uint32_t magic = 0x800 + dimensions;  // 0x08: the elements are bytes
  if (idx.bytes.size() < 4 * (dimensions + 1) || idx.number(0) != magic) {
    throw error_at(idx.path,
                   fmt::format("not the magic number 0x{:08x} and {} sizes", magic, dimensions), 0,
                   "fetch the data set again");
  }
  return idx;
}

void expect_size(const Idx& idx, std::size_t expected) {
  if (idx.bytes.size() == expected) return;
  throw error_in(idx.path,
                 fmt::format("{} bytes where its sizes promise {}", idx.bytes.size(), expected),
                 "fetch the data set again");
}

void read_labels(const std::string& folder, const std::string& name, Images& images) {
  const Idx idx = read_idx(folder, name, 1);
  const std::size_t header = 8;
  if (idx.number(1) != images.count) {
    throw error_in(idx.path, fmt::format("{} labels for {} images", idx.number(1), images.count),
                   "fetch the data set again");
  }
  expect_size(idx, header + images.count);
  for (std::size_t i = 0; i < images.count; ++i) {
    const auto label = static_cast<unsigned char>(idx.bytes[header + i]);
    if (label >= classes) {
      throw error_at(idx.path, fmt::format("label {}, of {} classes,", label, classes), header + i,
                     "fetch the data set again");
    }
    images.labels.push_back(label);
  }
}

Images read_images(const std::string& folder, const std::string& prefix) {
  const Idx idx = read_idx(folder, prefix + "-images-idx3-ubyte", 3);
  const std::uint32_t count = idx.number(1);
  const std::uint32_t height = idx.number(2);
  const std::uint32_t width = idx.number(3);
  if (count == 0 || height == 0 || width == 0 || height > most_side || width > most_side) {
    throw error_at(idx.path, fmt::format("{} images of {} x {} pixels", count, height, width), 4,
                   "fetch the data set again");
  }
  const std::size_t header = 16;
  expect_size(idx, header + std::size_t{count} * height * width);  // below 2^32 · 2^20
  Images out{.count = count,
             .channels = 1,
             .height = height,
             .width = width,
             .classes = classes,
             .pixels = {},
             .labels = {}};
  out.pixels.reserve(idx.bytes.size() - header);
  for (std::size_t i = header; i < idx.bytes.size(); ++i) {
    out.pixels.push_back(static_cast<float>(static_cast<unsigned char>(idx.bytes[i])) / 255.0F);
  }
  read_labels(folder, prefix + "-labels-idx1-ubyte", out);
  return out;
}

}  // namespace

bool has_fashion_mnist() {
  std::error_code ignored;
  return !given_folder().empty() || std::filesystem::is_directory(debian_fashion_folder, ignored);
}

ImageSplit fashion_mnist() {
  const std::string given = given_folder();
  const std::string folder = given.empty() ? debian_fashion_folder : given;
  ImageSplit split{read_images(folder, "train"), read_images(folder, "t10k")};
  if (split.train.height != split.test.height || split.train.width != split.test.width) {
    throw error_in(folder, "images to train and to test differ in size",
                   "fetch the data set again");
  }
  return split;
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// idx files made byte by byte, good and hostile; the real ones where Debian's package is installed.
#include "lib/runs/fashion_mnist.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "tests/lib/io/files.h"
#include "tests/lib/io/gzipped.h"

namespace binade::fashion_mnist_test {
namespace {

using test::error_of;
using test::has;

std::string big(std::uint32_t n) {
  return {static_cast<char>(n >> 24), static_cast<char>(n >> 16), static_cast<char>(n >> 8),
          static_cast<char>(n)};
}

std::string images(std::uint32_t count, std::uint32_t height, std::uint32_t width,
                   const std::string& pixels) {
  return big(0x803) + big(count) + big(height) + big(width) + pixels;
}

std::string labels(std::uint32_t count, const std::string& classes) {
  return big(0x801) + big(count) + classes;
}

/// A folder of four small files, two images of 2 × 3 to train and one to test, that the reader
/// takes.
class Files {
 public:
  Files() {
    train_images(images(2, 2, 3, {"\0\1\2\3\4\5\x80\xFA\xFB\xFC\xFD\xFF", 12}));
    train_labels(labels(2, {"\0\x09", 2}));
    put("t10k-images-idx3-ubyte", images(1, 2, 3, "abcdef"));
    put("t10k-labels-idx1-ubyte", labels(1, "\7"));
    setenv("BINADE_FASHION_MNIST", (folder_ / ".").c_str(), 1);
  }
  ~Files() { unsetenv("BINADE_FASHION_MNIST"); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  void train_images(const std::string& bytes) const { put("train-images-idx3-ubyte", bytes); }
  void train_labels(const std::string& bytes) const { put("train-labels-idx1-ubyte", bytes); }
  void put(const std::string& name, const std::string& bytes) const {
    folder_.write(name + ".gz", test::gzipped(bytes));
  }
  const test::Folder& folder() const { return folder_; }

 private:
  test::Folder folder_;
};

std::string error() {
  return error_of([] { fashion_mnist(); });
}

TEST_CASE("pixels are divided by 255, row by row, and labels follow") {
  const Files files;
  const ImageSplit split = fashion_mnist();
  CHECK(split.train.count == 2);
  CHECK(split.train.channels == 1);
  CHECK(split.train.height == 2);
  CHECK(split.train.width == 3);
  CHECK(split.train.classes == 10);
  CHECK(split.train.labels == std::vector<std::int32_t>{0, 9});
  REQUIRE(split.train.pixels.size() == 12);
  CHECK(split.train.pixels[0] == 0.0F);
  CHECK(split.train.pixels[5] == 5.0F / 255.0F);
  CHECK(split.train.pixels[6] == 128.0F / 255.0F);
  CHECK(split.train.pixels[11] == 1.0F);
  CHECK(split.test.count == 1);
  CHECK(split.test.labels == std::vector<std::int32_t>{7});
  CHECK(split.test.pixels[5] == 102.0F / 255.0F);
}

TEST_CASE("a plain file does where no gzipped one is") {
  const Files files;
  std::filesystem::remove(files.folder() / "train-labels-idx1-ubyte.gz");
  files.folder().write("train-labels-idx1-ubyte", labels(2, "\3\4"));
  CHECK(fashion_mnist().train.labels == std::vector<std::int32_t>{3, 4});
}

TEST_CASE("a missing file is an error that names the package") {
  const Files files;
  std::filesystem::remove(files.folder() / "t10k-labels-idx1-ubyte.gz");
  CHECK(has(error(),
            "t10k-labels-idx1-ubyte.gz: no such file; apt-get install dataset-fashion-mnist"));
}

TEST_CASE("a folder that was named counts as there, so that its errors are seen") {
  const Files files;
  std::filesystem::remove(files.folder() / "t10k-labels-idx1-ubyte.gz");
  CHECK(has_fashion_mnist());
}

TEST_CASE("another magic number or a header cut off is refused") {
  const Files files;
  for (const std::string& bytes :
       {images(2, 2, 3, "123456123456").replace(3, 1, "\1"), std::string(),
        std::string("\0\0\x08\x03", 4), images(2, 2, 3, "").substr(0, 15)}) {
    files.train_images(bytes);
    CHECK(has(error(), "magic number 0x00000803"));
  }
}

TEST_CASE("sizes that the file does not have are refused before memory is taken for them") {
  const Files files;
  for (const std::string& bytes : {images(2, 2, 3, "12345612345"), images(2, 2, 3, "1234561234567"),
                                   images(0xFFFFFFFF, 1024, 1024, "1"), images(1, 2, 3, "")}) {
    files.train_images(bytes);
    CHECK(has(error(), "bytes where its sizes promise"));
  }
  for (const std::string& bytes : {images(0, 2, 3, ""), images(1, 0, 3, ""), images(1, 2, 0, ""),
                                   images(1, 0xFFFFFFFF, 3, "1"), images(1, 2, 1025, "1")}) {
    files.train_images(bytes);
    CHECK(has(error(), "pixels at byte 4"));
  }
}

TEST_CASE("labels of another number or of a class that is not are refused") {
  const Files files;
  files.train_labels(labels(3, "\1\2\3"));
  CHECK(has(error(), "3 labels for 2 images"));
  files.train_labels(labels(2, "\1\2\3"));
  CHECK(has(error(), "11 bytes where its sizes promise 10"));
  files.train_labels(labels(2, "\1\x0A"));
  CHECK(has(error(), "label 10, of 10 classes, at byte 9"));
}

TEST_CASE("images to test of another size are refused") {
  const Files files;
  files.put("t10k-images-idx3-ubyte", images(1, 3, 2, "abcdef"));
  CHECK(has(error(), "differ in size"));
}

const bool installed =
    std::filesystem::exists("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz");

TEST_CASE("without a folder named, Debian's files are what counts") {
  CHECK(has_fashion_mnist() == installed);
}

}  // namespace
}  // namespace binade::fashion_mnist_test

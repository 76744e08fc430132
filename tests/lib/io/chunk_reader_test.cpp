// SPDX-License-Identifier: Apache-2.0
//
// Chunks on demand: all of them come in order, with an end, Errors are passed on, and a reader can
// be abandoned early.
#include "lib/io/chunk_reader.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/lib/io/files.h"

namespace binade::test::chunk_reader_test {
namespace {

/// A tensor that pushes given chunks, counts how many were taken, and then may fail.
class Pushed : public TensorFile {
 public:
  Pushed(std::vector<std::string> chunks, bool fails)
      : TensorFile(
            std::make_shared<const InputFile>("/proc/self/exe")),  // any that does not change
        chunks_(std::move(chunks)),
        fails_(fails) {}

  void read_data(std::size_t, const ChunkSink& sink) const override {
    for (const std::string& chunk : chunks_) {
      std::string copy = chunk;  // dies after the call, as a piece of a file does
      sink(std::as_bytes(std::span(copy)));
      copy.assign(copy.size(), '#');
    }
    if (fails_) throw Error("bad checksum");
  }

 private:
  std::vector<std::string> chunks_;
  bool fails_;
};

std::string text(std::span<const std::byte> chunk) {
  return {reinterpret_cast<const char*>(chunk.data()), chunk.size()};
}

TEST_CASE("chunks come one by one, whole and in order, then none") {
  const Pushed file({"one", "", "three"}, false);
  ChunkReader reader(file, 0);
  CHECK(text(reader.next()) == "one");
  CHECK(text(reader.next()) == "three");
  CHECK(reader.next().empty());
  CHECK(reader.next().empty());
}

TEST_CASE("a chunk stays whole while another reader is asked") {
  const Pushed file({"abc", "def"}, false);
  ChunkReader a(file, 0);
  ChunkReader b(file, 0);
  const auto first = a.next();
  CHECK(text(b.next()) == "abc");
  CHECK(text(b.next()) == "def");
  CHECK(text(first) == "abc");
}

TEST_CASE("an error comes after the chunks that came before it") {
  const Pushed file({"one"}, true);
  ChunkReader reader(file, 0);
  CHECK(text(reader.next()) == "one");
  CHECK_THROWS_WITH_AS(reader.next(), "bad checksum", Error);
}

TEST_CASE("a reader may be given up at any moment") {
  const Pushed file({"one", "two", "three"}, true);
  for (int taken = 0; taken < 4; ++taken) {
    ChunkReader reader(file, 0);
    for (int i = 0; i < taken && i < 3; ++i) CHECK_FALSE(reader.next().empty());
  }
}

}  // namespace
}  // namespace binade::test::chunk_reader_test

// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints of torch.distributed, made opcode by opcode: chunks that tile a tensor, and chunks
// that do not.
#include "lib/io/torch_checkpoint.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <random>

#include "lib/io/opened_tensor.h"
#include "tests/lib/io/pickles.h"

namespace binade::torch_checkpoint_test {
namespace {

using namespace std::string_literals;
using test::called;
using test::contents;
using test::dict_of;
using test::error_of_reading;
using test::global;
using test::has;
using test::integer;
using test::integers;
using test::text;

using Sizes = std::vector<std::int64_t>;
constexpr std::string_view metadata = "torch.distributed.checkpoint.metadata";

std::string object(std::string_view module, std::string_view name, const std::string& state) {
  return global(module, name) + ")\x81" + state + "b";
}
std::string shape(const Sizes& sizes) { return called(global("torch", "Size"), {integers(sizes)}); }

struct Chunk {
  Sizes offsets, sizes;
  std::string bytes;
  std::string file = "__0_0.distcp";
};

/// The parts of a checkpoint. Tests set wrong ones.
struct Made {
  Sizes size = {2, 3};
  std::vector<Chunk> chunks = {{{0, 0}, {2, 1}, "aaaadddd"}, {{0, 1}, {2, 2}, "bbbbcccceeeeffff"}};
  std::string dtype = "float32";
  std::string transforms = "N";
  std::int64_t shift = 0;  ///< change of the second chunk's place
};

std::string archive_of(const Chunk& chunk) {
  const Sizes strides = {chunk.sizes[1], 1};
  return test::torch_archive(
      test::pickled(test::view_of({.stored = static_cast<std::int64_t>(chunk.bytes.size() / 4),
                                   .sizes = chunk.sizes,
                                   .strides = strides})),
      {{"0", chunk.bytes}});
}

void write(const test::Folder& folder, const Made& made) {
  std::string chunks = "](", places = "}(", data;
  for (const Chunk& chunk : made.chunks) {
    chunks +=
        object(metadata, "ChunkStorageMetadata",
               dict_of({text("offsets"), shape(chunk.offsets), text("sizes"), shape(chunk.sizes)}));
    const std::string archive = archive_of(chunk);
    const auto at = static_cast<std::int64_t>(data.size()) + (data.empty() ? 0 : made.shift);
    places += object(metadata, "MetadataIndex",
                     dict_of({text("fqn"), text("w"), text("offset"), shape(chunk.offsets)})) +
              object("torch.distributed.checkpoint.filesystem", "_StorageInfo",
                     dict_of({text("relative_path"), text(chunk.file), text("offset"), integer(at),
                              text("length"), integer(static_cast<std::int64_t>(archive.size())),
                              text("transform_descriptors"), made.transforms}));
    data += archive;
  }
  places += object(metadata, "MetadataIndex", dict_of({text("fqn"), text("epoch")})) +
            object("torch.distributed.checkpoint.filesystem", "_StorageInfo",
                   dict_of({text("offset"), "N"}));
  const std::string properties =
      global(metadata, "TensorProperties") + ")\x81(" + global("torch", made.dtype) + "Ntb";
  const std::string tensor = object(metadata, "TensorStorageMetadata",
                                    dict_of({text("properties"), properties, text("size"),
                                             shape(made.size), text("chunks"), chunks + "e"}));
  const std::string bytes = object(metadata, "BytesStorageMetadata", "}");
  folder.write(
      ".metadata",
      test::pickled(object(
          metadata, "Metadata",
          dict_of({text("state_dict_metadata"), dict_of({text("w"), tensor, text("epoch"), bytes}),
                   text("storage_data"), places + "u", text("planner_data"), "N"}))));
  folder.write("__0_0.distcp", data);
}

/// Sooner written than replaced.
void rewrite(const test::Folder& folder, const std::string& metadata_bytes) {
  std::filesystem::remove(folder / ".metadata");
  folder.write(".metadata", metadata_bytes);
}

std::string refusal(const Made& made) {
  const test::Folder folder;
  write(folder, made);
  return error_of_reading(folder / "");
}

TEST_CASE("a folder's tensors are put together from their chunks") {
  const test::Folder folder;
  write(folder, {});
  for (const std::string& name : {folder / "", folder / ".metadata"}) {
    const auto file = open_tensor_file(name);
    REQUIRE(file->tensors().size() == 1);
    CHECK(file->path() == name);
    CHECK(file->tensors()[0].name == "w");
    CHECK(file->tensors()[0].shape == std::vector<std::uint64_t>{2, 3});
    CHECK(contents(*file, 0) == "aaaabbbbccccddddeeeeffff");
  }
  CHECK(open_tensor((folder / "") + ":w").info().name == "w");
  const std::vector<std::string> names = {folder / "", folder / ".metadata"};
  CHECK(expand_paths(names).size() == 1);
}

TEST_CASE("a chunk without elements is nobody's part") {
  CHECK(refusal({.chunks = {{{0, 0}, {2, 3}, "aaaabbbbccccddddeeeeffff"}, {{2, 0}, {0, 3}, ""}}}) ==
        "");
}

TEST_CASE("chunks that do not hold each element once are refused") {
  const Chunk left{{0, 0}, {2, 1}, "aaaadddd"}, right{{0, 1}, {2, 2}, "bbbbcccceeeeffff"};
  CHECK(has(refusal({.chunks = {left}}), "the chunks of 'w' leave a gap"));
  CHECK(has(refusal({.chunks = {left, right, {{1, 1}, {1, 1}, "xxxx"}}}), "chunks of 'w' overlap"));
  CHECK(has(refusal({.chunks = {left, {{0, 2}, {2, 2}, "bbbbcccceeeeffff"}}}),
            "lies outside of 'w'"));
  CHECK(has(refusal({.size = {2, 3, 1}}), "lies outside of 'w'"));
  CHECK(has(refusal({.chunks = {left, left}}), "there twice"));
  CHECK(has(refusal({.chunks = {}}), "leave a gap"));
  CHECK(has(refusal({.size = {-2, 3}}), "'size' is no shape"));
}

TEST_CASE("chunks that are not where .metadata says are refused") {
  CHECK(has(refusal({.shift = 1}), "truncated"));
  CHECK(has(refusal({.shift = -1}), "__0_0.distcp"));
  CHECK(has(refusal({.dtype = "float16"}), "not the chunk of 'w' that .metadata tells of"));
  Made elsewhere;
  elsewhere.chunks[0].file = "../x";
  CHECK(has(refusal(elsewhere), "no name in its folder"));
  elsewhere.chunks[0].file = "__1_0.distcp";
  CHECK(has(refusal(elsewhere), "__1_0.distcp: No such file"));
  CHECK(has(refusal({.transforms = "](" + text("zstd") + "e"}), "an extension (compression)"));
}

TEST_CASE("what is not torch's is refused by name, and a folder without .metadata as ever") {
  const test::Folder folder;
  folder.write(".metadata", test::pickled(object(metadata, "Metadata", global("posix", "system"))));
  CHECK(has(error_of_reading(folder / ""), "asks for posix.system"));
  folder.write(".metadata", test::pickled(object(metadata, "Metadata", "}")));
  CHECK(has(error_of_reading(folder / ""), "an object without 'storage_data'"));
  CHECK(has(error_of_reading(test::Folder() / ""), "this is a folder"));
}

TEST_CASE("objects without end are refused before they are copied or searched") {
  const test::Folder folder;
  const auto refusal_of = [&](const std::string& index_state) {
    const std::string place = object(metadata, "MetadataIndex", index_state) +
                              object("torch.distributed.checkpoint.filesystem", "_StorageInfo",
                                     dict_of({text("relative_path"), text("f"), text("offset"),
                                              integer(0), text("length"), integer(1)}));
    rewrite(folder, test::pickled(object(metadata, "Metadata",
                                         dict_of({text("storage_data"), "}(" + place + "u"}))));
    return error_of_reading(folder / "");
  };
  CHECK(has(refusal_of(dict_of({text("fqn"), text("w"), text("offset"), shape(Sizes(65, 0))})),
            "'offset' is no shape"));
  CHECK(has(refusal_of(dict_of({text("fqn"), text("w"), text("offset"), shape(Sizes(64, 0))})),
            "without 'state_dict_metadata'"));
  CHECK(has(
      refusal_of(dict_of({text("fqn"), text(std::string(65537, 'w')), text("offset"), shape({0})})),
      "'fqn' is of more than 65536 bytes"));
  std::string attributes = "}(";
  for (int i = 0; i < 65; ++i) attributes += text("a" + std::to_string(i)) + "N";
  CHECK(has(refusal_of(attributes + "u"), "more attributes than torch's have"));
}

TEST_CASE("a .metadata cut at any byte is an error, and so in one line are most damages") {
  const test::Folder folder;
  write(folder, {});
  const std::string good = test::slurp(folder / ".metadata");
  for (std::size_t size = 0; size < good.size(); ++size) {
    rewrite(folder, good.substr(0, size));
    CAPTURE(size);
    CHECK(error_of_reading(folder / "") != "");
  }
  std::mt19937 random(9);
  int errors = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = good;
    damaged[random() % good.size()] = static_cast<char>(random());
    rewrite(folder, damaged);
    const std::string message = error_of_reading(folder / "");
    if (!message.empty()) ++errors;
    CHECK(!has(message, "\n"));
  }
  CHECK(errors > 1000);
}

}  // namespace
}  // namespace binade::torch_checkpoint_test

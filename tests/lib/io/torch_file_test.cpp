// SPDX-License-Identifier: Apache-2.0
//
// Archives of torch.save: names, dtypes and views as the pickle has them; everything else is
// refused.
#include "lib/io/torch_file.h"

#include <doctest/doctest.h>

#include "lib/io/opened_tensor.h"
#include "tests/lib/io/pickles.h"

namespace binade::torch_file_test {
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
using test::pickled;
using test::PickledView;
using test::text;
using test::torch_archive;
using test::tuple;
using test::view_of;

const std::string six = "aaaabbbbccccddddeeeeffff";  // floats, each told by its letter

std::string archive_of(const std::string& value) {
  return torch_archive(pickled(value), {{"0", six}});
}
std::string refusal(const std::string& value) {
  return error_of_reading(test::MemoryFile().write(archive_of(value)));
}
std::string refusal(const PickledView& view) {
  return refusal(dict_of({text("w"), view_of(view)}));
}
std::string letters(const PickledView& view) {
  const test::MemoryFile file;
  const auto opened = open_tensor_file(file.write(archive_of(dict_of({text("w"), view_of(view)}))));
  const std::string bytes = contents(*opened, 0);
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 4) out += bytes[i];
  return out;
}

TEST_CASE("keys and places on the way to a tensor are its name") {
  const test::Folder folder;
  const std::string w = view_of({});
  const std::string ordered =
      called(global("collections", "OrderedDict"), {}) + "(" + text("x") + w + "u";
  const auto file = open_tensor_file(folder.write(
      "m.pt",
      archive_of(dict_of({text("model"), ordered, integer(7), "](" + w + "N" + w + "e", text("n"),
                          "N", text("args"), global("argparse", "Namespace") + ")\x81}b"}))));
  REQUIRE(file->tensors().size() == 3);
  CHECK(file->tensors()[0].name == "model.x");
  CHECK(file->tensors()[1].name == "7.0");
  CHECK(file->tensors()[2].name == "7.2");
  CHECK(file->tensors()[0].dtype.name == "F32");
  CHECK(file->tensors()[0].shape == std::vector<std::uint64_t>{2, 3});
  for (std::size_t i = 0; i < 3; ++i) CHECK(contents(*file, i) == six);
  CHECK(open_tensor((folder / "m.pt") + ":7.2").index == 2);
  const auto lone = open_tensor_file(folder.write("lone.pt", archive_of(w)));
  CHECK(lone->tensors()[0].name == "lone");
}

TEST_CASE("views are read in C order") {
  CHECK(letters({}) == "abcdef");
  CHECK(letters({.sizes = {3, 2}, .strides = {1, 3}}) == "adbecf");
  CHECK(letters({.offset = 1, .sizes = {2}, .strides = {3}}) == "be");
  CHECK(letters({.offset = 4, .sizes = {2, 3}, .strides = {0, 0}}) == "eeeeee");
  CHECK(letters({.offset = 5, .sizes = {}, .strides = {}}) == "f");
  CHECK(letters({.offset = 6, .sizes = {0, 3}, .strides = {3, 1}}) == "");
  CHECK(letters({.offset = 8, .sizes = {0, 2}, .strides = {4, 1}}) == "");  // zeros(0, 4)[:, 2:]
  CHECK(letters({.offset = 3, .sizes = {1, 3}, .strides = {9000, 1}}) == "def");
}

TEST_CASE("parameters and tensors with attributes are tensors") {
  const std::string v2 = global("torch._utils", "_rebuild_tensor_v2");
  const std::string parameter =
      called(global("torch._utils", "_rebuild_parameter"), {view_of({}), "\x88", "}"});
  const std::string view = view_of({});
  const std::string arguments = view.substr(v2.size(), view.size() - v2.size() - 1);
  const std::string attributed = called(global("torch._tensor", "_rebuild_from_type_v2"),
                                        {v2, global("torch", "Tensor"), arguments, "}"});
  CHECK(refusal(dict_of({text("a"), parameter, text("b"), attributed})) == "");
  CHECK(has(refusal(called(global("torch._utils", "_rebuild_parameter"), {"N"})),
            "a call that torch does not write"));
}

TEST_CASE("a tensor of a device is the tensor that it was on the CPU") {
  const auto of_device = [](std::string_view dtype) {
    return called(global("torch._utils", "_rebuild_device_tensor_from_cpu_tensor"),
                  {view_of({}), global("torch", dtype), text("xla:0"), "\x89"});
  };
  CHECK(refusal(dict_of({text("w"), of_device("float32")})) == "");
  CHECK(has(refusal(dict_of({text("w"), of_device("float16")})), "is of two dtypes"));
  CHECK(has(refusal(called(global("torch._utils", "_rebuild_device_tensor_from_numpy"), {"N"})),
            "(.cpu() first)"));
}

TEST_CASE("dicts of every class are what Python makes them of") {
  const std::string counter = global("collections", "Counter");
  const std::string ordered = global("collections", "OrderedDict");
  const std::string counted = dict_of({integer(30), integer(1), text("w"), view_of({})});
  const std::string items = "(" + text("w") + view_of({}) + "u";
  const test::MemoryFile file;
  const auto opened = open_tensor_file(
      file.write(archive_of(dict_of({text("milestones"), called(counter, {counted})}))));
  REQUIRE(opened->tensors().size() == 1);
  CHECK(opened->tensors()[0].name == "milestones.w");
  const std::string of_lists = global("collections", "defaultdict");
  CHECK(refusal(called(of_lists, {global("builtins", "list")}) + items) == "");
  CHECK(refusal(called(of_lists, {}) + items) == "");
  CHECK(has(refusal(called(of_lists, {counted})), "of other arguments"));
  CHECK(has(refusal(called(ordered, {counted})), "of other arguments"));
  CHECK(has(refusal(called(counter, {counted, "N"})), "of other arguments"));
  CHECK(has(refusal(called(counter, {})), "of other arguments"));
}

TEST_CASE("dates and other plain objects beside tensors are passed over") {
  const std::string date = called(global("datetime", "datetime"), {"C\x01x"});
  const std::string id = global("uuid", "UUID") + ")\x81" + dict_of({text("int"), "N"}) + "b";
  const std::string names = called(global("types", "SimpleNamespace"), {}) + "}b";
  CHECK(refusal(dict_of({text("when"), date, text("id"), id, text("args"), names, text("w"),
                         view_of({})})) == "");
}

TEST_CASE("a name is of 64 KiB at most, and a long key of what is no tensor costs nothing") {
  const std::string most(std::size_t{64} << 10, 'k');
  CHECK(refusal(dict_of({text(most), view_of({})})) == "");
  CHECK(has(refusal(dict_of({text(most + "k"), view_of({})})), "more than 65536 bytes"));
  // To copy the key for each of the items would be to copy 2 TB.
  std::string shared = "}(" + text(std::string(std::size_t{8} << 20, 'k')) + "\x94N"s;
  for (int i = 0; i < 250'000; ++i) shared += "h\x00N"s;
  CHECK(refusal(shared + text("w") + view_of({}) + "u") == "");
}

TEST_CASE("a tensor of bytes says its dtype itself") {
  const std::string storage = tuple({text("storage"), global("torch.storage", "UntypedStorage"),
                                     text("0"), text("cpu"), integer(24)}) +
                              "Q";
  const auto tensor = [&](const std::string& dtype) {
    return dict_of({text("w"), called(global("torch._utils", "_rebuild_tensor_v3"),
                                      {storage, integer(1), integers({3}), integers({1}), "\x89",
                                       "N", dtype})});
  };
  const test::MemoryFile file;
  const auto opened =
      open_tensor_file(file.write(archive_of(tensor(global("torch", "float8_e4m3fn")))));
  CHECK(opened->tensors()[0].dtype.name == "F8_E4M3");
  CHECK(contents(*opened, 0) == "aaa");
  CHECK(has(refusal(tensor(text("float32"))), "has no dtype"));
  CHECK(has(refusal(tensor(global("torch", "complex32"))), "asks for torch.complex32"));
}

TEST_CASE("views that do not fit their storage are refused") {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(has(refusal(PickledView{.offset = 1}), "reaches outside of its storage '0' of 24 bytes"));
  CHECK(has(refusal(PickledView{.sizes = {7}, .strides = {1}}), "reaches outside"));
  CHECK(has(refusal(PickledView{.sizes = {2}, .strides = {6}}), "reaches outside"));
  CHECK(has(refusal(PickledView{.offset = -1}), "no shape, strides and offset"));
  CHECK(has(refusal(PickledView{.sizes = {-2, 3}}), "no shape, strides and offset"));
  CHECK(has(refusal(PickledView{.strides = {-3, 1}}), "no shape, strides and offset"));
  CHECK(has(refusal(PickledView{.strides = {1}}), "no shape, strides and offset"));
  CHECK(has(refusal(PickledView{.sizes = {most, most}, .strides = {0, 0}}), "absurd shape"));
  CHECK(has(refusal(PickledView{.sizes = {4, 3}, .strides = {most, 1}}), "absurd shape"));
  CHECK(has(refusal(PickledView{.offset = most, .sizes = {2}, .strides = {most}}),
            "reaches outside"));
  CHECK(has(refusal(PickledView{.sizes = {most / 64}, .strides = {0}}),
            "more than 1024 times the archive's"));
  CHECK(has(refusal(PickledView{.stored = 5}), "which has 24"));
  CHECK(has(refusal(PickledView{.stored = 7}), "which has 24"));
  CHECK(has(refusal(PickledView{.key = "1"}), "which is missing"));
  CHECK(has(refusal(PickledView{.key = "../data.pkl"}), "which is missing"));
  CHECK(has(refusal(PickledView{.kind = "QInt8Storage"}), "asks for torch.QInt8Storage"));
  std::vector<std::int64_t> ones(65, 1);
  CHECK(has(refusal(PickledView{.sizes = ones, .strides = ones}), "at most 64 dimensions"));
}

TEST_CASE("what is no tensor of torch's is refused by name") {
  CHECK(has(refusal(called(global("posix", "system"), {text("true")})),
            "m/data.pkl]: asks for posix.system, which makes none of torch's tensors, at byte 2; "
            "save a dict"));
  CHECK(has(refusal(global("torch._utils", "_rebuild_sparse_tensor")), "save it dense"));
  CHECK(has(refusal(global("torch._utils", "_rebuild_qtensor")), ".dequantize()"));
  CHECK(has(refusal(test::storage_of({})), "a storage that belongs to no tensor"));
  CHECK(has(refusal(dict_of({")", view_of({})})), "neither text nor a number"));
  CHECK(has(
      refusal(dict_of({text("a.b"), view_of({}), text("a"), dict_of({text("b"), view_of({})})})),
      "two values named 'a.b'"));
}

TEST_CASE("a tensor of a foreign class is listed, and the others are read") {
  const std::string attributed = global("torch._tensor", "_rebuild_from_type_v2");
  const std::string sparse = called(global("torch._utils", "_rebuild_sparse_tensor"), {"N"});
  const std::string wrapper =
      called(attributed, {global("torch._utils", "_rebuild_wrapper_subclass"),
                          global("torchao.optim", "OptimState8bit"),
                          tuple({global("torchao", "Layout"), view_of({})}), dict_of({})});
  const std::string subclass =
      called(attributed, {global("torch._utils", "_rebuild_tensor_v2"), global("mine", "Tensor"),
                          tuple({"N"}), dict_of({})});
  const std::string parameter =
      called(global("torch._utils", "_rebuild_parameter"), {wrapper, "\x89", "N"});
  const std::string half_complex =
      called(global("torch._utils", "_rebuild_tensor_v3"),
             {"N", "N", "N", "N", "\x89", "N", global("torch", "complex32")});
  for (const auto& [value, by] :
       {std::pair(sparse, "torch._utils._rebuild_sparse_tensor"),
        std::pair(wrapper, "torchao.optim.OptimState8bit"), std::pair(subclass, "mine.Tensor"),
        std::pair(parameter, "torchao.optim.OptimState8bit"),
        std::pair(view_of({.kind = "QInt8Storage"}), "torch.QInt8Storage"),
        std::pair(half_complex, "torch.complex32")}) {
    CAPTURE(std::string(by));
    const test::MemoryFile file;
    const auto opened = open_tensor_file(file.write(
        archive_of(dict_of({text("a"), value, text("b"), view_of({}), text("c"), integer(3)}))));
    REQUIRE(opened->tensors().size() == 2);
    CHECK(opened->tensors()[0].name == "a");
    CHECK(opened->tensors()[0].dtype.kind == DtypeKind::foreign);
    CHECK(opened->tensors()[0].made_by.find(by) != std::string::npos);
    CHECK(contents(*opened, 1) == six);
    CHECK(has(refusal(dict_of({text("a"), value})), "data.pkl]: "));  // no other tensor is there
    // What lies beside a foreign tensor is refused as ever.
    CHECK(has(refusal(dict_of({text("a"), value, text("b"), view_of({}), text("d"),
                               called(global("posix", "system"), {text("true")})})),
              "asks for posix.system"));
  }
}

TEST_CASE("values that lie in themselves or in each other without end are refused") {
  CHECK(has(refusal("]\x94h\x00"s + "a"), "too deep"));
  std::string twice = view_of({}) + "\x94";  // each list holds the one before it two times
  for (char i = 0; i < 40; ++i) twice += "](h"s + i + "h"s + i + "e\x94"s;
  CHECK(has(refusal(twice.substr(0, twice.size())), "left over"));
  std::string nested = ")\x94"s;
  for (char i = 0; i < 40; ++i) nested += "0](h"s + i + "h"s + i + "e\x94"s;
  CHECK(has(refusal(nested), "shared values that unfold to more than"));
}

TEST_CASE("members that torch does not write are refused") {
  const test::MemoryFile file;
  const std::string pickle = pickled(dict_of({text("w"), view_of({})}));
  const auto with = [&](test::Member member) {
    return error_of_reading(
        file.write(torch_archive(pickle, {{"0", six}}, true, {std::move(member)})));
  };
  CHECK(with({.name = "m/byteorder", .contents = "little"}) == "");
  CHECK(with({.name = "m/.data/serialization_id", .contents = "1"}) == "");
  CHECK(has(with({.name = "m/byteorder", .contents = "big"}), "big-endian"));
  CHECK(has(with({.name = "m/code/a.py", .contents = ""}), "TorchScript"));
  CHECK(has(with({.name = "m/extra", .contents = ""}), "none that torch.save writes"));
  CHECK(has(with({.name = "x/version", .contents = ""}), "none that torch.save writes"));
  CHECK(has(with({.name = "m/data/0", .contents = ""}), "is there twice"));
  CHECK(has(with({.name = "m/data/1", .contents = "aaaaaaaa", .deflate = true}), "is compressed"));
}

TEST_CASE("an archive without its end is called torch's, and cut off") {
  const test::MemoryFile file;
  const std::string whole = archive_of(dict_of({text("w"), view_of({})}));
  CHECK(has(error_of_reading(file.write(whole.substr(0, whole.size() - 30))),
            "a torch.save archive that was cut off: no end of the zip directory"));
  const std::string version_first = test::zip({{.name = "m/version", .contents = "3\n"}});
  const std::string message = error_of_reading(file.write(version_first.substr(0, 60)));
  CHECK(has(message, "a torch.save archive that was cut off"));
  CHECK(has(message, "torch.save"));
  CHECK(!has(message, "numpy"));
}

TEST_CASE("a storage's checksum is held to its views, too, once before the first is read") {
  const test::MemoryFile file;
  const std::string pickle = pickled(dict_of({text("w"), view_of({.sizes = {1}, .strides = {1}})}));
  std::string archive = torch_archive(pickle, {{"0", six}});
  CHECK(error_of_reading(file.write(archive)) == "");
  archive[archive.find(six) + six.size() - 1] ^= 1;  // beside the view
  CHECK(has(error_of_reading(file.write(archive)), "the checksum (CRC-32) of tensor 'w' differs"));
}

TEST_CASE("checksums are held to what is read whole, where there are any") {
  const test::MemoryFile file;
  const std::string pickle = pickled(dict_of({text("w"), view_of({})}));
  const auto reading = [&](std::string archive, const std::string& part) {
    archive[archive.find(part)] ^= 1;
    return error_of_reading(file.write(archive));
  };
  const std::string checked = torch_archive(pickle, {{"0", six}});
  CHECK(has(reading(checked, six), "the checksum (CRC-32) of tensor 'w' differs"));
  CHECK(has(reading(checked, "storage"), "the checksum (CRC-32) of member 'm/data.pkl' differs"));
  const std::string unchecked = torch_archive(pickle, {{"0", six}}, false);
  CHECK(reading(unchecked, six) == "");
  const auto opened = open_tensor_file(file.write(checked));
  std::string damaged = checked;
  damaged[damaged.find(six)] ^= 1;
  file.write(damaged);
  CHECK(has(test::error_of([&] {
              open_tensor_file(file.write(damaged))->read_on_threads(0, [](auto, auto) {});
            }),
            "the checksum (CRC-32) of tensor 'w' differs"));
}

}  // namespace
}  // namespace binade::torch_file_test

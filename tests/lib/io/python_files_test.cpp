// SPDX-License-Identifier: Apache-2.0
//
// Files made by NumPy, ml_dtypes and the safetensors package are read, and what binade writes is
// read by them. BINADE_TEST_PYTHON names the interpreter; 77 (skipped) without it or its packages.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "lib/io/npy_writer.h"
#include "lib/io/safetensors.h"
#include "lib/io/safetensors_writer.h"
#include "tests/lib/io/files.h"

namespace binade {
namespace {

using test::contents;

/// Runs a script with the folder's path in `folder`; true if it succeeds.
bool python(const test::Folder& folder, const std::string& script) {
  const std::string path = folder.write("script.py", "folder = '" + (folder / "") + "'\n" + script);
  const char* interpreter = std::getenv("BINADE_TEST_PYTHON");
  if (interpreter == nullptr) return false;
  return std::system(("'" + std::string(interpreter) + "' '" + path + "'").c_str()) == 0;
}

constexpr const char* imports =
    "import numpy as np, ml_dtypes, safetensors.numpy as st\n"
    "from safetensors import safe_open\n";

std::string little_bytes(const test::Folder& folder, const std::string& name) {
  return test::slurp(folder / (name + ".bin"));
}

TEST_CASE("arrays that NumPy saves are read: every type, byte order, storage order and shape") {
  const test::Folder folder;
  REQUIRE(python(folder, std::string(imports) + R"(
n = 0
for code in 'f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1 c8 c16'.split():
  for end in '<>':
    for shape in (), (3,), (2, 3), (2, 0), (1, 2, 3, 4):
      for order in 'CF':
        a = (np.arange(int(np.prod(shape))) * 37 % 251).reshape(shape, order=order)
        a = np.asarray(a.astype(np.dtype(end + code)), order=order)
        np.save(f'{folder}{n}.npy', a)
        fortran = a.flags.f_contiguous and not a.flags.c_contiguous
        raw = a.astype(np.dtype('<' + code)).tobytes('F' if fortran else 'C')
        open(f'{folder}{n}.bin', 'wb').write(raw)
        open(f'{folder}{n}.txt', 'w').write(f'{fortran:d} {list(shape)}')
        n += 1
)"));
  int count = 0;
  for (; std::filesystem::exists(folder / (std::to_string(count) + ".npy")); ++count) {
    const std::string name = std::to_string(count);
    CAPTURE(name);
    const auto file = open_tensor_file(folder / (name + ".npy"));
    const TensorInfo& tensor = file->tensors()[0];
    std::string described = tensor.fortran_order ? "1 [" : "0 [";
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
      described += (i == 0 ? "" : ", ") + std::to_string(tensor.shape[i]);
    }
    CHECK(test::slurp(folder / (name + ".txt")) == described + "]");
    CHECK(contents(*file, 0) == little_bytes(folder, name));
  }
  CHECK(count == 14 * 2 * 5 * 2);
}

TEST_CASE("raw arrays that ml_dtypes saves are read with --dtype") {
  const test::Folder folder;
  REQUIRE(python(folder, std::string(imports) + R"(
for name in ('bfloat16', 'float8_e4m3fn', 'float8_e5m2', 'float8_e4m3fnuz', 'float8_e5m2fnuz',
             'float8_e8m0fnu'):
  a = np.linspace(0.1, 9, 7).astype(getattr(ml_dtypes, name))
  np.save(f'{folder}{name}.npy', a)
  open(f'{folder}{name}.bin', 'wb').write(a.tobytes())
)"));
  for (const char* name : {"bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz",
                           "float8_e5m2fnuz", "float8_e8m0fnu"}) {
    CAPTURE(name);
    const std::string path = folder / (std::string(name) + ".npy");
    if (std::string(name) != "float8_e5m2") {
      CHECK(test::has(test::error_of_reading(path), "--dtype"));
    }
    const auto file = open_tensor_file(path, {.dtype = parse_dtype(name)});
    CHECK(contents(*file, 0) == little_bytes(folder, name));
  }
}

TEST_CASE("archives that NumPy saves are read, stored and deflated") {
  const test::Folder folder;
  REQUIRE(python(folder, std::string(imports) + R"(
r = np.random.default_rng(7)
arrays = {'w': r.standard_normal((300, 5000)).astype('f4'), 'g/ü': np.zeros((0, 2)),
          's': np.float64(3), 'z': np.zeros(3_000_000, '>f4'), 'f': np.asfortranarray(r.random((3, 4)))}
np.savez(folder + 'stored.npz', **arrays)
np.savez_compressed(folder + 'deflated.npz', **arrays)
for i, (name, a) in enumerate(arrays.items()):
  raw = np.asarray(a).astype(np.asarray(a).dtype.newbyteorder('<'))
  open(f'{folder}{i}.bin', 'wb').write(raw.tobytes('F' if name == 'f' else 'C'))
)"));
  const std::string names[] = {"w", "g/ü", "s", "z", "f"};
  for (const char* kind : {"stored.npz", "deflated.npz"}) {
    CAPTURE(kind);
    const auto file = open_tensor_file(folder / kind);
    REQUIRE(file->tensors().size() == std::size(names));
    for (std::size_t i = 0; i < std::size(names); ++i) {
      CHECK(file->tensors()[i].name == names[i]);
      CHECK((contents(*file, i) == little_bytes(folder, std::to_string(i))));
    }
  }
}

TEST_CASE("what is no plain array is refused with its reason") {
  const test::Folder folder;
  REQUIRE(python(folder, std::string(imports) + R"(
np.save(folder + 'object.npy', np.array([{}, 1], object), allow_pickle=True)
np.save(folder + 'structured.npy', np.zeros(3, [('a', '<f4'), ('b', '<i2')]))
np.save(folder + 'text.npy', np.array(['a', 'bc']))
np.save(folder + 'date.npy', np.zeros(3, 'M8[ns]'))
)"));
  const auto reading = [&](const char* name) { return test::error_of_reading(folder / name); };
  CHECK(test::has(reading("object.npy"), "pickle"));
  CHECK(test::has(reading("structured.npy"), "structured"));
  CHECK(test::has(reading("text.npy"), "unknown"));
  CHECK(test::has(reading("date.npy"), "unknown"));
}

TEST_CASE("files that the safetensors package saves are read") {
  const test::Folder folder;
  REQUIRE(python(folder, std::string(imports) + R"(
r = np.random.default_rng(7)
types = dict(F64='f8', F32='f4', F16='f2', BF16=ml_dtypes.bfloat16, I64='i8', I32='i4', I16='i2', I8='i1',
             U64='u8', U32='u4', U16='u2', U8='u1', BOOL='?')
arrays = {name: (9 * r.standard_normal((3, 5))).astype(kind) for name, kind in types.items()}
arrays['empty'] = np.zeros((0, 4), 'f4')
arrays['scalar "1"\n'] = np.array(2.5, 'f8')
st.save_file(arrays, folder + 'a.safetensors', metadata={'step': '7', 'ü': '"'})
for name, a in arrays.items():
  open(f'{folder}{name}.bin', 'wb').write(a.tobytes())
)"));
  const auto file = open_safetensors(folder / "a.safetensors");
  CHECK(file->tensors().size() == 15);
  CHECK(file->metadata() == std::map<std::string, std::string>{{"step", "7"}, {"ü", "\""}});
  for (std::size_t i = 0; i < file->tensors().size(); ++i) {
    const TensorInfo& tensor = file->tensors()[i];
    CAPTURE(tensor.name);
    CHECK(contents(*file, i) == little_bytes(folder, tensor.name));
    if (tensor.name == tensor.dtype.name) CHECK(tensor.shape == std::vector<std::uint64_t>{3, 5});
  }
}

TEST_CASE("NumPy and ml_dtypes read what NpyWriter writes") {
  const test::Folder folder;
  const float values[6] = {1, -2, 0.5F, 3, 4, 5};
  const auto bytes = std::as_bytes(std::span(values));
  const auto write = [&](const char* name, const char* dtype,
                         const std::vector<std::uint64_t>& shape, bool fortran,
                         std::span<const std::byte> data) {
    NpyWriter writer(folder / name, *find_dtype(dtype), shape, fortran);
    writer.write(data);
    writer.finish();
  };
  write("c.npy", "F32", {2, 3}, false, bytes);
  write("f.npy", "F32", {2, 3}, true, bytes);
  write("s.npy", "F64", {}, false, bytes.first(8));
  write("one.npy", "I16", {12}, false, bytes);
  write("b.npy", "BF16", {3, 4}, false, bytes);
  write("e.npy", "F8_E4M3", {24}, false, bytes);
  CHECK(python(folder, std::string(imports) + R"(
v = np.array([1, -2, 0.5, 3, 4, 5], '<f4')
load = lambda name: np.load(f'{folder}{name}.npy')
assert load('c').dtype == '<f4' and (load('c') == v.reshape(2, 3)).all()
assert load('f').flags.f_contiguous and (load('f') == v.reshape(2, 3, order='F')).all()
assert load('s').shape == () and load('s').tobytes() == v.tobytes()[:8]
assert (load('one') == v.view('<i2')).all()
b = load('b').view(ml_dtypes.bfloat16)
assert b.shape == (3, 4) and b.tobytes() == v.tobytes()
assert load('e').view(ml_dtypes.float8_e4m3fn).tobytes() == v.tobytes()
)"));
}

TEST_CASE("the safetensors package reads what SafetensorsWriter writes") {
  const test::Folder folder;
  SafetensorsWriter writer(folder / "a.safetensors",
                           std::vector<TensorSpec>{{"x", *find_dtype("F32"), {2, 1}},
                                                   {"a ü\n", *find_dtype("F16"), {}},
                                                   {"none", *find_dtype("I8"), {0, 7}}},
                           {{"seed", "7"}});
  const float values[2] = {1.5F, -2.0F};
  writer.write(std::as_bytes(std::span(values)));
  const std::uint16_t one = 0x3C00;
  writer.write(std::as_bytes(std::span(&one, 1)));
  writer.finish();
  CHECK(python(folder, std::string(imports) + R"(
a = st.load_file(folder + 'a.safetensors')
assert sorted(a) == ['a ü\n', 'none', 'x']
assert (a['x'] == np.array([[1.5], [-2]], 'f4')).all() and a['x'].dtype == 'f4'
assert a['a ü\n'] == 1 and a['a ü\n'].shape == () and a['none'].shape == (0, 7)
with safe_open(folder + 'a.safetensors', 'np') as f:
  assert f.metadata() == {'seed': '7'}
)"));
}

}  // namespace
}  // namespace binade

int main(int argc, char** argv) {
  constexpr int skipped = 77;
  if (!binade::python(binade::test::Folder(), binade::imports)) {
    std::puts("SKIP: BINADE_TEST_PYTHON names no Python with numpy, ml_dtypes and safetensors");
    return skipped;
  }
  return doctest::Context(argc, argv).run();
}

# SPDX-License-Identifier: Apache-2.0
#
# Installs the build into a folder, as a user would, and looks at what lies there: install_test.py BUILD SOURCE_ROOT
# MESON… . The same two programs are built in each way in which the library can be linked (pkg-config, CMake, Meson), with
# each C++ compiler of the machine, and run. A way whose tools the machine lacks is named and left out.

import glob
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCES, MESON = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
HERE = pathlib.Path(__file__).resolve().parent
COMPILERS = [name for name in ("g++", "clang++") if shutil.which(name)]

# What is public besides emulate's headers. A header becomes public because one of these includes it: think before adding it.
PUBLIC = set("""
emulate.h error.h gemm.h identify.h loss_scalers.h range.h report.h validate.h version.h
amp/grad_scaler.h amp/loss_scaler.h cases/dots.h evidence/evidence.h evidence/rivals.h format/dtype.h format/format_spec.h gemm/bound.h
gemm/files.h gemm/gemm.h gemm/matrices.h gemm/model_check.h gemm/named_gemm.h gemm/operands.h gemm/progress.h gemm/read_array.h
gemm/row_groups.h identify/candidates.h identify/cores.h identify/hypotheses.h identify/identification.h identify/kernel_run.h identify/search.h identify/text.h
io/array_view.h number/exact_sum.h
number/square_sum.h number/upper.h range/arrays.h range/binades.h range/fate.h range/summary.h range/summary_bytes.h
report/format_report.h report/tensor_report.h report/tensor_role.h report/written_report.h text/error.h validate/gemm.h
""".split())

PRINTED = {
    "user_program": "2^17 = 131072 is the largest scale that keeps every value at least 1 binade below overflow; "
                    "fc1.weight.grad sets it. From 2^-21 on no tensor loses more than 0.1 % of its L2 norm; "
                    "fc1.weight.grad needs that.\n0x1.000008p-25\n",
    "emulate_program": "0x0p+0 0x1p-24 inf 0x1p+0\n1 to zero, 1 overflow, exp 0x1.1aec7cp+0\n",
}

CMAKE = """cmake_minimum_required(VERSION 3.16)
project(user CXX)
set(CMAKE_CXX_EXTENSIONS OFF)
find_package(binade 0.1 REQUIRED COMPONENTS emulate binade)
add_executable(user_program user_program.cpp)
target_link_libraries(user_program binade::binade)
add_executable(emulate_program emulate_program.cpp)
target_link_libraries(emulate_program PRIVATE binade::emulate)
"""

MESON_BUILD = """project('user', 'cpp', default_options: 'cpp_std=c++20')
executable('user_program', 'user_program.cpp', dependencies: dependency('binade'))
executable('emulate_program', 'emulate_program.cpp', dependencies: dependency('binade-emulate'))
"""

SUBPROJECT = """project('user', 'cpp', default_options: 'cpp_std=c++20')
executable('emulate_program', 'emulate_program.cpp',
  dependencies: dependency('binade-emulate', fallback: 'binade', default_options: 'library=disabled'))
"""


def needs(*tools):
    absent = [tool for tool in tools if not shutil.which(tool)]
    return unittest.skipIf(absent, f"there is no {' and no '.join(absent)}")


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.root = pathlib.Path(cls.folder.name)
        subprocess.run([*MESON, "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", cls.root / "installed"],
                       check=True, stdout=subprocess.DEVNULL)
        found = glob.glob(f"{cls.root}/installed/**/pkgconfig/binade.pc", recursive=True)
        assert len(found) == 1, found
        pkgconfig = pathlib.Path(found[0]).parent
        cls.libraries = pkgconfig.parent
        cls.prefix = next(path.parent for path in pkgconfig.parents if (path.parent / "bin/binade").exists())
        # Moved after it was installed: nothing in it may know where it was.
        moved = cls.root / "moved here"
        cls.prefix.rename(moved)
        cls.libraries = moved / cls.libraries.relative_to(cls.prefix)
        cls.prefix = moved
        cls.environment = {name: value for name, value in os.environ.items()
                           if name not in ("CXX", "CC", "CXXFLAGS", "LDFLAGS", "CPPFLAGS", "DESTDIR", "BINADE_DATA")}
        cls.environment |= {"PKG_CONFIG_PATH": str(cls.libraries / "pkgconfig"), "LD_LIBRARY_PATH": str(cls.libraries),
                            "CMAKE_PREFIX_PATH": str(moved), "CCACHE_DISABLE": "1"}

    def ran(self, *command, cwd=None, **variables):
        """What a command printed; its complaints if it failed."""
        done = subprocess.run([str(word) for word in command], cwd=cwd, env=self.environment | variables,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def check_programs(self, folder, names):
        for name in names:
            self.assertEqual(self.ran(folder / name), PRINTED[name])

    def project(self, name, build_file, text):
        folder = self.root / name
        folder.mkdir()
        for program in PRINTED:
            shutil.copy(HERE / f"{program}.cpp", folder)
        (folder / build_file).write_text(text)
        return folder

    def test_only_binade_reaches_the_include_path_and_it_holds_what_is_public(self):
        includes = self.prefix / "include"
        self.assertEqual([path.name for path in includes.iterdir()], ["binade"])
        headers = {str(path.relative_to(includes / "binade")) for path in includes.rglob("*") if path.is_file()}
        emulate = {f"emulate/{path.name}" for path in (SOURCES / "emulate").glob("*.h")}
        self.assertEqual({name for name in headers if not name.startswith("emulate/")}, PUBLIC)
        self.assertEqual(headers - PUBLIC, emulate)

    def test_public_headers_include_each_other_and_the_standard_library_alone(self):
        includes = self.prefix / "include"
        count = 0
        for path in includes.rglob("*.h"):
            for bracket, name in re.findall(r'#\s*include\s*([<"])([^>"]+)', path.read_text(encoding="utf-8")):
                count += 1
                self.assertEqual(bracket, "<", path)
                ours = (includes / name).exists() and name.startswith("binade/")
                self.assertTrue(ours or re.fullmatch(r"[a-z_]+", name), f"{path} includes {name}")
        self.assertGreater(count, 300)

    def test_the_library_shows_binades_names_alone(self):
        shown = self.ran("nm", "-DC", "--defined-only", self.libraries / "libbinade.so").splitlines()
        foreign = [line for line in shown if not re.search(r"\b[A-Za-z] (typeinfo |typeinfo name |vtable |guard variable )?(void )?"
                                                           r"(for )?binade::", line)]
        self.assertEqual(foreign, [])
        self.assertGreater(len(shown), 100)

    @needs("readelf")
    def test_a_call_inside_the_library_reaches_its_own_function(self):
        # A user's copy of an inline function, of other flags or another version, takes no part in what the library computes.
        relocations = self.ran("readelf", "-rW", self.libraries / "libbinade.so")
        calls = [line for line in relocations.splitlines() if "R_X86_64_JUMP_SLO" in line or "_JUMP_SLOT" in line]
        self.assertGreater(len(calls), 50)
        self.assertEqual([line for line in calls if "_ZN6binade" in line or "_ZNK6binade" in line], [])

    def test_the_installed_program_runs_from_another_folder_with_its_own_data(self):
        program = self.prefix / "bin/binade"
        asked = ("experiment", "run", "underflow_band")
        self.assertIn("early: 77249 non-zero values", self.ran(program, *asked, cwd="/"))
        gradients = self.prefix / "share/binade/data/digits_gradients.safetensors"
        hidden = gradients.with_suffix(".hidden")
        gradients.rename(hidden)
        self.addCleanup(hidden.rename, gradients)
        done = subprocess.run([program, *asked], cwd="/", env=self.environment, capture_output=True, text=True, check=False)
        self.assertIn(str(gradients.parent), done.stdout + done.stderr)

    def test_licence_schema_and_changes_are_installed(self):
        for name in ("doc/binade/LICENSE", "doc/binade/CHANGELOG.md", "binade/json.schema.json", "binade/data/README.md"):
            self.assertTrue((self.prefix / "share" / name).is_file(), name)

    def test_completions_and_the_manual_page_are_the_programs_own(self):
        places = {"bash": "bash-completion/completions/binade", "zsh": "zsh/site-functions/_binade",
                  "fish": "fish/vendor_completions.d/binade.fish", "man": "man/man1/binade.1"}
        for word, place in places.items():
            self.assertEqual((self.prefix / "share" / place).read_text(encoding="utf-8"),
                             self.ran(self.prefix / "bin/binade", "completion", word))

    def test_the_readme_shows_the_program_that_is_built_and_what_it_prints(self):
        readme = (SOURCES / "lib/public/README.md").read_text(encoding="utf-8")
        program = (HERE / "user_program.cpp").read_text(encoding="utf-8")
        self.assertIn("```cpp\n" + program[program.index("#include"):] + "```", readme)
        self.assertIn("```\n" + PRINTED["user_program"] + "```", readme)

    def test_a_compiler_that_may_change_bits_is_refused(self):
        told = {"g++": ("-ffast-math", "-ffinite-math-only", "-funsafe-math-optimizations", "-freciprocal-math"),
                "clang++": ("-ffast-math", "-ffinite-math-only")}
        headers = ("emulate.h", "emulate/double_double.h", "emulate/quantize.h")
        for compiler in COMPILERS:
            for header, flag in itertools.product(headers, told[compiler]):
                done = subprocess.run([compiler, "-std=c++20", flag, "-fsyntax-only", "-x", "c++", "-",
                                       f"-I{self.prefix}/include"], input=f"#include <binade/{header}>\n",
                                      capture_output=True, text=True, check=False)
                self.assertIn("without -ffast-math", done.stderr)

    @needs("pkg-config")
    def test_programs_link_by_pkg_config(self):
        for compiler in COMPILERS:
            folder = self.root / f"pkg-config {compiler}"
            folder.mkdir()
            for name, package in {"user_program": "binade", "emulate_program": "binade-emulate"}.items():
                flags = self.ran("pkg-config", "--cflags", "--libs", package).strip().replace("\\ ", "\0").split()
                self.ran(compiler, "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", HERE / f"{name}.cpp",
                         *(flag.replace("\0", " ") for flag in flags), "-o", folder / name)
            self.check_programs(folder, PRINTED)

    @needs("cmake", "ninja")
    def test_programs_link_by_cmake(self):
        folder = self.project("cmake", "CMakeLists.txt", CMAKE)
        for compiler in COMPILERS:
            build = folder / compiler
            self.ran("cmake", "-S", folder, "-B", build, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}")
            self.ran("cmake", "--build", build)
            self.check_programs(build, PRINTED)

    @needs("cmake", "ninja")
    def test_cmake_finds_the_package_through_a_link_as_of_lib_to_usr_lib(self):
        folder = self.project("linked", "CMakeLists.txt", CMAKE)
        root = self.root / "root"
        root.mkdir()
        (root / "usr").symlink_to(self.prefix)
        (root / "lib").symlink_to("usr/lib")
        package = root / (self.libraries / "cmake/binade").relative_to(self.prefix)
        self.ran("cmake", "-S", folder, "-B", folder / "b", "-G", "Ninja", f"-Dbinade_DIR={package}")
        self.ran("cmake", "--build", folder / "b", "--target", "emulate_program")

    @needs("cmake", "ninja")
    def test_cmake_refuses_another_version_and_an_unknown_component(self):
        for number, asked in enumerate(("0.2", "1.0", "0.1 COMPONENTS kernels")):
            folder = self.project(f"refused {number}", "CMakeLists.txt",
                                  f"cmake_minimum_required(VERSION 3.16)\nproject(user CXX)\nfind_package(binade {asked} REQUIRED)\n")
            done = subprocess.run(["cmake", "-S", folder, "-B", folder / "b", "-G", "Ninja"], env=self.environment,
                                  capture_output=True, text=True, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("binade", done.stderr)

    @needs("pkg-config", "ninja")
    def test_programs_link_by_meson(self):
        folder = self.project("meson", "meson.build", MESON_BUILD)
        for compiler in COMPILERS:
            self.ran(*MESON, "setup", folder / compiler, cwd=folder, CXX=compiler)
            self.ran("ninja", "-C", folder / compiler)
            self.check_programs(folder / compiler, PRINTED)

    @needs("ninja")
    def test_as_a_subproject_the_emulator_asks_for_nothing_but_a_compiler(self):
        folder = self.project("subproject", "meson.build", SUBPROJECT)
        copy = folder / "subprojects/binade"
        for name in ("emulate", "lib/packages", "lib/public"):  # what the emulator's headers are made of, and nothing else
            shutil.copytree(SOURCES / name, copy / name)
        for name in ("meson.build", "meson_options.txt", "lib/version.h"):
            shutil.copy(SOURCES / name, copy / name)
        for compiler in COMPILERS:
            # No package can be found where pkg-config and CMake are not.
            self.ran(*MESON, "setup", "--wrap-mode=forcefallback", folder / compiler, cwd=folder, CXX=compiler,
                     PKG_CONFIG="/nonexistent", PKG_CONFIG_LIBDIR="/nonexistent")
            self.ran("ninja", "-C", folder / compiler)
            self.check_programs(folder / compiler, ["emulate_program"])
        # What changes in a header reaches the program by the next build.
        build, header = folder / COMPILERS[0], copy / "emulate/quantize.h"
        header.write_text(header.read_text(encoding="utf-8") + "\n#error changed\n", encoding="utf-8")
        done = subprocess.run(["ninja", "-C", build], env=self.environment, capture_output=True, text=True, check=False)
        self.assertIn("#error changed", done.stdout)


if __name__ == "__main__":
    assert COMPILERS, "there is no g++ and no clang++"
    print("compilers:", *COMPILERS)
    unittest.main(argv=sys.argv[:1])

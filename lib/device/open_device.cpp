// SPDX-License-Identifier: Apache-2.0
//
// open_device() loads the module beside the program, if there is one that was built with the
// program.
#include <dlfcn.h>
#include <elf.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "lib/device/device_module.h"
#include "lib/io/own_folder.h"

namespace binade {
namespace {

constexpr std::string_view what_to_do = "rebuild it with ./dev build, or remove it";

/// Returns the path of the module: beside this program or shared library, or where it is installed.
/// If it is in none of these places, the path that it would have beside the program; empty if the
/// system does not tell where that is.
std::filesystem::path module_path() {
  const std::filesystem::path folder = own_folder();
  if (folder.empty()) return folder;
  std::error_code unseen;
  for (const char* place : {"", BINADE_MODULES_FROM_BINDIR, "binade"}) {
    std::filesystem::path path = (folder / place / device_module).lexically_normal();
    if (std::filesystem::exists(std::filesystem::symlink_status(path, unseen))) return path;
  }
  return folder / device_module;
}

/// Returns whether the end of an ELF file is missing, which would crash the loader. The section
/// headers are last in a file.
bool ends_early(const std::filesystem::path& path) {
  Elf64_Ehdr head{};
  std::ifstream in(path, std::ios::binary);
  if (!in.read(reinterpret_cast<char*>(&head), sizeof head)) return false;  // dlopen() says why
  const bool is_elf = std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0;
  const std::uint64_t headers = std::uint64_t{head.e_shnum} * head.e_shentsize;
  return is_elf && std::filesystem::file_size(path) < head.e_shoff + headers;
}

/// Returns what dlerror() says, without the file's name at its beginning, which the caller says
/// itself.
std::string loader_says(const std::string& file) {
  const char* const text = dlerror();
  const std::string says = text != nullptr ? text : "unknown error";
  return printable(says.starts_with(file + ": ") ? says.substr(file.size() + 2) : says);
}

void* symbol_of(void* module, const char* name, const std::string& file) {
  void* const found = dlsym(module, name);
  if (found == nullptr)
    throw error_in(file, "is no device module: " + loader_says(file), what_to_do);
  return found;
}

}  // namespace

OpenedDevice open_device() {
  const std::filesystem::path path = module_path();
  const std::string file = path.string();
  std::error_code unseen;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, unseen))) {
    return {nullptr, "no GPU: there is no " +
                         printable(path.empty() ? device_module : file, longest_path) +
                         " beside this program; ./dev build makes one where nvcc is"};
  }
  if (std::filesystem::is_other(path, unseen)) {  // opening a pipe would block
    throw error_in(file, "is a pipe, a socket or a device, and no module", what_to_do);
  }
  if (ends_early(path)) throw error_in(file, "is only the beginning of a module", what_to_do);
  void* const module = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed
  if (module == nullptr) throw error_in(file, "cannot be loaded: " + loader_says(file), what_to_do);
  const void* const interface = symbol_of(module, "binade_device_interface", file);
  if (std::strcmp(static_cast<const char*>(interface), binade_device_interface) != 0) {
    throw error_in(file, "was not built together with this program", what_to_do);
  }
  OpenedDevice opened;
  reinterpret_cast<OpenDevice>(symbol_of(module, "binade_open_device", file))(opened);
  opened.module.file = file;
  return opened;
}

}  // namespace binade

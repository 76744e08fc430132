// SPDX-License-Identifier: Apache-2.0
//
// Pickles, and torch's archives of them, made opcode by opcode as Python's Lib/pickletools.py
// describes them. No code of lib/io takes part.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/lib/io/files.h"

namespace binade::test {

inline std::string pickled(std::string_view value) { return join({"\x80\x02", value, "."}); }

inline std::string text(std::string_view value) {
  return join({"X", little(value.size(), 4), value});
}
inline std::string integer(std::int64_t value) {
  return "\x8a\x08" + little(static_cast<std::uint64_t>(value), 8);
}
inline std::string global(std::string_view module, std::string_view name) {
  return join({"c", module, "\n", name, "\n"});
}
inline std::string tuple(std::initializer_list<std::string_view> items) {
  return join({"(", join(items), "t"});
}
inline std::string integers(const std::vector<std::int64_t>& values) {
  std::string items;
  for (const std::int64_t value : values) items += integer(value);
  return "(" + items + "t";
}
inline std::string called(std::string_view function,
                          std::initializer_list<std::string_view> arguments) {
  return join({function, tuple(arguments), "R"});
}
/// Returns a pickled dict; `items` are keys and values in turn.
inline std::string dict_of(std::initializer_list<std::string_view> items) {
  return join({"}(", join(items), "u"});
}

/// The parts of a pickled tensor, which is a view of a storage. Tests set wrong ones.
struct PickledView {
  std::string kind = "FloatStorage";
  std::string key = "0";
  std::int64_t stored = 6;  ///< number of elements of the storage
  std::int64_t offset = 0;
  std::vector<std::int64_t> sizes = {2, 3};
  std::vector<std::int64_t> strides = {3, 1};
};

inline std::string storage_of(const PickledView& view) {
  return tuple({text("storage"), global("torch", view.kind), text(view.key), text("cpu"),
                integer(view.stored)}) +
         "Q";
}

inline std::string view_of(const PickledView& view) {
  return called(global("torch._utils", "_rebuild_tensor_v2"),
                {storage_of(view), integer(view.offset), integers(view.sizes),
                 integers(view.strides), "\x89", called(global("collections", "OrderedDict"), {})});
}

/// Returns an archive like those of torch.save. With `checked` it has the CRC-32 of each member,
/// which torch can leave out.
inline std::string torch_archive(const std::string& pickle,
                                 const std::vector<std::pair<std::string, std::string>>& storages,
                                 bool checked = true, std::vector<Member> others = {}) {
  std::vector<Member> members = {{.name = "m/data.pkl", .contents = pickle}};
  for (const auto& [key, bytes] : storages) {
    members.push_back({.name = "m/data/" + key, .contents = bytes});
  }
  members.insert(members.end(), others.begin(), others.end());
  members.push_back({.name = "m/version", .contents = "3\n"});
  for (Member& member : members) {
    if (!checked) member.crc = 0;
  }
  return zip(members);
}

}  // namespace binade::test

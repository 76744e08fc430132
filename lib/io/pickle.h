// SPDX-License-Identifier: Apache-2.0
//
// A pickle of Python, protocols 2 to 5, which is decoded and never executed. Its opcodes are those
// of a stack machine; here its values form a graph, in which a global is its name and a call is a
// function with its arguments. Whoever reads the graph decides what they stand for. Globals that
// the caller does not know are refused where they are named, so that only known ones are in the
// graph. A value may be part of several others, and even of itself, so code that walks the graph
// must bound depth and steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace binade {

/// A value in the graph. Its kind says which of the members are set.
struct PickleValue {
  enum class Kind : std::uint8_t {
    none,
    boolean,
    integer,  ///< an integer stored in at most 8 bytes
    number,   ///< float or an integer stored in more bytes; its value is not kept
    text,     ///< bytes that should be UTF-8, which is not checked
    bytes,    ///< bytes or a bytearray
    tuple,
    list,
    set,
    dict,
    global,
    call,
    persistent,  ///< an object that is kept outside of the pickle, such as a storage
  };
  using enum Kind;

  Kind kind = none;
  std::uint32_t at = 0;            ///< offset in the pickle of the opcode that made it
  std::int64_t integer_value = 0;  ///< an integer; a boolean as 0 or 1
  std::string_view text_value;     ///< text or bytes; for a global "module.name"
  /// The items of a tuple, list or set. For a dict they are keys and values in turn, and so they
  /// are for a call whose result was filled like a dict.
  std::vector<const PickleValue*> items;
  const PickleValue* function = nullptr;  ///< for a call: the global that is called
  /// For a call, the tuple of its arguments; for a persistent value, the value that identifies it.
  const PickleValue* arguments = nullptr;
  /// For a call, what its result got as attributes (Python's __setstate__); null if nothing.
  const PickleValue* state = nullptr;

  bool is(Kind other) const { return kind == other; }
  bool is_call_of(std::string_view name) const { return is(call) && function->text_value == name; }
  /// Returns the value under this text in a dict, or in a call's result that was filled like one:
  /// the first, if the key was set several times; null if there is none.
  const PickleValue* find(std::string_view key) const;
};

/// A function that throws for a global that must not occur. It gets its "module.name" and the
/// offset of its opcode.
using CheckGlobal = std::function<void(const std::string& name, std::uint64_t at)>;

class Pickle {
 public:
  /// Decodes the bytes. `label` names the pickle in messages. Throws Error if they are not exactly
  /// one whole pickle, have an opcode that picklers do not write for torch's files, or exceed the
  /// limits below; passes on what `check_global` throws.
  Pickle(std::string label, std::string bytes, const CheckGlobal& check_global);
  Pickle(const Pickle&) = delete;
  Pickle& operator=(const Pickle&) = delete;

  const std::string& label() const { return label_; }
  const PickleValue& root() const { return *root_; }

  static constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;
  static constexpr std::size_t most_values = 8'000'000;  ///< marks and memo entries count, too

 private:
  friend class PickleMachine;

  std::string label_;
  std::string bytes_;
  std::deque<PickleValue> values_;
  std::deque<std::string> names_;  ///< names of the globals
  const PickleValue* root_ = nullptr;
};

}  // namespace binade

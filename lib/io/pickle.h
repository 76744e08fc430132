// SPDX-License-Identifier: Apache-2.0
//
// A pickle of Python's, protocols 2 to 5, taken apart and never run. The opcodes are a stack machine's; here its values
// are a tree: a global is its name, a call is a function and its arguments. What they stand for is the reader's to say;
// globals that he does not know are refused where they are named, so no other gets into a tree.
// Values may lie in several others, and even in themselves: whoever walks a tree bounds depth and steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace binade {

struct PickleValue {
  enum class Kind : std::uint8_t {
    none,
    boolean,
    integer,  ///< of 64 bits
    number,   ///< any other, which is not kept
    text,
    bytes,
    tuple,
    list,
    set,
    dict,
    global,
    call,
    persistent,  ///< what the pickle's writer keeps elsewhere, as a storage
  };
  using enum Kind;

  Kind kind = none;
  std::uint32_t at = 0;  ///< of the opcode in the pickle
  std::int64_t integer_value = 0;
  std::string_view text_value;  ///< of text and bytes; a global's "module.name"
  /// Of tuple, list and set; of a dict keys and values in turn, and so of what was set in a call's result.
  std::vector<const PickleValue*> items;
  const PickleValue* function = nullptr;  ///< of a call: a global
  const PickleValue* arguments =
      nullptr;  ///< of a call: a tuple; of a persistent value, what names it
  const PickleValue* state =
      nullptr;  ///< of a call, what its result was given as attributes; null if nothing

  bool is(Kind other) const { return kind == other; }
  bool is_call_of(std::string_view name) const { return is(call) && function->text_value == name; }
  /// The value under a text in a dict or a call's result; null where there is none.
  const PickleValue* find(std::string_view key) const;
};

/// Throws for globals that are not to be: what is called "module.name", and the byte where it stands.
using CheckGlobal = std::function<void(const std::string& name, std::uint64_t at)>;

class Pickle {
 public:
  /// `label` names the pickle in errors.
  Pickle(std::string label, std::string bytes, const CheckGlobal& check_global);
  Pickle(const Pickle&) = delete;
  Pickle& operator=(const Pickle&) = delete;

  const std::string& label() const { return label_; }
  const PickleValue& root() const { return *root_; }

  static constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;
  static constexpr std::size_t most_values = 8'000'000;  ///< with the marks and the memo

 private:
  friend class PickleMachine;

  std::string label_;
  std::string bytes_;
  std::deque<PickleValue> values_;
  std::deque<std::string> names_;  ///< of globals
  const PickleValue* root_ = nullptr;
};

}  // namespace binade

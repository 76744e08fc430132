// SPDX-License-Identifier: Apache-2.0
//
// The opcodes of protocols 2 to 5 that torch's files have (Lib/pickletools.py describes each). The
// memory used is linear in the pickle's bytes, which are bounded, and the number of values is
// bounded, too.
#include "lib/io/pickle.h"

#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "lib/text/error.h"

namespace binade {

class PickleMachine {
 public:
  PickleMachine(Pickle& pickle, const CheckGlobal& check_global)
      : pickle_(pickle), check_global_(check_global), bytes_(pickle.bytes_) {}

  void run() {
    if (bytes_.size() > Pickle::most_bytes) {
      fail("more than " + std::to_string(Pickle::most_bytes) + " bytes, so refused");
    }
    if (next() != 0x80) fail("no pickle of protocol 2 to 5");
    if (const std::uint64_t protocol = number(1); protocol < 2 || protocol > 5) {
      fail("a pickle of protocol " + std::to_string(protocol));
    }
    while (true) {
      opcode_at_ = at_;
      const unsigned opcode = next();
      if (opcode == '.') break;
      if (!scalar(opcode) && !sized(opcode) && !container(opcode) && !remembered(opcode) &&
          !made(opcode)) {
        constexpr std::string_view digits = "0123456789abcdef";
        fail(std::string("the opcode 0x") + digits[opcode >> 4] + digits[opcode & 15] +
             ", which no pickler of torch's writes,");
      }
    }
    const Value* root = pop();
    if (!stack_.empty() || !marks_.empty()) fail("values are left over");
    if (at_ != bytes_.size()) fail("bytes after the end");
    pickle_.root_ = root;
  }

 private:
  using Value = PickleValue;

  [[noreturn]] void fail(const std::string& what) const {
    throw error_at(pickle_.label_, what, opcode_at_, "save it again");
  }

  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size() - at_) fail("the pickle is cut off");
    const std::string_view part = bytes_.substr(at_, size);
    at_ += size;
    return part;
  }
  unsigned next() { return static_cast<unsigned char>(take(1)[0]); }
  std::uint64_t number(std::size_t width) {
    std::uint64_t value = 0;
    std::memcpy(&value, take(width).data(), width);
    return value;
  }
  std::string_view line() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) fail("the pickle is cut off");
    const std::string_view text = take(end - at_);
    take(1);
    return text;
  }

  /// Counts a thing that takes memory: a value on the stack, a mark, or an entry of the memo.
  void count_one() {
    if (++counted_ > Pickle::most_values) {
      fail("more than " + std::to_string(Pickle::most_values) + " values, so refused");
    }
  }
  void push(Value* value) {
    count_one();
    stack_.push_back(value);
  }
  Value& make(Value::Kind kind) {
    Value& value = pickle_.values_.emplace_back();
    value.kind = kind;
    value.at = static_cast<std::uint32_t>(opcode_at_);
    push(&value);
    return value;
  }
  void make_integer(Value::Kind kind, std::int64_t value) { make(kind).integer_value = value; }

  /// Returns the number of values on the stack above the last mark.
  std::size_t free_height() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }
  Value* pop() {
    if (free_height() == 0) fail("a value is missing");
    Value* value = stack_.back();
    stack_.pop_back();
    return value;
  }
  Value& top() {
    if (free_height() == 0) fail("a value is missing");
    return *stack_.back();
  }
  std::vector<const Value*> pop_last(std::size_t count) {
    if (free_height() < count) fail("a value is missing");
    std::vector<const Value*> out(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return out;
  }
  std::vector<const Value*> pop_to_mark() {
    if (marks_.empty()) fail("a mark is missing");
    std::vector<const Value*> out = pop_last(free_height());
    marks_.pop_back();
    return out;
  }

  bool scalar(unsigned opcode) {
    switch (opcode) {
      case 'N': make(Value::none); return true;
      case 0x88: make_integer(Value::boolean, 1); return true;
      case 0x89: make_integer(Value::boolean, 0); return true;
      case 'K': make_integer(Value::integer, static_cast<std::int64_t>(number(1))); return true;
      case 'M': make_integer(Value::integer, static_cast<std::int64_t>(number(2))); return true;
      case 'J': make_integer(Value::integer, static_cast<std::int32_t>(number(4))); return true;
      case 0x8a: long_integer(number(1)); return true;
      case 0x8b: long_integer(number(4)); return true;
      case 'G':
        take(8);
        make(Value::number);
        return true;
      case 0x95:  // FRAME announces bytes that a reader may fetch at once
        if (number(8) > bytes_.size() - at_) fail("the pickle is cut off");
        return true;
      default: return false;
    }
  }

  /// Makes an integer from a number of any width in two's complement.
  void long_integer(std::uint64_t width) {
    const std::string_view digits = take(width);
    if (width > sizeof(std::int64_t)) {
      make(Value::number);
      return;
    }
    std::uint64_t value = width > 0 && (digits.back() & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    std::memcpy(&value, digits.data(), width);
    make_integer(Value::integer, std::bit_cast<std::int64_t>(value));
  }

  bool sized(unsigned opcode) {
    struct Row {
      unsigned opcode;
      std::size_t width;  ///< bytes of the length field
      Value::Kind kind;
    };
    constexpr Row rows[] = {
        {0x8c, 1, Value::text},  {'X', 4, Value::text},  {0x8d, 8, Value::text},
        {'C', 1, Value::bytes},  {'B', 4, Value::bytes}, {0x8e, 8, Value::bytes},
        {0x96, 8, Value::bytes},  // a bytearray
    };
    for (const Row& row : rows) {
      if (row.opcode != opcode) continue;
      const std::string_view text = take(number(row.width));
      make(row.kind).text_value = text;
      return true;
    }
    return false;
  }

  bool container(unsigned opcode) {
    switch (opcode) {
      case '(':
        count_one();
        marks_.push_back(stack_.size());
        return true;
      case ']': make(Value::list); return true;
      case '}': make(Value::dict); return true;
      case 0x8f: make(Value::set); return true;
      case ')': make(Value::tuple); return true;
      case 't': make_of(Value::tuple, pop_to_mark()); return true;
      case 0x85: make_of(Value::tuple, pop_last(1)); return true;
      case 0x86: make_of(Value::tuple, pop_last(2)); return true;
      case 0x87: make_of(Value::tuple, pop_last(3)); return true;
      case 0x91: make_of(Value::set, pop_to_mark()); return true;
      case 'a': extend(pop_last(1), Value::list); return true;
      case 'e': extend(pop_to_mark(), Value::list); return true;
      case 0x90: extend(pop_to_mark(), Value::set); return true;
      case 's': extend(pop_last(2), Value::dict); return true;
      case 'u': extend(pop_to_mark(), Value::dict); return true;
      case '0': pop(); return true;
      case '1': pop_to_mark(); return true;
      default: return false;
    }
  }

  void make_of(Value::Kind kind, std::vector<const Value*> items) {
    make(kind).items = std::move(items);
  }

  void extend(const std::vector<const Value*>& items, Value::Kind kind) {
    Value& onto = top();
    const bool fits = onto.is(kind) || (kind == Value::dict && onto.is(Value::call));
    if (!fits) fail("items added to a value that takes none");
    if (kind == Value::dict && items.size() % 2 != 0) fail("a key without its value");
    onto.items.insert(onto.items.end(), items.begin(), items.end());
  }

  /// Stores values in the memo and recalls them. Picklers number its entries one by one.
  bool remembered(unsigned opcode) {
    switch (opcode) {
      case 'q': remember(number(1)); return true;
      case 'r': remember(number(4)); return true;
      case 0x94: remember(memo_.size()); return true;
      case 'h': recall(number(1)); return true;
      case 'j': recall(number(4)); return true;
      default: return false;
    }
  }
  void remember(std::uint64_t index) {
    if (index > memo_.size()) fail("a gap in the memo");
    Value* value = &top();
    if (index == memo_.size()) {
      count_one();
      memo_.push_back(value);
    }
    memo_[index] = value;
  }
  void recall(std::uint64_t index) {
    if (index >= memo_.size()) fail("a value that is not in the memo");
    push(memo_[index]);
  }

  bool made(unsigned opcode) {
    switch (opcode) {
      case 'c': {
        const std::string_view module = line();
        make_global(module, line());
        return true;
      }
      case 0x93: {
        const auto names = pop_last(2);
        if (!names[0]->is(Value::text) || !names[1]->is(Value::text)) {
          fail("a global that is not named by text");
        }
        make_global(names[0]->text_value, names[1]->text_value);
        return true;
      }
      case 'R':
      case 0x81: make_call(); return true;
      case 'b': {
        const Value* state = pop();
        if (!top().is(Value::call)) fail("attributes set on a value that no call made");
        top().state = state;
        return true;
      }
      case 'Q': {
        const Value* name = pop();
        make(Value::persistent).arguments = name;
        return true;
      }
      default: return false;
    }
  }

  void make_global(std::string_view module, std::string_view name) {
    constexpr std::size_t longest = 1000;
    if (module.size() + name.size() > longest) fail("a global with an absurd name");
    std::string whole = std::string(module) + "." + std::string(name);
    check_global_(whole, opcode_at_);
    pickle_.names_.push_back(std::move(whole));
    make(Value::global).text_value = pickle_.names_.back();
  }

  void make_call() {
    const auto parts = pop_last(2);
    if (!parts[0]->is(Value::global)) fail("a call of a value that is no global");
    if (!parts[1]->is(Value::tuple)) fail("a call without a tuple of arguments");
    Value& call = make(Value::call);
    call.function = parts[0];
    call.arguments = parts[1];
  }

  Pickle& pickle_;
  const CheckGlobal& check_global_;
  std::string_view bytes_;
  std::uint64_t at_ = 0;
  std::uint64_t opcode_at_ = 0;
  std::size_t counted_ = 0;
  std::vector<Value*> stack_;
  std::vector<std::size_t> marks_;  ///< heights of the stack at the marks
  std::vector<Value*> memo_;
};

const PickleValue* PickleValue::find(std::string_view key) const {
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i]->is(text) && items[i]->text_value == key) return items[i + 1];
  }
  return nullptr;
}

Pickle::Pickle(std::string label, std::string bytes, const CheckGlobal& check_global)
    : label_(std::move(label)), bytes_(std::move(bytes)) {
  PickleMachine(*this, check_global).run();
}

}  // namespace binade

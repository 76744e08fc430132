// SPDX-License-Identifier: Apache-2.0
//
// The machine that takes pickles apart: what it makes of each opcode, and all that it refuses.
#include "lib/io/pickle.h"

#include <doctest/doctest.h>

#include <memory>

#include "tests/lib/io/pickles.h"

namespace binade::pickle_test {
namespace {

using namespace std::string_literals;
using test::called;
using test::dict_of;
using test::error_of;
using test::global;
using test::has;
using test::integer;
using test::little;
using test::pickled;
using test::text;
using test::tuple;

std::unique_ptr<Pickle> parsed(const std::string& bytes) {
  return std::make_unique<Pickle>("p", bytes, [](const std::string& name, std::uint64_t at) {
    if (name.starts_with("posix")) throw error_at("p", "asks for " + name, at, "");
  });
}
std::string refusal(const std::string& bytes) {
  return error_of([&] { parsed(bytes); });
}

/// A value in words.
std::string words(const PickleValue& value) {
  std::string items;
  for (const PickleValue* item : value.items) items += words(*item) + " ";
  switch (value.kind) {
    case PickleValue::none: return "None";
    case PickleValue::boolean: return value.integer_value != 0 ? "True" : "False";
    case PickleValue::integer: return std::to_string(value.integer_value);
    case PickleValue::number: return "number";
    case PickleValue::text: return "'" + std::string(value.text_value) + "'";
    case PickleValue::bytes: return "b'" + std::string(value.text_value) + "'";
    case PickleValue::tuple: return "( " + items + ")";
    case PickleValue::list: return "[ " + items + "]";
    case PickleValue::set: return "{ " + items + "}";
    case PickleValue::dict: return "{: " + items + "}";
    case PickleValue::global: return std::string(value.text_value);
    case PickleValue::persistent: return "<" + words(*value.arguments) + ">";
    case PickleValue::call: break;
  }
  return words(*value.function) + words(*value.arguments) +
         (value.state != nullptr ? " with " + words(*value.state) : "") +
         (items.empty() ? "" : " and " + items);
}
std::string words_of(const std::string& value) { return words(parsed(pickled(value))->root()); }

TEST_CASE("each opcode makes its value") {
  CHECK(words_of("N") == "None");
  CHECK(words_of("\x88") == "True");
  CHECK(words_of("\x89") == "False");
  CHECK(words_of("K\xff") == "255");
  CHECK(words_of("M\xff\xff") == "65535");
  CHECK(words_of("J\xff\xff\xff\xff") == "-1");
  CHECK(words_of("\x8a\x02\x00\x80"s) == "-32768");
  CHECK(words_of("\x8a\x00"s) == "0");
  CHECK(words_of("\x8a\x09" + little(0, 9)) == "number");
  CHECK(words_of("\x8b" + little(2, 4) + "\x34\x12") == "4660");
  CHECK(words_of("G" + little(0, 8)) == "number");
  CHECK(words_of("\x95" + little(1, 8) + "N") == "None");
  CHECK(words_of("\x8c\x02"s + "ab") == "'ab'");
  CHECK(words_of("X" + little(2, 4) + "ab") == "'ab'");
  CHECK(words_of("\x8d" + little(2, 8) + "ab") == "'ab'");
  CHECK(words_of("C\x02"s + "ab") == "b'ab'");
  CHECK(words_of("B" + little(2, 4) + "ab") == "b'ab'");
  CHECK(words_of("\x8e" + little(2, 8) + "ab") == "b'ab'");
  CHECK(words_of("\x96" + little(2, 8) + "ab") == "b'ab'");
  CHECK(words_of("N\x85") == "( None )");
  CHECK(words_of("NN\x86") == "( None None )");
  CHECK(words_of("NNN\x87") == "( None None None )");
  CHECK(words_of(")") == "( )");
  CHECK(words_of("(NNNNt") == "( None None None None )");
  CHECK(words_of("]Na(NNe") == "[ None None None ]");
  CHECK(words_of("\x8f(NN\x90") == "{ None None }");
  CHECK(words_of("(N\x91") == "{ None }");
  CHECK(words_of("}NNs(NNu") == "{: None None None None }");
  CHECK(words_of("NN0") == "None");
  CHECK(words_of("N(NN1") == "None");
  CHECK(words_of("Nq\x00h\x00\x86"s) == "( None None )");
  CHECK(words_of("Nr" + little(0, 4) + "j" + little(0, 4) + "\x86") == "( None None )");
  CHECK(words_of("N\x94h\x00\x86"s) == "( None None )");
  CHECK(words_of(global("a.b", "c")) == "a.b.c");
  CHECK(words_of(text("a") + text("b") + "\x93") == "a.b");
  CHECK(words_of(global("a", "b") + ")R") == "a.b( )");
  CHECK(words_of(global("a", "b") + ")\x81}b") == "a.b( ) with {: }");
  CHECK(words_of(global("a", "b") + ")RNNs") == "a.b( ) and None None ");
  CHECK(words_of("NQ") == "<None>");
}

TEST_CASE("every other opcode is refused by its number") {
  const std::string known =
      "N\x88\x89KMJ\x8a\x8bG\x95\x8cX\x8d"
      "CB\x8e\x96(]}\x8f)t\x85\x86\x87\x91"
      "ae\x90su01qr\x94hjc\x93R\x81"
      "bQ.";
  int refused = 0;
  for (int opcode = 0; opcode < 256; ++opcode) {
    const auto byte = static_cast<char>(opcode);
    if (known.find(byte) != std::string::npos) continue;
    CAPTURE(opcode);
    CHECK(has(refusal(pickled("NNN"s + byte)), "the opcode 0x"));
    ++refused;
  }
  CHECK(refused == 256 - static_cast<int>(known.size()));
}

TEST_CASE("a global that is not to be is refused where it stands") {
  CHECK(refusal(pickled("N0" + global("posix", "system"))) ==
        "p: asks for posix.system at byte 4; ");
  CHECK(has(refusal(pickled(text("posix") + text("system") + "\x93")), "posix.system"));
  CHECK(has(refusal(pickled("NN\x93")), "not named by text"));
  CHECK(has(refusal(pickled(global(std::string(2000, 'a'), "b"))), "absurd name"));
}

TEST_CASE("a pickle cut at any byte, or with a byte more, is an error") {
  const std::string whole = pickled(
      dict_of({text("a"), tuple({integer(1), "N", "C\x02"s + "ab"}), text("b"),
               called(global("m", "f"), {"G" + little(0, 8), "J" + little(1, 4), text("x")}) + "q" +
                   "\x00"s,
               "h\x00"s, "]"}));
  CHECK(refusal(whole) == "");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK(refusal(whole.substr(0, size)) != "");
  }
  CHECK(has(refusal(whole + "N"), "bytes after the end"));
}

TEST_CASE("what no pickler writes is refused") {
  CHECK(has(refusal("N."), "no pickle of protocol 2 to 5"));
  CHECK(has(refusal("\x80\x01N."), "protocol 1"));
  CHECK(has(refusal("\x80\x06N."), "protocol 6"));
  CHECK(has(refusal(pickled("NN")), "left over"));
  CHECK(has(refusal(pickled("(N")), "left over"));
  CHECK(has(refusal(pickled("")), "a value is missing"));
  CHECK(has(refusal(pickled("N(\x85")), "a value is missing"));
  CHECK(has(refusal(pickled("N(0")), "a value is missing at byte 4"));
  CHECK(has(refusal(pickled("N(q\x00"s)), "a value is missing at byte 4"));
  CHECK(has(refusal(pickled("Nt")), "a mark is missing"));
  CHECK(has(refusal(pickled("h\x00"s)), "not in the memo"));
  CHECK(has(refusal(pickled("Nr" + little(0xFFFFFFFF, 4))), "a gap in the memo"));
  CHECK(has(refusal(pickled("NNa")), "items added to a value that takes none"));
  CHECK(has(refusal(pickled("](NNu")), "items added to a value that takes none"));
  CHECK(has(refusal(pickled("}(Nu")), "a key without its value"));
  CHECK(has(refusal(pickled("N)R")), "a call of a value that is no global"));
  CHECK(has(refusal(pickled(global("a", "b") + "NR")), "without a tuple"));
  CHECK(has(refusal(pickled("}}b")), "attributes set on a value that no call made"));
  CHECK(has(refusal(pickled("X" + little(0xFFFFFFFF, 4))), "cut off"));
  CHECK(has(refusal(pickled("\x8e" + little(~0ULL, 8))), "cut off"));
  CHECK(has(refusal(pickled("\x95" + little(99, 8) + "N")), "cut off"));
}

TEST_CASE("pickles that ask for memory get an error instead") {
  const std::size_t many = Pickle::most_values + 1;
  for (const char opcode : {'N', '(', ']'}) {
    CHECK(has(refusal(pickled(std::string(many, opcode))), "values, so refused"));
  }
  CHECK(has(refusal(pickled("N" + std::string(many, '\x94'))), "values, so refused"));
  CHECK(has(refusal(std::string(Pickle::most_bytes + 1, 'N')), "bytes, so refused"));
}

}  // namespace
}  // namespace binade::pickle_test

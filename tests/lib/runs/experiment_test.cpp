// SPDX-License-Identifier: Apache-2.0
//
// Tables on a terminal: unchanged where they fit, in more lines where they do not; no figure is
// split.
#include "lib/runs/experiment.h"

#include <doctest/doctest.h>

#include <sstream>

#include "lib/text/paragraph.h"

namespace binade::experiment_test {
namespace {

std::size_t widest(const std::string& text) {
  std::size_t out = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out = std::max(out, columns_of(line));
  return out;
}

TEST_CASE("a table that fits has a line for each row") {
  CHECK(table_text({"scales", {"name", "2^k", "words"}, {{"a", "12.5", "two words"}}}) ==
        "scales\n"
        "  name   2^k      words\n"
        "  a     12.5  two words\n"
        "\n");
}

TEST_CASE("a table of 98 columns fits, one of 99 breaks its words") {
  const auto table = [](std::size_t words) {
    return Table{"", {"k", "words"}, {{"1", std::string(words, 'x') + " y"}}};
  };
  CHECK(table_text(table(91)).find(" y\n") != std::string::npos);
  CHECK(widest(table_text(table(91))) == 98);
  CHECK(table_text(table(92)) == "  k  words\n  1  " + std::string(92, 'x') + "\n     y\n\n");
}

TEST_CASE("heads break before figures do, and stand above them") {
  const std::string head = "a head of words over figures";
  const std::string text = table_text(
      {"", {"name", head, head, head, head}, {{"a", "0.0021 % / 1.2", "19.1 %", "3", "4"}}});
  CHECK(widest(text) <= 98);
  CHECK(text.find("0.0021 % / 1.2") != std::string::npos);
  CHECK(text.find("19.1 %") != std::string::npos);
  const std::string last = text.substr(text.rfind("\n  a") + 1);
  CHECK(last.ends_with("4\n\n"));
}

TEST_CASE("rows of broken words have air between them and their cells to the left") {
  const std::string words = "clipping comes before unscaling and nobody tells the reader of it";
  const std::string text =
      table_text({"", {"said", "n", "measured"}, {{words, "1", words}, {"short", "22", "yes"}}});
  CHECK(widest(text) <= 98);
  CHECK(text.find("\n\n  short") != std::string::npos);
  CHECK(text.find("  22  yes\n") != std::string::npos);
  for (const char* word : {"clipping", "unscaling", "nobody", "reader"}) {
    CHECK(text.find(word) != text.rfind(word));
  }
}

TEST_CASE("a share stays beside its per cent sign") {
  std::string cell = "lost";
  for (int i = 10; i < 40; ++i) cell += " " + std::to_string(i) + " %";
  const std::string text = table_text({"", {"name", "shares"}, {{"a", cell}}});
  CHECK(widest(text) <= 98);
  CHECK(text.find("\n       %") == std::string::npos);
  for (int i = 10; i < 40; ++i) CHECK(text.find(std::to_string(i) + " %") != std::string::npos);
}

TEST_CASE("a title is prose") {
  std::string title = "title";
  for (int i = 0; i < 40; ++i) title += " word";
  CHECK(widest(table_text({title, {"a"}, {{"1"}}})) <= 98);
}

}  // namespace
}  // namespace binade::experiment_test

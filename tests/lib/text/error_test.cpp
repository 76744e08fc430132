// SPDX-License-Identifier: Apache-2.0
//
// The wording of errors and what keeps them on one line.
#include "lib/text/error.h"

#include <doctest/doctest.h>

#include <string>

using namespace std::string_literals;

namespace binade::error_test {

TEST_CASE("an error names the file, the offset and what to do") {
  CHECK(error_at("g.npy", "truncated", 4096, "export it again").what() ==
        "g.npy: truncated at byte 4096; export it again"s);
  CHECK(error_in("g.npy", "a folder", "name a file").what() == "g.npy: a folder; name a file"s);
}

TEST_CASE("control characters cannot break the line or move the cursor") {
  CHECK(printable("a\nb\x1b[2J\x7f") == "a\\x0ab\\x1b[2J\\x7f");
  CHECK(printable("a\xc2\x85z") == "a\\xc2\\x85z");
  CHECK(printable("\0z"s) == "\\x00z");
  CHECK(printable("größe 大") == "größe 大");
  CHECK(printable("a\u202Eb\u2028c\u200Bd\u061Ce\uFEFF") ==
        "a\\xe2\\x80\\xaeb\\xe2\\x80\\xa8c\\xe2\\x80\\x8bd\\xd8\\x9ce\\xef\\xbb\\xbf");
  CHECK(printable("a\u00ADb\u180Ec\uFFF9d\uFE0Fe\U000E0061f") ==
        "a\\xc2\\xadb\\xe1\\xa0\\x8ec\\xef\\xbf\\xb9d\\xef\\xb8\\x8fe\\xf3\\xa0\\x81\\xa1f");
  CHECK(printable("\U0001F600\U000F0000") == "\U0001F600\U000F0000");
  CHECK(printable("\xF4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
  CHECK(printable("\u200A\u2010\u2027\u202F\u061B") == "\u200A\u2010\u2027\u202F\u061B");
}

TEST_CASE("an error is one line that a terminal may show, whatever it repeats") {
  CHECK(Error("a\nb\x1b[31m \u202E\u2066 é").what() ==
        "a\\x0ab\\x1b[31m \\xe2\\x80\\xae\\xe2\\x81\\xa6 é"s);
  const std::string line(5000, 'x');
  CHECK(FileError(line).what() == line);
}

TEST_CASE("a long name keeps its beginning and no half character") {
  CHECK(printable(std::string(200, 'x')) == std::string(200, 'x'));
  CHECK(printable(std::string(201, 'x')) == std::string(200, 'x') + "...");
  CHECK(printable(std::string(199, 'x') + "ßa") == std::string(199, 'x') + "ß...");
  CHECK(printable(std::string(1000, '\x80')).size() < 300);
}

TEST_CASE("a long path is kept whole") {
  const std::string path(300, 'p');
  CHECK(error_in(path, "a", "b").what() == path + ": a; b");
}

}  // namespace binade::error_test

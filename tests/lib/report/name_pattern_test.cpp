// SPDX-License-Identifier: Apache-2.0
//
// What an expression finds in names, which expressions are refused, and that no search takes long.
#include "lib/report/name_pattern.h"

#include <doctest/doctest.h>

#include <ctime>
#include <string>

#include "tests/lib/io/files.h"
#include "tests/lib/text/error_of.h"

namespace binade::name_pattern_test {
namespace {

using test::error_of;
using test::has;

bool finds(const char* expression, const std::string& name) {
  return NamePattern("", expression).is_in(name);
}

std::string complaint(const std::string& expression) {
  return error_of([&] { const NamePattern pattern("x: ", expression); });
}

TEST_CASE("an expression is read as by Perl") {
  CHECK(finds("^g[.]", "g.fc1"));
  CHECK_FALSE(finds("^g[.]", "a.g.fc1"));
  CHECK(finds("(fc|conv)[0-9]{1,2}[.]w(eight)?$", "layer.conv12.w"));
  CHECK_FALSE(finds("(fc|conv)[0-9]{1,2}[.]w(eight)?$", "layer.conv123.w"));
  CHECK(finds("a[[:digit:]]+z", "a019z"));
  CHECK(finds("\\bgrad\\b", "x.grad.y"));
  CHECK_FALSE(finds("\\bgrad\\b", "x.gradual"));
  CHECK(finds("\\.x\\w\\d", "a.xy3"));
  CHECK(finds("^.$", "é"));
  CHECK(finds("^a.b$", "a\nb"));
  CHECK(finds("^....$", "\xff\xfe\xc3z"));
  CHECK(finds("[^x]b$",
              "a\xff"
              "b"));
  CHECK(finds("[.][.=][]=.][^]]$", "a.==x"));
  CHECK(finds("[[:alpha:].=]{2}$", "1=a"));
  CHECK_FALSE(finds("a$", "a\nb"));
  CHECK(finds("b.d$", std::string("a\xff"
                                  "b\0d",
                                  5)));
}

TEST_CASE("what is no expression, or one of another kind, is refused") {
  CHECK(has(complaint("("), "x: "));
  CHECK(has(complaint("["), "write a regular expression as for Perl or RE2"));
  CHECK(has(complaint("(a*)\\1b"), "invalid escape sequence: \\1"));
  CHECK(has(complaint("a(?=b)"), "(?="));
  CHECK(has(complaint("\xff"), "UTF-8"));
  CHECK(has(complaint("\\<grad\\>"), "have no \\<; write \\b"));
  CHECK(has(complaint("a{,3}"), "write {0,"));
  CHECK(complaint("[{,]").empty());
  for (const char* bad : {"[[.a.]]", "x[^b[=a=]]", "[]a[.-.]]", "[[:digit:][=a=]]"}) {
    CHECK(has(complaint(bad), "for a character; write the character itself"));
  }
  for (const char* bad : {"a{2,1}", "a{1001}", "((a{1,200}){1,200}){1,200}", "(a{40}){40}"}) {
    CAPTURE(bad);
    CHECK(has(complaint(bad), "has m up to n, and n up to 1000 in all"));
  }
  CHECK(complaint("\\\\<").empty());
}

TEST_CASE("an expression that is large when it is written out is refused") {
  const std::string refused =
      "more than 1000 letters, repetitions and classes such as \\pL written out; write a shorter "
      "one";
  for (const std::string& bad :
       {std::string(1001, 'a'), std::string(100'000, 'a'), std::string("\\pL")}) {
    CAPTURE(bad.substr(0, 30));
    CHECK(has(complaint(bad), refused));
  }
  CHECK(complaint(std::string(5000, '(') + "a" + std::string(5000, ')')).empty());
  CHECK(complaint(std::string(900, 'a')).empty());
  CHECK(complaint("(layer[.][0-9]{1,4}){1,3}").empty());
}

TEST_CASE("no search takes longer than the length of the name allows") {
  std::string name;
  for (unsigned i = 0, bits = 1; i < 64'000; ++i, bits = bits * 1664525 + 1013904223) {
    name += bits >> 31 != 0 ? 'n' : 'm';
  }
  const std::clock_t start = std::clock();
  for (const char* bad : {"(n|m)*n(n|m){20}q", "(n*)*q", "(n|nn)*q", "(.*.*.*)*q", "((n+)+)+q"}) {
    CHECK_FALSE(finds(bad, name));
  }
  CHECK(std::clock() - start < 5 * CLOCKS_PER_SEC);  // 26 s and much more by backtracking
}

}  // namespace
}  // namespace binade::name_pattern_test

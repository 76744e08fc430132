// SPDX-License-Identifier: Apache-2.0
//
// The account as JSON, text and page: every digit of the sums is in the JSON, the text fits a
// terminal, names are escaped, and the number of threads changes no byte.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <regex>
#include <sstream>

#include "lib/gemm/account_html.h"
#include "lib/gemm/account_json.h"
#include "lib/gemm/account_text.h"
#include "lib/text/paragraph.h"
#include "tests/lib/gemm/exact_product.h"

namespace binade::test::account_writers_test {
namespace {

using Json = nlohmann::ordered_json;

const GemmTitle title{"wgmma", "sm_90", "k ascending", "a.npy × b.npy"};

GemmAccount made(const NamedCase& row, int order, std::size_t k) {
  Random random(41);
  const GemmModel g = model_of(row, order);
  return account(g, draw_product(random, g, 6, 5, k));
}

Rational rational_of(const Json& x) {
  const Rational integer(Integer(x.at("integer").get<std::string>()));
  return integer * power_of_two(x.at("exponent").get<int>());
}

TEST_CASE("the JSON holds every digit of every sum") {
  for (const NamedCase& row : product_cases) {
    CAPTURE(std::string(row.name));
    const GemmAccount x = made(row, 3, 77);
    const Json json = to_json(x, title);
    CHECK(json.at("schema") == "binade.gemm_account/1");
    CHECK(rational_of(json.at("error")) == test::rational_of(x.error));
    CHECK(rational_of(json.at("product_magnitude")) == test::rational_of(x.product_magnitude));
    REQUIRE(json.at("rules").size() == loss_rules);
    for (std::size_t i = 0; i < loss_rules; ++i) {
      const Json& rule = json.at("rules").at(i);
      CHECK(rule.at("rule") == loss_rule_names[i].name);
      CHECK(rule.at("steps") == x.rules[i].steps);
      CHECK(rule.at("cut") == x.rules[i].cut);
      CHECK(rule.at("vanished") == x.rules[i].vanished);
      CHECK(rational_of(rule.at("raised")) == test::rational_of(x.rules[i].raised));
      const Rational lost = rational_of(rule.at("raised")) + rational_of(rule.at("lowered"));
      CHECK(rational_of(rule.at("lost")) == lost);
    }
    REQUIRE(json.at("positions").size() == x.by_position.size());
    CHECK(json.at("positions").back().at("end_k") == 77);
    std::uint64_t products = 0;
    for (const Json& distance : json.at("distances")) {
      products += distance.at("products").get<std::uint64_t>();
    }
    CHECK(products == (x.by_distance.empty() ? 0 : x.products));
    std::uint64_t elements = x.exact + x.special;
    for (const Json& ratio : json.at("error_to_bound")) {
      elements += ratio.at("elements").get<std::uint64_t>();
    }
    CHECK(elements == 30);
  }
}

TEST_CASE("integers above 2^53 are strings") {
  GemmAccount x = made(product_cases[0], 0, 16);
  x.products = (std::uint64_t{1} << 53) + 1;
  CHECK(to_json(x, title).at("products") == "9007199254740993");
  x.products = std::uint64_t{1} << 53;
  CHECK(to_json(x, title).at("products") == std::uint64_t{1} << 53);
}

TEST_CASE("no line of the text is wider than 100 columns") {
  for (const NamedCase& row : product_cases) {
    for (const std::size_t k : {1U, 70U, 3000U}) {
      const std::string text =
          account_text(made(row, 0, k), {row.name, "sm_90", "k ascending", ""});
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) {
        CAPTURE(line);
        CHECK(columns_of(line) <= 100);
      }
      CHECK(text.find(row.name) == 0);
    }
  }
}

TEST_CASE("the text says what was lost, and of what") {
  const GemmModel g = parse_gemm("wgmma.m64n8k32.f32.e4m3.e4m3", 90).model;
  // 2^8 + 2^-8, in e4m3: half of the products vanishes.
  const GemmOperands x{1, 1, 2, {0x78, 0x18}, {0x38, 0x18}, {}, {}};
  const std::string text = account_text(account(g, x), title);
  CHECK(text.find("wgmma on sm_90: 1 × 1 × 2\n") == 0);
  CHECK(text.find("1 element: 0 exact") != std::string::npos);
  CHECK(std::regex_search(text, std::regex("product alignment +2 +1 +50 % +1 +0.003906 ")));
  CHECK(text.find("accumulator format") == std::string::npos);
  CHECK(text.find("promotion") == std::string::npos);
}

TEST_CASE("hostile names stay data in the page") {
  GemmTitle hostile = title;
  hostile.operands = "</script><script>alert(1)</script><!--";
  const Json json = to_json(made(product_cases[0], 0, 20), hostile);
  const std::string page = account_html(json);
  const std::string tame = account_html(to_json(made(product_cases[0], 0, 20), title));
  const auto count = [](const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++n;
    return n;
  };
  CHECK(count(page, "<script") == count(tame, "<script"));
  CHECK(count(page, "</script") == count(tame, "</script"));
  const std::size_t begin = page.find('>', page.find("type=\"application/json\"")) + 1;
  const std::size_t end = page.find("</script>", begin);
  CHECK(Json::parse(page.substr(begin, end - begin)) == json);
  CHECK(page.find("default-src 'none'") != std::string::npos);
  CHECK_FALSE(std::regex_search(page, std::regex("(src|href)=\"(https?:|//)", std::regex::icase)));
}

/// What a child of this program, one of the skipped test cases, prints with so many threads.
std::string with_threads(const char* threads) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t pid = fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    dup2(ends[1], STDOUT_FILENO);
    setenv("BINADE_THREADS", threads, 1);
    execl("/proc/self/exe", "account", "--test-case=print an account", "--no-skip", nullptr);
    _exit(127);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  REQUIRE(status == 0);
  const std::size_t begin = text.find("> ");
  REQUIRE(begin != std::string::npos);
  return text.substr(begin, text.find('\n', begin) - begin);
}

TEST_CASE("print an account" * doctest::skip()) {
  Random random(42);
  const GemmModel g = model_of({"wgmma.m64n8k32.f32.e4m3.e4m3", 90}, 3);
  const Json json = to_json(account(g, draw_product(random, g, 40, 30, 400)), title);
  std::printf("> %s\n", json.dump().c_str());
  std::fflush(stdout);
}

TEST_CASE("the number of threads changes no byte") {
  const std::string one = with_threads("1");
  CHECK(one.size() > 10000);
  CHECK(one == with_threads("2"));
  CHECK(one == with_threads("7"));
}

}  // namespace
}  // namespace binade::test::account_writers_test

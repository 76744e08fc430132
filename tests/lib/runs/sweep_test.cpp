// SPDX-License-Identifier: Apache-2.0
//
// The file of a sweep: its bytes, what interruptions leave of it, and files that are not its own.
#include "lib/runs/sweep.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "lib/io/fnv.h"
#include "lib/text/error.h"
#include "tests/lib/io/files.h"

namespace binade::sweep_test {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using test::error_of;
using test::has;
using test::slurp;

const SweepSpec& spec() {
  static const SweepSpec parsed = parse_sweep(
      "s",
      R"({"name": "roots", "base": {"steps": 40}, "grid": {"of": [2, 3, 5, 7], "start": [1, 0.5, 100]}})");
  return parsed;
}

void check(const json& settings) {
  for (const auto& [key, value] : settings.items()) {
    if (key != "steps" && key != "of" && key != "start") throw Error("no setting " + key);
  }
}

/// A job that computes square roots by Newton's method, and gives its last steps.
ordered_json root(const json& settings, const std::function<void(double)>& progress) {
  const double of = settings["of"];
  double x = settings["start"];
  const int steps = settings["steps"];
  ordered_json last = ordered_json::array();
  for (int i = 0; i < steps; ++i) {
    x = (x + of / x) / 2;
    if (i + 3 >= steps) last.push_back(x);
    progress((i + 1.0) / steps);
  }
  return {{"root", x}, {"error", x * x - of}, {"last", last}, {"none", std::nan("")}};
}

ordered_json slow_root(const json& settings, const std::function<void(double)>& progress) {
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  return root(settings, progress);
}

std::map<std::string, std::uint64_t> read_data() {
  return {{"numbers", 0x0123456789ABCDEF}, {"texts", 0}};
}

const SweepJob job{&check, &root, {"root", "error"}, &read_data};

std::string digest_of(const std::string& text) {
  Fnv1a hash;
  hash.add(text);
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx",
                static_cast<unsigned long long>(hash.value()));
  return digits.data();
}

/// Returns the file of a sweep that was not interrupted.
std::string whole() {
  const test::Folder folder;
  run_sweep(spec(), folder / "a.jsonl", job);
  return slurp(folder / "a.jsonl");
}

TEST_CASE("the file has a header and a line for each run in the order of the grid") {
  const std::string text = whole();
  CHECK(text.starts_with(R"({"schema":"binade.sweep/2","binade":")"));
  CHECK(has(text, R"(","name":"roots","spec_hash":")"));
  CHECK(has(
      text,
      R"("data":{"numbers":"0123456789abcdef","texts":"0000000000000000"},"runs":12,"spec":{)"));
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    lines.push_back(text.substr(at, text.find('\n', at) - at));
  }
  REQUIRE(lines.size() == 13);
  CHECK(ordered_json::parse(lines[0])["runs"] == 12);
  CHECK(lines[2].starts_with(
      R"({"run":1,"settings":{"of":2,"start":0.5,"steps":40},"result":{"root":1.414213562)"));
  CHECK(lines[12].starts_with(R"({"run":11,"settings":{"of":7,"start":100,"steps":40},)"));
  CHECK(has(lines[1], "\"none\":null"));
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::size_t at = lines[i].find(R"(,"digest":")");
    CHECK(ordered_json::parse(lines[i])["digest"] == digest_of(lines[i].substr(0, at) + "}"));
  }
}

TEST_CASE("a sweep that is done runs nothing again and gives the same results") {
  const test::Folder folder;
  const SweepResults first = run_sweep(spec(), folder / "a.jsonl", job);
  const std::string bytes = slurp(folder / "a.jsonl");
  const SweepJob none{
      &check, [](const json&, const auto&) -> ordered_json { throw Error("ran"); }, {}, &read_data};
  const SweepResults again = run_sweep(spec(), folder / "a.jsonl", none);
  CHECK(first.found == 0);
  CHECK(again.found == 12);
  CHECK(first.results.size() == 12);
  CHECK(again.results == first.results);
  CHECK(slurp(folder / "a.jsonl") == bytes);
}

TEST_CASE("a file cut off in, before or behind a line is finished to the same bytes") {
  const test::Folder folder;
  const std::string text = whole();
  std::vector<std::size_t> sizes;
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const bool at_line_end = size > 0 && text[size - 1] == '\n';
    const bool before_it = size < text.size() && text[size] == '\n';
    if (at_line_end || before_it || size % 97 == 0) sizes.push_back(size);
  }
  for (const std::size_t size : sizes) {
    CAPTURE(size);
    const std::string path = folder.write("a.jsonl", text.substr(0, size));
    std::size_t ran = 0;
    const SweepJob counting{&check,
                            [&ran](const json& settings, const auto& progress) {
                              ++ran;
                              return root(settings, progress);
                            },
                            {},
                            &read_data};
    const SweepResults sweep = run_sweep(spec(), path, counting);
    REQUIRE(slurp(path) == text);
    const auto lines = static_cast<std::size_t>(
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size), '\n'));
    CHECK(sweep.found == (lines > 0 ? lines - 1 : 0));
    CHECK(ran == 12 - sweep.found);
  }
}

TEST_CASE("killed by SIGKILL at any moment, a sweep goes on to the same bytes") {
  const std::string text = whole();
  const test::Folder folder;
  const std::string path = folder / "a.jsonl";
  const SweepJob slow{&check, &slow_root, {}, &read_data};
  std::size_t interrupted = 0;
  std::size_t kills = 0;
  for (int delay = 1; delay <= 40; delay += 3) {  // the whole takes 36 ms and more
    std::filesystem::remove(path);
    for (bool done = false; !done;) {
      const pid_t child = fork();
      REQUIRE(child >= 0);
      if (child == 0) {
        try {
          run_sweep(spec(), path, slow);
        } catch (...) {
          _exit(3);
        }
        _exit(0);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(delay));
      kill(child, SIGKILL);
      ++kills;
      int status = 0;
      REQUIRE(waitpid(child, &status, 0) == child);
      const bool killed = WIFSIGNALED(status);
      REQUIRE((killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0)));
      const std::string left = slurp(path);
      CHECK(text.starts_with(left));
      if (killed && !left.empty() && left.size() < text.size()) ++interrupted;
      done = !killed || kills % 10 == 0;  // some are finished by this process instead
    }
    run_sweep(spec(), path, job);
    REQUIRE(slurp(path) == text);
  }
  CHECK(interrupted > 5);
}

TEST_CASE("an Error in one run names it and leaves what is finished") {
  const test::Folder folder;
  const std::string path = folder / "a.jsonl";
  int ran = 0;
  const SweepJob failing{&check,
                         [&ran](const json& settings, const auto& progress) {
                           if (++ran == 5) throw Error("out of patience");
                           return root(settings, progress);
                         },
                         {},
                         &read_data};
  const std::string error = error_of([&] { run_sweep(spec(), path, failing); });
  CHECK(error == R"(sweep roots, run 5 of 12 {"of":3,"start":0.5,"steps":40}: out of patience)");
  CHECK(run_sweep(spec(), path, job).found == 4);
  CHECK(slurp(path) == whole());
}

TEST_CASE("all settings are checked before the first run, and before the file is touched") {
  const test::Folder folder;
  const SweepSpec wrong =
      parse_sweep("s", R"({"name": "w", "base": {}, "grid": {"of": [1, 2], "speed": [3]}})");
  const SweepJob none{&check, [](const json&, const auto&) -> ordered_json { throw Error("ran"); }};
  CHECK(has(error_of([&] { run_sweep(wrong, folder / "a.jsonl", none); }), "run 1 of 2"));
  CHECK(has(error_of([&] { run_sweep(wrong, folder / "a.jsonl", none); }), "no setting speed"));
  CHECK(folder.count() == 0);
}

TEST_CASE("the results of another sweep, or what is none, are refused and left as they are") {
  const test::Folder folder;
  const std::string text = whole();
  const auto swapped = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    return changed.replace(changed.find(from), from.size(), to);
  };
  const std::string version = ordered_json::parse(text.substr(0, text.find('\n')))["binade"];
  const std::size_t second = text.find('\n') + 1;
  const std::size_t third = text.find('\n', second) + 1;
  const auto line_of = [](const std::string& result) {
    return R"({"run":0,"settings":{"of":2,"start":1,"steps":40},"result":)" + result + "}\n";
  };
  REQUIRE(text.substr(second).starts_with(line_of("X").substr(0, line_of("X").find('X'))));
  const std::vector<std::pair<std::string, std::string>> files{
      {swapped("\"steps\":40}", "\"steps\":41}"),
       "not the results of this sweep: base key 'steps' is 41, not 40"},
      {swapped("\"steps\":40}", "\"steps\":40,\"b\":0}"), "base key 'b' is there and not in"},
      {swapped("{\"steps\":40}", "{}"), "base key 'steps' of the spec is missing"},
      {swapped("[2,3,5,7]", "[2,3,5]"), "grid key 'of' is [2,3,5], not [2,3,5,7]"},
      {swapped(R"("of":[2,3,5,7],"start":[1,0.5,100])", R"("start":[1,0.5,100],"of":[2,3,5,7])"),
       "the keys of the grid have another order"},
      {swapped(R"("spec":{"name":"roots")", R"("spec":{"name":"branches")"),
       R"(its name is "branches", not "roots")"},
      {swapped("spec_hash", "spec_hush"), "its header is not as it was written"},
      {swapped("\"data\":{", "\"data\":{\"more\":1,"), "its header is not as it was written"},
      {swapped(R"("binade":")", R"("binade":"older than )"),
       "its runs are of binade older than " + version + ", and this is " + version + ";"},
      {swapped("6789abcdef", "6789abcdee"),
       R"(its runs read other data of numbers, of digest "0123456789abcdee", not "0123456789abcdef")"},
      {swapped(R"(,"texts":"0000000000000000")", ""),
       "its runs read other data of texts, of digest null"},
      {swapped("binade.sweep/2", "binade.sweep/1"),
       "its lines are binade.sweep/1, of another version of binade, and this one writes "
       "binade.sweep/2"},
      {swapped("\"run\":3", "\"run\":4"), "line 5 is not run 4 of this sweep"},
      {swapped("{\"run\":0", "{ \"run\":0"), "line 2 is not run 1"},
      {text.substr(0, second) + text.substr(third), "line 2 is not run 1"},
      {text.substr(0, second) + "\n", "line 2 is not run 1"},
      {text.substr(0, second) + "[1]\n", "line 2 is not run 1"},
      {text.substr(0, second) + line_of("5"), "line 2 is not run 1"},
      {text.substr(0, second) + line_of("[]"), "line 2 is not run 1"},
      {text.substr(0, second) + line_of(R"({"root":1})"), "line 2 is not run 1"},
      {text.substr(0, second) + line_of(R"({"root":1,"root":2,"error":0})"), "line 2 is not run 1"},
      {text.substr(0, second) + line_of(std::string(100'000, '[') + std::string(100'000, ']')),
       "line 2 is not run 1"},
      {text + "{}\n", "lines after the last run"},
  };
  for (const auto& file : files) {
    const auto& [bytes, message] = file;
    CAPTURE(file.second);
    const std::string path = folder.write("a.jsonl", bytes);
    const std::string error = error_of([&] { run_sweep(spec(), path, job); });
    CHECK(has(error, message));
    CHECK(has(error, "name another file, or delete this one"));
    CHECK(slurp(path) == bytes);
  }
}

TEST_CASE("a line in which a bit was flipped, or whose result is another one, is refused") {
  const test::Folder folder;
  const std::string text = whole();
  const std::size_t second = text.find('\n', text.find('\n') + 1) + 1;
  const std::size_t third = text.find('\n', second) + 1;
  const auto is_refused = [&](const std::string& bytes) {
    const std::string path = folder.write("a.jsonl", bytes);
    const std::string error = error_of([&] { run_sweep(spec(), path, job); });
    CHECK(slurp(path) == bytes);
    return error ==
           path +
               ": line 3 is not run 2 of this sweep as it was written; delete it and the "
               "lines behind it to go on from there, name another file, or delete this one "
               "to start anew";
  };
  for (std::size_t at = second; at < third; ++at) {
    std::string bytes = text;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << at % 7));
    CAPTURE(at);
    CHECK(is_refused(bytes));
  }
  const std::size_t result = text.find("\"result\":", second) + 9;
  const std::size_t digest = text.find(",\"digest\"", second);
  for (const char* other : {"[1]", "true", R"({"root":1,"error":0})", R"({"a":1})"}) {
    CHECK(is_refused(text.substr(0, result) + other + text.substr(digest)));
  }
  CHECK(is_refused(text.substr(0, digest - 1) + ",\"more\":1" + text.substr(digest - 1)));
  CHECK(is_refused(text.substr(0, digest) + text.substr(third - 2)));
  folder.write("a.jsonl", text.substr(0, second));
  CHECK(run_sweep(spec(), folder / "a.jsonl", job).found == 1);
  CHECK(slurp(folder / "a.jsonl") == text);
}

TEST_CASE("a result is an object even where a job names no key of it") {
  const test::Folder folder;
  const std::string text = whole();
  const std::string line = R"({"run":0,"settings":{"of":2,"start":1,"steps":40},"result":)";
  const std::string path =
      folder.write("a.jsonl", text.substr(0, text.find('\n') + 1) + line + "5}\n");
  const SweepJob keyless{&check, &root, {}, &read_data};
  CHECK(has(error_of([&] { run_sweep(spec(), path, keyless); }), "line 2 is not run 1"));
}

TEST_CASE("what is no results file is refused without the advice to delete it") {
  const test::Folder folder;
  const std::string spec_text =
      R"({"name": "roots", "base": {"steps": 40}, "grid": {"of": [2, 3, 5, 7]}})";
  const std::string deep =
      R"({"schema":"binade.sweep/2","spec":)" + std::string(100'000, '[') + "\n";
  for (const std::string& bytes :
       {std::string("my diary\n"), std::string("x"), spec_text, spec_text + "\n", deep,
        std::string(R"({"schema":"binade.sweep/2","spec":{"name":1,"base":{},"grid":5}})"),
        std::string("[]\n"), std::string("\n")}) {
    const std::string path = folder.write("a.jsonl", bytes);
    CHECK(error_of([&] { run_sweep(spec(), path, job); }) ==
          path + ": not the results of a sweep; name another file");
    CHECK(slurp(path) == bytes);
  }
}

TEST_CASE("a refused file is closed again: the next sweep may write it") {
  const test::Folder folder;
  const auto open_files = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto before = open_files();
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(error_of([&] { run_sweep(spec(), "/dev/null", job); }).empty());
  }
  CHECK(open_files() == before);
}

TEST_CASE("a file that another sweep is writing, or that is no file, is refused") {
  const test::Folder folder;
  const std::string path = folder / "a.jsonl";
  std::string inner;
  const SweepJob nested{&check,
                        [&](const json& settings, const auto& progress) {
                          if (inner.empty())
                            inner = error_of([&] { run_sweep(spec(), path, job); });
                          return root(settings, progress);
                        },
                        {},
                        &read_data};
  run_sweep(spec(), path, nested);
  CHECK(has(inner, "is being written by another sweep"));
  CHECK(slurp(path) == whole());
  CHECK(has(error_of([&] { run_sweep(spec(), "/dev/null", job); }), "not a regular file"));
  CHECK(has(error_of([&] { run_sweep(spec(), folder / "no/a.jsonl", job); }), "cannot be opened"));
}

TEST_CASE("progress is told for each run from its beginning to its end") {
  const test::Folder folder;
  std::vector<std::pair<std::size_t, double>> told;
  run_sweep(spec(), folder / "a.jsonl", job,
            [&](std::size_t run, double done) { told.emplace_back(run, done); });
  REQUIRE(told.size() == 12 * 41);
  CHECK(told.front() == std::pair<std::size_t, double>{0, 0.0});
  CHECK(told.back() == std::pair<std::size_t, double>{11, 1.0});
  CHECK(std::ranges::is_sorted(told));
}

}  // namespace
}  // namespace binade::sweep_test

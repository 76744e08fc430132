// SPDX-License-Identifier: Apache-2.0
//
// parallel_for handles every index once and uses every slot by one thread at a time; and the values
// that the two environment variables may have. They are read once in a process, so each is tried in
// a process of its own.
#include "lib/parallel/parallel.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "emulate/fast/kernels.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade::test::parallel_test {
namespace {

/// Runs a child of this program, which is one of the skipped test cases below, with VARIABLE=value;
/// returns what it printed after "> ".
std::string child(const char* name, const char* variable, const char* value) {
  int pipe_ends[2];
  REQUIRE(pipe(pipe_ends) == 0);
  const pid_t pid = fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    dup2(pipe_ends[1], STDOUT_FILENO);
    setenv(variable, value, 1);
    const std::string filter = "--test-case=" + std::string(name);
    execl("/proc/self/exe", "parallel_test", filter.c_str(), "--no-skip", nullptr);
    _exit(127);
  }
  close(pipe_ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(pipe_ends[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  close(pipe_ends[0]);
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 0);
  const std::size_t begin = text.find("> ");
  REQUIRE(begin != std::string::npos);
  return text.substr(begin + 2, text.find('\n', begin) - begin - 2);
}

template <class Call>
void print_result(Call&& call) {
  try {
    std::printf("> %s\n", call().c_str());
  } catch (const Error& error) {
    std::printf("> error: %s\n", error.what());
  }
  std::fflush(stdout);
}

/// Returns which promise parallel_for breaks on [0, n); empty if none.
std::string complaint(std::size_t n, std::size_t grain) {
  std::vector<std::atomic<int>> visits(n);
  std::vector<std::atomic<int>> busy(thread_count());
  std::atomic<bool> bad_piece = false;
  std::atomic<bool> bad_slot = false;
  std::atomic<bool> shared_slot = false;
  parallel_for(n, grain, [&](std::size_t begin, std::size_t end, std::size_t slot) {
    if (begin >= end || end > n || end - begin > std::max<std::size_t>(grain, 1)) bad_piece = true;
    if (slot >= thread_count()) {
      bad_slot = true;
      return;
    }
    if (busy[slot]++ != 0) shared_slot = true;
    for (std::size_t i = begin; i < end; ++i) ++visits[i];
    --busy[slot];
  });
  if (bad_piece) return "a piece is empty, too long or beyond the end";
  if (bad_slot) return "a slot beyond thread_count()";
  if (shared_slot) return "a slot in use twice at the same time";
  for (std::size_t i = 0; i < n; ++i) {
    if (visits[i] != 1) return std::to_string(visits[i]) + " visits of index " + std::to_string(i);
  }
  return "";
}

std::string complaint_of_any_size() {
  for (const std::size_t n : {0U, 1U, 2U, 63U, 64U, 65U, 1000U, 100003U}) {
    for (const std::size_t grain : {0U, 1U, 7U, 64U, 5000U, 1000000U}) {
      if (n / std::max<std::size_t>(grain, 1) > 20000) continue;
      const std::string wrong = complaint(n, grain);
      if (!wrong.empty()) {
        return std::to_string(n) + " by " + std::to_string(grain) + ": " + wrong;
      }
    }
  }
  return "";
}

TEST_CASE("child: threads" * doctest::skip()) {
  print_result([] { return std::to_string(thread_count()); });
}

TEST_CASE("child: pieces" * doctest::skip()) {
  print_result([] {
    const std::string wrong = complaint_of_any_size();
    return wrong.empty() ? std::string("fine") : wrong;
  });
}

TEST_CASE("child: level" * doctest::skip()) {
  print_result([] {
    const bool same = fastest_kernels().quantize_f32 == kernels(Level::reference).quantize_f32;
    return std::string(same ? "reference" : "faster");
  });
}

TEST_CASE("every index is visited once, in pieces of at most the grain, a slot at a time") {
  CHECK(complaint_of_any_size().empty());
}

TEST_CASE("the promise holds with one thread, and with more threads than the machine has") {
  for (const char* threads : {"1", "2", "7", "33"}) {
    CHECK(child("child: pieces", "BINADE_THREADS", threads) == "fine");
  }
}

thread_local int own_polls = 0;

/// Runs loops of several threads at once, with loops inside their pieces, and returns how many did
/// not poll their caller, polled a caller that had not requested it, or began a piece in a slot
/// that another piece of the same loop was using.
std::string complaint_of_several() {
  std::atomic<int> wrong = 0;
  const auto loops = [&] {
    const Polled polled([] { ++own_polls; });
    for (int turn = 0; turn < 10; ++turn) {
      std::vector<std::atomic<int>> busy(thread_count());
      std::atomic<int> inner = 0;
      own_polls = 0;
      parallel_for(100, 1, [&](std::size_t, std::size_t, std::size_t slot) {
        if (busy[slot]++ != 0) ++wrong;
        parallel_for(10, 1, [&](std::size_t, std::size_t, std::size_t) {
          ++inner;
          std::this_thread::sleep_for(std::chrono::microseconds(50));
        });
        --busy[slot];
      });
      if (inner != 1000 || own_polls == 0) ++wrong;
    }
  };
  loops();  // with all helpers for itself
  std::atomic<bool> ends = false;
  std::vector<std::thread> others;
  constexpr std::size_t callers = 6;
  for (std::size_t i = 0; i < callers; ++i) others.emplace_back(loops);
  // Who asks for no poll is not polled for others.
  others.emplace_back([&] {
    own_polls = 0;
    while (!ends) parallel_for(100, 1, [](std::size_t, std::size_t, std::size_t) {});
    if (own_polls != 0) ++wrong;
  });
  for (std::size_t i = 0; i < callers; ++i) others[i].join();
  ends = true;
  others[callers].join();
  return wrong == 0 ? "fine" : std::to_string(wrong) + " wrong";
}

TEST_CASE("child: several" * doctest::skip()) {
  print_result([] { return complaint_of_several(); });
}

TEST_CASE("loops of several threads, and loops inside loops, keep out of each other's way") {
  for (const char* threads : {"1", "2", "7"}) {
    CHECK(child("child: several", "BINADE_THREADS", threads) == "fine");
  }
}

TEST_CASE("BINADE_THREADS is the number of threads; empty means the machine's") {
  CHECK(child("child: threads", "BINADE_THREADS", "1") == "1");
  CHECK(child("child: threads", "BINADE_THREADS", "1024") == "1024");
  CHECK(child("child: threads", "BINADE_THREADS", "") == std::to_string(thread_count()));
  CHECK(thread_count() >= 1);
}

TEST_CASE("a BINADE_THREADS that is no number from 1 to 1024 is an error that says so") {
  for (const char* wrong : {"0", "-1", "1025", "two", "2x", " 2", "99999999999999999999", "2.5"}) {
    CHECK(child("child: threads", "BINADE_THREADS", wrong) ==
          "error: BINADE_THREADS=" + std::string(wrong) +
              ": not a number of threads; give one from 1 to 1024");
  }
  CHECK(child("child: threads", "BINADE_THREADS", "\x1b[2J") ==
        "error: BINADE_THREADS=\\x1b[2J: not a number of threads; give one from 1 to 1024");
}

TEST_CASE("BINADE_ISA chooses a level; an unknown one is an error that names the known ones") {
  CHECK(child("child: level", "BINADE_ISA", "reference") == "reference");
  CHECK(child("child: level", "BINADE_ISA", "sse9") ==
        "error: BINADE_ISA=sse9: no such level; give " + alternatives(names_of(levels)));
  CHECK(child("child: level", "BINADE_ISA", "portable") == "faster");
}

TEST_CASE("every level has all kernels") {
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const Kernels& k = kernels(static_cast<Level>(level));
    const auto is_there = [&](const auto& name) { CHECK_UNARY(k.*name.entry != nullptr); };
    std::apply([&](const auto&... names) { (is_there(names), ...); }, kernel_names);
  }
}

}  // namespace
}  // namespace binade::test::parallel_test

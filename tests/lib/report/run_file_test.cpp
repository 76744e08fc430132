// SPDX-License-Identifier: Apache-2.0
//
// run.binade: what is written is read back, and a file that was changed anywhere is refused.
#include "lib/report/run_file.h"

#include <doctest/doctest.h>

#include <fstream>
#include <functional>
#include <memory>
#include <sstream>

#include "lib/io/fnv.h"
#include "lib/range/summary_bytes.h"
#include "lib/report/counts_file.h"
#include "lib/report/report.h"
#include "tests/lib/io/files.h"
#include "tests/lib/report/made_run_counts.h"

namespace binade::test::run_file_test {
namespace {

std::string contents(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

/// Reads all of a file, as a report does.
void read_all(const std::string& path) { read_report(open_inputs({path}, {})); }

/// Returns the checksum of the bytes before it.
std::string with_checksum(std::string bytes) {
  Fnv1a hash;
  bytes.resize(bytes.size() - 8);
  hash.add(bytes);
  CountsBytes end;
  end.number(hash.value());
  return bytes + end.bytes();
}

TEST_CASE("a run is read as it was written, with squared errors and without") {
  const Folder folder;
  for (const auto& columns : {std::vector<ErrorColumn>{}, error_columns({})}) {
    MadeRun made = made_run(columns);
    made.run.updates[3].counts.held = {.asked = 3, .lost = 2, .unknown = 2, .idle = 1};
    for (const std::size_t i : {1U, 2U}) made.run.tensors[i].binds_scale = false;
    write_run(made.run, made.summaries, folder / "run.binade");
    const auto file = open_run(std::make_shared<const InputFile>(folder / "run.binade"));
    const RunCounts* const run = run_in(*file);
    REQUIRE(run != nullptr);
    CHECK(run->watched.every == 50);
    CHECK(run->watched.notes == made.run.watched.notes);
    CHECK(run->watched.first_nonfinite->json == made.run.watched.first_nonfinite->json);
    REQUIRE(run->watched.windows.size() == 2);
    CHECK(run->watched.windows[1].loss_scale == 32768.0);
    CHECK(run->columns == columns);
    REQUIRE(run->tensors.size() == made.run.tensors.size());
    for (std::size_t i = 0; i < run->tensors.size(); ++i) {
      CHECK(run->tensors[i].time == made.run.tensors[i].time);
      CHECK(run->tensors[i].shape == made.run.tensors[i].shape);
      CHECK(run->tensors[i].binds_scale == made.run.tensors[i].binds_scale);
      CHECK(counted_in(*file)->summary(i) == made.summaries[i]);
      CHECK(file->tensors()[i].bytes == bytes_of(made.summaries[i]).size());
    }
    REQUIRE(run->updates.size() == 4);
    CHECK(run->updates[3].counts == made.run.updates[3].counts);
    write_run(*run, made.summaries, folder / "again.binade");
    CHECK(contents(folder / "again.binade") == contents(folder / "run.binade"));
  }
}

TEST_CASE(
    "a file with any byte changed is refused, and with a right checksum whatever no run has") {
  const Folder folder;
  MadeRun made = made_run();
  made.run.tensors.resize(5);
  made.summaries.resize(5);
  made.run.updates.resize(1);
  const std::string path = folder / "run.binade";
  write_run(made.run, made.summaries, path);
  const std::string good = contents(path);
  REQUIRE(good.size() > 2000);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  const auto put = [&file](std::size_t at, const std::string& bytes) {
    file.seekp(static_cast<std::streamoff>(at));
    file << bytes << std::flush;
  };
  std::size_t refused = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (at % 3 == 0 ? 0x80 : at % 3 == 1 ? 1 : 0xFF));
    put(at, bad.substr(at, 1));
    const std::string error = error_of([&path] { read_all(path); });
    CHECK_FALSE(error.empty());
    CHECK_FALSE(has(error, "\n"));
    const std::size_t end = good.size() - 8;
    put(end, with_checksum(bad).substr(end));
    refused += error_of([&path] { read_all(path); }).empty() ? 0 : 1;
    put(at, good.substr(at, 1));
    put(end, good.substr(end));
  }
  CHECK(refused > good.size() / 2);  // texts may be others, and some integers
  CHECK(error_of([&path] { read_all(path); }).empty());
}

TEST_CASE("a file that is cut off anywhere, or longer, is refused") {
  const Folder folder;
  const MadeRun made = made_run();
  write_run(made.run, made.summaries, folder / "run.binade");
  const std::string good = contents(folder / "run.binade");
  for (std::size_t size = 1; size < good.size(); size += size < 100 ? 1 : 97) {
    const std::string path = folder.write("bad.binade", good.substr(0, size));
    CHECK_FALSE(error_of([&path] { read_all(path); }).empty());
  }
  const std::string path = folder.write("bad.binade", with_checksum(good + std::string(8, '\0')));
  CHECK(has(error_of([&path] { read_all(path); }), "it holds more than a counted run"));
}

TEST_CASE("what a directory cannot say is refused by name") {
  const Folder folder;
  const auto refused = [&folder](const std::function<void(CountsWriter&)>& write) {
    constexpr CountsKind kind{{"binade.run/1\n\0\0\0", 16}, "", "", "", ""};
    CountsWriter to(kind, folder / "bad.binade");
    write(to);
    to.commit();
    return error_of([&folder] { read_all(folder / "bad.binade"); });
  };
  const auto begin = [](CountsWriter& to, std::uint64_t windows) {
    to.number(1);  // every
    to.number(0);  // notes
    to.text("");
    to.number(windows);
    if (windows == 1) {
      for (const std::uint64_t n : {5, 5, 1, 0}) to.number(n);
    }
  };
  const auto tensor = [](CountsWriter& to, const char* role, const char* dtype,
                         std::uint64_t values) {
    to.number(5);
    to.text("fc1");
    to.text(role);
    to.text(dtype);
    to.number(0);
    to.number(0);
    to.number(values);
  };
  CHECK(has(refused([&](auto& to) { begin(to, 1ULL << 60); }), "announces more than it holds"));
  const auto of_tensor = [&](const char* role, const char* dtype, std::uint64_t values) {
    return refused([&](auto& to) {
      begin(to, 1);
      to.number(0);  // columns
      to.number(1);
      tensor(to, role, dtype, values);
      to.number(0);  // updates
      const std::vector<std::byte> bytes = bytes_of(empty_summary({}));
      to.text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    });
  };
  CHECK(of_tensor("dW", "F32", 0).empty());
  CHECK(has(of_tensor("dw", "F32", 0), "no such role"));
  CHECK(has(of_tensor("other", "F32", 0), "no such role"));
  CHECK(has(of_tensor("dW", "F33", 0), "names a dtype that no file has"));
  CHECK(has(of_tensor("dW", "I32", 0), "is of no floating dtype"));
  CHECK(has(of_tensor("dW", "F32", 1), "a summary of something else than step000005/fc1/dW"));
}

TEST_CASE("another version and another file are told apart") {
  const Folder folder;
  const std::string later = folder.write("later.binade", "binade.run/2\n" + std::string(100, '\0'));
  CHECK(error_of([&] { read_all(later); }) ==
        later +
            ": a counted run that another version of binade made; save the run again with this "
            "version of binade");
}

TEST_CASE("who wants elements is told what a run is") {
  const Folder folder;
  const MadeRun made = made_run();
  write_run(made.run, made.summaries, folder / "run.binade");
  CHECK(error_of([&] { open_tensor_file(folder / "run.binade"); }) ==
        (folder / "run.binade") +
            ": a run that was counted while it ran holds no elements; binade report tells of it");
}

}  // namespace
}  // namespace binade::test::run_file_test

// SPDX-License-Identifier: Apache-2.0
//
// Runs a sweep and writes its file. Lines are only appended, each by one write, so that an
// interruption leaves whole lines and at most one incomplete line at the end.
#include "lib/runs/sweep.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lib/io/fnv.h"
#include "lib/io/synced.h"
#include "lib/parallel/parallel.h"
#include "lib/runs/strict_json.h"
#include "lib/text/error.h"
#include "lib/version.h"

namespace binade {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t most_bytes_of_results = std::size_t{1} << 30;

constexpr std::string_view any_version_of_lines = "binade.sweep/";
constexpr const char* version_of_lines = "binade.sweep/2";

std::string hash_text_of(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

std::string hash_of(std::string_view text) {
  Fnv1a hash;
  hash.add(text);
  return hash_text_of(hash.value());
}

ordered_json sweep_spec_json(const SweepSpec& spec) {
  ordered_json grid = ordered_json::object();
  for (std::size_t i = 0; i < spec.keys.size(); ++i) grid[spec.keys[i]] = spec.values[i];
  return {{"name", spec.name}, {"base", spec.base}, {"grid", grid}};
}

/// Returns the first line, for a job whose settings have been checked.
ordered_json header_of(const SweepSpec& spec, const SweepJob& job) {
  const ordered_json written = sweep_spec_json(spec);
  ordered_json data = ordered_json::object();
  if (job.data) {
    for (const auto& [name, digest] : job.data()) data[name] = hash_text_of(digest);
  }
  return {{"schema", version_of_lines},
          {"binade", version},
          {"name", spec.name},
          {"spec_hash", hash_of(written.dump())},
          {"data", data},
          {"runs", spec.runs()},
          {"spec", written}};
}

std::string run_line(const SweepSpec& spec, std::size_t run, const ordered_json& result) {
  ordered_json line{{"run", run}, {"settings", settings_of(spec, run)}, {"result", result}};
  line["digest"] = hash_of(line.dump());
  return line.dump() + "\n";
}

struct Descriptor {
  int number = -1;
  explicit Descriptor(int opened) : number(opened) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

/// The file of results, locked while an object of this class lives.
class LineFile {
 public:
  explicit LineFile(const std::string& path)
      : path_(path),
        descriptor_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666)) {
    if (descriptor_.number < 0) fail("cannot be opened");
    struct stat status = {};
    if (fstat(descriptor_.number, &status) != 0) fail("cannot be read");
    if (!S_ISREG(status.st_mode)) {
      throw file_error(path_, "not a regular file",
                       "name a file: a sweep must find its results again");
    }
    if (flock(descriptor_.number, LOCK_EX | LOCK_NB) != 0) {
      throw error_in(path_, "is being written by another sweep",
                     "wait for it, or name another file");
    }
    if (static_cast<std::size_t>(status.st_size) > most_bytes_of_results) {
      throw error_in(path_, "too large for the results of a sweep", "name another file");
    }
  }

  std::string read_all() {
    std::string text;
    char buffer[1 << 16];
    ssize_t got = 0;
    while ((got = read(descriptor_.number, buffer, sizeof buffer)) != 0) {
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail("cannot be read");
      text.append(buffer, static_cast<std::size_t>(got));
    }
    return text;
  }

  /// Truncates the file to its first `size` bytes; later writes append to them.
  void keep(std::size_t size) {
    if (ftruncate(descriptor_.number, static_cast<off_t>(size)) != 0 ||
        lseek(descriptor_.number, static_cast<off_t>(size), SEEK_SET) < 0) {
      fail("cannot be written");
    }
  }

  void append(std::string_view line) {
    while (!line.empty()) {
      const ssize_t written = write(descriptor_.number, line.data(), line.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("cannot be written");
      line.remove_prefix(static_cast<std::size_t>(written));
    }
    if ((errno = sync_descriptor(descriptor_.number)) != 0) fail("cannot be written");
  }

  /// Waits until the file's name outlasts a loss of power.
  void sync_name() const {
    if ((errno = sync_folder_of(path_)) != 0) fail("cannot be written");
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw file_error(path_, fmt::format("{}: {}", what, std::strerror(errno)),
                     "name a file in a folder that exists, is writable and has room");
  }

  std::string path_;
  Descriptor descriptor_;
};

[[noreturn]] void refuse_results(const std::string& path, const std::string& what) {
  throw error_in(path, what, "name another file, or delete this one to start anew");
}

std::string shown(const ordered_json& value) { return printable(value.dump(), 60); }

/// Says how the spec of another sweep differs from ours; empty if it does not.
std::string difference(const ordered_json& theirs, const ordered_json& ours) {
  if (theirs["name"] != ours["name"]) {
    return fmt::format("its name is {}, not {}", shown(theirs["name"]), shown(ours["name"]));
  }
  for (const char* part : {"base", "grid"}) {
    for (const auto& [key, value] : theirs[part].items()) {
      const std::string named = fmt::format("{} key '{}'", part, printable(key));
      if (!ours[part].contains(key)) return fmt::format("{} is there and not in the spec", named);
      if (ours[part][key] == value) continue;
      return fmt::format("{} is {}, not {}", named, shown(value), shown(ours[part][key]));
    }
    for (const auto& [key, value] : ours[part].items()) {
      if (theirs[part].contains(key)) continue;
      return fmt::format("{} key '{}' of the spec is missing", part, printable(key));
    }
  }
  return theirs == ours ? "" : "the keys of the grid have another order";
}

/// Says which data of the runs in a file are not ours; empty if all are.
std::string difference_of_data(const ordered_json& theirs, const ordered_json& ours) {
  for (const auto& [name, digest] : ours.items()) {
    const ordered_json found = theirs.value(name, ordered_json());
    if (found == digest) continue;
    return fmt::format("its runs read other data of {}, of digest {}, not {}", name, shown(found),
                       shown(digest));
  }
  return "";
}

/// Says why a first line that is not ours cannot be gone on with; empty if it is no first line of a
/// sweep.
std::string difference_of_headers(const ordered_json& theirs, const ordered_json& ours) {
  const auto is_object = [](const ordered_json& in, const char* key) {
    return in.contains(key) && in[key].is_object();
  };
  const auto text_of = [&theirs](const char* key) {
    return theirs.contains(key) && theirs[key].is_string() ? theirs[key].get<std::string>() : "";
  };
  if (!theirs.is_object() || !is_object(theirs, "spec") || !theirs["spec"].contains("name") ||
      !is_object(theirs["spec"], "base") || !is_object(theirs["spec"], "grid")) {
    return "";
  }
  const std::string schema = text_of("schema");
  if (!schema.starts_with(any_version_of_lines)) return "";
  if (schema != version_of_lines) {
    return fmt::format("its lines are {}, of another version of binade, and this one writes {}",
                       printable(schema, 40), version_of_lines);
  }
  const std::string spec = difference(theirs["spec"], ours["spec"]);
  if (!spec.empty()) return spec;
  if (theirs.value("binade", ordered_json()) != ours["binade"]) {
    return fmt::format("its runs are of binade {}, and this is {}",
                       printable(text_of("binade"), 40), version);
  }
  const std::string data =
      is_object(theirs, "data") ? difference_of_data(theirs["data"], ours["data"]) : "";
  return data.empty() ? "its header is not as it was written" : data;
}

/// Throws the Error for a file that does not begin with this sweep's header.
[[noreturn]] void refuse_header(const std::string& path, const ordered_json& ours,
                                std::string_view line) {
  std::string other;
  try {
    other = difference_of_headers(parse_strictly(path, line), ours);
  } catch (const Error&) {  // the line is no header at all
  }
  if (other.empty()) throw error_in(path, "not the results of a sweep", "name another file");
  refuse_results(path, "not the results of this sweep: " + other);
}

/// Returns whether a line's result can be one of this job's: an object with all keys that its
/// results have.
bool is_result(const ordered_json& line, const SweepJob& job) {
  if (!line.is_object() || !line.contains("result") || !line["result"].is_object()) return false;
  return std::ranges::all_of(job.keys,
                             [&](const std::string& key) { return line["result"].contains(key); });
}

/// Returns the result in the line of a run. Throws Error unless the line has exactly the bytes that
/// the run would write: the digest tells if the result is another one.
ordered_json result_in(const std::string& path, const SweepSpec& spec, const SweepJob& job,
                       std::size_t run, std::string_view line) {
  try {
    ordered_json parsed = parse_strictly(path, line);
    if (is_result(parsed, job) && run_line(spec, run, parsed["result"]) == line) {
      return parsed["result"];
    }
  } catch (const Error&) {  // the Error below names the line
  }
  throw error_in(
      path, fmt::format("line {} is not run {} of this sweep as it was written", run + 2, run + 1),
      "delete it and the lines behind it to go on from there, name another file, or "
      "delete this one to start anew");
}

/// Returns the results in the whole lines of the file, and sets `end` to the offset behind the last
/// whole line.
std::vector<ordered_json> results_in(const std::string& path, const SweepSpec& spec,
                                     const SweepJob& job, const ordered_json& first_line,
                                     std::string_view text, std::size_t& end) {
  const std::string header = first_line.dump() + "\n";
  std::vector<ordered_json> results;
  end = 0;
  if (!text.starts_with(header)) {
    if (header.starts_with(text)) return results;  // an empty file, or an incomplete header
    refuse_header(path, first_line, text.substr(0, text.find('\n')));
  }
  end = header.size();
  for (std::size_t next = 0; (next = text.find('\n', end)) != std::string_view::npos;) {
    const std::string_view line = text.substr(end, next + 1 - end);
    if (results.size() == spec.runs()) refuse_results(path, "lines after the last run");
    results.push_back(result_in(path, spec, job, results.size(), line));
    end = next + 1;
  }
  return results;
}

/// Returns the Error of a run with the run's number and settings before its message.
Error in_run(const SweepSpec& spec, std::size_t run, const Error& error) {
  return Error(fmt::format("sweep {}, run {} of {} {}: {}", printable(spec.name), run + 1,
                           spec.runs(), printable(settings_of(spec, run).dump(), 400),
                           error.what()));
}

}  // namespace

SweepResults run_sweep(const SweepSpec& spec, const std::string& path, const SweepJob& job,
                       const SweepProgress& progress, const RunTold& told) {
  for (std::size_t run = 0; run < spec.runs(); ++run) {
    poll();
    try {
      job.check(settings_of(spec, run));
    } catch (const Error& error) {
      throw in_run(spec, run, error);
    }
  }
  const ordered_json header = header_of(spec, job);
  LineFile file(path);
  std::size_t end = 0;
  SweepResults out;
  out.results = results_in(path, spec, job, header, file.read_all(), end);
  out.found = out.results.size();
  file.keep(end);
  if (end == 0) {
    file.append(header.dump() + "\n");
    file.sync_name();
  }
  for (std::size_t run = out.found; run < spec.runs(); ++run) {
    poll();
    const auto share = [&](double done) {
      if (progress) progress(run, done);
    };
    share(0);
    ordered_json result;
    try {
      result = job.run(settings_of(spec, run), share);
    } catch (const Error& error) {
      throw in_run(spec, run, error);
    }
    const std::string line = run_line(spec, run, result);
    file.append(line);
    out.results.push_back(ordered_json::parse(line)["result"]);  // as a resumed sweep reads it
    if (told) told(run, out.results.back());
  }
  return out;
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Compares the metadata of recordings setting by setting.
#include "lib/device/kept_recording.h"

#include <filesystem>
#include <span>
#include <vector>

#include "lib/text/error.h"

namespace binade {
namespace {

/// A setting of a recording, by the key of its metadata.
struct Setting {
  const char* key;
  std::string found, wanted;
};

std::vector<Setting> settings_of_origin(const RecordingOrigin& found,
                                        const RecordingOrigin& wanted) {
  return {{"instruction", found.instruction, wanted.instruction},
          {"ptx", found.ptx, wanted.ptx},
          {"architecture", found.architecture, wanted.architecture},
          {"gpu", found.gpu, wanted.gpu},
          {"driver", found.driver, wanted.driver},
          {"cuda", found.cuda, wanted.cuda}};
}

void add_number(std::vector<Setting>& settings, const char* key, std::uint64_t found,
                std::uint64_t wanted) {
  settings.push_back({key, std::to_string(found), std::to_string(wanted)});
}

void check_settings(const std::string& path, std::span<const Setting> settings) {
  for (const Setting& x : settings) {
    if (x.found == x.wanted) continue;
    throw error_in(path,
                   "a recording whose " + std::string(x.key) + " is " + printable(x.found) +
                       ", not " + printable(x.wanted),
                   "choose another --out, or leave out --resume to record everything anew");
  }
}

/// Returns what `read` returns for a file that is there. Errors but FileError are those of a file
/// that is no whole recording.
bool whole(const std::string& path, const DamageTold& damaged, const std::function<void()>& read) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return false;
  try {
    read();
    return true;
  } catch (const FileError&) {
    throw;
  } catch (const Error& error) {
    damaged(error.what());
    return false;
  }
}

}  // namespace

bool is_recorded(const std::string& path, const RecordingInfo& wanted,
                 const Instruction& instruction, const DamageTold& damaged) {
  RecordingInfo found;
  if (!whole(path, damaged, [&] { found = read_recording_info(path); })) return false;
  std::vector<Setting> settings = settings_of_origin(found, wanted);
  settings.push_back({"generator", found.generator, wanted.generator});
  add_number(settings, "seed", found.seed, wanted.seed);
  add_number(settings, "rows", found.rows, wanted.rows);
  if (wanted.generator == "unknown") {
    settings.push_back({"input_hash", found.input_hash, wanted.input_hash});
  }
  check_settings(path, settings);
  return whole(path, damaged, [&] { (void)read_recording(path, instruction); });
}

bool is_recorded(const std::string& path, const ScalarRecording& wanted,
                 const DamageTold& damaged) {
  ScalarRecording found;
  if (!whole(path, damaged, [&] { found = read_scalar_recording(path); })) return false;
  std::vector<Setting> settings = settings_of_origin(found.origin, wanted.origin);
  const auto how = [](const ScalarCases& x) { return x.exhaustive ? "exhaustive" : "seeded"; };
  settings.push_back({"cases", how(found.cases), how(wanted.cases)});
  add_number(settings, "hashed_cases", found.cases.count, wanted.cases.count);
  add_number(settings, "seed", found.cases.seed, wanted.cases.seed);
  add_number(settings, "samples", found.d.size(), wanted.d.size());
  check_settings(path, settings);
  return true;
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// How a run was watched, as JSON and in words. JSON may come from anyone, so it is checked against
// a table of its keys.
#include "lib/report/watched.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "lib/report/tensor_role.h"
#include "lib/text/error.h"
#include "lib/text/paragraph.h"

namespace binade {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t longest_nonfinite = std::size_t{1} << 16;  ///< bytes of JSON

bool is_count(const Json& x) {
  return x.is_number_unsigned() && x.get<std::uint64_t>() <= std::uint64_t{1} << 53;
}
bool is_text(const Json& x) { return x.is_string(); }
bool is_magnitude(const Json& x) { return x.is_null() || (x.is_number() && x.get<double>() >= 0); }

/// A key, the test that its value must pass, and whether the key is required.
struct NonFiniteKey {
  const char* name;
  bool (*fits)(const Json&);
  bool required = false;
};

/// Returns whether the JSON is an object with these keys and no others.
template <std::size_t n>
bool has_keys(const Json& x, const std::array<NonFiniteKey, n>& keys) {
  if (!x.is_object()) return false;
  std::size_t known = 0;
  for (const NonFiniteKey& key : keys) {
    const auto found = x.find(key.name);
    if (found == x.end() ? key.required : !key.fits(*found)) return false;
    known += found == x.end() ? 0 : 1;
  }
  return known == x.size();
}

bool is_input(const Json& x) {
  return has_keys(x, std::array<NonFiniteKey, 7>{{{"name", &is_text, true},
                                                  {"dtype", &is_text},
                                                  {"values", &is_count},
                                                  {"nan", &is_count},
                                                  {"inf", &is_count},
                                                  {"smallest", &is_magnitude},
                                                  {"largest", &is_magnitude}}});
}

bool is_truth(const Json& x) { return x.is_boolean(); }

constexpr std::array<NonFiniteKey, 10> nonfinite_keys{
    {{"text",
      [](const Json& x) { return x.is_string() && !x.get_ref<const std::string&>().empty(); },
      true},
     {"step", &is_count},
     {"layer", &is_text},
     {"role",
      [](const Json& x) {
        return std::ranges::find(tensor_role_names, x) != tensor_role_names.end();
      }},
     {"phase", [](const Json& x) { return x == "forward" || x == "backward" || x == "step"; }},
     {"found",
      [](const Json& x) {
        return has_keys(
            x, std::array<NonFiniteKey, 2>{{{"nan", &is_count, true}, {"inf", &is_count, true}}});
      }},
     {"arose", &is_truth},
     {"loss_scale", &is_magnitude},
     {"skipped", &is_truth},
     {"inputs", [](const Json& x) { return x.is_array() && std::ranges::all_of(x, &is_input); }}}};

/// Returns "step", "2nd step" or "50th step".
std::string every_words(std::uint64_t n) {
  if (n == 1) return "step";
  constexpr std::array<const char*, 4> endings{"th", "st", "nd", "rd"};
  const bool teen = n % 100 / 10 == 1;
  const char* ending = teen || n % 10 > 3 ? "th" : endings[n % 10];
  return grouped(n) + ending + " step";
}

}  // namespace

FirstNonFinite parse_first_nonfinite(std::string_view json) {
  const bool is_short = json.size() <= longest_nonfinite;
  const Json all = is_short ? Json::parse(json, nullptr, false) : Json();
  if (!has_keys(all, nonfinite_keys)) {
    throw Error("the first non-finite value: not a JSON object of at most " +
                std::to_string(longest_nonfinite) +
                " bytes with the keys text, step, layer, role, phase, found, arose, loss_scale, "
                "skipped and inputs");
  }
  return {.step = all.value("step", std::uint64_t{0}),
          .text = all["text"].get<std::string>(),
          .json = all.dump(),
          .only_skipped = all.value("skipped", Json()) == Json(true) &&
                          all.value("phase", Json()) != Json("forward")};
}

void add_watched(Watched& to, const Watched& more) {
  for (const RunWindow& window : more.windows) {
    const auto at = std::ranges::lower_bound(to.windows, window.first, {}, &RunWindow::first);
    if (at == to.windows.end() || at->first != window.first) to.windows.insert(at, window);
  }
  for (const std::string& note : more.notes) {
    if (std::ranges::find(to.notes, note) == to.notes.end()) to.notes.push_back(note);
  }
  const bool earlier =
      more.first_nonfinite &&
      (!to.first_nonfinite || more.first_nonfinite->step < to.first_nonfinite->step);
  if (earlier) to.first_nonfinite = more.first_nonfinite;
}

nlohmann::ordered_json watched_json(const Watched& watched) {
  Json windows = Json::array();
  for (const RunWindow& window : watched.windows) {
    windows.push_back({{"first", window.first}, {"last", window.last}, {"steps", window.steps}});
  }
  return {{"every", watched.every},
          {"windows", windows},
          {"notes", watched.notes},
          {"first_nonfinite",
           watched.first_nonfinite ? Json::parse(watched.first_nonfinite->json) : Json(nullptr)}};
}

std::string watched_words(const Watched& watched) {
  std::string out = "every " + every_words(watched.every);
  if (watched.windows.empty()) return out;
  const auto [least, most] = std::ranges::minmax(watched.windows, {}, &RunWindow::steps);
  out += " from " + grouped(watched.windows.front().first) + " to " +
         grouped(watched.windows.back().last);
  if (most.steps == 1) return out;
  return out + "; each point merges " + (least.steps == most.steps ? "" : "up to ") +
         grouped(most.steps) + " watched steps";
}

std::string watched_text(const Watched& watched) {
  constexpr std::size_t longest = 2000;  // of texts that anyone may have written
  std::string out = wrapped("  watched: " + watched_words(watched), 4);
  if (watched.first_nonfinite) {
    out += wrapped(
        "  first value that is not finite: " + printable(watched.first_nonfinite->text, longest),
        4);
  }
  for (const std::string& note : watched.notes) out += wrapped("  " + printable(note, longest), 4);
  return out;
}

}  // namespace binade

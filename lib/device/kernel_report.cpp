// SPDX-License-Identifier: Apache-2.0
//
// Text and JSON of kernel checks and rates.
#include "lib/device/kernel_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace binade {
namespace {

using Json = nlohmann::ordered_json;

std::string status(const KernelCheck& check) {
  if (check.values == 0) return "nothing compared";
  return check.different == 0 ? "equal" : "different";
}

/// The sums of all checks of one kernel.
struct Sum {
  std::string kernel;
  std::uint64_t cases = 0, values = 0, different = 0;
};

std::vector<Sum> sums_of(std::span<const KernelCheck> checks) {
  std::vector<Sum> out;
  for (const KernelCheck& check : checks) {
    auto at = std::ranges::find(out, check.kernel, &Sum::kernel);
    if (at == out.end()) at = out.insert(out.end(), {check.kernel});
    at->cases += 1;
    at->values += check.values;
    at->different += check.different;
  }
  return out;
}

}  // namespace

bool all_equal(std::span<const KernelCheck> checks) {
  return !checks.empty() && std::ranges::all_of(checks, [](const KernelCheck& check) {
    return status(check) == "equal";
  });
}

std::string kernel_checks_text(std::span<const KernelCheck> checks) {
  std::string text =
      fmt::format("{:<18} {:>6} {:>12} {:>10}\n", "kernel", "cases", "results", "different");
  for (const Sum& sum : sums_of(checks)) {
    text += fmt::format("{:<18} {:>6} {:>12} {:>10}\n", sum.kernel, sum.cases, sum.values,
                        sum.different);
  }
  for (const KernelCheck& check : checks) {
    if (status(check) == "equal") continue;
    text += check.values == 0
                ? fmt::format("{}, {}: nothing compared\n", check.kernel, check.what)
                : fmt::format("{}, {}: {} of {} results differ, first {}\n", check.kernel,
                              check.what, check.different, check.values, check.first);
  }
  return text;
}

std::string kernel_rates_text(std::span<const KernelRate> rates) {
  std::string text =
      fmt::format("{:<16} {:<34} {:>10} {:<8} {:>7}\n", "kernel", "what", "rate", "", "share");
  for (const KernelRate& rate : rates) {
    text +=
        fmt::format("{:<16} {:<34} {:>10.4g} {:<8}", rate.kernel, rate.what, rate.rate, rate.unit);
    if (rate.limit > 0) {
      text += fmt::format(" {:>5.1f} % of {:.4g}, {}", 100 * rate.rate / rate.limit, rate.limit,
                          rate.limit_is);
    } else if (!rate.limit_is.empty()) {
      text += fmt::format(" ({})", rate.limit_is);
    }
    text += '\n';
  }
  return text;
}

Json kernel_checks_json(std::span<const KernelCheck> checks) {
  Json out = Json::array();
  for (const KernelCheck& check : checks) {
    Json row{{"kernel", check.kernel},
             {"what", check.what},
             {"status", status(check)},
             {"values", check.values},
             {"different", check.different}};
    if (!check.first.empty()) row["first"] = check.first;
    out.push_back(std::move(row));
  }
  return out;
}

Json kernel_rates_json(std::span<const KernelRate> rates) {
  Json out = Json::array();
  for (const KernelRate& rate : rates) {
    Json row{{"kernel", rate.kernel}, {"what", rate.what}, {"unit", rate.unit},
             {"rate", rate.rate},     {"limit", nullptr},  {"limit_is", rate.limit_is}};
    if (rate.limit > 0) {
      row["limit"] = rate.limit;
      row["share"] = rate.rate / rate.limit;
    }
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace binade

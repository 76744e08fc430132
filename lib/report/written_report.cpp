// SPDX-License-Identifier: Apache-2.0
//
// Opens what the report is of, collects the lines of its tensors, and writes the rest when they are
// all counted.
#include "lib/report/written_report.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "lib/io/array_file.h"
#include "lib/io/atomic_file.h"
#include "lib/io/output_paths.h"
#include "lib/report/csv.h"
#include "lib/report/html.h"
#include "lib/report/json.h"
#include "lib/report/page_data.h"
#include "lib/report/text.h"
#include "lib/report/write_report.h"
#include "lib/text/error.h"

namespace binade {
namespace {

/// The name of the file in whose place arrays are.
constexpr const char* name_of_arrays = "arrays";

std::string csv_of(const std::string& json) {
  return report_csv(nlohmann::ordered_json::parse(json));
}

/// Throws Error if an array has elements and no memory.
void require_data(const std::vector<NamedArray>& arrays) {
  for (const auto& [name, array] : arrays) {
    if (array.data != nullptr || array.size().elements == 0) continue;
    throw Error(printable(name) + ": an array of elements without data; set ArrayView::data");
  }
}

Report read_quietly(const ReportInputs& inputs, const TensorSink& on_tensor) {
  return read_report(inputs, {}, nullptr, on_tensor);
}

}  // namespace

std::string WrittenReport::html() const { return report_html(page_data); }
std::string WrittenReport::csv() const { return csv_of(json); }
void WrittenReport::save(const std::string& path) const { save_report(json, page_data, path); }

WrittenReport write_report(const ReportInputs& inputs, std::size_t rows, const ReadReport& read) {
  JsonTensors lines;
  Report report = read(
      inputs, [&](const TensorReport& tensor) { lines.add(tensor_json(tensor, inputs.options)); });
  WrittenReport out;
  out.text = report_text(report, {.color = false, .tensors = rows});
  write_json(report, lines, [&out](std::string_view piece) { out.json += piece; });
  out.page_data = page_data(report);
  out.total = std::move(report.total);
  out.loss_scale = std::move(report.loss_scale);
  out.tensors = std::move(report.tensors);
  return out;
}

void save_report(const std::string& json, std::string_view page_data, const std::string& path) {
  std::string suffix = std::filesystem::path(path).extension().string();
  for (char& c : suffix) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::array known{".html", ".json", ".csv"};
  if (std::ranges::find(known, suffix) == known.end()) {
    throw Error(printable(path, longest_path) + ": a report is saved as .html, .json or .csv");
  }
  prepare_outputs({}, std::array{OutputPath{"path", path}});
  write_file(path, suffix == ".json"  ? json
                   : suffix == ".csv" ? csv_of(json)
                                      : report_html(page_data));
}

WrittenReport report_on_files(const std::vector<std::string>& files, const ReportOptions& options,
                              std::size_t rows) {
  check(options);
  return write_report(open_inputs(expand_paths(files), options), rows, &read_quietly);
}

WrittenReport report_on_arrays(std::vector<NamedArray> arrays, const ReportOptions& options,
                               std::size_t rows) {
  check(options);
  require_data(arrays);
  const NamedArrays named({{name_of_arrays, std::move(arrays)}});
  return write_report(open_inputs({name_of_arrays}, options), rows, &read_quietly);
}

WrittenReport report_on_summaries(std::vector<NamedSummary> summaries, const ReportOptions& options,
                                  std::size_t rows) {
  check(options);
  return write_report(inputs_of(std::move(summaries), options), rows, &read_quietly);
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Writes the outputs of a report. The lines of tensors are kept in temporary files, beside the
// files that they end up in, until the head of the report is known.
#include "lib/cli/report_outputs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <array>
#include <filesystem>

#include "lib/cli/files_first.h"
#include "lib/cli/progress.h"
#include "lib/io/atomic_file.h"
#include "lib/io/spool.h"
#include "lib/report/csv.h"
#include "lib/report/html.h"
#include "lib/report/json.h"
#include "lib/report/page_data.h"
#include "lib/report/text.h"
#include "lib/text/error.h"
#include "lib/text/idle_option.h"

namespace binade {
namespace {

/// The folder for the temporary file of an output: that of the output. Empty if the output is
/// standard output or no regular file.
std::string spool_folder(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const bool special = fs::exists(path, ignored) && !fs::is_regular_file(path, ignored);
  if (path.empty() || path == "-" || special) return "";
  const fs::path folder = fs::path(link_target(path)).parent_path();
  return folder.empty() ? "." : folder.string();
}

/// Calls `write` with a function that takes pieces of text, and puts them into the file `path`, or
/// on standard output if path is "-". Does nothing if path is empty.
template <class Write>
void deliver(const std::string& path, const Write& write) {
  if (path == "-") {
    write([](std::string_view text) { fmt::print("{}", text); });
  } else if (!path.empty()) {
    AtomicFile file(path);
    std::string piece;
    write([&](std::string_view text) {
      piece += text;
      if (piece.size() < std::size_t{1} << 20) return;
      file.write(piece);
      piece.clear();
    });
    file.write(piece);
    file.commit();
  }
}

/// Returns whether what is written to a path ("-": standard output) is shown by a terminal.
bool is_terminal(const std::string& path) {
  if (path == "-") return isatty(STDOUT_FILENO) != 0;
  std::error_code none;
  if (!std::filesystem::is_character_file(path, none)) return false;
  const int descriptor = open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  const bool shown = descriptor >= 0 && isatty(descriptor) != 0;
  if (descriptor >= 0) close(descriptor);
  return shown;
}

}  // namespace

struct ReportWriter::Spools {
  JsonTensors json;
  Spool csv;
  CsvLines lines;

  Spools(const ReportOutputs& outputs, const ReportOptions& options)
      : json(spool_folder(outputs.json)),
        csv(spool_folder(outputs.csv)),
        lines(options_json(options),
              is_terminal(outputs.csv) ? CsvReader::terminal : CsvReader::program) {
    csv.add(lines.head());
  }
};

void add_report_outputs(App app, ReportOutputs& outputs) {
  app.add_output("-o,--html", outputs.html,
                 "write the report to this file, as a page (HTML) that needs no other file");
  app.add_output("--json", outputs.json,
                 "write the report to this file, as JSON; - for standard output");
  app.add_output(
      "--csv", outputs.csv,
      "write a row of figures for each tensor to this file, as CSV; - for standard output");
}

void add_text_options(App app, ReportOutputs& outputs) {
  app.add_option("--tensors", outputs.tensors,
                 "how many rows the printed table of tensors has; 0 for all")
      .capture_default_str();
  app.add_flag("-q,--quiet", outputs.quiet, "print no text on standard output");
}

void check_stdout(const ReportOutputs& outputs) {
  if (outputs.json == "-" && outputs.csv == "-") {
    throw Error("--json - and --csv -: standard output takes one; give the other a file");
  }
  const bool other = outputs.json == "-" || outputs.csv == "-";
  const std::string no_text = "where standard output takes no text";
  refuse_idle(std::array{
      IdleOption{"--quiet", outputs.quiet && other, no_text},
      IdleOption{"--tensors",
                 outputs.tensors != ReportOutputs{}.tensors && (outputs.quiet || other),
                 outputs.quiet ? "with --quiet" : no_text},
  });
}

void prepare_report_outputs(const ReportOutputs& outputs, std::span<const InputPath> read) {
  prepare_outputs(read,
                  std::array{OutputPath{"-o", outputs.html},
                             OutputPath{.name = "--json", .path = outputs.json, .or_stdout = true},
                             OutputPath{.name = "--csv", .path = outputs.csv, .or_stdout = true}});
}

ReportWriter::ReportWriter(const ReportOutputs& outputs, const ReportOptions& options)
    : outputs_(outputs), options_(options), spools_(std::make_unique<Spools>(outputs, options)) {}
ReportWriter::~ReportWriter() = default;

TensorSink ReportWriter::sink() {
  if (outputs_.json.empty() && outputs_.csv.empty()) return {};
  return [this](const TensorReport& tensor) { add(tensor); };
}

void ReportWriter::add(const TensorReport& tensor) {
  const nlohmann::ordered_json json = tensor_json(tensor, options_);
  if (!outputs_.json.empty()) spools_->json.add(json);
  if (!outputs_.csv.empty()) spools_->csv.add(spools_->lines.line(json));
}

void ReportWriter::write(const Report& report, const std::string& note) {
  const bool json_is_printed = outputs_.json == "-";
  const bool csv_is_printed = outputs_.csv == "-";
  const auto deliver_json = [&] {
    deliver(outputs_.json, [&](const TextSink& sink) { write_json(report, spools_->json, sink); });
  };
  const auto deliver_csv = [&] {
    deliver(outputs_.csv, [&](const TextSink& sink) { spools_->csv.copy_to(sink); });
  };
  const auto write = [&] {
    if (!json_is_printed) deliver_json();
    if (!csv_is_printed) deliver_csv();
    if (!outputs_.html.empty()) write_file(outputs_.html, report_html(page_data(report)));
  };
  const auto print = [&] {
    if (json_is_printed) return deliver_json();
    if (csv_is_printed) return deliver_csv();
    if (outputs_.quiet) return;
    fmt::print("{}{}", report_text(report, {wants_color(STDOUT_FILENO), outputs_.tensors}), note);
  };
  files_first(write, print);
}

}  // namespace binade

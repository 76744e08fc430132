// SPDX-License-Identifier: Apache-2.0
//
// The directory is read when the file is opened, and the checksum checked; a summary is read when
// it is needed.
#include "lib/report/run_file.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "lib/range/fate.h"
#include "lib/range/summary_bytes.h"
#include "lib/report/counts_file.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr CountsKind run_kind{.magic = {"binade.run/1\n\0\0\0", 16},
                              .any_version = run_file_prefix,
                              .noun = "counted run",
                              .where_from = "save the run again with this version of binade",
                              .again = "save the run again"};

void write_watched(CountsWriter& to, const Watched& watched) {
  to.number(watched.every);
  to.number(watched.notes.size());
  for (const std::string& note : watched.notes) to.text(note);
  to.text(watched.first_nonfinite ? watched.first_nonfinite->json : "");
  to.number(watched.windows.size());
  for (const RunWindow& window : watched.windows) {
    to.number(window.first);
    to.number(window.last);
    to.number(window.steps);
    to.number(std::bit_cast<std::uint64_t>(window.loss_scale.value_or(0)));
  }
}

Watched read_watched(CountsReader& from) {
  Watched out;
  out.every = from.number();
  for (std::uint64_t n = from.count(8); n-- > 0;) out.notes.push_back(from.text());
  if (const std::string json = from.text(); !json.empty()) {
    out.first_nonfinite = parse_first_nonfinite(json);
  }
  for (std::uint64_t n = from.count(32); n-- > 0;) {
    RunWindow& window = out.windows.emplace_back();
    window.first = from.number();
    window.last = from.number();
    window.steps = from.number();
    const auto scale = std::bit_cast<double>(from.number());
    if (scale != 0) window.loss_scale = scale;
  }
  return out;
}

/// What a tensor's flags say.
constexpr std::uint64_t has_shape_bit = 1, binds_none_bit = 2;

void write_tensor(CountsWriter& to, const RunTensor& tensor) {
  to.number(tensor.time.step);
  to.text(tensor.time.layer);
  to.text(tensor_role_name(tensor.time.role));
  to.text(tensor.dtype.name);
  to.number((tensor.shape ? has_shape_bit : 0) | (tensor.binds_scale ? 0 : binds_none_bit));
  const std::vector<std::uint64_t> shape = tensor.shape.value_or(std::vector<std::uint64_t>{});
  to.number(shape.size());
  for (const std::uint64_t n : shape) to.number(n);
  to.number(tensor.values);
}

RunTensor read_tensor(CountsReader& from) {
  RunTensor out;
  out.time.step = from.number();
  out.time.layer = from.text();
  const std::optional<TensorRole> role = find_role(from.text());
  if (!role) from.refuse("damaged: it has no such role");
  out.time.role = *role;
  const std::optional<Dtype> dtype = find_dtype(from.text());
  if (!dtype) from.refuse("damaged: it names a dtype that no file has");
  out.dtype = *dtype;
  const std::uint64_t flags = from.number();
  const bool has_shape = (flags & has_shape_bit) != 0;
  out.binds_scale = (flags & binds_none_bit) == 0;
  std::vector<std::uint64_t> shape;
  for (std::uint64_t n = from.count(8); n-- > 0;) shape.push_back(from.number());
  if (flags > (has_shape_bit | binds_none_bit) || (!has_shape && !shape.empty())) {
    from.refuse("damaged: a tensor has a shape and has none");
  }
  if (has_shape) out.shape = std::move(shape);
  out.values = from.number();
  return out;
}

std::vector<ErrorColumn> read_columns(CountsReader& from) {
  std::vector<ErrorColumn> out;
  for (std::uint64_t n = from.count(16); n-- > 0;) {
    const std::string name = from.text();
    const auto* const row = std::ranges::find(report_formats, name, &NamedFormat::name);
    if (row == report_formats.end()) from.refuse("damaged: it names a format that no report has");
    const auto scale = static_cast<std::int64_t>(from.number());
    if (scale < lowest_scale_log2 || scale > highest_scale_log2) {
      from.refuse("damaged: it has no such scale");
    }
    out.push_back({row->format, static_cast<int>(scale)});
  }
  return out;
}

RunCounts read_run(CountsReader& from) try {
  constexpr std::uint64_t least_of_tensor = 56, least_of_update = 24;
  RunCounts run;
  run.watched = read_watched(from);
  run.columns = read_columns(from);
  for (std::uint64_t n = from.count(least_of_tensor); n-- > 0;) {
    run.tensors.push_back(read_tensor(from));
  }
  for (std::uint64_t n = from.count(least_of_update); n-- > 0;) {
    RunUpdates& of = run.updates.emplace_back();
    of.step = from.number();
    of.layer = from.text();
    const std::string counts = from.text();
    of.counts = update_from(from.reader_of(counts));
  }
  check_run(run);
  return run;
} catch (const FileError&) {
  throw;
} catch (const Error& error) {
  from.refuse(std::string("damaged: ") + error.what());
}

/// The bytes of a tensor's summary in the file.
struct SummaryPlace {
  std::uint64_t begin = 0, size = 0;
};

/// Reads a summary. Throws Error unless it is one of the tensor that the directory describes.
RangeSummary read_summary(const InputFile& file, const SummaryPlace& place, const RunCounts& run,
                          const RunTensor& tensor) {
  std::vector<std::byte> bytes(place.size);
  file.read(place.begin, bytes);
  file.check_unchanged();
  RangeSummary out;
  try {
    out = summary_from_bytes(bytes);
  } catch (const Error&) {
    refuse_counts(run_kind, file.path(),
                  "damaged: it holds no valid summary of " + printable(run_tensor_name(tensor)));
  }
  if (out.columns != run.columns || out.values != tensor.values) {
    refuse_counts(
        run_kind, file.path(),
        "damaged: it holds a summary of something else than " + printable(run_tensor_name(tensor)));
  }
  return out;
}

}  // namespace

void write_run(const RunCounts& run, const std::vector<RangeSummary>& summaries,
               const std::string& path) {
  check_run(run);
  CountsWriter to(run_kind, path);
  write_watched(to, run.watched);
  to.number(run.columns.size());
  for (const auto& [format, scale] : run.columns) {
    to.text(std::ranges::find(report_formats, format, &NamedFormat::format)->name);
    to.number(static_cast<std::uint64_t>(std::int64_t{scale}));
  }
  to.number(run.tensors.size());
  for (const RunTensor& tensor : run.tensors) write_tensor(to, tensor);
  to.number(run.updates.size());
  for (const RunUpdates& of : run.updates) {
    to.number(of.step);
    to.text(of.layer);
    to.text(update_bytes(of.counts));
  }
  for (const RangeSummary& summary : summaries) {
    const std::vector<std::byte> bytes = bytes_of(summary);
    to.text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  to.commit();
}

std::unique_ptr<TensorFile> open_run(const std::shared_ptr<const InputFile>& file) {
  const auto held = file->hold();
  CountsReader from(run_kind, file);
  const auto run = std::make_shared<const RunCounts>(read_run(from));
  std::vector<SummaryPlace> places;
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = 0; i < run->tensors.size(); ++i) {
    const std::uint64_t begin = from.bytes_read() + 8;
    places.push_back({begin, from.text().size()});
    sizes.push_back(places.back().size);
  }
  from.finish();
  return file_of_run(
      file->path(), run,
      [file, run, places = std::move(places)](std::size_t i) {
        return read_summary(*file, places[i], *run, run->tensors[i]);
      },
      sizes, file);
}

}  // namespace binade

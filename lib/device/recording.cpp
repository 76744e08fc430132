// SPDX-License-Identifier: Apache-2.0
//
// Reading and writing recordings. A file is hostile until each of its keys, shapes and numbers is
// checked.
#include "lib/device/recording.h"

#include <algorithm>
#include <map>
#include <vector>

#include "lib/device/row_plan.h"
#include "lib/io/safetensors_writer.h"
#include "lib/text/error.h"

namespace binade {
namespace {

/// A tensor of a recording: where its values are in Dots, their format, and how many a row has.
struct Column {
  const char* name;
  std::vector<std::uint64_t> Dots::*values;
  Format format;
  std::uint64_t per_row;  ///< 0 for one value per row, of shape (rows,)
};

/// The columns in the order in which input_hash takes them, d last.
std::vector<Column> columns_of(const Instruction& x) {
  const auto k = static_cast<std::uint64_t>(x.k);
  std::vector<Column> out{
      {"a", &Dots::a, x.types.a, k}, {"b", &Dots::b, x.types.b, k}, {"c", &Dots::c, x.types.c, 0}};
  if (const std::uint64_t scales = scales_of_row(x); scales != 0) {
    const Format& f = x.model.scaling.format;
    out.push_back({"a_scale", &Dots::a_scales, f, scales});
    out.push_back({"b_scale", &Dots::b_scales, f, scales});
  }
  out.push_back({"d", &Dots::d, x.types.d, 0});
  return out;
}

std::vector<std::uint64_t> shape_of(const Column& column, std::uint64_t rows) {
  if (column.per_row == 0) return {rows};
  return {rows, column.per_row};
}

RecordingInfo info_of(const SafetensorsFile& file) {
  RecordingInfo out;
  static_cast<RecordingOrigin&>(out) = read_origin(file);
  out.generator = metadata_text(file, "generator");
  out.input_hash = hash_text(metadata_hash(file, "input_hash"));
  out.rows = metadata_number(file, "rows");
  if (out.rows == 0) throw error_in(file.path(), "no rows", "there is nothing to compare");
  if (out.rows > most_recorded_rows) {
    bad_metadata(file, "rows", "at most " + std::to_string(most_recorded_rows));
  }
  if (out.generator != "unknown") {
    out.seed = metadata_number(file, "seed");
  } else if (metadata_text(file, "seed") != "unknown") {
    bad_metadata(file, "seed", "'unknown' where the generator is");
  }
  return out;
}

void read_column(const SafetensorsFile& file, const Column& column, std::uint64_t rows, Dots& out) {
  out.*column.values =
      read_column(file, column.name, column.format.storage_bits(), shape_of(column, rows));
}

/// Returns the rows that the recording's generators make, with the results `d`; in a chain c is d
/// of the row before.
Dots generated(const RecordingInfo& info, const Instruction& instruction,
               std::vector<std::uint64_t> d) {
  const RowPlan plan = parse_row_plan(info.generator);
  if (planned_rows(plan) != d.size()) {
    throw Error("rows '" + printable(info.generator) + "' are " +
                std::to_string(planned_rows(plan)) + ", results " + std::to_string(d.size()));
  }
  Dots out = make_rows(plan, instruction, info.seed);
  out.d = std::move(d);
  fill_chains(plan, out);
  return out;
}

void check_names(const SafetensorsFile& file, const std::vector<Column>& columns) {
  const bool scaled = columns.size() > 4;
  for (const TensorInfo& tensor : file.tensors()) {
    const auto is_it = [&tensor](const Column& column) { return tensor.name == column.name; };
    if (std::ranges::any_of(columns, is_it)) continue;
    throw error_in(file.path(), "a tensor '" + printable(tensor.name) + "'",
                   scaled ? "a recording of it holds d, or a, b, c, a_scale, b_scale and d"
                          : "a recording holds d, or a, b, c and d");
  }
}

}  // namespace

std::string input_hash(const Dots& dots, const Instruction& instruction) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const Column& column : columns_of(instruction)) {
    if (column.values == &Dots::d) continue;
    for (const std::uint64_t x : dots.*column.values) {
      for (int i = 0; i < column.format.storage_bits(); i += 8) {
        hash = (hash ^ (x >> i & 0xFF)) * 0x100000001B3;
      }
    }
  }
  return hash_text(hash);
}

void write_recording(const std::string& path, const RecordingInfo& info,
                     const Instruction& instruction, const Dots& dots) {
  const std::uint64_t rows = dots.d.size();
  if (rows == 0 || rows > most_recorded_rows || dots.c.size() != rows || !fit(dots, instruction)) {
    throw error_in(path, std::to_string(rows) + " rows that do not fit their inputs",
                   "record 1 to " + std::to_string(most_recorded_rows) + " rows");
  }
  const std::string hash = input_hash(dots, instruction);
  bool with_inputs = true;
  if (info.generator != "unknown") {
    with_inputs = input_hash(generated(info, instruction, dots.d), instruction) != hash;
  }
  std::map<std::string, std::string> metadata = metadata_of(info);
  metadata["generator"] = info.generator;
  metadata["input_hash"] = hash;
  metadata["rows"] = std::to_string(rows);
  metadata["seed"] = info.generator == "unknown" ? "unknown" : std::to_string(info.seed);

  std::vector<Column> columns;
  for (const Column& column : columns_of(instruction)) {
    if (with_inputs || column.values == &Dots::d) columns.push_back(column);
  }
  std::ranges::stable_sort(columns, std::ranges::greater{},
                           [](const Column& x) { return x.format.storage_bits(); });
  std::vector<TensorSpec> specs;
  for (const Column& column : columns) {
    specs.push_back(
        {column.name, unsigned_dtype(column.format.storage_bits()), shape_of(column, rows)});
  }
  SafetensorsWriter writer(path, specs, metadata);
  for (const Column& column : columns)
    writer.write(bytes_of(dots.*column.values, column.format.storage_bits()));
  writer.finish();
}

RecordingInfo read_recording_info(const std::string& path) {
  return info_of(*open_safetensors(path));
}

Dots read_recording(const std::string& path, const Instruction& instruction) {
  const auto file = open_safetensors(path);
  const RecordingInfo info = info_of(*file);
  const std::vector<Column> columns = columns_of(instruction);
  check_names(*file, columns);
  const bool with_inputs = file->tensors().size() > 1;
  Dots out;
  read_column(*file, columns.back(), info.rows, out);
  if (with_inputs) {
    for (const Column& column : columns) {
      if (column.values != &Dots::d) read_column(*file, column, info.rows, out);
    }
  } else {
    if (info.generator == "unknown") {
      throw error_in(path, "neither a, b and c nor a generator of them", std::string(record_again));
    }
    try {
      out = generated(info, instruction, std::move(out.d));
    } catch (const Error& error) {
      throw error_in(path, error.what(), std::string(record_again));
    }
  }
  const std::string hash = input_hash(out, instruction);
  if (hash != info.input_hash) {
    throw error_in(
        path, "inputs of hash " + hash + ", recorded with " + info.input_hash,
        with_inputs ? "the file is damaged; " + std::string(record_again)
                    : "the generator gives other rows than it did; " + std::string(record_again));
  }
  return out;
}

}  // namespace binade

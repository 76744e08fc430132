// SPDX-License-Identifier: Apache-2.0
//
// Recordings in and out. A file is hostile until every key, shape and number of it is checked.
#include "lib/record/recording.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <span>
#include <vector>

#include "lib/io/safetensors.h"
#include "lib/io/safetensors_writer.h"
#include "lib/record/row_plan.h"
#include "lib/tensor/error.h"

namespace binade {
namespace {

constexpr std::string_view record_again = "record it again";

struct TextKey {
  const char* key;
  std::string RecordingInfo::*text;
};

constexpr std::array text_keys{
    TextKey{"gpu", &RecordingInfo::gpu},
    TextKey{"driver", &RecordingInfo::driver},
    TextKey{"cuda", &RecordingInfo::cuda},
    TextKey{"ptx", &RecordingInfo::ptx},
    TextKey{"sass", &RecordingInfo::sass},
    TextKey{"generator", &RecordingInfo::generator},
    TextKey{"input_hash", &RecordingInfo::input_hash},
    TextKey{"date", &RecordingInfo::date},
    TextKey{"instruction", &RecordingInfo::instruction},
    TextKey{"architecture", &RecordingInfo::architecture},
};

/// A tensor of a recording: its values' place, format, and how many there are in a row.
struct Column {
  const char* name;
  std::vector<std::uint64_t> Dots::*values;
  Format format;
  std::uint64_t per_row;  ///< 0: one, of shape (rows,)
};

std::array<Column, 4> columns_of(const Instruction& x) {
  const auto k = static_cast<std::uint64_t>(x.k);
  return {{{"a", &Dots::a, x.types.a, k},
           {"b", &Dots::b, x.types.b, k},
           {"c", &Dots::c, x.types.c, 0},
           {"d", &Dots::d, x.types.d, 0}}};
}

std::vector<std::uint64_t> shape_of(const Column& column, std::uint64_t rows) {
  if (column.per_row == 0) return {rows};
  return {rows, column.per_row};
}

Dtype dtype_of(const Format& f) { return *find_dtype("U" + std::to_string(f.storage_bits())); }

std::vector<std::byte> bytes_of(const std::vector<std::uint64_t>& values, const Format& f) {
  std::vector<std::byte> out;
  out.reserve(values.size() * static_cast<std::size_t>(f.storage_bits() / 8));
  for (const std::uint64_t x : values) {
    for (int i = 0; i < f.storage_bits(); i += 8) out.push_back(std::byte(x >> i & 0xFF));
  }
  return out;
}

const std::string& text_at(const SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) {
    throw error_in(file.path(), "no '" + key + "' in its metadata",
                   "it is no recording, or " + std::string(record_again));
  }
  return found->second;
}

[[noreturn]] void bad_value(const SafetensorsFile& file, const std::string& key,
                            const std::string& wanted) {
  throw error_in(file.path(), "metadata '" + key + "' is '" + printable(text_at(file, key)) + "'",
                 "it must be " + wanted + "; " + std::string(record_again));
}

std::uint64_t number_at(const SafetensorsFile& file, const std::string& key) {
  const std::string& text = text_at(file, key);
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size()) {
    bad_value(file, key, "a whole number below 2^64");
  }
  return out;
}

RecordingInfo info_of(const SafetensorsFile& file) {
  RecordingInfo out;
  for (const TextKey& row : text_keys) {
    out.*row.text = text_at(file, row.key);
    if ((out.*row.text).empty()) bad_value(file, row.key, "some text, at least 'unknown'");
  }
  const bool is_hash = out.input_hash.size() == 16 &&
                       out.input_hash.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_hash) bad_value(file, "input_hash", "16 digits of 0-9 and a-f");
  out.rows = number_at(file, "rows");
  if (out.rows == 0) throw error_in(file.path(), "no rows", "there is nothing to compare");
  if (out.rows > most_recorded_rows) {
    bad_value(file, "rows", "at most " + std::to_string(most_recorded_rows));
  }
  if (out.generator != "unknown") {
    out.seed = number_at(file, "seed");
  } else if (text_at(file, "seed") != "unknown") {
    bad_value(file, "seed", "'unknown' where the generator is");
  }
  return out;
}

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string out;
  for (const std::uint64_t n : shape) out += (out.empty() ? "" : ", ") + std::to_string(n);
  return "(" + out + ")";
}

void read_column(const SafetensorsFile& file, const Column& column, std::uint64_t rows, Dots& out) {
  const auto& tensors = file.tensors();
  const auto found = std::ranges::find(tensors, column.name, &TensorInfo::name);
  const std::string what = "tensor '" + std::string(column.name) + "'";
  if (found == tensors.end()) {
    throw error_in(file.path(), "no " + what, std::string(record_again));
  }
  const Dtype wanted = dtype_of(column.format);
  const std::vector<std::uint64_t> shape = shape_of(column, rows);
  if (!(found->dtype == wanted) || found->shape != shape) {
    throw error_in(file.path(),
                   what + " is " + std::string(found->dtype.name) + " " + shape_text(found->shape),
                   "its metadata promise " + std::string(wanted.name) + " " + shape_text(shape) +
                       "; " + std::string(record_again));
  }
  out.*column.values = read_elements(file, static_cast<std::size_t>(found - tensors.begin()));
}

/// The generators' rows for these results.
Dots generated(const RecordingInfo& info, const Instruction& instruction,
               std::vector<std::uint64_t> d) {
  const RowPlan plan = parse_row_plan(info.generator);
  if (rows_of(plan) != d.size()) {
    throw Error("rows '" + printable(info.generator) + "' are " + std::to_string(rows_of(plan)) +
                ", results " + std::to_string(d.size()));
  }
  Dots out = make_rows(plan, instruction, info.seed);
  out.d = std::move(d);
  fill_chains(plan, out);
  return out;
}

void check_names(const SafetensorsFile& file) {
  for (const TensorInfo& tensor : file.tensors()) {
    const bool known = tensor.name.size() == 1 && tensor.name[0] >= 'a' && tensor.name[0] <= 'd';
    if (known) continue;
    throw error_in(file.path(), "a tensor '" + printable(tensor.name) + "'",
                   "a recording holds d, or a, b, c and d");
  }
}

}  // namespace

std::string input_hash(const Dots& dots, const DotTypes& types) {
  std::uint64_t hash = 0xCBF29CE484222325;
  const auto take = [&hash](const std::vector<std::uint64_t>& values, const Format& f) {
    for (const std::uint64_t x : values) {
      for (int i = 0; i < f.storage_bits(); i += 8) {
        hash = (hash ^ (x >> i & 0xFF)) * 0x100000001B3;
      }
    }
  };
  take(dots.a, types.a);
  take(dots.b, types.b);
  take(dots.c, types.c);
  std::string out;
  for (int i = 60; i >= 0; i -= 4) out += "0123456789abcdef"[hash >> i & 15];
  return out;
}

void write_recording(const std::string& path, const RecordingInfo& info,
                     const Instruction& instruction, const Dots& dots) {
  const std::uint64_t rows = dots.d.size();
  const auto k = static_cast<std::uint64_t>(instruction.k);
  if (rows == 0 || rows > most_recorded_rows || dots.a.size() != rows * k ||
      dots.b.size() != rows * k || dots.c.size() != rows) {
    throw error_in(path, std::to_string(rows) + " rows that do not fit their inputs",
                   "record 1 to " + std::to_string(most_recorded_rows) + " rows");
  }
  const std::string hash = input_hash(dots, instruction.types);
  bool with_inputs = true;
  if (info.generator != "unknown") {
    with_inputs = input_hash(generated(info, instruction, dots.d), instruction.types) != hash;
  }
  std::map<std::string, std::string> metadata;
  for (const TextKey& row : text_keys) metadata[row.key] = info.*row.text;
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
    specs.push_back({column.name, dtype_of(column.format), shape_of(column, rows)});
  }
  SafetensorsWriter writer(path, specs, metadata);
  for (const Column& column : columns) writer.write(bytes_of(dots.*column.values, column.format));
  writer.finish();
}

RecordingInfo read_recording_info(const std::string& path) {
  return info_of(*open_safetensors(path));
}

Dots read_recording(const std::string& path, const Instruction& instruction) {
  const auto file = open_safetensors(path);
  const RecordingInfo info = info_of(*file);
  check_names(*file);
  const std::array<Column, 4> columns = columns_of(instruction);
  const bool with_inputs = file->tensors().size() > 1;
  Dots out;
  read_column(*file, columns[3], info.rows, out);
  if (with_inputs) {
    for (std::size_t i = 0; i < 3; ++i) read_column(*file, columns[i], info.rows, out);
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
  const std::string hash = input_hash(out, instruction.types);
  if (hash != info.input_hash) {
    throw error_in(
        path, "inputs of hash " + hash + ", recorded with " + info.input_hash,
        with_inputs ? "the file is damaged; " + std::string(record_again)
                    : "the generator gives other rows than it did; " + std::string(record_again));
  }
  return out;
}

}  // namespace binade

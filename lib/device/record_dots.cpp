// SPDX-License-Identifier: Apache-2.0
//
// Recording Tensor Core instructions, with the table of how many rows of each generator are
// recorded.
#include "lib/device/record_dots.h"

#include <array>
#include <filesystem>

#include "lib/instruction/instruction_name.h"

namespace binade {
namespace {

/// How much the rows of an instruction can say about its model.
enum class Interest : std::uint8_t {
  own_model,     ///< its rows decide which model it has
  shared_model,  ///< wmma and sparse instructions, which have the model of others
  settled,  ///< f64 and integers: IEEE 754's or plain arithmetic; wgmma without c or with minus
};

struct RecordedRows {
  std::string_view generator;
  std::array<std::uint64_t, 3> rows;  ///< for each Interest; 0 stands for all rows of the generator
};

constexpr RecordedRows plan_table[]{
    {"normal", {1000, 500, 500}},
    {"random_bits", {5000, 2000, 2000}},
    {"bounded_exponents", {4000, 1000, 1000}},
    {"tiny", {10000, 2000, 1000}},  // a whole ladder has at most 131 rungs of 64
    {"zeros", {2000, 1000, 500}},
    {"zero_products", {1000, 500, 250}},
    {"specials", {4000, 1000, 1000}},
    {"carry", {500, 500, 100}},
    {"k_order", {0, 0, 0}},
    {"tf32_low_bits", {5000, 1000, 1000}},
    {"chains", {3840, 768, 768}},  // twelve kinds of chains, 64 rows of each
    {"integers", {2000, 2000, 2000}},
    {"block_scales", {9000, 1800, 1800}},  // ten kinds of rows
};

Interest interest_in(const Instruction& x) {
  const bool form = x.model.scales != WgmmaScales{};
  if (x.types.d == binary64 || is_integer(x.types.d) || form) return Interest::settled;
  const bool own = x.family == Family::mma || x.family == Family::wgmma;
  return own ? Interest::own_model : Interest::shared_model;
}

/// Returns the metadata of the recording of rows of this plan, or of rows that `source` gave.
RecordingInfo recording_info(const DeviceInfo& device, const Instruction& x, const RowPlan& plan,
                             const RecordWhat& what) {
  RecordingInfo info = origin_of(device, what.date);
  info.instruction = instruction_name(x);
  info.ptx = ptx_of(x);
  info.architecture = "sm_" + std::to_string(x.sm);
  if (!plan.empty()) {
    info.generator = row_plan_text(plan);
    info.seed = what.seed;
    info.rows = planned_rows(plan);
  }
  return info;
}

/// Returns whether the recording of an instruction is there (is_recorded).
bool is_kept(const std::string& path, const DeviceInfo& device, const Instruction& x,
             const RecordWhat& what, const RowSource& source) {
  if (!what.resume || !std::filesystem::exists(path)) return false;
  const RowsToRecord rows = source ? source(x) : RowsToRecord{recorded_rows(x), {}};
  RecordingInfo wanted = recording_info(device, x, rows.plan, what);
  if (rows.plan.empty()) {
    if (rows.dots.c.empty()) return false;  // nothing is recorded of it
    wanted.rows = rows.dots.c.size();
    wanted.input_hash = input_hash(rows.dots, x);
  }
  return is_recorded(path, wanted, x, what.damaged);
}

std::string cuda_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

std::vector<Instruction> instruction_forms(int sm) {
  std::vector<Instruction> out;
  for (const Instruction& x : instructions_of(sm)) {
    out.push_back(x);
    Instruction form = x;
    if (x.types.d == binary64) {
      for (const Rounding rounding :
           {Rounding::toward_zero, Rounding::toward_negative, Rounding::toward_positive}) {
        form.model.rounding = rounding;
        out.push_back(form);
      }
    } else if (x.family == Family::wgmma && !is_integer(x.types.a)) {
      for (const WgmmaScales scales :
           {WgmmaScales{.without_c = true}, {.minus_a = true}, {.minus_b = true}}) {
        form.model.scales = scales;
        out.push_back(form);
      }
    } else if (x.types.a == b1) {
      form.model.integer.exclusive_or = true;
      out.push_back(form);
    } else if (is_integer(x.types.a)) {
      form.model.integer.satfinite = true;
      out.push_back(form);
    }
  }
  return out;
}

RowPlan recorded_rows(const Instruction& x) {
  RowPlan out;
  for (const RecordedRows& row : plan_table) {
    const DotGenerator& generator = parse_dot_generator(row.generator);
    if (!generator.suits(x)) continue;
    const std::uint64_t rows = row.rows[static_cast<std::size_t>(interest_in(x))];
    out.push_back({&generator, rows == 0 ? full_rows(generator, x) : rows});
  }
  return out;
}

RecordingInfo origin_of(const DeviceInfo& device, const std::string& date) {
  RecordingInfo out;
  out.gpu = device.name;
  if (!device.driver.empty()) out.driver = device.driver;
  if (device.runtime_cuda != 0) out.cuda = cuda_text(device.runtime_cuda);
  if (!date.empty()) out.date = date;
  return out;
}

void record_dots(Device& device, const RecordWhat& what, const RecordSink& sink,
                 const RowSource& source) {
  const int sm = parse_architecture(std::to_string(device.info().compute_capability));
  struct Task {
    Instruction instruction;
    std::string name, path;
    bool kept = false;
  };
  std::vector<Task> tasks;
  for (const Instruction& x : instruction_forms(sm)) {
    Task task{x, instruction_name(x), {}};
    if (task.name.find(what.words) == std::string::npos) continue;
    task.path = what.folder + "/" + task.name + ".safetensors";
    task.kept = is_kept(task.path, device.info(), x, what, source);
    tasks.push_back(std::move(task));
  }
  for (const auto& [x, name, path, kept] : tasks) {
    RecordedFile file{.instruction = name, .path = {}, .skipped = {}, .note = {}, .kept = kept};
    if (kept) {
      sink(file);
      continue;
    }
    const RowPlan of_plan = source ? RowPlan{} : recorded_rows(x);
    RowsToRecord rows =
        source ? source(x) : RowsToRecord{of_plan, make_rows(of_plan, x, what.seed)};
    const RowPlan& plan = rows.plan;
    Dots& dots = rows.dots;
    file.note = rows.note;
    if (dots.c.empty()) continue;
    const CannotRun why = plan.empty() ? device.run_dots(x, dots) : run_rows(device, plan, x, dots);
    if (why) {
      file.skipped = *why;
    } else {
      file.rows = dots.d.size();
      file.path = path;
      write_recording(file.path, recording_info(device.info(), x, plan, what), x, dots);
    }
    sink(file);
  }
}

}  // namespace binade

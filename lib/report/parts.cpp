// SPDX-License-Identifier: Apache-2.0
//
// Which part a tensor belongs to depends only on the directory of the inputs, so all processes and
// the one that merges agree.
#include "lib/report/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "lib/range/summary_bytes.h"
#include "lib/report/counts_tensor_file.h"
#include "lib/report/part_bytes.h"
#include "lib/report/tensor_counting.h"
#include "lib/text/error.h"
#include "lib/version.h"

namespace binade {
namespace {

constexpr std::size_t most_named = 8;  ///< more missing parts are only counted

/// Returns the index of a tensor in the plan.
std::size_t place_of(const TensorPlace& tensor, const ReportPlan& plan,
                     const std::map<const TensorFile*, std::size_t>& first_of_file) {
  const auto begin =
      plan.tensors.begin() + static_cast<std::ptrdiff_t>(first_of_file.at(tensor.file));
  const auto at = std::lower_bound(begin, plan.tensors.end(), tensor,
                                   [&](const NamedTensor& a, const TensorPlace& b) {
                                     return a.place.file == b.file && a.place.index < b.index;
                                   });
  return static_cast<std::size_t>(at - plan.tensors.begin());
}

void refuse_counted_runs(const TensorFiles& files) {
  for (const auto& file : files) {
    if (run_in(*file) == nullptr) continue;
    throw error_in(file->path(), "a counted run has nothing left to count in parts",
                   "report on it without --part");
  }
}

std::vector<std::size_t> counted(const std::vector<std::uint32_t>& shares, std::size_t parts) {
  std::vector<std::size_t> out(parts);
  for (const std::uint32_t part : shares) ++out[part];
  return out;
}

}  // namespace

Shares shares_of(const ReportPlan& plan, std::uint64_t parts) {
  std::map<const TensorFile*, std::size_t> first_of_file;
  std::vector<std::uint64_t> bytes;
  for (const NamedTensor& tensor : plan.tensors) {
    first_of_file.emplace(tensor.place.file, bytes.size());
    bytes.push_back(tensor.place.info().bytes);
  }
  // Both tensors of a pair are read twice. All of that is counted where the first of them is.
  std::map<std::size_t, std::size_t> first_of_pair;  // by the index of the second
  std::vector<std::size_t> pairs;
  for (const UpdatePair& pair : plan.updates.pairs) {
    const auto [first, second] = std::minmax(
        {place_of(pair.weight, plan, first_of_file), place_of(pair.update, plan, first_of_file)});
    bytes[first] = 2 * (bytes[first] + bytes[second]);
    bytes[second] = 0;
    first_of_pair[second] = first;
    pairs.push_back(first);
  }
  uint128 total = 0;
  for (const std::uint64_t n : bytes) total += n;
  Shares out;
  uint128 before = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    // A tensor belongs to the part in which the middle of its bytes is; a tensor without bytes, to
    // the part where it stands.
    const uint128 middle = 2 * before + bytes[i];
    const uint128 part = total == 0 ? 0 : middle * parts / (2 * total);
    before += bytes[i];
    const auto pair = first_of_pair.find(i);
    out.tensors.push_back(pair != first_of_pair.end()
                              ? out.tensors[pair->second]
                              : static_cast<std::uint32_t>(std::min<uint128>(part, parts - 1)));
  }
  for (const std::size_t first : pairs) out.pairs.push_back(out.tensors[first]);
  return out;
}

void write_part(const std::vector<std::string>& files, const ReportOptions& options,
                const PartOf& part, const std::string& path, const Progress& progress,
                Device* device) {
  const ReportInputs inputs = open_inputs(files, options);
  const TensorFiles& open = inputs.files;
  refuse_counted_runs(open);
  const ReportPlan plan = plan_report(open, options);
  refuse_without_tensors(plan, open, files);
  const Shares shares = shares_of(plan, part.parts);
  const auto mine = static_cast<std::uint32_t>(part.part - 1);
  TensorCounting counting(error_columns(options), device, progress);
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    if (shares.tensors[i] == mine) counting.expect(plan.tensors[i].place);
  }
  const std::vector<UpdatePair>& pairs = plan.updates.pairs;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (shares.pairs[i] == mine) counting.expect(pairs[i]);
  }
  CountsWriter to(part_kind, path);
  to.text(version);
  to.text(options_bytes(options));
  to.text(inputs_bytes(open));
  to.number(part.part);
  to.number(part.parts);
  to.number(counted(shares.tensors, part.parts)[mine]);
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    if (shares.tensors[i] != mine) continue;
    const std::vector<std::byte> bytes = bytes_of(counting.summary_of(plan.tensors[i].place));
    to.number(i);
    to.text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  to.number(counted(shares.pairs, part.parts)[mine]);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (shares.pairs[i] != mine) continue;
    to.number(i);
    to.text(update_bytes(counting.counts_of(pairs[i])));
  }
  to.commit();
}

MergedParts::MergedParts(const std::vector<std::string>& paths, bool partial) {
  const std::string advice = "merge parts of one report, made by one version of binade";
  struct Head {
    std::string version, options, inputs;
    std::uint64_t parts = 0;
  } first;
  for (const std::string& path : paths) {
    auto part = std::make_unique<CountsReader>(part_kind, std::make_shared<const InputFile>(path));
    Head head{part->text(), part->text(), part->text(), 0};
    const std::uint64_t number = part->number();
    head.parts = part->number();
    if (head.parts == 0 || head.parts > most_parts || number == 0 || number > head.parts) {
      part->refuse("damaged: there is no such part");
    }
    if (head.version != version) {
      throw file_error(
          part->path(),
          fmt::format("made by binade {}, and this is {}", printable(head.version, 40), version),
          advice);
    }
    if (parts_.empty()) {
      first = std::move(head);
      options_ = options_from(part->reader_of(first.options));
      files_ = inputs_from(part->reader_of(first.inputs));
      parts_.resize(first.parts);
    } else {
      const std::string other = printable(paths.front(), longest_path);
      const char* what = head.options != first.options ? "other options"
                         : head.inputs != first.inputs
                             ? "other inputs, or of inputs that were written to meanwhile,"
                         : head.parts != first.parts ? "another number of parts"
                                                     : nullptr;
      if (what != nullptr) {
        throw file_error(part->path(), fmt::format("of {} than {}", what, other), advice);
      }
    }
    std::unique_ptr<CountsReader>& place = parts_[number - 1];
    if (place) {
      throw file_error(part->path(),
                       fmt::format("part {} of {}, as {} is", number, first.parts,
                                   printable(place->path(), longest_path)),
                       "give each part once");
    }
    place = std::move(part);
  }
  std::uint64_t values = 0;
  for (const auto& file : files_) {
    for (const TensorInfo& info : file->tensors()) {
      if (!__builtin_add_overflow(values, info.elements, &values)) continue;
      refuse_counts(part_kind, paths.front(), "damaged: its inputs have 2^64 values or more");
    }
  }
  if (!partial) refuse_missing();
}

std::string MergedParts::missing_words() const {
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (!parts_[i]) missing.push_back(i + 1);
  }
  if (missing.empty()) return "";
  const std::size_t more = missing.size() - std::min(missing.size(), most_named);
  const std::string verb = missing.size() == 1 ? "is" : "are";
  missing.resize(missing.size() - more);
  return fmt::format("{} of {} parts {} missing: {}{}", missing.size() + more, parts_.size(), verb,
                     fmt::join(missing, ", "),
                     more == 0 ? std::string() : fmt::format(" and {} more", more));
}

void MergedParts::refuse_missing() const {
  const std::string words = missing_words();
  if (!words.empty()) throw Error(words + "; name them too, or take what is there: --partial");
}

/// Returns the plan without the tensors and pairs of missing parts. Updates without a partner are
/// those of the whole plan, since all names are known.
ReportPlan MergedParts::plan_of_those_here(const ReportPlan& plan, const Shares& shares) const {
  ReportPlan out;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    if (parts_[shares.tensors[i]]) out.tensors.push_back(plan.tensors[i]);
  }
  for (std::size_t i = 0; i < plan.updates.pairs.size(); ++i) {
    if (parts_[shares.pairs[i]]) out.updates.pairs.push_back(plan.updates.pairs[i]);
  }
  out.updates.unpaired = plan.updates.unpaired;
  return out;
}

RangeSummary MergedParts::next_summary(CountsReader& part, std::size_t number,
                                       const TensorInfo& info,
                                       const std::vector<ErrorColumn>& columns) const {
  if (part.number() != number) part.refuse("damaged: it holds other tensors than its own");
  const std::string bytes = part.text();
  RangeSummary out;
  try {
    out = summary_from_bytes(std::as_bytes(std::span(bytes)));
  } catch (const Error&) {
    part.refuse("damaged: it holds no valid summary of " + printable(info.name));
  }
  if (out.columns != columns || out.values != info.elements) {
    part.refuse("damaged: it holds a summary of something else than " + printable(info.name));
  }
  return out;
}

Report MergedParts::report(const TensorSink& on_tensor, const Progress& progress) {
  const ReportPlan plan = plan_report(files_, options_);
  const Shares shares = shares_of(plan, parts_.size());
  const auto take_count = [this](const std::vector<std::uint32_t>& of) {
    const std::vector<std::size_t> want = counted(of, parts_.size());
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i] && parts_[i]->number() != want[i]) {
        parts_[i]->refuse("damaged: it announces more or fewer than its share");
      }
    }
  };
  ReportPlan here = plan_of_those_here(plan, shares);
  std::vector<std::string> names;
  for (const auto& file : files_) names.push_back(file->path());
  refuse_without_tensors(here, files_, names);
  ReportBuilder builder(files_, std::move(here), options_, on_tensor);
  std::uint64_t bytes = 0, all_bytes = 0;
  for (const auto& part : parts_) all_bytes += part ? part->size() : 0;
  take_count(shares.tensors);
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const std::unique_ptr<CountsReader>& part = parts_[shares.tensors[i]];
    if (!part) continue;
    const std::uint64_t before = part->bytes_read();
    builder.add(next_summary(*part, i, plan.tensors[i].place.info(), builder.columns()));
    bytes += part->bytes_read() - before;
    if (progress) progress(bytes, all_bytes);
  }
  take_count(shares.pairs);
  std::size_t next = 0;
  Report out = builder.finish([&](const UpdatePair& pair) {
    while (!parts_[shares.pairs[next]]) ++next;
    CountsReader& part = *parts_[shares.pairs[next]];
    if (part.number() != next++) part.refuse("damaged: it holds other updates than its own");
    const std::string text = part.text();
    UpdateCounts counts = update_from(part.reader_of(text));
    if (counts.values != pair.weight.info().elements) {
      part.refuse("damaged: it has counts of other updates than its own");
    }
    return counts;
  });
  for (const auto& part : parts_) {
    if (part) part->finish();
  }
  out.missing_parts = missing_words();
  return out;
}

}  // namespace binade

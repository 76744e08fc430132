// SPDX-License-Identifier: Apache-2.0
//
// `binade quantize`: rounds every floating-point tensor of a file to a format and counts what
// happened to its values.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/block/block_decode.h"
#include "lib/cli/attribute_options.h"
#include "lib/cli/block_options.h"
#include "lib/cli/command.h"
#include "lib/cli/device_option.h"
#include "lib/cli/progress.h"
#include "lib/cli/suggestions.h"
#include "lib/format/format_spec.h"
#include "lib/io/chosen_tensors.h"
#include "lib/io/file_format.h"
#include "lib/io/npy_writer.h"
#include "lib/io/output_paths.h"
#include "lib/io/safetensors.h"
#include "lib/io/safetensors_writer.h"
#include "lib/io/tensor_file.h"
#include "lib/range/event_columns.h"
#include "lib/range/quantize_stream.h"
#include "lib/text/error.h"
#include "lib/text/idle_option.h"
#include "lib/text/json_text.h"
#include "lib/text/shape.h"

namespace binade {
namespace {

struct QuantizeArguments {
  std::string in, out, format, dtype;
  AttributeOptions attributes;
  std::uint64_t seed = 0;
  bool encode = false, decode = false, json = false;
  NameGlobs globs;
  BlockOptions block;
  DeviceOption device;
};

Quantizer quantizer_from(const QuantizeArguments& a) {
  const NamedOrCustom format = parse_format(a.format);
  const Quantizer out{
      .format = format.format, .attributes = attributes_of(a.attributes), .seed = a.seed};
  check_effects(out.attributes, std::span(&format, 1));
  check_seed(out.attributes, out.seed);
  return out;
}

/// Throws Error if the options ask for what a device does not do: encodings, or a format that
/// binary32 does not hold.
void check_quantize_for_device(const QuantizeArguments& a, const Quantizer& to) {
  if (a.encode) {
    throw Error(
        "--encode: a device makes no encodings; leave out --encode, or --device and --emulated");
  }
  if (!fits_in(to.format, binary32)) {
    throw Error("--format " + printable(a.format) +
                ": a device quantizes in binary32, which does not hold it; leave --device and "
                "--emulated out");
  }
}

/// Where rounded tensors go, one after the other.
struct RoundedOutput {
  std::function<void(std::span<const std::byte>)> write;
  std::function<void()> finish;  ///< gives the file its name
};

RoundedOutput npy_output(const std::string& path, const TensorFile& file,
                         const ChosenTensors& chosen, const Dtype& dtype) {
  if (chosen.indices.size() > 1) {
    throw error_in(path, fmt::format("a .npy holds one array, not {}", chosen.indices.size()),
                   "name it .safetensors");
  }
  const TensorInfo& only = file.tensors()[chosen.indices[0]];
  const auto to = std::make_shared<NpyWriter>(path, dtype, only.shape, only.fortran_order);
  return {[to](std::span<const std::byte> bytes) { to->write(bytes); }, [to] { to->finish(); }};
}

RoundedOutput safetensors_output(const std::string& path, const TensorFile& file,
                                 const ChosenTensors& chosen, const Dtype& dtype,
                                 const std::map<std::string, std::string>& told) {
  std::vector<TensorSpec> specs;
  for (const std::size_t i : chosen.indices) {
    const TensorInfo& info = file.tensors()[i];
    if (info.fortran_order && info.shape.size() > 1) {
      throw error_in(file.path(),
                     fmt::format("{} is in Fortran order, which .safetensors does not have",
                                 printable(info.name)),
                     "write .npy");
    }
    specs.push_back({info.name, dtype, info.shape});
  }
  std::map<std::string, std::string> metadata = told;
  if (const auto* from = dynamic_cast<const SafetensorsFile*>(&file)) {
    metadata.insert(from->metadata().begin(), from->metadata().end());
  }
  const auto to = std::make_shared<SafetensorsWriter>(path, specs, metadata);
  return {[to](std::span<const std::byte> bytes) { to->write(bytes); }, [to] { to->finish(); }};
}

RoundedOutput output_of(const QuantizeArguments& a, const Quantizer& to, const TensorFile& file,
                        const ChosenTensors& chosen) {
  const Dtype dtype = a.encode ? encoded_dtype(to.format) : value_dtype(to.format);
  if (a.out.ends_with(".npy")) return npy_output(a.out, file, chosen, dtype);
  return safetensors_output(
      a.out, file, chosen, dtype,
      {{"binade.format", a.format},
       {"binade.rounding", std::string(rounding_name(to.attributes.rounding))}});
}

/// Which elements draw which random words: by their index in C order, whatever the order of
/// storage.
ElementIndex index_of(const TensorInfo& info, const Quantizer& to) {
  const bool in_turn = info.fortran_order && to.attributes.rounding == Rounding::stochastic;
  return in_turn ? fortran_index(info.shape) : ElementIndex();
}

/// Whether a device, which takes binary32 and draws in the order of storage, rounds this tensor.
bool is_for_device(const TensorInfo& info, const Quantizer& to) {
  return info.dtype.name == "F32" && index_of(info, to) == nullptr;
}

QuantizeFloats floats_of(Device& device) {
  return [&device](auto in, auto out, std::uint64_t at, const Quantizer& by, EventCounts& counts) {
    expect_done(device, device.quantize(in, out, at, by, counts));
  };
}

/// The line about the tensors that the device rounds; empty without a device. Throws Error if it
/// rounds none.
std::string told_of_device(const OpenedDevice& opened, const TensorFile& file,
                           const ChosenTensors& chosen, const Quantizer& to) {
  if (!opened.device) return "";
  const auto taken = std::ranges::count_if(
      chosen.indices, [&](std::size_t i) { return is_for_device(file.tensors()[i], to); });
  const bool some_turned = std::ranges::any_of(
      file.tensors(), [&](const TensorInfo& info) { return index_of(info, to) != nullptr; });
  return tensors_on_device("quantized", *opened.device, static_cast<std::size_t>(taken),
                           chosen.indices.size(), some_turned ? "F32 in C order" : "F32");
}

/// Rounds all chosen tensors into `output`, and returns their counts.
std::vector<EventCounts> quantize_tensors(const QuantizeArguments& a, const Quantizer& to,
                                          const TensorFile& file, const ChosenTensors& chosen,
                                          const OpenedDevice& opened, const RoundedOutput& output) {
  std::vector<EventCounts> out;
  std::uint64_t done = 0;
  ProgressLine line;
  for (std::size_t n = 0; n < chosen.indices.size(); ++n) {
    const std::size_t i = chosen.indices[n];
    const TensorInfo& info = file.tensors()[i];
    Quantizer mine = to;
    mine.stream = n;
    const bool on_device = opened.device && is_for_device(info, to);
    QuantizeStream stream(mine, info.dtype, a.encode,
                          on_device ? floats_of(*opened.device) : QuantizeFloats{},
                          index_of(info, to));
    file.read(i, [&](std::span<const std::byte> chunk) {
      stream.add(chunk, output.write);
      done += chunk.size();
      line.update(done, chosen.bytes);
    });
    out.push_back(stream.counts());
  }
  return out;
}

std::string table_of_counts(const TensorFile& file, const ChosenTensors& chosen,
                            const std::vector<EventCounts>& counts) {
  std::string text = counts_head("tensor");
  EventCounts all;
  for (std::size_t n = 0; n < counts.size(); ++n) {
    text += counts_line(file.tensors()[chosen.indices[n]].name, counts[n]);
    all += counts[n];
  }
  return counts.size() > 1 ? text + counts_line("total", all) : text;
}

/// The document binade.quantize/1 of tensors, each with its counts; `rule` is null without blocks.
nlohmann::ordered_json quantize_json(const std::string& format, const NamedScaleRule* rule,
                                     const TensorFile& file, const ChosenTensors& chosen,
                                     const std::vector<BlockCounts>& counts,
                                     const std::string& on_device) {
  using Json = nlohmann::ordered_json;
  Json tensors = Json::array();
  for (std::size_t n = 0; n < counts.size(); ++n) {
    const TensorInfo& info = file.tensors()[chosen.indices[n]];
    tensors.push_back({{"name", info.name},
                       {"shape", info.shape},
                       {"elements", counts_json(counts[n].elements)},
                       {"scales", rule == nullptr ? Json() : scale_counts_json(counts[n])}});
  }
  return {{"schema", "binade.quantize/1"},
          {"format", format},
          {"scale_rule", rule == nullptr ? Json() : Json(rule->name)},
          {"tensors", tensors},
          {"skipped", chosen.left_out},
          {"device", on_device.empty() ? Json() : Json(on_device.substr(0, on_device.find('\n')))}};
}

void check_output_name(const std::string& out) {
  if (!out.ends_with(".npy") && !out.ends_with(".safetensors")) {
    throw error_in(out, "cannot tell what to write", "name it .npy or .safetensors");
  }
}

/// Throws Error if the options do not go together.
void check_options(const QuantizeArguments& a, const Quantizer& to) {
  if (!a.encode && !fits_in(to.format, binary64)) {
    throw Error("--format " + printable(a.format) +
                ": no dtype holds all its values, which go beyond binary64's; write encodings, by "
                "--encode");
  }
  if (a.device.asked()) check_quantize_for_device(a, to);
  check_output_name(a.out);
}

std::unique_ptr<TensorFile> open_input(const QuantizeArguments& a) {
  prepare_outputs(std::array{InputPath{"IN", a.in}}, std::array{OutputPath{"OUT", a.out}});
  return open_tensor_file(a.in, {a.dtype.empty() ? std::optional<Dtype>{} : parse_dtype(a.dtype)});
}

std::string told_of_left_out(const ChosenTensors& chosen) {
  std::string text;
  for (const std::string& tensor : chosen.left_out) text += "skipped " + tensor + ", not written\n";
  return text;
}

/// "1 tensor", "2 tensors".
std::string tensors_text(std::size_t n) { return fmt::format("{} tensor{}", n, n == 1 ? "" : "s"); }

/// Codes and scales back to values.
int run_decode(App app, const QuantizeArguments& a) {
  for (const char* name : {"--rounding", "--saturation", "--nan", "--ftz", "--daz", "--seed",
                           "--random-bits", "--encode", "--dtype", "--ragged", "--layout",
                           "--include", "--exclude", "--stack", "--device", "--emulated"}) {
    refuse_idle(std::array{IdleOption{name, app.count(name) > 0, "with --decode"}});
  }
  DecodeRule rule;
  if (!a.format.empty()) rule.format = parse_block_format(a.format);
  if (app.count("--axis") > 0) rule.axis = a.block.axis;
  if (app.count("--scale-rule") > 0) rule.scale_rule = a.block.scale_rule;
  if (!a.block.scale_layout.empty()) rule.scale_layout = &parse_scale_layout(a.block.scale_layout);
  if (!a.out.ends_with(".safetensors")) {
    throw error_in(a.out, "values beside tensors that are copied", "name it .safetensors");
  }
  const auto file = open_input(a);
  const DecodedFile told = decode_block_file(rule, *file, a.out);
  if (a.json) {
    nlohmann::ordered_json tensors = nlohmann::ordered_json::array();
    for (const DecodedTensor& x : told.tensors) {
      tensors.push_back({{"name", x.name}, {"format", x.format}, {"shape", x.shape}});
    }
    fmt::print("{}\n", json_text({{"schema", "binade.decode/1"},
                                  {"tensors", tensors},
                                  {"copied", told.copied},
                                  {"skipped", told.left_out}},
                                 2));
    return 0;
  }
  for (const DecodedTensor& x : told.tensors) {
    fmt::print("{}: {} to F32 {}\n", printable(x.name, 60), x.format, shape_text(x.shape));
  }
  for (const std::string& tensor : told.left_out) fmt::print("skipped {}, not written\n", tensor);
  fmt::print("copied {}, as they are\n", tensors_text(told.copied));
  return 0;
}

int run_quantize_blocks(const QuantizeArguments& a) {
  refuse_idle(std::array{
      IdleOption{"--include", !a.globs.include.empty() && !a.encode, "without --encode"},
      IdleOption{"--exclude", !a.globs.exclude.empty() && !a.encode, "without --encode"}});
  if (a.device.asked()) {
    throw Error("--format " + printable(a.format) +
                ": a device quantizes to no block format; leave --device and --emulated out");
  }
  const BlockFileRule rule = block_rule_of(a.format, a.block, a.attributes, a.seed, a.encode);
  check_output_name(a.out);
  if (a.encode && a.out.ends_with(".npy")) {
    throw error_in(a.out, "codes and scales are several arrays, and a .npy holds one",
                   "name it .safetensors");
  }
  const auto file = open_input(a);
  ChosenTensors chosen = choose_tensors(*file);
  CopiedTensors copied;
  if (!a.globs.empty()) {
    copied = tensors_to_copy(*file, keep_chosen(chosen, *file, a.globs));
    chosen.left_out = copied.left_out;
  }
  const auto may_be_stack = [&](std::size_t i) { return file->tensors()[i].shape.size() > 2; };
  if (rule.stack && std::ranges::none_of(chosen.indices, may_be_stack)) {
    throw error_in(file->path(), "no tensor of 3 axes or more, as --stack takes apart",
                   "leave it out");
  }
  ProgressLine line;
  const std::uint64_t bytes = chosen.bytes * static_cast<std::uint64_t>(readings(rule));
  const std::vector<BlockCounts> counts = quantize_block_file(
      rule, *file, chosen, a.out, [&](std::uint64_t done) { line.update(done, bytes); }, copied);
  if (a.json) {
    fmt::print("{}\n",
               json_text(quantize_json(rule.format.name, rule.rule, *file, chosen, counts, ""), 2));
  } else {
    fmt::print("{}{}", block_counts_text(rule, *file, chosen, counts), told_of_left_out(chosen));
    if (!a.globs.empty())
      fmt::print("copied {}, as they are\n", tensors_text(copied.indices.size()));
  }
  return 0;
}

int run_quantize(App app, const QuantizeArguments& a) {
  if (a.decode) return run_decode(app, a);
  if (a.format.empty()) throw Error("--format: say to which format; `binade formats` lists them");
  if (names_block_format(a.format)) return run_quantize_blocks(a);
  check_no_block_options(app);
  const Quantizer to = quantizer_from(a);
  check_options(a, to);
  const OpenedDevice opened = a.device.asked() ? open_chosen_device(a.device) : OpenedDevice{};
  if (a.device.asked() && !opened.device) {
    return no_hardware("binade.quantize/1", opened.why_none, a.json);
  }
  const auto file = open_input(a);
  const ChosenTensors chosen = choose_tensors(*file);
  const std::string on_device = told_of_device(opened, *file, chosen, to);
  const RoundedOutput output = output_of(a, to, *file, chosen);
  const std::vector<EventCounts> counts = quantize_tensors(a, to, *file, chosen, opened, output);
  output.finish();
  if (a.json) {
    std::vector<BlockCounts> without_blocks;
    for (const EventCounts& one : counts) without_blocks.push_back({.elements = one, .scales = {}});
    fmt::print("{}\n", json_text(quantize_json(spec_of(to.format), nullptr, *file, chosen,
                                               without_blocks, on_device),
                                 2));
  } else {
    fmt::print("{}{}{}", table_of_counts(*file, chosen, counts), told_of_left_out(chosen),
               on_device);
  }
  return 0;
}

void define_quantize(App app, int& status) {
  const auto a = std::make_shared<QuantizeArguments>();
  app.add_option("IN", a->in,
                 fmt::format("file of the tensors: {}, as `binade report` reads, or - for standard "
                             "input",
                             single_file_formats()))
      .suggest_files()
      .required();
  app.add_option("OUT", a->out,
                 "file of the rounded tensors: .safetensors, or .npy for a single array")
      .suggest_files()
      .required();
  app.add_option(
         "--format", a->format,
         "format to which values are rounded: a name from `binade formats`, or your own, "
         "such as e5m7 or e2m1:block=1x32:scale=e8m0 (with --decode: from which; default: what "
         "the file's metadata say)")
      .suggest(all_format_words);
  add_rounding(app, a->attributes);
  add_saturation(app, a->attributes);
  add_nan(app, a->attributes);
  add_flush_results(app, a->attributes);
  add_flush_operands(app, a->attributes);
  app.add_option("--seed", a->seed,
                 "seed of stochastic rounding, from 0 to 2^64 - 1; the n-th tensor of the file, "
                 "from 0, draws from stream n of the random numbers")
      .capture_default_str();
  add_random_bits(app, a->attributes);
  app.add_flag(
      "--encode", a->encode,
      "write encodings, in the dtype of the format (F16, BF16, F8_…) or in U8, U16, U32 or U64 if "
      "it has none (default: values in F32, or in F64 if F32 does not hold them). Of a block "
      "format: codes, two of 4 bits to a byte, the first in its low half, and scales");
  app.add_flag("--decode", a->decode,
               "the other way: write the values of codes and scales, in F32, and all other tensors "
               "as they are; IN is a file that --encode or a stack wrote");
  app.add_option("--dtype", a->dtype,
                 "dtype of the elements of a .npy file that holds raw bytes (V1, V2), such as "
                 "bfloat16 or float8_e4m3fn")
      .suggest(dtype_words);
  add_block_options(app, a->block);
  const auto globs = [&](const char* name, std::vector<std::string>& list, const char* help) {
    app.add_option(name, list, help)
        .expected(1)
        .take_all()
        .allow_extra_args(false)
        .group("Block formats");
  };
  globs("--include", a->globs.include,
        "with --encode, quantize only tensors whose names a glob takes, such as 'model.layers.*'; "
        "may be repeated. All others are copied as they are");
  globs("--exclude", a->globs.exclude,
        "with --encode, leave out tensors whose names a glob takes, such as '*norm*'; may be "
        "repeated. They are copied as they are");
  add_on_device_options(app, a->device,
                        "tensors of F32 are rounded there, others on this machine, as are, with "
                        "--rounding stochastic, those in Fortran order; the format must be one "
                        "that F32 holds, and --encode does not apply");
  app.add_flag("--json", a->json, "print the counts as JSON instead of text");
  app.footer(
      "\nTensors of integers and of complex numbers are named and not written. For a "
      "block format\nnumbers are rounded to binary32 first, and values to F32 at the end.\n"
      "Exit status: 0 the file was written, 2 an argument or a file cannot be used, 77 there is no "
      "GPU (--device).\n\n"
      "Examples:\n"
      "  binade quantize weights.safetensors weights_e4m3.safetensors --format e4m3 --saturation "
      "finite\n"
      "  binade quantize a.npy a_bits.npy --format bfloat16 --encode\n"
      "  binade quantize weights.safetensors out.safetensors --format nvfp4 --encode --layout "
      "modelopt");
  app.callback([app, a, &status] { status = run_quantize(app, *a); });
}

}  // namespace

const Command quantize_command{
    "quantize", "round every value of a file to a format and count what happened",
    "Rounds every floating-point value of a file to a format and writes the results to another "
    "file. Prints for each tensor how many values became zero, subnormal or infinite, were "
    "saturated or inexact.",
    &define_quantize, "[arithmetic](emulate/README.md#a-whole-file-onto-a-grid)"};

}  // namespace binade

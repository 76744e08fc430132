// SPDX-License-Identifier: Apache-2.0
//
// `binade quantize`: rounds every floating-point tensor of a file to a format and counts what happened to its values.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "lib/cli/attribute_options.h"
#include "lib/cli/command.h"
#include "lib/cli/device_option.h"
#include "lib/cli/progress.h"
#include "lib/cli/suggestions.h"
#include "lib/format/format_spec.h"
#include "lib/io/npy_writer.h"
#include "lib/io/output_paths.h"
#include "lib/io/safetensors.h"
#include "lib/io/safetensors_writer.h"
#include "lib/io/scaled_codes.h"
#include "lib/io/tensor_file.h"
#include "lib/range/event_columns.h"
#include "lib/range/quantize_stream.h"
#include "lib/text/error.h"

namespace binade {
namespace {

struct QuantizeArguments {
  std::string in, out, format, dtype;
  AttributeOptions attributes;
  std::uint64_t seed = 0;
  bool encode = false;
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

bool ends_with(const std::string& text, const char* end) {
  return text.size() >= std::strlen(end) && text.ends_with(end);
}

/// Throws Error if the options ask for what a device does not do: encodings, or a format that binary32 does not hold.
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

/// Throws Error if some tensors of the file are codes whose scales are other tensors: they are no values to round.
void refuse_scaled_codes(const TensorFile& file) {
  const std::vector<std::string> reasons = code_reasons(file.tensors());
  const auto at = std::ranges::find_if_not(reasons, &std::string::empty);
  if (at == reasons.end()) return;
  const TensorInfo& info = file.tensors()[static_cast<std::size_t>(at - reasons.begin())];
  throw error_in(file.path(),
                 fmt::format("{} ({}) is no tensor of values: {}", printable(info.name, 60),
                             info.dtype.name, *at),
                 "multiply codes by their scales first, and give the products");
}

int run_quantize(const QuantizeArguments& a) {
  const Quantizer to = quantizer_from(a);
  if (!a.encode && !fits_in(to.format, binary64)) {
    throw Error("--format " + printable(a.format) +
                ": no dtype holds all its values, which go beyond binary64's; write encodings, by "
                "--encode");
  }
  if (a.device.asked()) check_quantize_for_device(a, to);
  const Dtype out_dtype = a.encode ? encoded_dtype(to.format) : value_dtype(to.format);
  const bool npy = ends_with(a.out, ".npy");
  if (!npy && !ends_with(a.out, ".safetensors")) {
    throw error_in(a.out, "cannot tell what to write", "name it .npy or .safetensors");
  }
  OpenedDevice opened;
  if (a.device.asked()) {
    opened = open_chosen_device(a.device);
    if (!opened.device) return no_hardware("", opened.why_none, false);
  }
  prepare_outputs(std::array{InputPath{"IN", a.in}}, std::array{OutputPath{"OUT", a.out}});
  const auto file =
      open_tensor_file(a.in, {a.dtype.empty() ? std::optional<Dtype>{} : parse_dtype(a.dtype)});
  refuse_scaled_codes(*file);
  std::vector<std::size_t> chosen;
  std::vector<std::string> left_out;
  std::vector<TensorSpec> specs;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < file->tensors().size(); ++i) {
    const TensorInfo& info = file->tensors()[i];
    if (info.dtype.kind != DtypeKind::floating) {
      left_out.push_back(fmt::format("{} ({}, {})", printable(info.name, 60), info.dtype.name,
                                     info.made_by.empty() ? std::string(to_string(info.dtype.kind))
                                                          : "made by " + info.made_by));
      continue;
    }
    chosen.push_back(i);
    specs.push_back({info.name, out_dtype, info.shape});
    bytes += info.bytes;
  }
  if (chosen.empty()) throw error_in(a.in, "no floating-point tensor", "nothing to quantize");
  if (npy && chosen.size() > 1) {
    throw error_in(a.out, fmt::format("a .npy holds one array, not {}", chosen.size()),
                   "name it .safetensors");
  }
  // Stochastic rounding draws by an element's index in C order, whatever the order of storage.
  const auto index_of = [&](const TensorInfo& info) {
    const bool in_turn = info.fortran_order && to.attributes.rounding == Rounding::stochastic;
    return in_turn ? fortran_index(info.shape) : ElementIndex();
  };
  const auto is_turned = [&](const TensorInfo& info) { return index_of(info) != nullptr; };
  // A device draws in the order of storage.
  const auto is_for_device = [&](std::size_t i) {
    const TensorInfo& info = file->tensors()[i];
    return info.dtype.name == "F32" && !is_turned(info);
  };
  QuantizeFloats floats;
  std::string on_device;
  if (opened.device) {
    floats = [&device = *opened.device](auto in, auto out, std::uint64_t at, const Quantizer& by,
                                        EventCounts& counts) {
      expect_done(device, device.quantize(in, out, at, by, counts));
    };
    on_device = tensors_on_device(
        "quantized", *opened.device,
        static_cast<std::size_t>(std::ranges::count_if(chosen, is_for_device)), chosen.size(),
        std::ranges::any_of(file->tensors(), is_turned) ? "F32 in C order" : "F32");
  }
  const TensorInfo& first = file->tensors()[chosen[0]];
  std::unique_ptr<NpyWriter> npy_writer;
  std::unique_ptr<SafetensorsWriter> writer;
  if (npy) {
    npy_writer = std::make_unique<NpyWriter>(a.out, out_dtype, first.shape, first.fortran_order);
  } else {
    std::map<std::string, std::string> metadata;
    if (const auto* from = dynamic_cast<const SafetensorsFile*>(file.get())) {
      metadata = from->metadata();
    }
    metadata["binade.format"] = a.format;
    metadata["binade.rounding"] = rounding_name(to.attributes.rounding);
    writer = std::make_unique<SafetensorsWriter>(a.out, specs, metadata);
  }
  std::string text = counts_head("tensor");
  EventCounts all;
  std::uint64_t done = 0;
  {
    ProgressLine line;
    for (std::size_t n = 0; n < chosen.size(); ++n) {
      const TensorInfo& info = file->tensors()[chosen[n]];
      if (!npy && info.fortran_order && info.shape.size() > 1) {
        throw error_in(a.in,
                       fmt::format("{} is in Fortran order, which .safetensors does not have",
                                   printable(info.name)),
                       "write .npy");
      }
      Quantizer mine = to;
      mine.stream = n;
      QuantizeStream stream(mine, info.dtype, a.encode,
                            is_for_device(chosen[n]) ? floats : QuantizeFloats{}, index_of(info));
      file->read(chosen[n], [&](std::span<const std::byte> chunk) {
        stream.add(chunk, [&](std::span<const std::byte> out) {
          npy ? npy_writer->write(out) : writer->write(out);
        });
        done += chunk.size();
        line.update(done, bytes);
      });
      text += counts_line(info.name, stream.counts());
      all += stream.counts();
    }
  }
  npy ? npy_writer->finish() : writer->finish();
  if (chosen.size() > 1) text += counts_line("total", all);
  for (const std::string& tensor : left_out) text += "skipped " + tensor + ", not written\n";
  fmt::print("{}{}", text, on_device);
  return 0;
}

void define_quantize(App app, int& status) {
  const auto a = std::make_shared<QuantizeArguments>();
  app.add_option("IN", a->in,
                 fmt::format("file of the tensors: {}, as `binade report` reads, or - for standard "
                             "input",
                             single_file_formats))
      .suggest_files()
      .required();
  app.add_option("OUT", a->out,
                 "file of the rounded tensors: .safetensors, or .npy for a single array")
      .suggest_files()
      .required();
  app.add_option("--format", a->format,
                 "format to which values are rounded: a name from `binade formats`, or your own, "
                 "such as e5m7")
      .suggest(format_words)
      .required();
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
      "it has none (default: values in F32, or in F64 if F32 does not hold them)");
  app.add_option("--dtype", a->dtype,
                 "dtype of the elements of a .npy file that holds raw bytes (V1, V2), such as "
                 "bfloat16 or float8_e4m3fn")
      .suggest(dtype_words);
  add_on_device_options(app, a->device,
                        "tensors of F32 are rounded there, others on this machine, as are, with "
                        "--rounding stochastic, those in Fortran order; the format must be one "
                        "that F32 holds, and --encode does not apply");
  app.footer(
      "\nTensors of integers and of complex numbers are named and not written.\n"
      "Exit status: 0 the file was written, 2 an argument or a file cannot be used, 77 there is no "
      "GPU (--device).\n\n"
      "Examples:\n"
      "  binade quantize weights.safetensors weights_e4m3.safetensors --format e4m3 --saturation "
      "finite\n"
      "  binade quantize a.npy a_bits.npy --format bfloat16 --encode");
  app.callback([a, &status] { status = run_quantize(*a); });
}

}  // namespace

const Command quantize_command{
    "quantize", "round every value of a file to a format and count what happened",
    "Rounds every floating-point value of a file to a format and writes the results to another "
    "file. Prints for each tensor how many values became zero, subnormal or infinite, were "
    "saturated or inexact.",
    &define_quantize};

}  // namespace binade

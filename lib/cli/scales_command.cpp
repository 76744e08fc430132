// SPDX-License-Identifier: Apache-2.0
//
// `binade scales`: which scale rule, rounding and layout explain what a block quantizer gave.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/cli/command.h"
#include "lib/cli/suggestions.h"
#include "lib/scales/scale_text.h"
#include "lib/text/error.h"
#include "lib/text/json_text.h"

namespace binade {
namespace {

struct ScalesOptions {
  ScaleFiles files;
  std::string format;
  std::size_t show = 3;
  bool json = false;
};

/// Throws Error unless either a file of a layout or arrays are given.
void check_scales_files(const ScaleFiles& files) {
  const bool arrays = !files.codes.empty() || !files.scales.empty();
  if (arrays && !files.b.empty()) {
    throw Error(
        "B holds codes and scales by a stack's names, --codes and --scales are arrays; give "
        "one or the other");
  }
  if (files.b.empty() && (files.codes.empty() || files.scales.empty())) {
    throw Error("nothing to explain; give B, a file of codes and scales, or --codes and --scales");
  }
  if (!files.tensor_scale.empty() && !files.b.empty()) {
    throw Error("--tensor-scale has no effect with B, which has its own: leave it out");
  }
}

int run_scales(const ScalesOptions& o) {
  check_scales_files(o.files);
  std::optional<NamedOrCustomBlock> format;
  if (!o.format.empty()) format = parse_block_format(o.format);
  nlohmann::ordered_json tensors = nlohmann::ordered_json::array();
  JointRules joint;
  bool all = true;
  const std::vector<std::string> left = each_quantized(o.files, [&](Quantized&& given) {
    const ScaleFinding found = identify_scales(given, format, o.show);
    all = all && found.conclusion() != ScaleConclusion::none;
    if (o.json) {
      tensors.push_back(scales_json(found, given, o.show));
    } else {
      fmt::print("{}{}", joint.tensors == 0 ? "" : "\n", scales_text(found, given, o.show));
    }
    joint.add(found);
  });
  if (o.json) {
    fmt::print("{}\n", json_text(scales_document(tensors, joint, left), 2));
  } else {
    if (!left.empty()) fmt::print("\nHeld against nothing\n");
    for (const std::string& part : left) fmt::print("  {}\n", part);
    fmt::print("{}", joint_text(joint));
  }
  return all && left.empty() ? 0 : exit_different;
}

void define_scales(App app, int& status) {
  const auto o = std::make_shared<ScalesOptions>();
  app.add_option("A", o->files.a,
                 "file of the numbers that were quantized (.npy, .npz, .safetensors, torch); "
                 "FILE:NAME for one tensor of several, else all whose codes B has")
      .suggest_files()
      .required();
  app.add_option("B", o->files.b,
                 "file of codes and scales by the names of a stack, as `binade quantize --encode "
                 "--layout` writes them; FILE:NAME for those of one tensor")
      .suggest_files();
  app.add_option(
         "--codes", o->files.codes,
         "in the place of B: file of the codes, in the dtype of their format or in unsigned "
         "integers, those of 4 bits perhaps two in a byte")
      .suggest_files();
  app.add_option("--scales", o->files.scales,
                 "with --codes: file of the scales, in the dtype of their format or in unsigned "
                 "integers, in any order of `binade quantize --scale-layout`")
      .suggest_files();
  app.add_option("--tensor-scale", o->files.tensor_scale,
                 "with --codes: the scale of the tensor (nvfp4), a number or a file of one; "
                 "whichever it is: its amax, what numbers or what values are multiplied by");
  app.add_flag(
      "--stack", o->files.stack,
      "along the first axis of tensors of 3 axes or more lie tensors of their own, such as "
      "experts, each with its amax: "
      "each is held to its codes and scales alone (taken so without it where there is a "
      "scale for each of them)");
  app.add_option("--format", o->format,
                 "the block format: a name from `binade formats`, or your own, such as "
                 "e2m1:block=1x64:scale=e8m0 (default: all that the sizes fit)")
      .suggest(all_format_words);
  app.add_option("--dtype", o->files.dtype,
                 "dtype of A if it is a .npy file that holds raw bytes (V1, V2), such as bfloat16")
      .suggest(dtype_words);
  app.add_option("--show", o->show, "how many groups of rules to show, and of the nearest others")
      .capture_default_str();
  app.add_flag("--json", o->json, "print JSON instead of text");
  app.footer(
      "\nEvery scale and every code is compared bit for bit, under all that sizes and dtypes "
      "allow: formats, axes, orders\nof scales, the transpose; every scale rule, rounding and "
      "order "
      "of codes in bytes. Where nothing explains all,\nthe nearest rules are told with the first "
      "block that differs, and what may have happened, with its share.\n\n"
      "Exit status: 0 a rule explains every bit of every tensor, 1 none does of one at least, or B "
      "has parts that\nare held against nothing, 2 an argument or a file cannot be used.\n\n"
      "Examples:\n"
      "  binade scales weights.safetensors weights_nvfp4.safetensors\n"
      "  binade scales x.npy --codes codes.npy --scales scales.npy --format mxfp8_e4m3");
  app.callback([&status, o] { status = run_scales(*o); });
}

}  // namespace

const Command scales_command{
    "scales", "find the scale rule that explains a block quantizer's bits",
    "Takes a tensor, and the codes and scales that a stack or a kernel made of it, and tells which "
    "scale rule, rounding, axis and layout explain every bit; or else which come nearest, how the "
    "first block differs, and what may have happened.",
    &define_scales, "[scales](lib/scales/README.md)"};

}  // namespace binade

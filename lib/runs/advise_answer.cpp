// SPDX-License-Identifier: Apache-2.0
//
// Gives advice about memory and shapes: parses the options, and writes the answer as text and JSON.
#include "lib/runs/advise_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/format/format_spec.h"
#include "lib/instruction/instruction_name.h"
#include "lib/runs/advise_model.h"
#include "lib/text/error.h"
#include "lib/text/idle_option.h"
#include "lib/text/paragraph.h"
#include "lib/text/spelling.h"
#include "lib/train/memory.h"

namespace binade {
namespace {

using AdviceJson = nlohmann::ordered_json;

struct AdviseQuestion {
  TrainingSize size;
  bool sized = false;  ///< the number of parameters is known
  OptimizerMoments optimizer;
  bool fp32_moments = false;
  std::optional<std::uint64_t> memory;
  std::vector<AdvisedLayer> layers;
  int sm = 0;
  NamedOrCustom format;
  std::optional<InstructionShape> instruction;
};

void check_effects(const AdviseWords& words, const AdviseQuestion& q) {
  const AdviseWords usual;
  const std::string without_layers = "without layers";
  refuse_idle(std::array{
      IdleOption{"--arch", q.layers.empty() && words.architecture != usual.architecture,
                 without_layers},
      IdleOption{"--format", q.layers.empty() && words.format != usual.format, without_layers},
      IdleOption{"--fp32-moments", words.fp32_moments && q.optimizer.moments == 0,
                 fmt::format("with --optimizer {}, which keeps no moments", q.optimizer.name)},
      IdleOption{"--batch", !words.batch.empty() && words.activations.empty(),
                 "without --activations-per-sample"},
      IdleOption{"--activations-per-sample", !words.activations.empty() && !q.sized && !q.memory,
                 "without --params, layers or --memory"},
  });
}

AdviseQuestion question_of(const AdviseWords& words) {
  AdviseQuestion q;
  const auto optimizers = optimizer_moments();
  const auto optimizer = std::ranges::find(optimizers, words.optimizer, &OptimizerMoments::name);
  if (optimizer == optimizers.end()) {
    const std::vector<std::string_view> names = names_of(optimizers);
    throw Error(fmt::format("--optimizer {}: unknown{}; there are {}", printable(words.optimizer),
                            did_you_mean(words.optimizer, names), listed(names)));
  }
  q.optimizer = *optimizer;
  q.fp32_moments = words.fp32_moments;
  q.sm = parse_architecture(words.architecture);
  q.format = parse_format(words.format);
  if (!words.model.empty()) q.layers = read_layers(words.model);
  if (!words.layers.is_null()) q.layers = layers_of("layers", {{"layers", words.layers}});
  for (const std::string& text : words.linear) q.layers.push_back(linear_of(text));
  for (const std::string& text : words.conv) q.layers.push_back(conv_of(text));
  for (const AdvisedLayer& layer : q.layers) {
    q.size.parameters += std::min(layer.parameters, largest_count + 1 - q.size.parameters);
    if (q.size.parameters > largest_count) {
      throw Error("the layers have more than 2^53 weights; check their sizes");
    }
  }
  if (!words.params.empty()) q.size.parameters = parse_count("--params", words.params);
  q.sized = q.size.parameters > 0;
  if (!words.activations.empty()) {
    q.size.activations_per_sample = parse_count("--activations-per-sample", words.activations);
  }
  if (!words.batch.empty()) q.size.batch = parse_count("--batch", words.batch);
  if (!words.memory.empty()) q.memory = parse_bytes("--memory", words.memory);
  check_effects(words, q);
  if (!q.layers.empty()) {
    q.instruction = instruction_for(q.sm, q.format.format);
    if (!q.instruction) {
      throw Error(
          fmt::format("sm_{} has no dense Tensor Core instruction for {}; see binade "
                      "architectures --arch sm_{}",
                      q.sm, q.format.name, q.sm));
    }
  }
  return q;
}

bool knows_activations(const AdviseQuestion& q) { return q.size.activations_per_sample > 0; }

std::string amount(std::uint64_t bytes) {
  constexpr std::array<std::pair<double, const char*>, 6> units{
      {{1e18, "EB"}, {1e15, "PB"}, {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}}};
  for (const auto& [unit, name] : units) {
    if (static_cast<double>(bytes) >= unit) {
      return fmt::format("{:.4g} {}", static_cast<double>(bytes) / unit, name);
    }
  }
  return fmt::format("{} B", bytes);
}

std::string counted(std::uint64_t n) {
  return n < 1000000 ? std::to_string(n) : fmt::format("{:.3g}", static_cast<double>(n));
}

MemoryUse use_of(const TrainingMode& mode, const BytesPerParameter& bytes,
                 const AdviseQuestion& q) {
  const std::optional<MemoryUse> use = memory_use(mode, bytes, q.size);
  if (!use) throw Error("more than 2^63 bytes; give fewer parameters, activations or samples");
  return *use;
}

std::string memory_text(const AdviseQuestion& q) {
  std::string out =
      fmt::format("Memory of training with {}, bytes per parameter", q.optimizer.name);
  if (q.sized) out += fmt::format("; {} parameters", counted(q.size.parameters));
  if (knows_activations(q)) {
    out += fmt::format(", {} activations a sample, batch {}",
                       counted(q.size.activations_per_sample), counted(q.size.batch));
  }
  out += fmt::format("\n  {:<12}{:>8}{:>7}{:>6}{:>7}{:>8}{:>5}", "mode", "weights", "master",
                     "casts", "grads", "moments", "all");
  if (q.sized) out += fmt::format("{:>10}{:>12}{:>10}", "state", "activations", "together");
  if (q.memory) out += fmt::format("{:>12}", "most params");
  if (q.memory && q.sized && knows_activations(q)) out += fmt::format("{:>10}", "batch");
  out += "\n";
  for (const TrainingMode& mode : training_modes) {
    const BytesPerParameter b = bytes_per_parameter(mode, q.optimizer, q.fp32_moments);
    out += fmt::format("  {:<12}{:>8}{:>7}{:>6}{:>7}{:>8}{:>5}", mode.name, b.weights, b.master,
                       b.casts, b.gradients, b.moments, b.total());
    if (q.sized) {
      const MemoryUse use = use_of(mode, b, q);
      const bool known = knows_activations(q);
      out += fmt::format("{:>10}{:>12}{:>10}", amount(use.state),
                         known ? amount(use.activations) : "-", known ? amount(use.total()) : "-");
    }
    if (q.memory)
      out += fmt::format("{:>12}", counted(most_parameters(mode, b, q.size, *q.memory)));
    const std::optional<std::uint64_t> batch =
        q.memory && q.sized ? largest_batch(mode, b, q.size, *q.memory) : std::nullopt;
    if (batch) out += fmt::format("{:>10}", counted(*batch));
    out += "\n";
  }
  for (const TrainingMode& mode : training_modes) {
    out += fmt::format("  {:<12}{}\n", mode.name, mode.what);
  }
  std::string activations =
      "Activations as if all were kept in the products' format; what autocast leaves in FP32 "
      "(norms, softmax, losses) and what fp8 keeps in 16 bits counts more.";
  if (!knows_activations(q)) {
    activations = "Activations are not known without --activations-per-sample.";
  }
  out += wrapped("  " + activations +
                     " Moments have the type of what the "
                     "optimizer steps, as PyTorch makes them; --fp32-moments for 4 bytes each. "
                     "Scales of fp8 are "
                     "some "
                     "bytes per tensor. No workspace, no fragmentation.",
                 2);
  if (q.memory) {
    out += wrapped(
        fmt::format("  most params: the largest model whose state fits {} {}{}.", amount(*q.memory),
                    knows_activations(q) ? "beside the activations" : "alone, without activations",
                    q.sized && knows_activations(q)
                        ? "; batch: the most samples that fit beside the state"
                        : ""),
        2);
  }
  return out;
}

std::string shape_name(const InstructionShape& x) {
  const bool any_n = x.family != Family::mma;
  return fmt::format("{}.m{}n{}k{}", family_names[static_cast<std::size_t>(x.family)], x.m,
                     any_n ? "8…" : std::to_string(x.n), x.k);
}

/// Returns "50257 → 50264", a size and its next multiple; only the size if it is a multiple
/// already.
std::string size_text(const SizeAdvice& size) {
  return size.size == size.aligned ? std::to_string(size.size)
                                   : fmt::format("{} → {}", size.size, size.aligned);
}

std::string shapes_text(const AdviseQuestion& q) {
  const int alignment = aligned_elements(q.format.format);
  std::string out = fmt::format("Shapes for {} on sm_{}: multiples of {} (16 bytes), then of {}\n",
                                q.format.name, q.sm, alignment, shape_name(*q.instruction));
  bool all_aligned = true;
  for (const AdvisedLayer& layer : q.layers) {
    out += layer.name == layer.words
               ? fmt::format("  {}\n", layer.words)
               : fmt::format("  {}: {}\n", printable(layer.name), layer.words);
    for (std::size_t i = 0; i < product_names.size(); ++i) {
      const ShapeAdvice a = advise(layer.products[i], q.format.format, *q.instruction);
      all_aligned = all_aligned && a.is_aligned();
      out += fmt::format("    {:<7}m {} n {} k {}  {:>6.2f} % padding\n", product_names[i],
                         left_aligned(size_text(a.m), 20), left_aligned(size_text(a.n), 20),
                         left_aligned(size_text(a.k), 20), 100 * a.waste);
    }
  }
  out += all_aligned
             ? "  Every size is a multiple of 16 bytes.\n"
             : "  → : the next size whose rows begin at multiples of 16 bytes; make features "
               "and channels so.\n";
  return out + wrapped(
                   "  padding: share of the multiplications that work on zeros, since instructions "
                   "are whole; "
                   "a kernel's tiles (128 and more) round m and n up further. Zeros along m and n "
                   "touch no other "
                   "element; zeros after the last product along k change no bit of a fused sum, "
                   "only -0 becomes "
                   "+0 (tests/emulate/gemm_test.cpp).",
                   2);
}

AdviceJson memory_json(const AdviseQuestion& q) {
  AdviceJson rows = AdviceJson::array();
  for (const TrainingMode& mode : training_modes) {
    const BytesPerParameter b = bytes_per_parameter(mode, q.optimizer, q.fp32_moments);
    AdviceJson row{{"mode", mode.name},
                   {"bytes_per_parameter",
                    {{"weights", b.weights},
                     {"master", b.master},
                     {"casts", b.casts},
                     {"gradients", b.gradients},
                     {"moments", b.moments},
                     {"all", b.total()}}},
                   {"bytes_per_activation", mode.activations},
                   {"what", mode.what},
                   {"source", mode.source}};
    if (q.sized) {
      const MemoryUse use = use_of(mode, b, q);
      row["state"] = use.state;
      const bool known = knows_activations(q);
      row["activations"] = known ? AdviceJson(use.activations) : AdviceJson(nullptr);
      row["together"] = known ? AdviceJson(use.total()) : AdviceJson(nullptr);
    }
    if (q.memory) {
      row["most_parameters"] = most_parameters(mode, b, q.size, *q.memory);
      const auto batch = q.sized ? largest_batch(mode, b, q.size, *q.memory) : std::nullopt;
      row["largest_batch"] = batch ? AdviceJson(*batch) : AdviceJson(nullptr);
    }
    rows.push_back(row);
  }
  return rows;
}

AdviceJson size_json(const SizeAdvice& size) {
  return {{"size", size.size}, {"aligned", size.aligned}, {"padded", size.padded}};
}

AdviceJson layers_json(const AdviseQuestion& q) {
  AdviceJson out = AdviceJson::array();
  for (const AdvisedLayer& layer : q.layers) {
    AdviceJson products = AdviceJson::object();
    for (std::size_t i = 0; i < product_names.size(); ++i) {
      const ShapeAdvice a = advise(layer.products[i], q.format.format, *q.instruction);
      products[std::string(product_names[i])] = {{"m", size_json(a.m)},
                                                 {"n", size_json(a.n)},
                                                 {"k", size_json(a.k)},
                                                 {"padding", a.waste}};
    }
    out.push_back({{"name", layer.name},
                   {"words", layer.words},
                   {"parameters", layer.parameters},
                   {"products", products}});
  }
  return out;
}

AdviceJson advise_json(const AdviseQuestion& q) {
  AdviceJson out{
      {"schema", "binade.advise/1"},
      {"optimizer", q.optimizer.name},
      {"fp32_moments", q.fp32_moments},
      {"parameters", q.size.parameters},
      {"activations_per_sample",
       knows_activations(q) ? AdviceJson(q.size.activations_per_sample) : AdviceJson(nullptr)},
      {"batch", q.size.batch},
      {"memory", q.memory ? AdviceJson(*q.memory) : AdviceJson(nullptr)},
      {"modes", memory_json(q)}};
  if (q.instruction) {
    out["architecture"] = fmt::format("sm_{}", q.sm);
    out["format"] = q.format.name;
    out["alignment"] = aligned_elements(q.format.format);
    out["instruction"] = {{"family", family_names[static_cast<std::size_t>(q.instruction->family)]},
                          {"m", q.instruction->m},
                          {"n", q.instruction->n},
                          {"k", q.instruction->k}};
    out["layers"] = layers_json(q);
  }
  return out;
}

}  // namespace

AdviseAnswer advise_answer(const AdviseWords& words) {
  const AdviseQuestion q = question_of(words);
  return {.text = memory_text(q) + (q.instruction ? "\n" + shapes_text(q) : ""),
          .json = advise_json(q)};
}

}  // namespace binade

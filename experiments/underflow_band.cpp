// SPDX-License-Identifier: Apache-2.0
//
// Question: how many of a network's gradients lie in the band 2^-27 <= |x| < 2^-24, what do they
// become in binary16, binade by binade, and which loss scale saves them? Micikevicius et al. 2018
// (section 3.2, Multibox SSD) found that these values must be kept and that a scale of 8 keeps
// them.
//
// Each value is scaled exactly and rounded by `project`; the same counts are derived from the range
// summary, and the two must agree exactly.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "experiments/binade_plot.h"
#include "lib/io/tensor_file.h"
#include "lib/parallel/parallel.h"
#include "lib/range/counter.h"
#include "lib/range/fate.h"
#include "lib/runs/experiment.h"
#include "lib/text/error.h"
#include "lib/text/percent.h"

namespace binade {
namespace {

constexpr std::array scales_log2{0, 3, 7, 8, 10, 15, 16};
constexpr int saving_scale_log2 = 3;

struct Band {
  const char* name;
  int first, last;  ///< exponents of its first and last binade
};

/// The whole band, each of its binades, and everything below and above.
constexpr std::array<Band, 6> bands{{
    {"below 2^-27", -1100, -28},
    {"2^-27..2^-26", -27, -27},
    {"2^-26..2^-25", -26, -26},
    {"2^-25..2^-24", -25, -25},
    {"2^-27..2^-24", -27, -25},
    {"2^-24 and above", -24, 1100},
}};

/// The gradients of one phase of a training, and their summary.
struct Phase {
  std::string name;
  std::vector<float> values;
  RangeSummary summary;
};

std::vector<Phase> read_phases(const std::string& path) {
  const auto file = open_tensor_file(path);
  std::vector<Phase> phases;
  for (std::size_t i = 0; i < file->tensors().size(); ++i) {
    const TensorInfo& info = file->tensors()[i];
    if (info.dtype.name != "F32") {
      throw error_in(path, "a tensor is not F32",
                     "give the gradients this experiment was made for");
    }
    const std::string name = info.name.substr(0, info.name.find('/'));
    if (phases.empty() || phases.back().name != name) phases.push_back({name, {}, {}});
    file->read(i, [&values = phases.back().values](std::span<const std::byte> bytes) {
      const std::size_t at = values.size();
      values.resize(at + bytes.size() / sizeof(float));
      std::memcpy(values.data() + at, bytes.data(), bytes.size());
    });
  }
  RangeCounter counter({});
  for (Phase& phase : phases) {
    counter.add(std::as_bytes(std::span(phase.values)), *find_dtype("F32"));
    phase.summary = counter.finish();
  }
  return phases;
}

/// Returns the part of a summary whose values lie in a band.
RangeSummary restrict_to(const RangeSummary& s, const Band& band) {
  RangeSummary out;
  for (const auto& [exponent, row] : s.binades) {
    if (exponent < band.first || exponent > band.last) continue;
    out.binades[exponent] = row;
    out.values += row.total();
  }
  return out;
}

/// Counts what the values of a band become in binary16, by rounding each x·2^scale_log2.
Fates round_each(const std::vector<float>& values, const Band& band, int scale_log2) {
  Fates out;
  poll();
  for (const float x : values) {
    Exact exact = decode(bits_of(x), binary32);
    if (exact.kind != Kind::finite) continue;
    const int exponent = exact.exponent + bit_width(exact.significand) - 1;
    if (exponent < band.first || exponent > band.last) continue;
    exact.exponent += scale_log2;
    const Projected result = project(exact, binary16);
    out.to_zero += decode(result.bits, binary16).kind == Kind::zero ? 1 : 0;
    out.subnormal += is_subnormal(result.bits, binary16) ? 1 : 0;
    out.overflow += (result.flags & Flag::overflow) != 0 ? 1 : 0;
  }
  return out;
}

std::string fate_words(const Fates& f, std::uint64_t values) {
  if (values == 0) return "-";
  const auto part = [values](std::uint64_t n) {
    return 100.0 * static_cast<double>(n) / static_cast<double>(values);
  };
  return fmt::format("{:.0f}/{:.0f}", part(f.to_zero), part(f.subnormal));
}

double norm_share(const RangeSummary& part, const RangeSummary& whole) {
  return std::sqrt(divide(norms(part).squares, norms(whole).squares).value());
}

/// Prints a table of bands and scales. Returns whether the counts by rounding and by the summary
/// agree everywhere.
bool tabulate(const Phase& phase, const ExperimentInput& input, nlohmann::ordered_json& data) {
  const RangeSummary& s = phase.summary;
  bool agree = true;
  std::string text = fmt::format("{}: {} non-zero values\n  {:<16}{:>10}{:>12}", phase.name,
                                 s.nonzero(), "band", "non-zero", "L2 norm");
  for (const int k : scales_log2) text += fmt::format("{:>8}", fmt::format("S=2^{}", k));
  text += "\n";
  for (const Band& band : bands) {
    const RangeSummary part = restrict_to(s, band);
    const double share = static_cast<double>(part.values) / static_cast<double>(s.nonzero());
    const double norm = norm_share(part, s);
    text += fmt::format("  {:<16}{:>10}{:>12}", band.name, percent(share), percent(norm));
    nlohmann::ordered_json row{{"phase", phase.name},
                               {"band", band.name},
                               {"count", part.values},
                               {"of_nonzero", share},
                               {"of_l2", norm}};
    for (const int k : scales_log2) {
      const Fates measured = round_each(phase.values, band, k);
      const Fates derived = fates(part, binary16, k);
      agree = agree && measured.to_zero == derived.to_zero &&
              measured.subnormal == derived.subnormal && measured.overflow == derived.overflow;
      text += fmt::format("{:>8}", fate_words(measured, part.values));
      row["scales"][std::to_string(k)] = {{"to_zero", measured.to_zero},
                                          {"subnormal", measured.subnormal},
                                          {"overflow", measured.overflow}};
    }
    text += "\n";
    data.push_back(row);
  }
  input.print("\n" + text);
  return agree;
}

/// Returns how many values of bands[band] become zero at a scale.
std::uint64_t lost(const Phase& phase, std::size_t band, int scale_log2) {
  return fates(restrict_to(phase.summary, bands[band]), binary16, scale_log2).to_zero;
}

/// Adds the plots: the values per binade, and the share of the norm that becomes zero at each loss
/// scale.
void add_plots(const std::vector<Phase>& phases, Outcome& out) {
  Plot binades = binade_plot("Where the gradients lie");
  Plot lost{.title = "What a loss scale saves",
            .x_label = "loss scale S",
            .y_label = "share of the L2 norm that becomes zero",
            .x_axis = Axis::log2,
            .y_axis = Axis::log10,

            .note =
                "By count most values may die; what counts for training is the norm that goes with "
                "them."};
  for (const Phase& phase : phases) {
    add_binades(binades, phase.name, phase.summary);
    Series share{.name = phase.name};
    for (int k = 0; k <= 16; ++k) {
      share.x.push_back(std::ldexp(1.0, k));
      share.y.push_back(losses(phase.summary, binary16, k)->l2);
    }
    lost.series.push_back(share);
  }
  out.plots = {binades, lost};
}

Outcome run_underflow_band(const ExperimentInput& input) {
  Outcome out;
  input.print(
      "In each cell: percent of the band's values that become zero / subnormal in binary16 at "
      "scale S.\n");
  bool agree = true;
  bool binades_as_said = true;
  bool scale_8_saves = true;
  const std::vector<Phase> phases =
      read_phases(input.data_folder + "/digits_gradients.safetensors");
  for (const Phase& phase : phases) {
    agree = tabulate(phase, input, out.data) && agree;
    const auto held = [&phase](std::size_t band) {
      return restrict_to(phase.summary, bands[band]).values;
    };
    const std::uint64_t ties = fates(restrict_to(phase.summary, bands[3]), binary16, 0).to_zero;
    binades_as_said = binades_as_said && lost(phase, 1, 0) == held(1) &&
                      lost(phase, 2, 0) == held(2) && ties * 1000 <= held(3) + 1000;
    scale_8_saves = scale_8_saves && lost(phase, 4, saving_scale_log2) == 0;
  }
  const auto dies = [&phases](std::size_t band) {
    return std::ranges::all_of(phases, [band](const Phase& phase) {
      return lost(phase, band, 0) == restrict_to(phase.summary, bands[band]).values;
    });
  };
  std::uint64_t left = 0;
  for (const Phase& phase : phases) left += lost(phase, 4, saving_scale_log2);
  const double inside = 1.5 * 0x1p-25;
  out.measured = {
      {"plain", std::exp2(0)},
      {"dead", (dies(1) ? 1 : 0) + (dies(2) ? 1 : 0) + (dies(3) ? 1 : 0)},
      {"survivor", value_of<double>(convert(bits_of(inside), binary64, binary16).bits, binary16)},
      {"saving", std::exp2(saving_scale_log2)},
      {"lost", static_cast<double>(left)}};
  add_plots(phases, out);
  out.as_expected = agree && binades_as_said && scale_8_saves;
  out.verdict = fmt::format(
      "at S = 1 binades 2^-27 and 2^-26 die and binade 2^-25 {}; S = 8 {} of the band; rounding "
      "each value and the range summary {}.",
      binades_as_said ? "survives as 2^-24" : "does not behave as said",
      scale_8_saves ? "loses nothing" : "still loses some", agree ? "agree exactly" : "DISAGREE");
  return out;
}

constexpr std::array<ExpectedFigure, 5> underflow_band_figures{{
    {"plain", "scale at which binades die", "1", 1, 1, true},
    {"dead", "binades of the band that die whole, in every phase", "two", 2, 2},
    {"survivor", "what the middle of the top binade becomes", "2^-24", 0x1p-24, 0x1p-24},
    {"saving", "scale that keeps the band", "8", 8, 8, true},
    {"lost", "values of the band that die at that scale", "no", 0, 0},
}};

}  // namespace

extern const Experiment underflow_band{
    "underflow_band",
    "What of the band 2^-27 <= |x| < 2^-24 dies in binary16, binade by binade, and at which loss "
    "scale does it live?",
    "Two of the three binades of the band die at scale 1, and a scale of 8 keeps all three.",
    {"At S = {plain} {dead} of the three binades round to zero; the top one survives as {survivor} "
     "(ties to even); S = {saving} keeps the whole band, {lost} value dies (Micikevicius et al. "
     "2018).",
     underflow_band_figures},
    &run_underflow_band};

}  // namespace binade

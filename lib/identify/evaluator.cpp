// SPDX-License-Identifier: Apache-2.0
//
// Operands gathered in a program's order, then the ways of sum_program.h.
#include "lib/identify/evaluator.h"

#include <type_traits>
#include <utility>

#include "lib/parallel/parallel.h"

namespace binade {
namespace {

template <class Way>
DecodedLines<typename Way::Operand> decoded_lines(const Way& way, const Format& f,
                                                  const std::vector<std::uint64_t>& codes,
                                                  std::size_t k) {
  const std::size_t lines = codes.size() / k;
  DecodedLines<typename Way::Operand> out;
  out.operands.resize(codes.size());
  out.usable.resize(lines);
  parallel_for(lines, 16, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      bool usable = true;
      for (std::size_t at = i * k; at < (i + 1) * k; ++at) {
        usable = way.read(f, codes[at], out.operands[at]) && usable;
      }
      out.usable[i] = usable ? 1 : 0;
    }
  });
  return out;
}

template <class Way>
Decoded decoded_by(const Way& way, const KernelRun& run) {
  return DecodedRun<typename Way::Operand>{decoded_lines(way, way.g.types.a, run.a, run.k),
                                           decoded_lines(way, way.g.types.b, run.b, run.k)};
}

Decoded decoded(const GemmModel& g, const KernelRun& run) {
  if (PredecodedWay::knows(g)) return decoded_by(PredecodedWay{g}, run);
  if (HostWay<float>::knows(g)) return decoded_by(HostWay<float>{g}, run);
  if (HostWay<double>::knows(g)) return decoded_by(HostWay<double>{g}, run);
  return std::monostate{};
}

/// Cores with equal keys read operands alike.
struct ReadingKey {
  int kind;
  bool expanded;
  Format a, b;

  friend bool operator==(const ReadingKey&, const ReadingKey&) = default;
};

ReadingKey key_of(const GemmModel& g) {
  const int kind = PredecodedWay::knows(g)     ? 1
                   : HostWay<float>::knows(g)  ? 2
                   : HostWay<double>::knows(g) ? 3
                                               : 0;
  return {kind, g.model.recipe == Recipe::expanded, g.types.a, g.types.b};
}

template <class Operand>
void gather(const std::vector<int>& sources, const Operand* line, Operand* out) {
  for (std::size_t i = 0; i < sources.size(); ++i) {
    out[i] = sources[i] < 0 ? Operand{} : line[sources[i]];
  }
}

}  // namespace

Prepared::Prepared(const GemmModel& model, const KernelRun& run, const Decoded& operands)
    : model_(model), run_(run), decoded_(operands) {
  walk_sum(model, static_cast<int>(run.k), program_);
  const std::vector<int>& order = program_.order;
  sources_.resize(order.size());
  const PredecodedWay way{model};
  const int k = model.k;
  for (int i = 0; i < static_cast<int>(order.size()); ++i) {
    const int first = i / k * k;
    const bool factors = std::holds_alternative<DecodedRun<Factor>>(operands);
    const int from = factors ? first + way.place(i - first) : i;
    sources_[static_cast<std::size_t>(i)] = order[static_cast<std::size_t>(from)];
  }
  if (std::holds_alternative<DecodedRun<Factor>>(operands)) {
    gathered_ = std::vector<Factor>(2 * order.size());
  } else if (std::holds_alternative<DecodedRun<float>>(operands)) {
    gathered_ = std::vector<float>(2 * order.size());
  } else if (std::holds_alternative<DecodedRun<double>>(operands)) {
    gathered_ = std::vector<double>(2 * order.size());
  }
}

template <class Way>
bool Prepared::quickly(const Way& way, const DecodedRun<typename Way::Operand>& operands,
                       const GemmElement<std::uint64_t>& x, std::size_t at, Typed& sum) {
  using Operand = typename Way::Operand;
  const std::size_t i = run_.row(at);
  const std::size_t j = run_.column(at);
  if (operands.a.usable[i] == 0 || operands.b.usable[j] == 0) return false;
  Operand* const a = std::get<std::vector<Operand>>(gathered_).data();
  Operand* const b = a + sources_.size();
  gather(sources_, operands.a.operands.data() + i * run_.k, a);
  gather(sources_, operands.b.operands.data() + j * run_.k, b);
  return run(way, program_, a, b, x, sum);
}

bool Prepared::quickly(const GemmElement<std::uint64_t>& x, std::size_t at, Typed& sum) {
  if (const auto* factors = std::get_if<DecodedRun<Factor>>(&decoded_)) {
    return quickly(PredecodedWay{model_}, *factors, x, at, sum);
  }
  if (const auto* floats = std::get_if<DecodedRun<float>>(&decoded_)) {
    return quickly(HostWay<float>{model_}, *floats, x, at, sum);
  }
  if (const auto* doubles = std::get_if<DecodedRun<double>>(&decoded_)) {
    return quickly(HostWay<double>{model_}, *doubles, x, at, sum);
  }
  return false;
}

std::uint64_t Prepared::element(std::size_t at) {
  const GemmElement<std::uint64_t> x = run_.element(at);
  Typed sum;
  return quickly(x, at, sum) ? epilogue(model_, x, sum) : gemm_element(model_, x);
}

Evaluator::Evaluator(const std::vector<Core>& cores, std::span<const KernelRun> runs)
    : runs_(runs) {
  std::vector<ReadingKey> keys;
  for (std::size_t core = 0; core < cores.size(); ++core) {
    keys.push_back(key_of(cores[core].plain));
    std::size_t same = 0;
    while (keys[same] != keys[core]) ++same;
    for (std::size_t run = 0; run < runs.size(); ++run) {
      decoded_.push_back(
          same < core ? decoded_[same * runs.size() + run]
                      : std::make_shared<const Decoded>(decoded(cores[core].plain, runs[run])));
    }
  }
}

bool is_same_result(std::uint64_t x, std::uint64_t y, const Format& f, bool any_nan) {
  if (x == y) return true;
  if (!any_nan || is_integer(f)) return false;
  return kind_of(fields_of(x, f), f) == Kind::nan && kind_of(fields_of(y, f), f) == Kind::nan;
}

}  // namespace binade

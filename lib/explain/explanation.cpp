// SPDX-License-Identifier: Apache-2.0
//
// A tracer (emulate/trace.h) that records the steps of a sum, and computes beside each step what it
// is exactly.
#include "lib/explain/explanation.h"

#include <algorithm>

#include "emulate/integer_dot.h"
#include "emulate/sum_order.h"
#include "lib/instruction/instruction_name.h"
#include "lib/text/error.h"

namespace binade {
namespace {

ExactNumber exactly(const Addend& x) {
  if (x.kind != Kind::finite) return {};
  return exact_number(x.negative, x.significand, x.exponent - x.fraction_bits);
}

/// Returns whether the blocks of an instruction begin at +0, whatever c is.
bool begins_at_zero(const DotModel& model) { return model.c_last || model.scales.without_c; }

/// What the tracer fills. The tracer itself is passed by constant reference.
struct Record {
  Explanation& out;
  const std::vector<Format>& marked;  ///< formats of the accumulators at the marks, in order
  Typed accumulator{};
  bool at_c = false;  ///< whether the accumulator is c as it was given
  std::vector<TracedTerm> terms = {};
  std::size_t marks = 0;
  std::vector<bool> taken = {};  ///< taken[i]: k = i took part
  std::vector<int> kept_k = {};  ///< the k that sparsity does not leave out; empty: all
  ExactNumber products = {};
  bool finite = true;  ///< whether every operand is a finite number
  /// The products of the scales of each promotion, in their order; nothing where one is no number.
  std::vector<std::optional<ExactNumber>> factors = {};
  std::size_t promotions = 0;
  std::optional<ExactNumber> promoted = {};  ///< what a promotion that has begun multiplies
  /// What was known when the last promotion had ended: all since then is multiplied by its factor.
  ErrorsByCause settled = {};
  ExactNumber settled_products = {};
  std::size_t settled_steps = 0;

  int k() const { return static_cast<int>(out.a.size()); }
  void take(int place, bool number, const ExactNumber& product) {
    taken[static_cast<std::size_t>(place)] = true;
    finite = finite && number;
    products += product;
  }
  void take_c(const Typed& c) {
    finite = finite && is_number(c);
    if (finite) products += value_of(c);
  }
  /// Ends a promotion by scales: of the sum before it, and of what it gave.
  void promote(const Typed& before, const Typed& result) {
    const std::optional<ExactNumber>& factor = factors[promotions++];
    finite = finite && factor.has_value();
    const ExactNumber by = factor.value_or(ExactNumber{});
    const auto scale = [&by](ExactNumber& all, const ExactNumber& kept) {
      all = kept + by * (all - kept);
    };
    scale(out.errors.alignment, settled.alignment);
    scale(out.errors.floor, settled.floor);
    scale(out.errors.blocks, settled.blocks);
    scale(out.errors.operations, settled.operations);
    scale(products, settled_products);
    if (is_number(before) && is_number(result)) {
      out.errors.operations += value_of(result) - value_of(before) - by * *promoted;
    }
    for (; settled_steps < out.steps.size(); ++settled_steps) {
      if (auto* block = std::get_if<ExplainedBlock>(&out.steps[settled_steps])) block->factor = by;
    }
    settled = out.errors;
    settled_products = products;
    promoted = {};
  }
  void accumulate(const Typed& x) {
    accumulator = x;
    at_c = false;
  }
};

/// Returns the k of the products of a group that begins at `first`.
std::vector<int> group_at(int first, const Record& record) {
  const int size = record.out.model.scaling.group;
  std::vector<int> out;
  const auto begin = std::ranges::find(record.kept_k, first);
  for (int i = 0; i < size; ++i) {
    const bool there =
        record.kept_k.empty() ? first + i < record.k() : record.kept_k.end() - begin > i;
    if (there) out.push_back(record.kept_k.empty() ? first + i : begin[i]);
  }
  return out;
}

/// Fills in what a term is made of where blocks have scales.
void explain_scales(ExplainedTerm& term, const Record& record) {
  const Explanation& out = record.out;
  const auto run = static_cast<std::size_t>(term.place / out.scale_run);
  term.a_scale = out.a_scales[run];
  term.b_scale = out.b_scales[run];
  const auto product = [](const Typed& a, const Typed& b) {
    return is_number(a) && is_number(b) ? value_of(a) * value_of(b) : ExactNumber{};
  };
  if (out.model.scaling.group == 0) {
    term.unscaled = product(term.a, term.b);
    return;
  }
  for (const int k : group_at(term.place, record)) {
    const auto at = static_cast<std::size_t>(k);
    term.group.push_back({k, out.a[at], out.b[at]});
    term.unscaled += product(out.a[at], out.b[at]);
  }
}

ExplainedTerm explained(const TracedTerm& x, Record& record, bool is_first) {
  const Explanation& out = record.out;
  ExplainedTerm term{.place = is_first ? addend_place : x.place,
                     .kind = x.term.kind,
                     .negative = x.term.negative,
                     .exponent = x.term.exponent,
                     .exact = exactly(x.term),
                     .units = x.units};
  if (is_first) {
    term.a = record.accumulator;
    return term;
  }
  const auto at = static_cast<std::size_t>(x.place);
  term.a = out.a[at];
  term.b = out.b[at];
  if (out.scale_run != 0) explain_scales(term, record);
  const bool is_finite = term.kind == Kind::finite || term.kind == Kind::zero;
  record.take(x.place, is_finite && is_number(term.a) && is_number(term.b), term.exact);
  for (const ExplainedProduct& product : term.group) {
    record.taken[static_cast<std::size_t>(product.place)] = true;
  }
  return term;
}

/// Computes how much alignment and the exponent floor cut off each term.
void explain_cuts(ExplainedBlock& block, const std::vector<Addend>& terms) {
  int top = 0;  // the exponent that the block would be aligned to without the floor
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].kind != Kind::finite || (block.highest && terms[i].exponent <= top)) continue;
    block.highest = static_cast<int>(i);
    top = terms[i].exponent;
  }
  const int fraction_bits = block.top - block.unit;
  block.floor_decides = !block.is_integer && block.highest && top < block.top;
  for (std::size_t i = 0; i < terms.size() && !block.special; ++i) {
    ExplainedTerm& term = block.terms[i];
    const ExactNumber rest = term.exact - exact_number(term.units, block.unit);
    if (block.floor_decides) {
      const std::int64_t finer = aligned(terms[i], top, fraction_bits);
      term.cut_by_alignment = term.exact - exact_number(finer, top - fraction_bits);
      term.cut_by_floor = rest - term.cut_by_alignment;
    } else {
      term.cut_by_alignment = rest;
    }
  }
}

/// The tracer.
struct Recorder {
  Record* record;

  void term(const TracedTerm& x) const { record->terms.push_back(x); }
  void block(const TracedBlock& x) const {
    Explanation& out = record->out;
    const bool integer = is_integer(x.to);
    ExplainedBlock block{.starts_with_c = record->at_c,
                         .is_integer = integer,
                         .top = x.top,
                         .unit = x.top - x.fraction_bits,
                         .exponent_floor = x.exponent_floor,
                         .special = x.special,
                         .units = x.sum,
                         .grid = integer ? x.to : out.model.grid,
                         .rounding = out.model.rounding,
                         .result = {x.result, x.to}};
    std::vector<Addend> addends;
    for (std::size_t i = 0; i < record->terms.size(); ++i) {
      const TracedTerm& term = record->terms[i];
      if (i > 0 && (term.place < 0 || term.place >= record->k())) continue;
      block.terms.push_back(explained(term, *record, i == 0));
      addends.push_back(term.term);
    }
    explain_cuts(block, addends);
    block.sum = exact_number(x.sum, block.unit);
    if (!x.special && is_number(block.result)) {
      block.rounding_error = value_of(block.result) - block.sum;
    }
    for (const ExplainedTerm& term : block.terms) {
      out.errors.alignment += -term.cut_by_alignment;
      out.errors.floor += -term.cut_by_floor;
    }
    if (block.rounding_error) out.errors.blocks += *block.rounding_error;
    record->terms.clear();
    record->accumulate(block.result);
    out.sum = block.result;
    out.steps.emplace_back(std::move(block));
  }
  void operation(const TracedOperation& x) const {
    Explanation& out = record->out;
    const int operands = x.action == Action::convert ? 1 : x.action == Action::multiply_add ? 3 : 2;
    ExplainedOperation step{.role = x.role,
                            .action = x.action,
                            .place = x.place < record->k() ? x.place : addend_place,
                            .operands = {},
                            .result = {x.result, x.to},
                            .random = x.random};
    for (int i = 0; i < operands; ++i) step.operands.push_back({x.operands[i], x.from[i]});
    if (std::ranges::all_of(step.operands, is_number)) step.exact = exactly(step);
    if (step.exact && is_number(step.result)) step.error = value_of(step.result) - *step.exact;
    const bool product = x.action == Action::multiply || x.action == Action::multiply_add;
    if (x.role == Role::chain && product && step.place >= 0) {
      const Typed& a = step.operands[0];
      const Typed& b = step.operands[1];
      const bool number = is_number(a) && is_number(b);
      record->take(step.place, number, number ? value_of(a) * value_of(b) : ExactNumber{});
    }
    const bool is_scaled_promotion = x.role == Role::promote && !record->factors.empty();
    if (is_scaled_promotion) {
      const Typed& acc = record->accumulator;
      if (!record->promoted) record->promoted = is_number(acc) ? value_of(acc) : ExactNumber{};
      if (x.action == Action::multiply_add) record->promote(step.operands[2], step.result);
      if (x.action == Action::add) record->promote(step.operands[0], step.result);
    }
    if (!is_epilogue(x.role)) {
      out.sum = step.result;
      if (step.error && !is_scaled_promotion) out.errors.operations += *step.error;
      // The next promotion does not multiply what adding parts lost.
      if (step.error && x.role == Role::reduce) record->settled.operations += *step.error;
    }
    record->accumulate(step.result);
    out.steps.emplace_back(std::move(step));
  }
  void mark(SumMark x, std::uint64_t bits) const {
    Explanation& out = record->out;
    const Typed begins{bits, record->marked[record->marks++]};
    record->accumulate(begins);
    if (x == SumMark::instruction && begins_at_zero(out.model)) {
      const Format sums = types_of_sums(out.model, out.types).c;
      record->accumulate({zero_bits(sums, false), sums});
    }
    out.sum = begins;
    out.steps.emplace_back(ExplainedMark{x, begins});
  }

  static bool is_epilogue(Role role) {
    return role == Role::scale || role == Role::alpha || role == Role::beta || role == Role::bias ||
           role == Role::relu || role == Role::output;
  }
  static ExactNumber exactly(const ExplainedOperation& x) {
    const auto value = [&x](std::size_t i) { return value_of(x.operands[i]); };
    switch (x.action) {
      case Action::add: return value(0) + value(1);
      case Action::multiply: return value(0) * value(1);
      case Action::multiply_add: return value(0) * value(1) + value(2);
      case Action::convert: return value(0);
      case Action::maximum: return std::max(value(0), value(1));
    }
    return {};
  }
};

/// A visitor that collects the formats of the accumulators at the marks of an element, and the
/// runs of K whose scales its promotions multiply by.
struct MarkedFormats {
  const GemmModel& g;
  std::vector<Format> out = {};
  std::vector<int> runs = {};

  void push_zero(const Format& f) { out.push_back(f); }
  void push_c(const Format& f) { out.push_back(f); }
  void products(const InstructionPlaces& /*unused*/) { out.push_back(g.types.c); }
  void add(const Format& /*unused*/, Role /*unused*/) {}
  void add_scaled(const Format& /*unused*/, int run) { runs.push_back(run); }
  void convert(const Format& /*unused*/, Role /*unused*/) {}
};

void gather(Explanation& out, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
  for (const std::uint64_t x : a) out.a.push_back({x, out.types.a});
  for (const std::uint64_t x : b) out.b.push_back({x, out.types.b});
}

void finish(Explanation& out, const Record& record) {
  for (std::size_t i = 0; i < record.taken.size(); ++i) {
    if (!record.taken[i]) out.left_out.push_back(static_cast<int>(i));
  }
  if (record.finite) out.exact_sum = record.products;
}

std::uint64_t code_of_one(const Format& f) { return convert(0x3F800000, binary32, f).bits; }

/// Returns the k that a sparse model keeps; none of a dense one.
std::vector<int> kept_places(const DotModel& model, std::span<const std::uint64_t> a) {
  std::vector<int> out;
  if (model.sparse_group == 0) return out;
  const int size = model.sparse_group;
  for (int first = 0; first < static_cast<int>(a.size()); first += size) {
    for (int which = 0; which < size / 2; ++which) {
      out.push_back(first + kept_position(a.data() + first, size, which));
    }
  }
  return out;
}

/// Returns alpha·sum + beta·C + bias for the exact sum, or 0 if relu makes it that, with alpha and
/// beta rounded as the epilogue uses them, or with the scales in alpha's place; nothing if an
/// operand is not finite.
std::optional<ExactNumber> with_epilogue(const GemmModel& g, const Explanation& x, bool c_in_sum) {
  const Epilogue& e = g.epilogue;
  const Typed alpha{scalar_bits(e.alpha, e.compute), e.compute};
  const Typed beta{scalar_bits(e.beta, e.compute), e.compute};
  const bool with_c = x.c && !c_in_sum;
  const auto is_infinite = [](const std::optional<Typed>& one) { return one && !is_number(*one); };
  if (!x.exact_sum || !is_number(alpha) || (with_c && !(is_number(beta) && is_number(*x.c))) ||
      is_infinite(x.bias) || is_infinite(x.a_scale) || is_infinite(x.b_scale)) {
    return std::nullopt;
  }
  ExactNumber out = *x.exact_sum;
  if (x.bias && e.bias_first) out += value_of(*x.bias);
  if (!x.a_scale && !x.b_scale) out = value_of(alpha) * out;
  if (x.a_scale) out = value_of(*x.a_scale) * out;
  if (x.b_scale) out = value_of(*x.b_scale) * out;
  if (with_c) out += value_of(beta) * value_of(*x.c);
  if (x.bias && !e.bias_first) out += value_of(*x.bias);
  return e.activation == Activation::relu ? std::max(out, ExactNumber{}) : out;
}

}  // namespace

ExactNumber ExplainedBlock::cut() const {
  ExactNumber out;
  for (const ExplainedTerm& term : terms) out += term.cut();
  return out;
}

bool Explanation::has_epilogue() const {
  return std::ranges::any_of(steps, [](const Step& step) {
    const auto* operation = std::get_if<ExplainedOperation>(&step);
    return operation != nullptr && Recorder::is_epilogue(operation->role);
  });
}

std::optional<ExactNumber> Explanation::error() const {
  if (!exact || !is_number(result)) return std::nullopt;
  return value_of(result) - *exact;
}

std::optional<ExactNumber> Explanation::sum_error() const {
  if (!exact_sum || !is_number(sum)) return std::nullopt;
  return value_of(sum) - *exact_sum;
}

Explanation explain_dot(const Instruction& x, std::span<const std::uint64_t> a,
                        std::span<const std::uint64_t> b, std::uint64_t c,
                        const DotScales& scales) {
  Explanation out{.instruction = instruction_name(x),
                  .sm = x.sm,
                  .known = brief_of(x),
                  .model = x.model,
                  .types = x.types};
  gather(out, a, b);
  const bool from_zero = begins_at_zero(x.model);
  if (x.model.c_last || !x.model.scales.without_c) out.c = Typed{c, x.types.c};
  const Format sums = types_of_sums(x.model, x.types).c;
  const std::vector<Format> no_marks;
  Record record{.out = out,
                .marked = no_marks,
                .accumulator = from_zero ? Typed{zero_bits(sums, false), sums} : *out.c,
                .at_c = !from_zero,
                .taken = std::vector<bool>(a.size()),
                .kept_k = kept_places(x.model, a)};
  if (is_scaled(x.model)) {
    out.scale_run = x.model.scaling.share * (x.model.sparse_group == 0 ? 1 : 2);
    const Format& f = x.model.scaling.format;
    const auto typed = [&f](const std::uint8_t* codes, std::size_t i) {
      return Typed{codes == nullptr ? code_of_one(f) : codes[i], f};
    };
    for (std::size_t i = 0; i * static_cast<std::size_t>(out.scale_run) < a.size(); ++i) {
      out.a_scales.push_back(typed(scales.a, i));
      out.b_scales.push_back(typed(scales.b, i));
    }
  }
  out.result = {dot(x.model, x.types, a.data(), b.data(), static_cast<int>(a.size()), c,
                    Recorder{&record}, scales),
                x.types.d};
  out.sum = out.result;
  if (out.c) record.take_c(*out.c);
  finish(out, record);
  out.exact = out.exact_sum;
  return out;
}

Explanation explain_element(const NamedGemm& gemm, const GemmElement<std::uint64_t>& element) {
  const GemmModel& g = gemm.model;
  if (is_smooth(g.epilogue.activation)) {
    throw Error("--activation " + std::string(activation_name(g.epilogue.activation)) +
                ": its steps in f32 are not known; leave it out to see the value before it");
  }
  Explanation out{.instruction = gemm.instruction,
                  .sm = gemm.sm,
                  .known = gemm.known,
                  .model = g.model,
                  .types = g.types};
  const auto k = static_cast<std::size_t>(element.k);
  gather(out, {element.a, k}, {element.b, k});
  const bool c_in_sum = element.has_c && g.sum.c_first;
  if (c_in_sum || (element.has_c && g.epilogue.beta != 0)) out.c = Typed{element.c, g.c};
  if (element.has_bias) out.bias = Typed{element.bias, g.bias};
  if (element.has_a_scale) out.a_scale = Typed{element.a_scale, binary32};
  if (element.has_b_scale) out.b_scale = Typed{element.b_scale, binary32};
  if (is_scaled(g.model)) {
    out.scale_run = scale_run(g);
    const Format& f = g.model.scaling.format;
    const auto typed = [&f](const std::uint32_t* runs, std::size_t i) {
      return Typed{runs == nullptr ? code_of_one(f) : detail::scale_code(runs[i], f), f};
    };
    for (std::size_t i = 0; i * static_cast<std::size_t>(out.scale_run) < k; ++i) {
      out.a_scales.push_back(typed(element.a_runs, i));
      out.b_scales.push_back(typed(element.b_runs, i));
    }
  }
  MarkedFormats marked{g};
  walk_sum(g, element.k, element.place, marked);
  Record record{.out = out, .marked = marked.out, .taken = std::vector<bool>(k)};
  for (const int run : marked.runs) {
    std::optional<ExactNumber> factor = exact_number(false, 1, 0);
    for (const std::uint32_t* scales : {element.a_runs, element.b_runs}) {
      if (scales == nullptr || !factor) continue;
      const Typed scale{scales[run], binary32};
      factor = is_number(scale) ? std::optional(*factor * value_of(scale)) : std::nullopt;
    }
    record.factors.push_back(factor);
  }
  out.result = {gemm_element(g, element, Recorder{&record}), g.epilogue.out};
  if (c_in_sum) record.take_c(*out.c);
  finish(out, record);
  out.exact = with_epilogue(g, out, c_in_sum);
  return out;
}

bool is_number(const Typed& x) {
  if (is_integer(x.format)) return true;
  const Kind kind = decode(x.bits, x.format).kind;
  return kind == Kind::finite || kind == Kind::zero;
}

ExactNumber value_of(const Typed& x) { return exact_number(x.bits, x.format); }

int ulp_exponent(const ExactNumber& x, const Format& f) {
  if (is_integer(f)) return 0;
  const int e = x.is_zero() ? f.emin() : std::max(x.leading_exponent(), f.emin());
  return e - f.fraction_bits();
}

}  // namespace binade

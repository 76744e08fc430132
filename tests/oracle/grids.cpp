// SPDX-License-Identifier: Apache-2.0
//
// Two ways to find the numbers of a format around an exact number: search the list of all of them,
// or divide. The list is the definition; the division serves formats too wide to list.
#include <algorithm>
#include <vector>

#include "tests/oracle/dyadic.h"

namespace oracle {
namespace {

/// The exponent of the grid of the lowest binade.
int quantum(const Spec& spec) { return (spec.zero ? 1 : 0) - spec.bias - (spec.precision - 1); }

/// Every finite magnitude, read off the codes, as multiples of the quantum in ascending order.
class Listed final : public Neighbours {
 public:
  explicit Listed(const Spec& spec) : quantum_(quantum(spec)) {
    const std::uint64_t codes = std::uint64_t{1} << (spec.exponent_bits + spec.precision - 1);
    Dyadic next;
    for (std::uint64_t code = 0; code < codes; ++code) {
      const Value value = value_of(code << spec.padding, spec);
      if (value.kind != Kind::number) break;
      const Dyadic x = magnitude(value);
      values_.push_back(times_power(x.n, x.e - quantum_));
      next = {Integer(x.n + 1), x.e};
    }
    values_.push_back(times_power(next.n, next.e - quantum_));
    first_ = point(0);
    last_ = point(values_.size() - 1);
  }

  Around around(const Dyadic& x) const override {
    bool exact = false;
    const Integer whole = floor_at(x, quantum_, exact);
    if (whole >= values_.back()) return {last_, last_, false};
    const auto above = std::upper_bound(values_.begin(), values_.end(), whole);
    const auto index = static_cast<std::size_t>(above - values_.begin());
    return {point(index - 1), point(index), exact && values_[index - 1] == whole};
  }
  const Point& first() const override { return first_; }
  const Point& last() const override { return last_; }

 private:
  Point point(std::size_t index) const {
    return {{values_[index], quantum_}, static_cast<Code>(index)};
  }
  int quantum_;
  std::vector<Integer> values_;
  Point first_, last_;
};

class Divided final : public Neighbours {
 public:
  explicit Divided(const Spec& spec) : spec_(spec), quantum_(quantum(spec)) {
    first_ = spec.zero ? Point{} : Point{{Integer(1), -spec.bias}, 0};
    // From the top: none, one or a whole binade of codes are special.
    const std::uint64_t binade = std::uint64_t{1} << (spec.precision - 1);
    const std::uint64_t codes = binade << spec.exponent_bits;
    const std::uint64_t special = spec.codes == Codes::ieee ? binade : spec.codes == Codes::one_nan;
    const std::uint64_t max_code = codes - special - 1;
    const Dyadic largest = magnitude(value_of(max_code << spec.padding, spec));
    last_ = {{Integer(largest.n + 1), largest.e}, static_cast<Code>(max_code) + 1};
  }

  Around around(const Dyadic& x) const override {
    if (compare(x, last_.value) >= 0) return {last_, last_, false};
    const int e = x.n == 0 ? quantum_ : std::max(exponent_of(x) - (spec_.precision - 1), quantum_);
    Around result;
    const Integer n = floor_at(x, e, result.exact);
    // Binades above the lowest grid each add 2^(p-1) codes; the lowest grid counts from zero
    // (or, without a zero, from the hidden bit).
    const Code binade = Code{1} << (spec_.precision - 1);
    const Code code = static_cast<Code>(static_cast<std::int64_t>(n)) + (e - quantum_) * binade -
                      (spec_.zero ? 0 : binade);
    result.below = {{n, e}, code};
    result.above = {{Integer(n + 1), e}, code + 1};
    return result;
  }
  const Point& first() const override { return first_; }
  const Point& last() const override { return last_; }

 private:
  Spec spec_;
  int quantum_;
  Point first_, last_;
};

}  // namespace

std::unique_ptr<const Neighbours> listed(const Spec& spec) {
  return std::make_unique<Listed>(spec);
}
std::unique_ptr<const Neighbours> divided(const Spec& spec) {
  return std::make_unique<Divided>(spec);
}

Around around_unbounded(const Dyadic& x, const Spec& spec) {
  const int e = exponent_of(x) - (spec.precision - 1);
  Around result;
  const Integer n = floor_at(x, e, result.exact);
  const Code binade = Code{1} << (spec.precision - 1);
  const Code code = static_cast<Code>(static_cast<std::int64_t>(n)) + (e - quantum(spec)) * binade -
                    (spec.zero ? 0 : binade);
  result.below = {{n, e}, code};
  result.above = {{Integer(n + 1), e}, code + 1};
  return result;
}

}  // namespace oracle

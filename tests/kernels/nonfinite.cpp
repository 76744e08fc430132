// SPDX-License-Identifier: Apache-2.0
//
// The judge of any_nonfinite: in every format one NaN or infinity among numbers that are almost
// ones, at every place where a vector or a part may end, or none; padding and unused bits are
// anything. What lies around the array is none too.
#include "tests/kernels/array_cases.h"

#include "emulate/fast/nonfinite.h"

namespace binade::kernel_test {
namespace {

/// Encodings of a format that are numbers, and that are not: the ends of both, and random ones.
struct Codes {
  std::vector<std::uint64_t> numbers, others;
};
Codes codes_of(const Format& f, Random& random) {
  Codes out;
  const int width = f.bits() + f.padding_bits;
  const std::uint64_t unused = width == 64 ? 0 : ~std::uint64_t{0} << width;
  const auto add = [&](const Fields& x) {
    const std::uint64_t anything = random() & (unused | (two_to(f.padding_bits) - 1));
    const Kind kind = kind_of(x, f);
    const bool is_number = kind == Kind::zero || kind == Kind::finite;
    (is_number ? out.numbers : out.others).push_back(bits_of(x, f) | anything);
  };
  for (const bool negative : {false, true}) {
    if (negative && !f.has_sign) continue;
    const std::uint64_t exponent = f.exponent_mask(), fraction = f.fraction_mask();
    for (const std::uint64_t e : {std::uint64_t{0}, exponent / 2, exponent - 1, exponent}) {
      for (const std::uint64_t m : {std::uint64_t{0}, std::uint64_t{1}, fraction - 1, fraction}) {
        add({negative, e, m & fraction});
      }
    }
    for (int i = 0; i < 30; ++i) {
      add({negative, random() & exponent, random() & fraction});
      add({negative, exponent, random() & fraction});
    }
  }
  return out;
}

/// An array at an odd place, NaNs or infinities before and behind it where the format has any.
class Surrounded {
 public:
  Surrounded(const Format& f, const Codes& codes, std::size_t n, std::size_t offset, Random& random)
      : bytes_(code_bytes(f)),
        begin_(around * bytes_ + offset),
        n_(n),
        all_(begin_ + (n + around) * bytes_) {
    const std::vector<std::uint64_t>& walls = codes.others.empty() ? codes.numbers : codes.others;
    for (std::size_t i = 0; i < around; ++i) {
      put(offset + i * bytes_, walls[i % walls.size()]);
      put(begin_ + (n + i) * bytes_, walls[i % walls.size()]);
    }
    for (std::size_t i = 0; i < n; ++i) set(i, codes.numbers[random() % codes.numbers.size()]);
  }
  void set(std::size_t i, std::uint64_t code) { put(begin_ + i * bytes_, code); }
  const std::byte* data() const { return all_.data() + begin_; }

 private:
  static constexpr std::size_t around = 128;
  std::size_t bytes_, begin_, n_;
  std::vector<std::byte> all_;

  void put(std::size_t at, std::uint64_t code) { std::memcpy(&all_[at], &code, bytes_); }
};

void judge_array(Verdict& verdict, const Kernels& kernels, const std::string& what,
                 const Surrounded& array, std::size_t n, const Format& f) {
  verdict.begin(words_of(f), "n " + std::to_string(n) + ", " + what);
  const std::array<std::uint8_t, 1> want{any_nonfinite(array.data(), n, f)};
  const std::array<std::uint8_t, 1> got{kernels.any_nonfinite(array.data(), n, f)};
  if (n == 0) return verdict.require(got == want, "something in nothing");
  verdict.compare<std::uint8_t>(got, want);
}

Verdict judge_any_nonfinite(const Kernels& kernels) {
  Verdict verdict;
  Random random(21);
  for (const Format& f : tried_formats()) {
    const Codes codes = codes_of(f, random);
    const std::size_t part = fast::nonfinite_part / code_bytes(f);
    std::vector<std::size_t> sizes(lengths.begin(), lengths.end());
    sizes.insert(sizes.end(), {8, 16, 17, 32, 63, 64, 65, part - 1, part, part + 1, 2 * part + 65});
    for (const std::size_t n : sizes) {
      Surrounded array(f, codes, n, random() % 67, random);
      judge_array(verdict, kernels, "none", array, n, f);
      if (codes.others.empty()) continue;
      for (const std::size_t at : {std::size_t{0}, n / 2, n - 1, random() % (n + 1)}) {
        if (at >= n) continue;
        array.set(at, codes.others[random() % codes.others.size()]);
        judge_array(verdict, kernels, "one at " + std::to_string(at), array, n, f);
        array.set(at, codes.numbers[random() % codes.numbers.size()]);
      }
    }
  }
  // One at every place.
  for (const Format& f : {binary64, binary32, bfloat16, e4m3, e5m2fnuz}) {
    const Codes codes = codes_of(f, random);
    const std::size_t n = 5 * fast::nonfinite_part / 4 / code_bytes(f) + 3;
    Surrounded array(f, codes, n, 1, random);
    for (std::size_t at = 0; at < n; ++at) {
      array.set(at, codes.others[at % codes.others.size()]);
      judge_array(verdict, kernels, "one at " + std::to_string(at), array, n, f);
      array.set(at, codes.numbers[at % codes.numbers.size()]);
    }
  }
  return verdict;
}

bool any_nonfinite_with_faults(const std::byte* in, std::size_t n, const Format& format) {
  const bool out = called(behind<&Kernels::any_nonfinite>, in, n, format);
  return (n == 0 ? nullptr : fault_of_call()) == nullptr ? out : !out;
}

constexpr std::array<Format, 4> timed_formats{binary64, binary32, bfloat16, e4m3};

void time_any_nonfinite(const Kernels& kernels, std::size_t variant) {
  static const auto arrays = [] {
    std::array<std::vector<std::byte>, timed_formats.size()> out;
    Random random(22);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Codes codes = codes_of(timed_formats[i], random);
      const Surrounded array(timed_formats[i], codes, timed_elements, 0, random);
      out[i].assign(array.data(), array.data() + timed_elements * code_bytes(timed_formats[i]));
    }
    return out;
  }();
  volatile bool found =
      kernels.any_nonfinite(arrays[variant].data(), timed_elements, timed_formats[variant]);
  static_cast<void>(found);
}

}  // namespace

std::vector<Entry> nonfinite_entries() {
  std::vector<Work> works;
  for (const Format& f : timed_formats) {
    works.push_back({words_of(f), timed_elements, &time_any_nonfinite, works.size()});
  }
  return {entry_of<&Kernels::any_nonfinite, &any_nonfinite_with_faults>(
      "any_nonfinite", &judge_any_nonfinite, std::move(works))};
}

}  // namespace binade::kernel_test

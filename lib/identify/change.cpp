// SPDX-License-Identifier: Apache-2.0
//
// The table of the usual mistakes. Each row names what the kernel did in the place of what it was
// asked.
#include "lib/identify/change.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <memory>
#include <numeric>
#include <utility>

#include "emulate/instruction_shapes.h"
#include "emulate/project.h"
#include "lib/gemm/files.h"
#include "lib/gemm/scales.h"
#include "lib/identify/misread.h"
#include "lib/identify/run_scales.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

std::vector<std::uint64_t> filled(std::size_t lines, std::size_t k, const auto& code) {
  std::vector<std::uint64_t> out(lines * k);
  parallel_for(lines, 1, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t at = 0; at < k; ++at) out[i * k + at] = code(i, at);
    }
  });
  return out;
}

/// Another number of a vector than the one of line i of so many.
struct OtherPlace {
  std::string words;  ///< behind the vector's name
  std::function<std::size_t(std::size_t i)> place;
};

std::vector<OtherPlace> other_places(std::size_t lines, const char* noun) {
  constexpr std::size_t most = 8;
  std::vector<OtherPlace> out;
  for (std::size_t by = 1; by <= most && by < lines; ++by) {
    for (const bool on : {true, false}) {
      out.push_back(
          {fmt::format(" shifted by {0}: {1} i has that of i {2} {0}", by, noun, on ? "+" : "-"),
           [lines, step = on ? by : lines - by](std::size_t i) { return (i + step) % lines; }});
    }
  }
  for (std::size_t period = 1; period < lines; period *= 2) {
    out.push_back({period == 1 ? fmt::format(": {} i has the first one", noun)
                               : fmt::format(": {} i has that of i mod {}", noun, period),
                   [period](std::size_t i) { return i % period; }});
    if (lines % (2 * period) == 0) {
      out.push_back({fmt::format(": {} i has that of i ^ {}", noun, period),
                     [period](std::size_t i) { return i ^ period; }});
    }
    if (period == 1) continue;
    out.push_back({fmt::format(": {} i has that of i / {}", noun, period),
                   [period](std::size_t i) { return i / period; }});
  }
  return out;
}

/// Builds the rows that concern one case.
class Changes {
 public:
  explicit Changes(const KernelCase& x) : x_(x), run_(x.run), m_(run_.m), n_(run_.n), k_(run_.k) {}

  std::vector<Change> take() {
    if (!run_.dots) transposed();
    addends();
    scales();
    ends_of_k();
    alternate_runs();
    grouped();
    if (!is_integer(x_.types.a) && !is_integer(x_.types.b)) rounded();
    for (Change& x : misread_changes(x_)) out_.push_back(std::move(x));
    shifted_k();
    return std::move(out_);
  }

 private:
  Change& add(std::string words) {
    out_.push_back({.words = std::move(words)});
    return out_.back();
  }

  /// Codes of A and B as the arrays hold them: a[i·K + k] and b[j·K + k].
  auto a_transposed() const {
    return [&run = run_, m = m_, k = k_](std::size_t i, std::size_t at) {
      const std::size_t flat = at * m + i;
      return run.a[flat / k * k + flat % k];
    };
  }
  auto b_transposed() const {
    return [&run = run_, n = n_, k = k_](std::size_t j, std::size_t at) {
      const std::size_t flat = j * k + at;  // in memory, where B is K × N
      return run.b[flat % n * k + flat / n];
    };
  }

  void transposed() {
    const char* const as_memory = " (its memory taken for that of its transpose)";
    const bool wide_a = m_ > 1 && k_ > 1, wide_b = n_ > 1 && k_ > 1;
    const std::string a = m_ == k_ ? "A transposed" : std::string("A transposed") + as_memory;
    const std::string b = n_ == k_ ? "B transposed" : std::string("B transposed") + as_memory;
    if (wide_a) add(a).a = a_transposed();
    if (wide_a && m_ == k_) out_.back().options = "--transpose-a";
    if (wide_b) add(b).b = b_transposed();
    if (wide_b && n_ == k_) out_.back().options = "--transpose-b";
    if (m_ > 1 && n_ > 1) {
      add(m_ == n_ ? "D transposed" : std::string("D transposed") + as_memory).d =
          [&run = run_, m = m_, n = n_](std::size_t at) { return run.d[at % n * m + at / n]; };
    }
    if (wide_a && wide_b) {
      Change& both = add("A and B transposed");
      both.a = a_transposed();
      both.b = b_transposed();
      if (m_ == k_ && n_ == k_) both.options = "--transpose-a --transpose-b";
    }
    another_operand();
    if (m_ == n_ && n_ == k_ && m_ > 1 && x_.types.a == x_.types.b) {
      Change& swapped = add("A and B exchanged: B·A");
      swapped.a = [&run = run_, k = k_](std::size_t i, std::size_t at) {
        return run.b[at * k + i];
      };
      swapped.b = [&run = run_, k = k_](std::size_t j, std::size_t at) {
        return run.a[at * k + j];
      };
    }
    if (!run_.c.empty() && m_ > 1 && n_ > 1) {
      add(run_.c_words + " transposed").c = [&run = run_, m = m_, n = n_](std::size_t at) {
        return run.c[at % n * m + at / n];
      };
    }
  }

  /// One operand's memory read in the place of the other's, as far as it goes.
  void another_operand() {
    if (x_.types.a != x_.types.b) return;
    if (n_ <= m_) {
      add("A read in the place of B").b = [&run = run_, n = n_, k = k_](std::size_t j,
                                                                        std::size_t at) {
        return run.a[at * n + j];  // in memory, B is K × N
      };
    }
    if (m_ <= n_) {
      add("B read in the place of A").a = [&run = run_, n = n_, k = k_](std::size_t i,
                                                                        std::size_t at) {
        const std::size_t flat = i * k + at;
        return run.b[flat % n * k + flat / n];
      };
    }
  }

  void addends() {
    if (!run_.c.empty()) {
      add(run_.c_words + " left out").without_c = true;
    }
    if (!run_.bias.empty()) add("the bias left out").without_bias = true;
    if (!run_.c.empty() && !run_.bias.empty()) {
      Change& neither = add(run_.c_words + " and the bias left out");
      neither.without_c = neither.without_bias = true;
    }
    const bool signed_c = !is_integer(x_.types.c) && x_.types.c.has_sign;
    if (!run_.c.empty() && signed_c) {
      const std::uint64_t sign = std::uint64_t{1} << (x_.types.c.storage_bits() - 1);
      add("C subtracted").c = [&run = run_, sign](std::size_t at) { return run.c[at] ^ sign; };
    }
    if (!run_.c.empty() && is_integer(x_.types.c)) {
      add(run_.c_words + " subtracted").c = [&run = run_](std::size_t at) {
        return std::uint64_t{0U - static_cast<std::uint32_t>(run.c[at])};
      };
    }
    if (!run_.c.empty() && signed_c) {
      const Format& f = x_.types.c;
      add("a ReLU of C alone").c = [&run = run_, f](std::size_t at) {
        return decode(run.c[at], f).negative ? zero_bits(f, false) : run.c[at];
      };
    }
    if (!run_.bias.empty() && run_.c.empty()) {
      misplaced_bias();
      misread_bias();
    }
    if (!run_.c.empty()) exchanged_factors();
    if (!run_.c.empty() && !run_.dots && m_ > 1 && n_ > 1) {
      other_strides_of_c();
      moved_c();
    }
    if (!run_.a_zeros.empty() || !run_.b_zeros.empty()) zero_points();
  }

  /// A bias of 16 bits taken for the other type of so many.
  void misread_bias() {
    const Format was = x_.types.bias;
    if (was != bfloat16 && was != binary16) return;
    const Format other = was == bfloat16 ? binary16 : bfloat16;
    Change& x = add(fmt::format("the bias read as {}", type_name(other)));
    x.without_bias = true;
    x.c = [&run = run_, n = n_](std::size_t at) { return run.bias[at % n]; };
    x.as_c = other;
  }

  /// C's memory read with rows of another length, as far as it goes.
  void other_strides_of_c() {
    std::vector<std::size_t> strides{m_, k_, 2 * n_, n_ / 2, n_ - 1, n_ + 1};
    for (const std::size_t unit : {4, 8, 16, 32, 64, 128}) {
      strides.push_back((n_ + unit - 1) / unit * unit);
      strides.push_back(n_ / unit * unit);
    }
    std::ranges::sort(strides);
    const auto repeated = std::ranges::unique(strides);
    strides.erase(repeated.begin(), repeated.end());
    for (const std::size_t stride : strides) {
      if (stride == 0 || stride == n_) continue;
      add(fmt::format("{}'s rows of {} read with a stride of {}", run_.c_words, n_, stride)).c =
          [&run = run_, n = n_, stride, zero = zero_bits(x_.types.c, false)](std::size_t at) {
            const std::size_t flat = at / n * stride + at % n;
            return flat < run.c.size() ? run.c[flat] : zero;
          };
    }
  }

  /// Zero points of one operand alone, of another sign, or without what both give together.
  void zero_points() {
    constexpr std::size_t most_elements = std::size_t{1} << 22;
    if (run_.size() > most_elements) return;
    using Codes = std::vector<std::uint64_t>;
    const ZeroPoints zeros{run_.a_zeros, run_.b_zeros};
    const auto negative = [](std::vector<std::int32_t> of) {
      for (std::int32_t& x : of) x = static_cast<std::int32_t>(0U - static_cast<std::uint32_t>(x));
      return of;
    };
    const auto addend = [&](std::vector<std::int32_t> a, std::vector<std::int32_t> b) {
      Codes out(run_.c.size());
      add_zero_points(out, operands_of(run_), {x_.types.a, x_.types.b, s32, s32},
                      {std::move(a), std::move(b)}, run_.dots);
      return out;
    };
    const Codes right = addend(zeros.a, zeros.b);
    const auto change = [&](const char* words, const Codes& instead) {
      auto codes = std::make_shared<Codes>(run_.c.size());
      for (std::size_t at = 0; at < codes->size(); ++at) {
        (*codes)[at] = static_cast<std::uint32_t>(run_.c[at] - right[at] + instead[at]);
      }
      add(words).c = [codes](std::size_t at) { return (*codes)[at]; };
    };
    const bool of_a = !zeros.a.empty(), of_b = !zeros.b.empty();
    const Codes a_alone = addend(zeros.a, {}), b_alone = addend({}, zeros.b);
    if (of_a) change("A's zero points left out", b_alone);
    if (of_b) change("B's zero points left out", a_alone);
    if (of_a)
      change("A's zero points added, in place of subtracted", addend(negative(zeros.a), zeros.b));
    if (of_b)
      change("B's zero points added, in place of subtracted", addend(zeros.a, negative(zeros.b)));
    if (!of_a || !of_b) return;
    change("the zero points added, in place of subtracted",
           addend(negative(zeros.a), negative(zeros.b)));
    Codes apart = a_alone;
    for (std::size_t at = 0; at < apart.size(); ++at) {
      apart[at] = static_cast<std::uint32_t>(apart[at] + b_alone[at]);
    }
    change("K times both zero points left out", apart);
  }

  /// Another element of the bias than the one of the column.
  void misplaced_bias() {
    const auto from = [&](std::string words, auto place) {
      Change& x = add(std::move(words));
      x.without_bias = true;
      x.c = [&run = run_, place](std::size_t at) { return run.bias[place(at)]; };
      x.as_c = x_.types.bias;
    };
    if (m_ <= n_ && m_ > 1 && !run_.dots) {
      from("the bias added by rows: its element i to all of row i",
           [n = n_](std::size_t at) { return at / n; });
    }
    for (OtherPlace& other : other_places(n_, "column")) {
      from("the bias" + other.words,
           [n = n_, place = std::move(other.place)](std::size_t at) { return place(at % n); });
    }
  }

  /// Other rows or columns of C than those of the element.
  void moved_c() {
    const auto from = [&](const std::string& words, auto place) {
      add(run_.c_words + words).c = [&run = run_, n = n_, place](std::size_t at) {
        return run.c[place(at / n, at % n)];
      };
    };
    from("'s first row added to all rows", [](std::size_t, std::size_t j) { return j; });
    from("'s first column added to all columns",
         [n = n_](std::size_t i, std::size_t) { return i * n; });
    for (const bool on : {true, false}) {
      const char* const sign = on ? "+" : "-";
      from(fmt::format(" shifted by a row: row i has that of i {} 1", sign),
           [n = n_, m = m_, by = on ? 1 : m_ - 1](std::size_t i, std::size_t j) {
             return (i + by) % m * n + j;
           });
      from(fmt::format(" shifted by a column: column j has that of j {} 1", sign),
           [n = n_, by = on ? 1 : n_ - 1](std::size_t i, std::size_t j) {
             return i * n + (j + by) % n;
           });
    }
  }

  /// Alpha and beta in each other's place, or alpha for C, too.
  void exchanged_factors() {
    const auto [alpha, beta] = x_.epilogue;
    if (alpha == beta || alpha == 0 || beta == 0) return;
    Change& both = add("alpha and beta exchanged");
    both.alpha = beta / alpha;
    both.beta = alpha / beta;
    if (alpha != 1) add("C multiplied by alpha, too").beta = alpha;
  }

  /// Scales in another place or power than theirs.
  void scales() {
    const auto scales_to = [](const std::vector<std::uint64_t>& of, double (*as)(double)) {
      return [&of, as](std::size_t line) {
        const double x = as(std::bit_cast<float>(static_cast<std::uint32_t>(of[line])));
        return std::uint64_t{std::bit_cast<std::uint32_t>(static_cast<float>(x))};
      };
    };
    const bool of_a = !run_.a_scale.empty(), of_b = !run_.b_scale.empty();
    // Beside scales of blocks these are the tensor's.
    const std::string noun = run_.runs.any() ? "scale of the tensor" : "scales";
    for (const ScalePower& power : scale_powers) {
      const auto change = [&](bool a, bool b, const std::string& which) {
        Change& x = add(fmt::format("{} {}", which, power.words));
        if (a) x.a_scale = scales_to(run_.a_scale, power.as);
        if (b) x.b_scale = scales_to(run_.b_scale, power.as);
      };
      if (of_a) change(true, false, "A's " + noun);
      if (of_b) change(false, true, "B's " + noun);
      if (of_a && of_b)
        change(true, true, run_.runs.any() ? "A's and B's " + noun : "the scales of A and B");
    }
    for (OtherPlace& other : of_a ? other_places(m_, "row") : std::vector<OtherPlace>{}) {
      add("A's scales" + other.words).a_scale = [&run = run_,
                                                 place = std::move(other.place)](std::size_t i) {
        return run.a_scale[place(i)];
      };
    }
    for (OtherPlace& other : of_b ? other_places(n_, "column") : std::vector<OtherPlace>{}) {
      add("B's scales" + other.words).b_scale = [&run = run_,
                                                 place = std::move(other.place)](std::size_t j) {
        return run.b_scale[place(j)];
      };
    }
    if (of_a && of_b && run_.runs.any()) {
      add("B's " + noun + " in the place of A's").a_scale = [&run = run_](std::size_t) {
        return run.b_scale[0];
      };
      add("A's " + noun + " in the place of B's").b_scale = [&run = run_](std::size_t) {
        return run.a_scale[0];
      };
    } else if (of_a && of_b && m_ == n_ && !run_.dots) {
      Change& x = add("the scales of A and B exchanged");
      x.a_scale = [&run = run_](std::size_t i) { return run.b_scale[i]; };
      x.b_scale = [&run = run_](std::size_t j) { return run.a_scale[j]; };
    }
  }

  std::vector<std::size_t> range(std::size_t begin, std::size_t end) const {
    std::vector<std::size_t> out(end - begin);
    std::iota(out.begin(), out.end(), begin);
    return out;
  }

  void ends_of_k() {
    std::vector<std::size_t> lengths;
    for (std::size_t t = 128; t >= 2; t /= 2) {
      if (k_ % t != 0 && k_ > t) lengths.push_back(k_ % t);
    }
    for (const std::size_t t : {1, 2, 4, 8, 16, 32, 64, 128}) {
      if (k_ > t) lengths.push_back(t);
    }
    std::vector<std::size_t> told;
    for (const std::size_t t : lengths) {
      if (std::ranges::find(told, t) != told.end()) continue;
      told.push_back(t);
      const std::string places = t == 1 ? "k" : fmt::format("{} k", t);
      const std::string verb = t == 1 ? "is" : "are";
      add(fmt::format("the last {} of K left out (k {} on)", places, k_ - t)).places =
          range(0, k_ - t);
      add(fmt::format("the first {} of K left out", places)).places = range(t, k_);
      Change& twice = add(fmt::format("the last {} of K counted twice (k {} on)", places, k_ - t));
      twice.places = range(0, k_);
      for (std::size_t at = k_ - t; at < k_; ++at) twice.places.push_back(at);
    }
  }

  /// The sums of a grouped product: each group of columns, or rows, has a run of K alone.
  void grouped() {
    if (run_.dots) return;
    for (std::size_t groups = 2; groups <= 64 && groups <= k_; groups *= 2) {
      const auto add_groups = [&](const char* noun, std::size_t lines, const Format& f,
                                  const std::vector<std::uint64_t>& codes, auto member) {
        if (k_ % groups != 0 || lines % groups != 0 || !f.has_zero) return;
        add(
            fmt::format("of {} groups of {}s each has its own run of {} k alone, as in a grouped "
                        "product",
                        groups, noun, k_ / groups)).*
            member = [&codes, k = k_, lines, groups, zero = zero_bits(f, false)](std::size_t line,
                                                                                 std::size_t at) {
          return line * groups / lines == at * groups / k ? codes[line * k + at] : zero;
        };
      };
      add_groups("column", n_, x_.types.b, run_.b, &Change::b);
      add_groups("row", m_, x_.types.a, run_.a, &Change::a);
    }
  }

  /// Every second run of K left out.
  void alternate_runs() {
    for (std::size_t t = 1; t <= 64 && 2 * t <= k_; t *= 2) {
      for (const bool first : {true, false}) {
        Change& x = add(t == 1 ? fmt::format("the {} k left out", first ? "even" : "odd")
                               : fmt::format("of every {} k the {} {} left out", 2 * t,
                                             first ? "first" : "last", t));
        for (std::size_t at = 0; at < k_; ++at) {
          if ((at / t % 2 == 0) != first) x.places.push_back(at);
        }
      }
    }
  }

  /// Codes of a matrix whose numbers are rounded to another format first.
  static auto rounded_codes(const std::vector<std::uint64_t>& codes, std::size_t k,
                            const Format& from, const Format& to, Rounding rounding) {
    return [&codes, k, from, to, rounding](std::size_t line, std::size_t at) {
      return convert(codes[line * k + at], from, to, {.rounding = rounding}).bits;
    };
  }

  void rounded() {
    const auto narrower = [](const Format& from, const Format& to) {
      return !fits_in(from, to) && (to.precision < from.precision || to.emax() < from.emax());
    };
    constexpr std::array formats_tried{tf32, bfloat16, binary16, e4m3, e5m2, binary32};
    constexpr std::array ways{Rounding::ties_to_even, Rounding::ties_to_away,
                              Rounding::toward_zero};
    const KernelTypes& t = x_.types;
    for (const Format& to : formats_tried) {
      for (const Rounding way : ways) {
        const bool of_a = narrower(t.a, to), of_b = narrower(t.b, to);
        const std::string how = fmt::format("rounded to {}, {}", type_name(to), rounding_name(way));
        // The numbers of tf32 are encodings of binary32, which its cores take.
        const auto change = [&](bool a, bool b, const char* which) {
          Change& x = add(fmt::format("{} {}", which, how));
          if (a) x.a = rounded_codes(run_.a, k_, t.a, to, way);
          if (b) x.b = rounded_codes(run_.b, k_, t.b, to, way);
          if (a) x.as_a = to;
          if (b) x.as_b = to;
          if (a && b) {
            x.options = round_option(way);
            return;
          }
          // An operand of its own width: what it became stands in the format that it had.
          if (a) widen(x.a, x.as_a, to, t.a);
          if (b) widen(x.b, x.as_b, to, t.b);
        };
        if (of_a && of_b) change(true, true, "operands");
        if (of_a && of_b && to == tf32) {
          for (const Rounding other : ways) {
            if (other != way) rounded_apart(to, way, other);
          }
        }
        if (of_a) change(true, false, "A");
        if (of_b) change(false, true, "B");
      }
    }
    flushed();
  }

  /// A rounded in another way than B.
  void rounded_apart(const Format& to, Rounding of_a, Rounding of_b) {
    Change& x = add(fmt::format("A rounded to {}, {}, B {}", type_name(to), rounding_name(of_a),
                                rounding_name(of_b)));
    x.a = rounded_codes(run_.a, k_, x_.types.a, to, of_a);
    x.b = rounded_codes(run_.b, k_, x_.types.b, to, of_b);
    x.as_a = x.as_b = to;
  }

  static void widen(std::function<std::uint64_t(std::size_t, std::size_t)>& codes,
                    std::optional<Format>& as, const Format& from, const Format& to) {
    codes = [narrow = std::move(codes), from, to](std::size_t line, std::size_t k) {
      return convert(narrow(line, k), from, to).bits;
    };
    as = to;
  }

  void flushed() {
    const auto some = [](const std::vector<std::uint64_t>& codes, const Format& f) {
      return f.has_zero &&
             std::ranges::any_of(codes, [&](std::uint64_t code) { return is_subnormal(code, f); });
    };
    const auto codes_of = [&](const std::vector<std::uint64_t>& codes, const Format& f) {
      return [&codes, k = k_, f](std::size_t line, std::size_t at) {
        const std::uint64_t code = codes[line * k + at];
        return is_subnormal(code, f) ? zero_bits(f, decode(code, f).negative) : code;
      };
    };
    const bool of_a = some(run_.a, x_.types.a), of_b = some(run_.b, x_.types.b);
    if (!of_a && !of_b) return;
    Change& x = add("subnormal operands taken for zero");
    if (of_a) x.a = codes_of(run_.a, x_.types.a);
    if (of_b) x.b = codes_of(run_.b, x_.types.b);
  }

  /// B's k out of step with A's.
  void shifted_k() {
    if (k_ > 1) {
      add("B's k in the reverse order against A's").b = [&run = run_, k = k_](std::size_t j,
                                                                              std::size_t at) {
        return run.b[j * k + k - 1 - at];
      };
    }
    for (std::size_t t = 1; t <= 128 && t < k_; t *= 2) {
      const auto of_b = [&](std::string words, auto place) {
        add(std::move(words)).b = [&run = run_, k = k_, place](std::size_t j, std::size_t at) {
          return run.b[j * k + place(at)];
        };
      };
      of_b(fmt::format("B's k shifted by {} against A's: A's k meets B's k + {}", t, t),
           [k = k_, t](std::size_t at) { return (at + t) % k; });
      of_b(fmt::format("B's k shifted by {} against A's: A's k meets B's k - {}", t, t),
           [k = k_, t](std::size_t at) { return (at + k - t) % k; });
      if (k_ % (2 * t) == 0) {
        of_b(t == 1 ? std::string("B's k exchanged in pairs against A's")
                    : fmt::format("B's k exchanged in blocks of {} against A's", t),
             [t](std::size_t at) { return at ^ t; });
      }
    }
  }

  const KernelCase& x_;
  const KernelRun& run_;
  std::size_t m_, n_, k_;
  std::vector<Change> out_;
};

}  // namespace

KernelCase part_of(const KernelCase& given, const Change& change,
                   const std::vector<std::size_t>& rows, const std::vector<std::size_t>& columns,
                   bool dots) {
  const KernelRun& was = given.run;
  const std::vector<std::size_t>& places = change.places;
  KernelCase out{given.types, {}, given.epilogue};
  if (change.as_a) out.types.a = *change.as_a;
  if (change.as_b) out.types.b = *change.as_b;
  if (change.as_c) out.types.c = *change.as_c;
  if (change.as_d) out.types.d = *change.as_d;
  out.epilogue.alpha *= change.alpha;
  out.epilogue.beta *= change.beta;
  KernelRun& run = out.run;
  run.dots = dots;
  run.m = rows.size();
  run.n = columns.size();
  run.k = places.empty() ? was.k : places.size();
  const auto place = [&](std::size_t at) { return places.empty() ? at : places[at]; };
  run.a = filled(run.m, run.k, [&](std::size_t i, std::size_t at) {
    return change.a ? change.a(rows[i], place(at)) : was.a[rows[i] * was.k + place(at)];
  });
  run.b = filled(run.n, run.k, [&](std::size_t j, std::size_t at) {
    return change.b ? change.b(columns[j], place(at)) : was.b[columns[j] * was.k + place(at)];
  });
  const auto like_d = [&](const std::vector<std::uint64_t>& codes, const auto& other) {
    return filled(run.m, dots ? 1 : run.n, [&](std::size_t i, std::size_t j) {
      const std::size_t row = rows[i], column = columns[dots ? i : j];
      const std::size_t at = was.dots ? row : row * was.n + column;
      return other ? other(at) : codes[at];
    });
  };
  run.d = like_d(was.d, change.d);
  run.c_words = was.c_words;
  if (!change.without_c && (change.c || !was.c.empty())) run.c = like_d(was.c, change.c);
  if (!change.without_bias && !was.bias.empty()) {
    for (const std::size_t j : columns) run.bias.push_back(was.bias[j]);
  }
  for (const std::size_t i : was.a_scale.empty() ? std::vector<std::size_t>{} : rows) {
    run.a_scale.push_back(change.a_scale ? change.a_scale(i) : was.a_scale[i]);
  }
  for (const std::size_t j : was.b_scale.empty() ? std::vector<std::size_t>{} : columns) {
    run.b_scale.push_back(change.b_scale ? change.b_scale(j) : was.b_scale[j]);
  }
  run.runs.length = was.runs.length * change.joined_runs;
  const std::size_t count = run.runs.count(run.k);
  const auto add_runs = [&](std::vector<std::uint32_t>& to, const std::vector<std::uint32_t>& all,
                            std::size_t line, const auto& other) {
    const std::uint32_t* const from = was.runs.of_line(all, line, was.k);
    for (std::size_t at = 0; at < count && from != nullptr; ++at) {
      const std::size_t of = place(at * run.runs.length) / was.runs.length;
      to.push_back(other ? other(line, of) : from[of]);
    }
  };
  for (const std::size_t i : rows) add_runs(run.runs.a, was.runs.a, i, change.a_runs);
  for (const std::size_t j : columns) add_runs(run.runs.b, was.runs.b, j, change.b_runs);
  return out;
}

KernelCase changed(const KernelCase& given, const Change& change) {
  std::vector<std::size_t> rows(given.run.m), columns(given.run.n);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  return part_of(given, change, rows, columns, given.run.dots);
}

std::optional<Format> narrower_d(const KernelCase& x) {
  const Format& from = x.types.d;
  if (is_integer(from)) return std::nullopt;
  for (const Format& to : {e4m3, e5m2, bfloat16, binary16, tf32}) {
    if (to.precision >= from.precision) continue;
    const bool all = std::ranges::all_of(
        x.run.d, [&](std::uint64_t code) { return convert(code, from, to).flags == 0; });
    if (all) return to;
  }
  return std::nullopt;
}

std::optional<Change> rounded_d(const KernelCase& given) {
  const std::optional<Format> to = narrower_d(given);
  if (!to) return std::nullopt;
  Change out{.words = fmt::format("D rounded to {}", type_name(*to))};
  out.d = [&run = given.run, from = given.types.d, to = *to](std::size_t at) {
    return convert(run.d[at], from, to).bits;
  };
  out.as_d = *to;
  return out;
}

std::vector<Change> usual_changes(const KernelCase& given) {
  std::vector<Change> out = Changes(given).take();
  std::ranges::move(run_scale_changes(given), std::back_inserter(out));
  return out;
}

}  // namespace binade

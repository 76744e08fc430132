// SPDX-License-Identifier: Apache-2.0
//
// Counts what rows hold, and reads and writes lines of seen.tsv.
#include "lib/evidence/seen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "lib/instruction/instruction_name.h"
#include "lib/parallel/parallel.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {

extern const std::string_view seen_rows;  // the contents of seen.tsv, which the build defines

namespace {

double magnitude_of(std::uint64_t bits, const Format& f) {
  if (is_integer(f)) return std::fabs(static_cast<double>(integer_of(bits, f)));
  const Exact x = decode(bits, f);
  return std::ldexp(static_cast<double>(x.significand), x.exponent);
}

std::string words_of(const SeenRange& x) {
  const std::string ends = x.most == 0 ? "- -" : fmt::format("{} {}", x.least, x.most);
  return fmt::format("{} {} {} {} {} {}", ends, x.zeros, x.minus_zeros, x.subnormals, x.infinities,
                     x.nans);
}

template <typename Number>
bool read_number(std::string_view word, Number& out) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  return error == std::errc{} && end == word.data() + word.size();
}

bool read_range(std::string_view text, SeenRange& out) {
  const std::vector<std::string_view> words = split(text, ' ');
  if (words.size() != 7) return false;
  const bool none = words[0] == "-" && words[1] == "-";
  bool good = none || (read_number(words[0], out.least) && read_number(words[1], out.most));
  std::size_t at = 2;
  for (std::uint64_t* n :
       {&out.zeros, &out.minus_zeros, &out.subnormals, &out.infinities, &out.nans}) {
    good = good && read_number(words[at++], *n);
  }
  return good;
}

bool read_told(std::string_view text, std::map<std::string, std::uint64_t>& out) {
  if (text.empty()) return true;
  for (const std::string_view pair : split(text, ';')) {
    const std::size_t equals = pair.rfind('=');
    std::uint64_t rows = 0;
    if (equals == std::string_view::npos || !read_number(pair.substr(equals + 1), rows)) {
      return false;
    }
    out[std::string(pair.substr(0, equals))] = rows;
  }
  return true;
}

bool read_set(std::string_view line, SeenSet& out) {
  const std::vector<std::string_view> words = split(line, '\t');
  if (words.size() != 8) return false;
  out.gpu = words[0];
  out.sm = parse_architecture(words[1]);
  out.instruction = words[2];
  return read_number(words[3], out.rows) && read_range(words[4], out.operands) &&
         read_range(words[5], out.c) && read_range(words[6], out.d) &&
         read_told(words[7], out.told);
}

}  // namespace

void SeenRange::add(std::uint64_t bits, const Format& f) {
  const Kind kind =
      is_integer(f) ? (integer_of(bits, f) == 0 ? Kind::zero : Kind::finite) : decode(bits, f).kind;
  switch (kind) {
    case Kind::zero:
      zeros += 1;
      minus_zeros += !is_integer(f) && decode(bits, f).negative ? 1 : 0;
      return;
    case Kind::infinite: infinities += 1; return;
    case Kind::nan: nans += 1; return;
    case Kind::finite: break;
  }
  subnormals += !is_integer(f) && fields_of(bits, f).exponent == 0 ? 1 : 0;
  const double x = magnitude_of(bits, f);
  least = most == 0 ? x : std::min(least, x);
  most = std::max(most, x);
}

void SeenRange::merge(const SeenRange& other) {
  if (other.most != 0) least = most == 0 ? other.least : std::min(least, other.least);
  most = std::max(most, other.most);
  zeros += other.zeros;
  minus_zeros += other.minus_zeros;
  subnormals += other.subnormals;
  infinities += other.infinities;
  nans += other.nans;
}

SeenSet seen_of(const Instruction& x, const Dots& dots, std::string_view gpu) {
  const std::vector<Rival> rivals = rivals_of(x);
  const auto k = static_cast<std::size_t>(x.k);
  struct Slot {
    SeenSet set;
    std::vector<std::uint64_t> told;
  };
  std::vector<Slot> slots(thread_count(), Slot{{}, std::vector<std::uint64_t>(rivals.size())});
  parallel_for(dots.c.size(), 256, [&](std::size_t begin, std::size_t end, std::size_t at) {
    Slot& slot = slots[at];
    for (std::size_t i = begin; i < end; ++i) {
      const RowOperands operands = operands_of_row(dots, i);
      const SeenRow row = seen_row(x, operands);
      for (std::size_t n = 0; n < k; ++n) {
        if (row.a[n] == 0 && row.b[n] == 0) continue;  // padding of the row
        slot.set.operands.add(row.a[n], x.types.a);
        slot.set.operands.add(row.b[n], x.types.b);
      }
      slot.set.c.add(dots.c[i], x.types.c);
      slot.set.d.add(dots.d[i], x.types.d);
      for (std::size_t n = 0; n < rivals.size(); ++n) {
        slot.told[n] += dots.d[i] == row.d && rivals[n].differs(row) ? 1 : 0;
      }
    }
  });
  SeenSet out;
  out.gpu = short_gpu(gpu, x.sm);
  out.sm = x.sm;
  out.instruction = instruction_name(x);
  out.rows = dots.c.size();
  for (const Slot& slot : slots) {
    out.operands.merge(slot.set.operands);
    out.c.merge(slot.set.c);
    out.d.merge(slot.set.d);
    for (std::size_t n = 0; n < rivals.size(); ++n) {
      if (slot.told[n] != 0) out.told[rivals[n].name] += slot.told[n];
    }
  }
  return out;
}

/// Returns whether a name occurs in a text as words of its own.
bool holds_name(std::string_view text, std::string_view name) {
  const auto in_word = [&text](std::size_t at) {
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
  };
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    if ((at == 0 || !in_word(at - 1)) && !in_word(at + name.size())) return true;
  }
  return false;
}

std::string short_gpu(std::string_view gpu, int sm) {
  const Architecture* on = find_architecture(sm);
  if (on != nullptr) {
    for (const std::string_view name : gpu_names(*on)) {
      if (holds_name(gpu, name)) return std::string(name);
    }
  }
  return printable(gpu, 60);
}

std::string seen_head() { return "gpu\tarchitecture\tinstruction\trows\toperands\tc\td\ttold\n"; }

std::string line_of(const SeenSet& x) {
  std::vector<std::string> told;
  for (const auto& [name, rows] : x.told) told.push_back(fmt::format("{}={}", name, rows));
  return fmt::format("{}\tsm_{}\t{}\t{}\t{}\t{}\t{}\t{}\n", x.gpu, x.sm, x.instruction, x.rows,
                     words_of(x.operands), words_of(x.c), words_of(x.d), fmt::join(told, ";"));
}

std::vector<SeenSet> parse_seen(std::string_view text) {
  std::vector<SeenSet> out;
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (number == 1 || line.empty()) continue;
    SeenSet set;
    if (!read_set(line, set)) {
      throw Error(
          fmt::format("line {} of seen.tsv is malformed; make the file again with "
                      "binade validate --replay … --seen",
                      number));
    }
    out.push_back(std::move(set));
  }
  return out;
}

const std::vector<SeenSet>& recorded_sets() {
  static const std::vector<SeenSet> sets = parse_seen(seen_rows);
  return sets;
}

std::string range_text(const SeenRange& x) {
  std::string out =
      x.most == 0 ? "no numbers but 0" : fmt::format("{:.3g} … {:.3g}", x.least, x.most);
  const auto add = [&out](std::uint64_t n, const char* what) {
    if (n != 0) out += fmt::format(", {} {}", n, what);
  };
  add(x.zeros, "zeros");
  add(x.minus_zeros, "of them -0");
  add(x.subnormals, "subnormal");
  add(x.infinities, "Inf");
  add(x.nans, "NaN");
  return out;
}

}  // namespace binade

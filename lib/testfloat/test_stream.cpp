// SPDX-License-Identifier: Apache-2.0
//
// Reading test cases strictly, writing them, and checking a stream of them block by block on all
// threads.
#include "lib/testfloat/test_stream.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "lib/parallel/parallel.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 22;
constexpr std::size_t longest_line = 256;

std::string form_of(const TestFunction& function) {
  std::string out;
  for (std::size_t i = 0; i < function.operands.size(); ++i) out += operand_name(function, i) + " ";
  return out + (function.has_flags() ? "result [flags]" : "result");
}

/// Removes spaces and a hexadecimal number of at most `digits` digits from the beginning of the
/// line, and returns the number.
std::uint64_t take_number(std::string_view& line, int digits, int bits,
                          const TestFunction& function) {
  while (!line.empty() && (line[0] == ' ' || line[0] == '\t')) line.remove_prefix(1);
  const std::size_t size = std::min(line.find_first_of(" \t"), line.size());
  const std::string_view word = line.substr(0, size);
  line.remove_prefix(size);
  if (word.empty()) {
    throw Error("too few numbers; " + function.name + " takes lines of " + form_of(function));
  }
  std::uint64_t value = 0;
  for (const char c : word) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) {
      throw Error("'" + printable(word, 40) + "' is not hexadecimal; write raw digits, as 3C00");
    }
    value = value << 4 | static_cast<std::uint64_t>(digit);
  }
  if (word.size() > static_cast<std::size_t>(digits)) {
    throw Error("'" + printable(word, 40) + "' has more than " + std::to_string(digits) +
                (digits == 1 ? " digit" : " digits") + "; " + function.name + " takes lines of " +
                form_of(function));
  }
  if (bits < 64 && value >> bits != 0) {
    throw Error("'" + std::string(word) + "' has bits above the " + std::to_string(bits) +
                " that there are; " + function.name + " takes lines of " + form_of(function));
  }
  return value;
}

void append_hex(std::string& out, std::uint64_t value, int digits) {
  constexpr std::string_view hex = "0123456789ABCDEF";
  for (int i = digits - 1; i >= 0; --i) out += hex[value >> (4 * i) & 15];
}

/// Returns whether each lane of x equals that of y or both are NaNs.
bool same_or_nan(std::uint64_t x, std::uint64_t y, const ValueType& type) {
  const int width = type.lane_bits();
  for (int lane = 0; lane < type.lanes; ++lane) {
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - width);
    const std::uint64_t a = x >> (lane * width) & mask;
    const std::uint64_t b = y >> (lane * width) & mask;
    if (a == b) continue;
    const auto is_nan = [&](std::uint64_t bits) {
      return kind_of(fields_of(bits, type.format), type.format) == Kind::nan;
    };
    if (!is_nan(a) || !is_nan(b)) return false;
  }
  return true;
}

/// The first mismatches of a kind, and how many there are.
struct FoundMismatches {
  std::vector<Mismatch> first = {};
  std::uint64_t count = 0;

  void add(const Mismatch& mismatch, std::size_t keep) {
    ++count;
    first.push_back(mismatch);
    if (first.size() >= 4096 && first.size() / 2 > keep) cut(keep);
  }
  void take(const FoundMismatches& other, std::size_t keep) {
    count += other.count;
    first.insert(first.end(), other.first.begin(), other.first.end());
    cut(keep);
  }

 private:
  void cut(std::size_t keep) {
    std::ranges::sort(first, {}, &Mismatch::line);
    if (first.size() > keep) first.resize(keep);
  }
};

/// The mismatches and the first malformed line among one thread's lines.
struct Found {
  FoundMismatches values = {}, flags = {};
  std::uint64_t without_flags = 0;
  std::uint64_t bad_line = ~std::uint64_t{0};
  std::string bad = {};
};

/// Reads a stream in blocks and splits them into complete lines. What follows the last complete
/// line is moved to the front of the next block.
class Lines {
 public:
  explicit Lines(const ReadSome& read) : read_(read) {}

  /// Returns the lines of the next block without their newlines; none at the end of the stream.
  const std::vector<std::string_view>& next() {
    lines_.clear();
    text_.erase(0, used_);
    used_ = 0;
    fill();
    for (std::size_t begin = 0; begin < text_.size();) {
      const std::size_t end = text_.find('\n', begin);
      // An incomplete line waits for the next block, unless it fills this one.
      if (end == std::string::npos && !ended_ && begin > 0) break;
      const std::size_t stop = std::min(end, text_.size());
      const bool carriage_return = stop > begin && text_[stop - 1] == '\r';
      lines_.emplace_back(text_.data() + begin, stop - begin - (carriage_return ? 1 : 0));
      begin = std::min(stop + 1, text_.size());
      used_ = begin;
    }
    return lines_;
  }

 private:
  void fill() {
    while (!ended_ && text_.size() < block_bytes) {
      const std::size_t old = text_.size();
      text_.resize(old + (std::size_t{1} << 16));
      const std::size_t got = read_({text_.data() + old, text_.size() - old});
      text_.resize(old + got);
      ended_ = got == 0;
    }
  }

  const ReadSome& read_;
  std::string text_;
  std::size_t used_ = 0;
  bool ended_ = false;
  std::vector<std::string_view> lines_;
};

}  // namespace

TestCase parse_test_case(std::string_view line, const TestFunction& function) {
  if (line.size() > longest_line) {
    throw Error("longer than " + std::to_string(longest_line) + " characters; " + function.name +
                " takes lines of " + form_of(function));
  }
  TestCase out;
  for (std::size_t i = 0; i < function.operands.size(); ++i) {
    const ValueType& type = function.operands[i];
    out.operands[i] = take_number(line, type.digits(), type.bits(), function);
  }
  out.result.bits = take_number(line, function.result.digits(), function.result.bits(), function);
  const auto at_end = [&] { return line.find_first_not_of(" \t") == std::string_view::npos; };
  out.has_flags = function.has_flags() && !at_end();
  if (out.has_flags) out.result.flags = static_cast<Flags>(take_number(line, 2, 5, function));
  if (!at_end()) {
    throw Error("too many numbers; " + function.name + " takes lines of " + form_of(function));
  }
  return out;
}

void write_test_case(std::string& out, const TestCase& test, const TestFunction& function) {
  for (std::size_t i = 0; i < function.operands.size(); ++i) {
    append_hex(out, test.operands[i], function.operands[i].digits());
    out += ' ';
  }
  append_hex(out, test.result.bits, function.result.digits());
  if (function.has_flags()) {
    out += ' ';
    append_hex(out, test.result.flags, 2);
  }
  out += '\n';
}

bool values_agree(const TestResult& stream, const TestResult& ours, const TestFunction& function,
                  const Comparing& comparing) {
  if (stream.bits == ours.bits) return true;
  if (comparing.nan_bits) return false;
  if (function.act == Act::to_integer) return (ours.flags & Flag::invalid) != 0;
  return function.result.kind == ValueType::Kind::number &&
         same_or_nan(stream.bits, ours.bits, function.result);
}

bool agrees(const TestResult& stream, const TestResult& ours, const TestFunction& function,
            const Comparing& comparing) {
  if (function.has_flags() && stream.flags != ours.flags) return false;
  return values_agree(stream, ours, function, comparing);
}

StreamCheck check_stream(const TestFunction& function, const TestSettings& settings,
                         const Comparing& comparing, const ReadSome& read, std::size_t keep) {
  StreamCheck out;
  FoundMismatches values, flags;
  Lines reader(read);
  for (;;) {
    const std::vector<std::string_view>& lines = reader.next();
    if (lines.empty()) break;
    std::vector<Found> found(thread_count());
    parallel_for(lines.size(), 4096, [&](std::size_t begin, std::size_t end, std::size_t slot) {
      Found& mine = found[slot];
      for (std::size_t i = begin; i < end; ++i) {
        const std::uint64_t line = out.cases + i + 1;
        TestCase test;
        try {
          test = parse_test_case(lines[i], function);
        } catch (const Error& error) {
          if (line < mine.bad_line) {
            mine.bad_line = line;
            mine.bad = error.what();
          }
          return;
        }
        const TestResult ours = evaluate(function, test.operands, settings);
        if (function.has_flags() && !test.has_flags) ++mine.without_flags;
        if (!values_agree(test.result, ours, function, comparing)) {
          mine.values.add({line, test, ours}, keep);
        } else if (test.has_flags && test.result.flags != ours.flags) {
          mine.flags.add({line, test, ours}, keep);
        }
      }
    });
    const auto bad = std::ranges::min_element(found, {}, &Found::bad_line);
    if (!bad->bad.empty()) {
      throw Error("line " + std::to_string(bad->bad_line) + ": " + bad->bad);
    }
    for (const Found& piece : found) {
      out.without_flags += piece.without_flags;
      values.take(piece.values, keep);
      flags.take(piece.flags, keep);
    }
    out.cases += lines.size();
  }
  if (out.cases == 0) {
    throw Error("no cases on standard input; pipe lines of '" + form_of(function) + "' into it");
  }
  out.wrong_values = values.count;
  out.wrong_flags = flags.count;
  out.first = std::move(values.first);
  std::ranges::copy(flags.first, std::back_inserter(out.first));
  if (out.first.size() > keep) out.first.resize(keep);
  return out;
}

}  // namespace binade

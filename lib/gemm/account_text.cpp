// SPDX-License-Identifier: Apache-2.0
//
// Writes the account as plain text of 100 columns: a paragraph about the error, a table of the
// rules, the products by their distance below the largest exponent, and the losses along K. Each
// share says what it is a share of.
#include "lib/gemm/account_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "lib/text/error.h"
#include "lib/text/paragraph.h"

namespace binade {
namespace {

std::string plural(std::uint64_t n, const char* noun) {
  return fmt::format("{} {}{}", grouped(n), noun, n == 1 ? "" : "s");
}

std::string size_text(const ExactSum& x) { return fmt::format("{:.4g}", to_scaled(x).value()); }

std::string share_text(double share) {
  if (share == 0) return "0 %";
  const double p = 100 * share;
  return p >= 0.001 ? fmt::format("{:.3g} %", p) : fmt::format("{:.1e} %", p);
}
std::string share_text(const ExactSum& part, const ExactSum& all) {
  return all.is_zero() ? "-" : share_text(divide(part, all).value());
}
std::string share_text(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? "-" : share_text(static_cast<double>(part) / static_cast<double>(all));
}

std::string words_of_rule(std::string_view rule) {
  std::string out(rule);
  std::ranges::replace(out, '_', ' ');
  return out;
}

std::string worst_text(const char* what, const WorstElement& x) {
  return fmt::format("  {} {} at row {}, column {}\n", left_aligned(what, 37), share_text(x.ratio),
                     x.row, x.column);
}

std::string head(const GemmAccount& x, const GemmTitle& title) {
  std::string out = printable(title.instruction);
  if (!title.device.empty()) out += " on " + title.device;
  out += fmt::format(": {} × {} × {}\n", grouped(x.m), grouped(x.n), grouped(x.k));
  if (!title.operands.empty()) out += "  " + printable(title.operands) + "\n";
  if (!title.order.empty()) out += "  " + title.order + "\n";
  out += fmt::format("  {}: {} exact, {} with a NaN or an infinity (in no number below)\n",
                     plural(x.elements, "element"), grouped(x.exact), grouped(x.special));
  out += "  " + plural(x.products, "product") + " that are not zero";
  if (x.blocks == 0) return out + "\n";
  return out + fmt::format(" in {}; the largest exponent is only\n  c's in {}, the floor's in {}\n",
                           plural(x.blocks, "fused block"),
                           share_text(x.blocks_at_addend, x.blocks),
                           share_text(x.blocks_at_floor, x.blocks));
}

std::string error_text(const GemmAccount& x) {
  std::string out =
      fmt::format("\n  Σ|a·b| {}   Σ|exact d| {}   Σ|d - exact| {}\n",
                  size_text(x.product_magnitude), size_text(x.exact_magnitude), size_text(x.error));
  out +=
      fmt::format("  The error is {} of Σ|exact d| and {} of Σ|a·b|;\n",
                  share_text(x.error, x.exact_magnitude), share_text(x.error, x.product_magnitude));
  ExactSum both = x.outward;
  both += x.inward;
  out += fmt::format("  it makes |d| smaller by {}, larger by {}, of Σ|exact d|.\n",
                     share_text(x.inward, x.exact_magnitude),
                     share_text(x.outward, x.exact_magnitude));
  if (x.error.is_zero()) return out;
  return out + worst_text("worst of |exact d|", x.worst_relative) +
         worst_text("worst of the element's Σ|a·b|", x.worst_to_products) +
         worst_text("worst of the bound (100 %: reached)", x.worst_to_bound);
}

std::string rules_text(const GemmAccount& x) {
  constexpr const char* row = "  {:<19}{:>15}{:>15} {} {:>14}{} {}\n";
  std::string out = fmt::format(
      "\n{}", fmt::format(row, "rule", "steps", "cut", right_aligned("of steps", 9), "vanished",
                          right_aligned("Σ|lost|", 10), right_aligned("of Σ|a·b|", 11)));
  for (std::size_t i = 0; i < loss_rules; ++i) {
    const Cost& c = x.rules[i];
    if (c.steps == 0) continue;
    out += fmt::format(row, words_of_rule(loss_rule_names[i].name), grouped(c.steps),
                       grouped(c.cut), right_aligned(share_text(c.cut, c.steps), 9),
                       grouped(c.vanished), right_aligned(size_text(c.lost()), 10),
                       right_aligned(share_text(c.lost(), x.product_magnitude), 11));
  }
  return out;
}

/// Returns a bar of at most 24 columns, which is proportional to share / largest; a share above 0
/// has at least an eighth of a column.
std::string bar(double share, double largest) {
  constexpr std::array<const char*, 8> eighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (share == 0) return "";
  const int n = std::max(1, static_cast<int>(24 * 8 * share / largest));
  std::string out;
  for (int i = 0; i < n / 8; ++i) out += "█";
  return out + eighths[static_cast<std::size_t>(n % 8)];
}

std::string distances_text(const GemmAccount& x) {
  const auto last = std::ranges::find_if(x.by_distance.rbegin(), x.by_distance.rend(),
                                         [](const DistanceRow& row) { return row.products != 0; });
  if (last == x.by_distance.rend()) return "";
  const auto end = static_cast<std::size_t>(x.by_distance.rend() - last);
  const std::size_t step = end <= 20 ? 1 : end <= 40 ? 2 : 4;
  const int f = x.model.model.fraction_bits;
  std::vector<DistanceRow> rows((end + step - 1) / step);
  std::uint64_t largest = 0;
  for (std::size_t i = 0; i < end; ++i) rows[i / step] += x.by_distance[i];
  for (const DistanceRow& row : rows) largest = std::max(largest, row.products);
  std::string out = fmt::format(
      "\n  Products by binades below the exponent they are aligned to; the last bit kept is {} "
      "below\n"
      "  {}{}{}{}\n",
      f, left_aligned("below", 9), left_aligned("of products", 40),
      right_aligned("of them cut", 14), right_aligned("vanished", 12));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t first = i * step;
    std::string name = std::to_string(first);
    if (step > 1) name += fmt::format("-{}", std::min(first + step, end) - 1);
    if (i + 1 == rows.size() && end == GemmAccount::distances) name = fmt::format("{}+", first);
    const DistanceRow& row = rows[i];
    const std::string shown = bar(static_cast<double>(row.products), static_cast<double>(largest)) +
                              " " + (row.products == 0 ? "" : share_text(row.products, x.products));
    out += fmt::format(
        "  {}{}{}{}\n", left_aligned(name, 9), left_aligned(shown, 40),
        right_aligned(row.products == 0 ? "" : share_text(row.cut, row.products), 14),
        right_aligned(row.products == 0 ? "" : share_text(row.vanished, row.products), 12));
  }
  return out;
}

/// Returns the losses along K in at most 16 rows, for the four rules that cost most.
std::string positions_text(const GemmAccount& x) {
  std::vector<std::size_t> rules;
  for (std::size_t i = 0; i < placed_loss_rules; ++i) {
    if (x.rules[i].cut != 0) rules.push_back(i);
  }
  if (rules.empty() || x.by_position.size() < 2) return "";
  std::ranges::stable_sort(rules, [&x](std::size_t a, std::size_t b) {
    return compare(x.rules[a].lost(), x.rules[b].lost()) > 0;
  });
  rules.resize(std::min<std::size_t>(rules.size(), 4));
  const std::size_t step = (x.by_position.size() + 15) / 16;
  std::string out = "\n  Lost along K, of Σ|a·b| of the whole product\n  " + left_aligned("k", 14);
  for (const std::size_t i : rules)
    out += right_aligned(words_of_rule(loss_rule_names[i].name), 20);
  out += "\n";
  for (std::size_t first = 0; first < x.by_position.size(); first += step) {
    const std::size_t end = std::min(first + step, x.by_position.size());
    const std::size_t last_k = std::min(end * x.position_width, x.k) - 1;
    out += "  " + left_aligned(fmt::format("{}-{}", first * x.position_width, last_k), 14);
    for (const std::size_t i : rules) {
      ExactSum lost;
      for (std::size_t at = first; at < end; ++at) lost += x.by_position[at][i].lost();
      out += right_aligned(share_text(lost, x.product_magnitude), 20);
    }
    out += "\n";
  }
  return out;
}

}  // namespace

std::string account_text(const GemmAccount& account, const GemmTitle& title) {
  return head(account, title) + error_text(account) + rules_text(account) +
         distances_text(account) + positions_text(account);
}

}  // namespace binade

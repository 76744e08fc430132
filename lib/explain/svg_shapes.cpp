// SPDX-License-Identifier: Apache-2.0
//
// Writes SVG as text. Fonts are named by family only; nothing is fetched.
#include "lib/explain/svg_shapes.h"

#include <cctype>

#include <fmt/format.h>

namespace binade {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      out += c;
    }
  }
  return out;
}

/// Replaces the hyphen of a number by a minus sign, and the star before a power by a dot.
std::string typeset(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i + 1);
    const bool digit = !rest.empty() && std::isdigit(static_cast<unsigned char>(rest[0])) != 0;
    if (text[i] == '-' && digit && (i == 0 || text[i - 1] != '_')) {
      out += "−";
    } else if (text[i] == '*' && rest.starts_with("2^")) {
      out += "·";
    } else {
      out += text[i];
    }
  }
  return out;
}

/// Returns SVG text in which the exponent of 2^-14 is raised; the text that follows is lowered
/// again.
std::string with_powers(std::string_view text) {
  constexpr std::string_view minus = "−";
  std::string out;
  bool raised = false;
  while (true) {
    const std::size_t at = text.find("2^");
    if (at == std::string_view::npos) break;
    std::size_t end = at + 2;
    if (text.substr(end).starts_with(minus)) end += minus.size();
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    const std::string before = escaped(text.substr(0, at + 1));
    out += raised ? fmt::format(R"(<tspan dy="0.3em">{}</tspan>)", before) : before;
    out += fmt::format(R"(<tspan dy="-0.4em" font-size="75%">{}</tspan>)",
                       text.substr(at + 2, end - at - 2));
    raised = true;
    text.remove_prefix(end);
  }
  if (text.empty()) return out;
  // The em of a raised tspan is three quarters of the line's.
  return raised ? out + fmt::format(R"(<tspan dy="0.3em">{}</tspan>)", escaped(text))
                : escaped(text);
}

}  // namespace

void SvgCanvas::box(int x, int y, int width, int height, std::string_view fill, int radius) {
  body_ += fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" rx="{}" fill="{}"/>)"
                       "\n",
                       x, y, width, height, radius, fill);
}

void SvgCanvas::line(int x1, int y1, int x2, int y2, std::string_view color, int width) {
  body_ += fmt::format(R"(<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="{}" stroke-width="{}"/>)"
                       "\n",
                       x1, y1, x2, y2, color, width);
}

void SvgCanvas::dashed(int x1, int y1, int x2, int y2, std::string_view color) {
  body_ += fmt::format(R"(<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="{}" stroke-width="2" )"
                       R"(stroke-dasharray="5 4"/>)"
                       "\n",
                       x1, y1, x2, y2, color);
}

void SvgCanvas::dot(int x, int y) {
  body_ += fmt::format(R"(<circle cx="{}" cy="{}" r="1" fill="{}"/>)"
                       "\n",
                       x, y, rule);
}

void SvgCanvas::text(int x, int y, std::string_view words, const SvgText& style) {
  body_ +=
      fmt::format(R"(<text x="{}" y="{}" font-size="{}" fill="{}")", x, y, style.size, style.color);
  if (style.anchor != "start") body_ += fmt::format(R"( text-anchor="{}")", style.anchor);
  if (style.bold) body_ += R"( font-weight="600")";
  if (style.mono) body_ += R"( class="m")";
  if (style.serif) body_ += R"( class="s")";
  if (words.find("  ") != std::string_view::npos) body_ += R"( xml:space="preserve")";
  body_ += fmt::format(">{}</text>\n", with_powers(typeset(words)));
}

void SvgCanvas::digit(int x, int y, bool one, std::string_view color) {
  body_ += fmt::format(R"(<text x="{}" y="{}" fill="{}" class="b">{}</text>)"
                       "\n",
                       x, y, color, one ? 1 : 0);
}

void SvgCanvas::power(int x, int y, int exponent) {
  text(x, y, fmt::format("2^{}", exponent), {.size = 11, .color = soft_ink, .anchor = "middle"});
}

std::string SvgCanvas::finished(int width, int height, std::string_view title) const {
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="img">
<title>{2}</title>
<style>
text {{ font-family: system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }}
.m, .b {{ font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }}
.b {{ font-size: 11px; text-anchor: middle; }}
.s {{ font-family: "Iowan Old Style", Palatino, "Book Antiqua", Georgia, serif; }}
</style>
<rect width="{0}" height="{1}" rx="10" fill="{3}"/>
{4}</svg>
)",
      width, height, escaped(title), paper, body_);
}

}  // namespace binade

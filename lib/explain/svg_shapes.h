// SPDX-License-Identifier: Apache-2.0
//
// The few shapes of SVG that a picture needs: boxes, lines, and text, which is escaped. Places and
// sizes are in pixels, x from the left edge and y from the upper one; a text's y is that of its
// baseline.
#pragma once

#include <string>
#include <string_view>

namespace binade {

inline constexpr std::string_view ink = "#22201c";
inline constexpr std::string_view soft_ink = "#6a665d";
inline constexpr std::string_view rule = "#cfcabd";
inline constexpr std::string_view paper = "#fdfcf8";

struct SvgText {
  int size = 12;
  std::string_view color = ink;
  std::string_view anchor = "start";
  bool bold = false, mono = false, serif = false;
};

class SvgCanvas {
 public:
  void box(int x, int y, int width, int height, std::string_view fill, int radius);
  void line(int x1, int y1, int x2, int y2, std::string_view color, int width);
  void dashed(int x1, int y1, int x2, int y2, std::string_view color);
  /// Draws the mark of a place without a bit.
  void dot(int x, int y);
  /// Draws text, in which each 2^n becomes a 2 with a raised exponent.
  void text(int x, int y, std::string_view words, const SvgText& style);
  /// Draws the digit of a bit, centred at x.
  void digit(int x, int y, bool one, std::string_view color);
  /// Draws a small 2^exponent above a column.
  void power(int x, int y, int exponent);

  /// Returns the whole SVG file, with a background.
  std::string finished(int width, int height, std::string_view title) const;

 private:
  std::string body_;
};

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// Inserts the data into the page that the build assembled from lib/report/page. They are deflated
// and written in base64, in which nothing can end the HTML element that holds them.
#include "lib/report/html.h"

#include <string_view>

#include "lib/io/gzip.h"

namespace binade {

extern const std::string_view report_page_before_data;
extern const std::string_view report_page_after_data;

namespace {

std::string base64(std::string_view bytes) {
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t three = 0;
    for (std::size_t i = at; i < at + 3; ++i) {
      three = three << 8U | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U);
    }
    for (int i = 0; i < 4; ++i) out += letters[three >> (18 - 6 * i) & 63U];
  }
  const std::size_t padding = (3 - bytes.size() % 3) % 3;
  out.replace(out.size() - padding, padding, padding, '=');
  return out;
}

}  // namespace

std::string report_html(std::string_view page_data) {
  std::string out(report_page_before_data);
  out += base64(zlib_stream(page_data));
  out += report_page_after_data;
  return out;
}

}  // namespace binade

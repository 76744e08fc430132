// SPDX-License-Identifier: Apache-2.0
//
// Standard input as a build without zlib streams it (lib/io/no_gzip.cpp), to standard output.
#include <iostream>
#include <iterator>
#include <string>

#include "lib/io/gzip.h"

int main() {
  const std::string bytes(std::istreambuf_iterator<char>(std::cin), {});
  std::cout << binade::zlib_stream(bytes);
}

// SPDX-License-Identifier: Apache-2.0
//
// The data sets of Debian's packages, against their own descriptions. A data set that is not
// installed is not tested; if neither is installed, the exit status is 77.
#include <algorithm>
#include <cstdio>
#include <string>

#include "lib/runs/fashion_mnist.h"
#include "lib/runs/text_corpus.h"

namespace {

using namespace binade;

int failures = 0;

void expect(bool holds, const char* what) {
  std::printf("%s %s\n", holds ? "ok    " : "WRONG ", what);
  failures += holds ? 0 : 1;
}

/// Checks that there are 6000 and 1000 images of each class (the data set's README).
void check_fashion_mnist() {
  const ImageSplit split = fashion_mnist();
  expect(split.train.count == 60000 && split.test.count == 10000, "60000 and 10000 images");
  for (const Images* part : {&split.train, &split.test}) {
    expect(part->height == 28 && part->width == 28, "28 × 28");
    bool even = true;
    for (std::int32_t c = 0; c < 10; ++c) {
      const auto n = static_cast<std::size_t>(std::ranges::count(part->labels, c));
      even = even && n == part->count / 10;
    }
    expect(even, "as many of each of ten classes");
  }
}

void check_licences() {
  const Text text = licence_text();
  std::string all;
  for (const auto* part : {&text.train, &text.test}) {
    for (const std::int32_t at : *part) all += text.vocabulary[static_cast<std::size_t>(at)];
  }
  expect(all.size() > 100000, "more than 100000 characters of licences");
  expect(all.find("GNU GENERAL PUBLIC LICENSE") != std::string::npos, "the GPL");
  expect(all.find("Apache License") != std::string::npos, "the Apache License");
}

}  // namespace

int main() {
  if (!has_fashion_mnist() && !has_licence_text()) {
    std::puts("SKIP: neither dataset-fashion-mnist nor the system's licences are here");
    return 77;
  }
  if (has_fashion_mnist()) check_fashion_mnist();
  if (has_licence_text()) check_licences();
  return failures == 0 ? 0 : 1;
}

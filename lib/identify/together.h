// SPDX-License-Identifier: Apache-2.0
//
// Kernels that treat their edges otherwise: few models that explain every element between them. Not a
// claim about any one of them, but where a library's tiles end can be read from it.
#pragma once

#include <cstddef>
#include <vector>

#include "lib/identify/identification.h"

namespace binade {

/// One of them, with what it alone explains: how many elements, and the box they lie in.
struct TogetherPart {
  std::size_t candidate = 0;
  std::size_t equal = 0, alone = 0;
  std::size_t first_row = 0, last_row = 0, first_column = 0, last_column = 0;
};

/// At most four models of the nearest, of one run that is a product; empty where there are none that
/// could not do it by chance, or where one model explains all.
std::vector<TogetherPart> together(const Identification& x);

}  // namespace binade

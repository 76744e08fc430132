// SPDX-License-Identifier: Apache-2.0
//
// Finds the first option without effect and says why it has none.
#include "lib/text/idle_option.h"

#include <algorithm>

#include "lib/text/error.h"

namespace binade {

void refuse_idle(std::span<const IdleOption> options, std::string_view where) {
  const auto first = std::ranges::find(options, true, &IdleOption::idle);
  if (first == options.end()) return;
  throw Error(std::string(where) + first->name + " has no effect " + first->because +
              ": leave it out" + (first->remedy.empty() ? "" : ", or " + first->remedy));
}

}  // namespace binade

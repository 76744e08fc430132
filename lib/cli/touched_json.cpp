// SPDX-License-Identifier: Apache-2.0
//
// Counts by aspect and by rival.
#include "lib/cli/touched_json.h"

#include <nlohmann/json.hpp>

namespace binade {

nlohmann::ordered_json json_of(const Touched& touched) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const TouchedAspect& row : touched.aspects) {
    out.push_back({{"aspect", row_of(row.aspect).name},
                   {"evidence", name_of(row.evidence)},
                   {"count", row.count},
                   {"looked_at", row.looked_at}});
  }
  return out;
}

nlohmann::ordered_json json_of(const std::vector<AspectTally>& tally) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const AspectTally& aspect : tally) {
    nlohmann::ordered_json row{{"aspect", row_of(aspect.aspect).name},
                               {"evidence", name_of(aspect.evidence)},
                               {"touch", aspect.touch},
                               {"rivals", nlohmann::ordered_json::array()}};
    for (const RivalTally& x : aspect.rivals) {
      row["rivals"].push_back({{"rival", x.rival.name},
                               {"whose", x.rival.whose},
                               {"tell", x.tell},
                               {"ours", x.ours},
                               {"theirs", x.theirs},
                               {"explains_every_row", x.explains}});
    }
    out.push_back(row);
  }
  return out;
}

}  // namespace binade

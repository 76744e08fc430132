// SPDX-License-Identifier: Apache-2.0
//
// Writes evidence as JSON, every rival by name and with its counts.
#include "lib/evidence/json.h"

#include <nlohmann/json.hpp>

#include "lib/format/format_spec.h"
#include "lib/instruction/instruction_name.h"

namespace binade {
namespace {

using Json = nlohmann::ordered_json;

/// Returns a model; members that its recipe does not use are null.
Json json_of_model(const DotModel& m) {
  const bool fused = is_fused(m);
  const bool rounds = m.recipe != Recipe::exact_integer && m.recipe != Recipe::pairwise;
  return {{"recipe", recipe_name(m.recipe)},
          {"block", fused ? Json(m.block) : nullptr},
          {"fraction_bits", fused ? Json(m.fraction_bits) : nullptr},
          {"exponent_floor", fused ? Json(m.exponent_floor) : nullptr},
          {"grid", rounds ? Json(spec_of(m.grid)) : nullptr},
          {"rounding", rounds ? Json(rounding_name(m.rounding)) : nullptr},
          {"c_last", m.c_last},
          {"through_f32", m.through_f32},
          {"sparse_group", m.sparse_group},
          {"scaling", is_scaled(m) ? Json{{"share", m.scaling.share},
                                          {"format", spec_of(m.scaling.format)},
                                          {"group", m.scaling.group}}
                                   : Json()}};
}

Json json_of_knowledge(const Knowledge& known) {
  Json out = Json::object();
  for (std::size_t i = 0; i < aspect_count; ++i) {
    Json& aspect = out[std::string(aspects[i].name)];
    if (!known[i].matters) continue;  // the aspect stays null
    aspect = {{"evidence", evidence_name(known[i].evidence)},
              {"source", known[i].source},
              {"agrees", known[i].agrees},
              {"words_exclude", known[i].words_exclude},
              {"rows_that_exclude", Json::object()}};
    for (const RivalRows& row : known[i].rivals) aspect["rows_that_exclude"][row.rival] = row.rows;
  }
  return out;
}

}  // namespace

nlohmann::ordered_json evidence_json(const Architecture& on) {
  Json out{{"architecture", "sm_" + std::to_string(on.sm)},
           {"gpus", on.gpus},
           {"instructions", Json::array()}};
  for (const Instruction& x : instructions_of(on.sm)) {
    out["instructions"].push_back({{"name", instruction_name(x)},
                                   {"model", json_of_model(x.model)},
                                   {"evidence", json_of_knowledge(knowledge_of(x))}});
  }
  return out;
}

nlohmann::ordered_json touched_json(const Touched& touched) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const TouchedAspect& row : touched.aspects) {
    out.push_back({{"aspect", row_of(row.aspect).name},
                   {"evidence", evidence_name(row.evidence)},
                   {"count", row.count},
                   {"looked_at", row.looked_at}});
  }
  return out;
}

nlohmann::ordered_json tally_json(const std::vector<AspectTally>& tally) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const AspectTally& aspect : tally) {
    nlohmann::ordered_json row{{"aspect", row_of(aspect.aspect).name},
                               {"evidence", evidence_name(aspect.evidence)},
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

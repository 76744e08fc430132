// SPDX-License-Identifier: Apache-2.0
//
// Who ran in which format: a collector of operation calls while it lives, the table of them, and the audit
// of silent promotions (an op of no list got binary16 and binary32 and ran in binary32).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "emulate/format.h"
#include "lib/amp/op_lists.h"

namespace binade {

/// One call of an op, as the engine reports it.
struct OpRecord {
  std::string op;     ///< ATen name: "addmm"
  std::string where;  ///< the layer's name
  CastPolicy policy = CastPolicy::unlisted;
  std::vector<Format> inputs;  ///< before any cast
  Format run = binary32;       ///< what it computed in
  Format output = binary32;    ///< what it stored
  std::uint64_t elements = 0;  ///< of the output
  bool backward = false;
  std::uint32_t casts = 0;         ///< inputs cast by this call
  std::uint32_t cached_casts = 0;  ///< inputs whose cast was in the cache
};

/// Equal calls together: of `call`, elements and casts are sums.
struct FlowRow {
  OpRecord call;
  std::uint64_t calls = 0;
};

/// An op of no list that ran in a wider format than its narrowest input.
struct SilentPromotion {
  std::string op, where;
  bool backward = false;
  Format narrowest, run;
  std::uint64_t calls = 0;
  /// What the outputs take beyond what they would in the narrowest input's format.
  std::uint64_t bytes_lost = 0;
};

/// Collects what `record_op` of this thread reports while it lives. Collectors nest: each gets all.
class DtypeFlow {
 public:
  DtypeFlow();
  ~DtypeFlow();
  DtypeFlow(const DtypeFlow&) = delete;
  DtypeFlow& operator=(const DtypeFlow&) = delete;

  const std::vector<FlowRow>& rows() const { return rows_; }  ///< in order of first appearance
  std::uint64_t casts() const;
  std::uint64_t cached_casts() const;
  std::vector<SilentPromotion> promotion_audit() const;

 private:
  friend void record_op(const OpRecord& record);
  void add(const OpRecord& record);

  std::vector<FlowRow> rows_;
  DtypeFlow* surrounding_;
};

/// Reports one call to the collectors of this thread; nothing where there is none.
void record_op(const OpRecord& record);
/// Whether anyone listens: spares the engine the making of records.
bool recording_ops();

/// The rows and the audit as lines of text, and as JSON ("binade.dtype_flow/1").
std::string dtype_flow_text(const DtypeFlow& flow);
nlohmann::ordered_json dtype_flow_json(const DtypeFlow& flow);

}  // namespace binade

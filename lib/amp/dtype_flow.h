// SPDX-License-Identifier: Apache-2.0
//
// Which op ran in which format: a collector of the calls of ops, the table of these calls, and an
// audit that finds silent promotions (such as an op on no list that got binary16 and binary32
// inputs and ran in binary32).
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
  std::vector<Format> inputs;  ///< the inputs' formats before any cast
  Format run = binary32;       ///< the format in which the op computed
  Format output = binary32;    ///< the output's format
  std::uint64_t elements = 0;  ///< elements of the output
  bool backward = false;
  std::uint32_t casts = 0;         ///< inputs cast by this call
  std::uint32_t cached_casts = 0;  ///< inputs whose cast was in the cache
};

/// One or more calls that agree in everything but elements, casts and cached_casts; `call` has the
/// sums of these.
struct FlowRow {
  OpRecord call;
  std::uint64_t calls = 0;
};

/// An op on no list that ran in a wider format than its narrowest input; the wider format has more
/// bits in storage.
struct SilentPromotion {
  std::string op, where;
  bool backward = false;
  Format narrowest, run;
  std::uint64_t calls = 0;
  /// Bytes by which the outputs are larger than they would be in the format of the narrowest input.
  std::uint64_t bytes_lost = 0;
};

/// Collects the calls that `record_op` reports on this thread while the collector lives. Collectors
/// nest: a call goes to all of them.
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

/// Reports one call to the collectors of this thread, if there are any.
void record_op(const OpRecord& record);
/// Returns whether this thread has a collector; if not, callers need not make a record.
bool recording_ops();

/// Return the rows and the audit as lines of text, and as JSON ("binade.dtype_flow/1").
std::string dtype_flow_text(const DtypeFlow& flow);
nlohmann::ordered_json dtype_flow_json(const DtypeFlow& flow);

}  // namespace binade

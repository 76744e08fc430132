// SPDX-License-Identifier: Apache-2.0
//
// The collector of operation calls: which calls it merges, which it sees, and the audit of silent
// promotions.
#include "lib/amp/dtype_flow.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace binade::test::dtype_flow_test {
namespace {

const OpRecord linear{.op = "linear",
                      .where = "fc1",
                      .policy = CastPolicy::lower_precision_fp,
                      .inputs = {binary32, binary32},
                      .run = binary16,
                      .output = binary16,
                      .elements = 1280,
                      .casts = 2};
const OpRecord mixed_add{.op = "add",
                         .where = "skip",
                         .policy = CastPolicy::unlisted,
                         .inputs = {binary16, binary32},
                         .run = binary32,
                         .output = binary32,
                         .elements = 100};

TEST_CASE("nobody listens without a collector") {
  CHECK_FALSE(recording_ops());
  record_op(linear);
  const DtypeFlow flow;
  CHECK(recording_ops());
  CHECK(flow.rows().empty());
}

TEST_CASE("equal calls are one row, their elements and casts added up") {
  const DtypeFlow flow;
  record_op(linear);
  OpRecord cached = linear;
  cached.casts = 1;
  cached.cached_casts = 1;
  record_op(cached);
  OpRecord backward = linear;
  backward.backward = true;
  record_op(backward);
  REQUIRE(flow.rows().size() == 2);
  CHECK(flow.rows()[0].calls == 2);
  CHECK(flow.rows()[0].call.elements == 2560);
  CHECK(flow.casts() == 5);
  CHECK(flow.cached_casts() == 1);
}

TEST_CASE("nested collectors all hear, and the inner one ends alone") {
  const DtypeFlow outer;
  {
    const DtypeFlow inner;
    record_op(linear);
    CHECK(inner.rows().size() == 1);
  }
  record_op(mixed_add);
  CHECK(outer.rows().size() == 2);
}

TEST_CASE(
    "an unlisted op that ran wider than its narrowest input is a silent promotion with its bytes") {
  const DtypeFlow flow;
  record_op(linear);
  record_op(mixed_add);
  record_op(mixed_add);
  const auto audit = flow.promotion_audit();
  REQUIRE(audit.size() == 1);
  CHECK(audit[0].where == "skip");
  CHECK(audit[0].narrowest == binary16);
  CHECK(audit[0].run == binary32);
  CHECK(audit[0].calls == 2);
  CHECK(audit[0].bytes_lost == 400);  // 200 elements, 2 bytes more each
}

TEST_CASE("what a list asks for, what stays narrow and what stores narrow are no loss") {
  const DtypeFlow flow;
  OpRecord listed = mixed_add;
  listed.policy = CastPolicy::fp32;
  record_op(listed);
  OpRecord narrow = mixed_add;
  narrow.inputs = {binary16, binary16};
  narrow.run = narrow.output = binary16;
  record_op(narrow);
  CHECK(flow.promotion_audit().empty());
  OpRecord stores_narrow = mixed_add;
  stores_narrow.output = binary16;
  record_op(stores_narrow);
  REQUIRE(flow.promotion_audit().size() == 1);
  CHECK(flow.promotion_audit()[0].bytes_lost == 0);
}

TEST_CASE("text and JSON show the rows and the audit") {
  const DtypeFlow flow;
  record_op(linear);
  record_op(mixed_add);
  const std::string text = dtype_flow_text(flow);
  CAPTURE(text);
  CHECK(text.find("linear  fc1    lower_precision_fp  binary16  binary16  1      2      0") !=
        std::string::npos);
  CHECK(text.find("2 casts made, 0 taken from the cache") != std::string::npos);
  CHECK(text.find("add  skip   binary16   binary32  1      200") != std::string::npos);
  const auto json = dtype_flow_json(flow);
  CHECK(json["schema"] == "binade.dtype_flow/1");
  CHECK(json["ops"].size() == 2);
  CHECK(json["ops"][0]["inputs"].dump() == R"(["binary32","binary32"])");
  CHECK(json["silent_promotions"][0]["bytes_lost"] == 200);
}

}  // namespace
}  // namespace binade::test::dtype_flow_test

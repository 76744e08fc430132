// SPDX-License-Identifier: Apache-2.0
//
// Conversions between the project's types and the oracle's, so that a test states a case once and
// both compute it. Other tests use these conversions; those of operations and dot models are in
// arithmetic_judge.h and dot_by_oracle.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "emulate/project.h"
#include "tests/oracle/oracle.h"

namespace binade::test {

oracle::Spec spec_of(const Format& format);
oracle::Rules rules_of(const Attributes& attributes);
oracle::Value value_of(const Exact& x);
Projected projected(const oracle::Outcome& outcome);

/// Compares project() with the oracle case by case, and keeps the first differences as text.
class Judge {
 public:
  explicit Judge(const Format& format,
                 oracle::Oracle::Method method = oracle::Oracle::Method::table);

  void project(const Exact& x, const Attributes& attributes, std::uint32_t random = 0);
  /// Returns the expected result, without comparing or counting anything.
  Projected expected(const Exact& x, const Attributes& attributes, std::uint32_t random = 0) const;

  std::uint64_t cases() const { return cases_; }
  std::uint64_t differences() const { return differences_; }
  /// Returns how many of the expected results raised this flag.
  std::uint64_t raised(Flags flag) const;
  const std::string& report() const { return report_; }

 private:
  Format format_;
  oracle::Oracle oracle_;
  std::uint64_t cases_ = 0;
  std::uint64_t differences_ = 0;
  std::uint64_t raised_[5] = {};
  std::string report_;
};

/// Return a text for messages: the fields of the format, the attributes, the number, the result.
std::string words(const Format& format);
std::string words(const Attributes& attributes);
std::string words(const Exact& x);
std::string words(const Projected& result);

}  // namespace binade::test

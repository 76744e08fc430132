// SPDX-License-Identifier: Apache-2.0
//
// The entry point of every doctest program. Meson runs the tests of one of its files at a time
// (--source-file); a filter that selects no test is a failure, since nothing was tested.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

namespace {

struct Counter : doctest::IReporter {
  explicit Counter(const doctest::ContextOptions& options) { no_run = options.no_run; }

  void test_run_end(const doctest::TestRunStats& run) override {
    tests_run = run.numTestCasesPassingFilters;
  }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

  static inline unsigned tests_run = 0;
  static inline bool no_run = false;  ///< set by --no-run
};
REGISTER_LISTENER("counter", 1, Counter);

}  // namespace

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  const int status = context.run();
  if (context.shouldExit()) return status;
  if (Counter::tests_run == 0 && !Counter::no_run) {
    std::fputs("no test has this name or lies in this file: nothing was tested\n", stderr);
    return 1;
  }
  return status;
}

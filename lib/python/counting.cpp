// SPDX-License-Identifier: Apache-2.0
//
// Keeps counters from call to call, because making one costs more than counting a small array.
#include "lib/python/counting.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

namespace binade::python {
namespace {

/// Counters that are not in use. They are kept because making one costs more than counting a small
/// array.
class CounterPool {
 public:
  std::unique_ptr<RangeCounter> take(const std::vector<ErrorColumn>& columns) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = std::ranges::find(waiting_, columns, &Waiting::first);
      if (found != waiting_.end()) {
        std::unique_ptr<RangeCounter> out = std::move(found->second);
        waiting_.erase(found);
        return out;
      }
    }
    return std::make_unique<RangeCounter>(columns);
  }
  /// Takes back a counter that is finished; one that was interrupted must not be given back.
  void give_back(const std::vector<ErrorColumn>& columns, std::unique_ptr<RangeCounter> counter) {
    constexpr std::size_t most = 4;
    const std::lock_guard lock(mutex_);
    if (waiting_.size() == most) waiting_.erase(waiting_.begin());
    waiting_.emplace_back(columns, std::move(counter));
  }

 private:
  using Waiting = std::pair<std::vector<ErrorColumn>, std::unique_ptr<RangeCounter>>;
  std::mutex mutex_;
  std::vector<Waiting> waiting_;
};

/// It is never freed, since threads may still count when the interpreter ends.
CounterPool* counters = new CounterPool;

}  // namespace

RangeSummary counted(const std::vector<ErrorColumn>& columns,
                     const std::function<void(RangeCounter& counter)>& count) {
  std::unique_ptr<RangeCounter> counter = counters->take(columns);
  count(*counter);
  RangeSummary out = counter->finish();
  counters->give_back(columns, std::move(counter));
  return out;
}

void forget_counters() { counters = new CounterPool; }

}  // namespace binade::python

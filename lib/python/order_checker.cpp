// SPDX-License-Identifier: Apache-2.0
//
// For binade.torch.watch: checks the order of the calls in the training loop that it watches.
#include "lib/amp/order_checker.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "lib/python/arguments.h"
#include "lib/python/module.h"
#include "lib/text/error.h"

namespace binade::python {
namespace {

using namespace nanobind::literals;

constexpr std::array training_events{TrainingEvent::zero_grad,  TrainingEvent::forward,
                                     TrainingEvent::backward,   TrainingEvent::unscale,
                                     TrainingEvent::clip,       TrainingEvent::step,
                                     TrainingEvent::update,     TrainingEvent::plain_backward,
                                     TrainingEvent::plain_step, TrainingEvent::accumulate,
                                     TrainingEvent::use};

/// Returns (mistake, whether it may be intended, message) of each finding.
std::vector<std::tuple<std::string, bool, std::string>> on_event(OrderChecker& self,
                                                                 std::string_view event,
                                                                 Whole<std::uint64_t> optimizer) {
  for (const TrainingEvent one : training_events) {
    if (training_event_name(one) != event) continue;
    std::vector<std::tuple<std::string, bool, std::string>> out;
    for (const OrderFinding& of : self.on(one, optimizer)) {
      out.emplace_back(order_mistake_name(of.mistake), of.warning, of.message);
    }
    return out;
  }
  throw Error("event " + std::string(event) + ": there is none of this name");
}

}  // namespace

void add_order_checker(nb::module_& m) {
  nb::class_<OrderChecker> checker(m, "_OrderChecker",
                                   "Checks the order of the calls in a training loop.");
  checker.def(nb::init<>());
  checker.def("on", &on_event, "event"_a, "optimizer"_a = 0,
              "Returns (mistake, whether it may be meant, message) of each mistake that the event "
              "reveals.");
}

}  // namespace binade::python

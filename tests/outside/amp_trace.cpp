// SPDX-License-Identifier: Apache-2.0
//
// Gives scripts access to lib/amp. Without an argument, lines of standard input drive a scaler, and
// each is answered by a line. With an argument the program prints the op lists ("lists"), the
// differences of other versions of PyTorch ("changes"), autocast's decisions ("decide": device,
// low, op, inputs) or loss scale policies on traces ("policies").
#include <bit>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "lib/amp/autocast.h"
#include "lib/amp/grad_scaler.h"
#include "lib/amp/policy_parameters.h"
#include "lib/text/error.h"

namespace {

using namespace binade;

struct Optimizer {
  std::vector<std::vector<float>> values;
  std::vector<Format> dtypes;
  std::vector<bool> none;
  int steps = 0;

  OptimizerView view(std::uint64_t id) {
    OptimizerView out{id, {}, [this] { ++steps; }};
    for (std::size_t i = 0; i < values.size(); ++i) {
      out.gradients.push_back(
          {dtypes[i], none[i] ? std::span<float>() : std::span<float>(values[i])});
    }
    return out;
  }
};

float float_of(const std::string& hex) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(std::stoul(hex, nullptr, 16)));
}

/// Every NaN is printed as the same word, since its bits depend on the device.
template <class T>
std::string hex_of(T x) {
  if (x != x) return "nan";
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  std::ostringstream out;
  out << std::hex << std::bit_cast<Bits>(x);
  return out.str();
}

/// "grads ID dtype:hex,hex none dtype:hex": the gradients of an optimizer.
void read_gradients(std::istringstream& words, Optimizer& optimizer) {
  optimizer.values.clear();
  optimizer.dtypes.clear();
  optimizer.none.clear();
  for (std::string word; words >> word;) {
    const std::size_t colon = word.find(':');
    optimizer.none.push_back(colon == std::string::npos);
    optimizer.dtypes.push_back(optimizer.none.back() ? binary32
                                                     : *find_format(word.substr(0, colon)));
    optimizer.values.emplace_back();
    if (optimizer.none.back()) continue;
    std::istringstream numbers(word.substr(colon + 1));
    for (std::string hex; std::getline(numbers, hex, ',');) {
      optimizer.values.back().push_back(float_of(hex));
    }
  }
}

std::string gradients_of(const Optimizer& optimizer) {
  std::string out;
  for (const auto& gradient : optimizer.values) {
    out += " [";
    for (const float x : gradient) out += " " + hex_of(x);
    out += " ]";
  }
  return out;
}

std::string answer(std::istringstream& words, const std::string& command,
                   std::unique_ptr<GradScaler>& scaler, std::map<int, Optimizer>& optimizers) {
  int id = 0;
  if (command == "new") {
    LossScalePolicy policy = loss_scale_policy("torch");
    words >> policy.init_scale >> policy.growth_factor >> policy.backoff_factor >>
        policy.growth_interval;
    scaler = std::make_unique<GradScaler>(policy);
    optimizers.clear();
  } else if (command == "interval") {
    words >> id;
    scaler->set_growth_interval(id);
  } else if (command == "scale") {
    std::string hex;
    words >> hex;
    return hex_of(scaler->scale_loss(float_of(hex)));
  } else if (command == "grads") {
    words >> id;
    read_gradients(words, optimizers[id]);
  } else if (command == "unscale") {
    words >> id;
    scaler->unscale_(optimizers[id].view(static_cast<std::uint64_t>(id)));
    return "unscaled" + gradients_of(optimizers[id]);
  } else if (command == "step") {
    words >> id;
    scaler->step(optimizers[id].view(static_cast<std::uint64_t>(id)));
    return "steps " + std::to_string(optimizers[id].steps) + gradients_of(optimizers[id]);
  } else if (command == "update") {
    std::string hex;
    scaler->update(words >> hex ? std::optional(float_of(hex)) : std::nullopt);
  } else if (command == "reload") {
    const GradScalerState state = scaler->state();
    scaler = std::make_unique<GradScaler>();
    scaler->set_state(state);
    return nlohmann::ordered_json{{"scale", state.scaler.scale},
                                  {"growth_factor", state.growth_factor},
                                  {"backoff_factor", state.backoff_factor},
                                  {"growth_interval", state.growth_interval},
                                  {"_growth_tracker", state.scaler.growth_tracker}}
        .dump();
  }
  return "scale " + hex_of(scaler->get_scale()) + " tracker " +
         std::to_string(scaler->get_growth_tracker());
}

void run_scaler() {
  std::unique_ptr<GradScaler> scaler;
  std::map<int, Optimizer> optimizers;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    try {
      std::cout << answer(words, command, scaler, optimizers) << "\n";
    } catch (const Error& error) {
      std::cout << "error: " << error.what() << "\n";
    }
  }
}

void print_lists() {
  for (const DeviceType device : device_types) {
    for (const ListedOp& op : op_list(device)) {
      std::cout << device_type_name(device) << " " << op.name << " " << cast_policy_name(op.policy)
                << "\n";
    }
  }
}

void print_changes() {
  for (const OpListChange& change : op_list_changes()) {
    std::cout << device_type_name(change.device) << " " << change.op << " " << change.what << "\n";
  }
}

/// Lines "low op input input…" on the CPU: the format cast to, "-" for none, or "error".
void decide() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string low, op;
    words >> low >> op;
    std::vector<Format> inputs;
    for (std::string word; words >> word;) inputs.push_back(*find_format(word));
    try {
      const Autocast scope(DeviceType::cpu, {.dtype = *find_format(low)});
      const std::optional<Format> to = autocast_dtype(op, inputs);
      std::cout << (to ? format_name(*to) : "-") << "\n";
    } catch (const Error&) {
      std::cout << "error\n";
    }
  }
}

/// Lines "NAME key=value … 0110…": the scale of each step and the one after the last, "up" where it
/// gave up.
void run_policies() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string name, bits;
    words >> name;
    ScalerParameters parameters;
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) {
        bits = word;
      } else {
        parameters[word.substr(0, equals)] = std::stod(word.substr(equals + 1));
      }
    }
    LossScaler scaler(with_parameters(loss_scale_policy(name), parameters));
    std::string out = hex_of(scaler.state().scale);
    for (const char bit : bits) {
      try {
        scaler.update(bit == '1');
      } catch (const Error&) {
        out += " up";
      }
      out += " " + hex_of(scaler.state().scale);
    }
    std::cout << out << "\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "lists") == 0) {
    print_lists();
  } else if (argc == 2 && std::strcmp(argv[1], "changes") == 0) {
    print_changes();
  } else if (argc == 2 && std::strcmp(argv[1], "decide") == 0) {
    decide();
  } else if (argc == 2 && std::strcmp(argv[1], "policies") == 0) {
    run_policies();
  } else {
    run_scaler();
  }
  return 0;
}

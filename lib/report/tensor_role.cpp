// SPDX-License-Identifier: Apache-2.0
//
// Judges names. A name that says nothing is not an error.
#include "lib/report/tensor_role.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <vector>

#include "lib/report/name_parts.h"
#include "lib/report/name_pattern.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

constexpr std::uint64_t largest_step = std::uint64_t{1} << 53;

/// What the parts of a name say together, and for each part whether it took part in that.
struct Reading {
  std::optional<TensorRole> role = {};
  std::vector<bool> told = {};
};

class Reader {
 public:
  explicit Reader(const std::vector<NamePart>& parts) : parts_(parts), told_(parts.size()) {
    const auto word = [](const NamePart& part) { return !part.number; };
    const auto first = std::ranges::find_if(parts_, word);
    if (first == parts_.end()) return;
    first_ = static_cast<std::size_t>(first - parts_.begin());
    last_ = parts_.size() - 1;
    while (parts_[last_].number) --last_;
  }

  Reading read() {
    std::optional<TensorRole> role;
    if (first_ != none) role = decide();
    return {role, std::move(told_)};
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};

  bool says(std::size_t i, Says what) const { return parts_[i].says == what; }
  bool is_last(std::size_t i) const { return i == last_; }
  /// Only words at an edge count here, since other parts are modules: a layer may be called
  /// "features" or "update".
  bool is_edge(std::size_t i) const {
    return i == last_ || (i == first_ && (parts_[i].separator == '/' || parts_[i].collection));
  }
  bool is_whole_or_outer(std::size_t i) const {
    return !parts_[i].by_end || i == first_ || i == last_;
  }

  /// "fc1.grad.norm" is a statistic of a gradient and not a gradient.
  bool is_statistic(std::size_t i) const {
    return says(i, Says::gradient) && i != first_ && i + 1 == last_ &&
           is_no_gradient("", lower_case(parts_[last_].text));
  }
  /// Returns whether the whole part is a word for gradients.
  bool is_gradient_word(std::size_t i) const {
    return says(i, Says::gradient) && parts_[i].rest.empty();
  }

  /// Marks the parts that say one of `wanted` where `where` allows it, and returns whether there
  /// are any.
  template <class Where>
  bool tell(std::initializer_list<Says> wanted, const Where& where) {
    bool any = false;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const auto& says = parts_[i].says;
      if (!says || std::ranges::find(wanted, *says) == wanted.end() || !where(i)) continue;
      told_[i] = any = true;
    }
    return any;
  }

  std::optional<TensorRole> decide() {
    const auto outer = [this](std::size_t i) { return is_whole_or_outer(i) && !is_statistic(i); };
    const auto last = [this](std::size_t i) { return is_last(i); };
    const auto edge = [this](std::size_t i) { return is_edge(i); };
    const auto first = [this](std::size_t i) { return i == first_ && i != last_; };
    // PyTorch's state_dict of an optimizer: state.0.exp_avg, state.0.sum; by name,
    // state.fc1.weight.sum.
    const auto is_sum = [this] {
      const auto words = {"sum", "step", "prev", "step_size"};
      return std::ranges::find(words, parts_[last_].text) != words.end();
    };
    const bool of_state_dict = parts_[first_].text == "state" && first_ + 1 < parts_.size() &&
                               (parts_[first_ + 1].number || is_sum());
    // In grads/prior/mu and enc.running_mean.grad, the words for state are names of parameters:
    // these are gradients.
    const bool under_gradients = first_ != last_ && is_gradient_word(first_);
    const bool gradient_last = first_ != last_ && is_gradient_word(last_);
    const bool state =
        tell({Says::state}, [&](std::size_t i) { return !gradient_last || i == first_; });
    const bool kept =
        tell({Says::kept}, [&](std::size_t i) { return is_edge(i) && !under_gradients; });
    if (state || kept || of_state_dict) return TensorRole::state;
    const bool gradients = tell({Says::gradient, Says::d_act, Says::d_weight}, outer);
    const bool backward = tell({Says::backward}, first);
    const bool formula = tell({Says::short_d_act, Says::short_d_weight}, last);
    if (gradients || backward || formula) return gradient();
    if (tell({Says::update}, edge)) return TensorRole::update;
    for (const std::size_t i : {last_, first_}) {
      if (!is_edge(i)) continue;
      if (says(i, Says::weight)) return TensorRole::weight;
      if (says(i, Says::act)) return TensorRole::act;
    }
    const auto alone = [this](std::size_t i) { return i == first_ && !parts_[i].by_end; };
    if (tell({Says::short_d_act, Says::short_d_weight}, alone)) return gradient();  // dW/fc1
    return {};
  }

  /// Returns which gradient it is, from what the other parts say; the last one that says something
  /// decides.
  TensorRole gradient() const {
    std::optional<Says> of;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (told_[i] && (says(i, Says::d_act) || says(i, Says::short_d_act)))
        return TensorRole::d_act;
      if (told_[i] && (says(i, Says::d_weight) || says(i, Says::short_d_weight))) {
        return TensorRole::d_weight;
      }
      const auto here = told_[i] ? read_part(parts_[i].rest).says : parts_[i].says;
      if (here == Says::weight || here == Says::act) of = here;
    }
    if (!of) return TensorRole::gradient;
    return *of == Says::weight ? TensorRole::d_weight : TensorRole::d_act;
  }

  const std::vector<NamePart>& parts_;
  std::vector<bool> told_;
  std::size_t first_ = none, last_ = 0;
};

Reading read_name(const std::vector<NamePart>& parts) { return Reader(parts).read(); }

/// Removes "step<digits>/" from the beginning of the name and returns the step; nothing if the name
/// does not begin so.
std::optional<std::uint64_t> take_step(std::string_view& name) {
  constexpr std::string_view prefix = "step";
  if (!name.starts_with(prefix)) return {};
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || slash == prefix.size()) return {};
  const std::string_view digits = name.substr(prefix.size(), slash - prefix.size());
  std::uint64_t step = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, step);
  if (error != std::errc{} || stopped != end || step > largest_step) return {};
  name.remove_prefix(slash + 1);
  return step;
}

/// Returns the name without the words that say that it is a gradient, an update or state.
std::string without_role(std::string_view name) {
  const std::vector<NamePart> parts = parts_of(name);
  const Reading reading = read_name(parts);
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string_view kept = reading.told[i] ? std::string_view(parts[i].rest) : parts[i].text;
    out += kept;
    const bool gone = kept.empty() && !parts[i].text.empty();
    if (gone && parts[i].says == Says::d_act && i + 2 == parts.size() && parts[i + 1].text == "0") {
      break;  // "fc1.grad_output.0": from a tuple that a hook got
    }
    if (parts[i].separator != 0 && !gone) out += parts[i].separator;
  }
  out.erase(out.find_last_not_of(name_separators) + 1);
  return out;
}

/// Returns whether a name consists of words for a role and nothing else: "dW", "weight.grad".
bool is_role_alone(std::string_view name, TensorRole role) {
  const std::vector<NamePart> parts = parts_of(name);
  return read_name(parts).role == role && std::ranges::all_of(parts, [](const NamePart& part) {
           return part.says && part.rest.empty();
         });
}

bool is_the_weight(std::string_view part) {
  const std::string word = lower_case(part);
  return word == "weight" || word == "weights" || word == "w" || word == "kernel" ||
         word == "params";
}

/// Returns whether the last part of a path is a word for the role and not a name: "fc1/dW",
/// "fc1/weight.grad". Parameters other than the weight are names: "fc1/bias" and "fc1/bias.grad"
/// belong to the layer fc1/bias.
bool names_its_role(std::string_view part, TensorRole role) {
  if (!is_role_alone(part, role)) return false;
  return std::ranges::none_of(parts_of(part), [](const NamePart& x) {
    return x.says == Says::weight && !is_the_weight(x.text);
  });
}

/// Returns the layer: without a collection before it (params/fc1/bias is of fc1/bias), and without
/// the weight after it (a gradient or update of fc1/weight is of fc1).
std::string layer_of(std::string name) {
  const std::size_t first = name.find('/');
  if (first != std::string::npos && first + 1 < name.size() &&
      read_part(std::string_view(name).substr(0, first)).collection) {
    name.erase(0, first + 1);
  }
  const std::size_t last = name.rfind('/');
  if (last != std::string::npos && last != 0 &&
      is_the_weight(std::string_view(name).substr(last + 1))) {
    name.erase(last);
  }
  return name;
}

}  // namespace

RoleRule parse_role_rule(std::string_view option, std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const std::string start = std::string(option) + " " + printable(text) + ": ";
  const auto* const row = std::ranges::find(tensor_role_names, name);
  if (equals == std::string_view::npos || equals + 1 == text.size() ||
      (row == tensor_role_names.end() && name != other_role)) {
    throw Error(start + "not ROLE=REGEX; the roles are " + listed(tensor_role_names) + " and " +
                std::string(other_role) + ", as in grad='^g[.]'");
  }
  RoleRule rule{.role = {}, .text = std::string(text), .pattern = {}};
  if (row != tensor_role_names.end()) {
    rule.role = static_cast<TensorRole>(row - tensor_role_names.begin());
  }
  rule.pattern = std::make_shared<const NamePattern>(start, text.substr(equals + 1));
  return rule;
}

void check_rules(std::span<const RoleRule> rules) {
  int steps = 0;
  for (const RoleRule& rule : rules) {
    if (rule.pattern == nullptr) {
      throw Error("roles: '" + printable(rule.text) +
                  "' is a rule without a pattern; make it with parse_role_rule()");
    }
    steps += rule.pattern->steps();
    if (steps > NamePattern::most_steps) {
      throw Error("--role " + printable(rule.text) + ": with it, all rules have more than " +
                  std::to_string(NamePattern::most_steps) +
                  " letters, repetitions written out; write shorter ones, or fewer");
    }
  }
}

const RoleRule* fitting_rule(std::string_view name, std::span<const RoleRule> rules) {
  const auto found = std::ranges::find_if(
      rules, [name](const RoleRule& rule) { return rule.pattern->is_in(name); });
  return found == rules.end() ? nullptr : &*found;
}

std::optional<TensorRole> role_of(std::string_view name) {
  std::string_view rest = name;
  (void)take_step(rest);
  return read_name(parts_of(rest)).role;
}

bool tells_gradient_outright(std::string_view name) {
  (void)take_step(name);
  const std::vector<NamePart> parts = parts_of(name);
  const Reading reading = read_name(parts);
  if (!reading.role || !is_gradient(*reading.role)) return false;
  std::size_t last = parts.size() - 1;
  while (last > 0 && parts[last].number) --last;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (reading.told[i] && (i == last || parts[i].rest.empty())) return true;
  }
  return false;
}

bool is_step_count(std::string_view name) {
  const std::string_view last = name.substr(name.find_last_of(name_separators) + 1);
  if (last != "step" && last != "steps" && last != "count") return false;
  return name.starts_with("state.") || role_of(name) == TensorRole::state;
}

bool may_be_parameter(std::string_view name) {
  (void)take_step(name);
  const std::vector<NamePart> parts = parts_of(name);
  const Reading reading = read_name(parts);
  if (reading.role != TensorRole::state) return true;
  bool ambiguous = false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!reading.told[i]) continue;
    if (parts[i].says != Says::kept) return false;
    ambiguous = true;
  }
  return ambiguous;
}

bool is_named_as_gradients(std::string_view path) {
  std::string stem = std::filesystem::path(path).stem().string();
  for (const char c : {'-', '_'}) std::ranges::replace(stem, c, '.');
  std::vector<NamePart> words = parts_of(stem);
  while (!words.empty() &&
         (words.back().number || words.back().text == "step" || words.back().text == "rank")) {
    words.pop_back();  // as in "grads_step_3"
  }
  const bool mixed = std::ranges::any_of(words, [](const NamePart& word) {
    return word.text == "and" || (word.says && word.says != Says::gradient);
  });
  if (mixed) return false;  // as in "weights_and_grads"
  const auto is_gradient_word = [&words](std::size_t i) {
    const auto word = [&](std::size_t at) {
      return at < words.size() ? words[at].text : std::string_view();
    };
    return words[i].says == Says::gradient && !is_no_gradient(word(i - 1), word(i + 1));
  };
  return !words.empty() && (is_gradient_word(0) || is_gradient_word(words.size() - 1));
}

std::optional<TensorTime> tensor_time(std::string_view name, std::optional<TensorRole> role) {
  const std::optional<std::uint64_t> step = take_step(name);
  if (!step || !role) return {};
  const std::size_t slash = name.rfind('/');
  const bool alone =
      slash != std::string_view::npos && names_its_role(name.substr(slash + 1), *role);
  if (alone && slash == 0) return {};
  const std::string layer =
      layer_of(alone ? std::string(name.substr(0, slash)) : without_role(name));
  if (layer.empty()) return {};
  return TensorTime{*step, layer, *role};
}

bool misses_time(std::string_view name, const std::optional<TensorTime>& time) {
  if (time) return false;
  std::size_t parts = 0;
  bool step = false;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find_first_of(name_separators), name.size());
    std::string word = lower_case(name.substr(0, end));
    const std::size_t letters = word.find_last_not_of("0123456789") + 1;
    const bool counted = letters < word.size();
    word.resize(letters);
    word.resize(word.find_last_not_of("_-= ") + 1);
    for (const char* counter : {"step", "iteration", "iter", "epoch"}) {
      step = step || (counted && word.ends_with(counter));
    }
    parts += end != 0 ? 1 : 0;
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return step && parts > 1;
}

}  // namespace binade

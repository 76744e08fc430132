// SPDX-License-Identifier: Apache-2.0
//
// Takes names apart. A name that tells nothing is no error.
#include "lib/report/tensor_role.h"

#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <vector>

#include "lib/tensor/error.h"

namespace binade {
namespace {

constexpr std::uint64_t largest_step = std::uint64_t{1} << 53;
constexpr std::string_view separators = "/.:";

/// What one word tells.
enum class Says : std::uint8_t { state, d_act, d_weight, gradient, update, weight, act };

struct RoleWords {
  Says says;
  std::string_view words;  ///< blanks between them
};

// PyTorch's parameters, gradients and optimizers; hooks' grad_input and grad_output; Megatron's main_grad (by its
// end); Transformer Engine's dgrad and wgrad; Flax's kernel; and what people call their dumps.
constexpr std::array<RoleWords, 7> role_words{{
    {Says::state,
     "exp_avg exp_avg_sq exp_avg_sqs exp_inf max_exp_avg_sq momentum momentum_buffer square_avg "
     "acc_delta "
     "opt_state optimizer optimizer_state optim_state running_mean running_var"},
    {Says::d_act,
     "dact dacts dactivation dactivations dinput doutput dout dhidden dlogits dpreact dx dy dz "
     "dgrad grad_act "
     "grad_activation grad_input grad_inputs grad_output grad_outputs grad_hidden grad_logits "
     "grad_in grad_out"},
    {Says::d_weight,
     "dw db dweight dweights dbias dkernel dparam dparams dgamma dbeta wgrad grad_w grad_b "
     "grad_weight "
     "grad_weights grad_bias grad_kernel grad_param grad_params"},
    {Says::gradient, "grad grads gradient gradients main_grad"},
    {Says::update, "update updates"},
    {Says::weight,
     "weight weights bias biases kernel kernels param params parameter parameters master_weight "
     "master_weights gamma beta w"},
    {Says::act,
     "act acts activation activations preact preactivation preactivations input inputs output "
     "outputs out "
     "hidden hidden_state hidden_states logits feature features"},
}};

std::optional<Says> look_up(std::string_view word) {
  static const std::map<std::string_view, Says> table = [] {
    std::map<std::string_view, Says> out;
    for (const RoleWords& row : role_words) {
      for (std::size_t at = 0; at < row.words.size();) {
        const std::size_t end = std::min(row.words.find(' ', at), row.words.size());
        out.emplace(row.words.substr(at, end - at), row.says);
        at = end + 1;
      }
    }
    return out;
  }();
  const auto at = table.find(word);
  return at == table.end() ? std::nullopt : std::optional(at->second);
}

constexpr std::size_t longest_word = 40;  // of what can tell anything

/// What a part of a name tells, by all of it or by its end after an underscore. Words of one letter tell by
/// themselves alone: "matrix_w" is no weight.
struct Part {
  std::string_view text;
  std::optional<Says> says;
  std::string rest;  ///< of the text, without what tells
};

Part read_part(std::string_view text) {
  Part out{.text = text, .says = {}, .rest = {}};
  const std::string_view word = text.substr(0, text.find_last_not_of("0123456789_") + 1);
  std::string lower;
  for (const char c : word) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  const std::string_view all = lower;
  std::size_t at = 0;
  while (at < all.size() && !out.says) {
    const bool may_tell = all.size() - at <= longest_word && (at == 0 || all.size() - at > 1);
    if (may_tell) out.says = look_up(all.substr(at));
    if (!out.says) at = std::min(all.find('_', at), all.size() - 1) + 1;
  }
  if (!out.says) return out;
  const std::string_view before = text.substr(0, text.find_last_not_of('_', at - 1) + 1);
  const std::string_view after = text.substr(word.size());  // the number
  out.rest = at == 0
                 ? std::string(after.substr(std::min(after.find_first_not_of('_'), after.size())))
                 : fmt::format("{}{}", before, after);
  return out;
}

bool is_number(std::string_view text) {
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Numbers, which tell nothing, are left out.
std::vector<Part> parts_of(std::string_view name) {
  std::vector<Part> parts;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find_first_of(separators), name.size());
    if (!is_number(name.substr(0, end))) parts.push_back(read_part(name.substr(0, end)));
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return parts;
}

bool is_kept(Says says) { return says == Says::weight || says == Says::act; }

/// A gradient of what the other parts tell; the last that tells something decides.
TensorRole gradient_of(std::span<const Part> parts) {
  std::optional<Says> of;
  for (const Part& part : parts) {
    if (part.says == Says::d_act) return TensorRole::d_act;
    if (part.says == Says::d_weight) return TensorRole::d_weight;
    const auto says = part.says == Says::gradient ? read_part(part.rest).says : part.says;
    if (says && is_kept(*says)) of = says;
  }
  if (!of) return TensorRole::gradient;
  return *of == Says::weight ? TensorRole::d_weight : TensorRole::d_act;
}

std::optional<TensorRole> role_of_parts(std::span<const Part> parts) {
  const auto any = [&parts](std::initializer_list<Says> wanted) {
    return std::ranges::any_of(parts, [&](const Part& part) {
      return part.says && std::ranges::find(wanted, *part.says) != wanted.end();
    });
  };
  if (parts.empty()) return {};
  if (any({Says::state})) return TensorRole::state;
  if (any({Says::d_act, Says::d_weight, Says::gradient})) return gradient_of(parts);
  if (parts.back().says == Says::update || parts.front().says == Says::update) {
    return TensorRole::update;
  }
  for (const Part& part : {parts.back(), parts.front()}) {
    if (part.says == Says::weight) return TensorRole::weight;
    if (part.says == Says::act) return TensorRole::act;
  }
  return {};
}

/// "step<digits>/", removed from the name; nothing if it does not begin so.
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

/// Without the parts that say that it is a gradient, an update or state.
std::string without_role(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find_first_of(separators), name.size());
    const Part part = read_part(name.substr(0, end));
    const std::string_view kept =
        part.says && !is_kept(*part.says) ? std::string_view(part.rest) : part.text;
    out += kept;
    if (end < name.size() && (!kept.empty() || part.text.empty())) out += name[end];
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  out.erase(out.find_last_not_of(separators) + 1);
  return out;
}

/// Whether a name is a role and nothing else: "dW", "weight.grad".
bool is_role_alone(std::string_view name, TensorRole role) {
  const std::vector<Part> parts = parts_of(name);
  return role_of_parts(parts) == role && std::ranges::all_of(parts, [](const Part& part) {
           return part.says && part.rest.empty();
         });
}

bool fits(std::string_view name, const RoleRule& rule) {
  // The name is a part of memory, which may hold zeros.
  std::array<regmatch_t, 1> range{};
  range[0].rm_eo = static_cast<regoff_t>(name.size());
  const auto* const pattern = static_cast<const regex_t*>(rule.pattern.get());
  return regexec(pattern, name.data(), 1, range.data(), REG_STARTEND) == 0;
}

}  // namespace

RoleRule parse_role_rule(std::string_view option, std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const auto* const row = std::ranges::find(tensor_role_names, name);
  if (equals == std::string_view::npos || equals + 1 == text.size() ||
      (row == tensor_role_names.end() && name != other_role)) {
    throw Error(fmt::format("{} {}: not ROLE=REGEX; the roles are {} and {}, as in grad='^g[.]'",
                            option, printable(text), fmt::join(tensor_role_names, ", "),
                            other_role));
  }
  RoleRule rule{.role = {}, .text = std::string(text), .pattern = {}};
  if (row != tensor_role_names.end()) {
    rule.role = static_cast<TensorRole>(row - tensor_role_names.begin());
  }
  auto* const compiled = new regex_t;
  const int error = regcomp(compiled, rule.text.c_str() + equals + 1, REG_EXTENDED | REG_NOSUB);
  if (error != 0) {
    std::array<char, 200> why{};
    regerror(error, compiled, why.data(), why.size());
    delete compiled;
    throw Error(fmt::format("{} {}: {}; write an extended regular expression, as for grep -E",
                            option, printable(text), why.data()));
  }
  rule.pattern = std::shared_ptr<const void>(compiled, [](const void* pattern) {
    auto* const mine = static_cast<regex_t*>(const_cast<void*>(pattern));
    regfree(mine);
    delete mine;
  });
  return rule;
}

bool fits_any(std::string_view name, std::span<const RoleRule> rules) {
  return std::ranges::any_of(rules, [name](const RoleRule& rule) { return fits(name, rule); });
}

std::optional<TensorRole> role_of(std::string_view name, std::span<const RoleRule> rules) {
  for (const RoleRule& rule : rules) {
    if (fits(name, rule)) return rule.role;
  }
  std::string_view rest = name;
  (void)take_step(rest);
  return role_of_parts(parts_of(rest));
}

bool is_named_as_gradients(std::string_view path) {
  std::string stem = std::filesystem::path(path).stem().string();
  std::ranges::replace(stem, '-', '.');
  std::ranges::replace(stem, '_', '.');
  return std::ranges::any_of(parts_of(stem),
                             [](const Part& part) { return part.says == Says::gradient; });
}

std::optional<TensorTime> tensor_time(std::string_view name, std::optional<TensorRole> role) {
  const std::optional<std::uint64_t> step = take_step(name);
  if (!step || !role) return {};
  const std::size_t slash = name.rfind('/');
  if (slash != std::string_view::npos && is_role_alone(name.substr(slash + 1), *role)) {
    if (slash == 0) return {};
    return TensorTime{*step, std::string(name.substr(0, slash)), *role};
  }
  std::string layer = without_role(name);
  if (layer.empty()) return {};
  return TensorTime{*step, std::move(layer), *role};
}

bool misses_time(std::string_view name, const std::optional<TensorTime>& time) {
  if (time) return false;
  for (const std::string_view word : {"step", "iteration", "iter", "epoch"}) {
    if (!name.starts_with(word)) continue;
    const std::size_t digits = name.find_first_not_of("_-=. ", word.size());
    const std::size_t end = std::min(name.find_first_not_of("0123456789", digits), name.size());
    return digits < end && end < name.size() &&
           separators.find(name[end]) != std::string_view::npos;
  }
  return false;
}

}  // namespace binade

// SPDX-License-Identifier: Apache-2.0
//
// The table of words, and the search for a word in a part.
#include "lib/report/name_parts.h"

#include <algorithm>
#include <array>
#include <map>

#include "lib/text/spelling.h"

namespace binade {
namespace {

struct Words {
  Says says;
  std::string_view words;  ///< separated by blanks
};

// Words of PyTorch's parameters, gradients and optimizers; grad_input and grad_output of hooks;
// Megatron's main_grad; dgrad and wgrad of Transformer Engine; Flax's kernel; mu and nu of optax;
// the optimizers of Keras; and words that people use in their dumps.
constexpr std::array<Words, 11> table_of_words{{
    {Says::state,
     "exp_avg exp_avg_sq exp_avg_sqs exp_avg_sq_row exp_avg_sq_col exp_inf max_exp_avg_sq "
     "momentum_buffer square_avg "
     "grad_avg acc_delta opt_state optimizer optimizer_state optim_state running_mean running_var "
     "prev_flat_grad adam_m "
     "adam_v first_moment second_moment"},
    {Says::gradient, "grad grads gradient gradients main_grad"},
    {Says::backward, "backward bwd"},
    {Says::d_act,
     "dact dacts dactivation dactivations dinput doutput dhidden dlogits dpreact dgrad grad_act "
     "grad_activation "
     "grad_input grad_inputs grad_output grad_outputs grad_hidden grad_logits grad_in grad_out"},
    {Says::d_weight,
     "dweight dweights dbias dkernel dparam dparams dgamma dbeta wgrad grad_w grad_b grad_weight "
     "grad_weights grad_bias "
     "grad_kernel grad_param grad_params"},
    {Says::short_d_act, "dx dy dz dh dout dinp dq dk dv dqkv"},
    {Says::short_d_weight, "dw db dwq dwk dwv dwo dwqkv"},
    {Says::kept,
     "moment moments momentum velocity ema mu nu adam adamw nadam radam adamax adagrad adadelta "
     "rmsprop sgd lamb lion "
     "adafactor ftrl"},
    {Says::update, "update updates"},
    {Says::weight,
     "weight weights bias biases kernel kernels param params parameter parameters master_weight "
     "master_weights gamma "
     "beta w"},
    {Says::act,
     "act acts activation activations preact preactivation preactivations input inputs output "
     "outputs out hidden "
     "hidden_state hidden_states logits feature features attn_weights attention_weights "
     "attn_output_weights "
     "router_weights"},
}};

/// Parts that say what all tensors below them are, whatever character separates them.
constexpr std::array<std::string_view, 9> collections{"acts",    "activations", "preactivations",
                                                      "weights", "params",      "parameters",
                                                      "updates", "moment",      "moments"};

/// Words that follow "grad_" in names of things that are no gradients, statistics among them.
constexpr std::array<std::string_view, 41> no_gradients{
    "norm",     "norms",      "scale",         "scaler",   "scales", "scaling",   "clip",
    "clipping", "checkpoint", "checkpointing", "cam",      "fn",     "sq",        "sqr",
    "squared",  "square",     "mean",          "avg",      "std",    "var",       "variance",
    "max",      "min",        "absmax",        "amax",     "hist",   "histogram", "mask",
    "ema",      "snr",        "stat",          "stats",    "cos",    "sim",       "similarity",
    "penalty",  "reversal",   "boost",         "boosting", "rms",    "noise"};
/// Words that precede "_grad" in names of things that are no gradients.
constexpr std::array<std::string_view, 3> not_graded{"no", "requires", "stop"};

constexpr std::size_t longest_word = 40;  // longer texts are in no row of the table

std::optional<Says> look_up(std::string_view word) {
  static const std::map<std::string_view, Says> table = [] {
    std::map<std::string_view, Says> out;
    for (const Words& row : table_of_words) {
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

bool is_in(std::string_view word, const auto& words) {
  return std::ranges::find(words, word) != words.end();
}

/// A word, and where it is in the part.
struct Found {
  std::optional<Says> says = {};
  std::size_t from = 0, size = 0;
};

/// Finds the longest end of a part that is a word. A word of one letter must be the whole part. A
/// short word counts as an end only with a capital, as in formulas: "fc1_dW".
Found by_end(std::string_view part, std::string_view lower) {
  for (std::size_t at = 0; at < lower.size();
       at = std::min(lower.find('_', at), lower.size() - 1) + 1) {
    const std::size_t size = lower.size() - at;
    if (size > longest_word || (at != 0 && size == 1)) continue;
    const std::optional<Says> says = look_up(lower.substr(at));
    if (!says) continue;
    if (at == 0) return {says, at, size};
    const std::size_t before = lower.rfind('_', at - 2);
    const std::size_t from = before == std::string_view::npos ? 0 : before + 1;
    const bool negated =
        says == Says::gradient && is_no_gradient(lower.substr(from, at - 1 - from), "");
    const bool is_short = says == Says::short_d_act || says == Says::short_d_weight;
    const bool capital = part[at] == 'd' && part[at + 1] >= 'A' && part[at + 1] <= 'Z';
    if (negated || says == Says::kept || (is_short && !capital)) return {};
    return {says, at, size};
  }
  return {};
}

Found by_beginning(std::string_view part, std::string_view lower) {
  const std::size_t size = lower.find('_');
  if (size == std::string_view::npos || size + 1 == lower.size()) return {};
  const std::string_view first = lower.substr(0, size);
  if (look_up(first) == Says::gradient) {
    const std::string_view second = lower.substr(size + 1, lower.find('_', size + 1) - size - 1);
    return is_no_gradient("", second) ? Found{} : Found{Says::gradient, 0, size};
  }
  if (first == "d") {  // as in d_weight, d_logits
    const std::optional<Says> of = look_up(lower.substr(size + 1));
    if (of == Says::weight) return {Says::short_d_weight, 0, lower.size()};
    if (of == Says::act) return {Says::short_d_act, 0, lower.size()};
  }
  const bool matrix = first == "weight" || first == "bias" || part.starts_with("W_") ||
                      part.starts_with("b_");  // weight_ih_l0; W_Q and b_Q
  return matrix ? Found{Says::weight, 0, size} : Found{};
}

/// Returns the text without the word, and without the underscores that joined it to the rest.
std::string without(std::string_view text, const Found& word) {
  std::string_view before = text.substr(0, word.from);
  std::string_view after = text.substr(word.from + word.size);
  before = before.substr(0, before.find_last_not_of('_') + 1);
  if (before.empty()) after.remove_prefix(std::min(after.find_first_not_of('_'), after.size()));
  return std::string(before).append(after);
}

/// Returns "gradWeight" as "grad_weight"; "dW" stays one word.
std::string without_capitals(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool capital = c >= 'A' && c <= 'Z';
    const bool after_word = out.size() > 1 && out.back() >= 'a' && out.back() <= 'z';
    if (capital && after_word) out += '_';
    out += c;
  }
  return lower_case(out);
}

/// Recognises gradients as formulas write them, dA, dZ, dWo1, for which the table has no word.
std::optional<Says> by_formula(std::string_view part) {
  constexpr std::size_t longest = 6;
  const bool formula = part.size() >= 2 && part.size() <= longest && part[0] == 'd' &&
                       part[1] >= 'A' && part[1] <= 'Z' && part.find('_') == std::string_view::npos;
  if (!formula) return {};
  return part[1] == 'W' || part[1] == 'B' ? Says::short_d_weight : Says::short_d_act;
}

NamePart read_lower(std::string_view text, std::string_view part, std::string_view lower) {
  NamePart out{.text = text};
  const Found end = by_end(part, lower);
  const Found beginning = by_beginning(text, lower);
  const bool end_decides =
      end.says &&
      ((end.from == 0 && end.size == lower.size()) || !beginning.says ||
       (beginning.says == Says::weight && end.says != Says::weight && end.says != Says::act));
  const Found& word = end_decides ? end : beginning;
  if (!word.says) return out;
  out.says = word.says;
  out.rest = without(text, word);
  out.by_end = end_decides && end.from != 0;
  out.collection = is_in(lower, collections);
  return out;
}

/// Returns whether a part says where a tensor was ("12", "step10", "rank0") and not what it is.
bool is_count(std::string_view part) {
  const std::string_view word = part.substr(0, part.find_last_not_of("0123456789") + 1);
  return word.empty() || (word.size() < part.size() &&
                          (word == "step" || word == "epoch" || word == "iter" || word == "rank"));
}

}  // namespace

NamePart read_part(std::string_view text) {
  const std::string_view part = text.substr(0, text.find_last_not_of("0123456789_") + 1);
  const std::string lower = lower_case(part);
  NamePart out = read_lower(text, part, lower);
  if (out.says) return out;
  if (const auto formula = by_formula(part)) {
    out.says = formula;
    out.rest = text.substr(part.size());
    return out;
  }
  const std::string words = without_capitals(part);
  if (words == lower) return out;
  NamePart camel = read_lower(words, words, words);
  camel.text = text;
  return camel;
}

std::vector<NamePart> parts_of(std::string_view name) {
  std::vector<NamePart> parts;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find_first_of(name_separators), name.size());
    const std::string_view text = name.substr(0, end);
    const bool number = is_count(text);
    parts.push_back(number ? NamePart{.text = text} : read_part(text));
    parts.back().number = number;
    parts.back().separator = end < name.size() ? name[end] : char{0};
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return parts;
}

bool is_no_gradient(std::string_view before, std::string_view after) {
  return is_in(before, not_graded) || is_in(after, no_gradients);
}

}  // namespace binade

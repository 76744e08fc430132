// SPDX-License-Identifier: Apache-2.0
//
// What the names of tensors say: their roles, in all spellings that people use in dumps; and a
// caller's own rules.
#include "lib/report/tensor_role.h"

#include <doctest/doctest.h>

#include <utility>

#include "lib/text/error.h"
#include "tests/lib/io/files.h"

namespace binade::tensor_role_test {
namespace {

using Row = std::pair<const char*, const char*>;  // a name and the role that it tells

constexpr std::array names{
    // PyTorch: named_parameters(), .grad, optimizer state, backward hooks
    Row{"fc1.weight", "weight"},
    Row{"fc1.bias", "weight"},
    Row{"0.weight", "weight"},
    Row{"model.layers.0.self_attn.q_proj.weight", "weight"},
    Row{"input_layernorm.weight", "weight"},
    Row{"bert.encoder.layer.0.output.dense.weight", "weight"},
    Row{"features.0.weight", "weight"},
    Row{"fc1.weight.grad", "dW"},
    Row{"model.layers.0.self_attn.q_proj.bias.grad", "dW"},
    Row{"encoder.output.dense.weight.grad", "dW"},
    Row{"b.2.act.grad", "dAct"},
    Row{"logits.grad", "dAct"},
    Row{"last/fc2.preactivation.grad", "dAct"},
    Row{"fc1.grad", "grad"},
    Row{"grad_input.0", "dAct"},
    Row{"fc1.grad_output", "dAct"},
    Row{"fc1/grad_output_0", "dAct"},
    Row{"conv1.grad_weight", "dW"},
    Row{"optimizer.state.0.exp_avg", "state"},
    Row{"fc1.weight.exp_avg", "state"},
    Row{"fc1.weight.exp_avg_sq", "state"},
    Row{"fc1.weight.max_exp_avg_sq", "state"},
    Row{"fc1.momentum_buffer", "state"},
    Row{"bn1.running_mean", "state"},
    // Megatron, Transformer Engine, DeepSpeed
    Row{"decoder.layers.1.mlp.fc1.weight.main_grad", "dW"},
    Row{"fc1.main_grad", "grad"},
    Row{"fc1.dgrad", "dAct"},
    Row{"fc1.wgrad", "dW"},
    // Flax, optax, TensorFlow
    Row{"params/Dense_0/kernel", "weight"},
    Row{"grads/Dense_0/kernel", "dW"},
    Row{"grads/params/Dense_0/kernel", "dW"},
    Row{"opt_state/0/mu/Dense_0/kernel", "state"},
    Row{"gradients/dense/kernel:0", "dW"},
    Row{"dense/bias:0", "weight"},
    // binade's own
    Row{"step000440/fc1/dW", "dW"},
    Row{"step000440/fc1/dAct", "dAct"},
    Row{"step000440/fc1/act", "act"},
    Row{"step000440/fc1/weight", "weight"},
    Row{"step000440/fc1/update", "update"},
    // folders of a kind
    Row{"grad/fc1", "grad"},
    Row{"gradients.fc1", "grad"},
    Row{"gradient:fc1", "grad"},
    Row{"grads.layer1.0.conv1.weight", "dW"},
    Row{"activations/fc1", "act"},
    Row{"weights/fc1", "weight"},
    Row{"updates/fc1.weight", "update"},
    Row{"updates/fc1", "update"},
    Row{"update.fc1", "other"},
    // by hand, in NumPy
    Row{"dW", "dW"},
    Row{"dw1", "dW"},
    Row{"dW_2", "dW"},
    Row{"db1", "dW"},
    Row{"W1", "weight"},
    Row{"dx", "dAct"},
    Row{"dact", "dAct"},
    Row{"dOut", "dAct"},
    Row{"act", "act"},
    Row{"act_12", "act"},
    Row{"hidden_states", "act"},
    Row{"fc1_weight", "weight"},
    Row{"fc1_act", "act"},
    Row{"fc1_dW", "dW"},
    Row{"fc1_grad", "grad"},
    Row{"fc1_weight_grad", "dW"},
    Row{"fc1_bias_gradient", "dW"},
    Row{"fc1_out_grad", "dAct"},
    Row{"fc1_exp_avg_sq", "state"},
    Row{"layer3_output", "act"},
    Row{"GRAD", "grad"},
    Row{"Grads", "grad"},
    // nothing told
    Row{"", "other"},
    Row{"/", "other"},
    Row{"x", "other"},
    Row{"a", "other"},
    Row{"0", "other"},
    Row{"1.2.3", "other"},
    Row{"loss", "other"},
    Row{"fc1", "other"},
    Row{"grad_norm", "other"},
    Row{"grad_scale", "other"},
    Row{"grad_scaler.scale", "other"},
    Row{"gradual", "other"},
    Row{"degrad", "other"},
    Row{"lm_head", "other"},
    Row{"blocks.0.attn.qkv", "other"},
    Row{"out_proj", "other"},
    Row{"input_layernorm", "other"},
    Row{"matrix_w", "other"},
    Row{"mean_x", "other"},
    Row{"weighted", "other"},
    Row{"action", "other"},
    Row{"step5", "other"},
    Row{"___", "other"},
    Row{"weight ", "other"},
    Row{"step1/x", "other"},
    // modules that are called as roles are
    Row{"blocks.0.0.conv_dw.weight", "weight"},
    Row{"blocks.0.0.conv_dw", "other"},
    Row{"blocks.0.0.conv_dw/output", "act"},
    Row{"blocks.0.0.conv_dw.weight.grad", "dW"},
    Row{"dw0.m.conv.weight", "weight"},
    Row{"db1.conv.weight", "weight"},
    Row{"encoder.dx.0.weight", "weight"},
    Row{"dout.0.weight", "weight"},
    Row{"head_no_grad.weight", "weight"},
    Row{"no_grad/fc1.weight", "weight"},
    Row{"features.1.0.layer_scale", "other"},
    Row{"features.1.0.attn.relative_position_bias_table", "other"},
    Row{"act.alpha", "other"},
    Row{"output.dense", "other"},
    Row{"update.gru.convz.weight", "weight"},
    Row{"momentum.fc.weight", "weight"},
    Row{"mu.weight", "weight"},
    // prefixes
    Row{"grad_fc1.weight", "dW"},
    Row{"grad_layers.0.self_attn.q_proj.weight", "dW"},
    Row{"grad_fc2_bias", "dW"},
    Row{"grads_fp16/fc1.weight", "dW"},
    Row{"grads_rank0/fc1.weight", "dW"},
    Row{"grad_before_clip/fc1.weight", "dW"},
    Row{"weight.grad_sample", "dW"},
    Row{"weight.grad_fp16", "dW"},
    Row{"grad_checkpoint.fc1.weight", "weight"},
    Row{"gradient_clip", "other"},
    // statistics of gradients
    Row{"fc1.weight.grad_sq", "other"},
    Row{"fc1.weight.grad_hist", "other"},
    Row{"fc1.weight.grad_mean", "other"},
    Row{"fc1.weight.grad.norm", "other"},
    Row{"grad_ema/fc1.weight", "weight"},
    Row{"d.grad_penalty", "other"},
    // parameters that are called as an optimizer's state
    Row{"grads/prior/mu", "grad"},
    Row{"grad.prior.mu", "grad"},
    Row{"gradients/enc/velocity", "grad"},
    Row{"enc.square_avg.grad", "grad"},
    Row{"prior.mu", "state"},
    Row{"optimizer/fc1.weight.grad", "state"},
    // parameters of recurrent layers, weight norm, TransformerLens, Paddle
    Row{"lstm.weight_ih_l0", "weight"},
    Row{"lstm.bias_hh_l0", "weight"},
    Row{"weight_g", "weight"},
    Row{"blocks.0.mlp.W_out", "weight"},
    Row{"blocks.0.mlp.b_out", "weight"},
    Row{"blocks.0.attn.W_Q", "weight"},
    Row{"blocks.0.mlp.W_out.grad", "dW"},
    Row{"w_0@GRAD", "dW"},
    // optimizers
    Row{"Adam/m/dense/kernel:0", "state"},
    Row{"mu/params/Dense_0/kernel", "state"},
    Row{"nu/Dense_0/kernel", "state"},
    Row{"moment1.fc1.weight", "state"},
    Row{"moments.conv1.weight", "state"},
    Row{"velocity/fc1.weight", "state"},
    Row{"ema/fc1.weight", "state"},
    Row{"adam_m/fc1.weight", "state"},
    Row{"exp_avg_sq_row/fc1.weight", "state"},
    Row{"state.0.prev_flat_grad", "state"},
    Row{"state.0.sum", "state"},
    Row{"state.3.grad_avg", "state"},
    Row{"fc1.weight.momentum", "state"},
    // attention
    Row{"layers.0.self_attn.attn_weights", "act"},
    Row{"decoder.attn_output_weights", "act"},
    Row{"router_weights", "act"},
    Row{"attn.dqkv", "dAct"},
    Row{"dW/fc1", "dW"},
    Row{"activations.fc1", "act"},
    // formulas and what people write for "gradient of"
    Row{"d_input", "dAct"},
    Row{"d_logits", "dAct"},
    Row{"fc1.d_out", "dAct"},
    Row{"d_weight", "dW"},
    Row{"fc1/d_bias", "dW"},
    Row{"d_model", "other"},
    Row{"d_hidden.weight", "weight"},
    Row{"dt_proj.weight", "weight"},
    Row{"gradient_dense/kernel:0", "dW"},
    Row{"backward.fc1.out", "dAct"},
    Row{"bwd/fc1", "grad"},
    Row{"lstm.backward.weight", "weight"},
    Row{"dA1", "dAct"},
    Row{"dA", "dAct"},
    Row{"dZ1", "dAct"},
    Row{"dQ", "dAct"},
    Row{"dh1", "dAct"},
    Row{"dWq", "dW"},
    Row{"dwqkv", "dW"},
    Row{"dinp", "dAct"},
    Row{"grad_x", "grad"},
    Row{"grad_A1", "grad"},
    Row{"gradW", "dW"},
    Row{"gradient_W", "dW"},
    Row{"gradInput", "dAct"},
    Row{"gradWeight", "dW"},
    Row{"weightGrad", "dW"},
    Row{"fc1.weight.grad_acc", "dW"},
    Row{"fc1.weight.grad_accum", "dW"},
    Row{"fc1.weight.grad_rank0", "dW"},
    Row{"['grads']['Dense_0']['kernel']", "dW"},
    Row{"fc1.weight/step0", "weight"},
    Row{"fc1.weight.grad/step0", "dW"},
    Row{"DropPath", "other"},
    Row{"dT_embedding", "other"},
};

TEST_CASE("names tell roles") {
  for (const Row& row : names) {
    CAPTURE(row.first);
    CHECK(tensor_role_name(role_of(row.first)) == std::string_view(row.second));
  }
}

TEST_CASE("a name of any bytes and length tells something or nothing, and soon") {
  std::string long_name;
  for (int i = 0; i < 300'000; ++i) long_name += "a_";
  CHECK_FALSE(role_of(long_name));
  CHECK(role_of(long_name + "grad") == TensorRole::gradient);
  CHECK(role_of(std::string(1'000'000, '/') + "dW") == TensorRole::d_weight);
  CHECK(role_of(std::string("\0.grad", 6)) == TensorRole::gradient);
  CHECK_FALSE(role_of("\xff\xfe"));
}

TEST_CASE("gradients are dAct, dW and grad") {
  for (std::size_t i = 0; i < tensor_role_names.size(); ++i) {
    const std::string_view name = tensor_role_names[i];
    CHECK(is_gradient(static_cast<TensorRole>(i)) ==
          (name == "dAct" || name == "dW" || name == "grad"));
  }
}

std::optional<TensorRole> ruled(std::string_view name, std::initializer_list<const char*> rules) {
  std::vector<RoleRule> parsed;
  for (const char* rule : rules) parsed.push_back(parse_role_rule("--role", rule));
  const RoleRule* const rule = fitting_rule(name, parsed);
  return rule != nullptr ? rule->role : role_of(name);
}

TEST_CASE("the first rule that fits decides, before the words of the name") {
  CHECK(ruled("g.fc1", {"grad=^g[.]"}) == TensorRole::gradient);
  CHECK_FALSE(ruled("h.fc1", {"grad=^g[.]"}));
  CHECK(ruled("fc1.weight", {"grad=^g[.]"}) == TensorRole::weight);
  CHECK(ruled("fc1.weight", {"dW=weight"}) == TensorRole::d_weight);
  CHECK_FALSE(ruled("fc1.weight", {"other=fc1", "dW=weight"}));
  CHECK(ruled("fc1.weight", {"dW=weight", "other=fc1"}) == TensorRole::d_weight);
  CHECK(ruled("step3/fc1", {"act=^step3/"}) == TensorRole::act);
  CHECK(ruled("a=b", {"state=a=b"}) == TensorRole::state);
  CHECK(ruled(std::string_view("x\0y", 3), {"update=y$"}) == TensorRole::update);
}

TEST_CASE("what is no rule is an error that names the roles") {
  const auto complaint = [](const char* text) {
    return test::error_of([&] { (void)parse_role_rule("--role", text); });
  };
  const std::string roles = "the roles are act, dAct, weight, dW, grad, update, state and other";
  for (const char* text : {"", "grad", "grad=", "=x", "Grad=x", "gradient=x"}) {
    CAPTURE(text);
    CHECK(test::has(complaint(text), "not ROLE=REGEX"));
    CHECK(test::has(complaint(text), roles));
  }
  CHECK(test::has(complaint("grad=("), "--role grad=(: "));
}

TEST_CASE("the rules of a report are bounded together") {
  std::vector<RoleRule> rules;
  for (int i = 0; i < 3; ++i) {
    rules.push_back(parse_role_rule("--role", "grad=" + std::string(450, 'x')));
  }
  CHECK(test::error_of([&] { check_rules(std::span(rules).first(2)); }).empty());
  CHECK(test::has(test::error_of([&] { check_rules(rules); }), "all rules have more than 1000"));
  rules[1].pattern = nullptr;
  CHECK(test::has(test::error_of([&] { check_rules(rules); }), "a rule without a pattern"));
}

TEST_CASE("files named as gradients") {
  for (const char* path :
       {"grads.npz", "a/b/gradients.safetensors", "run1_grad.npy", "grad-step3.npz",
        "digits_gradients.safetensors", "my.grads.npz", "GRAD.npz", "fc1_grad_step3.npy",
        "grads_fp16.npz", "grads.rank.0.npz"}) {
    CAPTURE(path);
    CHECK(is_named_as_gradients(path));
  }
  for (const char* path : {"x.npz", "grads/x.npz", "gradual.npz", "upgrade.npz", "stdin", "",
                           "weights_gradient_checkpointing.npz", "resnet_grad_cam_features.npz",
                           "activations_no_grad.npz", "model_grad_accum4.npz", "grad_norm.npz",
                           "weights_and_grads.npz", "no_grad.npz", "ckpt_no_grad.npz",
                           "llama_grad_ckpt.npz", "before_grad_clip.npz"}) {
    CAPTURE(path);
    CHECK_FALSE(is_named_as_gradients(path));
  }
}

}  // namespace
}  // namespace binade::tensor_role_test

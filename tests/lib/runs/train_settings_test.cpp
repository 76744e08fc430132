// SPDX-License-Identifier: Apache-2.0
//
// Settings of trainings: what each key sets, defaults, and what is refused.
#include "lib/runs/train_settings.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/text/error.h"
#include "lib/train/step_scaler.h"
#include "tests/lib/io/files.h"

namespace binade::train_settings_test {
namespace {

using Json = nlohmann::json;

TrainSettings with(const std::string& key, const Json& value) {
  return train_settings({{"workload", "digits_mlp"}, {key, value}});
}

TEST_CASE("a workload alone gives its rate, momentum 0.9 and PyTorch's AMP") {
  const TrainSettings s = train_settings({{"workload", "digits_tanh8"}});
  const TrainingRecipe& r = s.recipe;
  CHECK(s.workload == "digits_tanh8");
  CHECK(s.batch == 0);
  CHECK(r.level == "native");
  CHECK(r.products.format == "binary16");
  CHECK(r.products.sm == 90);
  CHECK(r.products.accumulator == "f32");
  CHECK(r.products.promote_every == 0);
  CHECK(r.products.instruction == std::array<std::string, 3>{});
  CHECK(r.scaler.empty());
  CHECK(r.scaler_parameters.empty());
  CHECK(r.products.attention == Attention::flash);
  CHECK_FALSE(r.skip_overflow);
  CHECK(r.loss_shift == 0);
  CHECK(r.optimizer.name == "sgd");
  CHECK(r.optimizer.lr == 0.05);
  CHECK(r.optimizer.momentum == 0.9);
  CHECK(r.optimizer.weight_decay == 0);
  CHECK(r.optimizer.update == UpdateRule::nearest);
  CHECK_FALSE(r.master_weights.has_value());
  CHECK(r.clip_norm == 0);
  CHECK(r.steps == 440);
  CHECK(r.seed == 0);
}

TEST_CASE("each key sets its own value") {
  CHECK(with("level", "O2").recipe.level == "O2");
  CHECK(with("format", "bfloat16").recipe.products.format == "bfloat16");
  CHECK(with("arch", "sm_80").recipe.products.sm == 80);
  CHECK(with("accumulator", "f16").recipe.products.accumulator == "f16");
  CHECK(with("promote_every", 4).recipe.products.promote_every == 4);
  const std::array<const char*, 3> passes{"fprop", "dgrad", "wgrad"};
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const TrainSettings s = with(passes[i], "mma.m16n8k8.f32.f16.f16.f32");
    for (std::size_t j = 0; j < passes.size(); ++j) {
      CHECK(s.recipe.products.instruction[j] == (i == j ? "mma.m16n8k8.f32.f16.f16.f32" : ""));
    }
  }
  CHECK(with("scaler", "static:128").recipe.scaler == "static:128");
  CHECK(with("scaler", "log_max").recipe.scaler == "log_max");
  for (const ScalerParameter& p : scaler_parameters()) {
    CAPTURE(std::string(p.name));
    const bool is_truth = p.kind == ParameterKind::truth;
    Json settings{{"workload", "digits_mlp"}, {p.name, is_truth ? Json(true) : Json(p.least)}};
    if (p.kind == ParameterKind::whole) settings[p.name] = 1;
    for (const std::string_view scaler : step_scaler_names()) {  // the first that takes it
      settings["scaler"] = scaler == "static:SCALE" ? "static:8" : scaler;
      TrainingRecipe recipe;
      recipe.scaler = settings["scaler"];
      const auto takes = scaler_takes(recipe).parameters;
      if (std::ranges::find(takes, p.name) != takes.end()) break;
    }
    if (is_truth) settings["min_scale"] = 1;
    if (p.name == "max_scale" || p.name == "product_cap") settings["init_scale"] = p.least;
    const auto read = train_settings(settings).recipe.scaler_parameters;
    CHECK(read.at(std::string(p.name)) == (is_truth ? 1 : p.least));
  }
  CHECK(
      train_settings({{"workload", "digits_mlp"}, {"scaler", "static:8"}, {"skip_overflow", true}})
          .recipe.skip_overflow);
  CHECK(with("loss_shift", -3).recipe.loss_shift == -3);
  CHECK(with("optimizer", "adam").recipe.optimizer.name == "adam");
  CHECK(with("optimizer", "adamw").recipe.optimizer.name == "adamw");
  CHECK(with("lr", 0.5).recipe.optimizer.lr == 0.5);
  CHECK(with("momentum", 0).recipe.optimizer.momentum == 0);
  CHECK(with("weight_decay", 1e-4).recipe.optimizer.weight_decay == 1e-4);
  const auto of_o3 = [](const char* key, const Json& value) {
    return train_settings({{"workload", "digits_mlp"}, {"level", "O3"}, {key, value}}).recipe;
  };
  CHECK(of_o3("master_weights", true).master_weights == true);
  CHECK(of_o3("update", "stochastic").optimizer.update == UpdateRule::stochastic);
  CHECK(of_o3("update", "kahan").optimizer.update == UpdateRule::kahan);
  CHECK(with("clip_norm", 2).recipe.clip_norm == 2);
  CHECK(with("steps", 7).recipe.steps == 7);
  CHECK(with("batch", 16).batch == 16);
  CHECK(with("seed", 5).recipe.seed == 5);
}

TEST_CASE("an unknown key is named with the known ones") {
  try {
    with("stepz", 3);
    FAIL("taken");
  } catch (const Error& error) {
    const std::string text = error.what();
    CHECK(text.find("unknown key stepz; did you mean steps?; keys are workload, level, format") !=
          std::string::npos);
    for (const char* key : {"arch",          "accumulator",     "promote_every",  "fprop",
                            "dgrad",         "wgrad",           "scaler",         "attention",
                            "init_scale",    "growth_interval", "hysteresis",     "edge",
                            "skip_overflow", "loss_shift",      "optimizer",      "lr",
                            "momentum",      "weight_decay",    "master_weights", "update",
                            "clip_norm",     "steps",           "batch",          "seed"}) {
      CAPTURE(key);
      CHECK(text.find(key) != std::string::npos);
    }
  }
}

TEST_CASE("values of a wrong kind or beyond their range are refused") {
  const std::vector<std::pair<const char*, std::vector<Json>>> bad{
      {"level", {"O4", "o2", 2, nullptr}},
      {"format", {"fp64", "fp61", 16}},
      {"arch", {"hopper", 90}},
      {"accumulator", {"f64", 32}},
      {"promote_every", {-1, 1.5, "4"}},
      {"fprop", {"mma.nothing", 3}},
      {"scaler", {"nobody", "static:", "static:-1", "static:0", "static:1e300", 1024}},
      {"init_scale", {0, -1, 1e39, "2"}},
      {"growth_interval", {0, 2.5}},
      {"skip_overflow", {1, "no"}},
      {"loss_shift", {61, -61, 1.5, ~std::uint64_t{0}, std::uint64_t{1} << 63}},
      {"optimizer", {"lion", 1}},
      {"lr", {-0.1, 1e7, "fast"}},
      {"momentum", {-1, 1.5}},
      {"weight_decay", {-1}},
      {"master_weights", {1, "yes"}},
      {"update", {"down", 0}},
      {"clip_norm", {-1}},
      {"steps", {0, 1e3, "10", -5, std::uint64_t{3} << 62}},
      {"batch", {0, -1, 1 << 21}},
      {"seed", {-1, 0.5, std::uint64_t{1} << 63}},
      {"workload", {"mnist", 1}}};
  for (const auto& row : bad) {
    const auto& [key, values] = row;
    for (const Json& value : values) {
      CAPTURE(row.first);
      CAPTURE(value.dump());
      Json settings{{"workload", "digits_mlp"}};
      settings[key] = value;
      CHECK_THROWS_AS(train_settings(settings), Error);
    }
  }
}

TEST_CASE("settings that are no object, or name no workload, are refused") {
  CHECK_THROWS_AS(train_settings(Json::array({1, 2})), Error);
  CHECK_THROWS_AS(train_settings(Json(3)), Error);
  CHECK_THROWS_WITH_AS(train_settings(Json::object()),
                       "training: no workload; name one, as {\"workload\": \"digits_mlp\"}", Error);
}

TEST_CASE("products that an architecture does not have are refused before training") {
  const auto refused = [](const Json& more) {
    Json settings{{"workload", "digits_mlp"}};
    settings.update(more);
    CHECK_THROWS_AS(train_settings(settings), Error);
  };
  refused({{"format", "e4m3"}, {"arch", "sm_80"}});
  refused({{"format", "bfloat16"}, {"arch", "sm_75"}});
  refused({{"format", "bfloat16"}, {"accumulator", "f16"}});
  refused({{"format", "e4m3"}, {"accumulator", "reference"}});
}

TEST_CASE("recipes that contradict themselves are refused before training") {
  const auto error_of = [](Json more) {
    more["workload"] = "digits_mlp";
    return test::error_of([&] { train_settings(more); });
  };
  CHECK(test::has(error_of({{"level", "O0"}}), "level O0 computes in binary32"));
  CHECK(test::has(error_of({{"level", "O3"}, {"loss_shift", 3}}), "loss_shift"));
  CHECK(error_of({{"level", "O0"}, {"format", "binary32"}, {"loss_shift", 3}}).empty());
}

TEST_CASE("a setting that another one leaves without effect is refused, both named") {
  const auto error_of = [](const Json& more) {
    Json settings{{"workload", "digits_mlp"}};
    settings.update(more);
    return test::error_of([&] { train_settings(settings); });
  };
  struct Case {
    Json settings;
    const char* key;
    const char* with;  ///< empty: taken
  };
  const std::vector<Case> cases{
      {{{"scaler", "none"}, {"init_scale", 8}}, "init_scale", "scaler none"},
      {{{"format", "binary32"}, {"arch", "sm_90"}}, "arch", "format binary32"},
      {{{"scaler", "log_max"}, {"init_scale", 8}}, "init_scale", "scaler log_max"},
      {{{"scaler", "static:4"}, {"init_scale", 8}}, "init_scale", "scaler static:4"},
      {{{"scaler", "static"}, {"init_scale", 8}}, "init_scale", ""},
      {{{"scaler", "histogram"}, {"init_scale", 8}}, "init_scale", ""},
      {{{"level", "O3"}, {"init_scale", 8}}, "init_scale", ""},
      {{{"scaler", "none"}, {"growth_interval", 8}}, "growth_interval", "scaler none"},
      {{{"scaler", "static:4"}, {"growth_interval", 8}}, "growth_interval", "scaler static:4"},
      {{{"scaler", "histogram"}, {"growth_interval", 8}}, "growth_interval", "scaler histogram"},
      {{{"level", "O3"}, {"growth_interval", 8}},
       "growth_interval",
       "the scaler of level O3 and format binary16"},
      {{{"scaler", "jmp"}, {"growth_interval", 8}}, "growth_interval", ""},
      {{{"format", "bfloat16"}, {"init_scale", 8}},
       "init_scale",
       "format bfloat16, which has no scaler unless one is named"},
      {{{"format", "bfloat16"}, {"scaler", "torch"}, {"init_scale", 8}}, "init_scale", ""},
      {{{"scaler", "torch"}, {"edge", 0.5}}, "edge", "scaler torch"},
      {{{"attention", "math"}}, "attention", "workload digits_mlp"},
      {{{"workload", "char_transformer"}, {"attention", "math"}}, "attention", ""},
      {{{"master_weights", true}},
       "master_weights",
       "level native and format binary16, whose weights"},
      {{{"level", "O2"}, {"master_weights", false}}, "master_weights", ""},
      {{{"level", "O2"}, {"update", "kahan"}}, "update", "master weights"},
      {{{"update", "stochastic"}}, "update", ""},
      {{{"workload", "fashion_cnn"}, {"level", "O2"}, {"update", "kahan"}}, "update", ""},
      {{{"level", "O3"}, {"update", "kahan"}}, "update", ""},
      {{{"level", "O2"}, {"master_weights", false}, {"update", "kahan"}}, "update", ""},
      {{{"autoswitch", true}}, "autoswitch", "format binary16"},
      {{{"format", "e4m3"}, {"autoswitch_mse", 1}}, "autoswitch_mse", "autoswitch false"},
      {{{"format", "e4m3"}, {"autoswitch", true}, {"autoswitch_mse", 1}}, "autoswitch_mse", ""},
      {{{"skip_overflow", true}},
       "skip_overflow",
       "the scaler of level native and format binary16"},
      {{{"scaler", "apex"}, {"skip_overflow", false}}, "skip_overflow", "scaler apex"},
      {{{"scaler", "none"}, {"skip_overflow", true}}, "skip_overflow", "scaler none"},
      {{{"level", "O3"}, {"skip_overflow", true}}, "skip_overflow", ""},
      {{{"optimizer", "adam"}, {"momentum", 0.5}}, "momentum", "optimizer adam"},
      {{{"workload", "char_transformer"}, {"momentum", 0}}, "momentum", "optimizer adamw"},
      {{{"workload", "char_transformer"}, {"optimizer", "sgd"}, {"momentum", 0}}, "momentum", ""},
      {{{"workload", "char_transformer"}}, "momentum", ""},
      {{{"format", "binary32"}, {"accumulator", "f16"}}, "accumulator", "format binary32"},
      {{{"format", "binary32"}, {"accumulator", "reference"}}, "accumulator", ""},
      {{{"format", "binary32"}, {"promote_every", 4}}, "promote_every", "format binary32"},
      {{{"accumulator", "reference"}, {"promote_every", 4}},
       "promote_every",
       "accumulator reference"},
      {{{"accumulator", "reference"}, {"arch", "sm_80"}}, "arch", "accumulator reference"},
      {{{"level", "O1"}, {"format", "binary32"}}, "level", "format binary32"},
      {{{"level", "half"}, {"format", "tf32"}}, "level", "format tf32"},
      {{{"level", "O0"}, {"format", "binary32"}}, "level", ""},
      {{{"level", "native"}, {"format", "tf32"}}, "level", ""},
      {{{"level", "half"}, {"master_weights", false}}, "master_weights", ""},
      {{{"format", "binary32"}, {"wgrad", "mma.m16n8k8.f32.f16.f16.f32"}},
       "wgrad",
       "format binary32"},
      {{{"accumulator", "f16"}, {"promote_every", 4}}, "promote_every", ""},
  };
  for (const Case& c : cases) {
    CAPTURE(c.settings.dump());
    const std::string error = error_of(c.settings);
    if (*c.with == 0) {
      CHECK(error.empty());
    } else {
      CHECK(error.starts_with(fmt::format("training: {} has no effect with {}", c.key, c.with)));
      CHECK(test::has(error, ": leave it out, or "));
    }
  }
}

TEST_CASE("words on a command line become what the key takes") {
  CHECK(setting_value("seed", "007") == Json(7));
  CHECK(setting_value("steps", "1e1") == Json(10));
  CHECK(setting_value("steps", "1e1").is_number_integer());
  CHECK(setting_value("steps", "1.5") == Json(1.5));  // refused as a number of steps
  CHECK(setting_value("loss_shift", "-3") == Json(-3));
  CHECK(setting_value("lr", ".1") == Json(0.1));
  CHECK(setting_value("init_scale", "1e9") == Json(1e9));
  CHECK(setting_value("arch", "90") == Json("90"));
  CHECK(setting_value("master_weights", "false") == Json(false));
  for (const char* words : {"", "nan", "inf", "0x10", "1,5", "ten", "1 ", "[1]"}) {
    CAPTURE(words);
    CHECK(setting_value("lr", words) == Json(words));
    CHECK(setting_value("seed", words) == Json(words));
  }
  CHECK_THROWS_AS(setting_value("stepz", "1"), Error);
}

TEST_CASE("a result sums what the steps lost") {
  TrainingLog log;
  log.steps.resize(2);
  log.steps[0].updates = {.weights = 5, .asked = 4, .lost = 1, .not_shown = 2};
  log.steps[1].updates = {.weights = 5, .asked = 3, .lost = 2};
  log.steps[1].scale = 8;
  log.tally.multiply_adds = {1, 2, 3};
  const auto out = result_of(log);
  CHECK(out["updates_asked"] == 7);
  CHECK(out["updates_lost"] == 3);
  CHECK(out["updates_not_shown"] == 2);
  CHECK(out["final_scale"] == 8);
  CHECK(out["multiply_adds"] == nlohmann::ordered_json{{"fprop", 1}, {"dgrad", 2}, {"wgrad", 3}});
  CHECK_FALSE(out.contains("gave_up"));
  log.gave_up = "why";
  CHECK(result_of(log)["gave_up"] == "why");
}

TEST_CASE("effective settings have every default, and what does not count is not there") {
  const auto of = [](const Json& settings) { return effective_settings(train_settings(settings)); };
  const auto bf16 = of({{"workload", "char_transformer"}, {"format", "bf16"}, {"steps", 3}});
  CHECK(bf16["format"] == "bfloat16");
  CHECK(bf16["scaler"] == "none");
  CHECK(bf16["attention"] == "flash");
  CHECK(bf16["optimizer"] == "adamw");
  CHECK(bf16["lr"] == 0.003);
  CHECK(bf16["batch"] == 16);
  CHECK(bf16["steps"] == 3);
  CHECK_FALSE(bf16.contains("momentum"));
  const auto fp16 =
      of({{"workload", "digits_mlp"}, {"level", "O2"}, {"hysteresis", 2}, {"batch", 8}});
  CHECK(fp16["scaler"] == "apex");
  CHECK(fp16["hysteresis"] == 2);
  CHECK(fp16["momentum"] == 0.9);
  CHECK(fp16["batch"] == 8);
  CHECK(fp16["master_weights"] == true);
  CHECK(fp16["update"] == "nearest");
  const auto fp8 = of({{"workload", "digits_mlp"},
                       {"format", "e4m3"},
                       {"autoswitch", true},
                       {"autoswitch_mse", 0.5},
                       {"promote_every", 4}});
  CHECK(fp8["autoswitch_mse"] == 0.5);
  CHECK(fp8["autoswitch_underflow"] == 5);
  CHECK(fp8["promote_every"] == 4);
  CHECK_FALSE(fp16.contains("attention"));
}

}  // namespace
}  // namespace binade::train_settings_test

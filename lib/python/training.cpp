// SPDX-License-Identifier: Apache-2.0
//
// The functions about mixed precision and training: autocast(), autocast_dtype(), advise(),
// train(), sweep(), experiments() and experiment().
#include <nlohmann/json.hpp>

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "lib/amp/autocast_answer.h"
#include "lib/io/input_file.h"
#include "lib/io/output_paths.h"
#include "lib/python/arguments.h"
#include "lib/python/arrays.h"
#include "lib/python/documents.h"
#include "lib/python/keywords.h"
#include "lib/python/module.h"
#include "lib/runs/advise_answer.h"
#include "lib/runs/data_folder.h"
#include "lib/runs/experiment_run.h"
#include "lib/runs/strict_json.h"
#include "lib/runs/sweep.h"
#include "lib/runs/sweep_results.h"
#include "lib/runs/sweep_table.h"
#include "lib/runs/train_answer.h"
#include "lib/runs/train_job.h"
#include "lib/text/error.h"
#include "lib/text/json_text.h"

namespace binade::python {
namespace {

using namespace nanobind::literals;
using Json = nlohmann::ordered_json;

/// A document of _training.py.
template <class Made>
Made answer(const char* name, const std::string& text, const Json& json, int indent) {
  const std::string dumped = json_text(json, indent) + "\n";
  return nb::borrow<Made>(python_call("_training", name, text_object(text), text_object(dumped)));
}

std::string path_or_nothing(nb::handle x) { return x.is_none() ? "" : path_of(x); }

/// A text, or several in a list or tuple; None: none.
std::vector<std::string> texts_of(std::string_view key, nb::handle x) {
  std::vector<std::string> out;
  for (const nb::object& one : in_list(x)) out.push_back(argument_text(key, one));
  return out;
}

/// A number or a text as the program's option has it; None: not given.
std::string word_of(nb::handle x) { return x.is_none() ? "" : utf8_of(nb::str(nb::borrow(x))); }

// autocast

/// Formats between commas.
std::string formats_text(nb::handle x) {
  if (PyUnicode_Check(x.ptr())) return utf8_of(x);
  std::string out;
  for (const nb::object& one : in_list(x)) out += (out.empty() ? "" : ",") + format_of(one).name;
  return out;
}

AutocastQuestion question_of(std::vector<std::string> ops, nb::handle inputs,
                             const std::optional<std::string>& device, nb::handle dtype,
                             const std::string& list) {
  const std::string on = device.value_or("");
  return autocast_question({.ops = std::move(ops),
                            .device = list == "apex" && on == "cuda" ? "" : on,
                            .list = list,
                            .inputs = formats_text(inputs),
                            .dtype = formats_text(dtype),
                            .json = true});
}

std::optional<std::string> cast_to(const std::string& op, nb::handle inputs,
                                   const std::string& device, nb::handle dtype,
                                   const std::string& list) {
  const AutocastQuestion q = question_of({op}, inputs, device, dtype, list);
  if (formats_text(inputs).empty())
    throw Error("inputs: none; give the formats of a call's inputs");
  const AutocastOutcome outcome = autocast_answer(q, op).outcomes.front();
  if (!outcome.refusal.empty()) throw Error(outcome.refusal);
  if (!outcome.cast_to) return std::nullopt;
  return spec_of(*outcome.cast_to);
}

AutocastTableObject tell_autocast(nb::handle ops, nb::handle inputs,
                                  const std::optional<std::string>& device, nb::handle dtype,
                                  const std::string& list) {
  const std::vector<std::string> words = texts_of("ops", ops);
  const AutocastQuestion q = question_of(words, inputs, device, dtype, list);
  const std::vector<AutocastAnswer> answers = autocast_answers(q, words);
  return answer<AutocastTableObject>("AutocastTable", autocast_text(q, answers),
                                     autocast_json(q, answers), 2);
}

// advise

AdviceObject advise(nb::handle layers, nb::handle linear, nb::handle conv, nb::handle params,
                    const std::string& optimizer, Truth fp32_moments, nb::handle activations,
                    nb::handle batch, nb::handle memory, nb::handle format,
                    const std::string& arch) {
  AdviseWords words{.params = word_of(params),
                    .optimizer = optimizer,
                    .activations = word_of(activations),
                    .batch = word_of(batch),
                    .memory = word_of(memory),
                    .architecture = arch,
                    .format = format_of(format).name,
                    .linear = texts_of("linear", linear),
                    .conv = texts_of("conv", conv),
                    .fp32_moments = fp32_moments};
  if (is_list(layers)) {
    words.layers = json_of_python(layers);
    for (Json& layer : words.layers) {
      if (!layer.is_object()) throw nb::type_error("layers: a list of dicts is wanted");
      for (auto& [key, value] : layer.items()) {
        if (value.is_number_integer() && value >= 0) value = value.get<std::uint64_t>();
      }
    }
  } else {
    words.model = path_or_nothing(layers);
  }
  const AdviseAnswer told = advise_answer(words);
  return answer<AdviceObject>("Advice", told.text, told.json, 2);
}

// Trainings

constexpr std::uint64_t most_bytes_of_settings = std::uint64_t{1} << 20;

/// A dict, or a JSON file of one.
Json settings_of(nb::handle x) {
  if (PyDict_Check(x.ptr())) return json_of_python(x);
  if (!is_path(x)) throw nb::type_error("settings: a dict is wanted, or the name of a JSON file");
  const std::string path = path_of(x);
  return parse_strictly(input_name(path),
                        read_text(path, most_bytes_of_settings, "give a JSON file of settings"));
}

TrainingObject train_network(nb::handle settings, nb::handle on_step, nb::handle data,
                             nb::handle dump, std::optional<Whole<std::int64_t>> dump_every,
                             Truth flow) {
  const TrainQuestion question{.settings = nlohmann::json(settings_of(settings)),
                               .dump = path_or_nothing(dump),
                               .data = path_or_nothing(data),
                               .every = dump_every,
                               .flow = flow};
  StepTold told;
  if (!on_step.is_none()) {
    told = [on_step](const StepLog& step, std::int64_t done, std::int64_t of) {
      const Acquired acquired;
      const nb::object log =
          called_back(python_function("_training", "Step"),
                      nb::make_tuple(done, of, step.loss, step.scale, step.skipped,
                                     step.updates.lost, step.updates.not_shown));
      called_back(on_step, nb::make_tuple(log));
    };
  }
  MadeFolders folders;
  const auto prepare = [&question, &folders] {
    folders = prepare_outputs(data_files(question.data),
                              std::array{OutputPath{"dump", question.dump, OutputKind::folder}});
  };
  TrainAnswer told_in_the_end;
  {
    const Released released;
    told_in_the_end = train_answer(question, prepare, told);
  }
  return answer<TrainingObject>("Training", told_in_the_end.text, told_in_the_end.json, 1);
}

/// progress(share, what)
std::function<void(double, std::string_view)> share_told(nb::handle progress) {
  if (progress.is_none()) return {};
  return [progress](double done, std::string_view what) {
    const Acquired acquired;
    called_back(progress, nb::make_tuple(done, nb::str(what.data(), what.size())));
  };
}

SweepObject sweep_settings(nb::handle spec, nb::handle path, nb::handle on_run, nb::handle progress,
                           nb::handle result, nb::handle data) {
  const std::string given = path_or_nothing(data);
  std::vector<InputPath> read = data_files(given);
  SweepSpec wanted;
  if (PyDict_Check(spec.ptr())) {
    wanted = parse_sweep("spec", json_of_python(spec).dump());
  } else {
    wanted = read_sweep(path_of(spec));
    read.push_back({"spec", path_of(spec)});
  }
  const std::vector<std::string> chosen = chosen_results(texts_of("result", result));
  const std::string results = path_of(path);
  const auto share = share_told(progress);
  SweepProgress progressed;
  if (share) {
    progressed = [&](std::size_t run, double done) {
      const auto runs = static_cast<double>(wanted.runs());
      share((static_cast<double>(run) + done) / runs,
            "run " + std::to_string(run + 1) + " of " + std::to_string(wanted.runs()));
    };
  }
  RunTold told;
  if (!on_run.is_none()) {
    told = [&](std::size_t run, const Json& found) {
      const Acquired acquired;
      called_back(on_run, nb::make_tuple(run + 1, wanted.runs(),
                                         python_of(Json(binade::settings_of(wanted, run))),
                                         python_of(found)));
    };
  }
  SweepResults swept;
  {
    const Released released;
    prepare_outputs(read, std::array{OutputPath{"path", results, OutputKind::appended}});
    swept = run_sweep(wanted, results, train_job(data_folder(given)), progressed, told);
  }
  return answer<SweepObject>("Sweep", table_text(sweep_table(wanted, swept.results, chosen)),
                             sweep_json(wanted, swept.results, chosen), 1);
}

// Experiments

nb::list list_experiments() {
  const nb::object row = python_function("_training", "ExperimentRow");
  nb::list out;
  for (const Experiment& e : experiments()) {
    out.append(called_back(row, nb::make_tuple(e.name, e.question, hypothesis_text(e.hypothesis))));
  }
  return out;
}

ExperimentAnswerObject ask_experiment(const std::string& name, Truth quick, nb::handle data,
                                      nb::handle progress, nb::handle dump) {
  const Experiment& e = experiment_named(experiments(), name);
  const std::string given = path_or_nothing(data), folder = path_or_nothing(dump);
  if (!folder.empty() && !e.dumps) throw Error("dump: " + name + " has no tensors to dump");
  ExperimentInput input{.quick = quick,
                        .data_folder = data_folder(given),
                        .progress = share_told(progress),
                        .on_exception = &pass_python_on};
  if (!folder.empty()) input.dump_folder = (std::filesystem::path(folder) / name).string();
  std::optional<ExperimentRun> run;
  {
    const Released released;
    MadeFolders folders;
    if (!folder.empty()) {
      folders = prepare_outputs(
          data_files(given), std::array{OutputPath{"dump", folder, OutputKind::folder},
                                        OutputPath{"dump", input.dump_folder, OutputKind::folder}});
    }
    run = run_experiment(e, input);
  }
  if (status_of(*run) == RunStatus::failed) {
    throw Error("experiment " + run->name + ": " + run->failure);
  }
  return answer<ExperimentAnswerObject>("ExperimentAnswer",
                                        heading_of(e) + "\n" + run->text + answer_of(*run),
                                        experiment_runs_json(std::span(&*run, 1), quick, false), 1);
}

}  // namespace

void add_training(nb::module_& m) {
  m.def(
      "autocast_dtype", &cast_to, "op"_a, "inputs"_a, "device"_a = "cuda", "dtype"_a = nb::none(),
      "list"_a = "pytorch",
      R"(Returns the name of the format to which autocast casts an op's inputs, or None if they stay as they are.

    op: a name as in ATen, or as it is written in Python ("torch.nn.functional.linear"). inputs: formats of the inputs of the
    call, as a list or as text separated by commas. device: "cuda", "cpu", "xpu" or "mps". dtype: format to which autocast
    casts (None: the device's). list: "pytorch" (torch.autocast) or "apex" (O1 of its amp). Raises ValueError for an op that
    autocast refuses.

    >>> autocast_dtype("addmm", ["binary32", "binary32", "binary32"]), autocast_dtype("relu", ["binary32"])
    ('binary16', None)
)");
  m.def(
      "autocast", &tell_autocast, "ops"_a = nb::none(), nb::kw_only(), "inputs"_a = nb::none(),
      "device"_a = nb::none(), "dtype"_a = nb::none(), "list"_a = "pytorch",
      R"(Tells in which dtype ops run under autocast, by which rule and list: `binade autocast` as a document.

    ops: a name or a list of names (None: the whole list). inputs: formats of the inputs of the call (None: three cases, all of
    dtype, all binary32, and both). device, dtype, list: as for autocast_dtype(). Returns a document: str() is the program's
    text, to_dict() its JSON. Raises ValueError for wrong options.

    >>> autocast("softmax", inputs="binary16").to_dict()["ops"][0]["cases"][0]["runs_in"]
    'binary32'
)");
  m.def(
      "advise", &advise, "layers"_a = nb::none(), nb::kw_only(), "linear"_a = nb::none(),
      "conv"_a = nb::none(), "params"_a = nb::none(), "optimizer"_a = "adamw",
      "fp32_moments"_a = false, "activations_per_sample"_a = nb::none(), "batch"_a = nb::none(),
      "memory"_a = nb::none(), "format"_a = "binary16", "arch"_a = "sm_90",
      R"(Tells how much memory training modes take, and how layers fit Tensor Cores: `binade advise` as a document.

    layers: a list of dicts, {"kind": "linear", "tokens", "in", "out"} or {"kind": "conv2d", "batch", "channels", "height",
    "width", "filters", "rows", "columns", "stride", "padding"}, each with a "name" if it has one; or a JSON file of them.
    linear, conv: layers as text, one or a list, such as "4096x4096x50257" (`binade advise --help`). params: number of parameters
    (None: the layers' weights). optimizer: whose moments are counted; `binade advise --help` names all. fp32_moments: moments take
    4 bytes in every mode.
    activations_per_sample: how many values the forward pass of a sample keeps. batch: samples in a batch. memory: memory of
    the GPU, in bytes or as text such as "80GB", for which the largest model that fits is told. format: of the operands of the
    layers' products. arch: architecture whose Tensor Cores run them.
    Returns a document: str() is the program's text, to_dict() its JSON, in which all sizes are bytes. Raises ValueError for what
    is no size or no layer.

    >>> advise(params=7e9, optimizer="adamw").to_dict()["modes"][0]["bytes_per_parameter"]["all"]
    16
)");
  m.def("train", &train_network, "settings"_a, nb::kw_only(), "on_step"_a = nb::none(),
        "data"_a = nb::none(), "dump"_a = nb::none(), "dump_every"_a = nb::none(), "flow"_a = false,
        R"(Trains a network in emulated precision: `binade train` as a document.

    settings: a dict of the settings that `binade train --help` explains, or the path of a JSON file of one. on_step: is called
    after each step with a Step, whose attributes are step (from 1), of (all steps), loss, scale, skipped, updates_lost and
    updates_not_shown; if it raises, the training ends. data: folder of the data (None: the variable BINADE_DATA, else that
    which came with binade). dump: folder to which the tensors of every dump_every-th step are written. flow: whether the
    document also tells which op ran in which dtype. Returns a document: str() is the program's text, to_dict() its JSON. Raises
    ValueError for wrong settings, OSError for files.

    >>> settings = {"workload": "digits_mlp", "format": "binary16", "steps": 2, "batch": 8}
    >>> train(settings).to_dict()["result"]["steps_done"]
    2
)");
  m.def(
      "sweep", &sweep_settings, "spec"_a, "path"_a, nb::kw_only(), "on_run"_a = nb::none(),
      "progress"_a = nb::none(), "result"_a = nb::none(), "data"_a = nb::none(),
      R"(Trains once for every combination of settings, and returns the table of `binade sweep` as a document.

    spec: {"name": …, "base": {settings}, "grid": {key: [values], …}}, or the path of a JSON file of it. path: file of the
    results, a line of JSON for each run; runs that it holds already are not run again, so a sweep that was interrupted goes
    on; a file of another version of binade or of other data, or with a line that is not as it was written, is refused.
    on_run: is called as on_run(number, of, settings, result), with the number of the run from 1 and that of all, after
    each run of this call. progress: is called as progress(share, what), with the share that is done, from 0 to 1. result: names of
    the results to show, one or a list (None: the usual ones). data: as for train(). Raises ValueError for a wrong spec, OSError
    for files.

    >>> import tempfile, os
    >>> spec = {"name": "lr", "base": {"workload": "digits_mlp", "steps": 1, "batch": 8}, "grid": {"lr": [0.1, 0.2]}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     len(sweep(spec, os.path.join(folder, "lr.jsonl")).to_dict()["rows"])
    2
)");
  m.def(
      "experiments", &list_experiments,
      R"(Returns the questions that experiment() answers, as a list of (name, question, hypothesis).

    >>> [row.name for row in experiments()][0]
    'boundary_atlas'
)");
  m.def(
      "experiment", &ask_experiment, "name"_a, nb::kw_only(), "quick"_a = false,
      "data"_a = nb::none(), "progress"_a = nb::none(), "dump"_a = nb::none(),
      R"(Runs an experiment: `binade experiment run` as a document of text, figures, tables and plots.

    name: one of those of experiments(). quick: whether to make a smaller run that answers the same question. data: as for
    train(). progress: is called as progress(share, what) by experiments that train networks, with the share that is done, from
    0 to 1; if it raises, the experiment ends. dump: folder to which the tensors of its trainings are written. Returns a
    document: str() is the program's text, to_dict() its JSON. Raises ValueError for an unknown name and for an experiment that
    failed.

    >>> experiment("boundary_atlas", quick=True).to_dict()["results"][0]["status"]
    'as_expected'
)");
}

}  // namespace binade::python

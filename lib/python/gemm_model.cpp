// SPDX-License-Identifier: Apache-2.0
//
// The class binade.GemmModel. Tables say which keyword arguments there are and which options of the
// program they set.
#include "lib/python/gemm_model.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include "lib/instruction/rule_choice.h"
#include "lib/python/arguments.h"
#include "lib/python/arrays.h"
#include "lib/python/keywords.h"
#include "lib/python/module.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade::python {
namespace {

using namespace nanobind::literals;

/// A keyword of a model, and where it goes.
using OptionPlace = std::variant<std::string GemmOptions::*, bool GemmOptions::*,
                                 double GemmOptions::*, std::uint64_t GemmOptions::*>;
constexpr std::array<std::pair<std::string_view, OptionPlace>, 21> option_places{{
    {"instruction", &GemmOptions::instruction},
    {"arch", &GemmOptions::architecture},
    {"k_order", &GemmOptions::k_order},
    {"promote_every", &GemmOptions::promote_every},
    {"promote_scales", &GemmOptions::promote_scales},
    {"partial", &GemmOptions::partial},
    {"reduce_in", &GemmOptions::reduce_in},
    {"c_first", &GemmOptions::c_first},
    {"alpha", &GemmOptions::alpha},
    {"beta", &GemmOptions::beta},
    {"fused", &GemmOptions::fused},
    {"epilogue_format", &GemmOptions::epilogue_format},
    {"out_format", &GemmOptions::out_format},
    {"sum_format", &GemmOptions::sum_format},
    {"relu", &GemmOptions::relu},
    {"activation", &GemmOptions::activation},
    {"scale_order", &GemmOptions::scale_order},
    {"bias_first", &GemmOptions::bias_first},
    {"out_through", &GemmOptions::out_through},
    {"out_rounding", &GemmOptions::out_rounding},
    {"seed", &GemmOptions::seed},
}};
constexpr std::array<std::pair<std::string_view, std::string RuleChoice::*>, 3> rule_places{
    {{"zero_raises", &RuleChoice::zero_raises},
     {"floor", &RuleChoice::floor},
     {"cut_to_zero", &RuleChoice::cut_to_zero}}};

}  // namespace

std::string word_of(std::string_view key, nb::handle x) {
  if (x.is_none()) return "";
  if (PyUnicode_Check(x.ptr())) return utf8_of(x);
  if (const auto* const format = held<NamedOrCustom>(x)) return format->name;
  if (Whole<std::int64_t> whole; nb::try_cast(x, whole)) return std::to_string(whole.value);
  wrong_type(key, "text or a whole number is wanted", x);
}

namespace {

bool flag_of(std::string_view key, nb::handle x) {
  if (is_truth_value(x)) return PyObject_IsTrue(x.ptr()) == 1;
  wrong_type(key, "True or False is wanted", x);
}

std::uint64_t whole_of(std::string_view key, nb::handle x) {
  if (Whole<std::uint64_t> out; nb::try_cast(x, out)) return out;
  wrong_type(key, "a whole number from 0 to 2^64 - 1 is wanted", x);
}

/// A rounding's name; True is that to nearest, ties to even.
std::string round_of(std::string_view key, nb::handle x) {
  if (PyUnicode_Check(x.ptr())) return utf8_of(x);
  if (!is_truth_value(x)) wrong_type(key, "True, False or the name of a rounding is wanted", x);
  return PyObject_IsTrue(x.ptr()) == 1 ? std::string(rounding_name(Rounding::ties_to_even)) : "";
}

}  // namespace

std::vector<std::string> words_in(std::string_view key, nb::handle x) {
  std::vector<std::string> out;
  for (const nb::object& one : in_list(x)) out.push_back(word_of(key, one));
  return out;
}

namespace {

/// Whether there is such an option.
bool set_option(GemmOptions& o, std::string_view key, nb::handle value) {
  for (const auto& [name, place] : option_places) {
    if (name != key) continue;
    if (const auto* text = std::get_if<std::string GemmOptions::*>(&place)) {
      if (!value.is_none()) o.*(*text) = word_of(key, value);
    } else if (const auto* flag = std::get_if<bool GemmOptions::*>(&place)) {
      o.*(*flag) = flag_of(key, value);
    } else if (const auto* whole = std::get_if<std::uint64_t GemmOptions::*>(&place)) {
      o.*(*whole) = whole_of(key, value);
    } else {
      o.*(*std::get_if<double GemmOptions::*>(&place)) = number_of(key, value);
    }
    return true;
  }
  for (const auto& [name, place] : rule_places) {
    if (name != key) continue;
    o.rules.*place = word_of(key, value);
    return true;
  }
  if (key == "split") o.splits = words_in(key, value);
  if (key == "saturate") o.saturate = flag_of(key, value);
  if (key == "round") o.files.round = round_of(key, value);
  return key == "split" || key == "saturate" || key == "round";
}

void set_options(GemmOptions& o, const nb::kwargs& given, const char* function) {
  for (auto [key, value] : given) {
    const std::string name = utf8_of(key);
    if (set_option(o, name, value)) continue;
    throw nb::type_error((std::string(function) + "() has no argument '" + printable(name) +
                          "'; help(binade.GemmModel) names the options of a product")
                             .c_str());
  }
  if (o.fused != "alpha" && o.fused != "beta") {
    throw Error("--fused " + printable(o.fused) + ": no such choice; there are alpha and beta");
  }
}

/// Words of the program, "--split 2:16 --c-first".
void set_words(GemmOptions& o, std::string_view words) {
  const auto all = words.empty() ? std::vector<std::string_view>{} : split(words, ' ');
  std::vector<std::string> splits;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].starts_with("--"))
      throw Error("GemmModel: words of the program are wanted, not " + printable(words));
    std::string key(all[i].substr(2));
    std::ranges::replace(key, '-', '_');
    if (const std::size_t at = key.find('='); at != std::string::npos) {
      const std::string value = key.substr(at + 1);
      set_option(o, key.substr(0, at), nb::str(value.data(), value.size()));
      continue;
    }
    const bool is_flag = i + 1 == all.size() || all[i + 1].starts_with("--");
    if (is_flag) {
      set_option(o, key, nb::bool_(true));
      continue;
    }
    ++i;
    const nb::str value(all[i].data(), all[i].size());
    if (key == "split") {
      splits.emplace_back(all[i]);
    } else if (key == "alpha" || key == "beta") {
      set_option(o, key, nb::float_(nb::cast<double>(nb::float_(nb::object(value)))));
    } else if (key == "seed") {
      set_option(o, key, nb::int_(nb::object(value)));
    } else {
      set_option(o, key, value);
    }
  }
  o.splits = std::move(splits);
}

}  // namespace

ModelObject model_object(GemmOptions options) {
  NamedGemm named = model_of(options);
  return {std::move(options), std::move(named)};
}

namespace {

ModelObject new_model(nb::handle instruction, nb::handle arch, const nb::kwargs& given) {
  GemmOptions o;
  set_option(o, "instruction", instruction);
  set_option(o, "arch", arch);
  set_options(o, given, "GemmModel");
  return model_object(std::move(o));
}

/// The options of `binade gemm` that make it, however it was spelled: equal for equal models.
std::string words_of(const ModelObject& x) {
  std::string out = x.named.sm == 0 ? "" : "--arch sm_" + std::to_string(x.named.sm) + " ";
  out += "--instruction " + x.named.instruction;
  if (const auto round = operand_rounding(x.options.files.round)) out += " " + round_option(*round);
  const std::string order = options_of(x.named.model);
  if (!order.empty()) out += " " + order;
  for (const std::string& word : binade::words_of(x.options.rules)) out += " " + word;
  return out;
}

/// The same as arguments, in order: (name, text, or "" of a flag).
std::vector<std::pair<std::string, std::string>> arguments_of(const ModelObject& x) {
  const std::string words = words_of(x);
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string_view word : split(words, ' ')) {
    if (word.starts_with("--")) {
      std::string key(word.substr(2));
      std::ranges::replace(key, '-', '_');
      const std::size_t at = std::min(key.find('='), key.size());
      out.emplace_back(key.substr(0, at), at == key.size() ? "" : key.substr(at + 1));
    } else {
      out.back().second = word;
    }
  }
  return out;
}

std::string shown_model(const ModelObject& x) {
  std::string instruction, arch, rest;
  std::vector<std::string> splits;
  for (const auto& [key, value] : arguments_of(x)) {
    const bool is_number = key == "alpha" || key == "beta" || key == "seed" ||
                           (key == "promote_every" && value.find(':') == std::string::npos);
    if (key == "instruction") instruction = "'" + value + "'";
    if (key == "arch") arch = ", '" + value + "'";
    if (key == "split") splits.push_back("'" + value + "'");
    if (key == "instruction" || key == "arch" || key == "split") continue;
    rest += ", " + key + "=" + (value.empty() ? "True" : is_number ? value : "'" + value + "'");
  }
  if (splits.size() == 1) rest += ", split=" + splits[0];
  if (splits.size() > 1) {
    rest += ", split=[";
    for (const std::string& one : splits) rest += one + (&one == &splits.back() ? "]" : ", ");
  }
  return "GemmModel(" + instruction + arch + rest + ")";
}

}  // namespace

std::string instruction_parameters() {
  return "instruction: str | None = None, arch: str | None = None";
}

std::string rule_parameters() {
  return "zero_raises: str | None = None, floor: str | int | None = None, "
         "cut_to_zero: str | None = None";
}

std::string order_parameters() {
  return "k_order: str = 'ascending', promote_every: int | str | None = None, "
         "promote_scales: str = 'together', "
         "partial: str | Format | None = None, reduce_in: str | Format | None = None, split: str | "
         "int | list | tuple | None = None, "
         "c_first: bool = False, alpha: float = 1, beta: float = 1, fused: str = 'alpha', "
         "epilogue_format: str | Format | None = None, out_format: str | Format | None = None, "
         "saturate: bool = False, sum_format: str | Format | None = None, relu: bool = False, "
         "activation: str = 'none', "
         "scale_order: str = 'a-first', bias_first: bool = False, "
         "out_through: str | Format | None = None, out_rounding: str = 'ties_to_even', seed: int = "
         "0, " +
         rule_parameters() + ", round: bool | str = False";
}

ModelObject model_of_words(std::string_view words) {
  GemmOptions o;
  set_words(o, words);
  return model_object(std::move(o));
}

GemmOptions product_of(nb::handle model, const nb::kwargs& given, const char* function) {
  GemmOptions o;
  if (model.is_none()) {
    set_options(o, given, function);
    if (o.instruction.empty()) {
      throw Error("instruction: missing; give it, as mma.m16n8k16.f32.f16.f16.f32, or a model");
    }
    return o;
  }
  const auto* const given_model = held<ModelObject>(model);
  if (given_model == nullptr) wrong_type("model", "a GemmModel is wanted", model);
  o = given_model->options;
  for (auto [key, value] : given) {
    const std::string name = utf8_of(key);
    if (name == "round") {
      o.files.round = round_of(name, value);
      continue;
    }
    throw nb::type_error((std::string(function) + "() got a model and '" + printable(name) +
                          "'; a model has all of them: give one or the other")
                             .c_str());
  }
  return o;
}

void add_gemm_model(nb::module_& m) {
  nb::class_<ModelObject> model(
      m, "GemmModel",
      R"(Describes what a kernel of matrix products does, by the options of `binade gemm`.

    instruction: one of `binade architectures --names`, such as "mma.m16n8k16.f32.f16.f16.f32", with arch, such as "sm_90"; or a
        chain of operations that round each time, such as "fma.rn.f32.f16.f16.f32", which has no arch.
    k_order: "ascending" or "descending"; with ":GROUPxWIDTH" behind it, GROUP instructions take WIDTH positions of K in turn;
        with ":second-first", the first two instructions of each chain change places.
    promote_every: N or "N[:halvesM][:FORMAT]": after N instructions the accumulator is added to a register and begins again
        at 0; the last two periods may be halved. promote_scales: "ORDER[:rounded]", how it is multiplied by scales of blocks
        before that, by the product of both ("together") or one after the other ("a-first", "b-first"), by an fma or rounded.
    split: "PARTS[:RUN|:tileN][:SHARES|:atENDS|:stepsA-B-C][:untilN][:backN|:short-first][:REDUCTION][:fromN][:tail|:tail-first]
        [:mul_add.TYPE]": K is summed in parts, which are then added; or up to three, outermost first. Of stream-K, "WORKERS[:tileN]:streamMxN[:columns]
        [:firstT|:lastT][:groupsG][:leastN]".
    partial: format of the parts. reduce_in: format in which they are added. c_first: sums begin with C.
    alpha, beta, fused ("alpha" or "beta"), epilogue_format, out_format, saturate: how D = alpha·sum + beta·C + bias is computed.
    sum_format: format that the sum is rounded to before that. relu: below 0 becomes 0. activation: what follows behind the bias,
        "relu" too, "gelu", "gelu_tanh" or "silu". out_through, out_rounding: a format on the way to D's, and how D is rounded, by
        the names of `binade quantize -r`. seed: of stochastic rounding; element (i, j) draws word i·N + j of Philox stream 0, as
        in quantize().
    scale_order ("a-first", "b-first" or "together"): where rows of A and columns of B have scales, which the sum is multiplied
        by first, or whether by the product of both. bias_first: the bias is added before the sum is multiplied by anything.
    zero_raises, floor, cut_to_zero: rules of fused sums in the place of the table's. round: operands are rounded
        first, to nearest with ties to even; or in a rounding that is named, as "ties_to_away".

    `binade gemm --help` explains each in full. Two models are equal if they mean the same, however they are spelled; a model
    can be a key of a dict and can be pickled. str() gives the words of the program. Raises ValueError if an option is wrong, if
    two do not go together, or if one can have no effect. Options of C, bias and epilogue, which one product uses and another
    does not, are refused only where they are given for a single product, without C, say.

    >>> GemmModel("wgmma.m64n8k32.f32.e4m3.e4m3", "sm_90", promote_every=4)
    GemmModel('wgmma.m64n8k32.f32.e4m3.e4m3', 'sm_90', promote_every=4)
)");
  static const std::string signature =
      "def __init__(self, instruction: str, arch: str | None = None, *, " + order_parameters() +
      ") -> None";
  model.def(
      "__init__",
      [](ModelObject* self, nb::handle instruction, nb::handle arch, const nb::kwargs& given) {
        new (self) ModelObject(new_model(instruction, arch, given));
      },
      "instruction"_a, "arch"_a = nb::none(), "options"_a, nb::sig(signature.c_str()));
  model.def_prop_ro(
      "instruction", [](const ModelObject& x) { return x.named.instruction; },
      "The full name of the instruction or chain.");
  model.def_prop_ro(
      "arch",
      [](const ModelObject& x) {
        return x.named.sm == 0 ? std::optional<std::string>() : "sm_" + std::to_string(x.named.sm);
      },
      "The architecture, such as 'sm_90'; None for a chain.");
  model.def_prop_ro(
      "options", [](const ModelObject& x) { return options_of(x.named.model); },
      "The options of order and epilogue, as the program takes them; empty for the plain order.");
  model.def_prop_ro(
      "order", [](const ModelObject& x) { return order_text(x.named.model); },
      "The order of the sum, in words.");
  model.def_prop_ro(
      "round",
      [](const ModelObject& x) -> std::variant<bool, std::string> {
        const auto round = operand_rounding(x.options.files.round);
        if (!round || *round == Rounding::ties_to_even) return round.has_value();
        return std::string(rounding_name(*round));
      },
      "Whether operands are rounded to the instruction's types first, to nearest, ties to even; or "
      "the name of another rounding.");
  model.def_prop_ro(
      "evidence",
      [](const ModelObject& x) { return std::string(evidence_name(x.named.known.evidence)); },
      "How it is known what the instruction computes, in the words of `binade architectures`.");
  model.def("__repr__", &shown_model);
  model.def("__str__", [](const ModelObject& x) { return words_of(x); });
  model.def(
      "__eq__",
      [](const ModelObject& x, nb::handle other) {
        const auto* const that = held<ModelObject>(other);
        return that != nullptr && words_of(*that) == words_of(x);
      },
      "other"_a.none());
  model.def("__hash__",
            [](const ModelObject& x) { return nb::hash(nb::str(words_of(x).c_str())); });
  model.def("__getstate__", [](const ModelObject& x) { return words_of(x); });
  model.def("__setstate__", [](ModelObject& self, const std::string& words) {
    GemmOptions o;
    set_words(o, words);
    new (&self) ModelObject(model_object(std::move(o)));
  });
}

}  // namespace binade::python

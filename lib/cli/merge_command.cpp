// SPDX-License-Identifier: Apache-2.0
//
// `binade merge`: makes one report of the parts that several processes have counted with `binade
// report --part`.
#include <memory>
#include <string>
#include <vector>

#include "lib/cli/command.h"
#include "lib/cli/progress.h"
#include "lib/cli/report_outputs.h"
#include "lib/io/tensor_file.h"
#include "lib/report/parts.h"

namespace binade {
namespace {

struct MergeArguments {
  std::vector<std::string> inputs;
  ReportOutputs outputs;
  bool partial = false;
};

void run_merge(const MergeArguments& arguments) {
  check_stdout(arguments.outputs);
  const std::vector<std::string> files = expand_paths(arguments.inputs);
  std::vector<InputPath> read;
  for (const std::string& file : files) read.push_back({"PART", file});
  prepare_report_outputs(arguments.outputs, read);
  MergedParts parts(files, arguments.partial);
  ReportWriter writer(arguments.outputs, parts.options());
  Report report;
  {
    ProgressLine line;
    report = parts.report(writer.sink(), [&line](std::uint64_t done, std::uint64_t total) {
      line.update(done, total);
    });
  }
  writer.write(report);
}

void define_merge(App app, int&) {
  const auto a = std::make_shared<MergeArguments>();
  app.add_option("PART", a->inputs, "files that `binade report --part` wrote, or globs of them")
      .suggest_files()
      .required();
  add_report_outputs(app, a->outputs);
  add_text_options(app, a->outputs);
  app.add_flag("--partial", a->partial,
               "report on the parts that are there although others are missing, and name those "
               "(default: a missing part is an error)");
  app.footer(
      "\nThe outputs have the same bytes as those of one `binade report` on all inputs. All parts "
      "must come from the same\noptions, the same version of binade, and the same inputs by name, "
      "size and time of modification (cp -p keeps it).\n\n"
      "Exit status: 0 the report was made, 2 an argument or a part cannot be used.\n\n"
      "Examples:\n"
      "  binade merge part*.bin -o run.html --json run.json\n"
      "Slurm, eight tasks and then one:\n"
      "  sbatch --array=1-8 --wrap 'binade report run/*.safetensors --part $SLURM_ARRAY_TASK_ID/8 "
      "-o part$SLURM_ARRAY_TASK_ID.bin'\n"
      "  sbatch --dependency=singleton --wrap 'binade merge part*.bin -o run.html'\n"
      "make -j8:\n"
      "  run.html: $(foreach i,1 2 3 4 5 6 7 8,part$i.bin) ; binade merge $^ -o $@\n"
      "  part%.bin: ; binade report run/*.safetensors --part $*/8 -o $@");
  app.callback([a] { run_merge(*a); });
}

}  // namespace

const Command merge_command{
    "merge", "make one report of the parts that binade report --part wrote",
    "Merges the parts of a report that several processes have counted, each with `binade report "
    "--part`, into the report on all of their tensors.",
    &define_merge, "[report](lib/report/README.md#several-machines)"};

}  // namespace binade

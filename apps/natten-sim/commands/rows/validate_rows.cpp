#include "commands/rows/validate_rows.hpp"

#include <algorithm>

#include <natten_sim/report/validation_views.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/record/ncu_csv.hpp>

#include "cli/picture_file.hpp"
#include "cli/table_file.hpp"

namespace natten_sim::cli {

using namespace natten_sim::validate;

namespace {

/// Names of all suites with something between them.
std::string suite_names(const std::string& separator) { return joined(builtin_suite_names(), separator); }

std::string kernel_names() {
  std::vector<std::string> names;
  for (const CaseKind& kind : case_kinds()) names.push_back(kind.kernel);
  return joined(names);
}

/// What --device took when it meant a card: auto or a number.
bool is_card(const std::string& value) {
  return value == "auto" || value.find_first_not_of("-0123456789") == std::string::npos;
}

}  // namespace

std::string view_names(const std::string& separator, bool drawn_alone) {
  std::vector<std::string> names;
  for (const report::ViewKind* kind : report::view_kinds()) {
    if (kind->drawn || !drawn_alone) names.push_back(kind->name);
  }
  return joined(names, separator);
}

Options<ValidateFlags> validate_rows() {
  using F = ValidateFlags;
  const auto timing = [](auto member) { return within(within(&F::run, &RunOptions::timing), member); };
  Options<F> rows;
  rows.positional("suite", &F::suites,
                  {.help = suite_names(", ") + "; several may be given [all]",
                   .choices = suite_names(" "),
                   .key = "suites"},
                  static_cast<int>(builtin_suite_names().size()));
  rows.add("--list", &F::list, {.help = "Print suites and counters, and stop"});
  rows.add("--freeze", &F::freeze,
           {.help = "Print what is predicted for every point of the suites on --device, to be stored before it is measured"});
  rows.add("--gpu", &F::device,
           {.value = "auto|N",
            .help = "Card to run on [auto: the first]",
            .key = "device",
            .spellings = {{.flag = "--device", .old = true, .with = is_card}}});
  rows.group("What to compare with");
  rows.add("--recorded", &F::recorded,
           {.value = "DIR", .help = "Compare with the recordings in DIR instead of running kernels"});
  rows.add("--ncu-csv", &F::ncu_csv,
           {.value = "FILE",
            .help = "Compare with a profile of Nsight Compute (.ncu-rep, or what ncu --csv printed), of any "
                    "kernel"});
  rows.add("--ncu-kernel", &F::ncu_kernel,
           {.value = "TEXT", .help = "With --ncu-csv: only launches whose kernel name contains TEXT"});
  rows.add("--decimal", &F::decimal,
           {.value = "MARK", .help = kDecimalHelp});
  rows.add("--point", &F::point,
           {.value = "NAME=VALUE",
            .help = "With --ncu-csv: what the kernel computed, e.g. tokens=65536 head_dim=128; kernel=NAME "
                    "of " +
                    kernel_names() + " [" + validate::kDefaultKernel + "]"});
  rows.add("--kernel", &F::kernel,
           {.value = "NAME",
            .help = "With --ncu-csv: kernel that the point is of: one of list kernels, or a kernel file (FILE.json); "
                    "the point says tokens, heads, head_dim, causal",
            .needs = {"ncu-csv"}});
  rows.add("--device", &F::profile,
           {.value = "NAME",
            .help = std::string("With --ncu-csv or --freeze: device profile of the GPU [") +
                    validate::kProfiledDevice + "]",
            .key = "profile",
            .spellings = {{.flag = "--profile", .old = true}},
            .suggestions = device_names});
  rows.group("What to compare with");
  rows.add("--out", &F::out, {.value = "DIR", .help = "Folder for the recordings, one file a suite"});
  rows.add("--profile-device", &F::profile_device,
           {.value = "FILE",
            .help = "Measure the GPU's L2, bandwidths, launch order and paces, and write its device profile, "
                    "named as FILE is; with --recorded DIR, from what such a run left there"});
  rows.add("--resume", &F::resume, {.help = "Continue the recordings in the folder"});
  rows.add("--check-only", &F::check_only, {.help = "Only check the kernels against their CPU oracles"});
  rows.add(
      "--sass", &F::sass,
      {.help =
           "Disassemble this program and check that every construct became what the lowering table promises"});
  rows.add("--disassembler", &F::disassembler,
           {.value = "FILE",
            .help = "With --sass: the cuobjdump to use [of PATH, else of /usr/local/cuda]",
            .echo = Echo::kNever});
  rows.group("On a GPU");
  rows.add("--repetitions", timing(&TimingOptions::repetitions),
           {.value = "N", .help = "Timed repetitions of each point [default]", .range = {1, 100000}});
  rows.add("--warm-up-ms", timing(&TimingOptions::warm_up_ms),
           {.value = "N", .help = "Launch for N ms before a point is timed [default]", .range = {0, 60000}});
  rows.add("--inputs", timing(&TimingOptions::inputs),
           {.value = "N", .help = "Sets of inputs, taken in turn [default]", .range = {1, kMaxInputs}});
  rows.add("--fidelity", &F::fidelity,
           {.value = "MODELS",
            .help = "closed-form, or timed: also simulate in time (a minute) [default]",
            .choices = "closed-form timed"});
  rows.add(
      "--l2", timing(&TimingOptions::l2),
      {.value = "STATE", .help = "State of the L2 before each timed repetition: flushed or warm [default]"});
  rows.group("Timing");
  rows.add("--view", &F::view,
           {.value = "NAME",
            .help = "With --recorded: a table of the recordings instead of the comparison with predictions",
            .choices = view_names(" ", false)});
  rows.add("--rows", &F::rows, {.help = "Print every comparison, not only groups and misses"});
  rows.add("--seed", &F::seed,
           {.value = "N", .help = "With --check-only: their seed [from the clock]", .range = {0, INT64_MAX}});
  rows.include(picture_rows("the --view (" + view_names(", ", true) + ")"), &F::output);
  rows.add(
      "--report", &F::report,
      {.value = "FILE", .help = "Also write an HTML report: one self-contained file", .echo = Echo::kNever});
  rows.group("Views and reports");
  rows.include(device_file_rows(), &F::files);
  rows.include(conclusion_rows(), &F::output);
  return rows.include(output_rows(), &F::output);
}

std::vector<std::string> options_with_effect(std::vector<std::string> names) {
  for (const auto& row : output_rows().rows()) names.push_back(row.spec.name());
  for (const auto& row : table_rows().rows()) names.push_back(row.spec.name());
  for (const auto& row : device_file_rows().rows()) names.push_back(row.spec.name());
  return names;
}

Json validate_input(const ValidateFlags& flags, const std::vector<std::string>& options) {
  Json input = Json::object();
  const Json all = validate_rows().echo(flags);
  for (const auto& row : validate_rows().rows()) {
    const bool has_effect = std::find(options.begin(), options.end(), row.spec.name()) != options.end();
    if (has_effect && all.contains(row.spec.key)) input[row.spec.key] = all.at(row.spec.key);
  }
  return input;
}

}  // namespace natten_sim::cli

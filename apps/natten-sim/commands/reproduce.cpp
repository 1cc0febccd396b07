#include <natten_sim/core/names.hpp>
#include <natten_sim/report/csv.hpp>
#include <natten_sim/report/published_report.hpp>
#include <natten_sim/report/text_table.hpp>
#include <natten_sim/validate/published/published_work.hpp>

#include "cli/context.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"

namespace natten_sim::cli {
namespace {

using validate::PublishedWork;

struct ReproduceFlags {
  std::optional<std::string> work;  ///< none: the first one
  bool markdown = false;
  CatalogFiles files;
  OutputFlags output;
};

std::vector<std::string> work_names() {
  std::vector<std::string> names;
  for (const PublishedWork& work : validate::published_works()) names.push_back(work.name);
  return names;
}

std::string summary_text(const std::vector<validate::PublishedRow>& rows) {
  std::vector<std::vector<std::string>> table = report::published_cells(rows);
  for (std::vector<std::string>& line : table) line.pop_back();  // notes: with --markdown, --csv and --json
  return report::text_table(table) + "\n" + report::published_summary(rows) + "\n";
}

std::string render(const ReproduceFlags& flags, const PublishedWork& work,
                   const std::vector<validate::PublishedRow>& rows) {
  if (flags.output.json)
    return report::envelope("reproduce", {{"work", work.name}}, report::published_fields(rows));
  if (flags.output.csv) {
    const std::vector<report::Json> table = report::published_rows(rows);
    return report::csv_table(table.front(), table);
  }
  return flags.markdown ? report::published_markdown(rows) : summary_text(rows);
}

int run_reproduce(const ReproduceFlags& flags) {
  const PublishedWork& work =
      validate::published_work(flags.work.value_or(validate::published_works().front().name));
  study::Context context = make_context(flags.files);
  ProgressBar bar("reproducing", flags.output.quiet);
  context.progress = bar.callback();
  const std::vector<validate::PublishedRow> rows = work.reproduce(context);
  bar.clear();
  write_output(flags.output, render(flags, work, rows));
  return report::count_outside(rows) == 0 ? kExitDone : kExitOutOfTolerance;
}

Options<ReproduceFlags> reproduce_rows() {
  std::string help;
  for (const PublishedWork& work : validate::published_works())
    help += (help.empty() ? "" : "; ") + work.name + ": " + work.title;
  Options<ReproduceFlags> rows;
  rows.add("--markdown", &ReproduceFlags::markdown,
           {.help = "A Markdown table", .excludes = {"json", "csv"}});
  rows.include(catalog_rows(), &ReproduceFlags::files);
  rows.include(output_rows(), &ReproduceFlags::output);
  rows.positional("work", &ReproduceFlags::work,
                  {.help = help + " [" + validate::published_works().front().name + "]"});
  return rows;
}

}  // namespace

Command reproduce_command();
Command reproduce_command() {
  Command command{.name = "reproduce",
                  .position = 80,
                  .summary = "Recompute published figures and print the deviation of each"};
  command.group = kMeasuredCommands;
  command.examples = {"natten-sim reproduce gna",
                      "natten-sim reproduce dash --csv"};
  command.exit_codes = "0 all within tolerance (or a documented deviation), 1 internal error, 2 bad input, 3 out of tolerance.";
  bind(command, reproduce_rows().essentials({"markdown", "csv", "json"}), run_reproduce);
  command.positional_choices = joined(work_names(), " ");
  return command;
}

}  // namespace natten_sim::cli

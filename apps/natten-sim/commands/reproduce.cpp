#include <algorithm>
#include <set>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/io/files.hpp>
#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/draw/panels.hpp>
#include <natten_sim/report/published_picture.hpp>
#include <natten_sim/report/published_report.hpp>
#include <natten_sim/report/text_table.hpp>
#include <natten_sim/validate/published/published_work.hpp>

#include "cli/context.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/picture_file.hpp"
#include "cli/reply.hpp"
#include "cli/table_file.hpp"

namespace natten_sim::cli {
namespace {

using report::PublishedFigure;
using validate::PublishedRow;
using validate::PublishedWork;

constexpr const char* kAllWorks = "all";

struct ReproduceFlags {
  std::optional<std::string> work;    ///< none: the first one
  std::optional<std::string> figure;  ///< none: all of the work
  std::optional<std::string> pages;   ///< folder; none: no pages
  std::optional<std::string> html;    ///< none: no page
  bool markdown = false;
  CatalogFiles files;
  OutputFlags output;
};

std::vector<std::string> work_names() {
  std::vector<std::string> names;
  for (const PublishedWork& work : validate::published_works()) names.push_back(work.name);
  names.emplace_back(kAllWorks);
  return names;
}

/// Figures and tables that have numbers, in one word: figure-4.5.
std::vector<std::string> figure_names() {
  std::set<std::string> names;
  for (const PublishedWork& work : validate::published_works()) {
    for (std::string figure : work.figures) {
      const std::size_t space = figure.find(' ');
      if (space == std::string::npos ||
          figure.find_first_not_of("0123456789.", space + 1) != std::string::npos)
        continue;
      figure[space] = '-';
      names.insert(figure);
    }
  }
  return {names.begin(), names.end()};
}

std::string summary_text(const std::vector<validate::PublishedRow>& rows) {
  std::vector<std::vector<std::string>> table = report::published_cells(rows);
  for (std::vector<std::string>& line : table) line.pop_back();  // notes: with --markdown, --csv and --json
  return report::text_table(table) + "\n" + report::published_summary(rows) + "\n";
}

report::Rows csv_rows(const std::vector<PublishedRow>& rows) {
  const std::vector<report::Json> table = report::published_rows(rows);
  return {table.front(), table, {"work", "figure", "item", "series", "axis_value", "unit", "published", "ours", "measured", "verdict"}};
}

AnswerBody render(const ReproduceFlags& flags, const std::string& work,
                  const std::vector<PublishedRow>& rows) {
  if (flags.output.csv) {
    return csv_rows(rows);
  }
  if (flags.markdown) return report::published_markdown(rows);
  std::optional<report::Closing> closing;
  if (flags.output.conclusion) closing = report::closing_of(rows);
  if (!flags.output.json) return summary_text(rows) + report::closing_text(closing);
  report::Json input = {{"work", work}};
  if (flags.figure) input["figure"] = *flags.figure;
  report::Json result = report::published_fields(rows);
  report::add_closing(closing, result);
  return JsonAnswer("reproduce", std::move(input), std::move(result));
}

/// The works that `name` stands for; of all of them, those that have the figure if one is asked for.
std::vector<const PublishedWork*> works_of(const std::string& name, const std::optional<std::string>& figure) {
  if (name != kAllWorks) {
    const PublishedWork& work = validate::published_work(name);
    if (figure) (void)validate::figure_named(*figure, work.figures);
    return {&work};
  }
  std::vector<std::string> figures;
  for (const PublishedWork& work : validate::published_works())
    figures.insert(figures.end(), work.figures.begin(), work.figures.end());
  const std::string wanted = figure ? validate::figure_named(*figure, figures) : "";
  std::vector<const PublishedWork*> works;
  for (const PublishedWork& work : validate::published_works()) {
    if (!figure || std::find(work.figures.begin(), work.figures.end(), wanted) != work.figures.end())
      works.push_back(&work);
  }
  return works;
}

std::vector<PublishedRow> rows_of(const std::vector<const PublishedWork*>& works, study::Context context,
                                  ProgressBar& bar) {
  const std::function<void(double)> whole = bar.callback();
  const auto count = static_cast<double>(works.size());
  std::vector<PublishedRow> rows;
  for (std::size_t i = 0; i < works.size(); ++i) {
    if (whole) context.progress = [&, i](double part) { whole((static_cast<double>(i) + part) / count); };
    std::vector<PublishedRow> more = validate::reproduce_work(*works[i], context);
    rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  bar.clear();
  return rows;
}

/// Why the works take their time; empty: they do not.
std::string effort_of(const std::vector<const PublishedWork*>& works) {
  std::string text;
  for (const PublishedWork* work : works)
    if (!work->effort.empty()) text += (text.empty() ? "" : "; ") + work->name + ": " + work->effort;
  return text;
}

/// All figures of the rows in one picture.
draw::Picture figures_picture(const std::string& path, const std::vector<PublishedRow>& rows) {
  std::vector<draw::Picture> pictures;
  for (const PublishedFigure& figure : report::published_figures(rows))
    if (!report::panels_of(figure).empty()) pictures.push_back(report::published_picture(figure));
  if (pictures.empty()) throw InvalidParameter("--picture", path, "a figure with numbers to draw");
  if (pictures.size() == 1) return pictures.front();
  return draw::beside(pictures, pictures.size() > 3 ? 2 : 1);
}

void write_pages(const std::string& folder, const std::vector<PublishedRow>& rows) {
  make_folder("pages", folder);
  const std::vector<PublishedFigure> figures = report::published_figures(rows);
  for (const PublishedFigure& figure : figures) {
    const std::string name = folder + "/" + figure.file;
    write_file(name + ".md", report::published_page(figure));
    if (report::panels_of(figure).empty()) continue;
    write_file(name + ".svg", report::published_picture(figure).svg);
  }
  write_file(folder + "/index.md", report::published_index(figures));
}

int run_reproduce(const ReproduceFlags& flags, Reply& reply) {
  std::string name = flags.work.value_or(validate::published_works().front().name);
  const std::vector<const PublishedWork*> works = works_of(name, flags.figure);
  if (name != kAllWorks) name = works.front()->name;  // in its own case
  ProgressBar bar("reproducing", flags.output.quiet, effort_of(works));
  std::vector<PublishedRow> rows = rows_of(works, make_context(flags.files), bar);
  if (flags.figure) rows = validate::rows_of_figure(rows, *flags.figure);
  std::optional<draw::Picture> picture;
  if (flags.output.picture) picture = figures_picture(*flags.output.picture, rows);
  if (flags.pages) write_pages(*flags.pages, rows);
  if (flags.html) write_file(*flags.html, report::published_html(report::published_figures(rows)));
  put_answer(flags.output, reply, render(flags, name, rows),
             {picture, tabled(flags.output, [&] { return csv_rows(rows); })});
  return report::count_outside(rows) == 0 ? kExitDone : kExitOutOfTolerance;
}

Options<ReproduceFlags> reproduce_rows() {
  std::string help;
  for (const PublishedWork& work : validate::published_works())
    help += (help.empty() ? "" : "; ") + work.name + ": " + work.title;
  help += std::string("; ") + kAllWorks + ": all of them, about twenty seconds on two cores";
  std::vector<const PublishedWork*> all;
  for (const PublishedWork& work : validate::published_works()) all.push_back(&work);
  help += ". Seconds are taken by " + effort_of(all);
  Options<ReproduceFlags> rows;
  rows.add("--figure", &ReproduceFlags::figure,
           {.value = "NAME",
            .help = "Only this figure or table, as '4.5' or 'table 4.2'",
            .spellings = {{.flag = "--table", .with = [](const std::string& value) { return !is_typeset(value); }}},
            .suggestions = figure_names});
  rows.include(picture_rows("each figure: published, ours and what was measured here"), &ReproduceFlags::output);
  rows.add("--html", &ReproduceFlags::html,
           {.value = "FILE",
            .help = "Write one self-contained page with all charts and tables",
            .echo = Echo::kNever});
  rows.add("--pages", &ReproduceFlags::pages,
           {.value = "DIR",
            .help = "Write a page and a picture of each figure, and an index",
            .echo = Echo::kNever});
  rows.add("--markdown", &ReproduceFlags::markdown,
           {.help = "A Markdown table", .excludes = {"json", "csv"}});
  rows.include(catalog_rows(), &ReproduceFlags::files);
  rows.include(conclusion_rows(), &ReproduceFlags::output);
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
  command.examples = {"natten-sim reproduce gna", "natten-sim reproduce gna --figure 4.5 --picture figure.pdf",
                      "natten-sim reproduce all --csv --output published.csv"};
  command.exit_codes = "0 all within tolerance (or a documented deviation), 1 internal error, 2 bad input, 3 out of tolerance.";
  command.result_schema = report::published_schema;
  bind(command, reproduce_rows().essentials({"figure", "picture", "csv", "json"}), run_reproduce);
  command.positional_choices = joined(work_names(), " ");
  return command;
}

}  // namespace natten_sim::cli

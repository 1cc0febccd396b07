#include <algorithm>

#include <fmt/format.h>

#include <natten_sim/report/draw/html_page.hpp>
#include <natten_sim/report/published_picture.hpp>
#include <natten_sim/report/published_report.hpp>

namespace natten_sim::report {
namespace {

using validate::PublishedRow;

std::size_t measured_rows(const std::vector<PublishedRow>& rows) {
  return static_cast<std::size_t>(std::count_if(
      rows.begin(), rows.end(), [](const PublishedRow& row) { return row.measured.has_value(); }));
}

/// "| hit rate of 8 SMs | 0.874 | NVIDIA H200, nvidia-h200-active-sms |"
std::string measured_table(const std::vector<PublishedRow>& rows) {
  std::string text = "| item | measured here | on, recording |\n|---|---|---|\n";
  for (const PublishedRow& row : rows) {
    if (!row.measured) continue;
    text += fmt::format("| {} | {:.4g} {} | {}, `{}` |\n", row.item, row.measured->value, row.place.unit,
                        row.measured->device, row.measured->recording);
  }
  return text;
}

}  // namespace

std::string published_page(const PublishedFigure& figure) {
  std::string text =
      "# " + heading_of(figure) + "\n\n" + figure.source + ". " + published_summary(figure.rows) + ".\n\n";
  if (!panels_of(figure).empty())
    text += fmt::format("![{}, published and ours]({}.svg)\n\n", heading_of(figure), figure.file);
  text += published_markdown(figure.rows);
  if (measured_rows(figure.rows) > 0) {
    text +=
        "\n## Measured by this project\n\nOn another GPU than the publication's, with this project's own "
        "kernels unless the recording says otherwise.\n\n" +
        measured_table(figure.rows);
  }
  return text + fmt::format(
                    "\nWritten by `natten-sim reproduce all --pages`; as a table: `natten-sim "
                    "reproduce {} --figure \"{}\" --csv`.\n",
                    figure.work, figure.figure);
}

std::string published_html(const std::vector<PublishedFigure>& figures) {
  draw::HtmlPage page("Published figures, and ours");
  for (const PublishedFigure& figure : figures) {
    page.heading(heading_of(figure)).paragraph(figure.source + ". " + published_summary(figure.rows) + ".");
    if (!panels_of(figure).empty()) page.picture(published_picture(figure));
    draw::HtmlTable table;
    std::vector<std::vector<std::string>> cells = published_cells(figure.rows);
    table.header = cells.front();
    table.header.emplace_back("measured here");
    for (std::size_t i = 0; i < figure.rows.size(); ++i) {
      const PublishedRow& row = figure.rows[i];
      std::vector<std::string>& line = cells[i + 1];
      line.push_back(row.measured ? fmt::format("{:.4g}, {}", row.measured->value, row.measured->device)
                                  : "");
      table.rows.push_back({std::move(line)});
    }
    page.table(table);
  }
  return std::move(page).finish();
}

std::string published_index(const std::vector<PublishedFigure>& figures) {
  std::string text =
      "# Published figures, one page each\n\nWritten by `natten-sim reproduce all --pages DIR`. "
      "Every figure and table of the publications that has numbers, published beside ours and beside what "
      "this project measured.\n";
  std::string work;
  for (const PublishedFigure& figure : figures) {
    if (figure.work != work) {
      work = figure.work;
      text +=
          "\n## " + work + "\n\n" + figure.source +
          ".\n\n| figure | numbers | compared | out of tolerance | measured here |\n|---|---|---|---|---|\n";
    }
    text +=
        fmt::format("| [{}]({}.md) | {} | {} | {} | {} |\n", figure.figure, figure.file, figure.rows.size(),
                    count_judged(figure.rows), count_outside(figure.rows), measured_rows(figure.rows));
  }
  return text;
}

}  // namespace natten_sim::report

#include <algorithm>

#include <fmt/format.h>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>

#include "commands.hpp"
#include "count_json.hpp"
#include "output.hpp"
#include "report_text.hpp"
#include "reproduction.hpp"

namespace natten_sim::cli {
namespace {

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kWithin:
      return "within";
    case Verdict::kKnown:
      return "known deviation";
    case Verdict::kOutside:
      return "OUT OF TOLERANCE";
  }
  return "";
}

Json row_json(const ReproducedRow& row) {
  Json json{{"figure", row.figure},
            {"item", row.item},
            {"published", row.published},
            {"ours", row.ours},
            {"deviation", row.deviation},
            {"tolerance", row.tolerance},
            {"verdict", verdict_name(row.verdict)},
            {"note", row.note}};
  if (row.fitted) json["fitted"] = *row.fitted;
  return json;
}

std::vector<std::string> cells(const ReproducedRow& row) {
  const bool numeric = row.tolerance > 0 || row.deviation != 0;
  return {row.figure + ": " + row.item,
          row.published,
          row.ours,
          row.relative
              ? fmt::format("{:+.1f}%{}", 100 * row.deviation, row.fitted.value_or(false) ? " fitted" : "")
          : numeric ? fmt::format("{:+.4f}", row.deviation)
                    : "0",
          verdict_name(row.verdict),
          row.note};
}

std::string markdown(const std::vector<ReproducedRow>& rows) {
  std::string text =
      "| figure | published | ours | deviation | verdict | note |\n|---|---|---|---|---|---|\n";
  for (const ReproducedRow& row : rows) {
    for (const std::string& cell : cells(row)) text += "| " + cell + " ";
    text += "|\n";
  }
  return text;
}

int run_reproduce(const Arguments& arguments) {
  const std::string work = arguments.text("work", "gna");
  const std::vector<std::string> works = {"gna", "dash", "sawtooth", "msda"};
  if (std::find(works.begin(), works.end(), work) == works.end())
    throw UnknownName("reproduce", work, closest_name(work, works), "gna, dash, sawtooth, msda");
  std::vector<ReproducedRow> rows;
  {
    ProgressBar bar("reproducing", arguments.has("quiet"));
    rows = work == "gna"    ? reproduce_gna()
           : work == "dash" ? reproduce_dash(bar.callback())
           : work == "msda" ? reproduce_msda(bar.callback())
                            : reproduce_sawtooth();
  }
  const auto outside = std::count_if(
      rows.begin(), rows.end(), [](const ReproducedRow& row) { return row.verdict == Verdict::kOutside; });
  std::string text;
  if (arguments.has("json")) {
    Json array = Json::array();
    for (const ReproducedRow& row : rows) array.push_back(row_json(row));
    text = envelope("reproduce", {{"work", work}}, {{"rows", array}, {"out_of_tolerance", outside}});
  } else if (arguments.has("csv")) {
    std::vector<Json> table;
    for (const ReproducedRow& row : rows) table.push_back(row_json(row));
    text = csv_table(table.front(), table);
  } else if (arguments.has("markdown")) {
    text = markdown(rows);
  } else {
    std::vector<std::vector<std::string>> table = {{"figure", "published", "ours", "deviation", "verdict"}};
    for (const ReproducedRow& row : rows) {
      table.push_back(cells(row));
      table.back().pop_back();
    }
    text = text_table(table) + fmt::format("\n{} figures, {} out of tolerance\n", rows.size(), outside);
  }
  OutputSink sink(output_path(arguments), OutputSink::Mode::kBuffered);
  sink.write(text);
  sink.commit();
  return outside == 0 ? kExitDone : kExitOutOfTolerance;
}

}  // namespace

Command reproduce_command() {
  Command command;
  command.name = "reproduce";
  command.summary = "Recompute published figures and print the deviation of each";
  command.positional = "work";
  command.positional_help =
      "gna: Hassani's dissertation, chapter 4; dash: deterministic backward of FlashAttention-3; sawtooth: "
      "the "
      "Sawtooth paper; msda: atomics and deformable attention [gna]";
  command.positional_choices = "gna dash sawtooth msda";
  command.options = {{"--markdown", "", "A Markdown table", 1, ""}};
  for (const OptionSpec& option : output_options()) command.options.push_back(option);
  command.footer =
      "Exit codes: 0 all within tolerance (or a documented deviation), 2 bad input, 3 out of tolerance.";
  command.run = run_reproduce;
  return command;
}

}  // namespace natten_sim::cli

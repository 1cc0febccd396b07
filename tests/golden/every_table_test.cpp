// Every table for a paper: it holds the numbers of the answer, with units in its head and decimals that are aligned.
#include <algorithm>
#include <cmath>
#include <sstream>

#include <natten_sim/io/csv_text.hpp>

#include "catch.hpp"
#include "cli/command.hpp"
#include "commands.hpp"
#include "program.hpp"
#include "shown_answers.hpp"

namespace every_table_test {

using namespace natten_sim::test;
using natten_sim::cli::Command;

/// How the subcommand calls its table; empty: it has none.
std::string table_option(const Command& command) {
  for (const char* name : {"table-columns", "table"}) {
    const auto found = std::find_if(command.options.begin(), command.options.end(),
                                    [&](const auto& spec) { return spec.is_called(name); });
    if (found != command.options.end()) return "--table";
  }
  return "";
}

using Cells = std::vector<std::vector<std::string>>;

Cells csv_cells_of(const std::string& text) {
  Cells rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) rows.push_back(natten_sim::csv_cells(line).value());
  return rows;
}

/// Cells of a table whose lines begin with `begin`, are parted by `between` and end with `end`.
Cells cells_between(const std::string& text, const std::string& begin, const std::string& between,
                    const std::string& end) {
  Cells rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(begin) || !line.ends_with(end) || line.find("---") != std::string::npos) continue;
    line = line.substr(begin.size(), line.size() - begin.size() - end.size()) + between;
    rows.emplace_back();
    for (std::size_t at = 0, next = 0; (next = line.find(between, at)) != std::string::npos; at = next + between.size())
      rows.back().push_back(line.substr(at, next - at));
  }
  return rows;
}

/// A number as it is printed, without the commas between thousands; none: a word.
std::optional<double> number_of(std::string text) {
  std::erase(text, ',');
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return text.empty() || *end != '\0' ? std::nullopt : std::optional(value);
}

std::size_t decimals_of(const std::string& cell) {
  const std::size_t point = cell.find('.');
  return point == std::string::npos ? 0 : cell.size() - point - 1;
}

/// What a number is multiplied by where a table prints it: fractions per cent, nanoseconds and bytes in larger units.
double scale_of(const std::string& name, const std::string& title) {
  if (title.ends_with("%)")) return 100;
  const auto ends = [&](const char* unit) { return title.ends_with("(" + std::string(unit) + ")"); };
  if (name.find("ns") != std::string::npos) return ends("us") ? 1e-3 : ends("ms") ? 1e-6 : ends("s") ? 1e-9 : 1;
  const bool bytes = name.find("bytes") != std::string::npos;
  return bytes && ends("KiB") ? 0x1p-10 : bytes && ends("MiB") ? 0x1p-20 : bytes && ends("GiB") ? 0x1p-30 : 1;
}

/// Whether the printed numbers are those of the answer, rounded.
void check_numbers(const Cells& values, const Cells& printed) {
  REQUIRE(printed.size() == values.size());
  for (std::size_t column = 0; column < values.front().size(); ++column) {
    const std::string& title = printed.front()[column];
    INFO(values.front()[column] << " as " << title);
    const double scale = scale_of(values.front()[column], title);
    std::optional<std::size_t> decimals;
    for (std::size_t row = 1; row < values.size(); ++row) {
      const std::optional<double> value = number_of(values[row][column]), shown = number_of(printed[row][column]);
      if (!value || !shown) continue;
      const std::size_t digits = decimals_of(printed[row][column]);
      CHECK(decimals.value_or(digits) == digits);  // aligned
      decimals = digits;
      CHECK(std::abs(*value * scale - *shown) <= 0.5000001 * std::pow(10, -static_cast<double>(digits)));
    }
  }
}

TEST_CASE("the table of every subcommand holds the numbers of its rows, as LaTeX and CSV") {
  int tables = 0;
  for (const Command& command : natten_sim::cli::commands()) {
    if (table_option(command).empty() || command.name == "diff") continue;
    const std::string line = shown_answer(command.name) + " --quiet " + table_option(command) + " '" + scratch_folder() + "/t";
    INFO(line);
    const auto table = [&](const std::string& ending) {
      const Run done = run(line + ending + "'");
      INFO(done.err);
      REQUIRE(done.exit_code == 0);
      return read_text(line.substr(line.rfind('\'') + 1) + ending);
    };
    const Cells values = csv_cells_of(table(".csv"));
    REQUIRE(values.size() >= 2);
    const std::string latex = table(".tex");
    for (const char* rule : {"\\toprule\n", "\\midrule\n", "\\bottomrule\n\\end{tabular}\n"})
      CHECK(latex.find(rule) != std::string::npos);
    CHECK(std::count(latex.begin(), latex.end(), '{') == std::count(latex.begin(), latex.end(), '}'));
    const Cells typeset = cells_between(latex, "", " & ", " \\\\");
    for (const auto& row : typeset) CHECK(row.size() == values.front().size());
    check_numbers(values, typeset);
    ++tables;
  }
  CHECK(tables >= 15);
}

TEST_CASE("a table's cells are those of --csv, and its columns those that are asked for") {
  const std::string path = scratch_folder() + "/t.csv", line = "search -i 24 24 -n 8 -d 128 --device h200 --top 3";
  REQUIRE(run(line + " --table '" + path + "' --table-columns total_ms window").exit_code == 0);
  const Cells whole = csv_cells_of(run(line + " --csv").out), part = csv_cells_of(read_text(path));
  REQUIRE(part.size() == 4);
  CHECK(part.front() == std::vector<std::string>{"total_ms", "window"});
  for (std::size_t column = 0; column < 2; ++column) {
    const auto found = std::find(whole.front().begin(), whole.front().end(), part.front()[column]);
    const auto at = static_cast<std::size_t>(found - whole.front().begin());
    for (std::size_t row = 0; row < 4; ++row) CHECK(part[row][column] == whole[row][at]);
  }
  REQUIRE(run(line + " --table '" + path + ".md'").exit_code == 0);
  CHECK(cells_between(read_text(path + ".md"), "| ", " | ", " |").size() == 4);
  check_refused(line + " --quiet --table '" + path + "' --table-columns total_us", {"total_us", "total_ms"});
}

TEST_CASE("a table is refused under a name that says no format, and where a schedule is read") {
  check_refused("count -i 64 -w 8 --quiet --table t.txt", {"table", ".tex, .md or .csv"});
  check_refused("count -i 64 -w 8 --table-columns window", {"--table-columns", "--table"});
  const std::string folder = scratch_folder();
  // --table reads a schedule; under the name of a table it writes one of the results.
  REQUIRE(run("schedule --q-tiles 4 --mask causal --algorithm spt --emit-table '" + folder + "/s.json' --table '" +
              folder + "/t.md'").exit_code == 0);
  CHECK(read_text(folder + "/t.md").starts_with("| algorithm | makespan | lower bound |"));
  CHECK(run("schedule --table '" + folder + "/s.json' --answer-table '" + folder + "/u.tex'").exit_code == 0);
  CHECK(read_text(folder + "/u.tex").find("\\begin{tabular}") != std::string::npos);
}

}  // namespace every_table_test

// Tables for papers: heads with units, aligned decimals, LaTeX that compiles.
#include <natten_sim/core/error.hpp>
#include <natten_sim/report/rows.hpp>

#include "catch.hpp"

namespace rows_test {

using namespace natten_sim;
using namespace natten_sim::report;

Rows choices() {
  Rows rows;
  rows.rows = {{{"device", "h200"}, {"role", "fastest"}, {"window", {18, 24, 24}}, {"total_ms", 9.5}, {"sparsity", 0.9}, {"tiles", 70056}, {"note", nullptr}},
               {{"device", "h200"}, {"role", "most_context"}, {"window", {30, 24, 24}}, {"total_ms", 120.25}, {"sparsity", 0.775}, {"tiles", 116760}, {"note", nullptr}}};
  rows.header = rows.rows.front();
  return rows;
}

TEST_CASE("a LaTeX table has booktabs' rules, units in its head, and decimals that are aligned") {
  // 120.25 has three digits without decimals; 9.5 asks for one, so both have one.
  CHECK(table_text(choices(), TableFormat::kLatex) ==
        "% \\usepackage{booktabs}\n"
        "\\begin{tabular}{llrrr}\n"
        "\\toprule\n"
        "role & window & total (ms) & sparsity (\\%) & tiles \\\\\n"
        "\\midrule\n"
        "fastest & 18$\\times$24$\\times$24 & 9.5 & 90.0 & 70,056 \\\\\n"
        "most\\_context & 30$\\times$24$\\times$24 & 120.2 & 77.5 & 116,760 \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n");
}

TEST_CASE("a Markdown table of chosen columns has them in their order, and those that no row fills as dashes") {
  CHECK(table_text(choices(), TableFormat::kMarkdown, {"total_ms", "device", "note"}) ==
        "| total (ms) | device | note |\n"
        "| ---: | --- | ---: |\n"
        "| 9.5 | h200 | - |\n"
        "| 120.2 | h200 | - |\n");
}

TEST_CASE("nanoseconds and bytes are told in the largest unit that leaves the smallest a tenth") {
  Rows rows;
  rows.rows = {{{"name", "a"}, {"time_ns", 679602.4}, {"low_ns", 498498}, {"extra_bytes", 0}},
               {{"name", "b"}, {"time_ns", 824842930.0}, {"low_ns", nullptr}, {"extra_bytes", 138412032}}};
  rows.header = rows.rows.front();
  // 0.498 ms is the smallest time, 132 MiB (0.129 GiB) the smallest size that is not 0.
  CHECK(table_text(rows, TableFormat::kMarkdown) ==
        "| name | time (ms) | low (ms) | extra (GiB) |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| a | 0.68 | 0.498 | 0.000 |\n"
        "| b | 824.84 | - | 0.129 |\n");
  rows.rows = {{{"name", "a"}, {"time_ns", 99}, {"low_ns", 99e6}, {"extra_bytes", 102}}};
  CHECK(table_text(rows, TableFormat::kMarkdown).starts_with("| name | time (ns) | low (ns) | extra (bytes) |\n"));
}

TEST_CASE("a CSV table keeps names and values as they are") {
  CHECK(table_text(choices(), TableFormat::kCsv, {"window", "total_ms"}) ==
        "window,total_ms\n18x24x24,9.5\n30x24x24,120.25\n");
  CHECK(csv_text(choices()).starts_with("device,role,window,total_ms,sparsity,tiles,note\n"));
}

TEST_CASE("columns of a paper's table are those that the answer names, or those in which rows differ") {
  Rows rows = choices();
  CHECK(table_text(rows, TableFormat::kMarkdown).find("device") == std::string::npos);
  rows.columns = {"device", "note", "role"};  // nobody fills the note
  CHECK(table_text(rows, TableFormat::kMarkdown).starts_with("| device | role |\n"));
  CHECK_THROWS_AS(table_text(rows, TableFormat::kLatex, {"total_us"}), UnknownName);
}

TEST_CASE("names of columns read as words with their unit at the end") {
  CHECK(column_title("time_ms_total") == "time total (ms)");
  CHECK(column_title("dram_read_bytes") == "dram read (bytes)");
  CHECK(column_title("run_low_s") == "run low (s)");
  CHECK(column_title("time_tflops_per_s") == "time (TFLOP/s)");
  CHECK(column_title("hit_rate") == "hit rate (%)");
  CHECK(column_title("speedup_mean") == "speedup mean (times)");
  CHECK(column_title("q_tile") == "q tile");
}

TEST_CASE("text that LaTeX or Markdown would read otherwise stands as it is") {
  Rows rows{.header = {{"name", ""}}, .rows = {{{"name", "a_b & c|d 5% #1 {x} ~^\\ <"}}}};
  CHECK(table_text(rows, TableFormat::kLatex).find("a\\_b \\& c|d 5\\% \\#1 \\{x\\} \\textasciitilde{}\\textasciicircum{}\\textbackslash{} $<$ \\\\") !=
        std::string::npos);
  CHECK(table_text(rows, TableFormat::kMarkdown).find("| a_b & c\\|d 5% #1 {x} ~^\\ < |") != std::string::npos);
}

}  // namespace rows_test

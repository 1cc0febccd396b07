#include "cli/table_file.hpp"

#include <filesystem>

#include <natten_sim/core/error.hpp>

namespace natten_sim::cli {

bool is_typeset(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  return ending == ".tex" || ending == ".md" || ending == ".csv";
}

Options<OutputFlags> table_rows(const std::string& flag) {
  const std::string name = flag.substr(2);
  Options<OutputFlags> rows;
  rows.add(flag, &OutputFlags::table,
           {.value = "FILE",
            .help = "Typeset the rows of --csv: FILE.tex (LaTeX with booktabs), .md (Markdown) or .csv",
            .echo = Echo::kNever,
            .spellings = {{.flag = "--table", .with = is_typeset}}});
  rows.add("--table-columns", &OutputFlags::table_columns,
           {.value = "NAME",
            .help = "Columns of that table, such as total_ms; by default those that a paper shows",
            .echo = Echo::kNever,
            .needs = {name}});
  return rows.group(kPictureGroup);
}

report::TableFormat table_format(const std::string& path) {
  if (path.ends_with(".tex")) return report::TableFormat::kLatex;
  if (path.ends_with(".md")) return report::TableFormat::kMarkdown;
  if (path.ends_with(".csv")) return report::TableFormat::kCsv;
  throw InvalidParameter("table", "'" + path + "'", "a name that ends in .tex, .md or .csv");
}

void write_table(const OutputFlags& flags, const report::Rows& rows) {
  write_file(*flags.table, report::table_text(rows, table_format(*flags.table), flags.table_columns));
}

}  // namespace natten_sim::cli

#include <natten_sim/core/error.hpp>
#include <natten_sim/report/document_diff.hpp>

#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/reply.hpp"
#include "cli/table_file.hpp"
#include "diff/diff_file.hpp"
#include "diff/rows_diff.hpp"

namespace natten_sim::cli {
namespace {

struct DiffFlags {
  std::vector<std::string> files;
  double tolerance = 0;
  std::vector<std::string> ignore = {"version", "commit"};
  OutputFlags output;
};

Options<DiffFlags> diff_rows() {
  using F = DiffFlags;
  Options<F> rows;
  rows.positional("files", &F::files, {.help = "Two files: results of --json, recordings, JSON Lines, or tables of --csv or a sweep"}, 2);
  rows.add("--tolerance", &F::tolerance,
           {.value = "X",
            .help = "Largest relative difference of numbers that agree, as a fraction in 0..1 or in per cent [default]",
            .interval = {0, 1},
            .accepted = "a fraction in 0..1"});
  rows.add("--ignore", &F::ignore,
           {.value = "NAME", .help = "Members that are passed over, at any depth [version commit]"});
  rows.group("What counts as different");
  rows.include(table_rows(), &F::output);
  return rows.include(output_rows(), &F::output);
}

bool has_rows(const DiffFile& file) {
  return file.kind() == DiffFile::Kind::kLines || file.kind() == DiffFile::Kind::kTable;
}

report::DocumentDiff compare_files(const DiffFlags& flags, const report::DiffRules& rules) {
  DiffFile a(flags.files[0]), b(flags.files[1]);
  if (!has_rows(a) && !has_rows(b)) return report::document_diff(a.document(), b.document(), rules);
  const auto is_table = [](const DiffFile& file) { return file.kind() == DiffFile::Kind::kTable; };
  const auto is_document = [](const DiffFile& file) { return file.kind() == DiffFile::Kind::kDocument; };
  if (is_table(a) != is_table(b) || is_document(a) || is_document(b))
    throw InvalidParameter("files", "of two kinds", "two documents, two files of JSON Lines, or two tables of CSV");
  ProgressBar bar("comparing", flags.output.quiet);
  report::DocumentDiff diff = rows_diff(a, b, rules, bar.callback());
  bar.clear();
  return diff;
}

int run_diff(const DiffFlags& flags, Reply& reply) {
  if (flags.files.size() != 2)
    throw InvalidParameter("files", std::to_string(flags.files.size()) + " given", "two files, A and B");
  const report::DiffRules rules{.tolerance = flags.tolerance,
                                .ignored = {flags.ignore.begin(), flags.ignore.end()}};
  const report::DocumentDiff diff = compare_files(flags, rules);
  AnswerBody body;
  if (flags.output.json) {
    body = JsonAnswer("diff", diff_rows().echo(flags), report::diff_result(diff));
  } else {
    body = flags.output.csv ? AnswerBody(report::diff_rows(diff)) : report::diff_text(diff, rules);
  }
  put_answer(flags.output, reply, std::move(body),
             {.table = tabled(flags.output, [&] { return report::diff_rows(diff); })});
  return diff.beyond() == 0 ? kExitDone : kExitOutOfTolerance;
}

}  // namespace

Command diff_command();
Command diff_command() {
  Command command{.name = "diff",
                  .position = 66,
                  .group = kManyCommands,
                  .summary = "Compare two results or recordings, value by value",
                  .examples = {"natten-sim diff before.json after.json",
                               "natten-sim diff a/nvidia-h200-stream.json b/nvidia-h200-stream.json --tolerance 5%"},
                  .notes = "Members are matched by name, rows by their point, id, name, algorithm or length, and those of a "
                           "sweep's table by its options. A row that only one file has is one difference.",
                  .exit_codes = "0 no difference beyond the tolerance, 1 internal error, 2 bad input, 3 a difference "
                                "beyond it."};
  command.result_schema = report::diff_schema;
  bind(command, diff_rows().essentials({"tolerance", "ignore", "csv", "json"}), run_diff);
  return command;
}

}  // namespace natten_sim::cli

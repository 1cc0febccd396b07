#include <natten_sim/core/error.hpp>
#include <natten_sim/io/files.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/io/unique_keys.hpp>
#include <natten_sim/report/document_diff.hpp>

#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/reply.hpp"

namespace natten_sim::cli {
namespace {

constexpr std::int64_t kMaxDocumentBytes = std::int64_t{1} << 28;

struct DiffFlags {
  std::vector<std::string> files;
  double tolerance = 0;
  std::vector<std::string> ignore = {"version", "commit"};
  OutputFlags output;
};

Options<DiffFlags> diff_rows() {
  using F = DiffFlags;
  Options<F> rows;
  rows.positional("files", &F::files, {.help = "Two files: results of --json, recordings, or JSON Lines"}, 2);
  rows.add("--tolerance", &F::tolerance,
           {.value = "X",
            .help = "Largest relative difference of numbers that agree, as a fraction in 0..1 or in per cent [default]",
            .interval = {0, 1},
            .accepted = "a fraction in 0..1"});
  rows.add("--ignore", &F::ignore,
           {.value = "NAME", .help = "Members that are passed over, at any depth [version commit]"});
  rows.group("What counts as different");
  return rows.include(output_rows(), &F::output);
}

/// A document, or the lines of one as an array.
Json read_document(const std::string& path) {
  const std::string text = read_text("file", path, kMaxDocumentBytes);
  const std::size_t line = text.find('\n');
  const std::size_t more = line == std::string::npos ? line : text.find_first_not_of(" \t\r\n", line);
  // An indented document breaks behind its first bracket; a line of JSON Lines ends with one.
  const bool lines = more != std::string::npos && line > 1 && text[line - 1] == '}' && text[more] == '{';
  const auto parsed = [&](const std::string& each) {
    require_unique_keys(each, "file " + path);
    return parse_json(each);
  };
  if (!lines) return parsed(text);
  Json array = Json::array();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string each = text.substr(begin, end - begin);
    if (each.find_first_not_of(" \t\r") != std::string::npos) array.push_back(parsed(each));
    begin = end + 1;
  }
  return array;
}

int run_diff(const DiffFlags& flags, Reply& reply) {
  if (flags.files.size() != 2)
    throw InvalidParameter("files", std::to_string(flags.files.size()) + " given", "two files, A and B");
  const report::DiffRules rules{.tolerance = flags.tolerance,
                                .ignored = {flags.ignore.begin(), flags.ignore.end()}};
  const report::DocumentDiff diff =
      report::document_diff(read_document(flags.files[0]), read_document(flags.files[1]), rules);
  if (flags.output.json) {
    put_answer(flags.output, reply, JsonAnswer("diff", diff_rows().echo(flags), report::diff_result(diff)));
  } else {
    write_output(flags.output, flags.output.csv ? report::diff_csv(diff) : report::diff_text(diff, rules));
  }
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
                  .notes = "Members are matched by name, rows by their point, id, name, algorithm or length.",
                  .exit_codes = "0 no difference beyond the tolerance, 1 internal error, 2 bad input, 3 a difference "
                                "beyond it."};
  bind(command, diff_rows().essentials({"tolerance", "ignore", "csv", "json"}), run_diff);
  return command;
}

}  // namespace natten_sim::cli

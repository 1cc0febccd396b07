#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/version.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/io/value_text.hpp>

#include "cli/invocation.hpp"
#include "cli/limits.hpp"
#include "cli/line_source.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/picture_file.hpp"
#include "commands.hpp"
#include "commands/rows/search_values.hpp"
#include "sweep/grid.hpp"
#include "sweep/journal.hpp"
#include "sweep/table.hpp"

namespace natten_sim::cli {
namespace {

struct SweepFlags {
  std::vector<std::string> subcommand;  ///< and its options
  std::vector<std::string> over;
  std::optional<std::int64_t> jobs;
  std::optional<std::string> shard;
  std::vector<std::string> journal;
  bool jsonl = false;
  std::vector<std::string> columns;  ///< of the table; empty: all
  std::optional<std::string> picture;
  SweepPicture axes;
  std::optional<std::string> output;
  bool quiet = false;
  LimitFlags limits;
};

/// Points that this run has to answer: 2/5 is the second of five shares, points 1, 6, 11, ..
struct Shard {
  std::int64_t number = 1, of = 1;
  [[nodiscard]] bool has(std::int64_t point) const { return point % of == number - 1; }
};

Shard parse_shard(const std::optional<std::string>& text) {
  if (!text) return {};
  const auto [number, of] = parse_ratio("shard", *text, 1, "I/N with 1 <= I <= N, such as 2/5");
  return {number, of};
}

/// As a journal has it when it is read again, where integers of more than 64 bits are rounded: a sweep that was
/// stopped has the same table as one that was not.
Json as_read_again(const Json& value) {
  if (value.is_digits()) return std::strtod(value.digits().c_str(), nullptr);
  if (!value.is_array() && !value.is_object()) return value;
  Json copy = value;
  for (Json& element : copy) element = as_read_again(element);
  return copy;
}

Json answer_at(const SweepGrid& grid, std::int64_t point, Invocation invocation) {
  try {
    grid.set(invocation, point);
    const JsonAnswer answer = invocation.answer();
    return {{"input", answer.input()}, {"result", as_read_again(answer.result())}};
  } catch (const Error& error) {
    return {{"error", error_fields(error)}};
  }
}

/// Answers what is missing, on several threads. The first failure that is no bad input ends it.
void answer_points(const SweepGrid& grid, const Invocation& invocation,
                   const std::vector<std::int64_t>& points, std::int64_t jobs, SweepJournal& journal,
                   ProgressBar& progress) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::size_t answered = 0;
  std::exception_ptr failure;
  const auto work = [&] {
    while (true) {
      const std::size_t at = next++;
      if (at >= points.size()) return;
      try {
        journal.add(points[at], grid.names_and_values(points[at]), answer_at(grid, points[at], invocation));
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next = points.size();
      }
      const std::lock_guard lock(mutex);
      progress.show(static_cast<double>(++answered) / static_cast<double>(points.size()));
    }
  };
  std::vector<std::thread> others;
  try {
    for (std::int64_t i = 1; i < std::min(jobs, static_cast<std::int64_t>(points.size())); ++i)
      others.emplace_back(work);
  } catch (const std::system_error&) {
    // The system starts no more threads: those that run answer all points.
  }
  work();
  for (std::thread& other : others) other.join();
  progress.clear();
  if (failure) std::rethrow_exception(failure);
}

std::string json_lines(const SweepJournal& journal) {
  std::string text;
  for (const auto& [point, answer] : journal.answers()) text += json_text(answer) + "\n";
  return text;
}

std::int64_t refused_points(const SweepJournal& journal) {
  return std::count_if(journal.answers().begin(), journal.answers().end(),
                       [](const auto& answer) { return answer.second.contains("error"); });
}

/// What other programs call it when a sweep goes on, or shards become one table.
void refuse_words_for_journals(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool first = i == 0 && (words[i] == "merge" || words[i] == "resume");
    if (first || words[i] == "--merge" || words[i] == "--resume" || words[i] == "--continue")
      throw InvalidParameter(
          "sweep", "'" + words[i] + "'",
          "the sweep's own line with " + mention("journal") +
              " FILE, which goes on with it, or with the journals of all shards, which joins them");
  }
}

/// Before any point is answered. @throws UnknownName
void require_columns(const Command& command, const SweepGrid& grid, const SweepFlags& flags) {
  PossibleColumns columns(command);
  columns.add("error");
  for (const SweptOption& option : grid.options()) columns.add(column_of(option.name));
  for (const std::string& column : flags.columns) columns.require("columns", column);
  for (const auto& [parameter, given] :
       {std::pair{"x", flags.axes.x}, std::pair{"y", flags.axes.y}, std::pair{"by", flags.axes.by}}) {
    if (given) columns.require(parameter, *given);
  }
}

int run_sweep(SweepFlags flags) {
  flags.columns = split_at_commas(flags.columns);
  for (const std::string& text : flags.over) {
    if (text.find('=') == std::string::npos)
      throw InvalidParameter("over", "'" + text + "'",
                             "NAME=VALUES; the subcommand and its options come before --over");
  }
  if (std::find(flags.subcommand.begin(), flags.subcommand.end(), "--json") != flags.subcommand.end())
    throw InvalidParameter("--json", "given to a sweep", "--jsonl, for the whole answers as JSON Lines");
  refuse_words_for_journals(flags.subcommand);
  const Invocation invocation = parse_invocation(flags.subcommand, commands());
  if (flags.over.empty())
    throw InvalidParameter("over", "not given", "NAME=LO:HI, NAME=LO:HI:STEP, NAME=LO:HI:xFACTOR or NAME=VALUE,VALUE,..");
  std::vector<SweptOption> options;
  for (const std::string& text : flags.over) options.push_back(parse_swept(text, invocation));
  const SweepGrid grid(std::move(options));
  require_columns(invocation.command(), grid, flags);
  const Shard shard = parse_shard(flags.shard);
  const Json sweep = {
      {"subcommand", Json(flags.subcommand)}, {"over", Json(flags.over)}, {"version", version()}};
  SweepJournal journal(sweep, grid, flags.journal);
  std::vector<std::int64_t> points;
  for (std::int64_t point = shard.number - 1; point < grid.points(); point += shard.of) {
    if (!journal.has(point)) points.push_back(point);
  }
  ProgressBar progress("sweep", flags.quiet);
  const std::int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  answer_points(grid, invocation, points, flags.jobs.value_or(cores), journal, progress);

  const std::vector<Json> rows = sweep_rows(grid, journal.answers());
  const std::string table = flags.jsonl ? json_lines(journal) : sweep_csv(grid, rows, flags.columns);
  std::string sentence;
  try {
    if (flags.picture) {
      std::string title = "natten-sim";
      for (const std::string& word : flags.subcommand) title += " " + word;
      write_picture(*flags.picture, sweep_picture(title, grid, rows, flags.axes));
    }
    if (!rows.empty()) sentence = sweep_sentence(grid, rows, flags.axes.y);
  } catch (const Error&) {
    write_output({.output = flags.output}, table);  // not lost for a column without numbers
    throw;
  }
  write_output({.output = flags.output}, table);
  const std::int64_t refused = refused_points(journal);
  if (!flags.quiet && !sentence.empty()) print_remark(sentence);
  return refused == static_cast<std::int64_t>(rows.size()) ? kExitBadInput : kExitDone;
}

Options<SweepFlags> sweep_options() {
  using F = SweepFlags;
  Options<F> rows;
  rows.positional(
      "subcommand", &F::subcommand,
      {.help = "A subcommand and its options", .suggestions = [] { return names_with_json(commands()); }},
      1 << 16);
  rows.add("--over", &F::over,
           {.value = "NAME=VALUES",
            .help = "LO:HI, LO:HI:STEP, LO:HI:xFACTOR, or VALUE,VALUE,..; several options: all combinations"});
  rows.add("-j,--jobs", &F::jobs,
           {.value = "N", .help = "Points answered at a time [all cores]", .range = {1, 1024}});
  rows.add("--journal", &F::journal,
           {.value = "FILE",
            .help = "Keep answers in FILE as they come, and do not ask again for those in it; more files are "
                    "read only"});
  rows.add("--shard", &F::shard, {.value = "I/N", .help = "Only share I of N, for job arrays"});
  rows.add("--jsonl", &F::jsonl, {.help = "Whole answers as JSON Lines instead of CSV"});
  rows.add("--columns", &F::columns,
           {.value = "NAME",
            .help = "Columns of the table after those that are swept, such as visited_tiles [all]",
            .excludes = {"jsonl"}});
  About picture = about_picture("--y over --x, a line for each value of --by");
  picture.needs = {"y"};
  rows.add("--picture", &F::picture, picture);
  rows.add(
      "--x", within(&F::axes, &SweepPicture::x),
      {.value = "COLUMN", .help = "With --picture [the first option]", .needs = {"picture"}});
  rows.add("--y", within(&F::axes, &SweepPicture::y),
           {.value = "COLUMN", .help = "Column that the closing sentence is about, and that --picture draws"});
  rows.add(
      "--by", within(&F::axes, &SweepPicture::by),
      {.value = "COLUMN", .help = "With --picture [the second option]", .needs = {"picture"}});
  rows.add("--output", &F::output,
           {.value = "FILE", .help = "Write to FILE instead of stdout (complete or not at all)"});
  rows.add("--quiet", &F::quiet, {.help = "No notes and no progress on stderr"});
  rows.include(limit_rows(), &F::limits);
  return rows;
}

}  // namespace

Command sweep_command();
Command sweep_command() {
  Command command{.name = "sweep",
                  .position = 65,
                  .summary = "Ask a subcommand for many values of its options: one table, one plot"};
  command.group = kManyCommands;
  command.examples = {"natten-sim sweep reuse --over seqlen=16384:262144:x2 order=cyclic,sawtooth -d 64 --device h200 --fidelity lru --picture misses.pdf --y miss_sectors",
                      "natten-sim sweep count --preset hunyuan-video --over window=18x24x24,30x24x24 stride=1x1x1,2x2x2,4x4x4",
                      "natten-sim sweep schedule --over heads=1:16:1 --q-tiles 32 --algorithm spt --shard 1/4 --journal 1.jsonl",
                      "natten-sim sweep schedule --over heads=1:16:1 --q-tiles 32 --algorithm spt --journal 1.jsonl 2.jsonl"};
  command.notes =
      "The subcommand comes first, its options anywhere. One row a point: its values, the problem, the "
      "answer.\n"
      "A journal lets a sweep that was stopped go on. With the journals of all shards it is a merge.\n"
      "The closing sentence goes to stderr, beside the table.";
  command.exit_codes = "0 done, 1 internal error, 2 bad input, or every point refused.";
  bind(command, sweep_options().essentials({"over", "jobs", "journal", "shard", "jsonl", "picture", "y", "output"}), run_sweep);
  command.passes_on = true;
  return command;
}

}  // namespace natten_sim::cli

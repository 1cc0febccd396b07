#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/version.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/io/value_text.hpp>
#include <natten_sim/report/draw/text.hpp>

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
  bool compact = false;              ///< lines without the input
  std::vector<std::string> columns;  ///< of the table or its lines; empty: all
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

/// The lines of --jsonl, each printed once all before it are.
class LinesInOrder {
 public:
  LinesInOrder(const std::optional<std::string>& path, OutputSink::Mode mode) : sink_(path, mode) {}

  /// From any thread. Nothing is printed before it is known which points have a line.
  void add(std::int64_t point, std::string line) {
    const std::lock_guard lock(mutex_);
    waiting_[point] = std::move(line);
    print();
  }
  /// The points that have a line, or will have one; ascending.
  void expect(std::vector<std::int64_t> points) {
    points_ = std::move(points);
    print();
  }
  void commit() { sink_.commit(); }

 private:
  void print() {
    for (; next_ < points_.size(); ++next_) {
      const auto line = waiting_.find(points_[next_]);
      if (line == waiting_.end()) return;
      sink_.write(draw::printable(line->second));
      waiting_.erase(line);
    }
  }

  std::mutex mutex_;
  OutputSink sink_;
  std::map<std::int64_t, std::string> waiting_;
  std::vector<std::int64_t> points_;
  std::size_t next_ = 0;
};

/// A line of --jsonl: the whole answer, or what --columns or --compact leave of it.
std::string json_line(const Json& line, const AnswerColumns& columns, bool compact) {
  if ((columns.empty() && !compact) || !line.contains("result")) return json_text(line) + "\n";
  Json head = {{"point", line.at("point")}, {"values", line.at("values")}};
  if (columns.empty()) {
    head["result"] = line.at("result");
    return json_text(head) + "\n";
  }
  std::string text = json_text(head);
  text.pop_back();
  return text + "," + columns.members(line.at("input"), line.at("result")) + "}\n";
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

void refuse_misplaced(const SweepFlags& flags) {
  for (const std::string& text : flags.over) {
    if (text.find('=') == std::string::npos)
      throw InvalidParameter("over", "'" + text + "'",
                             "NAME=VALUES; the subcommand and its options come before --over");
  }
  if (std::find(flags.subcommand.begin(), flags.subcommand.end(), "--json") != flags.subcommand.end())
    throw InvalidParameter("--json", "given to a sweep", "--jsonl, for the whole answers as JSON Lines");
  refuse_words_for_journals(flags.subcommand);
}

int run_sweep(SweepFlags flags) {
  flags.columns = split_at_commas(flags.columns);
  refuse_misplaced(flags);
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
  // A picture on standard output takes the place of the table.
  const auto mode = flags.picture == "-" ? OutputSink::Mode::kBuffered : OutputSink::Mode::kStreamed;
  std::optional<LinesInOrder> lines;
  if (flags.jsonl) lines.emplace(flags.output, mode);
  SweepTable table(grid, flags.columns, flags.axes, !flags.jsonl);
  AnswerColumns columns;
  if (flags.jsonl && !flags.columns.empty()) columns = {invocation.command().name, flags.columns, commands()};
  SweepJournal journal(sweep, grid, flags.journal, [&](std::int64_t point, const Json& line) {
    table.add(point, line);
    if (lines) lines->add(point, json_line(line, columns, flags.compact));
  });
  std::vector<std::int64_t> points, with_line;
  for (std::int64_t point = 0; point < grid.points(); ++point) {
    const bool asked = shard.has(point) && !journal.has(point);
    if (asked) points.push_back(point);
    if (asked || journal.has(point)) with_line.push_back(point);
  }
  if (lines) lines->expect(std::move(with_line));
  ProgressBar progress("sweep", flags.quiet);
  const std::int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  answer_points(grid, invocation, points, flags.jobs.value_or(cores), journal, progress);

  const auto write = [&] {
    OutputSink sink(flags.output, mode);
    table.write_csv([&](std::string_view text) { sink.write(draw::printable(text)); });
    sink.commit();
  };
  std::string sentence;
  try {
    if (flags.picture) {
      std::string title = "natten-sim";
      for (const std::string& word : flags.subcommand) title += " " + word;
      write_picture(*flags.picture, sweep_picture(title, grid, table, flags.axes));
    }
    if (table.size() > 0) sentence = sweep_sentence(grid, table, flags.axes.y);
  } catch (const Error&) {
    lines ? lines->commit() : write();  // not lost for a column without numbers
    throw;
  }
  lines ? lines->commit() : write();
  if (!flags.quiet && !sentence.empty()) print_remark(sentence);
  return table.refused() == table.size() ? kExitBadInput : kExitDone;
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
            .help = "Columns of the table, or of a line, after those that are swept, such as visited_tiles [all]"});
  rows.add("--compact", &F::compact,
           {.help = "Lines without the input of their answer", .excludes = {"columns"}, .needs = {"jsonl"}});
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

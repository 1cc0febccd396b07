#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <natten_sim/core/conflict.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/files.hpp>
#include <natten_sim/io/flat_schedule.hpp>
#include <natten_sim/io/recorded_run.hpp>
#include <natten_sim/io/schedule_costs.hpp>
#include <natten_sim/io/schedule_table.hpp>
#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/json.hpp>
#include <natten_sim/report/kernel_schedule_report.hpp>
#include <natten_sim/report/object_schema.hpp>
#include <natten_sim/report/schedule_picture.hpp>
#include <natten_sim/report/schedule_report.hpp>
#include <natten_sim/study/recorded_run.hpp>

#include "cli/described.hpp"
#include "cli/estimates.hpp"
#include "cli/picture_file.hpp"
#include "cli/reply.hpp"
#include "cli/table_file.hpp"
#include "commands/rows/schedule_rows.hpp"

namespace natten_sim::cli {
namespace {

using study::FinishedSchedule;
using study::ScheduleAnswer;

void refuse_with_all(const ScheduleFlags& flags) {
  for (const auto& [name, given] :
       {std::pair{"emit-table", flags.emit_table.has_value()},
        std::pair{"emit-header", flags.emit_header.has_value()},
        std::pair{"emit-binary", flags.emit_binary.has_value()},
        std::pair{"checkpoint", flags.checkpoint.has_value()},
        std::pair{"critical-path", flags.critical_path}, std::pair{"ascii", flags.ascii},
        std::pair{"picture", flags.output.picture.has_value()}, std::pair{"perfetto", flags.perfetto.has_value()}}) {
    if (given) {
      throw InvalidParameter(std::string("--") + name, "given with --algorithm all",
                             "one algorithm, as --algorithm best");
    }
  }
}

/// The one file that each of these options writes must be its own.
void refuse_shared_files(const ScheduleFlags& flags) {
  const std::vector<std::pair<std::string, std::optional<std::string>>> files = {
      {"output", flags.output.output},    {"picture", flags.output.picture},
      {"perfetto", flags.perfetto},       {"emit-table", flags.emit_table},
      {"emit-header", flags.emit_header}, {"emit-binary", flags.emit_binary},
      {"checkpoint", flags.checkpoint}};
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t j = i + 1; j < files.size(); ++j) {
      if (files[i].second && files[i].second == files[j].second)
        throw InvalidParameter(files[j].first, *files[j].second, "another file than --" + files[i].first);
    }
  }
}

AnswerBody render_any(const ScheduleFlags& flags, const ScheduleAnswer& answer, const report::Json& input,
                      const study::ScheduleQuestion& asked, report::CriticalPath path) {
  if (flags.output.csv) return report::schedule_rows(answer);
  std::optional<report::Closing> closing;
  if (flags.output.conclusion) closing = report::closing_of(answer, study::conclude(answer, asked));
  if (flags.output.json) {
    report::Json result = report::schedule_result(answer, path);
    report::add_closing(closing, result);
    return JsonAnswer("schedule", input, std::move(result));
  }
  return (answer.results.size() > 1 ? report::schedule_comparison(answer)
                                    : report::schedule_text(answer.results.front(), answer.problem, path)) +
         report::closing_text(closing);
}

AnswerBody render(const ScheduleFlags& flags, const ScheduleAnswer& answer, const report::Json& input,
                  const study::ScheduleQuestion& asked) {
  const report::CriticalPath path =
      flags.critical_path ? report::CriticalPath::kShown : report::CriticalPath::kHidden;
  if constexpr (kJsonAlone) {
    return JsonAnswer("schedule", input, report::schedule_result(answer, path));
  } else {
    return render_any(flags, answer, input, asked, path);
  }
}

/// A trace may have half a gigabyte: reports progress.
void write_in_parts(OutputSink& file, std::string_view text, bool quiet) {
  constexpr std::size_t kPart = std::size_t{1} << 22;
  ProgressBar bar("writing", quiet);
  for (std::size_t at = 0; at < text.size(); at += kPart) {
    bar.show(static_cast<double>(at) / static_cast<double>(text.size()));
    file.write(text.substr(at, kPart));
  }
}

/// The answer, and beside it each file that was asked for. Nothing is put in place before every file could be
/// opened: one that is refused leaves none. `printed`: a picture that stands in place of the answer.
void write_all(const ScheduleFlags& flags, Reply& reply, AnswerBody answer, std::optional<report::Rows> rows,
               const std::vector<std::pair<std::optional<std::string>, std::string_view>>& texts,
               const std::string& printed = "") {
  AnswerSink sink(flags.output, reply);
  std::vector<std::unique_ptr<OutputSink>> files;
  for (const auto& [path, text] : texts) {
    if (!path) continue;
    files.push_back(std::make_unique<OutputSink>(*path, OutputSink::Mode::kStreamed));
    write_in_parts(*files.back(), text, flags.output.quiet);
  }
  for (const std::unique_ptr<OutputSink>& file : files) file->commit();
  if (!printed.empty()) write_in_place_of_answer(printed);
  sink.put(std::move(answer), {.table = std::move(rows)});
}

std::string trace_of(const ScheduleFlags& flags, const FinishedSchedule& finished,
                     const FinishedSchedule* run) {
  ProgressBar bar("tracing", flags.output.quiet);
  return report::schedule_trace(finished, run, bar.callback());
}

/// What no file could show is refused before it is computed.
void require_shown(const ScheduleFlags& flags, const BackwardProblem& problem) {
  if constexpr (!kJsonAlone) {
    if (flags.output.picture) report::require_drawable(problem);
    if (flags.perfetto) report::require_traceable(problem);
  }
}

std::optional<report::Rows> tabled_rows(const ScheduleFlags& flags, const ScheduleAnswer& answer) {
  return tabled(flags.output, [&] { return report::schedule_rows(answer); });
}

/// The answer with pictures, tables and traces.
void write_files(const ScheduleFlags& flags, Reply& reply, const ScheduleAnswer& answer,
                 const report::Json& input, const study::ScheduleQuestion& asked) {
  const std::string& name = answer.results.front().name;
  const FinishedSchedule& finished = study::require_finished(answer.results.front());
  AnswerBody body =
      flags.ascii ? AnswerBody(report::schedule_ascii(finished)) : render(flags, answer, input, asked);
  std::optional<FinishedSchedule> recorded;
  if (flags.recorded_run) {
    recorded = study::as_recorded(finished, parse_recorded_run(read_text("recorded-run", *flags.recorded_run),
                                                               "recorded run " + *flags.recorded_run));
  }
  const FinishedSchedule* run = recorded ? &*recorded : nullptr;
  draw::Picture picture;
  const std::string mask = flags.table ? "of the table" : mask_text(asked.mask);
  if (flags.output.picture) picture = fitted(flags.output, report::schedule_picture(name, finished, answer, mask, run));
  const std::string table = flags.emit_table ? to_json(study::table_of(name, finished)) : "";
  const std::string header = flags.emit_header ? schedule_header(study::table_of(name, finished)) : "";
  const std::string binary = flags.emit_binary ? schedule_binary(study::table_of(name, finished)) : "";
  const std::string trace = flags.perfetto ? trace_of(flags, finished, run) : "";
  const bool printed = flags.output.picture == "-";
  const std::string drawn = flags.output.picture ? picture_bytes(*flags.output.picture, picture) : "";
  write_all(flags, reply, std::move(body), tabled_rows(flags, answer),
            {{printed ? std::nullopt : flags.output.picture, drawn},
             {flags.perfetto, trace},
             {flags.emit_table, table},
             {flags.emit_header, header},
             {flags.emit_binary, binary}},
            printed ? picture.svg : "");
}

void write_one(const ScheduleFlags& flags, Reply& reply, const ScheduleAnswer& answer,
               const report::Json& input, const study::ScheduleQuestion& asked) {
  (void)study::require_finished(answer.results.front());
  if constexpr (kJsonAlone) {
    write_all(flags, reply, render(flags, answer, input, asked), {}, {});
  } else {
    write_files(flags, reply, answer, input, asked);
  }
}

void run_table(const ScheduleFlags& flags, Reply& reply, const study::Context& context) {
  const study::TableQuestion question = table_question(flags);
  require_shown(flags, question.table.problem);
  const ScheduleAnswer answer = study::schedule(question, context);
  write_one(flags, reply, answer, schedule_input(flags, answer), {});
}

/// The file of --checkpoint: the best schedule of a search, for a run that goes on from it.
class CheckpointFile {
 public:
  explicit CheckpointFile(std::string path) : path_(std::move(path)) {
    if (path_.empty() || path_ == "-")
      throw InvalidParameter("checkpoint", "'" + path_ + "'", "the path of a file that is read and written");
  }

  /// None: there is no such file yet.
  [[nodiscard]] std::optional<SearchCheckpoint> read() const {
    std::error_code unreadable;  // said by read_text
    if (!std::filesystem::exists(path_, unreadable) && !unreadable) return std::nullopt;
    return parse_search_checkpoint(read_text("checkpoint", path_, kMaxTableBytes), "checkpoint " + path_);
  }

  /// Writes at the first call, so that a place where nothing can be written is refused before the search, and
  /// then every few seconds.
  void tell(const BackwardProblem& problem, std::int64_t iterations, const BackwardSchedule& best) {
    iterations_ = iterations;
    const auto now = std::chrono::steady_clock::now();
    if (due_ && now < *due_) return;
    write({problem, best});
    due_ = std::chrono::steady_clock::now() + kInterval;
  }

  void write(ScheduleTable best) const {
    ReplacedFile file("checkpoint", path_);
    const std::string text = to_json(SearchCheckpoint{iterations_, std::move(best)});
    if (std::fwrite(text.data(), 1, text.size(), file.stream()) != text.size() || !file.commit())
      throw WriteError(path_ + ": cannot write: " + std::strerror(errno));
  }

 private:
  static constexpr std::chrono::seconds kInterval{5};

  std::string path_;
  std::int64_t iterations_ = 0;
  std::optional<std::chrono::steady_clock::time_point> due_;
};

void run_algorithms(const ScheduleFlags& flags, Reply& reply, study::Context context) {
  study::ScheduleQuestion question = schedule_question(flags);
  if (question.algorithms.empty()) refuse_with_all(flags);
  if (flags.output.estimate) {
    put_estimate(flags.output, reply, "schedule", options_of<study::ScheduleParts>().echo(flags.parts),
                 study::estimate(question, context));
    return;
  }
  question.begins = [&](const BackwardProblem& problem) {
    require_shown(flags, problem);
    require_room(flags.output, study::estimate(question, problem));
  };
  std::optional<CheckpointFile> checkpoint;
  if (flags.checkpoint) {
    checkpoint.emplace(*flags.checkpoint);
    question.start = checkpoint->read();
    question.standing = [&](const BackwardProblem& problem, std::int64_t iterations,
                            const BackwardSchedule& best) { checkpoint->tell(problem, iterations, best); };
  }
  const Notes notes(flags.output);
  ProgressBar bar("searching", notes.quiet());
  context.progress = bar.callback();
  const ScheduleAnswer answer = study::schedule(question, context);
  bar.clear();
  if (checkpoint) checkpoint->write(study::table_of("best", study::require_finished(answer.results.front())));
  const report::Json input = schedule_input(flags, answer);
  if (question.algorithms.empty()) {
    write_all(flags, reply, render(flags, answer, input, question), tabled_rows(flags, answer), {});
  } else {
    write_one(flags, reply, answer, input, question);
  }
  for (const std::string& name : answer.left_out)
    notes.note(name + " was left out: it takes long here; --algorithm " + name + " or --effort N runs it");
  if (flags.parts.question.named_costs)
    notes.note("times are microseconds, of the costs " + *flags.parts.question.named_costs);
  if (std::holds_alternative<std::monostate>(question.workers))
    notes.note(fmt::format("no workers given: {}, one a KV tile", answer.problem.workers));
}

/// --costs names a set, or a file with one that is added here.
void load_costs(ScheduleFlags& flags, study::Context& context) {
  const auto& known = context.catalog.schedule_costs;
  const auto is_its = [&](const ScheduleCostSet& set) { return set.name == *flags.parts.question.named_costs; };
  if (!flags.parts.question.named_costs || std::any_of(known.begin(), known.end(), is_its)) return;
  std::error_code unreadable;
  if (!std::filesystem::exists(*flags.parts.question.named_costs, unreadable))
    return;  // an unknown name: the catalog says which there are
  add_schedule_costs(context.catalog, read_text("costs", *flags.parts.question.named_costs, kMaxCatalogBytes),
                     "costs file " + *flags.parts.question.named_costs);
  flags.parts.question.named_costs = known.front().name;
}

AnswerBody kernel_body(const ScheduleFlags& flags, const study::KernelScheduleAnswer& answer) {
  std::optional<report::Closing> closing;
  if (flags.output.conclusion) closing = report::closing_of(answer);
  if (flags.output.csv) return report::kernel_schedule_rows(answer);
  if (!flags.output.json) return report::kernel_schedule_text(answer) + report::closing_text(closing);
  report::Json result = report::kernel_schedule_result(answer);
  report::add_closing(closing, result);
  return JsonAnswer("schedule", kernel_schedule_input(flags, answer), std::move(result));
}

/// The answer, with pictures and the table of the deterministic run.
void run_kernel(const ScheduleFlags& flags, Reply& reply, const study::Context& context) {
  const study::KernelScheduleQuestion question = study::kernel_question_of(flags.parts);
  const study::KernelScheduleAnswer answer = study::kernel_schedule(question, context);
  std::optional<report::Rows> rows = tabled(flags.output, [&] { return report::kernel_schedule_rows(answer); });
  if (!flags.output.picture && !flags.perfetto && !flags.emit_table)
    return write_all(flags, reply, kernel_body(flags, answer), std::move(rows), {});
  study::ScheduleQuestion run = study::deterministic_run(question, answer);
  run.begins = [&](const BackwardProblem& problem) { require_shown(flags, problem); };
  run.detail = {.times = flags.output.picture || flags.perfetto, .critical_path = flags.output.picture.has_value()};
  const ScheduleAnswer planned = study::schedule(run, context);
  const std::string name = answer.kernel.name + ", " + planned.results.front().name;
  const FinishedSchedule& finished = study::require_finished(planned.results.front());
  draw::Picture picture;
  if (flags.output.picture) picture = fitted(flags.output, report::schedule_picture(name, finished, planned, mask_text(question.mask)));
  const bool printed = flags.output.picture == "-";
  const std::string drawn = flags.output.picture ? picture_bytes(*flags.output.picture, picture) : "";
  const std::string trace = flags.perfetto ? trace_of(flags, finished, nullptr) : "";
  const std::string table =
      flags.emit_table ? to_json(study::table_of(planned.results.front().name, finished)) : "";
  write_all(flags, reply, kernel_body(flags, answer), std::move(rows),
            {{printed ? std::nullopt : flags.output.picture, drawn}, {flags.perfetto, trace}, {flags.emit_table, table}},
            printed ? picture.svg : "");
}

int run_schedule(const ScheduleFlags& given, Reply& reply) {
  ScheduleFlags flags = given;
  refuse_shared_files(flags);
  if (flags.recorded_run && !flags.table) throw Missing("--recorded-run", "--table");
  if (flags.recorded_run && !flags.output.picture && !flags.perfetto)
    throw Missing("--recorded-run", "--picture or --perfetto");
  if (flags.output.estimate && (flags.table || flags.parts.kernel))
    throw Conflict(mention("estimate"), mention(flags.table ? "table" : "kernel"));
  study::Context context = make_context(flags.files);
  load_costs(flags, context);
  if (flags.parts.kernel) {
    if constexpr (kJsonAlone) {
      refuse_beyond_json("kernel");
    } else {
      run_kernel(flags, reply, context);
      return kExitDone;
    }
  }
  flags.table ? run_table(flags, reply, context) : run_algorithms(flags, reply, context);
  return kExitDone;
}

std::string algorithm_list() {
  std::string list;
  for (const ScheduleAlgorithm* algorithm : schedule_algorithms())
    list += "  " + algorithm->name + " (" + algorithm->origin + ")\n";
  return list;
}

}  // namespace

Command schedule_command();
Command schedule_command() {
  Command command{.name = "schedule",
                  .position = 30,
                  .summary = "Simulate and search deterministic attention-backward schedules"};
  command.group = kQuestionCommands;
  command.examples = {"natten-sim schedule --q-tiles 8 --kv-tiles 8 --heads 2 --mask causal --compute 7 --reduce 2",
                      "natten-sim schedule -i 8192 --heads 16 -b 2 --device h200 --mask causal --kernel fa4",
                      "natten-sim schedule -i 8192 --q-tile 64 --heads 16 -b 2 --device h200 --mask causal --algorithm spt --json",
                      "natten-sim schedule --q-tiles 7 --kv-tiles 7 --mask window:2,0 --algorithm best --emit-table order.json --ascii",
                      "natten-sim schedule --table order.json --compute 7 --reduce 2 --handoff 1"};
  command.notes =
      "Masks: causal and window align the ends of both sequences (bottom-right).\nAlgorithms:\n" + algorithm_list();
  command.exit_codes = "0 done, 1 internal error, 2 bad input, or a schedule that deadlocks.";
  command.input_schema = schedule_input_schema;
  command.result_schema = [] {
    return report::one_of({report::schedule_schema(), report::kernel_schedule_schema()});
  };
  bind(command, schedule_rows().essentials({"q-tiles", "seqlen-q", "heads", "device", "mask", "algorithm", "kernel", "compute", "reduce", "picture", "json"}), run_schedule);
  return command;
}

}  // namespace natten_sim::cli

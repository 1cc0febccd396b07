#include <algorithm>
#include <functional>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/report/draw/gantt.hpp>
#include <natten_sim/report/draw/gantt_columns.hpp>
#include <natten_sim/report/draw/panels.hpp>
#include <natten_sim/report/schedule_picture.hpp>
#include <natten_sim/report/schedule_report.hpp>
#include <natten_sim/report/text_table.hpp>

#include "query_tile.hpp"

namespace natten_sim::report {
namespace {

using study::FinishedSchedule;

constexpr std::size_t kMostBars = 50000;                       // tasks of which each is drawn
constexpr std::size_t kMaxSvgTasks = std::size_t{1} << 24;     // shown in columns
constexpr std::size_t kMaxTracedTasks = std::size_t{1} << 21;  // half a GiB of JSON

/// One compute or reduction as it ran.
struct Bar {
  TaskPhase phase = TaskPhase::kCompute;
  std::size_t pass = 0;
  std::int32_t worker = 0, head = 0, kv_tile = 0, q_tile = 0;
  double start = 0, end = 0;
  std::int32_t chain = 0, task = 0;
};

/// Calls `visit` for every bar that takes time: passes, chains in launch order, tasks in order.
void for_each_bar(const FinishedSchedule& finished, const std::function<void(const Bar&)>& visit) {
  double offset = 0;
  for (std::size_t pass = 0; pass < finished.plan.phases.size(); ++pass) {
    const SchedulePhase& phase = finished.plan.phases[pass];
    const ScheduleRun& run = finished.run.runs[pass];
    std::size_t index = 0;
    for (std::size_t i = 0; i < phase.schedule.chains.size(); ++i) {
      poll();
      const ScheduledChain& chain = phase.schedule.chains[i];
      for (std::size_t task = 0; task < chain.q_order.size(); ++task) {
        const TaskTimes& times = run.tasks[index++];
        const QueryTile tile = query_tile(phase.problem, chain, task);
        Bar bar{TaskPhase::kCompute,
                pass,
                run.worker[i],
                tile.head,
                chain.kv_tile,
                tile.q_tile,
                offset + times.compute_start,
                offset + times.compute_end,
                static_cast<std::int32_t>(i),
                static_cast<std::int32_t>(task)};
        if (bar.end > bar.start) visit(bar);
        bar.phase = TaskPhase::kReduce;
        bar.start = offset + times.reduce_start;
        bar.end = offset + times.reduce_end;
        if (bar.end > bar.start) visit(bar);
      }
    }
    offset += run.makespan;
  }
}

const SchedulePhase& first_phase(const FinishedSchedule& finished) { return finished.plan.phases.front(); }

bool asynchronous(const FinishedSchedule& finished) { return first_phase(finished).costs.writer_stages > 0; }

std::size_t count_tasks(const FinishedSchedule& finished) {
  std::size_t tasks = 0;
  for (const ScheduleRun& run : finished.run.runs) tasks += run.tasks.size();
  return tasks;
}

/// Steps on the critical path.
class CriticalSteps {
 public:
  explicit CriticalSteps(const FinishedSchedule& finished) {
    for (std::size_t pass = 0; pass < finished.dags.size(); ++pass) {
      for (const CriticalStep& step : finished.dags[pass].critical_path)
        keys_.emplace_back(pass, step.chain, step.task, step.phase);
    }
    std::sort(keys_.begin(), keys_.end());
  }
  [[nodiscard]] bool has(const Bar& bar) const {
    return std::binary_search(keys_.begin(), keys_.end(), Key{bar.pass, bar.chain, bar.task, bar.phase});
  }

 private:
  using Key = std::tuple<std::size_t, std::int32_t, std::int32_t, TaskPhase>;
  std::vector<Key> keys_;
};

void require_drawable(std::size_t tasks, std::int32_t workers) {
  const auto refuse = [](std::int64_t number, const char* what, std::int64_t most) {
    throw InvalidParameter("picture", std::to_string(number) + what,
                           "at most " + std::to_string(most) + "; " + mention("perfetto") + " draws more");
  };
  if (tasks > kMaxSvgTasks) refuse(static_cast<std::int64_t>(tasks), " tasks", kMaxSvgTasks);
  if (workers > draw::kMaxGanttRows) refuse(workers, " workers", draw::kMaxGanttRows);
}

std::size_t tasks_of(const BackwardProblem& problem) {
  return static_cast<std::size_t>(problem.mask.attended().count * problem.heads);
}

void require_traceable(std::size_t tasks) {
  if (tasks <= kMaxTracedTasks) return;
  throw InvalidParameter("perfetto", std::to_string(tasks) + " tasks",
                         "at most " + std::to_string(kMaxTracedTasks) + ": fewer heads, or larger tiles");
}

/// Tells now and then which share of the bars is done.
class BarCount {
 public:
  BarCount(std::size_t tasks, const std::function<void(double)>& progress)
      : bars_(2 * static_cast<double>(tasks)), progress_(progress) {}
  void add() {
    constexpr std::size_t kSeldom = 4096;
    if (++done_ % kSeldom == 0 && progress_) progress_(static_cast<double>(done_) / bars_);
  }

 private:
  double bars_;
  const std::function<void(double)>& progress_;
  std::size_t done_ = 0;
};

enum class ShowWaits { kNo, kYes };

draw::Interval interval_of(const Bar& bar, bool async, const CriticalSteps& critical) {
  const bool reduces = bar.phase == TaskPhase::kReduce;
  return {
      .row = bar.worker,
      .start = bar.start,
      .end = bar.end,
      .activity = reduces ? draw::Activity::kReduce : draw::Activity::kCompute,
      .group = static_cast<std::size_t>(bar.head),
      .label = std::to_string(bar.q_tile),
      .detail = fmt::format("head {}, KV {}, Q {}: {} {} to {}", bar.head, bar.kv_tile, bar.q_tile,
                            reduces ? "reduces" : "computes", short_number(bar.start), short_number(bar.end)),
      .critical = critical.has(bar),
      .second_lane = reduces && async};
}

/// Without intervals.
draw::Gantt empty_gantt(const FinishedSchedule& finished) {
  const BackwardProblem& problem = first_phase(finished).problem;
  draw::Gantt gantt{.rows = problem.workers,
                    .groups = static_cast<std::size_t>(problem.heads * problem.merged_heads)};
  gantt.time_label = "time, in the unit of the costs";
  gantt.span = finished.run.makespan;
  return gantt;
}

/// Rows are workers. A worker that reduces by itself waits between a compute and its reduction.
draw::Gantt gantt_of(const FinishedSchedule& finished, ShowWaits waits) {
  const BackwardProblem& problem = first_phase(finished).problem;
  const bool async = asynchronous(finished);
  const CriticalSteps critical(finished);
  draw::Gantt gantt = empty_gantt(finished);
  std::vector<double> ready(static_cast<std::size_t>(problem.workers), 0.0);  // end of the last step
  for_each_bar(finished, [&](const Bar& bar) {
    double& since = ready[static_cast<std::size_t>(bar.worker)];
    const bool waited = bar.phase == TaskPhase::kReduce && bar.start > since;
    if (waits == ShowWaits::kYes && !async && waited) {
      gantt.intervals.push_back({.row = bar.worker,
                                 .start = since,
                                 .end = bar.start,
                                 .activity = draw::Activity::kWait,
                                 .group = static_cast<std::size_t>(bar.head)});
    }
    gantt.intervals.push_back(interval_of(bar, async, critical));
    since = bar.end;
  });
  return gantt;
}

/// Rows are workers, and a column has the head that its worker computed or reduced for most of that time.
draw::Gantt columns_of(const FinishedSchedule& finished) {
  constexpr std::int64_t kColumns = 800;
  const bool async = asynchronous(finished);
  draw::Gantt gantt = empty_gantt(finished);
  const std::int64_t lanes = async ? 2 : 1;
  draw::GanttColumns columns(gantt.rows,
                             static_cast<std::size_t>(std::min(kColumns, draw::kMaxIntervals / (lanes * gantt.rows))),
                             finished.run.makespan);
  for_each_bar(finished, [&](const Bar& bar) {
    const bool written = async && bar.phase == TaskPhase::kReduce;
    columns.add({.row = bar.worker,
                 .start = bar.start,
                 .end = bar.end,
                 .activity = written ? draw::Activity::kReduce : draw::Activity::kCompute,
                 .group = static_cast<std::size_t>(bar.head),
                 .second_lane = written});
  });
  gantt.intervals = columns.intervals();
  gantt.label_name.clear();
  return gantt;
}

/// What happens until `end`, bar by bar.
draw::Gantt beginning_of(const FinishedSchedule& finished, double end) {
  const bool async = asynchronous(finished);
  const CriticalSteps critical(finished);
  draw::Gantt gantt = empty_gantt(finished);
  gantt.span = end;
  for_each_bar(finished, [&](const Bar& bar) {
    if (bar.start < end) gantt.intervals.push_back(interval_of(bar, async, critical));
  });
  for (draw::Interval& each : gantt.intervals) each.end = std::min(each.end, end);
  return gantt;
}

/// Too many bars for a page: all of them in columns, and below the first of them one by one.
draw::Picture aggregated_picture(draw::Heading heading, const FinishedSchedule& finished, std::size_t tasks) {
  constexpr double kZoomed = 10000;  // tasks, about
  draw::Gantt whole = columns_of(finished);
  whole.heading = std::move(heading);
  whole.heading.subtitle += "; a column shows the head that took most of it";
  const double share = std::min(1.0, kZoomed / static_cast<double>(tasks));
  draw::Gantt zoomed = beginning_of(finished, share * finished.run.makespan);
  zoomed.heading.title = fmt::format("The first {:.2g}% of it, task by task", 100 * share);
  const std::vector<draw::Picture> pictures = {draw::render(whole), draw::render(zoomed)};
  return draw::beside(pictures, 1);
}

void name_track(int process, std::int64_t track, const std::string& name, std::string& text) {
  text += fmt::format(
      ",\n{{\"ph\":\"M\",\"pid\":{2},\"tid\":{0},\"name\":\"thread_name\",\"args\":{{\"name\":\"{1}\"}}}}",
      track, name, process);
  text += fmt::format(
      ",\n{{\"ph\":\"M\",\"pid\":{1},\"tid\":{0},\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{0}"
      "}}}}",
      track, process);
}

/// One process of the trace.
void add_process(int process, const char* name, const FinishedSchedule& finished, BarCount& count,
                 std::string& text) {
  text += fmt::format("{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_name\",\"args\":{{\"name\":\"{}\"}}}}",
                      process, name);
  const bool writers = asynchronous(finished);
  const auto track_of = [&](const Bar& bar) {
    const std::int64_t worker = bar.worker;
    return writers ? 2 * worker + (bar.phase == TaskPhase::kReduce ? 1 : 0) : worker;
  };
  for (std::int32_t worker = 0; worker < first_phase(finished).problem.workers; ++worker) {
    const std::int64_t track = writers ? 2 * std::int64_t{worker} : worker;
    name_track(process, track, fmt::format("worker {}", worker), text);
    if (writers) name_track(process, track + 1, fmt::format("worker {} dQ writer", worker), text);
  }
  for_each_bar(finished, [&](const Bar& bar) {
    count.add();
    const char* what = to_string(bar.phase);
    text += fmt::format(
        ",\n{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"name\":\"{} h{} kv{} "
        "q{}\",\"cat\":\"{}\","
        "\"args\":{{\"head\":{},\"kv_tile\":{},\"q_tile\":{}}}}}",
        process, track_of(bar), bar.start, bar.end - bar.start, what, bar.head, bar.kv_tile, bar.q_tile, what,
        bar.head, bar.kv_tile, bar.q_tile);
  });
}

/// "compute 7, reduce 2", and what else is not free.
std::string costs_text(const BackwardCosts& costs) {
  std::string text =
      fmt::format("compute {}, reduce {}", short_number(costs.compute), short_number(costs.reduce));
  for (const auto& [name, cost] : {std::pair{"tax", costs.per_tile_tax},
                                   {"prologue", costs.prologue},
                                   {"epilogue", costs.epilogue},
                                   {"handoff", costs.handoff}})
    if (cost != 0) text += fmt::format(", {} {}", name, short_number(cost));
  if (costs.writer_stages > 0) text += fmt::format(", {} stages of a writer", costs.writer_stages);
  return text;
}

std::string recorded_title(const FinishedSchedule& recorded) {
  return fmt::format("The same, recorded on a GPU: makespan {} us", short_number(recorded.run.makespan));
}

}  // namespace

std::string schedule_ascii(const FinishedSchedule& finished) {
  const std::int32_t workers = first_phase(finished).problem.workers;
  if (workers > draw::kMaxAsciiRows) {
    throw InvalidParameter(
        "ascii", std::to_string(workers) + " workers",
        "at most " + std::to_string(draw::kMaxAsciiRows) + "; " + mention("picture") + " and " + mention("perfetto") + " draw more");
  }
  return draw::ascii(gantt_of(finished, ShowWaits::kYes));
}

void require_drawable(const BackwardProblem& problem) {
  require_drawable(tasks_of(problem), problem.workers);
}

void require_traceable(const BackwardProblem& problem) { require_traceable(tasks_of(problem)); }

draw::Picture schedule_picture(const std::string& name, const FinishedSchedule& finished,
                               const study::ScheduleAnswer& answer, const std::string& mask,
                               const FinishedSchedule* recorded) {
  const BackwardProblem& problem = answer.problem;
  const std::size_t tasks = count_tasks(finished);
  require_drawable(tasks, problem.workers);
  draw::Heading heading;
  heading.title = fmt::format("Backward schedule {}: makespan {} units", name, short_number(finished.run.makespan));
  heading.subtitle =
      fmt::format("{} Q x {} KV tiles, mask {}, {}, {}; {}", problem.mask.q_tiles / problem.merged_heads,
                  problem.mask.kv_tiles, mask, counted(problem.heads * problem.merged_heads, "head"),
                  counted(problem.workers, "worker"), costs_text(answer.costs));
  if (tasks > kMostBars) {
    const draw::Picture simulated = aggregated_picture(heading, finished, tasks);
    if (recorded == nullptr) return simulated;
    const draw::Picture below = aggregated_picture({recorded_title(*recorded), ""}, *recorded, tasks);
    const std::vector<draw::Picture> pictures = {simulated, below};
    return draw::beside(pictures, 1);
  }
  // Beyond this many tasks waits are too thin to be seen, and a picture has room for computes and reductions.
  const bool room = 3 * tasks <= static_cast<std::size_t>(draw::kMaxIntervals);
  draw::Gantt gantt = gantt_of(finished, room ? ShowWaits::kYes : ShowWaits::kNo);
  gantt.heading = heading;
  if (recorded == nullptr) return draw::render(gantt);
  gantt.heading.title += ", simulated";
  draw::Gantt below = gantt_of(*recorded, ShowWaits::kNo);
  below.heading.title = recorded_title(*recorded);
  below.time_label = "time in microseconds";
  gantt.span = below.span = std::max(finished.run.makespan, recorded->run.makespan);
  const std::vector<draw::Picture> pictures = {draw::render(gantt), draw::render(below)};
  return draw::beside(pictures, 1);
}

std::string schedule_trace(const FinishedSchedule& finished, const FinishedSchedule* recorded,
                           const std::function<void(double)>& progress) {
  const std::size_t tasks = count_tasks(finished);
  require_traceable(tasks);
  BarCount count(recorded == nullptr ? tasks : tasks + count_tasks(*recorded), progress);
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  add_process(1, "natten-sim schedule", finished, count, text);
  if (recorded != nullptr) {
    text += ",\n";
    add_process(2, "recorded run", *recorded, count, text);
  }
  text += "\n]}\n";
  return text;
}

}  // namespace natten_sim::report

#include "schedule_picture.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include <natten_sim/core/error.hpp>

namespace natten_sim::cli {
namespace {

constexpr std::size_t kWidestAscii = 160;
constexpr std::int32_t kMostAsciiWorkers = 400;
constexpr std::size_t kMostSvgTasks = 50000;

/// One compute or reduction as it ran.
struct Bar {
  TaskPhase phase = TaskPhase::kCompute;
  std::size_t pass = 0;
  std::int32_t worker = 0, head = 0, kv_tile = 0, q_tile = 0;
  double start = 0, end = 0;
  std::int32_t chain = 0, task = 0;
};

/// Calls `visit` for every bar: passes, chains in launch order, tasks in order.
void for_each_bar(const ScheduleAnswer& answer, const std::function<void(const Bar&)>& visit) {
  double offset = 0;
  for (std::size_t pass = 0; pass < answer.plan.phases.size(); ++pass) {
    const SchedulePhase& phase = answer.plan.phases[pass];
    const ScheduleRun& run = answer.run.runs[pass];
    std::size_t index = 0;
    for (std::size_t i = 0; i < phase.schedule.chains.size(); ++i) {
      const ScheduledChain& chain = phase.schedule.chains[i];
      for (std::size_t task = 0; task < chain.q_order.size(); ++task) {
        const TaskTimes& times = run.tasks[index++];
        Bar bar{TaskPhase::kCompute,
                pass,
                run.worker[i],
                chain.head,
                chain.kv_tile,
                chain.q_order[task],
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

std::int32_t workers_of(const ScheduleAnswer& answer) { return answer.plan.phases.front().problem.workers; }

bool asynchronous(const ScheduleAnswer& answer) { return answer.plan.phases.front().costs.writer_stages > 0; }

std::string head_color(std::int32_t head, int lightness) {
  return fmt::format("hsl({},55%,{}%)", (head * 137) % 360,
                     lightness);  // the golden angle: neighbours differ
}

/// On the critical path: marked by (pass, chain, task, phase).
class CriticalSet {
 public:
  explicit CriticalSet(const ScheduleAnswer& answer) {
    for (std::size_t pass = 0; pass < answer.dags.size(); ++pass) {
      for (const CriticalStep& step : answer.dags[pass].critical_path)
        keys_.push_back(key(pass, step.chain, step.task, step.phase));
    }
    std::sort(keys_.begin(), keys_.end());
  }
  [[nodiscard]] bool has(const Bar& bar) const {
    return std::binary_search(keys_.begin(), keys_.end(), key(bar.pass, bar.chain, bar.task, bar.phase));
  }

 private:
  static std::tuple<std::size_t, std::int32_t, std::int32_t, int> key(std::size_t pass, std::int32_t chain,
                                                                      std::int32_t task, TaskPhase phase) {
    return {pass, chain, task, static_cast<int>(phase)};
  }
  std::vector<std::tuple<std::size_t, std::int32_t, std::int32_t, int>> keys_;
};

}  // namespace

std::string ascii_gantt(const ScheduleAnswer& answer) {
  const std::int32_t workers = workers_of(answer);
  if (workers > kMostAsciiWorkers) {
    throw InvalidParameter(
        "ascii", std::to_string(workers) + " workers",
        "at most " + std::to_string(kMostAsciiWorkers) + "; --svg and --perfetto draw more");
  }
  const double makespan = answer.run.makespan;
  bool whole = makespan <= static_cast<double>(kWidestAscii);
  for_each_bar(answer, [&](const Bar& bar) {
    whole = whole && bar.start == std::floor(bar.start) && bar.end == std::floor(bar.end);
  });
  const std::size_t width = makespan <= 0 ? 0 : whole ? static_cast<std::size_t>(makespan) : kWidestAscii;
  const double unit = width == 0 ? 1.0 : makespan / static_cast<double>(width);
  std::vector<std::string> rows(static_cast<std::size_t>(workers), std::string(width, ' '));
  std::vector<double> computed(rows.size(), 0.0);  // end of the worker's last compute: from there it may wait
  const auto paint = [&](std::int32_t worker, double start, double end, char mark, bool over) {
    // A column shows what happens in its middle.
    std::string& row = rows[static_cast<std::size_t>(worker)];
    for (auto column = static_cast<std::size_t>(std::max(0.0, start / unit)); column < width; ++column) {
      const double middle = (static_cast<double>(column) + 0.5) * unit;
      if (middle >= end) break;
      if (middle >= start && (over || row[column] == ' ')) row[column] = mark;
    }
  };
  for_each_bar(answer, [&](const Bar& bar) {
    double& ready = computed[static_cast<std::size_t>(bar.worker)];
    if (bar.phase == TaskPhase::kCompute) {
      paint(bar.worker, bar.start, bar.end, static_cast<char>('0' + bar.q_tile % 10), true);
    } else {
      if (!asynchronous(answer)) paint(bar.worker, ready, bar.start, '.', false);
      paint(bar.worker, bar.start, bar.end, '=', false);
    }
    ready = bar.end;
  });
  std::string text =
      fmt::format("{} {} of time a column; digits: Q tile (last digit) computes, = reduces, . waits\n",
                  short_number(unit), unit == 1 ? "unit" : "units");
  const std::size_t label = std::to_string(workers - 1).size();
  for (std::size_t worker = 0; worker < rows.size(); ++worker)
    text += fmt::format("{:>{}} |{}|\n", worker, label, rows[worker]);
  return text;
}

std::string svg_gantt(const ScheduleAnswer& answer, const std::string& title) {
  std::size_t tasks = 0;
  for (const ScheduleRun& run : answer.run.runs) tasks += run.tasks.size();
  if (tasks > kMostSvgTasks) {
    throw InvalidParameter("svg", std::to_string(tasks) + " tasks",
                           "at most " + std::to_string(kMostSvgTasks) + "; --perfetto draws more");
  }
  const std::int32_t workers = workers_of(answer);
  const double row = workers > 64 ? 8 : 20, left = 52, top = 34, plot = 1000;
  const double makespan = answer.run.makespan;
  const double scale = makespan > 0 ? plot / makespan : 0;
  const double height = top + row * workers + 34;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
      "{1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"16\" font-size=\"13\">{3}</text>\n",
      left + plot + 16, height, left, title);
  const auto y_of = [&](std::int32_t worker) { return top + row * worker; };
  for (std::int32_t worker = 0; worker < workers; ++worker) {
    if (row < 12 && worker % 8 != 0) continue;
    svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\" fill=\"#555\">{}</text>\n", left - 6,
                       y_of(worker) + row / 2 + 4, worker);
  }
  const CriticalSet critical(answer);
  std::string outlines;
  for_each_bar(answer, [&](const Bar& bar) {
    const bool reduces = bar.phase == TaskPhase::kReduce;
    const bool lane = reduces && asynchronous(answer);  // the writer's lane: the lower third
    const double x = left + bar.start * scale, w = (bar.end - bar.start) * scale;
    const double y = y_of(bar.worker) + 1 + (lane ? row * 0.62 : 0), h = lane ? row * 0.38 - 2 : row - 2;
    svg += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"><title>head {}, KV "
        "{}, Q {}: {} "
        "{} to {}</title></rect>\n",
        x, y, w, h, head_color(bar.head, reduces ? 40 : 75), bar.head, bar.kv_tile, bar.q_tile,
        reduces ? "reduces" : "computes", short_number(bar.start), short_number(bar.end));
    const std::string label = std::to_string(bar.q_tile);
    if (!reduces && row >= 12 && w > 7.0 * static_cast<double>(label.size()))
      svg += fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"middle\">{}</text>\n", x + w / 2,
                         y_of(bar.worker) + row / 2 + 4, label);
    if (critical.has(bar))
      outlines += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"none\" stroke=\"#000\" "
          "stroke-width=\"1.8\"/>\n",
          x, y, w, h);
  });
  const double axis = y_of(workers) + 4;
  svg +=
      outlines + fmt::format("<line x1=\"{0}\" y1=\"{1:.1f}\" x2=\"{2}\" y2=\"{1:.1f}\" stroke=\"#555\"/>\n",
                             left, axis, left + plot);
  for (int tick = 0; tick <= 4; ++tick) {
    const double time = makespan * tick / 4;
    svg += fmt::format("<text x=\"{:.2f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"#555\">{}</text>\n",
                       left + plot * tick / 4, axis + 14, short_number(time));
  }
  return svg + fmt::format(
                   "<text x=\"{}\" y=\"{:.1f}\" fill=\"#555\">worker | time; light: compute (Q tile), dark: "
                   "reduction, colour: head, black outline: critical path</text>\n</svg>\n",
                   left, axis + 27);
}

std::string perfetto_trace(const ScheduleAnswer& answer) {
  const std::int32_t workers = workers_of(answer);
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  text += R"({"ph":"M","pid":1,"name":"process_name","args":{"name":"natten-sim schedule"}})";
  const auto name_track = [&](std::int64_t track, const std::string& name) {
    text += fmt::format(
        ",\n{{\"ph\":\"M\",\"pid\":1,\"tid\":{0},\"name\":\"thread_name\",\"args\":{{\"name\":\"{1}\"}}}}",
        track, name);
    text += fmt::format(
        ",\n{{\"ph\":\"M\",\"pid\":1,\"tid\":{0},\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{0}"
        "}}}}",
        track);
  };
  const bool writers = asynchronous(answer);
  const auto track_of = [&](const Bar& bar) {
    const std::int64_t worker = bar.worker;
    return writers ? 2 * worker + (bar.phase == TaskPhase::kReduce ? 1 : 0) : worker;
  };
  for (std::int32_t worker = 0; worker < workers; ++worker) {
    const std::int64_t track = writers ? 2 * std::int64_t{worker} : worker;
    name_track(track, fmt::format("worker {}", worker));
    if (writers) name_track(track + 1, fmt::format("worker {} dQ writer", worker));
  }
  for_each_bar(answer, [&](const Bar& bar) {
    const bool reduces = bar.phase == TaskPhase::kReduce;
    text += fmt::format(
        ",\n{{\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{},\"dur\":{},\"name\":\"{} h{} kv{} "
        "q{}\",\"cat\":\"{}\","
        "\"args\":{{\"head\":{},\"kv_tile\":{},\"q_tile\":{}}}}}",
        track_of(bar), bar.start, bar.end - bar.start, reduces ? "reduce" : "compute", bar.head, bar.kv_tile,
        bar.q_tile, reduces ? "reduce" : "compute", bar.head, bar.kv_tile, bar.q_tile);
  });
  return text + "\n]}\n";
}

}  // namespace natten_sim::cli

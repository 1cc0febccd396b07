#include <algorithm>
#include <set>

#include <natten_sim/validate/measure/runner.hpp>

namespace natten_sim::validate {
namespace {

constexpr const char* kOutOfMemory = "out of memory";

/// One phase of a run over the points of a suite.
struct Phase {
  double begin = 0;  ///< of the whole run's progress
  double end = 1;
  std::function<bool(const RecordedRow&)> lacks;
  std::function<void(RecordedRow&)> measure;
};

void run_phase(const Suite& suite, RecordingFile& file, const Phase& phase, std::set<std::string>& failed,
               const std::function<void(double, const std::string&)>& progress) {
  for (std::size_t i = 0; i < suite.points.size(); ++i) {
    const std::string key = key_of(suite.points[i]);
    RecordedRow row;
    row.point = suite.points[i];
    if (const RecordedRow* recorded = file.find(row.point)) row = *recorded;
    const bool may_run = row.status == kMeasured || row.status == kOutOfMemory;
    if (!may_run || failed.contains(key) || !phase.lacks(row)) continue;
    if (progress) {
      const double done = static_cast<double>(i) / static_cast<double>(suite.points.size());
      progress(phase.begin + done * (phase.end - phase.begin), key);
    }
    row.status = kMeasured;
    try {
      phase.measure(row);
    } catch (const kernels::OutOfDeviceMemory&) {
      row.status = kOutOfMemory;
    } catch (const HardwareAbsent& absent) {
      row.status = absent.what();
    }
    if (row.status != kMeasured) failed.insert(key);
    file.put(row);
  }
}

}  // namespace

void run_suite(Measurer& measurer, const Suite& suite, RecordingFile& file, const RunOptions& options,
               const std::function<void(double, const std::string&)>& progress) {
  std::set<std::string> failed;
  if (options.counters && !suite.counters.empty() && measurer.counts()) {
    const Phase counting{0, 0.5, [](const RecordedRow& row) { return row.counters.empty(); },
                         [&](RecordedRow& row) { row.counters = measurer.count(row.point); }};
    run_phase(suite, file, counting, failed, progress);
  }
  if (options.times && suite.timed) {
    const Phase timing{0.5, 1, [](const RecordedRow& row) { return !row.timing.has_value(); },
                       [&](RecordedRow& row) { row.timing = measurer.time(row.point); }};
    run_phase(suite, file, timing, failed, progress);
  }
  if (suite.paced) {
    const auto lacks = [](const RecordedRow& row) { return row.point->has_pace() && !row.pace.has_value(); };
    const Phase pacing{1, 1, lacks, [&](RecordedRow& row) { row.pace = measurer.pace(row.point); }};
    run_phase(suite, file, pacing, failed, progress);
  }
}

std::map<std::string, Point> points_to_check(const Suite& suite, CheckLengths lengths) {
  std::map<std::string, Point> distinct;
  for (const Point& point : suite.points) {
    for (const Point& checked : point->to_check(lengths)) distinct.emplace(key_of(checked), checked);
  }
  return distinct;
}

std::vector<CheckedPoint> check_kernels(Measurer& measurer, const Suite& suite, CheckLengths lengths,
                                        std::uint64_t seed, const std::function<void(double)>& progress) {
  const std::map<std::string, Point> points = points_to_check(suite, lengths);
  std::vector<CheckedPoint> checks;
  for (const auto& [key, point] : points) {
    if (progress) progress(static_cast<double>(checks.size()) / static_cast<double>(points.size()));
    CheckedPoint checked;
    try {
      checked = measurer.check(point, seed + checks.size());
    } catch (const kernels::OutOfDeviceMemory&) {
      checked.status = kOutOfMemory;
    } catch (const HardwareAbsent& absent) {
      checked.status = absent.what();
    }
    checked.key = key;
    checks.push_back(std::move(checked));
  }
  return checks;
}

}  // namespace natten_sim::validate

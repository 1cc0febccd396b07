#include <algorithm>
#include <cctype>
#include <cstdio>
#include <set>
#include <utility>

#include <natten_sim/core/version.hpp>
#include <natten_sim/validate/measure/counters.hpp>
#include <natten_sim/validate/measure/range_profiler.hpp>
#include <natten_sim/validate/measure/runner.hpp>

namespace natten_sim::validate {
namespace {

/// Buffers allocated and filled; each call launches on the next of `inputs` sets.
Launch prepare(Bench& bench, const Point& point, int inputs) {
  std::vector<Launch> launches;
  for (int i = 0; i < inputs; ++i) {
    const auto seed = static_cast<std::uint64_t>(i) + 1;
    launches.push_back(point->prepare(bench, seed));
  }
  return in_turn(std::move(launches));
}

/// A profiler for the counters of the suite that the GPU has; null and `reason` when there is none.
std::unique_ptr<RangeProfiler> open_profiler(int gpu, const Suite& suite, std::string& reason) {
  const std::string chip = RangeProfiler::chip_name(gpu, reason);
  if (!reason.empty()) return nullptr;
  std::vector<std::string> metrics;
  for (const CounterSpec* spec : counters_on(suite.counters, chip)) metrics.emplace_back(spec->metric);
  return RangeProfiler::open(gpu, metrics, reason);
}

/// Device profile named by a word of the GPU's name: "h200" for "NVIDIA H200".
std::string profile_of(const std::string& gpu_name, const std::vector<std::string>& profiles) {
  std::string word;
  std::set<std::string> words;
  for (const char c : gpu_name + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else {
      words.insert(std::exchange(word, ""));
    }
  }
  const auto found = std::find_if(profiles.begin(), profiles.end(),
                                  [&](const std::string& profile) { return words.contains(profile); });
  return found == profiles.end() ? "" : *found;
}

std::string version_text(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

RecordingHead make_head(const kernels::GpuInfo& gpu, const Suite& suite, const RunOptions& options,
                        std::string& absent) {
  RecordingHead head;
  head.suite = suite.name;
  head.device = {
      gpu.name,         profile_of(gpu.name, options.profiles),
      gpu.sms,          gpu.l2_bytes,
      gpu.memory_bytes, std::to_string(gpu.compute_major) + "." + std::to_string(gpu.compute_minor)};
  head.driver = ClockReader(gpu.pci_bus_id).driver_version();
  head.toolkit = "nvcc " + cuda_toolkit() + ", runtime " + version_text(gpu.runtime_cuda_version) +
                 ", driver supports " + version_text(gpu.driver_cuda_version);
  head.profiler = "none: this suite reads no counters";
  if (!suite.counters.empty()) {
    const auto profiler = open_profiler(gpu.index, suite, absent);
    head.profiler = profiler == nullptr ? "none: " + absent
                                        : "CUPTI " + std::to_string(profiler->version()) +
                                              " range profiler, one pass, " + profiler->chip();
    if (profiler != nullptr) {
      for (const CounterSpec* spec : counters_on(suite.counters, profiler->chip()))
        head.metrics[std::string(spec->label)] = spec->metric;
    }
  }
  if (options.timing.l2 == L2State::kWarm) {
    head.cache_control = "L2 overwritten before each counted repetition, warm before each timed one";
  }
  if (options.timing.warm_up_ms > 0)
    head.clocks_policy +=
        "; launches for " + std::to_string(options.timing.warm_up_ms) + " ms before each timed point";
  if (suite.rest > 0) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", suite.rest);
    head.clocks_policy += std::string("; before each timed launch a rest of ") + text + " times its duration";
  }
  head.commit = source_commit();
  return head;
}

}  // namespace

struct GpuMeasurer::State {
  Bench bench;
  Suite suite;
  RunOptions options;
  std::string counters_absent;
  RecordingHead head;
  ClockReader clocks;
  std::unique_ptr<RangeProfiler> profiler;  // from the first count to the first time
};

GpuMeasurer::GpuMeasurer(const kernels::GpuInfo& gpu, const Suite& suite, const RunOptions& options)
    : state_(new State{Bench(gpu), suite, options, {}, {}, ClockReader(gpu.pci_bus_id), {}}) {
  state_->head = make_head(gpu, suite, options, state_->counters_absent);
}
GpuMeasurer::~GpuMeasurer() = default;

const RecordingHead& GpuMeasurer::head() const noexcept { return state_->head; }
const std::string& GpuMeasurer::counters_absent() const noexcept { return state_->counters_absent; }
bool GpuMeasurer::counts() const { return state_->counters_absent.empty(); }

std::map<std::string, CounterValues> GpuMeasurer::count(const Point& point) {
  State& s = *state_;
  if (s.profiler == nullptr) {
    for (const Point& each : s.suite.points) each->get_ready(s.bench);
    std::string reason;
    s.profiler = open_profiler(s.bench.gpu().index, s.suite, reason);
    if (s.profiler == nullptr) throw kernels::CudaError("CUPTI", reason);
  }
  const Launch launch = prepare(s.bench, point, 1);
  launch();  // loads the kernel
  const std::vector<const CounterSpec*> specs = counters_on(s.suite.counters, s.profiler->chip());
  std::vector<std::vector<double>> values(specs.size());
  for (int i = 0; i < s.options.counter_repetitions; ++i) {
    s.bench.flusher().flush();
    const std::vector<double> measured = s.profiler->measure(launch);
    for (std::size_t c = 0; c < measured.size(); ++c) values[c].push_back(measured[c] * specs[c]->scale);
  }
  std::map<std::string, CounterValues> counters;
  for (std::size_t c = 0; c < values.size(); ++c)
    counters[std::string(specs[c]->label)] = {spread_of(values[c]), s.options.counter_repetitions};
  return counters;
}

Timing GpuMeasurer::time(const Point& point) {
  State& s = *state_;
  s.profiler.reset();
  TimingOptions timing = s.options.timing;
  timing.rest = s.suite.rest;
  return time_kernel(s.bench.gpu(), s.clocks, prepare(s.bench, point, timing.inputs), timing);
}

CtaPace GpuMeasurer::pace(const Point& point) {
  state_->profiler.reset();
  return point->pace(state_->bench);
}

CheckedPoint GpuMeasurer::check(const Point& point, std::uint64_t seed) {
  return point->check(state_->bench, seed);
}

}  // namespace natten_sim::validate

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <utility>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/version.hpp>
#include <natten_sim/kernels/partitions.hpp>
#include <natten_sim/validate/counters.hpp>
#include <natten_sim/validate/range_profiler.hpp>
#include <natten_sim/validate/runner.hpp>

namespace natten_sim::validate {
namespace {

kernels::StreamProblem problem_of(const kernels::GpuInfo& gpu, const StreamPoint& point) {
  return {point.buffer_mib << 20, point.passes, point.ctas == 0 ? gpu.sms : point.ctas, point.order,
          point.step_cycles};
}

using Launch = std::function<void()>;

/// A GPU and, once it was asked for, which SM is near which partition.
struct Bench {
  kernels::GpuInfo gpu;
  std::optional<kernels::SmPartitions> partitions;

  /// Measures the partitions if the suite has a point that tells SMs apart.
  void get_ready_for(const Suite& suite) {
    for (const Point& point : suite.points) {
      const auto* const stream = std::get_if<StreamPoint>(&point);
      if (!partitions && stream != nullptr && stream->tells_sms_apart())
        partitions = kernels::sm_partitions(gpu);
    }
  }

  /// Delays that the point asks for; empty where all SMs read together. @throws HardwareAbsent on a GPU with
  /// one partition.
  std::vector<std::int32_t> delays(const StreamPoint& point) {
    if (!point.tells_sms_apart()) return {};
    if (!partitions) partitions = kernels::sm_partitions(gpu);
    if (partitions->partitions < 2) {
      throw HardwareAbsent("an L2 of two partitions",
                           gpu.name + " shows one: all SMs reach all addresses equally soon");
    }
    return sm_delays(point, partitions->partition);
  }
};

/// Launches the stream into `sums` each time.
Launch stream_launch(const kernels::StreamProblem& problem, const kernels::DeviceBuffer& buffer,
                     kernels::DeviceBuffer sums, const std::vector<std::int32_t>& delays) {
  if (delays.empty()) return [=]() mutable { kernels::launch_stream(problem, buffer, sums); };
  const kernels::DeviceBuffer on_gpu = kernels::stream_delays(delays);
  return [=]() mutable { kernels::launch_stream(problem, buffer, sums, &on_gpu); };
}

Launch prepare(Bench& bench, const StreamPoint& point, std::uint64_t seed) {
  const kernels::StreamProblem problem = problem_of(bench.gpu, point);
  kernels::DeviceBuffer buffer(static_cast<std::size_t>(problem.bytes));
  kernels::fill_random(buffer, problem.bytes / 2, kernels::Dtype::kFp16, seed);
  const kernels::DeviceBuffer sums(static_cast<std::size_t>(problem.ctas) * 4);
  return stream_launch(problem, buffer, sums, bench.delays(point));
}

Launch prepare(Bench& bench, const AttentionPoint& point, std::uint64_t seed) {
  const kernels::AttentionBuffers buffers = kernels::random_attention_buffers(point.problem, seed);
  return [=, gpu = bench.gpu] { kernels::launch_attention(gpu, point.problem, point.variant, buffers); };
}

/// Buffers allocated and filled; each call launches on the next of `inputs` sets.
Launch prepare(Bench& bench, const Point& point, int inputs) {
  std::vector<Launch> launches;
  for (int i = 0; i < inputs; ++i) {
    const auto seed = static_cast<std::uint64_t>(i) + 1;
    launches.push_back(std::visit([&](const auto& each) { return prepare(bench, each, seed); }, point));
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
std::string profile_of(const std::string& gpu_name) {
  std::string word;
  std::set<std::string> words;
  for (const char c : gpu_name + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else {
      words.insert(std::exchange(word, ""));
    }
  }
  for (const Device& device : builtin_catalog().devices) {
    if (words.contains(device.name)) return device.name;
  }
  return "";
}

std::string version_text(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

RecordingHead make_head(const kernels::GpuInfo& gpu, const Suite& suite, const RunOptions& options,
                        std::string& absent) {
  RecordingHead head;
  head.suite = suite.name;
  head.device = {
      gpu.name,         profile_of(gpu.name),
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
  std::optional<kernels::L2Flusher> flusher;
};

GpuMeasurer::GpuMeasurer(const kernels::GpuInfo& gpu, const Suite& suite, const RunOptions& options)
    : state_(new State{{gpu, {}}, suite, options, {}, {}, ClockReader(gpu.pci_bus_id), {}, {}}) {
  state_->head = make_head(gpu, suite, options, state_->counters_absent);
}
GpuMeasurer::~GpuMeasurer() = default;

const RecordingHead& GpuMeasurer::head() const noexcept { return state_->head; }
const std::string& GpuMeasurer::counters_absent() const noexcept { return state_->counters_absent; }
bool GpuMeasurer::counts() const { return state_->counters_absent.empty(); }

std::map<std::string, CounterValues> GpuMeasurer::count(const Point& point) {
  State& s = *state_;
  if (s.profiler == nullptr) {
    s.bench.get_ready_for(s.suite);  // latencies are best measured with no profiler about
    std::string reason;
    s.profiler = open_profiler(s.bench.gpu.index, s.suite, reason);
    if (s.profiler == nullptr) throw kernels::CudaError("CUPTI", reason);
  }
  if (!s.flusher) s.flusher.emplace(s.bench.gpu);
  const Launch launch = prepare(s.bench, point, 1);
  launch();  // loads the kernel
  const std::vector<const CounterSpec*> specs = counters_on(s.suite.counters, s.profiler->chip());
  std::vector<std::vector<double>> values(specs.size());
  for (int i = 0; i < s.options.counter_repetitions; ++i) {
    s.flusher->flush();
    const std::vector<double> measured = s.profiler->measure(launch);
    for (std::size_t c = 0; c < measured.size(); ++c)
      values[c].push_back(measured[c] * specs[c]->scale);
  }
  std::map<std::string, CounterValues> counters;
  for (std::size_t c = 0; c < values.size(); ++c)
    counters[std::string(specs[c]->label)] = {spread_of(values[c]), s.options.counter_repetitions};
  return counters;
}

Timing GpuMeasurer::time(const Point& point) {
  State& s = *state_;
  s.profiler.reset();
  return time_kernel(s.bench.gpu, s.clocks, prepare(s.bench, point, s.options.timing.inputs),
                     s.options.timing);
}

CtaPace GpuMeasurer::pace(const AttentionPoint& point) {
  State& s = *state_;
  s.profiler.reset();
  const kernels::AttentionBuffers buffers = kernels::random_attention_buffers(point.problem, 1);
  const std::int64_t items =
      ceil_divide(point.problem.tokens, point.variant.q_tile) * point.problem.heads * point.problem.batch;
  std::vector<kernels::ItemInterval> intervals(static_cast<std::size_t>(items));
  kernels::DeviceBuffer on_gpu(intervals.size() * sizeof(kernels::ItemInterval));
  if (!s.flusher) s.flusher.emplace(s.bench.gpu);
  for (int launch = 0; launch < 2; ++launch) {  // the first loads the kernel
    s.flusher->flush();
    kernels::launch_attention(s.bench.gpu, point.problem, point.variant, buffers, &on_gpu);
    kernels::synchronize();
  }
  on_gpu.copy_to_host(intervals.data(), on_gpu.bytes());
  return pace_of(intervals, point);
}

namespace {

CheckedPoint check(const Bench& bench, const AttentionPoint& point, std::uint64_t seed) {
  constexpr std::int64_t kRows = 64;
  const kernels::AttentionBuffers buffers = kernels::random_attention_buffers(point.problem, seed);
  kernels::launch_attention(bench.gpu, point.problem, point.variant, buffers);
  const kernels::AttentionError error =
      kernels::check_attention(point.problem, buffers, kernels::sampled_rows(point.problem, kRows, seed));
  CheckedPoint checked;
  checked.ran = true;
  checked.error = error.kernel;
  checked.naive_error = error.naive;
  checked.passed = error.within_bound();
  return checked;
}

CheckedPoint check(Bench& bench, const StreamPoint& point, std::uint64_t seed) {
  const kernels::StreamProblem problem = problem_of(bench.gpu, point);
  const std::vector<std::int32_t> delays = bench.delays(point);
  const auto idle = std::count(delays.begin(), delays.end(), kernels::kStreamIdle);
  kernels::DeviceBuffer buffer(static_cast<std::size_t>(problem.bytes));
  kernels::fill_random(buffer, problem.bytes / 2, kernels::Dtype::kBf16, seed);
  std::vector<std::uint32_t> words(static_cast<std::size_t>(problem.bytes / 4));
  buffer.copy_to_host(words.data(), words.size() * 4);
  const std::uint32_t expected = kernels::stream_oracle(problem, words);
  const std::vector<std::uint32_t> poison(static_cast<std::size_t>(problem.ctas), ~expected);
  kernels::DeviceBuffer sums(poison.size() * 4);
  sums.copy_from_host(poison.data(), poison.size() * 4);
  stream_launch(problem, buffer, sums, delays)();
  std::vector<std::uint32_t> found(poison.size());
  sums.copy_to_host(found.data(), found.size() * 4);
  CheckedPoint checked;
  checked.ran = true;
  checked.passed = kernels::stream_sums_agree(found, expected, problem.ctas - idle);
  checked.error = checked.passed ? 0 : 1;
  return checked;
}

}  // namespace

CheckedPoint GpuMeasurer::check(const Point& point, std::uint64_t seed) {
  return std::visit([&](const auto& each) { return validate::check(state_->bench, each, seed); }, point);
}

}  // namespace natten_sim::validate

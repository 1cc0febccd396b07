#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <utility>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/version.hpp>
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

Launch prepare(const kernels::GpuInfo& gpu, const StreamPoint& point, std::uint64_t seed) {
  const kernels::StreamProblem problem = problem_of(gpu, point);
  kernels::DeviceBuffer buffer(static_cast<std::size_t>(problem.bytes));
  kernels::fill_random(buffer, problem.bytes / 2, kernels::Dtype::kFp16, seed);
  kernels::DeviceBuffer sums(static_cast<std::size_t>(problem.ctas) * 4);
  return [=]() mutable { kernels::launch_stream(problem, buffer, sums); };
}

Launch prepare(const kernels::GpuInfo& gpu, const AttentionPoint& point, std::uint64_t seed) {
  const kernels::AttentionBuffers buffers = kernels::random_attention_buffers(point.problem, seed);
  return [=] { kernels::launch_attention(gpu, point.problem, point.variant, buffers); };
}

/// Buffers allocated and filled; each call launches on the next of `inputs` sets.
Launch prepare(const kernels::GpuInfo& gpu, const Point& point, int inputs) {
  std::vector<Launch> launches;
  for (int i = 0; i < inputs; ++i) {
    const auto seed = static_cast<std::uint64_t>(i) + 1;
    launches.push_back(std::visit([&](const auto& each) { return prepare(gpu, each, seed); }, point));
  }
  return in_turn(std::move(launches));
}

/// A profiler for the suite's counters; null and `reason` when there is none.
std::unique_ptr<RangeProfiler> open_profiler(int gpu, const Suite& suite, std::string& reason) {
  const std::string chip = RangeProfiler::chip_name(gpu, reason);
  if (!reason.empty()) return nullptr;
  std::vector<std::string> metrics;
  for (const std::string& label : suite.counters) {
    // A chip newer than the table may well have the usual name.
    const CounterSpec* const spec = counter_on(label, chip);
    metrics.emplace_back(spec == nullptr ? counter(label).metric : spec->metric);
  }
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
    for (const std::string& label : suite.counters) {
      if (profiler == nullptr) break;
      const CounterSpec* const spec = counter_on(label, profiler->chip());
      head.metrics[label] = spec == nullptr ? counter(label).metric : spec->metric;
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
  kernels::GpuInfo gpu;
  Suite suite;
  RunOptions options;
  std::string counters_absent;
  RecordingHead head;
  ClockReader clocks;
  std::unique_ptr<RangeProfiler> profiler;  // from the first count to the first time
  std::optional<kernels::L2Flusher> flusher;
};

GpuMeasurer::GpuMeasurer(const kernels::GpuInfo& gpu, const Suite& suite, const RunOptions& options)
    : state_(new State{gpu, suite, options, {}, {}, ClockReader(gpu.pci_bus_id), {}, {}}) {
  state_->head = make_head(gpu, suite, options, state_->counters_absent);
}
GpuMeasurer::~GpuMeasurer() = default;

const RecordingHead& GpuMeasurer::head() const noexcept { return state_->head; }
const std::string& GpuMeasurer::counters_absent() const noexcept { return state_->counters_absent; }
bool GpuMeasurer::counts() const { return state_->counters_absent.empty(); }

std::map<std::string, CounterValues> GpuMeasurer::count(const Point& point) {
  State& s = *state_;
  if (s.profiler == nullptr) {
    std::string reason;
    s.profiler = open_profiler(s.gpu.index, s.suite, reason);
    if (s.profiler == nullptr) throw kernels::CudaError("CUPTI", reason);
  }
  if (!s.flusher) s.flusher.emplace(s.gpu);
  const Launch launch = prepare(s.gpu, point, 1);
  launch();  // loads the kernel
  std::vector<std::vector<double>> values(s.suite.counters.size());
  for (int i = 0; i < s.options.counter_repetitions; ++i) {
    s.flusher->flush();
    const std::vector<double> measured = s.profiler->measure(launch);
    for (std::size_t c = 0; c < measured.size(); ++c)
      values[c].push_back(measured[c] * counter(s.suite.counters[c]).scale);
  }
  std::map<std::string, CounterValues> counters;
  for (std::size_t c = 0; c < values.size(); ++c)
    counters[s.suite.counters[c]] = {spread_of(values[c]), s.options.counter_repetitions};
  return counters;
}

Timing GpuMeasurer::time(const Point& point) {
  State& s = *state_;
  s.profiler.reset();
  return time_kernel(s.gpu, s.clocks, prepare(s.gpu, point, s.options.timing.inputs), s.options.timing);
}

namespace {

CheckedPoint check(const kernels::GpuInfo& gpu, const AttentionPoint& point, std::uint64_t seed) {
  constexpr std::int64_t kRows = 64;
  const kernels::AttentionBuffers buffers = kernels::random_attention_buffers(point.problem, seed);
  kernels::launch_attention(gpu, point.problem, point.variant, buffers);
  const kernels::AttentionError error =
      kernels::check_attention(point.problem, buffers, kernels::sampled_rows(point.problem, kRows, seed));
  CheckedPoint checked;
  checked.ran = true;
  checked.error = error.kernel;
  checked.naive_error = error.naive;
  checked.passed = error.within_bound();
  return checked;
}

CheckedPoint check(const kernels::GpuInfo& gpu, const StreamPoint& point, std::uint64_t seed) {
  const kernels::StreamProblem problem = problem_of(gpu, point);
  kernels::DeviceBuffer buffer(static_cast<std::size_t>(problem.bytes));
  kernels::fill_random(buffer, problem.bytes / 2, kernels::Dtype::kBf16, seed);
  std::vector<std::uint32_t> words(static_cast<std::size_t>(problem.bytes / 4));
  buffer.copy_to_host(words.data(), words.size() * 4);
  const std::uint32_t expected = kernels::stream_oracle(problem, words);
  const std::vector<std::uint32_t> poison(static_cast<std::size_t>(problem.ctas), ~expected);
  kernels::DeviceBuffer sums(poison.size() * 4);
  sums.copy_from_host(poison.data(), poison.size() * 4);
  kernels::launch_stream(problem, buffer, sums);
  std::vector<std::uint32_t> found(poison.size());
  sums.copy_to_host(found.data(), found.size() * 4);
  CheckedPoint checked;
  checked.ran = true;
  checked.passed =
      std::all_of(found.begin(), found.end(), [&](std::uint32_t sum) { return sum == expected; });
  checked.error = checked.passed ? 0 : 1;
  return checked;
}

}  // namespace

CheckedPoint GpuMeasurer::check(const Point& point, std::uint64_t seed) {
  return std::visit([&](const auto& each) { return validate::check(state_->gpu, each, seed); }, point);
}

}  // namespace natten_sim::validate

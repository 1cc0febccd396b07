#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/version.hpp>
#include <natten_sim/validate/counters.hpp>
#include <natten_sim/validate/range_profiler.hpp>
#include <natten_sim/validate/runner.hpp>

namespace natten_sim::validate {
namespace {

/// A point made ready: buffers allocated and filled.
struct Prepared {
  std::function<void()> launch;
};

Prepared prepare(const kernels::GpuInfo& gpu, const StreamPoint& point) {
  const int ctas = point.ctas == 0 ? gpu.sms : point.ctas;
  const kernels::StreamProblem problem{point.buffer_mib << 20, point.passes, ctas, point.order,
                                       point.step_cycles};
  kernels::DeviceBuffer buffer(static_cast<std::size_t>(problem.bytes));
  kernels::fill_random(buffer, problem.bytes / 2, kernels::Dtype::kFp16, 1);
  kernels::DeviceBuffer sums(static_cast<std::size_t>(ctas) * 4);
  return {[=]() mutable { kernels::launch_stream(problem, buffer, sums); }};
}

Prepared prepare(const kernels::GpuInfo& gpu, const AttentionPoint& point) {
  const kernels::AttentionBuffers buffers = kernels::random_attention_buffers(point.problem, 1);
  return {[=] { kernels::launch_attention(gpu, point.problem, point.variant, buffers); }};
}

Prepared prepare(const kernels::GpuInfo& gpu, const Point& point) {
  return std::visit([&](const auto& each) { return prepare(gpu, each); }, point);
}

/// A profiler for the suite's counters; null and `reason` when there is none.
std::unique_ptr<RangeProfiler> open_profiler(int gpu, const Suite& suite, std::string& reason) {
  if (suite.counters.empty()) {
    reason = "this suite reads no counters";
    return nullptr;
  }
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
      words.insert(word);
      word.clear();
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

void measure_counters(RangeProfiler& profiler, const Suite& suite, kernels::L2Flusher& flusher,
                      const Prepared& prepared, int repetitions, RecordedRow& row) {
  std::vector<std::vector<double>> values(suite.counters.size());
  prepared.launch();  // loads the kernel
  for (int i = 0; i < repetitions; ++i) {
    flusher.flush();
    const std::vector<double> measured = profiler.measure(prepared.launch);
    for (std::size_t c = 0; c < measured.size(); ++c) {
      values[c].push_back(measured[c] * counter(suite.counters[c]).scale);
    }
  }
  for (std::size_t c = 0; c < values.size(); ++c)
    row.counters[suite.counters[c]] = {spread_of(values[c]), repetitions};
}

/// Visits the points that `lacks` says so, keeps what fails for a reason of its own, and saves each.
void for_each_missing(const kernels::GpuInfo& gpu, const Suite& suite, RecordingFile& file,
                      const std::function<bool(const RecordedRow&)>& lacks,
                      const std::function<void(const Prepared&, RecordedRow&)>& measure,
                      const std::function<void(std::size_t, const std::string&)>& progress) {
  for (std::size_t i = 0; i < suite.points.size(); ++i) {
    const Point& point = suite.points[i];
    RecordedRow row;
    row.point = point;
    if (const RecordedRow* recorded = file.find(point)) row = *recorded;
    if (row.status != "measured" || !lacks(row)) continue;
    progress(i, key_of(point));
    try {
      measure(prepare(gpu, point), row);
    } catch (const kernels::OutOfDeviceMemory&) {
      row.status = "out of memory";
    } catch (const HardwareAbsent& absent) {
      row.status = absent.what();
    }
    file.put(row);
  }
}

CheckedPoint check_attention_point(const kernels::GpuInfo& gpu, const AttentionPoint& point,
                                   std::uint64_t seed) {
  CheckedPoint checked;
  checked.key = key_of(point);
  try {
    const kernels::AttentionBuffers buffers = kernels::random_attention_buffers(point.problem, seed);
    kernels::launch_attention(gpu, point.problem, point.variant, buffers);
    const kernels::AttentionError error =
        kernels::check_attention(point.problem, buffers, kernels::sampled_rows(point.problem, 64, seed));
    checked.error = error.kernel;
    checked.naive_error = error.naive;
    checked.passed = error.within_bound();
  } catch (const HardwareAbsent& absent) {
    checked.status = absent.what();
    checked.passed = true;  // not this GPU's kernel; shown as such
  }
  return checked;
}

CheckedPoint check_stream_point(const kernels::GpuInfo& gpu, const StreamPoint& point, std::uint64_t seed) {
  const int ctas = point.ctas == 0 ? gpu.sms : point.ctas;
  const kernels::StreamProblem problem{point.buffer_mib << 20, point.passes, ctas, point.order,
                                       point.step_cycles};
  kernels::DeviceBuffer buffer(static_cast<std::size_t>(problem.bytes));
  kernels::fill_random(buffer, problem.bytes / 2, kernels::Dtype::kBf16, seed);
  std::vector<std::uint32_t> words(static_cast<std::size_t>(problem.bytes / 4));
  buffer.copy_to_host(words.data(), words.size() * 4);
  kernels::DeviceBuffer sums(static_cast<std::size_t>(ctas) * 4);
  sums.fill(0xff);
  kernels::launch_stream(problem, buffer, sums);
  std::vector<std::uint32_t> found(static_cast<std::size_t>(ctas));
  sums.copy_to_host(found.data(), found.size() * 4);
  const std::uint32_t expected = kernels::stream_oracle(problem, words);
  CheckedPoint checked;
  checked.key = key_of(point);
  checked.passed =
      std::all_of(found.begin(), found.end(), [&](std::uint32_t sum) { return sum == expected; });
  checked.error = checked.passed ? 0 : 1;
  return checked;
}

}  // namespace

RecordingHead recording_head(const kernels::GpuInfo& gpu, const Suite& suite) {
  RecordingHead head;
  head.suite = suite.name;
  head.device = {
      gpu.name,         profile_of(gpu.name),
      gpu.sms,          gpu.l2_bytes,
      gpu.memory_bytes, std::to_string(gpu.compute_major) + "." + std::to_string(gpu.compute_minor)};
  head.driver = ClockReader(gpu.index).driver_version();
  head.toolkit = "nvcc " + cuda_toolkit() + ", runtime " + version_text(gpu.runtime_cuda_version) +
                 ", driver supports " + version_text(gpu.driver_cuda_version);
  std::string reason;
  const auto profiler = open_profiler(gpu.index, suite, reason);
  head.profiler = profiler == nullptr ? "none: " + reason
                                      : "CUPTI " + std::to_string(profiler->version()) +
                                            " range profiler, one pass, " + profiler->chip();
  for (const std::string& label : suite.counters) {
    if (profiler == nullptr) break;
    const CounterSpec* const spec = counter_on(label, profiler->chip());
    head.metrics[label] = spec == nullptr ? counter(label).metric : spec->metric;
  }
  head.commit = source_commit();
  return head;
}

void run_suite(const kernels::GpuInfo& gpu, const Suite& suite, RecordingFile& file,
               const RunOptions& options, const std::function<void(double, const std::string&)>& progress) {
  const auto count = static_cast<double>(std::max<std::size_t>(suite.points.size(), 1));
  const auto report = [&](double phase, std::size_t i, const std::string& key) {
    if (progress) progress((phase + static_cast<double>(i) / count) / 2, key);
  };
  std::string reason;
  if (options.counters && !suite.counters.empty()) {
    const auto profiler = open_profiler(gpu.index, suite, reason);
    if (profiler != nullptr) {
      kernels::L2Flusher flusher(gpu);
      for_each_missing(
          gpu, suite, file, [](const RecordedRow& row) { return row.counters.empty(); },
          [&](const Prepared& prepared, RecordedRow& row) {
            measure_counters(*profiler, suite, flusher, prepared, options.counter_repetitions, row);
          },
          [&](std::size_t i, const std::string& key) { report(0, i, key); });
    }
  }
  if (options.times && suite.timed) {
    const ClockReader clocks(gpu.index);
    for_each_missing(
        gpu, suite, file, [](const RecordedRow& row) { return !row.timing.has_value(); },
        [&](const Prepared& prepared, RecordedRow& row) {
          row.timing = time_kernel(gpu, clocks, prepared.launch, options.timing);
        },
        [&](std::size_t i, const std::string& key) { report(1, i, key); });
  }
}

std::vector<CheckedPoint> check_kernels(const kernels::GpuInfo& gpu, const Suite& suite,
                                        std::int64_t most_tokens, std::uint64_t seed,
                                        const std::function<void(double)>& progress) {
  std::map<std::string, Point> distinct;
  for (Point point : suite.points) {
    if (auto* attention = std::get_if<AttentionPoint>(&point)) {
      // An odd length, so that tails are checked too.
      attention->problem.tokens = std::min(attention->problem.tokens, most_tokens) - 1;
      attention->problem.tokens = std::max<std::int64_t>(attention->problem.tokens, 1);
    }
    distinct.emplace(key_of(point), point);
  }
  std::vector<CheckedPoint> checked;
  for (const auto& [key, point] : distinct) {
    if (progress) progress(static_cast<double>(checked.size()) / static_cast<double>(distinct.size()));
    const std::uint64_t fresh = seed + checked.size();
    if (const auto* attention = std::get_if<AttentionPoint>(&point)) {
      checked.push_back(check_attention_point(gpu, *attention, fresh));
    } else {
      checked.push_back(check_stream_point(gpu, std::get<StreamPoint>(point), fresh));
    }
  }
  return checked;
}

}  // namespace natten_sim::validate

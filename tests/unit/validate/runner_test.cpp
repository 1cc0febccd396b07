// The runner without a GPU: a measurer that fails when told to stands behind its interface.
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <unistd.h>

#include <natten_sim/validate/cases/attention.hpp>
#include <natten_sim/validate/cases/stream.hpp>
#include <natten_sim/validate/measure/runner.hpp>

#include "catch.hpp"

namespace runner_test {

using namespace natten_sim;
using namespace natten_sim::validate;
namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("natten-sim-runner-" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

Suite example_suite() {
  Suite suite;
  suite.name = "stream";
  suite.counters = {"dram_read_bytes"};
  for (const std::int64_t mib : {1, 2, 3, 4}) {
    StreamCase point;
    point.buffer_mib = mib;
    suite.points.emplace_back(point);
  }
  return suite;
}

RecordingHead example_head() {
  RecordingHead head;
  head.suite = "stream";
  head.device = {"GPU", "h200", 132, 1, 1, "9.0"};
  head.metrics["dram_read_bytes"] = "dram__bytes_read.sum";
  return head;
}

std::int64_t mib_of(const Point& point) { return point.as<StreamCase>()->buffer_mib; }

/// Counts MiB, times MiB milliseconds; what a test puts into `before_*` runs first, and may throw.
struct FakeGpu : Measurer {
  bool has_counters = true;
  std::function<void(std::int64_t)> before_count, before_time, before_check;
  std::vector<std::string> log;

  [[nodiscard]] bool counts() const override { return has_counters; }
  [[nodiscard]] std::map<std::string, CounterValues> count(const Point& point) override {
    log.push_back("count " + std::to_string(mib_of(point)));
    if (before_count) before_count(mib_of(point));
    const auto value = static_cast<double>(mib_of(point));
    return {{"dram_read_bytes", {{value, value, value, value}, 3}}};
  }
  [[nodiscard]] Timing time(const Point& point) override {
    log.push_back("time " + std::to_string(mib_of(point)));
    if (before_time) before_time(mib_of(point));
    const auto value = static_cast<double>(mib_of(point));
    Timing timing;
    timing.milliseconds = {value, value, value, value};
    timing.repetitions = 20;
    return timing;
  }
  [[nodiscard]] CtaPace pace(const Point& point) override {
    log.push_back("pace " + std::to_string(point.as<AttentionCase>()->problem.tokens));
    return {{1000, 1100}, 0.02, 7};
  }
  [[nodiscard]] CheckedPoint check(const Point&, std::uint64_t seed) override {
    if (before_check) before_check(static_cast<std::int64_t>(seed));
    CheckedPoint checked;
    checked.ran = checked.passed = true;
    return checked;
  }
};

using Log = std::vector<std::string>;

struct Session {
  Folder folder;
  std::string path = (folder.path / "r.json").string();
  Suite suite = example_suite();

  /// A run of the program: opens the file, runs, closes it.
  Recording run(FakeGpu& gpu, const RunOptions& options = {}) const {
    RecordingFile file(path, example_head(), fs::exists(path) ? IfExists::kResume : IfExists::kRefuse);
    run_suite(gpu, suite, file, options);
    return file.recording();
  }
  [[nodiscard]] Recording on_disk() const { return read_recordings(folder.path.string()).at(0); }
};

TEST_CASE("all points are counted, then all are timed, and the file has them") {
  const Session session;
  FakeGpu gpu;
  (void)session.run(gpu);
  CHECK(gpu.log == Log{"count 1", "count 2", "count 3", "count 4", "time 1", "time 2", "time 3", "time 4"});
  const Recording recording = session.on_disk();
  REQUIRE(recording.rows.size() == 4);
  for (const RecordedRow& row : recording.rows) {
    CHECK(row.status == "measured");
    CHECK(row.counters.at("dram_read_bytes").spread.median == static_cast<double>(mib_of(row.point)));
    CHECK(row.timing->milliseconds.median == static_cast<double>(mib_of(row.point)));
  }
}

TEST_CASE("a suite of counters alone is not timed") {
  Session session;
  session.suite.timed = false;
  FakeGpu gpu;
  CHECK_FALSE(session.run(gpu).rows.at(0).timing.has_value());
  CHECK(gpu.log == Log{"count 1", "count 2", "count 3", "count 4"});
}

TEST_CASE("a run that has everything measures nothing") {
  const Session session;
  FakeGpu first, second;
  (void)session.run(first);
  (void)session.run(second);
  CHECK(second.log.empty());
}

TEST_CASE("a point that is out of memory is a row that says so, the others are measured") {
  const Session session;
  FakeGpu gpu;
  gpu.before_count = [](std::int64_t mib) {
    if (mib == 2) throw kernels::OutOfDeviceMemory("cudaMalloc", "out of memory");
  };
  (void)session.run(gpu);
  CHECK(gpu.log == Log{"count 1", "count 2", "count 3", "count 4", "time 1", "time 3", "time 4"});
  const Recording recording = session.on_disk();
  CHECK(recording.rows[1].status == "out of memory");
  CHECK(recording.rows[1].counters.empty());
  CHECK_FALSE(recording.rows[1].timing);
  CHECK(recording.rows[2].status == "measured");
  // The card may have been full of something else: the next run tries again.
  FakeGpu emptier;
  (void)session.run(emptier);
  CHECK(emptier.log == Log{"count 2", "time 2"});
  CHECK(session.on_disk().rows[1].status == "measured");
}

TEST_CASE("a point that is out of memory only when timed keeps its counters") {
  const Session session;
  FakeGpu gpu;
  gpu.before_time = [](std::int64_t mib) {
    if (mib == 4) throw kernels::OutOfDeviceMemory("cudaMalloc", "out of memory");
  };
  (void)session.run(gpu);
  const Recording recording = session.on_disk();
  CHECK(recording.rows[3].status == "out of memory");
  CHECK(recording.rows[3].counters.size() == 1);
}

TEST_CASE("a point that the GPU cannot run is a row with the reason, and stays one") {
  const Session session;
  FakeGpu gpu;
  gpu.before_count = [](std::int64_t mib) {
    if (mib == 3) throw HardwareAbsent("2 CTAs an SM", "GPU holds 1 of this kernel");
  };
  (void)session.run(gpu);
  CHECK(session.on_disk().rows[2].status == "this needs 2 CTAs an SM, but GPU holds 1 of this kernel");
  FakeGpu again;
  (void)session.run(again);
  CHECK(again.log.empty());
}

TEST_CASE("a GPU lost while counting leaves what was counted, and the next run goes on there") {
  const Session session;
  FakeGpu gpu;
  gpu.before_count = [](std::int64_t mib) {
    if (mib == 3) throw kernels::CudaError("cudaDeviceSynchronize()", "unspecified launch failure");
  };
  CHECK_THROWS_AS(session.run(gpu), kernels::CudaError);
  CHECK(gpu.log == Log{"count 1", "count 2", "count 3"});
  CHECK(session.on_disk().rows.size() == 2);
  FakeGpu rebooted;
  (void)session.run(rebooted);
  CHECK(rebooted.log == Log{"count 3", "count 4", "time 1", "time 2", "time 3", "time 4"});
  CHECK(session.on_disk().rows.size() == 4);
}

TEST_CASE("a GPU lost while timing leaves counters and the times so far") {
  const Session session;
  FakeGpu gpu;
  gpu.before_time = [](std::int64_t mib) {
    if (mib == 2) throw kernels::CudaError("cudaEventSynchronize", "an illegal memory access");
  };
  CHECK_THROWS_AS(session.run(gpu), kernels::CudaError);
  const Recording recording = session.on_disk();
  REQUIRE(recording.rows.size() == 4);
  CHECK(recording.rows[0].timing);
  for (std::size_t i = 1; i < 4; ++i) {
    CHECK_FALSE(recording.rows[i].timing);
    CHECK(recording.rows[i].status == "measured");
  }
  FakeGpu rebooted;
  (void)session.run(rebooted);
  CHECK(rebooted.log == Log{"time 2", "time 3", "time 4"});
}

TEST_CASE("whatever point a run stops at, the next one completes the same recording") {
  std::string whole;
  {
    const Session session;
    FakeGpu gpu;
    whole = recording_json(session.run(gpu));
  }
  for (int stop = 0; stop < 8; ++stop) {
    const Session session;
    FakeGpu gpu, rest;
    int calls = 0;
    gpu.before_count = gpu.before_time = [&](std::int64_t) {
      if (calls++ == stop) throw kernels::CudaError("any", "lost");
    };
    CHECK_THROWS_AS(session.run(gpu), kernels::CudaError);
    INFO("stopped at call " << stop);
    CHECK(recording_json(session.run(rest)) == whole);
    CHECK(gpu.log.size() + rest.log.size() == 9);  // 8, and the one that failed again
  }
}

TEST_CASE("without counters points are timed, and a later run with them counts") {
  const Session session;
  FakeGpu gpu;
  gpu.has_counters = false;
  (void)session.run(gpu);
  CHECK(gpu.log == Log{"time 1", "time 2", "time 3", "time 4"});
  CHECK(session.on_disk().rows[0].counters.empty());
}

TEST_CASE("options leave out counters or times") {
  const Session session;
  FakeGpu gpu;
  RunOptions options;
  options.counters = false;
  options.times = false;
  (void)session.run(gpu, options);
  CHECK(gpu.log.empty());
  options.counters = true;
  (void)session.run(gpu, options);
  CHECK(gpu.log.size() == 4);
}

TEST_CASE("progress rises from 0 over both phases") {
  const Session session;
  FakeGpu gpu;
  RecordingFile file(session.path, example_head(), IfExists::kRefuse);
  std::vector<double> seen;
  run_suite(gpu, session.suite, file, {},
            [&](double fraction, const std::string&) { seen.push_back(fraction); });
  CHECK(seen == std::vector<double>{0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875});
}

TEST_CASE("kernels are checked on each distinct variant, long ones also past 32768 tokens") {
  Suite suite;
  for (const std::int64_t tokens : {1, 100, 8192, 32768, 65536}) {
    for (const bool causal : {false, true}) {
      AttentionCase point;
      point.problem.tokens = tokens;
      point.problem.causal = causal;
      suite.points.emplace_back(point);
    }
  }
  std::vector<std::int64_t> lengths;
  for (const auto& [key, point] : points_to_check(suite, CheckLengths::kShortAndLong)) {
    CHECK(key == key_of(point));
    lengths.push_back(point.as<AttentionCase>()->problem.tokens);
  }
  std::sort(lengths.begin(), lengths.end());
  CHECK(lengths == std::vector<std::int64_t>{1, 1, 99, 99, 2047, 2047, 32769, 32769});
  CHECK(points_to_check(suite, CheckLengths::kShort).size() == 6);
  Suite streams = example_suite();
  for (const std::int64_t mib : {64, 96}) {
    StreamCase point;
    point.buffer_mib = mib;
    streams.points.emplace_back(point);
  }
  CHECK(points_to_check(streams, CheckLengths::kShort).size() == 5);  // 1 to 4 MiB, and 7
}

TEST_CASE("a check that cannot run is neither passed nor wrong") {
  FakeGpu gpu;
  gpu.before_check = [](std::int64_t seed) {
    if (seed == 10) throw HardwareAbsent("shared memory", "GPU has less");
    if (seed == 11) throw kernels::OutOfDeviceMemory("cudaMalloc", "out of memory");
  };
  const auto checks = check_kernels(gpu, example_suite(), CheckLengths::kShort, 10);
  REQUIRE(checks.size() == 4);
  CHECK_FALSE(checks[0].ran);
  CHECK_FALSE(checks[0].passed);
  CHECK(checks[0].status == "this needs shared memory, but GPU has less");
  CHECK(checks[1].status == "out of memory");
  CHECK(checks[2].ran);
  CHECK(checks[2].passed);
}

TEST_CASE("a GPU lost during checks is an error, no verdict") {
  FakeGpu gpu;
  gpu.before_check = [](std::int64_t) { throw kernels::CudaError("any", "lost"); };
  CHECK_THROWS_AS(check_kernels(gpu, example_suite(), CheckLengths::kShort, 1), kernels::CudaError);
}

TEST_CASE("the head of a recording says what is missing, and how the L2 was left") {
  kernels::GpuInfo gpu;
  gpu.name = "NVIDIA H200";
  gpu.index = 1023;  // of which no driver knows
  gpu.sms = 132;
  const Suite suite = example_suite();
  RunOptions options;
  options.profiles = {"h100", "h200"};
  const GpuMeasurer measurer(gpu, suite, options);
  CHECK_FALSE(measurer.counts());
  CHECK_FALSE(measurer.counters_absent().empty());
  CHECK(measurer.head().profiler == "none: " + measurer.counters_absent());
  CHECK(measurer.head().metrics.empty());
  CHECK(measurer.head().device.profile == "h200");
  CHECK(measurer.head().driver == "unknown");
  CHECK(measurer.head().cache_control == "L2 overwritten before each repetition");
  options.timing.l2 = L2State::kWarm;
  CHECK(GpuMeasurer(gpu, suite, options).head().cache_control ==
        "L2 overwritten before each counted repetition, warm before each timed one");
  gpu.name = "NVIDIA GH200 480GB";  // no H200
  CHECK(GpuMeasurer(gpu, suite, options).head().device.profile.empty());
}

}  // namespace runner_test

// What a run meets on a GPU: a card that is too small, kernels that it cannot hold, a fault in the middle.
#include <filesystem>
#include <string>

#include <unistd.h>

#include <natten_sim/validate/cases/attention.hpp>
#include <natten_sim/validate/cases/stream.hpp>
#include <natten_sim/validate/measure/runner.hpp>

#include "catch.hpp"
#include "trap.hpp"

namespace {

using namespace natten_sim;
using namespace natten_sim::validate;
namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("natten-sim-gpu-runner-" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

Suite suite_of(std::vector<Point> points) {
  Suite suite;
  suite.name = "stream";
  suite.counters = {"dram_read_bytes", "l2_read_sectors"};
  suite.points = std::move(points);
  return suite;
}

StreamCase stream_of(std::int64_t mib) {
  StreamCase point;
  point.buffer_mib = mib;
  point.passes = 2;
  return point;
}

AttentionCase attention_of(std::int64_t batch, std::int64_t heads, std::int64_t tokens) {
  AttentionCase point;
  point.problem = {batch, heads, heads, tokens, 128, Dtype::kBf16, false};
  return point;
}

RunOptions few_repetitions() {
  RunOptions options;
  options.timing.repetitions = 3;
  options.timing.inputs = 2;
  return options;
}

struct Session {
  Folder folder;
  std::string path = (folder.path / "r.json").string();

  Recording run(GpuMeasurer& gpu, const Suite& suite) const {
    RecordingFile file(path, gpu.head(), fs::exists(path) ? IfExists::kResume : IfExists::kRefuse);
    run_suite(gpu, suite, file, few_repetitions());
    return file.recording();
  }
  [[nodiscard]] Recording on_disk() const { return read_recordings(folder.path.string()).at(0); }
};

TEST_CASE("a point larger than the card is a row that says so, and the next one is measured") {
  const kernels::GpuInfo gpu = kernels::open_gpu();
  // Q alone would have 4 PB.
  const Suite suite = suite_of({attention_of(4096, 64, 65536), stream_of(4), attention_of(1, 2, 300)});
  GpuMeasurer measurer(gpu, suite, few_repetitions());
  const Session session;
  const Recording recording = session.run(measurer, suite);
  REQUIRE(recording.rows.size() == 3);
  CHECK(recording.rows[0].status == "out of memory");
  for (std::size_t i = 1; i < 3; ++i) {
    CHECK(recording.rows[i].status == "measured");
    REQUIRE(recording.rows[i].timing);
    CHECK(recording.rows[i].timing->inputs == 2);
    CHECK(recording.rows[i].counters.size() == (measurer.counts() ? 2 : 0));
  }
}

TEST_CASE("a kernel that the GPU cannot hold is a row that says so") {
  kernels::GpuInfo small = kernels::open_gpu();
  small.shared_memory_per_block_bytes = 48 << 10;  // of an older GPU, had it asked for no more
  const Suite suite = suite_of({attention_of(1, 2, 300), stream_of(4)});
  GpuMeasurer measurer(small, suite, few_repetitions());
  const Session session;
  const Recording recording = session.run(measurer, suite);
  CHECK(recording.rows[0].status.find("bytes of shared memory a block") != std::string::npos);
  CHECK(recording.rows[1].status == "measured");
  const auto checks = check_kernels(measurer, suite, CheckLengths::kShort, 1);
  REQUIRE(checks.size() == 2);
  CHECK_FALSE(checks[0].ran);
  CHECK(checks[1].passed);
}

/// Faults behind the second point, in the phase that is asked for.
struct FaultyGpu : GpuMeasurer {
  FaultyGpu(const kernels::GpuInfo& gpu, const Suite& suite, bool while_counting)
      : GpuMeasurer(gpu, suite, few_repetitions()), while_counting_(while_counting) {}

  std::map<std::string, CounterValues> count(const Point& point) override {
    auto values = GpuMeasurer::count(point);
    if (while_counting_) fault();
    return values;
  }
  Timing time(const Point& point) override {
    Timing timing = GpuMeasurer::time(point);
    fault();
    return timing;
  }

 private:
  void fault() {
    if (++points_ < 2) return;
    launch_trap();
    kernels::synchronize();
  }
  bool while_counting_;
  int points_ = 0;
};

void check_fault(bool while_counting) {
  const kernels::GpuInfo gpu = kernels::open_gpu();
  const Suite suite = suite_of({stream_of(1), stream_of(2), stream_of(3)});
  const Session session;
  {
    FaultyGpu faulty(gpu, suite, while_counting);
    if (while_counting && !faulty.counts()) {
      WARN("not checked, no counters: " << faulty.counters_absent());
      return;
    }
    CHECK_THROWS_AS(session.run(faulty, suite), kernels::CudaError);
  }  // and nothing hangs or faults again when profiler and buffers go
  const Recording recording = session.on_disk();
  const RecordedRow& first = recording.rows.at(0);
  CHECK(recording.rows.size() == (while_counting ? 1 : 3));
  CHECK(first.status == "measured");
  CHECK(first.timing.has_value() == !while_counting);
}

// Each in a process of its own: the GPU is lost to it afterwards.
TEST_CASE("a GPU that faults while counting leaves what was counted", "[.][lost-counting]") {
  check_fault(true);
}
TEST_CASE("a GPU that faults while timing leaves what was timed", "[.][lost-timing]") { check_fault(false); }

}  // namespace

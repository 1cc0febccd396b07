// A kernel that one file adds (triad_case.cpp) is in suites, lists, help, completion, runs and comparisons.
#include <filesystem>
#include <string>

#include <unistd.h>

#include <natten_sim/io/catalog.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/compare/comparison.hpp>
#include <natten_sim/validate/measure/runner.hpp>

#include "catch.hpp"
#include "golden/program.hpp"

namespace triad_test {

using namespace natten_sim;
using namespace natten_sim::validate;
namespace fs = std::filesystem;

/// Reads twice the bytes of an element of b, and of c.
struct CpuMeasurer : Measurer {
  Bench bench{kernels::GpuInfo{}};

  [[nodiscard]] bool counts() const override { return true; }
  [[nodiscard]] std::map<std::string, CounterValues> count(const Point& point) override {
    point->prepare(bench, 1)();
    const auto elements = static_cast<double>(std::get<std::int64_t>(point->parameters().at(1).value));
    const double bytes = elements * 16;
    return {{"dram_read_bytes", {{bytes, bytes, bytes, bytes}, 3}}};
  }
  [[nodiscard]] Timing time(const Point& point) override {
    point->prepare(bench, 1)();
    Timing timing;
    timing.milliseconds = {1, 1, 1, 1};
    timing.repetitions = 20;
    return timing;
  }
  [[nodiscard]] CtaPace pace(const Point& point) override { return point->pace(bench); }
  [[nodiscard]] CheckedPoint check(const Point& point, std::uint64_t seed) override {
    return point->check(bench, seed);
  }
};

TEST_CASE("a kernel from one file is listed with its suite, in help and in completion") {
  const auto output = [](const std::string& line) {
    const test::Run done = test::run(line);
    INFO(done.err);
    CHECK(done.exit_code == 0);
    return done.out;
  };
  CHECK(output("validate --list").find("STREAM's triad on the CPU") != std::string::npos);
  CHECK(output("validate triad --list --json").find("\"points\": 3") != std::string::npos);
  CHECK(output("validate --help").find("triad") != std::string::npos);
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    INFO(shell);
    CHECK(output("completion " + shell).find("triad") != std::string::npos);
  }
  const test::Run misspelt = test::run("validate triod --list");
  CHECK(misspelt.exit_code == 2);
  CHECK(misspelt.err.find("did you mean 'triad'?") != std::string::npos);
}

TEST_CASE("the suite of a kernel from one file is measured, recorded, read back and compared") {
  const fs::path folder = fs::temp_directory_path() / ("natten-sim-triad-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const Suite& suite = find_suite(builtin_suites(), "triad");
  RecordingHead head;
  head.suite = "triad";
  head.device = {"CPU", "h200", 132, 1, 1, "9.0"};
  head.metrics["dram_read_bytes"] = "dram__bytes_read.sum";
  CpuMeasurer cpu;
  {
    RecordingFile file((folder / "r.json").string(), head, IfExists::kRefuse);
    run_suite(cpu, suite, file, {});
  }
  const std::vector<Recording> recordings = read_recordings(folder.string());
  fs::remove_all(folder);
  const Comparison comparison = compare(recordings, builtin_suites(), builtin_catalog().devices);
  REQUIRE(comparison.rows.size() == 3);
  for (const ComparisonRow& row : comparison.rows) {
    CHECK(row.deviation == 0);
    CHECK(row.verdict == Verdict::kWithin);
    CHECK(row.group == "triad");
  }
  for (const CheckedPoint& check : check_kernels(cpu, suite, CheckLengths::kShort, 7)) CHECK(check.passed);
}

TEST_CASE("two kernels of one name, or one that no file has, are refused") {
  CHECK_THROWS_AS(RegisteredCase({"triad", {}, {}}), std::logic_error);
  CHECK_THROWS_AS(parse_point_words({"kernel=quad"}), Error);
}

}  // namespace triad_test

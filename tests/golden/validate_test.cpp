// The program's validate: tables from recordings, exit codes 0, 2, 3 and 4, resume, import of profiles.
#include <cmath>
#include <cstdlib>
#include <string>

#include "catch.hpp"
#include "program.hpp"

namespace {

using namespace natten_sim::test;

const std::string kRecordings = std::string(NATTEN_SIM_SOURCE_DIR) + "/data/recordings";

TEST_CASE("validate on the shipped recordings prints the tables and exits 0") {
  const Run done = run("validate --recorded '" + kRecordings + "'");
  CHECK(done.exit_code == 0);
  for (const char* expected : {"NVIDIA H200", "l2_read_sectors", "dram_read_bytes", "TFLOP/s, head dim 128",
                               "Known misses", "0 out of tolerance"}) {
    INFO(expected);
    CHECK(done.out.find(expected) != std::string::npos);
  }
}

TEST_CASE("validate's result has the fields that docs/cli.md names") {
  const Json result = result_of("validate reuse --recorded '" + kRecordings + "'");
  for (const char* field : {"recordings", "rows", "groups", "throughput", "out_of_tolerance", "notes"}) {
    CHECK(result.contains(field));
  }
  CHECK(result["recordings"].size() == 1);
  for (const char* field : {"suite", "point", "group", "counter", "model", "predicted", "measured",
                            "deviation", "spread", "fitted", "tolerance", "verdict", "cause"}) {
    CHECK(result["rows"][0].contains(field));
  }
  // The goal for sectors: within 1% everywhere.
  for (const Json& row : result["rows"]) {
    if (row["counter"] == "l2_read_sectors") CHECK(std::abs(row["deviation"].get<double>()) < 0.01);
  }
}

TEST_CASE("a new miss past tolerance is exit 3, and is shown") {
  const std::string folder = scratch_folder();
  std::string text = read_text(kRecordings + "/nvidia-h200-stream.json");
  // The first row's sectors, 132 * 8 * 16 MiB / 32, become 1% more.
  const std::string measured = "\"l2_read_sectors\":{\"median\":553648128.0";
  REQUIRE(text.find(measured) != std::string::npos);
  text.replace(text.find(measured), measured.size(), "\"l2_read_sectors\":{\"median\":559184609.0");
  write_text(folder + "/r.json", text);
  const Run missed = run("validate --recorded '" + folder + "'");
  CHECK(missed.exit_code == 3);
  CHECK(missed.out.find("Out of tolerance") != std::string::npos);
  CHECK(missed.out.find("1 out of tolerance") != std::string::npos);
}

TEST_CASE("damaged recordings and contradictory options are exit 2, with nothing on stdout") {
  const std::string folder = scratch_folder();
  write_text(folder + "/r.json", "{\"schema\": \"natten-sim.recording/1\"");
  for (const std::string& line :
       {"validate --recorded '" + folder + "'", std::string("validate --recorded /no/such/folder"),
        std::string("validate nonsense --list"), "validate --recorded '" + kRecordings + "' --check-only",
        "validate --recorded '" + kRecordings + "' --out x", std::string("validate --point tokens=1 --list"),
        std::string("validate --ncu-csv /no/such/file --point tokens=1"),
        std::string("validate --ncu-csv x")}) {
    INFO(line);
    const Run refused = run(line);
    CHECK(refused.exit_code == 2);
    CHECK(refused.out.empty());
    CHECK(refused.err.starts_with("natten-sim: error: "));
  }
}

TEST_CASE("without a GPU validate is exit 4 and a sentence") {
  for (const char* line : {"validate --device auto --out /tmp", "validate --check-only"}) {
    // A machine may have one: then hide it.
    ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
    const Run absent = run(line);
    ::unsetenv("CUDA_VISIBLE_DEVICES");
    INFO(absent.err);
    CHECK(absent.exit_code == 4);
    CHECK(absent.out.empty());
    CHECK(absent.err.starts_with("natten-sim: error: this needs a CUDA GPU, but "));
  }
}

TEST_CASE("list names suites, counters and metrics") {
  const Run listed = run("validate --list");
  CHECK(listed.exit_code == 0);
  for (const char* expected :
       {"stream", "reuse", "tiles", "l1tex__m_xbar2l1tex_read_sectors.sum", "dram__bytes_read.sum"}) {
    CHECK(listed.out.find(expected) != std::string::npos);
  }
  CHECK(result_of("validate stream --list")["suites"].size() == 1);
}

TEST_CASE("a profile of somebody's kernel is held against the models") {
  const std::string folder = scratch_folder();
  // 4096 tokens, head dim 128, 8 sectors a row, Q tile 128: 4096 + 32 * 2 * 4096 rows.
  write_text(folder + "/p.csv",
             "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
             "\"0\",\"flash_fwd\",\"l1tex__m_xbar2l1tex_read_sectors.sum\",\"sector\",\"2,129,920\"\n");
  const Json result =
      result_of("validate --ncu-csv '" + folder +
                "/p.csv' --ncu-kernel flash --point tokens=4096 head_dim=128 q_tile=128 kv_tile=176 "
                "ctas_per_sm=1 schedule=persistent order=descending");
  REQUIRE(result["rows"].size() == 1);
  CHECK(result["rows"][0]["deviation"] == 0.0);
  CHECK(result["rows"][0]["verdict"] == "not judged");
}

TEST_CASE("a report is written whole") {
  const std::string folder = scratch_folder();
  CHECK(run("validate stream --quiet --recorded '" + kRecordings + "' --report '" + folder + "/r.html'")
            .exit_code == 0);
  const std::string html = read_text(folder + "/r.html");
  CHECK(html.starts_with("<!doctype html>"));
  CHECK(html.ends_with("</html>\n"));
}

}  // namespace

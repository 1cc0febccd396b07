// The program's validate: tables from recordings, exit codes 0, 2, 3 and 4, resume, import of profiles.
#include <cmath>
#include <filesystem>
#include <string>

#include "catch.hpp"
#include "places.hpp"
#include "program.hpp"

namespace validate_test {

using namespace natten_sim::test;

const std::string kRecordings = std::string(natten_sim::test::kSourceDir) + "/data/recordings";

TEST_CASE("validate on recordings within tolerance prints the tables and exits 0") {
  const Run done =
      run("validate stream partitions active-sms reuse sawtooth tiles held-out pace --recorded '" +
          kRecordings + "'");
  CHECK(done.exit_code == 0);
  for (const char* expected : {"NVIDIA H200", "l2_read_sectors", "dram_read_bytes", "TFLOP/s, head dim 128",
                               "0 excused", "0 outside", "0 of 13 scores below what is stored"}) {
    INFO(expected);
    CHECK(done.out.find(expected) != std::string::npos);
  }
}

TEST_CASE("validate's result has the fields that docs/cli-validate.md names") {
  const Json result =
      result_of("validate reuse --recorded '" + shipped_recordings({"nvidia-h200-reuse"}) + "'");
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

TEST_CASE("the wgmma engine: sectors of short sequences exact, by the timed model too") {
  const std::string part =
      part_of_recording("nvidia-h200-forward", [](const Json& point) { return point["tokens"] <= 32768; });
  const Run done = run("validate forward --json --fidelity timed --recorded '" + part + "'");
  CHECK(done.exit_code == 0);
  const Json result = Json::parse(done.out)["result"];
  std::size_t counted = 0;
  for (const Json& row : result["rows"]) {
    INFO(row.dump());
    CHECK(row["fitted"] == false);
    if (row["counter"] != "l2_read_sectors") continue;
    CHECK(std::abs(row["deviation"].get<double>()) < 0.002);
    ++counted;
  }
  CHECK(counted == 17);
}

TEST_CASE(
    "the wgmma engine and neighborhood attention: sectors exact, times within 4% on average, on unfitted "
    "points",
    "[.nightly][long]") {
  const Run done = run("validate forward gna --json --fidelity timed --recorded '" + kRecordings + "'");
  CHECK(done.exit_code == 0);  // nothing is excused, and no score fell: that of DRAM reads judges them
  const Json result = Json::parse(done.out)["result"];
  CHECK(result["recordings"].size() == 2);
  double time = 0;
  int times = 0;
  for (const Json& row : result["rows"]) {
    INFO(row.dump());
    CHECK(row["fitted"] == false);
    const double deviation = std::abs(row["deviation"].get<double>());
    const std::string counter = row["counter"];
    if (counter == "l2_read_sectors") CHECK(deviation < 0.002);
    if (counter == "launch_time_ns") time += deviation, ++times;
  }
  CHECK(times == 84);
  CHECK(time / times < 0.04);
}

TEST_CASE("a new miss past tolerance is exit 3, and is shown") {
  const std::string folder = scratch_folder();
  std::string text = read_text(kRecordings + "/nvidia-h200-stream.json");
  // The first row's sectors, 132 * 8 * 16 MiB / 32, become 1% more.
  const std::size_t sectors = text.find("\"l2_read_sectors\":{\"median\":553648128.0");
  REQUIRE(sectors != std::string::npos);
  for (std::size_t at = sectors; at < text.find('}', sectors);) {
    at = text.find("553648128.0", at);
    if (at < text.find('}', sectors)) text.replace(at, 11, "559184609.0");
  }
  write_text(folder + "/r.json", text);
  const Run missed = run("validate --recorded '" + folder + "'");
  CHECK(missed.exit_code == 3);
  CHECK(missed.out.find("Out of tolerance") != std::string::npos);
  CHECK(missed.out.find(", 1 outside") != std::string::npos);
}

TEST_CASE("damaged recordings and contradictory options are exit 2, with nothing on stdout") {
  const std::string folder = scratch_folder();
  write_text(folder + "/r.json", "{\"schema\": \"natten-sim.recording/1\"");
  for (const std::string& line : {"validate --recorded '" + folder + "'",
                                  std::string("validate --recorded /no/such/folder"),
                                  std::string("validate --list --recorded x"),
                                  std::string("validate --list --repetitions 3"),
                                  "validate --recorded '" + kRecordings + "' --repetitions 3",
                                  "validate --recorded '" + kRecordings + "' --l2 warm",
                                  "validate --recorded '" + kRecordings + "' --resume",
                                  "validate --recorded '" + kRecordings + "' --seed 1",
                                  "validate --recorded '" + kRecordings + "' --device h200",
                                  std::string("validate --freeze --recorded x"),
                                  std::string("validate --freeze --device nothing"),
                                  std::string("validate --check-only --out x"),
                                  std::string("validate --check-only --report x"),
                                  std::string("validate --out x --seed 1"),
                                  std::string("validate --out x --ncu-kernel k"),
                                  std::string("validate reuse --ncu-csv x --point tokens=1"),
                                  std::string("validate --out x --inputs 0"),
                                  std::string("validate --out x --inputs 65"),
                                  std::string("validate --out x --repetitions 0"),
                                  std::string("validate --out x --gpu -1"),
                                  std::string("validate --out x --gpu first"),
                                  std::string("validate --out ''"),
                                  std::string("validate"),
                                  "validate --out '" + folder + "/r.json'",
                                  std::string("validate --recorded x --json --csv"),
                                  std::string("validate nonsense --list"),
                                  "validate --recorded '" + kRecordings + "' --check-only",
                                  "validate --recorded '" + kRecordings + "' --out x",
                                  std::string("validate --point tokens=1 --list"),
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
  for (const char* line :
       {"validate --gpu auto --out /tmp", "validate --check-only", "validate --gpu 7 --out /tmp",
        "validate --check-only --gpu 1024 --json", "validate --out /no/such/folder --inputs 3"}) {
    const Run absent = run(line);  // a GPU of this machine is hidden from all runs
    INFO(absent.err);
    CHECK(absent.exit_code == 4);
    CHECK(absent.out.empty());
    CHECK(absent.err.starts_with("natten-sim: error: this needs a CUDA GPU, but "));
  }
}

TEST_CASE("an option without effect is refused with those that have one") {
  check_refused("validate --list --l2 warm", {"--l2: given with --list", "accepted: suite, --list"});
  check_refused("validate --seed 1 --out x",
                {"--seed: given with a run on the GPU", "--repetitions, --warm-up-ms, --inputs"});
  check_refused("validate reuse --ncu-csv x", {"suite: given with --ncu-csv", "--ncu-kernel, --decimal, --point"});
  check_refused("validate --check-only --recorded x", {"--check-only: given with --recorded"});
}

TEST_CASE("a suite's misspelt name is answered with the closest") {
  const Run refused = run("validate resue --list");
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.find("did you mean 'reuse'?") != std::string::npos);
}

TEST_CASE("recordings of which nothing can be compared are exit 2, and why is said") {
  const std::string folder = scratch_folder(), line = "validate --recorded '" + folder + "'";
  const std::string text = read_text(kRecordings + "/nvidia-h200-stream.json");
  std::string unknown = text;
  const std::string profile = "\"profile\": \"h200\"";
  REQUIRE(unknown.find(profile) != std::string::npos);
  unknown.replace(unknown.find(profile), profile.size(), "\"profile\": \"mine\"");
  write_text(folder + "/r.json", unknown);
  check_refused(line, {"--recorded: ", "stream: no device profile 'mine' for 'NVIDIA H200"});
  Json empty = Json::parse(text);
  empty["rows"] = Json::array();
  write_text(folder + "/r.json", empty.dump());
  check_refused(line + " --json", {"--recorded: ", "stream: the recording has no rows"});
  write_text(folder + "/other.json", text);  // beside one that is compared, the other is a note
  const Run done = run(line);
  CHECK(done.exit_code == 0);
  CHECK(done.out.find("not compared: stream: the recording has no rows") != std::string::npos);
}

TEST_CASE("a suite that only simulations predict asks for them, instead of an empty success") {
  check_refused("validate sdpa-times --recorded '" + shipped_recordings({"nvidia-h200-sdpa-times"}) + "'",
                {"--fidelity: closed-form", "accepted: timed", "sdpa-times"});
  check_refused("validate pace --recorded '" + shipped_recordings({"nvidia-h200-pace"}) + "'",
                {"--recorded: ", "pace: no row"});
  // What a table of throughput shows needs no prediction.
  const Run tiles = run("validate tiles --recorded '" + shipped_recordings({"nvidia-h200-tiles"}) + "'");
  CHECK(tiles.exit_code == 0);
  CHECK(tiles.out.find("TFLOP/s, head dim 128") != std::string::npos);
  CHECK(tiles.out.find("In short: nothing was compared") != std::string::npos);
}

TEST_CASE("a recording of an unknown suite is left out with a remark") {
  const std::string folder = scratch_folder();
  std::string text = read_text(kRecordings + "/nvidia-h200-stream.json");
  write_text(folder + "/a.json", text);
  text.replace(text.find("\"suite\": \"stream\""), 17, "\"suite\": \"steam\"");
  write_text(folder + "/b.json", text);
  const Run done = run("validate --recorded '" + folder + "'");
  CHECK(done.exit_code == 0);
  CHECK(done.err.find("a recording of suite 'steam'") != std::string::npos);
  CHECK(run("validate --quiet --recorded '" + folder + "'").err.empty());
}

TEST_CASE("a counter that reads nothing is exit 3, not silence") {
  const std::string folder = scratch_folder();
  std::string text = read_text(kRecordings + "/nvidia-h200-stream.json");
  const std::size_t counter = text.find("\"dram_read_bytes\":{");
  const std::size_t end = text.find("}", counter);
  text.replace(
      counter, end - counter,
      "\"dram_read_bytes\":{\"median\":0.0,\"p95\":0.0,\"smallest\":0.0,\"largest\":0.0,\"repetitions\":3");
  write_text(folder + "/a.json", text);
  const Run done = run("validate --recorded '" + folder + "'");
  CHECK(done.exit_code == 3);
  CHECK(done.out.find("nothing measured") != std::string::npos);
  const Json row = Json::parse(run("validate --json --recorded '" + folder + "'").out)["result"]["rows"];
  bool found = false;
  for (const Json& each : row) found = found || each["deviation"].is_null();
  CHECK(found);
}

TEST_CASE("a folder with the name of a recording is no recording, and no internal error") {
  const std::string folder = scratch_folder();
  write_text(folder + "/a.json", read_text(kRecordings + "/nvidia-h200-stream.json"));
  std::filesystem::create_directory(folder + "/b.json");
  CHECK(run("validate --recorded '" + folder + "'").exit_code == 0);
}

TEST_CASE("a recording whose own output cannot be written is exit 1, with nothing half done") {
  const std::string recorded =
      "validate stream --recorded '" + shipped_recordings({"nvidia-h200-stream"}) + "'";
  CHECK(shell_exit_code("\"$PROGRAM\" " + recorded + " > /dev/full") == 1);
  CHECK(run(recorded + " --report /dev/full").exit_code == 1);
  const std::string folder = scratch_folder();
  const Run refused = run(recorded + " --report '" + folder + "/no/such/r.html'");
  CHECK(refused.exit_code == 2);
  CHECK(refused.out.empty());
}

TEST_CASE("input echoes what a comparison depends on, after defaults, and nothing that it refuses") {
  const Json input = Json::parse(
      run("validate stream --json --recorded '" + shipped_recordings({"nvidia-h200-stream"}) + "'")
          .out)["input"];
  CHECK(input["suites"] == Json::array({"stream"}));
  CHECK(input["fidelity"] == "closed-form");
  CHECK(input["rows"] == false);
  for (const char* field : {"device", "ncu_csv", "point", "out", "check_only", "repetitions", "inputs", "seed"}) {
    INFO(field);
    CHECK_FALSE(input.contains(field));
  }
}

TEST_CASE("a file's name that is not UTF-8 is echoed as well as can be") {
  const std::string folder = scratch_folder();
  write_text(folder + "/\xff.csv",
             "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
             "0,k,dram__bytes_read.sum,byte,1\n");
  const Run done = run("validate --json --ncu-csv '" + folder +
                       "/\xff.csv' --point tokens=4096 head_dim=128 q_tile=128 "
                       "kv_tile=64 ctas_per_sm=1 schedule=grid order=cyclic");
  CHECK(done.exit_code == 0);
  CHECK(Json::parse(done.out)["input"]["profile"] == "h200");
}

TEST_CASE("lists and rows come as CSV too") {
  const Run listed = run("validate --list --csv");
  CHECK(listed.exit_code == 0);
  CHECK(listed.out.starts_with("name,title,points,counters\nstream,"));
  const Run rows =
      run("validate stream --csv --recorded '" + shipped_recordings({"nvidia-h200-stream"}) + "'");
  CHECK(rows.out.starts_with("suite,device,point,group,counter,model,predicted,measured,deviation,"));
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

TEST_CASE("predictions of a suite come without a recording, with intervals and all parameters") {
  const Json result = result_of("validate short-draw --freeze --device h200");
  const Json& first = result["predictions"][0];
  CHECK(first["parameters"]["runs"] == "fa2");
  CHECK(first["counter"] == "launch_time_ns");
  CHECK(first["low"] < first["predicted"]);
  CHECK(first["predicted"] < first["high"]);
  CHECK(run("validate short-draw --freeze --csv").out.starts_with("suite,device,point,counter,model,fitted,predicted,low,high"));
  const Run read = run("validate short-draw --freeze");
  CHECK(read.out.find(std::to_string(result["predictions"].size()) + " predictions for h200; ") != std::string::npos);
  CHECK(result["not_predicted"].size() < 20);
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
  // The same count where commas are decimal marks and points group thousands.
  write_text(folder + "/comma.csv",
             "\"ID\";\"Kernel Name\";\"Metric Name\";\"Metric Unit\";\"Metric Value\"\n"
             "\"0\";\"flash_fwd\";\"l1tex__m_xbar2l1tex_read_sectors.sum\";\"sector\";\"2.129.920\"\n");
  CHECK(result_of("validate --ncu-csv '" + folder +
                  "/comma.csv' --decimal comma --ncu-kernel flash --point tokens=4096 head_dim=128 q_tile=128 "
                  "kv_tile=176 ctas_per_sm=1 schedule=persistent order=descending")["rows"] == result["rows"]);
}

TEST_CASE("a report is written whole") {
  const std::string folder = scratch_folder();
  CHECK(run("validate stream --quiet --recorded '" + shipped_recordings({"nvidia-h200-stream"}) +
            "' --report '" + folder + "/r.html'")
            .exit_code == 0);
  const std::string html = read_text(folder + "/r.html");
  CHECK(html.starts_with("<!DOCTYPE html>"));
  CHECK(html.ends_with("</html>\n"));
}

}  // namespace validate_test

// PyTorch's times: what is read, what is refused.
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/record/sdpa_recording.hpp>

#include "catch.hpp"
#include "places.hpp"

namespace sdpa_recording_test {

using namespace natten_sim;
using namespace natten_sim::validate;

const std::string kHead =
    R"({"schema": "natten-sim.sdpa-recording/1",
        "device": {"name": "G", "sms": 4, "l2_bytes": 1024, "memory_bytes": 4096, "compute_capability": "9.0"},
        "driver": "1", "framework": "PyTorch 2", "cudnn": "9", "clocks_policy": "untouched",
        "cache_control": "L2 overwritten", "rows": [)";
const std::string kProblem =
    R"("problem": {"batch": 1, "heads": 2, "heads_kv": 2, "tokens": 512, "head_dim": 96, "dtype": "fp16", "causal": true})";
const std::string kTime =
    R"("time_ms": {"median": 2, "p95": 3, "smallest": 1, "largest": 4, "repetitions": 20})";

std::string measured(const std::string& backend) {
  return "{" + kProblem + R"(, "backend": ")" + backend + R"(", "status": "measured", )" + kTime + "}";
}

SdpaRecording parsed(const std::string& rows) { return parse_sdpa_recording(kHead + rows + "]}", "f.json"); }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("a recording of PyTorch's times keeps what ran and why the rest did not") {
  const SdpaRecording recording =
      parsed(measured("auto") + ",{" + kProblem + R"(, "backend": "math", "status": "out of memory"})");
  CHECK(recording.device.name == "G");
  CHECK(recording.device.sms == 4);
  CHECK_FALSE(recording.before.has_value());
  REQUIRE(recording.rows.size() == 2);
  CHECK(recording.rows[0].problem.head_dim == 96);
  CHECK(recording.rows[0].problem.dtype == Dtype::kFp16);
  CHECK(recording.rows[0].milliseconds->median == 2);
  CHECK(recording.rows[0].repetitions == 20);
  CHECK(recording.rows[1].status == "out of memory");
  CHECK_FALSE(recording.rows[1].milliseconds.has_value());
}

TEST_CASE("clocks of a recording of PyTorch's times are optional") {
  const SdpaRecording recording = parse_sdpa_recording(
      replaced(kHead, "\"rows\"", "\"clocks_before\": {\"sm_mhz\": 7, \"memory_mhz\": 8}, \"rows\"") + "]}",
      "f.json");
  REQUIRE(recording.before.has_value());
  CHECK(recording.before->sm_mhz == 7);
  CHECK(recording.before->memory_mhz == 8);
  CHECK_FALSE(recording.after.has_value());
}

TEST_CASE("a malformed recording of PyTorch's times is refused, with its place") {
  const std::string row = measured("auto");
  for (const std::string& bad : {replaced(row, "\"auto\"", "\"tensorrt\""),
                                 replaced(row, "\"auto\"", "3"),
                                 replaced(row, "\"measured\"", "\"out of memory\""),
                                 replaced(row, ", " + kTime, ""),
                                 replaced(row, "\"median\": 2", "\"median\": 5"),
                                 replaced(row, "\"smallest\": 1", "\"smallest\": 0"),
                                 replaced(row, "\"largest\": 4", "\"largest\": 1e300"),
                                 replaced(row, "\"p95\": 3", "\"p95\": \"3\""),
                                 replaced(row, "\"repetitions\": 20", "\"repetitions\": 0"),
                                 replaced(row, "\"tokens\": 512", "\"tokens\": 0"),
                                 replaced(row, "\"tokens\": 512", "\"tokens\": 5.5"),
                                 replaced(row, "\"heads_kv\": 2", "\"heads_kv\": 3"),
                                 replaced(row, "fp16", "fp8"),
                                 replaced(row, "\"causal\": true", "\"causal\": 1"),
                                 replaced(row, "\"batch\": 1, ", ""),
                                 replaced(row, "\"batch\": 1", "\"batch\": 1, \"layers\": 1"),
                                 replaced(row, "\"status\"", "\"state\""),
                                 row + "," + row,
                                 std::string("7"),
                                 std::string("null")}) {
    INFO(bad);
    try {
      (void)parsed(bad);
      FAIL("accepted");
    } catch (const MalformedData& error) {
      CHECK(std::string(error.what()).find("f.json") != std::string::npos);
    }
  }
}

TEST_CASE("a malformed head of PyTorch's times is refused") {
  const std::string whole = kHead + "]}";
  CHECK_NOTHROW(parse_sdpa_recording(whole, "f.json"));
  for (const std::string& bad :
       {replaced(whole, "recording/1", "recording/2"), replaced(whole, "\"driver\"", "\"drivers\""),
        replaced(whole, "\"sms\": 4", "\"sms\": 0"), replaced(whole, "\"rows\": []", "\"rows\": {}"),
        replaced(whole, "\"rows\": []", "\"rows\": [], \"rows\": []"), whole.substr(0, whole.size() - 1),
        std::string(), std::string("[]")}) {
    INFO(bad);
    CHECK_THROWS_AS(parse_sdpa_recording(bad, "f.json"), MalformedData);
  }
}

TEST_CASE("a folder gives its recordings of PyTorch's times by name, and leaves others out") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("sdpa-recording-test-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const std::string& text) { std::ofstream(folder / name) << text; };
  CHECK(read_sdpa_recordings(folder.string()).empty());
  write("b.json", kHead + measured("math") + "]}");
  write("a.json", kHead + measured("auto") + "]}");
  write("c.json", "{\"schema\": \"another\"}");
  write("d.txt", "no JSON");
  const auto recordings = read_sdpa_recordings(folder.string());
  REQUIRE(recordings.size() == 2);
  CHECK(recordings[0].rows.at(0).backend == "auto");
  CHECK(recordings[1].rows.at(0).backend == "math");
  write("e.json", kHead);
  CHECK_THROWS_AS(read_sdpa_recordings(folder.string()), MalformedData);
  std::filesystem::remove_all(folder);
  CHECK_THROWS_AS(read_sdpa_recordings(folder.string()), InvalidParameter);
}

TEST_CASE("the shipped times of PyTorch have every backend of every problem, 20 repetitions or a reason") {
  const auto recordings = read_sdpa_recordings(std::string(natten_sim::test::kSourceDir) + "/data/recordings");
  REQUIRE(recordings.size() == 1);
  // bf16 at 7 lengths and fp16 at 6, full and causal, 4 head dims.
  CHECK(recordings[0].rows.size() == (7 + 6) * 2 * 4 * sdpa_backends().size());
  for (const SdpaRow& row : recordings[0].rows) {
    INFO(row.backend << " " << row.problem.tokens << " " << row.problem.head_dim << " " << row.status);
    CHECK((row.status == "measured" ? row.repetitions >= 20 : !row.status.empty()));
  }
}

}  // namespace sdpa_recording_test

#include "catch.hpp"
#include "program.hpp"

namespace {

using namespace natten_sim::test;

const std::string kFlux = "count -i 256 256 -w 80 80 -s 16 16 -n 24 -d 128 --dtype bf16 --device h200 ";

TEST_CASE("count gives milliseconds, their interval, and the speedup over the dense kernel") {
  const Json result = result_of(kFlux + "--kernel hopper-fna --kernel-schedule pingpong --backprop");
  const Json& time = result["time_ms"];
  for (const char* field : {"kernel", "permutation", "total", "low", "high"}) CHECK(time[field].is_number());
  CHECK(time["limited_by"] == "tiles");
  CHECK(time["low"] < time["total"]);
  CHECK(time["total"] < time["high"]);
  CHECK(result["speedup_time"].get<double>() ==
        Approx(result["time"]["dense_ms"].get<double>() / time["total"].get<double>()));
  CHECK(result["backward"]["time_ms"]["kernel"] > time["kernel"]);
  CHECK(result["backward"]["speedup_time"].is_number());
  const auto text = run(kFlux);
  CHECK(text.out.find("over hopper-fmha") != std::string::npos);
}

TEST_CASE("without a measurement there is null, and a sentence that says what to measure") {
  const Json result = result_of("count -i 256 256 -w 80 80 -d 64 --device h200");
  CHECK(result["time_ms"].is_null());
  CHECK(result["speedup_time"].is_null());
  CHECK(result["time_missing"].get<std::string>().find("a few measured times of hopper-fna at head dim 64 on h200") != std::string::npos);
  CHECK(!result_of("count -i 256 256 -w 80 80").contains("time_ms"));
  check_refused(kFlux + "--kernel hoper-fna", {"kernel", "hopper-fna"});
}

TEST_CASE("calibrate fits, saves what count reads, and takes times from a profiler's tables") {
  const std::string folder = scratch_folder();
  write_text(folder + "/runs.csv",
             "input,window,stride,q_tile,kv_tile,heads\n"
             "256x256,80x80,1x1,16x8,16x8,24\n"
             "256x256,80x80,16x16,16x8,16x8,24\n");
  write_text(folder + "/profiler.txt",
             "| CUTLASS | attention | Sm90 | FnaForward | 1 | 32.4ms |\n"
             "| CUTLASS | attention | Sm90 | FnaForward | 1 | 15.8ms |\n");
  const std::string calibrate = "calibrate " + folder +
                                "/runs.csv --kernel hopper-fna --device h200 --times " + folder +
                                "/profiler.txt ";
  const Json result = result_of(calibrate + "--save " + folder + "/costs.json");
  CHECK(result["runs"].size() == 2);
  CHECK(result["runs"][1]["kind"] == "unmasked");
  CHECK(result["suggestions"][0]["command"].get<std::string>().find("python -m natten.profiler") == 0);
  // Twice as slow as the H200 that ships.
  const double slow = result_of(kFlux + "--costs " + folder + "/costs.json")["time_ms"]["kernel"];
  CHECK(slow == Approx(15.8).epsilon(0.06));
  CHECK(run(calibrate).out.find("off by") != std::string::npos);
  CHECK(run(calibrate + "--csv").out.find("left_out_ms") != std::string::npos);

  write_text(folder + "/one.txt", "| CUTLASS | attention | Sm90 | FnaForward | 1 | 32.4ms |\n");
  check_refused(
      "calibrate " + folder + "/runs.csv --kernel hopper-fna --device h200 --times " + folder + "/one.txt",
      {"times", "2, one for each run"});
  check_refused("calibrate " + folder + "/runs.csv --device h200", {"kernel"});
  check_refused("calibrate " + folder + "/runs.csv --kernel hopper-fna --device h200", {"time"});
}

TEST_CASE("calibrate takes times from Nsight Compute") {
  const std::string folder = scratch_folder();
  write_text(folder + "/runs.csv",
             "input,window,stride,q_tile,kv_tile,heads\n256x256,80x80,16x16,16x8,16x8,24\n");
  write_text(folder + "/ncu.csv",
             "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
             "\"0\",\"permute\",\"gpu__time_duration.sum\",\"ns\",\"100\"\n"
             "\"1\",\"FnaForward\",\"gpu__time_duration.sum\",\"ns\",\"7900000\"\n");
  const Json result =
      result_of("calibrate " + folder + "/runs.csv --kernel hopper-fna --device h200 --times " + folder +
                "/ncu.csv --ncu-kernel Fna");
  CHECK(result["runs"][0]["measured_ms"] == Approx(7.9));
}

TEST_CASE("list kernels says what is calibrated, on how many runs, with what error") {
  const auto text = run("list kernels");
  CHECK(text.out.find("hopper-fna on h200") != std::string::npos);
  CHECK(text.out.find("7 runs") != std::string::npos);
  const Json times = result_of("list kernels")["times"];
  REQUIRE(times.size() >= 6);
  CHECK(times[0]["forward"]["runs"].is_number());
}

}  // namespace

#include <set>

#include "catch.hpp"
#include "places.hpp"
#include "program.hpp"

namespace time_test {

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
  CHECK(text.out.find("over " + result["time"]["dense_kernel"].get<std::string>()) != std::string::npos);
}

TEST_CASE("without a measurement there is null, and a sentence that says what to measure") {
  const Json result = result_of("count -i 256 256 -w 80 80 -d 64 --device b200 --measured-only");
  CHECK(result["time_ms"].is_null());
  CHECK(result["speedup_time"].is_null());
  CHECK(result["time_missing"].get<std::string>().find("a few measured times of blackwell-fna at head dim 64 on b200") != std::string::npos);
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

/// Runs of hopper-fna on an H200 whose times stand elsewhere, and what is printed for those times.
Json calibrated(const std::string& times, const std::string& options = "") {
  const std::string folder = scratch_folder();
  write_text(folder + "/runs.csv",
             "input,window,stride,q_tile,kv_tile,heads\n"
             "256x256,80x80,1x1,16x8,16x8,24\n"
             "256x256,80x80,16x16,16x8,16x8,24\n");
  write_text(folder + "/times", times);
  return result_of("calibrate " + folder + "/runs.csv --kernel hopper-fna --device h200 --times " + folder +
                   "/times " + options);
}

TEST_CASE("calibrate takes the raw page of Nsight Compute, and the median of several launches of a run") {
  const std::string head =
      "==PROF== Disconnected from process 7\n"
      "\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\"\n\"\",\"\",\"ms\"\n";
  const std::string copies = "\"0\",\"permute\",\"0.3\"\n\"1\",\"permute\",\"0.4\"\n";
  const std::string masked =
      "\"2\",\"fna<1>\",\"16.9\"\n\"3\",\"fna<1>\",\"16.5\"\n\"4\",\"fna<1>\",\"16.7\"\n";
  const std::string skipped =
      "\"5\",\"fna<2>\",\"7.8\"\n\"6\",\"fna<2>\",\"7.9\"\n\"7\",\"fna<2>\",\"9.8\"\n";
  const Json runs = calibrated(head + copies + masked + skipped, "--ncu-kernel fna")["runs"];
  REQUIRE(runs.size() == 2);
  CHECK(runs[0]["measured_ms"] == Approx(16.7));
  CHECK(runs[1]["measured_ms"] == Approx(7.9));
  // Without a choice among kernels copies would be taken for attention.
  const std::string folder = scratch_folder();
  write_text(folder + "/runs.csv",
             "input,window,q_tile,kv_tile,heads\n256x256,80x80,16x8,16x8,24\n256x256,48x48,16x8,16x8,24\n");
  write_text(folder + "/ncu.csv", head + copies + masked + skipped);
  check_refused(
      "calibrate " + folder + "/runs.csv --kernel hopper-fna --device h200 --times " + folder + "/ncu.csv",
      {"several kernels", "--ncu-kernel", "2 x permute"});
}

/// What ncu wrote of seven neighborhoods on an H200, three launches each of two kernels: `ncu --csv
/// --clock-control none --profile-from-start off --metrics gpu__time_duration.sum,dram__bytes_read.sum`.
std::string calibrated_from_export(const std::string& runs, const std::string& kernel) {
  const std::string folder = std::string(natten_sim::test::kSourceDir) + "/tests/golden/ncu/";
  return "calibrate " + folder + runs + " --device h200 --times " + folder + "h200-neighborhoods.csv" +
         (kernel.empty() ? "" : " --ncu-kernel " + kernel);
}

TEST_CASE("costs come out of an export of Nsight Compute as it is, and tell each run left out within 6%") {
  const std::pair<std::string, std::string> kernels[] = {{"gna-runs.csv", "attention_forward"},
                                                         {"flexattention-runs.csv", "flex_attention"}};
  // Medians of IDs 0 to 2 and 21 to 23.
  const double first_ms[] = {3.316800, 8.415680};
  for (std::size_t i = 0; i < 2; ++i) {
    const Json runs = result_of(calibrated_from_export(kernels[i].first, kernels[i].second))["runs"];
    REQUIRE(runs.size() == 7);
    CHECK(runs[0]["measured_ms"] == Approx(first_ms[i]));
    for (const Json& run : runs) CHECK(std::abs(run["left_out_deviation"].get<double>()) < 0.06);
  }
  check_refused(calibrated_from_export("gna-runs.csv", ""),
                {"several kernels", "triton_tem_fused_flex_attention"});
}

TEST_CASE("costs without timed copies keep the rates of copies that ship, and say so") {
  const std::string folder = scratch_folder();
  write_text(folder + "/runs.csv",
             "input,window,stride,q_tile,kv_tile,heads,ms\n256x256,80x80,16x16,16x8,16x8,24,7.9\n");
  const std::string calibrate =
      "calibrate " + folder + "/runs.csv --kernel hopper-fna --device h200 --save " + folder + "/costs.json";
  CHECK(run(calibrate).out.find(
            "copies into tiles on 2 axes as since NATTEN 0.21.5 were not timed: hopper-fna on h200 keeps the "
            "rates measured on an H200") != std::string::npos);
  const Json with = result_of(kFlux + "--costs " + folder + "/costs.json"), without = result_of(kFlux);
  CHECK(with["time_ms"]["permutation"].get<double>() ==
        Approx(without["time_ms"]["permutation"].get<double>()).epsilon(0.01));
}

TEST_CASE("calibrate takes times from the table itself and from a recording") {
  const std::string folder = scratch_folder();
  write_text(folder + "/plain.csv",
             "kernel,device,input,window,stride,q_tile,kv_tile,heads,ms,min_ms,max_ms\n"
             "hopper-fna,h200,256x256,80x80,1x1,16x8,16x8,24,16.7,16.6,16.8\n"
             "hopper-fna,h200,256x256,80x80,16x16,16x8,16x8,24,7.9,7.8,10\n");
  const Json plain = result_of("calibrate " + folder + "/plain.csv");
  CHECK(plain["runs"][0]["measured_ms"] == 16.7);
  CHECK(plain["runs"][1]["left_out_ms"].is_number());
  const Json recorded = result_of("calibrate " + std::string(natten_sim::test::kSourceDir) +
                                  "/data/recordings/nvidia-h200-flex-costs.json");
  CHECK(recorded["runs"].size() == 20);
  CHECK(recorded["runs"][0]["kernel"] == "flexattention");
}

TEST_CASE("suggested runs differ from each other and from what was measured, and are printed as commands") {
  const Json result = result_of("calibrate " + std::string(natten_sim::test::kSourceDir) +
                                "/data/kernel-runs/natten-h200.csv --suggestions 5");
  std::set<std::string> seen;
  const auto key = [](const Json& run) {
    return run["pass"].dump() + run["heads"].dump() + run["input"].dump() + run["window"].dump() + run["stride"].dump() +
           run["q_tile"].dump() + run["kv_tile"].dump();
  };
  for (const Json& run : result["runs"]) seen.insert(key(run));
  REQUIRE(result["suggestions"].size() >= 10);
  for (const Json& run : result["suggestions"]) {
    INFO(run["command"]);
    CHECK(seen.insert(key(run)).second);
    CHECK(run["command"].get<std::string>().starts_with("python -m natten.profiler -i "));
    CHECK(run["uncertainty"].get<double>() > 0);
  }
}

TEST_CASE("a search of passes without a backward time ranks by work, and names what is missing") {
  for (const std::string phase : {"both", "backward"}) {
    const std::string search =
        "search -i 256 256 -n 24 -d 128 --device b200 --measured-only --sparsity 0.90:0.91 --top 1 --phase " + phase;
    const auto found = run(search);
    CHECK(found.exit_code == 0);
    CHECK(found.err.find("not ranked by time: no measured backward times of blackwell-fna on b200") !=
          std::string::npos);
    CHECK(result_of(search)["candidates"].size() == 1);
    check_refused(search + " --objective time", {"objective", "no measured backward times"});
  }
}

TEST_CASE(
    "a schedule without runs is told by another's costs, with a wider interval and a sentence that says so") {
  const auto width = [](const Json& result) {
    return result["time_ms"]["high"].get<double>() / result["time_ms"]["total"].get<double>();
  };
  const std::string count =
      "count -i 256 256 -w 80 80 -n 24 -d 128 --device h200 --kernel hopper-fna --kernel-schedule ";
  const Json pingpong = result_of(count + "pingpong"), cooperative = result_of(count + "cooperative");
  CHECK(width(pingpong) > width(cooperative));
  CHECK(pingpong["time"]["unmeasured"].get<std::string>().find("with the pingpong schedule") !=
        std::string::npos);
  CHECK(!cooperative["time"].contains("unmeasured"));
  CHECK(run(count + "pingpong").out.find("no measured times of hopper-fna on h200 with the pingpong") !=
        std::string::npos);
}

TEST_CASE("with --measured-only head dims without runs have no time, and a sentence names the missing measurement") {
  for (const std::string head_dim : {"32", "64"}) {
    const Json result =
        result_of("count -i 256 256 -w 80 80 -n 24 -d " + head_dim + " --device b200 --kernel blackwell-fna --measured-only");
    CHECK(result["time_ms"].is_null());
    const std::string missing = result["time_missing"];
    CHECK(missing.find("a few measured times of blackwell-fna at head dim " + head_dim + " on b200") !=
          std::string::npos);
    CHECK(missing.find("there are times on b200 of blackwell-fna (head dim 128)") !=
          std::string::npos);
  }
}

TEST_CASE("what nobody measured has a time that says so, and a kernel that does not exist a reason") {
  const std::string both_passes = "count -i 256 256 -w 80 80 -n 24 -d 64 --device b200 --backprop";
  const Json derived = result_of(both_passes)["backward"];
  CHECK(derived["time"]["costs"]["evidence"] == "physical");
  CHECK(derived["time"]["costs"]["runs"] == 0);
  CHECK(derived["time_ms"]["low"] < derived["time_ms"]["total"]);
  CHECK(derived["time_ms"]["back_to_back"] >= derived["time_ms"]["total"]);
  CHECK(run(both_passes).out.find("physical costs") != std::string::npos);
  const Json elsewhere = result_of("count -i 256 256 -w 80 80 -n 24 -d 64 --device a100");
  CHECK(elsewhere["time"]["costs"]["evidence"] == "transferred");
  CHECK(elsewhere["time"]["costs"]["transfer"] == "other-architecture");
  const Json none = result_of("count -i 256 256 -w 80 80 -n 24 -d 128 --device a100 --kernel hopper-fna");
  CHECK(none["time_ms"].is_null());
  CHECK(none["time_missing"].get<std::string>().find("runs on sm90 alone") != std::string::npos);
}

TEST_CASE("list coverage has a mark for each cell, and list transfers the errors of each kind") {
  const auto coverage = run("list coverage");
  CHECK(coverage.out.find("rtx4090") != std::string::npos);
  CHECK(coverage.out.find("impossible") != std::string::npos);
  const auto transfers = run("list transfers");
  for (const char* kind : {"other-device", "other-head-dim", "other-architecture", "physical"})
    CHECK(transfers.out.find(kind) != std::string::npos);
  CHECK(run("list coverage --csv").out.starts_with("name,device,kernel,head_dim,dtype,pass,evidence"));
}

TEST_CASE("list kernels says what is calibrated, on how many runs, with what error") {
  const auto text = run("list kernels");
  CHECK(text.out.find("hopper-fna on h200") != std::string::npos);
  CHECK(text.out.find("7 runs") != std::string::npos);
  const Json times = result_of("list kernels")["times"];
  REQUIRE(times.size() >= 6);
  CHECK(times[0]["forward"]["runs"].is_number());
}

TEST_CASE("copies into FlexAttention's blocks are not known, and its blocks need no backend of NATTEN's") {
  const std::string flex = " -i 64 64 -w 16 16 -n 8 -d 128 --device h100 --kernel flexattention";
  const std::string list = run("search" + flex + " --top 1").out;
  CHECK(list.find("not known") != std::string::npos);
  CHECK(list.find("none") == std::string::npos);
  const auto counted = run("count" + flex + " --q-tile 8 8 --kv-tile 8 16");
  CHECK(counted.exit_code == 0);
  CHECK(counted.err.find("does not implement") == std::string::npos);
  // Of a kernel of NATTEN's that lacks the tiles it is said.
  CHECK(run("count -i 64 64 -w 16 16 -n 8 -d 128 --device h100 --q-tile 8 8 --kv-tile 8 16").err.find(
            "does not implement") != std::string::npos);
}

}  // namespace time_test

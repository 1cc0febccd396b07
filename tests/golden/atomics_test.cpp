#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "catch.hpp"
#include "places.hpp"
#include "program.hpp"

namespace atomics_test {

using namespace natten_sim::test;

/// The entry of `name` in a list of data/`file`.
Json shipped(const std::string& file, const char* list, const char* key, const std::string& name) {
  const Json document =
      Json::parse(natten_sim::test::read_text(std::string(natten_sim::test::kSourceDir) + "/data/" + file));
  for (const Json& entry : document[list]) {
    if (entry[key] == name) return entry;
  }
  return {};
}

TEST_CASE("atomics' result has the contract's fields, of the right kind") {
  const Json result = result_of(
      "atomics --updates 5000 --rows 700 --width 64 --distribution zipf:1.2 --dtype bf16 --path auto "
      "--construct torch-scatter-add --device h200 --seed 4");
  for (const char* field : {"updates", "addresses", "max_multiplicity", "cas_retries"})
    CHECK(result[field].is_number_integer());
  for (const char* field : {"time_ns", "service_ns_per_update", "bandwidth_utilization"})
    CHECK(result[field].is_number());
  CHECK(result["bound"].is_string());
  CHECK(result["sectors"]["atom"].is_number_integer());
  CHECK(result["sectors"]["red"].is_number_integer());
  REQUIRE(result["remedies"].is_array());
  for (const Json& remedy : result["remedies"]) {
    CHECK(remedy["name"].is_string());
    CHECK(remedy["time_ns"].is_number());
    CHECK(remedy["extra_bytes"].is_number_integer());
  }
  CHECK(result["updates"] == 5000);
  CHECK(result["addresses"].get<std::int64_t>() == result["rows_touched"].get<std::int64_t>() * 64 / 2);
  const Json sweep = shipped("contention.json", "devices", "device", "h200")["sweep"];
  CHECK(result["calibration"]["kind"] == "collapse");
  CHECK(result["calibration"]["fitted_points"] == sweep["errors"][0]["fitted_points"]);
  const double worst = sweep["errors"][0]["unfitted_worst_ratio"].get<double>();
  CHECK(result["calibration"]["unfitted_worst_ratio"] == worst);
  CHECK(result["calibration"]["outside"].empty());
  CHECK(result["calibration"]["interval_ns"]["high"] == result["time_ns"].get<double>() * worst);
}

TEST_CASE("the echoed input of atomics alone reproduces the run") {
  const auto first =
      run("atomics --updates 3000 --distribution zipf:1.1 --seed 9 --dtype fp16 --device h100 --json");
  const Json input = Json::parse(first.out)["input"];
  std::string line = "atomics --json";
  for (const auto& [key, value] : input.items()) {
    if (value.is_array() && value.empty()) continue;  // no release to compare
    std::string flag = key;
    std::replace(flag.begin(), flag.end(), '_', '-');
    line += " --" + flag + " " + (value.is_string() ? value.get<std::string>() : value.dump());
  }
  CHECK(run(line).out == first.out);
}

TEST_CASE("the echoed input of msda holds its configuration, encoders included") {
  const std::string folder = natten_sim::test::scratch_folder();
  const auto write_config = [&](const Json& fields) {
    Json config = {{"name", "own"}, {"source", "test"}};
    for (const char* field :
         {"batch", "height", "width", "strides", "channels", "heads", "points", "queries"})
      config[field] = fields.at(field);
    const Json file = {{"schema", "natten-sim.msda-configs/1"}, {"configs", Json::array({config})}};
    natten_sim::test::write_text(folder + "/own.json", file.dump());
  };
  write_config({{"batch", 1},
                {"height", 64},
                {"width", 48},
                {"strides", {8, 16}},
                {"channels", 64},
                {"heads", 2},
                {"points", 2},
                {"queries", 0}});
  const std::string line = "msda --phase backward --json --seed 3 --workload " + folder + "/own.json";
  const std::string first = run(line).out;
  write_config(Json::parse(first)["input"]);
  CHECK(run(line).out == first);
  CHECK(Json::parse(first)["result"]["samples"] == (8 * 6 + 4 * 3) * 2 * 2 * 2);
}

TEST_CASE("gradients add up in the type of the tensors unless told otherwise") {
  const auto input = [](const std::string& options) {
    return Json::parse(run("msda --workload B1_640_d256_L4 --phase backward --json " + options).out)["input"];
  };
  CHECK(input("")["accumulator"] == "bf16");
  CHECK(input("--dtype fp16")["accumulator"] == "fp16");
  CHECK(input("--dtype fp32")["accumulator"] == "fp32");
  CHECK(input("--accumulator fp16")["dtype"] == "fp16");
  CHECK(input("--accumulator fp32")["dtype"] == "bf16");
  CHECK(input("--accumulator fp32 --dtype fp16")["dtype"] == "fp16");
}

TEST_CASE("two options do not write one file") {
  const std::string folder = natten_sim::test::scratch_folder();
  check_refused("atomics --updates 9 --output " + folder + "/x.svg --picture " + folder + "/x.svg",
                {"picture", "another file than --output"});
  check_refused("atomics --updates 9 --output " + folder + "/./x.svg --picture " + folder + "/x.svg",
                {"output file", "another option writes this one"});
  CHECK_FALSE(std::filesystem::exists(folder + "/x.svg"));
}

TEST_CASE("integers of configurations beyond 64 bits are refused as they are written") {
  const std::string folder = natten_sim::test::scratch_folder();
  const std::string start =
      R"({"schema": "natten-sim.msda-configs/1", "configs": [{"name": "own", "height": 64,
      "width": 64, "channels": 64, "heads": 2, "points": 2, "queries": 5, "source": "test", )";
  natten_sim::test::write_text(folder + "/a.json",
                               start + R"("strides": [8], "batch": 18446744073709551615}]})");
  check_refused("msda --workload " + folder + "/a.json", {"'batch' is 18446744073709551615", "integers"});
  natten_sim::test::write_text(folder + "/b.json",
                               start + R"("strides": [9223372036854775808], "batch": 1}]})");
  check_refused("msda --workload " + folder + "/b.json", {"9223372036854775808", "integers"});
}

TEST_CASE("hot rows share updates evenly, and fp32 pays one service for each") {
  const Json result = result_of("atomics --updates 1000000 --distribution hot:2 --dtype fp32 --width 256");
  CHECK(result["max_multiplicity"] == 500000);
  CHECK(result["bound"] == "hottest-address");
  CHECK(result["sectors"]["red"] == 1000000 * 32);
  // Rows of 1 KiB: 16 sectors on the hottest row's slice, 0.57981 ns each (sector_ns of
  // data/contention.json).
  CHECK(std::abs(result["bounds_ns"]["hottest_address"].get<double>() / (500000 * 16 * 0.57981) - 1) < 0.01);
}

TEST_CASE("a path can be forced, and constructs choose theirs") {
  const std::string load = "atomics --updates 20000 --distribution zipf:1.5 ";
  CHECK(result_of(load + "--dtype bf16")["path"] == "cas");
  CHECK(result_of(load + "--dtype fp32")["path"] == "red");
  CHECK(result_of(load + "--dtype bf16 --path red")["path"] == "red");
  CHECK(result_of(load + "--dtype fp32 --path cas")["sectors"]["red"] == 0);
  CHECK(result_of(load + "--dtype bf16 --construct cuda-atomicadd-bfloat162")["path"] == "atom");
  CHECK(result_of(load + "--dtype bf16 --construct triton-atomic-relaxed")["vector_width"] == 8);
  CHECK(result_of(load + "--dtype bf16 --construct triton-atomic-relaxed --device a100-40gb")["path"] ==
        "cas");
}

TEST_CASE("the saturation trap is predicted and said") {
  const std::string line = "atomics --updates 65536 --distribution hot:1 --dtype bf16 --values ";
  CHECK(result_of(line + "constant")["time_ns"].get<double>() * 10 <
        result_of(line + "normal")["time_ns"].get<double>());
  const auto done = run(line + "constant");
  CHECK(done.err.find("saturate") != std::string::npos);
  CHECK(run(line + "constant --quiet").err.empty());
  CHECK(run("atomics --help").out.find("256 + 1 = 256") != std::string::npos);
}

TEST_CASE("rows come from files") {
  const std::string folder = natten_sim::test::scratch_folder();
  natten_sim::test::write_text(folder + "/rows.csv", "1,1,2\n3,1\n");
  const Json result = result_of("atomics --distribution file:" + folder + "/rows.csv --rows 4");
  CHECK(result["updates"] == 5);
  CHECK(result["max_multiplicity"] == 3);
  CHECK(result["rows_touched"] == 3);
  CHECK(result_of("atomics --updates 2 --distribution file:" + folder +
                  "/rows.csv --rows 4")["max_multiplicity"] == 2);
  const std::int64_t raw[3] = {0, 2, 2};
  natten_sim::test::write_text(folder + "/rows.bin",
                               std::string(reinterpret_cast<const char*>(raw), sizeof raw));
  CHECK(result_of("atomics --distribution file:" + folder + "/rows.bin --rows 4")["updates"] == 3);
  check_refused("atomics --updates 6 --distribution file:" + folder + "/rows.csv --rows 4", {"updates", "5"});
  check_refused("atomics --distribution file:" + folder + "/rows.csv --rows 3", {"index 3 is 3", "0..2"});
  natten_sim::test::write_text(folder + "/nan.csv", "1,nan,2\n");
  check_refused("atomics --distribution file:" + folder + "/nan.csv", {"'nan'"});
  natten_sim::test::write_text(folder + "/short.npy", "\x93NUMPY");
  check_refused("atomics --distribution file:" + folder + "/short.npy", {"truncated"});
  natten_sim::test::write_text(folder + "/odd.bin", "12345");
  check_refused("atomics --distribution file:" + folder + "/odd.bin", {"truncated", "multiple of 8"});
  check_refused("atomics --distribution file:" + folder, {"directory"});
  check_refused("atomics --distribution file:/no/such/file.npy", {"/no/such/file.npy"});
}

TEST_CASE("addresses and sectors are counted once, also where rows share them") {
  const std::string folder = natten_sim::test::scratch_folder();
  natten_sim::test::write_text(folder + "/ten.csv", "0,1,2,3,4,5,6,7,8,9");
  const std::string line =
      "atomics --distribution file:" + folder + "/ten.csv --rows 10 --dtype bf16 --width ";
  CHECK(result_of(line + "1")["addresses"] == 5);   // 20 bytes
  CHECK(result_of(line + "3")["addresses"] == 15);  // 60 bytes
  CHECK(result_of(line + "2")["addresses"] == 10);
  // One pixel, which all samples hit: eight heads of 2 bf16 channels are 32 bytes.
  natten_sim::test::write_text(
      folder + "/pixel.json",
      R"({"schema": "natten-sim.msda-configs/1", "configs": [{"name": "pixel", "batch": 1, "height": 1, "width": 1,
      "strides": [1], "channels": 16, "heads": 8, "points": 2, "queries": 0, "source": "test"}]})");
  const Json pixel =
      result_of("msda --phase backward --offsets uniform --spread 0 --workload " + folder + "/pixel.json");
  CHECK(pixel["reads"] == 16);
  CHECK(pixel["unique_sectors"] == 1);
  CHECK(pixel["addresses"] == 8);
}

TEST_CASE("bad input to atomics and msda names parameter, value and range") {
  check_refused("atomics --rows -5", {"rows", "-5", "1.."});
  check_refused("atomics --updates -1", {"updates", "-1", "0.."});
  check_refused("atomics --width 0", {"width", "'0'", "1.."});
  check_refused("atomics --distribution zipf:-1", {"zipf", "0..16"});
  check_refused("atomics --distribution zipf:99", {"zipf:S", "0..16"});
  check_refused("atomics --distribution zipf:nan", {"'nan'"});
  check_refused("atomics --distribution zipf", {"zipf:S"});
  check_refused("atomics --distribution hot:0", {"distribution", "'0'"});
  check_refused("atomics --distribution hot:100 --rows 10", {"hot rows", "100", "1..10"});
  check_refused("atomics --distribution gauss", {"'gauss'"});
  check_refused("atomics --device gb10", {"device", "gb10"});
  check_refused("atomics --construct torch-scatter-ad", {"did you mean 'torch-scatter-add'?"});
  check_refused("atomics --construct cuda-atomicadd-float --dtype bf16",
                {"cuda-atomicadd-float", "sm90 fp32"});
  check_refused("atomics --construct triton-atomic-relaxed --dtype bf16 --width 12",
                {"width", "12", "multiple of 8", "nearest valid value is 8"});
  check_refused("msda", {"workload"});
  check_refused("msda --workload B4_800x1333_d256_L", {"did you mean 'B4_800x1333_d256_L4'?"});
  check_refused("msda --workload B4_800x1333_d256_L4 --spread -1", {"spread"});
  check_refused("msda --workload B4_800x1333_d256_L4 --dtype fp32 --accumulator bf16",
                {"accumulator", "fp32"});
  check_refused("msda --workload B4_800x1333_d256_L4 --dtype fp16 --accumulator bf16",
                {"accumulator", "fp16"});
  check_refused("msda --workload B4_800x1333_d256_L4 --order hilbrt", {"did you mean 'hilbert'?"});
  check_refused("msda --workload B4_800x1333_d256_L4 --picture-kind remedies --picture x.svg", {"remedies", "a backward pass"});
  check_refused("reproduce msd", {"did you mean 'msda'?"});
}

TEST_CASE("msda's result has the contract's fields, of the right kind") {
  for (const char* phase : {"forward", "backward"}) {
    const Json result =
        result_of(std::string("msda --workload B1_640_d256_L4 --device h100 --phase ") + phase);
    INFO(phase);
    for (const char* field : {"reads", "unique_sectors", "bytes", "flops", "peak_bytes"})
      CHECK(result[field].is_number_integer());
    for (const char* field :
         {"arithmetic_intensity", "occupancy", "l2_hit_rate", "time_ns", "bandwidth_utilization"})
      CHECK(result[field].is_number());
    CHECK(result["bound"].is_string());
    CHECK(result["arithmetic_intensity"].get<double>() ==
          result["flops"].get<double>() / result["bytes"].get<double>());
    CHECK(result["samples"] == 300 * 128);
    if (std::strcmp(phase, "backward") == 0) {
      for (const char* field : {"updates", "addresses", "max_multiplicity", "cas_retries"})
        CHECK(result[field].is_number_integer());
      CHECK(result["updates"] == result["reads"]);
      CHECK(result["sectors"]["red"].get<std::int64_t>() == 2 * result["reads"].get<std::int64_t>());
      CHECK(result["remedies"].is_array());
    }
  }
}

TEST_CASE("a configuration may come from a file, and options from another") {
  const std::string folder = natten_sim::test::scratch_folder();
  natten_sim::test::write_text(
      folder + "/own.json",
      R"({"schema": "natten-sim.msda-configs/1", "configs": [{"name": "own", "batch": 1, "height": 64, "width": 64,
      "strides": [8], "channels": 64, "heads": 2, "points": 2, "queries": 5, "source": "test"}]})");
  CHECK(result_of("msda --workload " + folder + "/own.json")["samples"] == 5 * 2 * 1 * 2);
  natten_sim::test::write_text(folder + "/options.toml",
                               "[msda]\nconfig = \"B1_640_d256_L4\"\ntiling = \"point\"\n");
  CHECK(result_of("msda --options " + folder + "/options.toml") ==
        result_of("msda --workload B1_640_d256_L4 --tiling point"));
  natten_sim::test::write_text(folder + "/bad.json",
                               R"({"schema": "natten-sim.msda-configs/1", "configs": []})");
  check_refused("msda --workload " + folder + "/bad.json", {"no configuration"});
}

TEST_CASE(
    "proxies mislead: the tiling of five times the occupancy and twice the hit rate is seven times slower") {
  for (const char* device : {"a100-40gb", "h100"}) {
    const std::string line =
        std::string("msda --workload B4_800x1333_d256_L4 --device ") + device + " --tiling ";
    const Json block = result_of(line + "block"), point = result_of(line + "point");
    INFO(device);
    CHECK(point["occupancy"].get<double>() > 4 * block["occupancy"].get<double>());
    CHECK(point["l2_hit_rate"].get<double>() > 1.5 * block["l2_hit_rate"].get<double>());
    CHECK(point["time_ns"].get<double>() > 5 * block["time_ns"].get<double>());
    CHECK(point["achieved_bytes_per_s"].get<double>() < block["achieved_bytes_per_s"].get<double>() / 5);
    CHECK(point["bound"] == "memory-parallelism");
  }
}

TEST_CASE("no dispatch order changes the latency by 2%, with an L2 of 4 MiB their misses differ") {
  const std::string line = "msda --workload B4_800x1333_d256_L4 --device a100-40gb --order all --json";
  const auto spread = [&](const std::string& options, const char* field) {
    const Json rows = Json::parse(run(line + options).out)["result"]["orders"];
    CHECK(rows.size() == 7);
    double least = 1e300, most = 0;
    for (const Json& row : rows) {
      least = std::min(least, row[field].get<double>());
      most = std::max(most, row[field].get<double>());
    }
    return most / least;
  };
  CHECK(spread("", "time_ns") < 1.02);
  // Reordering pays where what neighbouring queries share is evicted before it is used again.
  CHECK(spread(" --l2-bytes 4194304", "l2_misses") > 1.05);
}

void check_backends_cross_over(const std::string& workload) {
  const auto time = [&](const char* device, const char* accumulator) {
    return result_of("msda --workload " + workload + " --phase backward --device " + device +
                     " --accumulator " + accumulator)["time_ns"]
        .get<double>();
  };
  CHECK(time("a100-40gb", "bf16") > 4 * time("a100-40gb", "fp32"));
  CHECK(time("h100", "bf16") < time("h100", "fp32"));
  CHECK(time("a100-40gb", "bf16") > 10 * time("h100", "bf16"));
}

TEST_CASE("the backends cross over: fp32 accumulation wins on the A100, native bf16 on the H100") {
  check_backends_cross_over("B1_640_d256_L4");
}

TEST_CASE("the backends cross over at encoder scale too", "[.nightly][long]") {
  check_backends_cross_over("B2_800x1333_d256_L4_enc");
}

TEST_CASE("pictures are SVG documents, the same for the same input") {
  const std::string folder = natten_sim::test::scratch_folder();
  const std::string line = "atomics --updates 9000 --distribution zipf:1.3 --picture " + folder + "/h.svg";
  CHECK(run(line).exit_code == 0);
  CHECK(run("atomics --updates 9000 --distribution zipf:1.3 --picture-kind remedies --picture " + folder + "/r.svg").exit_code == 0);
  const std::string histogram = natten_sim::test::read_text(folder + "/h.svg"),
                    bars = natten_sim::test::read_text(folder + "/r.svg");
  CHECK(histogram.starts_with("<svg"));
  CHECK(histogram.find("hottest: ") != std::string::npos);
  CHECK(bars.find("fp32-accumulator") != std::string::npos);
  CHECK(bars.ends_with("</svg>\n"));
  CHECK(run(line).exit_code == 0);
  CHECK(natten_sim::test::read_text(folder + "/h.svg") == histogram);
  CHECK(run("msda --workload B1_640_d256_L4 --picture " + folder + "/f.svg").exit_code == 0);
  const std::string roofline = natten_sim::test::read_text(folder + "/f.svg");
  for (const char* label : {"DRAM bandwidth", "fp32 peak", "block tiling", "B1_640_d256_L4 forward"}) {
    INFO(label);
    CHECK(roofline.find(label) != std::string::npos);
  }
  // Nothing to draw is no reason to fail.
  CHECK(run("atomics --updates 0 --picture " + folder + "/e.svg").exit_code == 0);
}

TEST_CASE("a file without a row is refused, unless no update is asked for") {
  const std::string file = natten_sim::test::scratch_folder() + "/none.txt",
                    line = "atomics --distribution file:" + file;
  natten_sim::test::write_text(file, "\n");
  check_refused(line, {"distribution", file, "one row number or more"});
  CHECK(result_of(line + " --updates 0")["updates"] == 0);
}

TEST_CASE("a device of a file is asked about like one that ships, and what it lacks is named") {
  const std::string folder = natten_sim::test::scratch_folder();
  Json own = shipped("devices/a100-40gb.json", "devices", "name", "a100-40gb");
  own["name"] = "own";
  const auto options = [&](const char* name) {
    const Json file = {{"schema", "natten-sim.devices/1"}, {"devices", Json::array({own})}};
    natten_sim::test::write_text(folder + "/" + name, file.dump());
    return std::string(" --device own --device-file ") + folder + "/" + name;
  };
  const std::string atomics = "atomics --updates 3000 --distribution zipf:1.2 --rows 500";
  const std::string msda = "msda --workload B1_640_d256_L4 --phase backward";
  check_refused(atomics + options("bare.json"), {"device", "own", "atomics"});
  check_refused(msda + options("bare.json"), {"device", "own", "atomics"});

  own["atomics"] = shipped("contention.json", "devices", "device", "a100-40gb");
  Json updates = result_of(atomics + options("atomics.json")),
       shipped_updates = result_of(atomics + " --device a100-40gb");
  CHECK(updates["calibration"]["fitted_points"] == 0);  // the points are another device's
  CHECK(updates["calibration"]["unfitted_mean_ratio"].is_null());
  updates.erase("calibration");
  shipped_updates.erase("calibration");
  CHECK(updates == shipped_updates);
  check_refused(msda + options("atomics.json"), {"device", "own", "msda_kernels", "block"});

  own["msda_kernels"] = Json::array({shipped("msda-kernels.json", "kernels", "device", "a100-40gb")});
  CHECK(result_of(msda + options("both.json")) == result_of(msda + " --device a100-40gb"));
  own["atomics"].erase("fitted");
  check_refused(atomics + options("half.json"), {"atomics", "own", "'fitted' is missing"});
  check_refused("atomics --updates 9 --device a100", {"a100", "atomics", "a100-40gb"});
}

}  // namespace atomics_test

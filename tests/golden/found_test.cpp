// What mutated inputs and attacks by hand once found, where no other test holds it: docs/reliability.md lists
// each finding with its test.
#include <filesystem>
#include <string>

#include "catch.hpp"
#include "places.hpp"
#include "program.hpp"

namespace found_test {

using namespace natten_sim::test;

const std::string kSmall = "count -i 64 -w 16 -s 8 --q-tile 8 --kv-tile 4";

TEST_CASE("numbers of a device file are whole, in a range, and checked before any command sees them") {
  const std::string folder = scratch_folder(), path = folder + "/device.json";
  const Json shipped = Json::parse(read_text(std::string(natten_sim::test::kSourceDir) + "/data/devices/h200.json"));
  for (const char* field : {"sms", "l2_partitions", "l2_ways", "l2_sector_bytes", "l2_bytes"}) {
    for (const Json& value : {Json(-5), Json(0), Json(132.7), Json(1e19), Json("132"), Json(true),
                              Json((std::int64_t{1} << 62) + 1)}) {
      Json file = shipped;
      file["devices"][0]["name"] = "mine";
      file["devices"][0][field]["value"] = value;
      write_text(path, file.dump());
      INFO(field << " " << value);
      for (const std::string line : {"list devices", "reuse -i 4096 --device mine"})
        check_refused(line + " --device-file " + path, {field, "integers in 1.."});
    }
  }
  // 2^32 + 1, of which 32 bits are 1.
  Json file = shipped;
  file["devices"][0]["sms"]["value"] = 4294967297;
  write_text(path, file.dump());
  check_refused("list devices --device-file " + path, {"sms", "4294967297"});
}

TEST_CASE("rates and times of a device file are finite ones, and quantiles increase") {
  const std::string path = scratch_folder() + "/device.json";
  const Json shipped = Json::parse(read_text(std::string(natten_sim::test::kSourceDir) + "/data/devices/h200.json"));
  const auto refused = [&](const char* field, double value, const std::vector<std::string>& said) {
    Json file = shipped;
    file["devices"][0]["name"] = "mine";
    REQUIRE(file["devices"][0].contains(field));
    file["devices"][0][field]["value"] = value;
    write_text(path, file.dump());
    INFO(field << " " << value);
    check_refused("reuse -i 4096 --device mine --fidelity timed --device-file " + path, said);
  };
  for (const char* rate : {"l2_hit_bandwidth_bytes_per_s", "l2_miss_bandwidth_bytes_per_s",
                           "dram_bandwidth_bytes_per_s", "dense_bf16_flops_per_s", "boost_clock_hz"}) {
    for (const double value : {-1.0, 0.0, 1e-300, 1e300}) refused(rate, value, {rate, "1e3 to 1e21"});
  }
  for (const char* time : {"l2_tile_ns", "dram_tile_ns", "dram_tile_p999_ns"}) {
    for (const double value : {-1.0, 0.0, 1e-300, 1e300}) refused(time, value, {time, "0.001 to 1e9 ns"});
  }
  refused("dram_tile_p90_ns", 1, {"dram_tile_p90_ns", "below 'dram_tile_ns'"});
  refused("dram_tile_p99_ns", 1e8, {"dram_tile_p999_ns", "below 'dram_tile_p99_ns'"});
}

TEST_CASE("a batch from nowhere is an error, not an empty success") {
  CHECK(shell_exit_code("\"$PROGRAM\" " + kSmall + " --batch - <&-") == 2);
  check_refused(kSmall + " --batch " + scratch_folder(), {"batch", "read to its end"});
}

TEST_CASE("numbers that are too small or too large for their type are bad input in a file too") {
  const std::string path = scratch_folder() + "/config.toml";
  for (const char* text : {"window = 1e-320", "window = 1e400", "window = 9223372036854775808",
                           "dense-steps = 1e-320", "attention-share = 1e400", "attention-share = nan"}) {
    write_text(path, std::string(text) + "\n");
    INFO(text);
    check_refused("count -i 64 --q-tile 8 --kv-tile 4 --config " + path, {"accepted"});
  }
}

TEST_CASE("text that is no UTF-8 is bad input, and what is said of it is UTF-8") {
  for (const std::string line :
       {"count --preset '\xff\xfe'", "list '\xc3'", "count -i '\xff'", "validate stream --point '\xff\xfe=1'",
        "schedule --q-tiles 4 --mask 'document:\xff'", "msda --workload '\xff'",
        "reuse -i 4096 --order '\xff'"}) {
    INFO(line);
    const auto done = run(line);
    CHECK(done.exit_code == 2);
    CHECK_NOTHROW(Json(done.err).dump());  // throws on bytes that are no UTF-8
  }
}

TEST_CASE("a path that is no UTF-8 is a path: it is read, written, refused by name, and JSON stays JSON") {
  const std::string folder = scratch_folder(), odd = folder + "/\xff\xc3";
  write_text(odd + ".txt", "0\n1\n1\n");
  const auto done = run("atomics --distribution 'file:" + odd + ".txt' --json");
  INFO(done.err);
  REQUIRE(done.exit_code == 0);
  CHECK(Json::parse(done.out).at("result").at("max_multiplicity") == 2);
  CHECK_NOTHROW(Json::parse(done.out).dump());  // throws on bytes that are no UTF-8
  CHECK(run("list presets --csv --output '" + odd + ".csv'").exit_code == 0);
  CHECK(read_text(odd + ".csv") == run("list presets --csv").out);
  for (const std::string line :
       {"count -i 64 --config ", "count -i 64 --preset-file ", "schedule --table ", "schedule --mask ",
        "validate --recorded ", "diff a.json ", "list devices --device-file ", "count -i 64 --costs "}) {
    const auto refused = run(line + "'" + odd + ".none'");
    INFO(line << refused.err);
    CHECK(refused.exit_code == 2);
    CHECK_NOTHROW(Json(refused.err).dump());
  }
}

TEST_CASE("SMs times CTAs an SM are counted without overflow, and the product has a bound") {
  const std::string folder = scratch_folder(), path = folder + "/devices.json";
  write_text(path, R"({"schema": "natten-sim.devices/1", "devices": [{"name": "wide", "arch": "sm90",
    "default_backend": "hopper-fna", "sms": {"value": 1048576, "measured": false, "source": "made up"}}]})");
  const std::string device = " --device wide --device-file " + path;
  CHECK(run("schedule --q-tiles 4 --algorithm spt --no-conclusion" + device).exit_code == 0);  // 2^20 workers
  // 2^20 SMs times 32 CTAs are 2^25 workers.
  check_refused("schedule --q-tiles 4 --ctas-per-sm 32" + device, {"workers", "33554432", "1..1048576"});
  check_refused("reuse -i 64 --ctas-per-sm 32" + device, {"workers", "33554432", "1..1048576"});
  for (const std::string line : {"schedule --q-tiles 4", "reuse -i 64"}) {
    for (const std::string ctas : {"33", "4096", "2147483647"})
      check_refused(line + " --ctas-per-sm " + ctas + device, {"ctas-per-sm", "1..32"});
  }
}

TEST_CASE("a message stays short, and is cut between characters, however long what it quotes is") {
  std::string accents;
  for (int i = 0; i < 4'000; ++i) accents += "\u00e9";
  for (const std::string line :
       {"count --preset ", "count -i 64 --backend ", "count -i ", "list ", "schedule --mask window:"}) {
    const auto done = run(line + accents);
    INFO(line);
    CHECK(done.exit_code == 2);
    CHECK(done.err.size() <= 4096);
    CHECK_NOTHROW(Json(done.err).dump());
  }
}

TEST_CASE("a folder of pages that cannot be looked at is refused by its name") {
  check_refused("classroom --out pages --pages " + std::string(300, 'a'), {"pages", "build_web.sh"});
  check_refused("classroom --out pages", {"classroom needs --pages DIR", "no pages came with this program"});
}

TEST_CASE("lists that measured cells alone fill have them, or are refused, in every format") {
  const Json cells = result_of("list coverage --measured-only").at("coverage");
  REQUIRE(cells.size() > 100);
  std::size_t measured = 0;
  for (const Json& cell : cells) {
    CHECK(cell.at("transfer").is_null());
    measured += cell.at("evidence") == "measured" ? 1 : 0;
  }
  CHECK(measured > 10);
  const Run csv = run("list coverage --measured-only --csv");
  CHECK(csv.exit_code == 0);
  CHECK(static_cast<std::size_t>(std::count(csv.out.begin(), csv.out.end(), '\n')) == cells.size() + 1);
  for (const char* format : {"", " --csv", " --json"})
    check_refused(std::string("list transfers --measured-only") + format, {"measured-only", "transfers without it"});
}

}  // namespace found_test

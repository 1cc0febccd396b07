// natten-sim reuse as its users see it: the fields, the table of predictions, bad input, files.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <string>

#include "catch.hpp"
#include "places.hpp"
#include "program.hpp"
#include "sanitized.hpp"

namespace reuse_test {

using namespace natten_sim::test;

void check_refused(const std::string& line, const std::vector<std::string>& words,
                   const std::string& input = "") {
  natten_sim::test::check_refused("reuse " + line, words, input);
}

TEST_CASE("the result has the fields of the contract, for every subject and fidelity") {
  const std::string folder = scratch_folder();
  write_text(folder + "/trace", "0\n32 64\n0x0\n");
  for (const std::string& line :
       {std::string("reuse -i 4096 -d 64 --tile 128"), std::string("reuse -i 4096 --tile 128 --device h200"),
        std::string("reuse -i 4096 --tile 128 --causal --device h200 --fidelity lru"),
        std::string("reuse -i 4096 --kernel fa2 --device h200 --fidelity timed"),
        std::string("reuse --stream-bytes 65536 --passes 3 --device h200"),
        std::string("reuse --stream-bytes 65536 --passes 3 --device h200 --fidelity lru --ways 8"),
        "reuse --trace " + folder + "/trace --l2-bytes 64", std::string("reuse -i 8 8 -w 4 4 --tile 4 4")}) {
    const Json result = result_of(line);
    INFO(line);
    for (const char* field :
         {"sectors", "cold_sectors", "miss_sectors", "hit_rate", "dram_read_bytes", "dram_write_bytes",
          "effective_capacity_bytes", "first_noncompulsory_seqlen", "stack_distance"}) {
      INFO(field);
      CHECK(result.contains(field));
    }
    for (const char* field : {"q", "k", "v", "o", "total"}) CHECK(result["sectors"].contains(field));
    CHECK(result["sectors"]["total"].is_number_integer());
    CHECK(result["stack_distance"].contains("mean_bytes"));
    REQUIRE(result["stack_distance"]["histogram"].is_array());
    for (const Json& bucket : result["stack_distance"]["histogram"]) {
      CHECK(bucket["upto_bytes"].is_number_integer());
      CHECK(bucket["count"].is_number_integer());
    }
  }
}

TEST_CASE("causal axes that differ: each of them leaves out the tiles behind its own diagonal") {
  // Two tiles an axis: a causal axis visits 1 + 2 of them, another one 2 + 2; a tile has 4 rows of one
  // sector.
  const std::string line = "reuse -i 4 4 --tile 2 2 -d 16 --no-conclusion";
  const auto answer = [&](const std::string& more) { return Json::parse(run(line + more + " --json").out); };
  const auto keys = [&](const std::string& more) { return answer(more)["result"]["sectors"]["k"]; };
  CHECK(keys("") == 4 * 4 * 4);
  CHECK(keys(" --causal 1 0") == 3 * 4 * 4);
  CHECK(keys(" -c false true") == 4 * 3 * 4);
  CHECK(keys(" --causal") == 3 * 3 * 4);
  CHECK(keys(" -c") == 3 * 3 * 4);
  CHECK(keys(" -c --fidelity lru") == 3 * 3 * 4);
  CHECK(answer(" --causal 1 0")["input"]["causal"] == Json({true, false}));
  CHECK(answer(" --causal 1 1")["input"]["causal"] == true);
  CHECK(answer(" --causal 0 0")["input"]["causal"] == false);
  CHECK(run(line + " --causal 1 0").out.find("attention over 4x4 causal 1x0") != std::string::npos);
  check_refused("-i 4 4 4 --tile 2 2 2 --causal 1 0", {"causal", "2 values", "3 values"});
  check_refused("-i 4 4 --tile 2 2 --causal 1 maybe", {"causal", "maybe"});
  check_refused("--sweep seqlen=64:128:64 --causal 1 0", {"causal", "2 values", "1 value"});
}

TEST_CASE("the closed form gives sectors always, and null for what it cannot tell") {
  const Json causal = result_of("reuse -i 131072 -d 64 --tile 80 --causal --device h200");
  CHECK(causal["sectors"]["total"] == 861'195'392);
  CHECK(causal["miss_sectors"].is_null());
  CHECK(causal["hit_rate"].is_null());
  CHECK(causal["dram_read_bytes"].is_null());
  CHECK(causal["stack_distance"]["mean_bytes"].is_null());
  CHECK(causal["stack_distance"]["histogram"].empty());
  // What fits is read once, whoever reads it.
  const Json fits = result_of("reuse -i 8192 -d 64 --tile 80 --causal --device h200");
  CHECK(fits["miss_sectors"] == fits["cold_sectors"]);
  CHECK(fits["dram_read_bytes"] == 3 * 8192 * 128);
  CHECK(fits["dram_write_bytes"] == 8192 * 128);
}

TEST_CASE("closed form and lockstep simulation print the same numbers") {
  for (const std::string order : {"cyclic", "sawtooth", "descending"}) {
    const std::string line = "reuse -i 135168 -d 64 --tile 128 --device h200 --order " + order;
    Json closed = result_of(line), simulated = result_of(line + " --fidelity lru");
    const double mean = closed["stack_distance"]["mean_bytes"];
    CHECK(std::abs(mean / double(simulated["stack_distance"]["mean_bytes"]) - 1) < 1e-12);
    closed["stack_distance"].erase("mean_bytes");
    simulated["stack_distance"].erase("mean_bytes");
    CHECK(closed == simulated);
  }
}

TEST_CASE("the counters of the recorded H200 stream come out within 1%") {
  // 64 MiB, 8 passes, one counter pass: DRAM bytes cyclic and sawtooth, and L1 sectors exactly.
  const std::string line =
      "reuse --stream-bytes 67108864 --passes 8 --device h200 --order cyclic --compare sawtooth";
  const Json result = result_of(line);
  CHECK(result["sectors"]["total"] == 2'214'592'512);
  CHECK(std::abs(double(result["dram_read_bytes"]) / 537'129'216 - 1) < 0.01);
  CHECK(std::abs(double(result["compare"]["dram_read_bytes"]) / 321'722'112 - 1) < 0.01);
  CHECK(std::abs(double(result["compare"]["reduction"]["dram_read_bytes"]) - (1 - 321.722112 / 537.129216)) <
        0.005);
}

TEST_CASE("best is the proved order for dense attention, else the best of those simulated") {
  CHECK(result_of("reuse -i 131072 --tile 128 --device h200 --order best")["order"] == "sawtooth");
  const std::string causal = "reuse -i 8192 --tile 128 --causal --l2-bytes 400000 --workers 4 --fidelity lru";
  const Json best = result_of(causal + " --order best");
  for (const std::string order : {"cyclic", "sawtooth", "descending"})
    CHECK(best["miss_sectors"] <= result_of(causal + " --order " + order)["miss_sectors"]);
  check_refused("-i 8192 --causal --l2-bytes 400000 --order best", {"order", "best", "fidelity"});
}

TEST_CASE("an order from a file is walked as it stands there") {
  const std::string folder = scratch_folder();
  write_text(folder + "/order", "# two passes\n0 1 2 3\n3,2,1,0\n");
  const std::string line = "reuse -i 512 --tile 128 --l2-bytes 70000 --fidelity lru --order ";
  Json from_file = result_of(line + folder + "/order"), named = result_of(line + "sawtooth");
  from_file.erase("order");
  named.erase("order");
  CHECK(from_file == named);
  write_text(folder + "/order", "0 1 2\n");
  check_refused("-i 512 --tile 128 --fidelity lru --order " + folder + "/order", {"order", "4 KV tiles"});
  check_refused("-i 512 --tile 128 --order " + folder + "/order", {"order", "4 KV tiles"});
  write_text(folder + "/order", "0 1 two 3\n");
  check_refused("-i 512 --tile 128 --fidelity lru --order " + folder + "/order", {"line 1", "column 5"});
  write_text(folder + "/order", "# nothing\n");
  check_refused("-i 512 --tile 128 --fidelity lru --order " + folder + "/order", {"no permutation"});
  check_refused("-i 512 --tile 128 --fidelity lru --order cyclik", {"cyclik", "did you mean 'cyclic'?"});
}
TEST_CASE("the table holds the measured facts: full reads as counted, an explosion under a causal mask") {
  const std::string data = std::string(natten_sim::test::kSourceDir) + "/data";
  const Json table = Json::parse(read_text(data + "/predictions/h200_sdpa_dram.json"));
  const Json counted = Json::parse(read_text(data + "/recordings/nvidia-h200-sdpa-reads.json"));
  std::map<std::string, double> reads;
  const auto cell = [](const Json& kernel, const Json& tokens, const Json& row) {
    return kernel.get<std::string>() + " " + tokens.dump() + " " + row["head_dim"].dump() + " " +
           row["heads"].dump() + " " + row["causal"].dump();
  };
  for (const Json& row : counted["rows"]) {
    const Json& point = row["point"];
    reads[cell(point["implementation"], point["tokens"], point)] =
        row["counters"]["dram_read_bytes"]["median"];
  }
  std::map<std::string, int> within;
  for (const Json& row : table) {
    const double kv = 2 * double(row["seqlen"]) * double(row["head_dim"]) * 2;
    const double times = double(row["dram_read_bytes"]) / kv / double(row["heads"]);
    INFO(row.dump());
    CHECK(times >= 1.5);  // Q is half of K and V
    if (row["causal"] == true && row["seqlen"] == 196608 && row["head_dim"] == 128) CHECK(times > 200);
    if (row["causal"] == true) continue;
    const double ratio = double(row["dram_read_bytes"]) / reads.at(cell(row["kernel"], row["seqlen"], row));
    CHECK(ratio >= 0.6);
    CHECK(ratio <= 1.4);
    within[row["kernel"]] += std::abs(ratio - 1) <= 0.1 ? 1 : 0;
  }
  // Of 28 each.
  CHECK(within["fa2"] >= 18);
  CHECK(within["cudnn"] >= 27);
}

TEST_CASE("the Sawtooth paper's numbers are reproduced, and what is not is known", "[.nightly][long]") {
  const Json rows = result_of("reproduce sawtooth")["rows"];
  std::size_t exact = 0, within = 0;
  for (const Json& row : rows) {
    INFO(row.dump());
    CHECK(row["verdict"] != "OUT OF TOLERANCE");
    if (row["figure"] == "table 2") {
      CHECK(row["published"].get<double>() == row["ours"].get<double>());
      ++exact;
    }
    if (row["figure"] == "figure 9" && !row["published"].is_null()) {
      CHECK(row["verdict"] == "within");
      ++within;
    }
    if (row["verdict"] == "known deviation") CHECK_FALSE(row["note"].get<std::string>().empty());
  }
  CHECK(exact == 2);
  CHECK(within == 6);
}

TEST_CASE("kernels are listed with the sources of their rates") {
  const Json kernels = result_of("list kernels")["kernels"];
  std::vector<std::string> names;
  for (const Json& kernel : kernels) {
    names.push_back(kernel["name"].get<std::string>());
    CHECK_FALSE(kernel["source"].get<std::string>().empty());
    for (const Json& rate : kernel["rates"]) CHECK_FALSE(rate["source"].get<std::string>().empty());
  }
  CHECK(names ==
        std::vector<std::string>{"fa2", "cudnn", "fa3", "flexattention", "hopper-fna", "cutlass-fna"});
  CHECK(run("list kernels --csv").exit_code == 0);
  CHECK(run("list kernels").out.find("fa2") == 0);
}

TEST_CASE("a trace gives its stack distances, from a file or a pipe, decimal or hexadecimal") {
  // Sectors 0 1 2 0: the last is at distance 3 sectors.
  const std::string trace = "# mine\n0\n0x20, 64\n\n0 1\r\n";
  const auto piped = run("reuse --trace - --l2-bytes 96 --json", trace);
  REQUIRE(piped.exit_code == 0);
  const Json result = Json::parse(piped.out)["result"];
  CHECK(result["sectors"]["total"] == 4);
  CHECK(result["cold_sectors"] == 3);
  CHECK(result["miss_sectors"] == 3);
  CHECK(result["stack_distance"]["mean_bytes"] == 96.0);
  CHECK(Json::parse(run("reuse --trace - --l2-bytes 95 --json", trace).out)["result"]["miss_sectors"] == 4);
  check_refused("--trace - --l2-bytes 64", {"line 2", "address"}, "1\nx\n");
  check_refused("--trace -", {"line 1", "size"}, "1 0\n");
  check_refused("--trace -", {"line 1", "size"}, "1 2000000\n");
  check_refused("--trace -", {"line 1", "more than"}, "1 2 3\n");
  check_refused("--trace -", {"line 1", "address"}, "99999999999999999999\n");
  check_refused("--trace -", {"line 1", "256"}, std::string(300, '1') + "\n");
  check_refused("--trace -", {"no access"}, "# only this\n");
  check_refused("--trace /nonexistent/trace", {"trace", "readable"});
  check_refused("--trace /", {"trace", "directory"});
  check_refused("--trace - -i 64", {"--seqlen", "--trace"}, "1\n");
  check_refused("--trace - --fidelity timed", {"fidelity"}, "1\n");
}

TEST_CASE("a long trace streams through little memory") {
  if (kSanitized) return;
  // 4 million lines, 24 MB, over 4096 sectors, in 64 MB of address space, of which the program itself takes
  // most.
  const std::string loop =
      "awk 'BEGIN { for (i = 0; i < 4000000; ++i) print (i % 4096) * 32 }' | "
      "(ulimit -v 65536; \"$PROGRAM\" reuse --trace - --l2-bytes 65536 --json) | grep -q '\"total\": "
      "4000000'";
  CHECK(natten_sim::test::shell_exit_code(loop) == 0);
}

TEST_CASE("a sampled stream comes with its error and is close to the whole") {
  const std::string line =
      "reuse --stream-bytes 33554432 --passes 4 --l2-bytes 20000000 --order sawtooth --fidelity lru";
  const Json whole = result_of(line), sample = result_of(line + " --sample 0.02");
  CHECK(sample["miss_ratio_standard_error"].is_number());
  const double exact = 1 - double(whole["hit_rate"]), estimate = 1 - double(sample["hit_rate"]);
  CHECK(std::abs(exact - estimate) < 4 * double(sample["miss_ratio_standard_error"]) + 0.005);
}

TEST_CASE("sweeps, comparisons and pictures have rows behind them") {
  const std::string folder = scratch_folder();
  const std::string sweep =
      "reuse --sweep seqlen=4096:16384:4096 -d 64 --tile 128 --l2-bytes 1000000 --workers 4";
  const Json result = result_of(sweep);
  REQUIRE(result["sweep"].size() == 4);
  CHECK(result["sweep"][1]["seqlen"] == 8192);
  CHECK(result["sweep"][1]["sectors"] ==
        result_of("reuse -i 8192 -d 64 --tile 128 --l2-bytes 1000000 --workers 4")["sectors"]);
  const auto csv = run(sweep + " --compare sawtooth --csv --picture " + folder + "/sweep.svg");
  CHECK(csv.exit_code == 0);
  CHECK(std::count(csv.out.begin(), csv.out.end(), '\n') == 5);
  CHECK(csv.out.find("compare_reduction_miss_sectors") != std::string::npos);
  CHECK(read_text(folder + "/sweep.svg").find("sequence length") != std::string::npos);
  const std::string one = "reuse -i 16384 -d 64 --tile 128 --l2-bytes 1000000 --workers 4 --fidelity lru";
  for (const std::string picture : {"histogram", "curve"}) {
    const auto rows =
        run(one + " --picture-kind " + picture + " --csv --picture " + folder + "/p.svg --compare sawtooth");
    CHECK(rows.exit_code == 0);
    CHECK(rows.out.find(picture == "curve" ? "order,capacity_bytes,miss_sectors"
                                           : "order,upto_bytes,count") == 0);
    CHECK(rows.out.find("sawtooth,") != std::string::npos);
    const std::string svg = read_text(folder + "/p.svg");
    CHECK(svg.starts_with("<svg"));
    CHECK(svg.ends_with("</svg>\n"));
    CHECK(svg.find("nan") == std::string::npos);
  }
  check_refused("-i 64 --picture-kind curve", {"picture", "--picture"});
  check_refused("-i 64 --picture-kind sweep --csv", {"picture", "--sweep"});
  check_refused("-i 4096 --causal --l2-bytes 1000 --picture " + folder + "/none.svg", {"picture", "fidelity"});
  CHECK_FALSE(std::ifstream(folder + "/none.svg").good());
}

TEST_CASE("bad input names the option, the value and what is accepted") {
  check_refused("", {"seqlen", "--stream-bytes"});
  check_refused("-i 0", {"seqlen", "'0'"});
  check_refused("-i 64 -d 0", {"dim", "'0'"});
  check_refused("-i 64 --tile 0", {"tile", "'0'"});
  check_refused("-i 64 -n 6 --heads-kv 4", {"heads-kv", "4", "divisor"});
  check_refused("-i 64 --dtype bf61", {"dtype", "did you mean 'bf16'?"});
  check_refused("-i 64 --device hh100", {"device", "did you mean 'h100'?"});
  check_refused("-i 64 --kernel fa2x", {"kernel", "did you mean 'fa2'?"});
  check_refused("-i 64 --kernel fa2 -d 80", {"dim", "80", "64, 128"});
  check_refused("-i 64 --schedule gird", {"schedule", "did you mean 'grid'?"});
  check_refused("-i 64 -w 65", {"window", "65", "1..64"});
  check_refused("-i 64 64 -w 8 8", {"q-tile", "several axes"});
  check_refused("-i 64 64 -w 8 8 --tile 8 8 -d 20 --dtype fp16 --sector-bytes 32",
                {"head_dim", "several axes"});
  check_refused("-i 64 --fidelity timed", {"device"});
  check_refused("-i 64 --fidelity timed --device gb10", {"gb10", "l2_hit_bandwidth"});
  check_refused("-i 64 --kernel fa2 -d 64 --fidelity timed --device h100", {"h100"});
  check_refused("-i 64 --jitter 0.1", {"jitter", "timed"});
  check_refused("-i 64 --ways 8", {"ways", "lru"});
  check_refused("-i 64 --ways 8 --fidelity lru", {"ways", "--l2-bytes"});
  check_refused("-i 64 --replacement nru", {"replacement", "--ways"});
  check_refused("--stream-bytes 64 --passes 2 --ways 3 --replacement plru --l2-bytes 64 --fidelity lru",
                {"ways", "power of two"});
  check_refused("-i 64 --sample 0.5 --fidelity lru", {"sample"});
  check_refused("--stream-bytes 64 --sample 0 --fidelity lru", {"sample", "'0'"});
  check_refused("--stream-bytes 64 --sample nan --fidelity lru", {"sample", "nan"});
  check_refused("-i 64 --passes 3", {"passes", "--stream-bytes"});
  check_refused("--stream-bytes 64 -i 64", {"--seqlen", "--stream-bytes"});
  check_refused("--stream-bytes 0", {"stream-bytes", "'0'"});
  check_refused("--stream-bytes 64 --fidelity timed", {"fidelity", "timed"});
  check_refused("--stream-bytes 1099511627776 --fidelity lru", {"stream-bytes", "--sample"});
  check_refused("--sweep seqlen=1:2", {"sweep", "LO:HI:STEP"});
  check_refused("--sweep seqlen=9:2:1", {"sweep", "LO <= HI"});
  check_refused("--sweep tile=1:2:3", {"sweep"});
  check_refused("--sweep seqlen=1:1000000:1", {"sweep", "10000"});
  check_refused("--sweep seqlen=1:9:1 -i 5", {"--seqlen", "--sweep"});
  check_refused("-i 1099511627776 --tile 1", {"overflow"});
  check_refused("-i 1073741824 -w 1 --tile 1 --fidelity lru", {"tiles", "2^26"});
  check_refused("-i 4194304 -d 1024 --tile 4194304 --fidelity lru", {"tiles", "2^30"});
  check_refused("-i 64 --workers 0", {"workers", "'0'"});
  check_refused("-i 64 --l2-bytes -5", {"l2-bytes", "-5"});
}

TEST_CASE("reuse: --workers overrides what the device has") {
  const auto done = run("reuse -i 4096 --device h200 --workers 4 --json");
  CHECK(done.exit_code == 0);
  CHECK(done.out.find("\"workers\": 4") != std::string::npos);
}

TEST_CASE("reuse: a cut Q tile launched first has no closed form") {
  const std::string line =
      "reuse -i 73 -d 16 --dim-value 48 --q-tile 5 --kv-tile 11 --workers 7 --schedule grid --order sawtooth "
      "--l2-bytes 6729 --longest-first --json";
  CHECK(run(line).out.find("\"miss_sectors\": null") != std::string::npos);
  CHECK(run(line + " --fidelity lru").out.find("\"miss_sectors\": 1008") !=
        std::string::npos);  // by brute force
}

TEST_CASE("reuse: a sample that holds nothing and a stream without end are refused") {
  for (const char* line :
       {"reuse --stream-bytes 3200 --passes 4 --sample 1e-6 --l2-bytes 1000 --fidelity lru",
        "reuse --stream-bytes 32 --passes 1099511627776 --fidelity lru --device h200",
        "reuse --stream-bytes 8589934592 --fidelity lru --device h200"}) {
    const auto done = run(line);
    INFO(line << "\n" << done.err);
    CHECK(done.exit_code == 2);
    CHECK(done.out.empty());
  }
}

TEST_CASE("stores hit in the hit rate, as in Nsight Compute's: only loads that read DRAM miss") {
  const Json result = result_of("reuse -i 65536 -d 128 --device h200");
  const double misses = double(result["miss_sectors"]) - double(result["sectors"]["o"]);
  CHECK(double(result["hit_rate"]) == Approx(1 - misses / double(result["sectors"]["total"])).epsilon(1e-12));
}

TEST_CASE("an order that reads less in the same time is not advised, and is told") {
  const Json end =
      conclusion_of("reuse -i 65536 -d 128 --kernel fa2 --l2-bytes 20971520 --device h200 --fidelity timed");
  const std::string change = end["change"];
  CHECK(change.find("no other walk is faster") != std::string::npos);
  CHECK(end["options"].empty());
  CHECK(end["gain"].is_null());
}

}  // namespace reuse_test

// natten-sim mask at its doors: flags, files, requests and what it says first.
#include "catch.hpp"
#include "program.hpp"

namespace mask_test {

using namespace natten_sim::test;

std::string written(const std::string& name, const std::string& text) {
  const std::string path = scratch_folder() + "/" + name;
  write_text(path, text);
  return path;
}

TEST_CASE("a mask's input is a question with the same answer") {
  const Json asked = Json::parse(
      run("mask --mask 'document:512,1024&causal' -n 4 -d 128 --device h200 --backprop --json --no-conclusion").out);
  const Json request = {{"command", "mask"}, {"options", asked["input"]}};
  const Json served = Json::parse(run("serve", request.dump() + "\n").out);
  CHECK(served["result"] == asked["result"]);
}

TEST_CASE("a mask is read from a file, from standard input, and as text") {
  const std::string rows = R"({"indptr": [0, 1, 3], "indices": [0, 0, 1], "shape": [2, 2], "partial": [true, false, true]})";
  const Json of_file = result_of("mask --mask '" + written("rows.json", rows) + "' -d 128 --device h200");
  const Json of_input = Json::parse(run("mask --mask - -d 128 --device h200 --json --no-conclusion", rows).out)["result"];
  const Json of_text = result_of("mask --mask '" + written("rows.txt", "+.\n#+\n") + "' -d 128 --device h200");
  CHECK(of_file["visited_tiles"] == 3);
  CHECK(of_file["full_tiles"] == 1);
  CHECK(of_file == of_input);
  CHECK(of_file == of_text);
}

TEST_CASE("count answers a mask as mask does, by the names of its own options") {
  const std::string rule = "--mask 'document:512,1024&causal|dilated:64' -d 128 -n 4 --device h200 --backprop --dtype bf16";
  const auto counted = [](const std::string& asked) {  // the answer of mask, with its schema
    const Json answer = Json::parse(run("count " + asked + " --json --no-conclusion").out);
    CHECK(answer["schema"] == "natten-sim.mask/1");
    return answer["result"];
  };
  CHECK(counted(rule) == result_of("mask " + rule));
  CHECK(counted("-i 32 48 " + rule) == result_of("mask -i 1536 " + rule));
  const std::string rows = written("count.txt", "+.\n#+\n");
  CHECK(counted("--mask '" + rows + "' --kernel fa4 -d 128 --dtype bf16 --device h200") ==
        result_of("mask --mask '" + rows + "' --kernel fa4 -d 128 --device h200"));
  for (const char* other : {"-w 64", "--causal", "--emit natten", "--ascii", "--tiling single", "--q-tile 8 8"})
    check_refused("count --mask causal -i 1024 " + std::string(other), {"--mask"});
}

TEST_CASE("reuse reads the rows of a mask: of a file, of standard input and of a rule") {
  const std::string sizes = " --tile 128 -d 64 --l2-bytes 200000 --fidelity lru --json --no-conclusion";
  const std::string rows = "++..\n.++.\n..++\n...+\n";
  const auto sectors = [](const Run& run) { return Json::parse(run.out)["result"]["sectors"]; };
  const Json of_file = sectors(run("reuse --mask '" + written("reuse.txt", rows) + "'" + sizes));
  CHECK(of_file["k"] == 7 * 128 * 64 * 2 / 32);
  CHECK(of_file == sectors(run("reuse --mask -" + sizes, rows)));
  CHECK(of_file == sectors(run("reuse --mask 'window:0,127' -i 512" + sizes)));
  check_refused("reuse --mask causal -i 1024 -w 64", {"--mask"});
  check_refused("reuse --mask causal --sweep seqlen=1024:2048:1024", {"--mask"});
}

TEST_CASE("blocks that take surely less time are what to change first, and nothing where that is not sure") {
  const std::string narrow = "mask --mask full -i 4096 -n 16 -d 128 --device h200 --kv-tile 64";
  const Json surely = result_of(narrow);
  const Json& time = surely["time_ms"];
  const Json& other = surely["others"][0];
  const bool sure = other["time_ms"]["high"].get<double>() < time["low"].get<double>();
  CHECK(conclusion_of(narrow)["options"].contains("kv_tile") == sure);
  const std::string usual = "mask --mask full -i 4096 -n 16 -d 128 --device h200";
  const Json kept = result_of(usual);
  CHECK(kept["others"][0]["time_ms"]["high"].get<double>() >= kept["time_ms"]["low"].get<double>());
  CHECK_FALSE(conclusion_of(usual)["options"].contains("kv_tile"));
}

TEST_CASE("the order of the tokens that is faster is what to change first, by as much as asking again says") {
  const std::string asked = "count -i 30 48 80 -w 18 24 24 -n 24 -d 128 --device h200 --kernel flexattention";
  const Json rows = conclusion_of(asked + " --tiling single"), tiles = conclusion_of(asked);
  CHECK(rows["options"]["tiling"] == "multi");
  const double of_rows = result_of(asked + " --tiling single")["time_ms"]["total"].get<double>();
  const double of_tiles = result_of(asked)["time_ms"]["total"].get<double>();
  CHECK(rows["gain"].get<double>() == Approx(of_rows / of_tiles).epsilon(1e-6));
  CHECK_FALSE(tiles["options"].contains("tiling"));
}

TEST_CASE("what is no mask is refused with what is") {
  check_refused("mask --mask casual -i 64", {"casual", "document:LEN"});
  check_refused("mask --mask document:3,4 -i 8", {"document", "a sum of 8"});
  check_refused("mask --mask gna:i=8x8,w=4x4", {"gna", "count"});
}

}  // namespace mask_test

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

TEST_CASE("what is no mask is refused with what is") {
  check_refused("mask --mask casual -i 64", {"casual", "document:LEN"});
  check_refused("mask --mask document:3,4 -i 8", {"document", "a sum of 8"});
  check_refused("mask --mask gna:i=8x8,w=4x4", {"gna", "count"});
}

}  // namespace mask_test

// JSON Schemas of what --json prints: every golden scenario and a line of each kind validates, a document with
// a member less, a member more or a value of another type does not.
#include <filesystem>
#include <map>

#include "catch.hpp"
#include "json_schema.hpp"
#include "places.hpp"
#include "program.hpp"

namespace schema_test {

namespace fs = std::filesystem;
using namespace natten_sim::test;

Json schema_of(const std::string& subcommand) {
  static std::map<std::string, Json> read;
  if (!read.contains(subcommand)) read[subcommand] = Json::parse(run("schema " + subcommand).out);
  return read.at(subcommand);
}

Json document_of(const std::string& line) {
  const Run done = run(line);
  INFO(line << "\n" << done.err);
  REQUIRE((done.exit_code == 0 || done.exit_code == 3));
  return Json::parse(done.out);
}

void check_valid(const std::string& line) {
  INFO(line);
  CHECK(schema_fault(document_of(line), schema_of(line.substr(0, line.find(' ')))) == "");
}

/// Arguments of the golden scenarios, for JSON.
std::vector<std::string> scenario_lines() {
  std::vector<std::string> lines;
  for (const auto& entry : fs::directory_iterator(fs::path(natten_sim::test::kSourceDir) / "tests/golden/scenarios")) {
    const std::string text = read_text(entry.path().string());
    std::string line = text.substr(0, text.find('\n')).substr(std::string("$ natten-sim ").size());
    for (const char* other : {" --csv", " --ascii", " --json", " --picture-kind curve"}) {
      const std::size_t at = line.find(other);
      if (at != std::string::npos) line.erase(at, std::string(other).size());
    }
    lines.push_back(line + " --json");
  }
  return lines;
}

TEST_CASE("every golden scenario is valid by the schema of its subcommand") {
  const std::vector<std::string> lines = scenario_lines();
  REQUIRE(lines.size() >= 25);
  for (const std::string& line : lines) check_valid(line);
}

TEST_CASE("answers of every subcommand are valid, also without a conclusion and from serve") {
  for (const char* line :
       {"count --preset flux1-dev-4k -w 40 48 -s 8 8 --device h100 --json",
        "count -i 77 -w 5 --no-conclusion --json",
        "search -i 48 64 --sparsity 0.5:0.8 --device b200 h200 --json",
        "advise -i 128 128 -n 8 -d 128 --json",
        "plan -i 128 128 -w 16 16 -n 8 -d 128 --device h200 --json",
        "schedule --q-tiles 5 --mask window:2,0 --algorithm descending --critical-path --json",
        "schedule --q-tiles 4 --handoff 2,5 --overlap async:3 --launch-order sections:2 --algorithm "
        "ascending --json",
        "schedule -i 2048 --device h200 --mask causal --kernel fa3 --json",
        "reuse -i 20000 -n 3 --heads-kv 1 --device h200 --fidelity lru --json",
        "reuse --stream-bytes 1048576 --passes 3 --json", "reuse -i 8 8 --tile 4 4 --causal 1 0 --json",
        "atomics --distribution zipf:1.2 --updates 5000 --dtype fp32 --json",
        "msda --workload B1_640_d256_L4 --phase backward --json", "list backends --json", "list --json",
        "calibrate data/kernel-runs/natten-h200.csv --json", "reproduce gna --json"}) {
    const std::string text = line;
    const std::size_t data = text.find("data/");
    check_valid(data == std::string::npos ? text
                                          : text.substr(0, data) + std::string(natten_sim::test::kSourceDir) + "/" + text.substr(data));
  }
  const Run served = run("serve", R"({"command": "count", "options": {"input": [64], "window": [16]}, "id": [1, "x"]})"
                                  "\n");
  CHECK(schema_fault(Json::parse(served.out), schema_of("count")) == "");
}

TEST_CASE(
    "requests of serve have a schema: each subcommand, its options in both spellings, and nothing else") {
  const Json schema = schema_of("serve");
  for (
      const char* request :
      {R"({"command": "count", "options": {"input": [64], "window": 16, "kv-tile": [8], "q_tile": "8"}, "id": [1]})",
       R"({"command": "reuse", "options": {"seqlen": 4096, "causal": true, "kernel": null, "order": "sawtooth"}})",
       R"({"command": "schedule", "options": {"q_tiles": 8, "algorithm": "spt", "no-conclusion": false}, "id": null})",
       R"({"command": "search", "options": {"preset": "wan", "sparsity": [0.9, 0.92], "device": ["h200"], "top": 1}})",
       R"({"command": "list", "options": {"what": "devices"}})", R"({"command": "atomics"})",
       R"({"command": "count", "columns": ["visited_tiles"], "options": {"input": [64]}})"}) {
    INFO(request);
    CHECK(schema_fault(Json::parse(request), schema) == "");
    const Run served = run("serve", std::string(request) + "\n");
    INFO(served.out);
    CHECK_FALSE(Json::parse(served.out).contains("error"));
  }
  for (const char* request :
       {R"({"command": "cont"})", R"({"options": {}})", R"({"command": "count", "option": {}})",
        R"({"command": "count", "options": {"windw": 3}})",
        R"({"command": "count", "options": {"window": {}}})",
        R"({"command": "count", "options": {"output": "file"}})",
        R"({"command": "count", "options": {"csv": true}})",
        R"({"command": "count", "options": {"backprop": "yes"}})",
        R"({"command": "count", "options": {"preset": 5}})",
        R"({"command": "advise", "options": {"preset": true}})",
        R"({"command": "count", "options": {"input": [64], "heads": [1, 2]}})",
        R"({"command": "count", "options": {"input": []}})",
        R"({"command": "schedule", "options": {"algorithm": "sptt"}})", R"([])"}) {
    INFO(request);
    CHECK_FALSE(schema_fault(Json::parse(request), schema).empty());
    CHECK(Json::parse(run("serve", std::string(request) + "\n").out).contains("error"));
  }
}

TEST_CASE("a document that lacks a member, has one too many or a value of another type is not valid") {
  for (const char* line : {"count -i 64 -w 16 --json", "msda --workload B1_640_d256_L4 --json", "atomics --updates 1000 --json"}) {
    INFO(line);
    const std::string text = line;
    const Json whole = document_of(text), schema = schema_of(text.substr(0, text.find(' ')));
    REQUIRE(schema_fault(whole, schema) == "");
    int refused = 0;
    for (const char* part : {"input", "result"}) {
      for (const auto& [key, value] : whole.at(part).items()) {
        INFO(part << "." << key);
        Json other = whole;
        if (key == "conclusion" || value.is_null()) continue;  // what it may be is not known
        other[part][key] = value.is_array() ? Json({{"no", "such value"}}) : Json::array({"no such value"});
        CHECK_FALSE(schema_fault(other, schema).empty());
        ++refused;
      }
      Json more = whole;
      more[part]["no_such_member"] = 1;
      CHECK(schema_fault(more, schema).find("no_such_member") != std::string::npos);
    }
    CHECK(refused > 15);
    for (const char* part : {"schema", "version", "input", "result"}) {
      Json less = whole;
      less.erase(part);
      CHECK_FALSE(schema_fault(less, schema).empty());
    }
    const Json required = schema.at("properties").at("result").at("required");
    REQUIRE(required.size() >= 5);
    for (const Json& key : required) {
      Json less = whole;
      less["result"].erase(key.get<std::string>());
      CHECK(schema_fault(less, schema).find(key.get<std::string>()) != std::string::npos);
    }
  }
  check_refused("schema cuont", {"subcommand", "did you mean 'count'?"});
  check_refused("schema", {"subcommand", "count"});
}

}  // namespace schema_test

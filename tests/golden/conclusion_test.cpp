// Answers end with one sentence, and its numbers are those of the answer and of asking again.
#include <cctype>
#include <cstdio>

#include "catch.hpp"
#include "places.hpp"
#include "program.hpp"

namespace conclusion_test {

using namespace natten_sim::test;
using namespace nlohmann::literals;

const std::vector<std::string> kQuestions = {
    "count --preset hunyuan-video -w 18 24 24 --device h200",
    "count -i 64 -w 16 -s 8 --q-tile 8 --kv-tile 4",
    "search -i 64 64 -w 16 16 --top 2",
    "search -i 64 64 -n 24 -d 128 --device h200 --sparsity 0.90:0.91",
    "advise -i 64 64 -n 24 -d 128 --device h200",
    "reuse -i 131072 -d 64 --device h200",
    "reuse -d 64 --device h200 --sweep seqlen=65536:131072:65536",
    "schedule --q-tiles 8 --heads 2 --mask causal",
    "schedule --q-tiles 8 --heads 2 --mask causal --algorithm spt",
    "schedule -i 8192 --heads 16 --device h200 --kernel fa4 -d 128",
    "atomics --distribution zipf:1.5",
    "msda --workload B1_640_d256_L4",
    "validate stream --recorded RECORDINGS",
    "calibrate data/kernel-runs/natten-h200.csv",
    "reproduce gna",
    "reproduce tiled-attention",
};

std::string one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!blank || (!line.empty() && line.back() != ' ')) line += blank ? ' ' : c;
  }
  return line;
}

std::string from_root(std::string line) {
  const std::string name = "RECORDINGS";
  if (const std::size_t at = line.find(name); at != std::string::npos)
    line.replace(at, name.size(), shipped_recordings({"nvidia-h200-stream"}));
  const std::size_t at = line.find("data/");
  return at == std::string::npos ? line : line.insert(at, std::string(natten_sim::test::kSourceDir) + "/");
}

void check_sentences(const std::vector<std::string>& questions) {
  for (const std::string& question : questions) {
    INFO(question);
    const std::string line = from_root(question);
    const Json end = conclusion_of(line);
    const std::string sentence = end["sentence"].get<std::string>();
    CHECK(sentence.starts_with("In short: "));
    CHECK(sentence.ends_with("."));
    CHECK(one_line(run(line).out).ends_with(sentence + " "));
    CHECK(sentence.find(end["limit"].get<std::string>()) != std::string::npos);
    CHECK(sentence.find(end["certainty"].get<std::string>()) != std::string::npos);
    CHECK(conclusion_of(line + " --no-conclusion").is_null());
    CHECK(run(line + " --no-conclusion").out.find("In short:") == std::string::npos);
  }
}

TEST_CASE("every answer ends with the sentence that its JSON has, and without it on request") {
  check_sentences(kQuestions);
}

TEST_CASE("an answer that takes seconds ends with its sentence too", "[.nightly][long]") {
  check_sentences({"search --preset flux1-dev-4k --device h200 --sparsity 0.90:0.91",
                   "advise --preset flux1-dev-4k --device h200", "msda --workload B4_800x1333_d256_L4",
                   "validate stream --recorded data/recordings", "reproduce sawtooth --figure 'table 3'"});
}

TEST_CASE(
    "a count with its backward pass ends with that pass' time and tiles, and advice says what one call is") {
  const std::string line = "count --preset hunyuan-video -w 18 24 24 -s 2 8 8 --backprop --device h200";
  const Json backward = result_of(line)["backward"];
  const std::string limit = conclusion_of(line)["limit"].get<std::string>();
  CHECK(limit.find("the backward pass takes ") != std::string::npos);
  const auto shape = [](const Json& tile) {
    return tile[0].dump() + "x" + tile[1].dump() + "x" + tile[2].dump();
  };
  CHECK(limit.find("Q tile " + shape(backward["q_tile"]) + " with KV tile " + shape(backward["kv_tile"])) !=
        std::string::npos);
  const std::string counted = conclusion_of("count -i 64 -w 16 --q-tile 8 --kv-tile 4 --backprop")["limit"];
  CHECK(counted.find("the backward pass visits ") != std::string::npos);
  for (const char* use : {"inference", "training"}) {
    const Json end = conclusion_of(std::string("advise -i 64 64 -n 24 -d 128 --device h200 --for ") + use);
    CHECK(end["limit"].get<std::string>().find("one attention of one layer takes") != std::string::npos);
  }
}

TEST_CASE("the gain of a remedy is that of the table of remedies") {
  const Json result = result_of("atomics --distribution zipf:1.5");
  const Json& best = result["remedies"][0];
  const Json end = conclusion_of("atomics --distribution zipf:1.5");
  CHECK(end["gain"] == result["time_ns"].get<double>() / best["time_ns"].get<double>());
  CHECK(end["change"] == "first take " + best["name"].get<std::string>());
}

TEST_CASE("options of a conclusion are options, and taking them gains what it says") {
  const auto words = [](const Json& value) {
    std::string text;
    if (!value.is_array()) return value.get<std::string>();
    for (const Json& each : value) text += each.dump() + " ";
    return text;
  };
  const auto gained = [&](const std::string& line, const Json::json_pointer& field) {
    const Json before = result_of(line), end = conclusion_of(line);
    std::string varied = line;
    for (const auto& [key, value] : end["options"].items()) {
      std::string flag = key;
      for (char& c : flag) c = c == '_' ? '-' : c;
      varied += " --" + flag + " " + words(value);
    }
    REQUIRE(varied != line);
    CHECK(end["gain"].get<double>() ==
          Approx(before[field].get<double>() / result_of(varied)[field].get<double>()));
  };
  gained("count --preset hunyuan-video -w 18 24 24 --device h200", "/time_ms/total"_json_pointer);
  gained("reuse -i 131072 -d 64 --device h200", "/dram_read_bytes"_json_pointer);
  for (const char* rows : {"zipf:1.5 --width 200", "hot:3", "zipf:1 --dtype fp16 --width 40"})
    gained("atomics --distribution " + std::string(rows), "/time_ns"_json_pointer);
}

TEST_CASE("what a count's advice gains end to end is what asking again says") {
  const std::string line = "count --preset hunyuan-video -w 18 24 24 --device h200 ";
  const Json end = conclusion_of(line), before = result_of(line);
  std::string again = line;
  for (const auto& [name, values] : end["options"].items()) {
    std::string option = name;
    for (char& c : option) c = c == '_' ? '-' : c;
    again += "--" + option;
    for (const Json& value : values) again += " " + value.dump();
    again += " ";
  }
  const auto times = [](const Json& result) {
    char text[16];
    (void)std::snprintf(text, sizeof text, "%.2fx", result["e2e_speedup_time"].get<double>());
    return std::string(text);
  };
  const std::string said = times(result_of(again)) + " end to end over dense instead of " + times(before);
  CAPTURE(again, said);
  CHECK(times(before) != times(result_of(again)));
  CHECK(end["sentence"].get<std::string>().find(said) != std::string::npos);
  // Both passes are another question than inference.
  CHECK(conclusion_of(line + "--backprop")["sentence"].get<std::string>().find("end to end") == std::string::npos);
}

TEST_CASE("batches and serve have no sentence unless it is asked for") {
  const Run batch = run("count --batch -", "{\"input\": [64], \"window\": [16]}\n");
  CHECK(batch.exit_code == 0);
  CHECK(batch.out.find("conclusion") == std::string::npos);
  const std::string request = R"({"command": "count", "options": {"input": [64], "window": [16])";
  CHECK(run("serve", request + "}}\n").out.find("conclusion") == std::string::npos);
  CHECK(run("serve", request + R"(, "no-conclusion": false}})" + "\n").out.find("In short") !=
        std::string::npos);
}

TEST_CASE("a launch that reuse advises is an option of reuse") {
  const std::string line =
      "reuse --seqlen 5888 --device h200 --fidelity timed --compare cyclic --heads 2 --l2-bytes 1572864 --window 896";
  const Json options = conclusion_of(line)["options"];
  REQUIRE(options == Json::parse(R"({"interleave_heads": true})"));
  CHECK(run(line + " --interleave-heads --json").exit_code == 0);
}

}  // namespace conclusion_test

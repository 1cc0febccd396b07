// The `input` of an answer is a question: asked again, by a request of `serve`, it has the same answer.
#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/core/random_bits.hpp>

#include "catch.hpp"
#include "cli/command.hpp"
#include "commands.hpp"
#include "places.hpp"
#include "program.hpp"
#include "random.hpp"

namespace echo_test {

using namespace natten_sim::test;

const std::string kSource = natten_sim::test::kSourceDir;

/// At least one question of every subcommand that has --json, most of them examples of its help.
std::vector<std::string> questions() {
  const std::string profile = kSource + "/tests/golden/ncu/attention-h200.csv";
  const std::string line = " " + kSource + "/data/devices/h200.json " + kSource + "/data/devices/h100.json";
  return {
      "count --preset flux1-dev-4k -w 80 80 -s 16 16",
      "count -i 30 48 80 -w 18 24 24 --device h200 -n 24 -d 128",
      "count -i 64 -w 16 -s 8 --q-tile 8 --kv-tile 4",
      "count -i 30 48 80 -w 18 24 24 --device h200 --backprop --add-kv 256 --kernel hopper-fna",
      "count --mask 'document:4096,12288&causal' -n 16 -d 128 --device h200 --kernel flexattention",
      "mask --mask 'causal|prefix:2048' -i 32768 -n 32 -d 128 --device h100 --backprop",
      "search --preset hunyuan-video -w 18 24 24 --q-tile 4 8 8 --kv-tile 2 8 8 --ladder",
      "search -i 64 64 --sparsity 0.5:0.9 --device h200 --top 3",
      "advise -i 64 64 -n 4 -d 64 --device h200",
      "plan -i 16 16 16 -n 24 -d 128 --layers 60 --attention-share 0.6 --device h200 -w 8 8 8",
      "schedule --q-tiles 8 --kv-tiles 8 --heads 2 --mask causal --compute 7 --reduce 2",
      "schedule --q-tiles 6 --kv-tiles 3 --heads 2",
      "schedule -i 8192 --heads 16 -b 2 --device h200 --mask causal --kernel fa4",
      "schedule -i 8192 --q-tile 64 --heads 16 -b 2 --device h200 --mask causal --algorithm spt",
      "reuse -i 32768 -d 64 --tile 80",
      "reuse -i 8192 -d 64 --tile 128 --device h200 --fidelity lru --compare sawtooth",
      "reuse -i 4096 -d 64 --device h200 --sms 66 --fidelity timed --seed 3",
      "reuse --kernel fa2 -i 4096 -d 128 --causal --device h200",
      "reuse --stream-bytes 67108864 --passes 8 --device h200 --order sawtooth",
      "reuse --sweep seqlen=8192:32768:8192 --device h100",
      "msda --workload B1_64x64_d64_L2_h2_p2_q50 --phase backward --device a100-40gb --accumulator fp32",
      "atomics --updates 4096 --rows 1024 --width 256 --distribution zipf:1.5 --dtype bf16",
      "atomics --updates 4096 --distribution hot:4 --dtype fp32 --device a100-40gb",
      "calibrate " + kSource + "/data/kernel-runs/natten-h200.csv --suggestions 1",
      "calibrate --plan --kernel cudnn --device a100",
      "explain " + profile,
      "validate --list",
      "validate reuse --list",
      "validate stream --freeze",
      "validate stream --recorded " + shipped_recordings({"nvidia-h200-stream"}),
      "trust hopper-fna backward --device h100 --answers",
      "reproduce gna --figure 4.5",
      "list",
      "list presets",
      "list hunyuan-video",
      "diff" + line,
  };
}

Json without_conclusion(Json result) {
  result.erase("conclusion");
  return result;
}

TEST_CASE("the input of an answer is a question that has the same answer") {
  std::set<std::string> asked;
  for (const std::string& question : questions()) {
    INFO(question);
    asked.insert(question.substr(0, question.find(' ')));
    const Run first = run(question + " --json --quiet");
    INFO(first.err);
    REQUIRE(!first.out.empty());
    const Json answer = Json::parse(first.out);
    // count --mask answers as mask does, and says so.
    const std::string schema = answer.at("schema").get<std::string>(), head = "natten-sim.";
    const std::string command = schema.substr(head.size(), schema.find('/') - head.size());
    const Json request = {{"command", command}, {"options", answer.at("input")}};
    const Json again = Json::parse(run("serve --quiet", request.dump() + "\n").out);
    INFO(request.dump());
    INFO((again.contains("error") ? again.at("error").dump() : std::string("answered")));
    REQUIRE(again.contains("result"));
    CHECK(again.at("input") == answer.at("input"));
    CHECK(without_conclusion(again.at("result")) == without_conclusion(answer.at("result")));
  }
  for (const natten_sim::cli::Command& command : natten_sim::cli::commands()) {
    const bool has_json = std::any_of(command.options.begin(), command.options.end(),
                                      [](const auto& option) { return option.is_called("json"); });
    INFO(command.name);
    const bool of_an_installed_program = command.name == "classroom";
    CHECK((!has_json || of_an_installed_program || asked.contains(command.name)));
  }
}

/// A question of count with whatever can be chosen, most of them answered.
Json random_count(natten_sim::RandomSequence& random) {
  const auto one_of = [&](const Json& values) { return values[static_cast<std::size_t>(random.below(values.size()))]; };
  Json question = {{"input", one_of(Json::parse("[[5], [80], [384], [6, 5], [48, 5], [16, 16], [64, 64], [6, 100, 5]]"))}};
  const std::size_t rank = question["input"].size();
  if (random.below(3) != 0) {
    Json window;
    for (const Json& length : question["input"])
      window.push_back(std::min(length.get<int>(), one_of({1, 2, 3, 5, 16, 999}).get<int>()));
    question["window"] = window;
  }
  const auto maybe = [&](const char* key, std::uint64_t of, const Json& values) {
    if (random.below(of) == 0) question[key] = one_of(values);
  };
  maybe("device", 2, {"h100", "h200", "b200", "a100", "rtx5090"});
  maybe("kernel", 3, {"hopper-fna", "cutlass-fna", "flexattention", "gna", "fmha", "cudnn", "fa2", "fa4", "ours"});
  maybe("backend", 4, {"hopper-fna", "blackwell-fna", "cutlass-fna", "flex-fna"});
  maybe("head_dim", 2, {16, 64, 96, 128, 192, 256, 512});
  maybe("dtype", 4, {"bf16", "fp32", "e4m3"});
  maybe("kv_tiling", 5, {"static", "dynamic"});
  maybe("backprop", 3, Json::array({true}));
  maybe("deterministic", 6, Json::array({true}));
  maybe("natten", 6, Json::array({"0.21.6"}));
  maybe("causal", 6, Json::array({true}));
  maybe("cyclic", 8, Json::array({true}));
  if (random.below(4) == 0) {
    for (const char* tile : {"q_tile", "kv_tile"}) {
      question[tile] = Json(std::vector<int>(rank, 1));
      question[tile][rank - 1] = one_of({4, 64, 128, 256});
    }
  }
  return question;
}

/// The same of mask, schedule and atomics.
Json random_other(const std::string& command, natten_sim::RandomSequence& random) {
  const auto one_of = [&](const Json& values) { return values[static_cast<std::size_t>(random.below(values.size()))]; };
  Json question = Json::object();
  const auto maybe = [&](const char* key, std::uint64_t of, const Json& values) {
    if (random.below(of) == 0) question[key] = one_of(values);
  };
  if (command == "atomics") {
    question["updates"] = one_of({1, 512, 4096});
    maybe("rows", 2, {16, 1024});
    maybe("width", 2, {1, 64, 256});
    maybe("distribution", 2, {"uniform", "zipf:1.5", "hot:4"});
    maybe("dtype", 2, {"fp16", "bf16"});
    maybe("device", 2, {"a100-40gb", "h100", "h200"});
    return question;
  }
  const bool schedule = command == "schedule";
  question["seqlen_q"] = one_of({512, 1000, 2048});
  if (!schedule) question["mask"] = "full";
  maybe("mask", 1, {"causal", "full", "window:128,0"});
  maybe("heads", 2, {2, 8});
  maybe("head_dim", 2, {64, 96, 128, 256, 512});
  maybe("device", 2, {"h100", "h200", "b200", "a100"});
  maybe("kernel", 2, schedule ? Json{"fa2", "fa3", "fa4", "cudnn", "ours"} : Json{"flexattention", "fa4", "gna"});
  if (schedule) {
    maybe("algorithm", 4, {"ascending", "spt", "shift"});
  } else {
    maybe("backprop", 2, Json::array({true}));
    maybe("q_tile", 3, {8, 64, 128, 192, 256});
  }
  return question;
}

std::vector<Json> answers_of(const std::string& command, const std::vector<Json>& questions) {
  std::string lines;
  for (const Json& question : questions) lines += Json{{"command", command}, {"options", question}}.dump() + "\n";
  std::istringstream replies(run("serve --quiet", lines).out);
  std::vector<Json> answers;
  for (std::string line; std::getline(replies, line);) answers.push_back(Json::parse(line));
  return answers;
}

TEST_CASE("whatever is asked, its echo has the same answer") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  natten_sim::RandomSequence random(seed);
  INFO("NATTEN_SIM_SEED=" << seed);
  for (const std::string command : {"count", "mask", "schedule", "atomics"}) {
    std::vector<Json> questions, echoes, first;
    for (int i = 0; i < (command == "count" ? 400 : 60); ++i)
      questions.push_back(command == "count" ? random_count(random) : random_other(command, random));
    for (Json& answer : answers_of(command, questions)) {
      if (!answer.contains("result")) continue;
      echoes.push_back(answer["input"]);
      first.push_back(std::move(answer));
    }
    INFO(command << ": " << first.size() << " of " << questions.size() << " answered");
    CHECK(first.size() > questions.size() / 4);
    const std::vector<Json> again = answers_of(command, echoes);
    REQUIRE(again.size() == first.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
      INFO(echoes[i].dump());
      REQUIRE(again[i].contains("result"));
      CHECK(again[i]["input"] == echoes[i]);
      CHECK(without_conclusion(again[i]["result"]) == without_conclusion(first[i]["result"]));
    }
  }
}

}  // namespace echo_test

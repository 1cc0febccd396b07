// The `input` of an answer is a question: asked again, by a request of `serve`, it has the same answer.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "cli/command.hpp"
#include "commands.hpp"
#include "places.hpp"
#include "program.hpp"

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

}  // namespace echo_test

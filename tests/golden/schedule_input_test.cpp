// The `input` of `schedule --json`: complete, and accepted as input.
#include <string>

#include "catch.hpp"
#include "program.hpp"

namespace schedule_input_test {

using namespace natten_sim::test;

TEST_CASE("schedule: input echoes every parameter after its default") {
  const Json object =
      Json::parse(run("schedule -i 1000 --seqlen-k 2000 --q-tile 64 -n 6 --heads-kv 2 -b 3 --device "
                      "h200 --ctas-per-sm 2 --mask causal --algorithm spt --json")
                      .out);
  const Json expected = {{"mask", "causal"},
                         {"seqlen_q", 1000},
                         {"seqlen_k", 2000},
                         {"q_tile", 64},
                         {"kv_tile", 128},
                         {"q_tiles", 16},
                         {"kv_tiles", 16},
                         {"heads", 6},
                         {"heads_kv", 2},
                         {"batch_size", 3},
                         {"algorithm", "spt"},
                         {"dispatch", nullptr},
                         {"launch_order", nullptr},
                         {"effort", nullptr},
                         {"seed", 1},
                         {"workers", 264},
                         {"compute", 1.0},
                         {"compute_partial", 1.0},
                         {"reduce", 1.0},
                         {"reduce_kv", 1.0},
                         {"handoff", 0.0},
                         {"handoff_far", 0.0},
                         {"tax", 0.0},
                         {"overlap", "serial"},
                         {"walk", "in-order"},
                         {"prologue", 0.0},
                         {"epilogue", 0.0},
                         {"early_exit", 0.0},
                         {"release", "at-once"},
                         {"dkv_turns", "together"},
                         {"gqa_chains", "query-heads"},
                         {"ctas_per_chain", 1},
                         {"dim", 128},
                         {"dtype", "bf16"},
                         {"heads_in_flight", 61}};                     // 60 MiB over 1000 * 128 * 8 bytes
  CHECK(nlohmann::json(object["input"]) == nlohmann::json(expected));  // in whatever order
  const Json other = Json::parse(run("schedule --q-tiles 4 --handoff 2,5 --overlap async:3 --dispatch static "
                                     "--launch-order sections:2 --effort 7 --seed 9 --json")
                                     .out)["input"];
  CHECK(other["handoff"] == 2);
  CHECK(other["handoff_far"] == 5);
  CHECK(other["overlap"] == "async:3");
  CHECK(other["dispatch"] == "static");
  CHECK(other["launch_order"] == "sections:2");
  CHECK(other["effort"] == 7);
  CHECK(other["seed"] == 9);
  CHECK(other["workers"] == 4);
}

TEST_CASE("schedule: what input echoes is accepted as input, and gives the same result") {
  for (const std::string options :
       {"-i 1000 --seqlen-k 2000 --q-tile 64 -n 6 --heads-kv 2 -b 3 --device h200 --mask causal --algorithm "
        "spt",
        "--q-tiles 4 --heads 2 --handoff 2,5 --overlap async:3 --dispatch static --launch-order sections:2 "
        "--algorithm ascending",
        "--mask gna:i=12x10,w=5x4,s=2x1,q-tile=3x2,kv-tile=2x3 --heads 3 --algorithm best --effort 5 --seed "
        "9",
        "-i 640 --mask varlen:causal:256,128,256 --early-exit 3 --algorithm descending",
        "-i 1024 -n 4 --heads-kv 2 --gqa-chains kv-heads --ctas-per-chain 2 --workers 6 --mask window:200,0 "
        "--release after-next --algorithm spt",
        "--kernel fa4 --device h200 -i 2048 -n 4 --mask window:512,0"}) {
    INFO(options);
    const Json object = Json::parse(run("schedule " + options + " --json --quiet --no-conclusion").out);
    Json given;
    for (const auto& [key, value] : object["input"].items())
      if (!value.is_null()) given[key] = value;
    const Json request = {{"command", "schedule"}, {"options", given}};
    const Json again = Json::parse(run("serve", request.dump() + "\n").out);
    CHECK(again["result"] == object["result"]);
    CHECK(again["input"] == object["input"]);
  }
  // Numbers of tiles that are not those of the tokens, or of the mask, are refused.
  check_refused("schedule -i 640 --q-tiles 4", {"--q-tiles", "--seqlen-q"});
  CHECK(run("schedule -i 640 --q-tiles 5 --algorithm spt --quiet").exit_code == 0);
}

}  // namespace schedule_input_test

// What NATTEN and PyTorch write is read as it stands: their command lines, names of arguments and of element types.
#include "catch.hpp"
#include "json_schema.hpp"
#include "program.hpp"

namespace natten_spellings_test {

using namespace natten_sim::test;

/// The arguments of `python -m natten.profiler ..`, for our `count`.
std::string our_line(const std::string& theirs) {
  const std::string program = "python -m natten.profiler";
  REQUIRE(theirs.starts_with(program));
  return "count" + theirs.substr(program.size(), theirs.find('\n') - program.size());
}

TEST_CASE("the line for NATTEN's profiler is a line of count, and asks the same") {
  for (const char* line :
       {"count --preset flux1-dev-4k -w 80 80 -s 16 16 --device h100", "count -i 64 64 -w 8 8 --device h100 -c 0 1",
        "count -i 1024 -w 64 --device h200 -d 64 --backprop", "count -i 64 64 -w 16 16 --device b200 --dilation 2 2",
        "count -i 512 -w 64 --device h200 --backend cutlass-fna -n 4 --heads-kv 4"}) {
    INFO(line);
    const std::string emitted = run(std::string(line) + " --emit natten-profiler --quiet").out;
    INFO(emitted);
    const Run again = run(our_line(emitted) + " --emit natten-profiler --quiet");
    INFO(again.err);
    CHECK(again.exit_code == 0);
    CHECK(our_line(again.out).find(our_line(emitted)) == 0);
  }
  for (const auto& [theirs, ours] : {std::pair{"coop", "cooperative"}, {"non", "cooperative"}, {"pp", "pingpong"}}) {
    INFO(theirs);
    const std::string line = "count -i 64 64 -w 16 16 --device h200 ";
    for (const char* flag : {"--schedule ", "--kernel-schedule "})
      CHECK(result_of(line + flag + theirs) == result_of(line + "--kernel-schedule " + ours));
  }
  CHECK(result_of("search -i 64 64 -w 16 16 --device h200 --top 1 --schedule pp") ==
        result_of("search -i 64 64 -w 16 16 --device h200 --top 1 --kernel-schedule pingpong"));
  check_refused("count -i 64 -w 8 --schedule grid", {"kernel-schedule", "'grid'", "cooperative pingpong"});
}

TEST_CASE("options read underscores as dashes, and element types by PyTorch's names") {
  CHECK(result_of("count -i 64 --kernel_size 16 --q_tile_shape 8 --kv_tile_shape=4 --num_heads 2 --is_causal") ==
        result_of("count -i 64 -w 16 --q-tile 8 --kv-tile 4 -n 2 -c"));
  CHECK(result_of("count -i 64 -w 16 --backward_q_tile_shape 8 --backward_kv_tile_shape 4 --head_dim 32") ==
        result_of("count -i 64 -w 16 --backward-q-tile 8 --backward-kv-tile 4 -d 32"));
  CHECK(result_of("reuse -i 4096 --num-heads 2") == result_of("reuse -i 4096 -n 2"));
  const std::string file = scratch_folder() + "/python.toml";
  write_text(file, "kernel_size = [16]\nnum_heads = 2\ndtype = \"bfloat16\"\n");
  CHECK(result_of("count -i 64 --config " + file) == result_of("count -i 64 -w 16 -n 2 --dtype bf16"));
  for (const auto& [theirs, ours] : {std::pair{"float16", "fp16"}, {"half", "fp16"}, {"bfloat16", "bf16"}}) {
    INFO(theirs);
    CHECK(result_of(std::string("count -i 64 -w 16 --dtype ") + theirs) ==
          result_of(std::string("count -i 64 -w 16 --dtype ") + ours));
    CHECK(result_of(std::string("atomics --updates 1000 --dtype ") + theirs) ==
          result_of(std::string("atomics --updates 1000 --dtype ") + ours));
    CHECK(run("count -i 64 -w 16 --batch -", std::string(R"({"dtype": ")") + theirs + "\"}\n").exit_code == 0);
  }
  check_refused("atomics --dtype float8_e5m2", {"dtype", "'e5m2'", "fp32 fp16 bf16"});  // no such atomics
  check_refused("count -i 64 --kernel_sise 16", {"--kernel_sise", "unknown option"});
  CHECK(run("help count").out.find("bfloat16") == std::string::npos);  // read, not listed
}

TEST_CASE("the schema of requests has every name that serve reads") {
  const Json schema = Json::parse(run("schema serve").out);
  for (const char* request :
       {R"({"command": "count", "options": {"input_size": 64, "kernel_size": [16], "head_dim": 64}})",
        R"({"command": "count", "options": {"input-size": 64, "window_size": [16], "head-dim": 64, "is_causal": true}})",
        R"({"command": "count", "options": {"i": 64, "w": 16, "dtype": "bfloat16", "device": "h200", "schedule": "pp"}})",
        R"({"command": "search", "options": {"input": 64, "num_heads": 2, "q_tile_shape": 64, "kv_tile_shape": 64, "top": 1}})"}) {
    INFO(request);
    CHECK(schema_fault(Json::parse(request), schema) == "");
    const Run served = run("serve", std::string(request) + "\n");
    INFO(served.out);
    CHECK_FALSE(Json::parse(served.out).contains("error"));
  }
}

}  // namespace natten_spellings_test

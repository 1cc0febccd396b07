#include "catch.hpp"
#include "program.hpp"

namespace {

using namespace natten_sim::test;

const std::string kHunyuan = "count -i 30 48 80 -w 18 24 24 --q-tile 4 8 8 --kv-tile 2 8 8";

TEST_CASE("count's result has the contract's fields, of the right kind") {
  const Json result = result_of(kHunyuan + " -s 16 8 8 --attention-share 0.607 --dense-steps 15/50");
  for (const char* field :
       {"q_tiles", "kv_tiles", "dense_tiles", "visited_tiles", "full_tiles", "partial_tiles",
        "max_tiles_per_q_tile", "attended_pairs", "dense_pairs", "mma_pairs"}) {
    INFO(field);
    REQUIRE(result.contains(field));
    CHECK(result[field].is_number_integer());
  }
  for (const char* field : {"sparsity", "speedup_flop", "speedup_mean", "speedup_worst", "speedup_work"}) {
    INFO(field);
    REQUIRE(result.contains(field));
    CHECK(result[field].is_number());
  }
  CHECK(result["fully_block_sparse"] == true);
  CHECK(result["natten_fast_path"] == true);
  for (const char* field : {"flop", "mean", "worst"}) CHECK(result["e2e_speedup"][field].is_number());
  // 1 / (1 - p + p (k + (1 - k) / 11.11..)) with k = 0.3.
  CHECK(std::abs(result["e2e_speedup"]["worst"].get<double>() -
                 1.0 / (1 - 0.607 + 0.607 * (0.3 + 0.7 * 81 / 900))) < 1e-12);
  CHECK_FALSE(result_of(kHunyuan).contains("e2e_speedup"));
}

TEST_CASE("sizes may be written three ways") {
  const Json spaces = result_of(kHunyuan);
  CHECK(result_of("count -i 30x48x80 -w 18x24x24 --q-tile 4x8x8 --kv-tile 2x8x8") == spaces);
  CHECK(result_of("count -i 30,48,80 -w 18,24,24 --q-tile 4,8,8 --kv-tile 2,8,8") == spaces);
  CHECK(result_of("count --input=30x48x80 --window=18x24x24 --q-tile=4x8x8 --kv-tile=2x8x8") == spaces);
  CHECK(
      result_of("count --preset hunyuan-video -w 18 24 24 --q-tile 4 8 8 --kv-tile 2 8 8")["visited_tiles"] ==
      spaces["visited_tiles"]);
}

TEST_CASE("causal takes true, false, 1 and 0") {
  const Json words = result_of("count -i 8 8 -w 8 8 --q-tile 2 2 --kv-tile 2 2 -c true false");
  CHECK(result_of("count -i 8 8 -w 8 8 --q-tile 2 2 --kv-tile 2 2 -c 1 0") == words);
  CHECK(words["visited_tiles"] == 10 * 16);
}

TEST_CASE("the echoed input alone reproduces the run") {
  const auto first = run(
      "count --preset flux1-dev-4k -w 80 80 -s 16 1 -c 0 0 --add-kv 7 --dense-steps 9/28 --backprop --json");
  const Json input = Json::parse(first.out)["input"];
  std::string line = "count --json --preset " + input["preset"].get<std::string>();
  const auto add = [&](const char* flag, const char* key) {
    line += std::string(" ") + flag;
    for (const Json& value : input[key]) line += " " + value.dump();
  };
  add("-i", "input");
  add("-w", "window");
  add("-s", "stride");
  add("--dilation", "dilation");
  add("-c", "causal");
  add("--q-tile", "q_tile");
  add("--kv-tile", "kv_tile");
  add("--backward-q-tile", "backward_q_tile");
  add("--backward-kv-tile", "backward_kv_tile");
  for (const auto& [flag, key] :
       {std::pair{"-n", "heads"}, std::pair{"--heads-kv", "heads_kv"}, std::pair{"-d", "head_dim"},
        std::pair{"--dim-value", "dim_value"}, std::pair{"-b", "batch_size"}, std::pair{"--add-kv", "add_kv"},
        std::pair{"--attention-share", "attention_share"}}) {
    line += std::string(" ") + flag + " " + input[key].dump();
  }
  for (const auto& [flag, key] : {std::pair{"--kv-tiling", "kv_tiling"}, std::pair{"--tiling", "tiling"},
                                  std::pair{"--backend", "backend"}, std::pair{"--dtype", "dtype"},
                                  std::pair{"--dense-steps", "dense_steps"}}) {
    line += std::string(" ") + flag + " " + input[key].get<std::string>();
  }
  CHECK(run(line).out == first.out);
}

TEST_CASE("without tile shapes the backend's first pair is used, and said") {
  const auto done = run("count -i 30 48 80 -w 18 24 24 --json");
  CHECK(Json::parse(done.out)["input"]["q_tile"] == Json({8, 4, 8}));
  CHECK(Json::parse(done.out)["input"]["backend"] == "blackwell-fna");
  CHECK(done.err.find("8x4x8") != std::string::npos);
  CHECK(done.err.find("default backend") != std::string::npos);
  CHECK(run("count -i 30 48 80 -w 18 24 24 --json --quiet").err.empty());
  CHECK(Json::parse(
            run("count -i 30 48 80 -w 18 24 24 --backend hopper-fna -d 128 --json").out)["input"]["q_tile"] ==
        Json({4, 4, 8}));
  CHECK(Json::parse(run("count -i 30 48 80 -w 18 24 24 --device h100 -d 64 --json").out)["input"]["q_tile"] ==
        Json({4, 4, 4}));
  const Json ampere = Json::parse(run("count -i 64 -w 8 --device a100 --json").out)["input"];
  CHECK(ampere["kv_tiling"] == "dynamic");
  CHECK(ampere["q_tile"] == Json({32}));
}

TEST_CASE("heads and batch multiply FLOPs, and nothing else") {
  Json one = result_of(kHunyuan), many = result_of(kHunyuan + " -n 24 -b 2");
  CHECK(many["flops"]["mma"] == one["flops"]["mma"].get<std::int64_t>() * 48);
  one.erase("flops");
  many.erase("flops");
  CHECK(one == many);
}

TEST_CASE("FLOPs that do not fit are null and leave the counts alone") {
  const Json large = result_of("count -i 2000000000 -w 1024 --q-tile 256 --kv-tile 128");
  CHECK(large["attended_pairs"] == std::int64_t{2000000000} * 1024);
  CHECK(large["flops"]["dense"].is_null());
  CHECK(run("count -i 2000000000 -w 1024 --q-tile 256 --kv-tile 128").exit_code == 0);
}

TEST_CASE("extra KV tokens are reported apart and change no other field") {
  Json with = result_of(kHunyuan + " --add-kv 300");
  CHECK(with["add_kv"]["kv_tiles"] == 3);
  CHECK(with["add_kv"]["visited_tiles"] == 3 * 480);
  CHECK(with["add_kv"]["attended_pairs"] == 300 * 115200);
  with.erase("add_kv");
  CHECK(with == result_of(kHunyuan));
}

TEST_CASE("the backward pass has its own tiles and direction") {
  const Json backward = result_of(kHunyuan + " --backward-q-tile 2 8 8 --backward-kv-tile 4 4 8")["backward"];
  CHECK(backward["kv_tiles"] == 8 * 12 * 10);
  CHECK(backward["q_tiles"] == 15 * 6 * 10);
  CHECK(backward["q_tile"] == Json({2, 8, 8}));
  CHECK(result_of(kHunyuan + " --backprop")["backward"]["q_tile"] == Json({4, 4, 8}));
}

TEST_CASE("dilation: Q tiles and visits over groups, KV and dense tiles of the undilated layout") {
  const Json result = result_of("count -i 10 -w 3 --dilation 3 --q-tile 2 --kv-tile 2");
  CHECK(result["q_tiles"] == 6);
  CHECK(result["kv_tiles"] == 5);
  CHECK(result["dense_tiles"] == 25);
  CHECK(result["visited_tiles"] == 12);
}

TEST_CASE("csv gives a header and one row, json one object") {
  const auto done = run(kHunyuan + " --csv");
  CHECK(done.exit_code == 0);
  CHECK(std::count(done.out.begin(), done.out.end(), '\n') == 2);
  CHECK(done.out.find("visited_tiles") != std::string::npos);
  CHECK(done.out.find("30x48x80") != std::string::npos);
  CHECK(done.out.find(",82368,") != std::string::npos);
}

TEST_CASE("csv keeps inputs and results apart when extra tokens and the backward pass join") {
  const auto done = run(kHunyuan + " --add-kv 300 --backprop --csv");
  for (const char* column :
       {",add_kv,", ",add_kv_tokens,", ",backward_q_tile,", ",backward_visited_tiles,"}) {
    INFO(column);
    CHECK(done.out.find(column) != std::string::npos);
  }
}

TEST_CASE("no window means dense, and is said") {
  const auto done = run("count -i 64 --q-tile 8 --kv-tile 4 --json");
  CHECK(Json::parse(done.out)["result"]["visited_tiles"] == 128);
  CHECK(done.err.find("dense") != std::string::npos);
}

TEST_CASE("the version names compiler and CUDA") {
  const auto done = run("--version");
  CHECK(done.exit_code == 0);
  CHECK(done.out.find("natten-sim 0.") == 0);
  CHECK(done.out.find("compiler ") != std::string::npos);
  CHECK(done.out.find("CUDA ") != std::string::npos);
}

TEST_CASE("help lists every flag of the profiler") {
  const auto done = run("count --help");
  CHECK(done.exit_code == 0);
  CHECK(done.err.empty());
  for (const char* flag : {"-i,",           "-w,",         "-s,",        "--dilation",
                           "-c,",           "--q-tile",    "--kv-tile",  "--backend",
                           "-n,",           "-d,",         "-b,",        "--dtype",
                           "--add-kv",      "--kv-tiling", "--tiling",   "--attention-share",
                           "--dense-steps", "--batch",     "--head-dim", "--svg",
                           "--ascii"}) {
    INFO(flag);
    CHECK(done.out.find(flag) != std::string::npos);
  }
}

}  // namespace

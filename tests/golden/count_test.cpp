#include "catch.hpp"
#include "program.hpp"

namespace count_test {

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
  for (const auto& [flag, key] :
       {std::pair{"--kv-tiling", "kv_tiling"}, std::pair{"--tiling", "tiling"},
        std::pair{"--backend", "backend"}, std::pair{"--dtype", "dtype"},
        std::pair{"--backward-q-tiling", "backward_q_tiling"}, std::pair{"--dense-steps", "dense_steps"}}) {
    if (!input[key].is_null()) line += std::string(" ") + flag + " " + input[key].get<std::string>();
  }
  CHECK(run(line).out == first.out);
}

TEST_CASE("without tile shapes NATTEN's own default of the backend is used, and said") {
  const auto done = run("count -i 30 48 80 -w 18 24 24 --json");
  CHECK(Json::parse(done.out)["input"]["q_tile"] == Json({8, 4, 8}));
  CHECK(Json::parse(done.out)["input"]["backend"].is_null());
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
  CHECK(ampere["q_tile"] == Json({64}));  // NATTEN's default, not the first of the list
}

TEST_CASE("heads and batch multiply FLOPs and the bytes of copies, and nothing else") {
  Json one = result_of(kHunyuan), many = result_of(kHunyuan + " -n 24 -b 2");
  for (const auto& [object, number] : {std::pair{"flops", "mma"}, std::pair{"kernel", "permutation_bytes"}}) {
    CHECK(many[object][number] == one[object][number].get<std::int64_t>() * 48);
    one[object].erase(number);
    many[object].erase(number);
  }
  for (Json* result : {&one, &many}) result->erase("flops");
  CHECK(one == many);
}

TEST_CASE("FLOPs that do not fit are null and leave the counts alone") {
  // 2^120 pairs of 2^8 FLOPs.
  const std::string line = "count -i 1152921504606846976 -w 1 --q-tile 1 --kv-tile 1 -d 64";
  const Json large = result_of(line);
  CHECK(large["attended_pairs"] == std::int64_t{1} << 60);
  CHECK(large["flops"]["dense"].is_null());
  CHECK(run(line).exit_code == 0);
}

TEST_CASE("2^40 tokens count in one, two and three dimensions, on a device and in every format") {
  for (const std::string layout : {"-i 1099511627776 -w 4096 -s 4096", "-i 1048576 1048576 -w 64 64 -s 64 64",
                                   "-i 16384 8192 8192 -w 16 16 16 -s 16 16 16"}) {
    for (const std::string device : {"", " --device h200 -d 128", " --device b200 -d 128 --backprop"}) {
      const std::string asked = "count " + layout + device;
      INFO(asked);
      for (const std::string format : {" --json", " --csv", "", " --batch -"}) {
        const auto done = run(asked + format, format == " --batch -" ? "{}\n" : "");
        CHECK(done.exit_code == 0);
        // 2^80 pairs; text has them in tiles of 128 x 128 on an H200, else of 256 x 128.
        const bool square = device.find("h200") != std::string::npos;
        const char* tiles = square ? "73,786,976,294,838,206,464" : "36,893,488,147,419,103,232";
        CHECK(done.out.find(format.empty() ? tiles : "1208925819614629174706176") != std::string::npos);
      }
    }
  }
}

TEST_CASE("extra KV tokens are reported apart and change no other field") {
  Json with = result_of(kHunyuan + " --add-kv 300");
  CHECK(with["add_kv"]["kv_tiles"] == 3);
  CHECK(with["add_kv"]["visited_tiles"] == 3 * 480);
  CHECK(with["add_kv"]["attended_pairs"] == 300 * 115200);
  CHECK(with["kernel"]["additional"]["name"] == "blackwell-fmha");
  CHECK(with["kernel"]["additional"]["visited_tiles"] == 450 * 3);  // 115,200 / 256 Q tiles, ceil(300 / 128)
  Json without = result_of(kHunyuan);
  CHECK(without["kernel"]["additional"].is_null());
  for (Json* result : {&with, &without}) {
    result->erase("add_kv");
    for (const char* field : {"additional", "speedup"}) (*result)["kernel"].erase(field);
  }
  CHECK(with == without);
}

TEST_CASE("the backward pass has its own tiles and direction") {
  const Json backward = result_of(kHunyuan + " --backward-q-tile 2 8 8 --backward-kv-tile 4 4 8")["backward"];
  CHECK(backward["kv_tiles"] == 8 * 12 * 10);
  CHECK(backward["q_tiles"] == 15 * 6 * 10);
  CHECK(backward["q_tile"] == Json({2, 8, 8}));
  CHECK(result_of(kHunyuan + " --backprop")["backward"]["q_tile"] == Json({4, 4, 8}));
}

TEST_CASE("what the mask needs and what the kernel does stand side by side") {
  const std::string line = "count -i 33 -w 8 --dilation 2 --q-tile 16 --kv-tile 16 --backend hopper-fna";
  const Json result = result_of(line);
  CHECK(result["q_tiles"] == 3);
  CHECK(result["visited_tiles"] == 5);
  CHECK(result["kernel"]["launched_tiles"] == 4);
  CHECK(result["kernel"]["visited_tiles"] == 6);
  CHECK(result["kernel_refusal"]["parameter"] == "q_tile_shape, kv_tile_shape");
  const std::string text = run(line).out;
  for (const char* row : {"Q tiles launched", "tiles visited", "NATTEN 0.21.7 refuses the call"})
    CHECK(text.find(row) != std::string::npos);
  // Tiles of no backend, and none named: nothing is said of NATTEN.
  CHECK(result_of("count -i 33 -w 8 --q-tile 16 --kv-tile 16")["kernel"].is_null());
}

TEST_CASE("the kernel's block has the contract's fields, forward and backward") {
  const Json result =
      result_of("count -i 64 64 -w 16 16 -d 128 --device h200 --attention-share 0.5 --backprop");
  for (const Json* kernel : {&result["kernel"], &result["backward"]["kernel"]}) {
    for (const char* field :
         {"launched_tiles", "empty_tiles", "visited_tiles", "empty_visits", "unmasked_tiles",
          "bounds_masked_tiles", "masked_tiles", "mma_pairs", "permutation_bytes"}) {
      INFO(field);
      CHECK((*kernel)[field].is_number_integer());
    }
    CHECK((*kernel)["name"] == "hopper-fna");
    CHECK((*kernel)["masking"] == "elements");
    CHECK((*kernel)["natten_fast_path"] == false);
    CHECK((*kernel)["dense_path"] == false);
    for (const char* field : {"permutation_ms", "dense_ms"}) CHECK((*kernel)[field].is_number());
    for (const char* field : {"mean", "worst", "work"}) {
      CHECK((*kernel)["speedup"][field].is_number());
    }
    CHECK((*kernel)["dense_rate"] == "time");
    CHECK((*kernel)["speedup_with_permutation"].is_null());  // the ratio of times takes its place
  }
  CHECK(result["kernel"]["schedule"] == "coop");
  CHECK_FALSE(result["kernel"].contains("e2e_speedup"));
  const double time = result["speedup_time"].get<double>();
  CHECK(result["e2e_speedup_time"].get<double>() == Approx(1 / (0.5 + 0.5 / time)));
  CHECK(result["kernel"]["permutation_ms"] == result["time_ms"]["permutation"]);
  CHECK(result["backward"]["kernel"]["permutation_ms"] == result["backward"]["time_ms"]["permutation"]);
}

TEST_CASE("calls on a GB10 have no tiles that NATTEN 0.21.7 refuses there") {
  const std::string line =
      "count -i 64 64 -w 16 16 -n 8 -d 64 --device gb10 --q-tile 8 8 --kv-tile 16 8 --quiet --emit natten";
  check_refused(line, {"q 8x8, kv 16x8", "tile pairs are those that cutlass-fna was compiled for",
                       "the nearest valid value is q 8x4, kv 16x8"});
  CHECK(run(line + " --natten 0.21.6")
            .out.starts_with("# NATTEN 0.21.6 runs cutlass-fna (Q tile 8x8, KV tile 16x8)."));
  check_refused(line + " --natten 0.21.5", {"natten", "0.21.7, 0.21.6"});
}

TEST_CASE("emit prints calls that NATTEN accepts, with what it would fill in") {
  const std::string flux = "count -i 256 256 -w 80 80 -s 16 16 -d 128 -n 24 --device h200 --quiet ";
  CHECK(
      run(flux + "--backprop --add-kv 10 --emit natten").out ==
      "# NATTEN 0.21.7 runs hopper-fna (Q tile 16x8, KV tile 16x8, schedule coop; backward Q tile 8x8, KV "
      "tile "
      "16x8) on tokens that it copies into tiles. The additional keys take a second pass, of hopper-fmha (Q "
      "tile 128, KV tile 128).\n"
      "natten.na2d(query, key, value, kernel_size=(80, 80), stride=(16, 16), dilation=(1, 1), "
      "is_causal=(False, False), additional_keys=additional_keys, additional_values=additional_values, "
      "backend=\"hopper-fna\", q_tile_shape=(16, 8), kv_tile_shape=(16, 8), backward_q_tile_shape=(8, 8), "
      "backward_kv_tile_shape=(16, 8), kernel_schedule=\"coop\")\n");
  CHECK(
      run(flux + "--emit natten-profiler").out ==
      "python -m natten.profiler -i 256 256 -w 80 80 -s 16 16 --dilation 1 1 -b 1 -n 24 -d 128 --dtype fp16 "
      "--backend hopper-fna --q-tile 16 8 --kv-tile 16 8 --schedule coop\n");
  CHECK(run(flux + "--emit flex").out.find("create_block_mask") != std::string::npos);
  CHECK(Json::parse(run(flux + "--emit json").out)["result"]["kernel"] == "hopper-fna");
  CHECK(result_of(flux + "--emit natten")["natten_call"] == run(flux + "--emit natten").out);
  CHECK(run("count -i 4096 --device h100 -d 128 --quiet --emit natten")
            .out.find("# The window covers the input") == 0);
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
                           "--dense-steps", "--batch",     "--head-dim", "--picture",
                           "--ascii"}) {
    INFO(flag);
    CHECK(done.out.find(flag) != std::string::npos);
  }
}

}  // namespace count_test

#include <cmath>
#include <set>

#include "catch.hpp"
#include "places.hpp"
#include "program.hpp"

namespace search_test {

using namespace natten_sim::test;

/// The strides of the candidates, outermost first.
std::vector<Json> strides_of(const Json& result) {
  std::vector<Json> strides;
  for (const Json& candidate : result["candidates"]) strides.push_back(candidate["stride"]);
  return strides;
}

TEST_CASE("long sequences are ranked by time, exactly") {
  const std::string line = "search -i 8192 -n 8 -d 128 --device h200 ";
  CHECK(run("search -i 2600 -n 8 -d 128 --device h200 --top 1").err.find("not ranked") == std::string::npos);
  // 1 - w / 8192 within 0.9060 .. 0.9065: windows of 766 to 770 tokens, which the second search is given.
  const Json free = result_of(line + "--sparsity 0.9060:0.9065 --top 3");
  const Json given = result_of(line + "--window-range 766:770 --distinct window --top 3");
  REQUIRE(free["candidates"].size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(free["candidates"][i]["time_ms"] == given["candidates"][i]["time_ms"]);
    CHECK(free["candidates"][i]["window"] == given["candidates"][i]["window"]);
  }
  CHECK(free["candidates"][0]["window"] == Json({768}));  // block-sparse: six KV tiles of 128
}

TEST_CASE("the stride ladders of tables 4.2 to 4.4, in order") {
  CHECK(strides_of(result_of(
            "search --preset cosmos-predict1-7b -w 16 32 48 --q-tile 8 4 8 --kv-tile 4 4 8 --ladder")) ==
        std::vector<Json>{{1, 1, 1}, {1, 8, 1}, {1, 1, 16}, {1, 8, 16}});
  CHECK(strides_of(result_of(
            "search --preset cosmos-predict1-7b -w 16 24 16 --q-tile 8 4 8 --kv-tile 4 4 8 --ladder")) ==
        std::vector<Json>{{1, 1, 1}, {1, 8, 1}, {1, 1, 16}, {1, 8, 16}});
  CHECK(strides_of(result_of(
            "search --preset hunyuan-video -w 30 40 40 --q-tile 2 16 8 --kv-tile 2 8 8 --ladder")) ==
        std::vector<Json>{{1, 1, 1}, {1, 1, 8}, {1, 32, 8}});
  CHECK(strides_of(
            result_of("search --preset hunyuan-video -w 18 24 24 --q-tile 4 8 8 --kv-tile 2 8 8 --ladder")) ==
        std::vector<Json>{{1, 1, 1}, {2, 1, 1}, {1, 1, 8}, {2, 1, 8}, {1, 8, 8}, {2, 8, 8}, {16, 8, 8}});
  CHECK(
      strides_of(result_of("search --preset flux1-dev-4k -w 80 80 --q-tile 16 16 --kv-tile 16 8 --ladder")) ==
      std::vector<Json>{{1, 1}, {16, 1}, {16, 16}});
}

TEST_CASE("candidates carry the fields of count, with the same values") {
  const Json result = result_of("search -i 256 256 --sparsity 0.9:0.905 --top 3");
  REQUIRE(result["candidates"].size() == 3);
  CHECK(result["space_size"] == std::int64_t{256 * 257 / 2} * (256 * 257 / 2) * 4);
  for (const Json& candidate : result["candidates"]) {
    const auto list = [&](const char* key) {
      std::string text;
      for (const Json& value : candidate[key]) text += " " + value.dump();
      return text;
    };
    const Json count = result_of("count -i 256 256 -w" + list("window") + " -s" + list("stride") +
                                 " --q-tile" + list("q_tile") + " --kv-tile" + list("kv_tile"));
    for (const auto& [key, value] : count.items()) {
      if (key == "kernel") continue;  // candidates say what the mask needs
      INFO(key);
      CHECK(candidate[key] == value);
    }
    CHECK(candidate["backend"] == "blackwell-fna");
    CHECK(candidate["sparsity"].get<double>() >= 0.9);
    CHECK(candidate["sparsity"].get<double>() <= 0.905);
  }
}

TEST_CASE("the same bytes for any number of threads") {
  const std::string line = "search --preset hunyuan-video --sparsity 0.5:0.6 --top 20 --json --threads ";
  const auto one = run(line + "1");
  CHECK(one.exit_code == 0);
  CHECK(run(line + "2").out == one.out);
  CHECK(run(line + "7").out == one.out);
}

TEST_CASE("the default objective is work for several tile pairs and worst for one") {
  CHECK(Json::parse(run("search -i 64 64 --top 1 --json --backend flex-fna").out)["input"]["objective"] ==
        "work");
  CHECK(Json::parse(
            run("search -i 64 --q-tile 8 --kv-tile 4 --any --top 1 --json").out)["input"]["objective"] ==
        "worst");
}

TEST_CASE("end to end ranks as worst does") {
  const std::string line = "search --preset flux1-dev-4k --sparsity 0.9:0.91 --top 5 --objective ";
  const auto choices = [&](const char* objective) {
    Json candidates = result_of(line + objective)["candidates"];
    for (Json& candidate : candidates) candidate.erase("speedup");  // by the objective
    return candidates;
  };
  CHECK(choices("e2e") == choices("worst"));
}

TEST_CASE("nothing feasible: exit 0, no candidates, the nearest feasible sparsity on stderr") {
  const auto done = run("search -i 10 --q-tile 1 --kv-tile 1 --any --sparsity 0.41:0.42 --json");
  CHECK(done.exit_code == 0);
  CHECK(Json::parse(done.out)["result"]["candidates"].empty());
  CHECK(done.err.find("0.4") != std::string::npos);
  CHECK(done.err.find("nearest feasible sparsity is 0.4,") != std::string::npos);
  CHECK(run("search -i 10 --q-tile 4 --kv-tile 4 --any --no-padding").out.empty());
}

TEST_CASE("a Pareto front and a ladder without points name the nearest feasible sparsity too") {
  for (const std::string kind : {"--pareto", "--ladder"}) {
    const auto done = run("search -i 64 64 -w 16 16 --sparsity 0.99:1 " + kind);
    CHECK(done.exit_code == 0);
    CHECK(done.err.find("0.9375") != std::string::npos);
  }
}

TEST_CASE("a CSV without rows keeps its header") {
  const std::string none = run("search -i 64 --sparsity 0.001:0.002 --csv").out,
                    some = run("search -i 64 --csv").out;
  CHECK(std::count(none.begin(), none.end(), '\n') == 1);
  CHECK(some.starts_with(none));
}

TEST_CASE("the nearest feasible sparsity can be asked for as it is printed") {
  for (const std::string layout : {"64 64 --q-tile 4 4 --kv-tile 4 4", "30 48 --q-tile 4 4 --kv-tile 4 4",
                                   "7 11 13 --q-tile 2 2 2 --kv-tile 2 2 2"}) {
    const auto none = run("search -i " + layout + " --any --sparsity 0.33333:0.33333");
    const std::size_t at = none.err.find("--sparsity ");
    INFO(none.err);
    REQUIRE(at != std::string::npos);
    CHECK_FALSE(run("search -i " + layout + " --any " + none.err.substr(at, none.err.find('\n', at) - at))
                    .out.empty());
  }
}

TEST_CASE("constraints hold for every candidate") {
  const Json result = result_of(
      "search --preset hunyuan-video --sparsity 0.85:0.95 --window-multiple-of-kv-tile --max-imbalance 4 "
      "--fully-block-sparse --dense-axes 0 --stride-max 1 16 16 --top 50");
  CHECK(result["candidates"].size() > 0);
  for (const Json& candidate : result["candidates"]) {
    CHECK(candidate["fully_block_sparse"] == true);
    CHECK(candidate["window"][0] == 30);
    CHECK(candidate["stride"][0] == 1);
    double largest = 0, smallest = 1e9;
    const double layout[] = {30, 48, 80};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      CHECK(candidate["window"][axis].get<int>() % candidate["kv_tile"][axis].get<int>() == 0);
      const double ratio = layout[axis] / candidate["window"][axis].get<double>();
      largest = std::max(largest, ratio);
      smallest = std::min(smallest, ratio);
    }
    CHECK(largest / smallest <= 4.0 + 1e-12);
  }
}

TEST_CASE("emit natten prints the call of the winner alone") {
  const auto done =
      run("search --preset hunyuan-video -w 18 24 24 -s 16 8 8 --q-tile 4 8 8 --kv-tile 2 8 8 --emit natten");
  CHECK(done.out ==
        "# NATTEN 0.21.7 runs blackwell-fna (Q tile 4x8x8, KV tile 2x8x8) on tokens that it copies into "
        "tiles.\n"
        "natten.na3d(query, key, value, kernel_size=(18, 24, 24), stride=(16, 8, 8), dilation=(1, 1, 1), "
        "is_causal=(False, False, False), backend=\"blackwell-fna\", q_tile_shape=(4, 8, 8), "
        "kv_tile_shape=(2, 8, 8))\n");
  CHECK(
      run("search -i 64 -w 16 -s 8 --backend cutlass-fna --q-tile 64 --kv-tile 64 -c 1 --emit natten").out ==
      "# NATTEN 0.21.7 runs cutlass-fna (Q tile 64, KV tile 64).\n"
      "natten.na1d(query, key, value, kernel_size=(16,), stride=(8,), dilation=(1,), is_causal=(True,), "
      "backend=\"cutlass-fna\", q_tile_shape=(64,), kv_tile_shape=(64,))\n");
}

TEST_CASE("timing goes to stderr and changes nothing else") {
  const auto with = run("search -i 64 --json --timing"), without = run("search -i 64 --json");
  CHECK(with.out == without.out);
  CHECK(with.err.find(" s, ") != std::string::npos);
}

TEST_CASE("a Pareto front is never truncated, and no point of it dominates another") {
  const Json front =
      result_of("search -i 24 24 --q-tile 4 4 --kv-tile 2 4 --any --pareto --top 2")["candidates"];
  CHECK(front.size() > 2);
  for (const Json& a : front) {
    for (const Json& b : front) {
      if (&a == &b) continue;
      const auto strides = [](const Json& c) {
        return c["stride"][0].get<int>() * c["stride"][1].get<int>();
      };
      const bool dominates = a["attended_pairs"] >= b["attended_pairs"] && strides(a) <= strides(b) &&
                             a["speedup_worst"] >= b["speedup_worst"];
      CHECK_FALSE(dominates);
    }
  }
}

TEST_CASE("a front by time is drawn with a point for each, and dense attention beside it") {
  const std::string path = scratch_folder() + "/front.svg";
  const std::string front = "search -i 24 24 -n 8 -d 128 --device h200 h100 --pareto";
  const Json result = result_of(front);
  std::size_t points = 0;
  for (const Json& device : result["devices"]) points += device["candidates"].size();
  REQUIRE(run(front + " --picture " + path).exit_code == 0);
  const std::string chart = read_text(path);
  for (const char* part : {"time (ms)", "pairs that attend", "dense, h200", "dense, h100", "24x24, 8 heads"})
    CHECK(chart.find(part) != std::string::npos);
  // The picture has a title, and each point one with its numbers, dense attention on both devices too.
  const auto titles = [](const std::string& svg) {
    std::size_t found = 0;
    for (std::size_t at = svg.find("<title>"); at != std::string::npos; at = svg.find("<title>", at + 1)) ++found;
    return found;
  };
  CHECK(titles(chart) == 1 + points + 2);
  // Nobody timed these: a bar for each, by multiplied pairs.
  REQUIRE(run("search -i 24 24 --pareto --picture " + path).exit_code == 0);
  CHECK(titles(read_text(path)) == 1 + result_of("search -i 24 24 --pareto")["candidates"].size());
  CHECK(run("search -i 24 24 -n 8 -d 128 --device h200 --output a --picture a").exit_code == 2);
}

/// Of two heads: one looks 2 tokens far, one 20.
const std::string kTable = std::string(natten_sim::test::kSourceDir) + "/tests/data/attention.npy";
const std::string kRecall = "-i 64 64 -n 2 -d 128 --device h200 --recall " + kTable;

TEST_CASE("--recall says what candidates keep, and with a wish gives a window for each head with its call") {
  const Json rows = result_of("search " + kRecall + " --top 4");
  CHECK(rows["recall"]["windows"].size() == rows["candidates"].size());
  for (const Json& window : rows["recall"]["windows"]) {
    const Json& heads = window["head_recalls"][0];
    CHECK(window["recall"].get<double>() == Approx((heads[0].get<double>() + heads[1].get<double>()) / 2));
    CHECK(heads[0] > heads[1]);  // looks less far
    CHECK(window["least_recall"] == heads[1]);
  }
  const Json chosen = result_of("search " + kRecall + " --least-recall 0.8");
  std::size_t heads = 0;
  for (const Json& launch : chosen["recall"]["launches"]) {
    heads += launch["heads"].size();
    const Json& candidate = chosen["candidates"][launch["candidate"].get<std::size_t>()];
    const Json& window = candidate["window"];
    const std::string size = "kernel_size=(" + window[0].dump() + ", " + window[1].dump() + ")";
    const std::string call = launch["natten_call"].get<std::string>();
    CHECK(call.find(size) != std::string::npos);
    if (launch["heads"].size() == 1) {
      const std::string head = launch["heads"][0].dump(), next = std::to_string(launch["heads"][0].get<int>() + 1);
      CHECK(call.find("output[..., " + head + ":" + next + ", :] = natten.na2d(query[..., " + head + ":" + next + ", :]") == 0);
    }
  }
  // The same calls as one function that is given the layer.
  const std::string function = run("search " + kRecall + " --least-recall 0.8 --emit natten").out;
  CHECK(function.find("def attention(layer, query, key, value):") != std::string::npos);
  for (const Json& launch : chosen["recall"]["launches"])
    CHECK(function.find("        " + launch["natten_call"].get<std::string>() + "\n") != std::string::npos);
  CHECK(heads == 2);
  CHECK(chosen["recall"]["recall"] >= 0.8);
  const Json advised = result_of("advise " + kRecall + " --least-recall 0.8");
  CHECK(advised["devices"][0]["recall"] == chosen["recall"]);
  const Json advice = result_of("advise " + kRecall)["devices"][0];
  CHECK(advice["recall"]["windows"].size() == advice["choices"].size());
  // Lines of a batch wish as the command line does, and several devices have a choice each.
  const std::string line = "{\"recall\": \"" + kTable + "\", \"least_recall\": 0.8, \"device\": [\"h200\", \"h100\"]}";
  const Json both = Json::parse(run("search -i 64 64 -n 2 -d 128 --batch -", line + "\n").out);
  CHECK(both["devices"][0]["recall"] == chosen["recall"]);
  CHECK(both["devices"][1]["recall"]["recall"] >= 0.8);
}

TEST_CASE("wishes that contradict each other or the rest of the line are refused") {
  for (const char* more : {"--least-recall 0.5 --budget-ms 3", "--least-recall 200", "--least-recall 0.5 --pareto", "--least-recall 0.5 --top 3",
                           "--least-recall 0.5 --emit flex", "--csv"})
    CHECK(run("search " + kRecall + " " + more).exit_code == 2);
  for (const std::string command : {"search ", "advise "})
    CHECK(run(command + kRecall + " --csv").err.find("--csv cannot be combined with --recall") != std::string::npos);
  CHECK(run("search -i 64 64 --least-recall 0.5").exit_code == 2);
  CHECK(run("search -i 64 65 -n 2 -d 128 --device h200 --recall " + kTable).err.find("attention.npy") !=
        std::string::npos);
}

TEST_CASE("a table that cannot be read is refused before anything is searched") {
  // A search over 2^20 tokens in a row takes long.
  for (const std::string command : {"search", "advise"}) {
    for (const std::string wish : {"", " --least-recall 0.9"}) {
      const auto done = run(command + " -i 1048576 -n 2 -d 128 --device h200 --recall nowhere.npy" + wish);
      CHECK(done.exit_code == 2);
      CHECK(done.err.find("nowhere.npy") != std::string::npos);
    }
  }
}

TEST_CASE("what NATTEN refuses is left out, counted, and kept by --any") {
  // One axis of 16: pairs of window and stride 16 * 17 / 2 = 136, of which one has a window of 1.
  const Json result = result_of("search -i 16");
  REQUIRE(result["excluded"].size() == 1);
  CHECK(result["excluded"][0]["rule"] == "kernel sizes are 2 or more");
  CHECK(result["excluded"][0]["combinations"] == 1);
  CHECK(result["space_size"] == 136);
  CHECK(result_of("search -i 16 --any")["excluded"].empty());
  CHECK(run("search -i 16").out.find("left out: 1 combination that NATTEN refuses") != std::string::npos);
  check_refused("search -i 64 -w 1", {"kernel_size", "--any"});
  check_refused("search -i 64 -w 16 --q-tile 8 --kv-tile 4", {"blackwell-fna was compiled for", "--any"});
  check_refused("search -i 64 --backend cutlass-fna -d 12", {"multiples of 8", "--any"});
}

TEST_CASE("a search of both passes has the counts of the backward pass of count") {
  const Json result = result_of("search -i 64 64 --sparsity 0.6:0.7 --phase both --top 2");
  REQUIRE(result["candidates"].size() == 2);
  for (const Json& candidate : result["candidates"]) {
    const auto list = [](const Json& shape) {
      std::string text;
      for (const Json& value : shape) text += " " + value.dump();
      return text;
    };
    const Json count =
        result_of("count -i 64 64 -w" + list(candidate["window"]) + " -s" + list(candidate["stride"]) +
                  " --q-tile" + list(candidate["q_tile"]) + " --kv-tile" + list(candidate["kv_tile"]) +
                  " --backward-q-tile" + list(candidate["backward"]["q_tile"]) + " --backward-kv-tile" +
                  list(candidate["backward"]["kv_tile"]));
    for (const auto& [key, value] : count.items()) {
      INFO(key);
      CHECK(candidate[key] == value);
    }
    // Equal head dims: 2 products forward, 5 backward.
    const double both = 7.0 / (2.0 / candidate["speedup_work"].get<double>() +
                               5.0 / candidate["backward"]["speedup_work"].get<double>());
    CHECK(std::abs(candidate["speedup"].get<double>() - both) < 1e-9);
  }
  const Json backward = result_of("search -i 64 64 --sparsity 0.6:0.7 --phase backward --top 1");
  CHECK_FALSE(backward["candidates"][0].contains("q_tile"));
  CHECK(backward["candidates"][0]["speedup"] == backward["candidates"][0]["backward"]["speedup_work"]);
}

TEST_CASE("emit after a search of both passes names the backward tiles") {
  const std::string call =
      run("search -i 64 64 --sparsity 0.6:0.7 --phase both --device h100 --top 1 --emit natten").out;
  CHECK(call.find("backward_q_tile_shape=") != std::string::npos);
  check_refused("search -i 64 64 --device h100 b200 --emit natten", {"emit", "one device"});
}

TEST_CASE("several devices side by side have the answers that each has alone") {
  // By itself the H100 has times to rank by; beside the B200, which has none of this head dim, both go by work.
  const std::string question = "search -i 64 64 --sparsity 0.6:0.7 --top 2 --objective mean --device ";
  const Json both = result_of(question + "h100 b200")["devices"];
  REQUIRE(both.size() == 2);
  CHECK(both[0]["device"] == "h100");
  for (std::size_t i = 0; i < 2; ++i) {
    const Json alone = result_of(question + (i == 0 ? "h100" : "b200"));
    for (const auto& [key, value] : alone.items()) CHECK(both[i][key] == value);
  }
  const std::string text = run(question + "h100 b200").out;
  CHECK(text.find("hopper-fna") != std::string::npos);
  CHECK(text.find("blackwell-fna") != std::string::npos);
}

TEST_CASE("tile sizes are listed apart, the larger first, and the text says why") {
  const auto done = run("search -i 64 64 --backend cutlass-fna --sparsity 0.6:0.7 --top 1");
  CHECK(done.out.find("Tiles of different size are not compared") != std::string::npos);
  CHECK(done.out.find("Q tiles of 64 tokens") < done.out.find("Q tiles of 32 tokens"));
}

TEST_CASE("the default imbalance of a preset is said and echoed, and a given one wins") {
  const auto done = run("search --preset hunyuan-video --sparsity 0.9:0.92 --top 1");
  CHECK(done.out.find("length/window differs by at most 2.5 between axes") != std::string::npos);
  const Json input = Json::parse(run("search --preset hunyuan-video --top 1 --json --quiet").out)["input"];
  CHECK(input["max_imbalance"] == 2.5);
  CHECK(Json::parse(run("search --preset hunyuan-video --top 1 --max-imbalance 9 --json --quiet")
                        .out)["input"]["max_imbalance"] == 9.0);
  CHECK(
      Json::parse(run("search -i 30 48 80 --top 1 --json --quiet").out)["input"]["max_imbalance"].is_null());
}

TEST_CASE("distinct says what a row is") {
  const auto windows = [](const std::string& distinct) {
    const Json candidates =
        result_of("search -i 256 256 --sparsity 0.6:0.7 --top 40 --distinct " + distinct)["candidates"];
    std::set<std::string> seen;
    for (const Json& candidate : candidates) seen.insert(candidate["window"].dump());
    CHECK(candidates.size() == 40);
    return seen.size();
  };
  CHECK(windows("window") == 40);
  CHECK(windows("none") < 40);
  CHECK(windows("none") <= windows("tiles"));
  CHECK(windows("stride") < 40);
}

TEST_CASE("a smallest speedup and the fast path hold for every candidate") {
  const Json result = result_of(
      "search -i 64 64 --sparsity 0.5:0.8 --min-speedup 2.5 --natten-fast-path --objective mean --top 50");
  REQUIRE(result["candidates"].size() > 0);
  for (const Json& candidate : result["candidates"]) {
    CHECK(candidate["natten_fast_path"] == true);
    CHECK(candidate["speedup_mean"] >= 2.5);
  }
  check_refused("search -i 64 --min-speedup 0", {"min-speedup"});
}

}  // namespace search_test

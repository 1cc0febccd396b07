#include <set>

#include "catch.hpp"
#include "program.hpp"

namespace advise_test {

using namespace natten_sim::test;

const std::string kSquare = "advise -i 128 128 -n 24 -d 128 --dtype bf16 --device h200 ";

TEST_CASE("advice echoes what preset and defaults fill in") {
  const auto echoed = Json::parse(run("advise --preset flux1-dev-4k --device h200 --json").out)["input"];
  CHECK(echoed["input"] == Json({256, 256}));
  CHECK(echoed["heads"] == 24);
  CHECK(echoed["heads_kv"] == 24);
  CHECK(echoed["head_dim"] == 128);
  CHECK(echoed["dtype"] == "fp16");
  CHECK(echoed["sparsity"] == Json({0, 0.9}));
  CHECK(echoed["for"] == "inference");
  CHECK(echoed["dense_steps"] == "9/28");
}

TEST_CASE("a sparsity is a range or its upper end, in advice and in searches alike") {
  const Json most = result_of(kSquare + "--sparsity 0.9");
  CHECK(result_of(kSquare + "--sparsity 0:0.9") == most);
  CHECK(most["devices"][0]["choices"].size() == 3);
  const Json within = result_of(kSquare + "--sparsity 0.85:0.9")["devices"][0]["choices"];
  CHECK(within[0] == most["devices"][0]["choices"][0]);
  // 1.5 times the context of 90% sparsity is 85%, no more than twice.
  CHECK(within.size() < 3);
  for (const Json& choice : within) CHECK(choice["sparsity"].get<double>() >= 0.85);
  const std::string search = "search -i 64 64 --top 2 --sparsity ";
  CHECK(result_of(search + "0.9") == result_of(search + "0:0.9"));
  CHECK(result_of(search + "90") == result_of(search + "0:0.9"));
}

TEST_CASE("advice is three distinct choices, each with its time, its call and its check") {
  const Json device = result_of(kSquare + "--attention-share 0.5")["devices"][0];
  REQUIRE(device["choices"].size() == 3);
  std::set<std::string> distinct;
  for (const Json& choice : device["choices"]) {
    distinct.insert(choice["window"].dump());
    CHECK(choice["sparsity"].get<double>() <= 0.9);
    CHECK(choice["total_ms"] >= device["choices"][0]["total_ms"]);
    CHECK(choice["total_ms"] == choice["time_ms"]["total"]);
    CHECK(choice["e2e_speedup_time"].get<double>() > 1);
    CHECK(choice["e2e_speedup_time"].get<double>() < 2);
    CHECK(choice["backward"].is_null());
    CHECK(choice["natten_call"].get<std::string>().find("natten.na2d(") == 0);
    CHECK(choice["natten_profiler"].get<std::string>().find("python -m natten.profiler") == 0);
  }
  CHECK(distinct.size() == 3);
  CHECK(device["choices"][0]["role"] == "fastest");
  CHECK(device["choices"][1]["role"] == "balanced");
  CHECK(device["choices"][2]["role"] == "most-context");
  // The time is the one that count gives.
  const Json& first = device["choices"][0];
  const auto words = [](const Json& extents) { return " " + extents[0].dump() + " " + extents[1].dump(); };
  const Json counted =
      result_of("count -i 128 128 -n 24 -d 128 --dtype bf16 --device h200 --kernel hopper-fna -w" +
                words(first["window"]) + " -s" + words(first["stride"]) + " --q-tile" +
                words(first["q_tile"]) + " --kv-tile" + words(first["kv_tile"]));
  CHECK(counted["time_ms"] == first["time_ms"]);
}

TEST_CASE("advice on cyclic axes says that NATTEN has none, and what runs in their place") {
  const std::string line = "advise -i 64 128 --cyclic 0 1 -n 8 -d 64 --dtype bf16 --device h100 ";
  const std::string text = run(line).out;
  CHECK(text.find("fastest: natten_sim.flex.plan(input=(64, 128), window=(") != std::string::npos);
  CHECK(text.find("NATTEN has no cyclic axes. Padded with tokens of the other end, to 64x") != std::string::npos);
  CHECK(text.find("def around(tensor):  # (batch, 64, 128, heads, dim)") != std::string::npos);
  CHECK(text.find("check it: python -m natten.profiler -i 64 ") != std::string::npos);
  const Json choices = result_of(line)["devices"][0]["choices"];
  REQUIRE(choices.size() == 3);
  for (const Json& choice : choices) {
    CHECK(choice["flex_plan"].get<std::string>().find("cyclic=(False, True)") != std::string::npos);
    const std::string padded = choice["padded"]["input"][1].dump();
    CHECK(choice["natten_profiler"].get<std::string>().find("-i 64 " + padded + " ") != std::string::npos);
    CHECK(choice["natten_call"].get<std::string>().find("query, key, value = around(query)") != std::string::npos);
  }
  CHECK(Json::parse(run(line + "--json").out)["input"]["cyclic"] == Json({false, true}));
}

TEST_CASE("for training the call has the tiles of both passes, and the time is of both") {
  const Json choices = result_of(kSquare + "--for training")["devices"][0]["choices"];
  REQUIRE(choices.size() == 3);
  for (const Json& choice : choices) {
    const double forward = choice["time_ms"]["total"].get<double>();
    const double backward = choice["backward"]["time_ms"]["total"].get<double>();
    CHECK(choice["total_ms"].get<double>() == Approx(forward + backward));
    CHECK(choice["natten_call"].get<std::string>().find("backward_q_tile_shape=") != std::string::npos);
    CHECK(choice["e2e_speedup_time"].is_null());
  }
  check_refused(kSquare + "--for inferrence", {"for", "did you mean 'inference'?"});
}

TEST_CASE(
    "the fastest choice takes what search by time finds, and its windows are not padded where they need not "
    "be") {
  for (const std::string& where : {std::string("-i 128 128 -n 24 -d 128 --device b200"),
                                   std::string("--preset cosmos-predict1-7b --device h200")}) {
    INFO(where);
    const Json choices = result_of("advise " + where)["devices"][0]["choices"];
    const Json found =
        result_of("search " + where + " --sparsity 0:0.90 --max-imbalance 2.5 --objective time --top 1");
    CHECK(choices[0]["time_ms"]["total"] == found["candidates"][0]["time_ms"]["total"]);
    CHECK(choices[0]["window"] == found["candidates"][0]["window"]);
    for (const Json& choice : choices) CHECK(choice["wasted_flop_share"].get<double>() < 0.2);
  }
}

TEST_CASE("where every window is slower than dense attention, dense attention is advised") {
  for (const char* share : {"5%", "2%"}) {
    const std::string line = std::string("advise --preset hunyuan-video --device h200 --sparsity ") + share;
    const Json device = result_of(line)["devices"][0], conclusion = conclusion_of(line);
    for (const Json& choice : device["choices"])
      CHECK(choice["window"] != Json({30, 48, 80}));  // that is dense
    REQUIRE_FALSE(device["choices"].empty());
    CHECK(device["choices"][0]["speedup_time"].get<double>() < 1);
    CHECK(conclusion["change"] == "keep dense attention, or wish for more sparsity");
    CHECK(conclusion["options"].empty());
  }
  const std::string line = "search --preset hunyuan-video --device h200 --window 29 48 80 --top 1";
  const Json found = result_of(line);
  CHECK(found["candidates"][0]["speedup"].get<double>() < 1);
  CHECK(conclusion_of(line)["change"] == "keep dense attention, or search for more sparsity");
}

TEST_CASE("one configuration has one end-to-end speedup in advise, count and search") {
  const Json choice = result_of("advise --preset hunyuan-video --device h200")["devices"][0]["choices"][0];
  std::string line = " --preset hunyuan-video --device h200";
  for (const auto& [flag, key] : {std::pair{" -w", "window"}, {" -s", "stride"}, {" --q-tile", "q_tile"},
                                  {" --kv-tile", "kv_tile"}}) {
    line += flag;
    for (const Json& size : choice[key]) line += " " + size.dump();
  }
  const double advised = choice["e2e_speedup_time"].get<double>();
  CHECK(result_of("count" + line)["e2e_speedup_time"].get<double>() == Approx(advised));
  CHECK(result_of("search" + line)["candidates"][0]["e2e_speedup_time"].get<double>() == Approx(advised));
}

TEST_CASE("a wished speedup is reached, with copies") {
  const Json device = result_of(kSquare + "--speedup 3")["devices"][0];
  REQUIRE(!device["choices"].empty());
  for (const Json& choice : device["choices"]) CHECK(choice["speedup_time"].get<double>() >= 3);
}

TEST_CASE("a speedup out of reach says what can be had, and one at high sparsity is found") {
  const Json none = result_of(kSquare + "--speedup 500")["devices"][0];
  CHECK(none["choices"].empty());
  CHECK(none["missing"].get<std::string>().find("times as fast as dense") != std::string::npos);
  const Json device =
      result_of("advise -i 160 160 -n 24 -d 128 --dtype bf16 --device h200 --speedup 15")["devices"][0];
  REQUIRE(!device["choices"].empty());
  for (const Json& choice : device["choices"]) CHECK(choice["speedup_time"].get<double>() >= 15);
}

TEST_CASE("devices stand side by side in one table, separated by commas too") {
  const auto text = run("advise -i 128 128 -n 24 -d 128 --device h200,b200");
  CHECK(text.exit_code == 0);
  CHECK(text.out.starts_with("device "));
  CHECK(text.out.find("\nh200  ") != std::string::npos);
  CHECK(text.out.find("\nb200  ") != std::string::npos);
  CHECK(text.out == run("advise -i 128 128 -n 24 -d 128 --device h200 b200").out);
  // Names and hints ignore case.
  CHECK(text.out == run("advise -i 128 128 -n 24 -d 128 --device H200 B200").out);
  check_refused("advise -i 128 128 -n 24 -d 128 --device HH100", {"HH100", "did you mean 'h100'"});
}

TEST_CASE("advice without any time has no legend of a table, and names head dims that have times") {
  const auto text = run("advise -i 256 256 --device b200 --measured-only");
  CHECK(text.out.find("blackwell-fna (head dim 128)") != std::string::npos);
  CHECK(text.out.find("Times are of one call") == std::string::npos);
}

TEST_CASE("a device without measurements says what is missing, beside one that has them") {
  const auto text = run("advise -i 128 128 -n 24 -d 128 --device h200 a100 --measured-only");
  CHECK(text.exit_code == 0);
  CHECK(text.out.find("a100: no measured times") != std::string::npos);
  CHECK(text.out.find("fastest") != std::string::npos);
  // Where nobody has timed the kernel, another wish would not help.
  const auto untimed = run("advise -i 256 256 -n 24 -d 64 --device b200 --measured-only");
  CHECK(untimed.out.find("nobody has timed the kernel there, so no configuration is known to be fast") !=
        std::string::npos);
  check_refused("advise -d 128", {"input"});
  check_refused(kSquare + "--sparsity 200", {"sparsity"});
  check_refused(kSquare + "--speedup 2 --sparsity 0.5", {"sparsity"});
}

/// Presets whose advice for training takes a second or more.
bool is_long(const std::string& preset) {
  const std::set<std::string> all = {"hunyuan-video-129f", "wan2-1-14b-720p", "nat-tiny-224-stage1",
                                     "dinat-tiny-224-stage1", "hdit-flowers-256-level1"};
  return all.contains(preset);
}

void check_advice_on_h100(const std::string& preset, const std::string& use) {
  INFO(preset << " for " << use);
  const Json device = result_of("advise --preset " + preset + " --device h100 --for " + use)["devices"][0];
  REQUIRE_FALSE(device["choices"].empty());
  for (const Json& choice : device["choices"]) CHECK(choice["total_ms"].get<double>() > 0);
}

TEST_CASE("advice for training names the dense times of both passes, over whose sum its gain is") {
  const std::string asked = kSquare + "--for training";
  const Json choice = result_of(asked)["devices"][0]["choices"][0];
  const Json &forward = choice["time"], &backward = choice["backward"]["time"];
  const double dense_ms = forward["dense_ms"].get<double>() + backward["dense_ms"].get<double>();
  CHECK(choice["speedup"].get<double>() == Approx(dense_ms / choice["total_ms"].get<double>()));
  const std::string text = run(asked).out;
  const std::size_t dense = text.find("h200: dense (" + forward["dense_kernel"].get<std::string>() + ") takes ");
  REQUIRE(dense != std::string::npos);
  const std::string line = text.substr(dense, text.find('\n', dense) - dense);
  CHECK(line.find(" forward, ") != std::string::npos);
  CHECK(line.ends_with(" backward (" + backward["dense_kernel"].get<std::string>() + ")"));
}

TEST_CASE("every preset gets advice on an H100, for inference and for training") {
  const Json listed = result_of("list presets");
  REQUIRE(listed["presets"].size() == 28);
  for (const Json& preset : listed["presets"]) {
    const auto name = preset["name"].get<std::string>();
    check_advice_on_h100(name, "inference");
    if (!is_long(name)) check_advice_on_h100(name, "training");
  }
}

TEST_CASE("presets with many equal times, or a large layout, get advice for training too",
          "[.nightly][long]") {
  const Json presets = result_of("list presets");
  for (const Json& preset : presets["presets"]) {
    const auto name = preset["name"].get<std::string>();
    if (is_long(name)) check_advice_on_h100(name, "training");
  }
}

}  // namespace advise_test

// Other ways to say the same: NATTEN's names, names in another case, beginnings of names, per cent, and spellings of
// earlier versions.
#include "catch.hpp"
#include "program.hpp"

namespace spellings_test {

using namespace natten_sim::test;

Json json_of_request(const std::string& request) {
  return Json::parse(run("serve", request + "\n").out)["result"];
}

TEST_CASE("NATTEN's own names of options mean ours") {
  CHECK(result_of("count -i 64 --kernel-size 16 --is-causal 1 --q-tile-shape 8 --kv-tile-shape=4") ==
        result_of("count -i 64 --window 16 --causal 1 --q-tile 8 --kv-tile 4"));
  CHECK(result_of("count -i 64 -w 16 --backward-q-tile-shape 8 --backward-kv-tile-shape 4") ==
        result_of("count -i 64 -w 16 --backward-q-tile 8 --backward-kv-tile 4"));
  CHECK(result_of("search -i 64 --kernel-size 16 --top 1") == result_of("search -i 64 -w 16 --top 1"));
  CHECK(result_of("reuse -i 4096 --is-causal") == result_of("reuse -i 4096 --causal"));
  CHECK(run("count -i 64 --kernel-size 16").err.find("old spelling") == std::string::npos);
  check_refused("count -i 64 --kernel-size 16 -w 16", {"window", "given twice"});
  const std::string file = scratch_folder() + "/natten.toml";
  write_text(file, "kernel-size = [16]\n");
  CHECK(result_of("count -i 64 --config " + file) == result_of("count -i 64 -w 16"));
}

TEST_CASE("spellings of an earlier version are read, with a note that --quiet leaves out") {
  const std::string workload = "B1_640_d256_L4";
  const Run old = run("msda --config " + workload);
  CHECK(old.exit_code == 0);
  CHECK(old.err.find("--config is an old spelling here: --workload is the new one") != std::string::npos);
  CHECK(old.out == run("msda --workload " + workload).out);
  CHECK(run("msda --config " + workload + " --quiet").err.empty());
  const std::string file = scratch_folder() + "/msda.toml";
  write_text(file, "workload = \"" + workload + "\"\n");
  CHECK(run("msda --config " + file).out == old.out);
  CHECK(run("msda --config " + file).err.find("old spelling") == std::string::npos);
  CHECK(run("msda --options " + file).out == old.out);
  // A card is a number, a profile has a name.
  CHECK(run("validate --check-only --device 1024").err.find("--gpu is the new one") != std::string::npos);
  check_refused("validate --check-only --device h200", {"--device", "--gpu"});
}

TEST_CASE("one word has one meaning in every subcommand that has it") {
  // Two lines that have to be answered alike.
  const std::vector<std::pair<std::string, std::string>> kSame = {
      {"count -i 64 64 -w 9 9 --causal 1 0", "count -i 64 64 -w 9 9 -c true false"},
      {"search -i 64 64 -w 9 9 --causal 1 0 --top 1", "search -i 64 64 -w 9 9 --is-causal 1 0 --top 1"},
      {"reuse -i 4096 --causal 1", "reuse -i 4096 --causal"},
      {"reuse -i 4096 --causal 0", "reuse -i 4096"},
      {"reuse -i 64 64 --q-tile 8 8 --kv-tile 8 8 --causal true true",
       "reuse -i 64 64 --q-tile 8 8 --kv-tile 8 8 -c"},
      {"reuse -i 64 64 --q-tile 8 8 --kv-tile 8 8 -w 9 9 --is-causal 1 0",
       "reuse -i 64 64 --q-tile 8 8 --kv-tile 8 8 -w 9 9 -c true false"},
      {"reuse -i 64 64 --q-tile 8 8 --kv-tile 8 8 --is-causal",
       "reuse -i 64 64 --q-tile 8 8 --kv-tile 8 8 -c 1"},
      {"schedule --q-tiles 6 --causal --algorithm spt", "schedule --q-tiles 6 --mask causal --algorithm spt"},
      {"schedule --q-tiles 6 --causal 1 --algorithm spt",
       "schedule --q-tiles 6 --mask causal --algorithm spt"},
      {"schedule --q-tiles 6 --is-causal=true --algorithm spt",
       "schedule --q-tiles 6 --mask causal --algorithm spt"},
      {"schedule --q-tiles 6 --causal 0 --algorithm spt", "schedule --q-tiles 6 --mask full --algorithm spt"},
      {"count -i 64 64 -w 9 9 --causal", "count -i 64 64 -w 9 9 --causal 1 1"},
      {"count -i 64 64 --causal -w 9 9", "count -i 64 64 -w 9 9 --is-causal 1"},
      {"search -i 64 64 -w 9 9 -c --top 1", "search -i 64 64 -w 9 9 --causal 1 1 --top 1"},
      {"count -i 64 -w 16 -d 128", "count -i 64 -w 16 --head-dim 128"},
      {"search -i 64 -w 16 -d 128 --top 1", "search -i 64 -w 16 --dim 128 --top 1"},
      {"reuse -i 4096 -d 128", "reuse -i 4096 --dim 128"},
      {"schedule -i 4096 --device h200 -d 64 --algorithm spt",
       "schedule --input 4096 --device h200 --head-dim 64 --algorithm spt"},
      {"mask --mask causal -i 4096", "mask --mask causal --input 4096"},
      {"advise -i 64 64 -d 128 --device h200", "advise -i 64 64 --dim 128 --device H200"},
      {"advise --preset wan --device h200", "advise --preset wan2-1-14b-720p --device h200"},
      {"search --preset WAN -w 6 8 8 --top 1", "search --preset wan2-1-14b-720p -w 6 8 8 --top 1"},
      {"reuse -i 4096 --window-size 512", "reuse -i 4096 --kernel-size 512"},
  };
  for (const auto& [one, other] : kSame) {
    INFO(one << "\n" << other);
    CHECK(result_of(one) == result_of(other));
  }
  check_refused("explain tests/golden/ncu/attention-h200.csv --causal 1 0",
                {"causal", "1 0", "the same for every axis"});
  check_refused("schedule --q-tiles 6 --causal --mask full", {"--mask"});
  CHECK(json_of_request(
            R"({"command": "schedule", "options": {"q_tiles": 6, "causal": true, "algorithm": "spt"}})") ==
        result_of("schedule --q-tiles 6 --mask causal --algorithm spt --no-conclusion"));
  CHECK(json_of_request(R"({"command": "schedule", "options": {"kernel": "fa4", "device": "h200", "input": 512, )"
                        R"("head_dim": 64, "heads": 4}})") ==
        result_of("schedule --kernel fa4 --device h200 -i 512 -d 64 -n 4 --no-conclusion"));
}

TEST_CASE("names of the catalog are read in any case, and by their beginning") {
  CHECK(result_of("count --preset Hunyuan-Video -w 18 24 24 --device H200") ==
        result_of("count --preset hunyuan-video -w 18 24 24 --device h200"));
  CHECK(result_of("count --preset wan -w 6 8 8") == result_of("count --preset wan2-1-14b-720p -w 6 8 8"));
  // Costs of two head dims begin alike, and are not sizes of one thing.
  check_refused("schedule --q-tiles 4 --costs fa4", {"costs", "fa4-h200-d128", "fa4-h200-d64"});
  CHECK(result_of("atomics --device H100") == result_of("atomics --device h100"));
  CHECK(Json::parse(run("atomics --device H100 --json").out)["input"]["device"] == "h100");
  CHECK(result_of("reuse -i 8192 --kernel FA2 -d 128 --device H200 --fidelity timed") ==
        result_of("reuse -i 8192 --kernel fa2 -d 128 --device h200 --fidelity timed"));
  // As models write themselves.
  CHECK(result_of("count --preset Wan2.1 -w 6 8 8") == result_of("count --preset wan2-1-14b-720p -w 6 8 8"));
  CHECK(result_of("count --preset hunyuan_video -w 18 24 24") ==
        result_of("count --preset hunyuan-video -w 18 24 24"));
  check_refused("count --preset co", {"unknown name 'co'"});         // two letters
  check_refused("count --preset hunyuan-vid", {"did you mean 'hunyuan-video'?"});  // no whole part
  check_refused("atomics --device a100", {"a device with", "atomics"});  // not an unknown name: it lacks constants
}

TEST_CASE("a word of other programs is answered with the option that has its meaning") {
  for (const char* command : {"count -i 64", "atomics", "reuse -i 4096"})
    check_refused(std::string(command) + " --gpu H100", {"did you mean '--device'?"});
  check_refused("count --model hunyuan-video", {"did you mean '--preset'?"});
  check_refused("reuse --tokens 4096", {"did you mean '--seqlen'?"});
  check_refused("count --tokens 4096", {"did you mean '--input'?"});
  check_refused("search -i 64 --speedup 3", {"did you mean '--min-speedup'?"});
  check_refused("count --shape 64", {"did you mean '--input'?"});
  check_refused("presets", {"unknown subcommand", "did you mean 'list presets'?"});
  check_refused("tune --preset flux", {"did you mean 'advise'?"});
  check_refused("diff a.json b.json --gpu H100", {"see natten-sim diff --help"});  // it has no devices
}

TEST_CASE("shares are fractions or per cent") {
  const std::string search = "search -i 64 64 --top 1 --sparsity ";
  CHECK(result_of(search + "90%:92%") == result_of(search + "0.9:0.92"));
  CHECK(result_of("count -i 64 -w 16 --attention-share 60%") == result_of("count -i 64 -w 16 --attention-share 0.6"));
  check_refused("count -i 64 -w 16 --attention-share 101%", {"attention-share", "101"});
  check_refused(search + "90%:0.8", {"sparsity"});
}

TEST_CASE("the program alone, help and -V answer") {
  const std::string help = run("--help").out;
  CHECK(help.find("natten-sim SUBCOMMAND") != std::string::npos);
  CHECK(help.find("Exit codes:") != std::string::npos);
  CHECK(run("").out == run("-h").out);
  CHECK(run("").out.find("Exit codes:") == std::string::npos);
  CHECK(run("").exit_code == 0);
  CHECK(run("help").out == help);
  CHECK(run("help count").out == run("count --help").out);
  CHECK(run("-V").out == run("--version").out);
  check_refused("help cuont", {"unknown subcommand", "did you mean 'count'?"});
}

TEST_CASE("shares above 1 are per cent, in options, files, requests and sweeps") {
  const Json range = result_of("search -i 64 64 --sparsity 0.9:0.92 --top 2");
  for (const char* same : {"90:92", "90%:92%", "90:92%", "0.9 0.92", "90 92"})
    CHECK(result_of(std::string("search -i 64 64 --top 2 --sparsity ") + same) == range);
  for (const char* same : {"[0.9, 0.92]", "[90, 92]", R"("90:92")"})
    CHECK(json_of_request(
              std::string(R"({"command": "search", "options": {"input": [64, 64], "top": 2, "sparsity": )") +
              same + "}}") == range);
  const std::string file = scratch_folder() + "/shares.toml";
  write_text(file, "sparsity = [0.9, 0.92]\n");
  CHECK(result_of("search -i 64 64 --top 2 --config " + file) == range);
  CHECK(result_of("search -i 64 64 --top 2 --sparsity 0:92") ==
        result_of("search -i 64 64 --top 2 --sparsity 0:0.92"));

  const Json most = result_of("advise -i 64 64 -n 24 -d 128 --device h200 --sparsity 0.9");
  CHECK(result_of("advise -i 64 64 -n 24 -d 128 --device h200 --sparsity 90") == most);
  CHECK(json_of_request(R"({"command": "advise", "options": {"input": [64, 64], "heads": 24, )"
                        R"("head_dim": 128, "device": "h200", "sparsity": 90}})") == most);
  const Run swept =
      run("sweep advise -i 64 64 -n 24 -d 128 --device h200 --jsonl --quiet --over sparsity=90,0.9");
  const std::size_t line = swept.out.find('\n');
  CHECK(Json::parse(swept.out.substr(0, line))["result"] == most);
  CHECK(Json::parse(swept.out.substr(line))["result"] == most);
}

TEST_CASE("a range of shares of which one bound may be in per cent is refused, and so is what is above 100") {
  for (const char* doubtful : {"1:5", "0.5:90", "0.9:92%"})
    check_refused(std::string("search -i 64 64 --sparsity ") + doubtful,
                  {doubtful, "two fractions or two in per cent"});
  check_refused("search -i 64 64 --sparsity 90:101", {"0.9:0.92 or 90%:92%"});
  check_refused("search -i 64 64 --sparsity 92:90", {"LO <= HI"});
  check_refused("advise -i 64 64 --sparsity 101", {"sparsity"});
}

TEST_CASE("an option of one value takes one in requests, and an empty list is none") {
  const auto error_of = [](const char* options) {
    const std::string request = std::string(R"({"command": "count", "options": )") + options + "}";
    return Json::parse(run("serve", request + "\n").out)["error"];
  };
  CHECK(error_of(R"({"input": [64], "heads": [1, 2]})")["accepted"] == "one value");
  CHECK(error_of(R"({"input": [64], "heads": []})")["value"] == "0 values");
  CHECK(error_of(R"({"input": []})")["accepted"] == "1 to 4 values");
  CHECK(error_of(R"({"input": [64], "heads": [2]})").is_null());
}

TEST_CASE("what is missing, or is one too many, is said in a sentence") {
  check_refused("count -i 64 --picture", {"--picture: its value is missing", "FILE"});
  check_refused("schedule --q-tiles 8 --algorithm spt shift", {"--algorithm: takes one value"});
  check_refused("atomics --updates 1e6", {"updates", "'1e6'", "nearest valid value is 1000000"});
  check_refused("sweep --over window=8,16 count -i 64",
                {"'count'", "the subcommand and its options come before"});
  check_refused("sweep count -i 64 --csv --over window=8,16", {"sweep prints CSV"});
  check_refused("schedule --q-tiles 8 --algorithm spt --emit-table -", {"'-'", "the path of a file"});
  const std::string picture = scratch_folder() + "/tiles.jpeg";
  check_refused("count -i 64 -w 8 --quiet --picture " + picture, {"picture", ".svg, .png or .pdf"});
}

TEST_CASE("a hint names what was meant: another card has none, and a device that lacks numbers is said to") {
  for (const char* line : {"count -i 64 --device b400", "advise -i 64 64 --device h30"}) {
    INFO(line);
    check_refused(line, {"unknown name"});
    CHECK(run(line).err.find("did you mean") == std::string::npos);
  }
}

TEST_CASE("a name that nobody knows comes with what to write instead") {
  check_refused("count --preset wan3.3", {"unknown name 'wan3.3'", "of wan there are wan2-1-14b-720p",
                                          "your own with --preset-file"});
  check_refused("reuse -i 4096 --device rtx2080", {"unknown name 'rtx2080'", "your own with --device-file"});
  check_refused("reuse -i 4096 --device h200 --order all",
                {"two at once with --compare", "sweep reuse --over order=cyclic,sawtooth"});
  check_refused("reuse -i 4096 --tile 128x64", {"tile: 128x64", "--q-tile 128 --kv-tile 64"});
  for (const char* word : {"dissertation", "Hassani"})
    check_refused(std::string("reproduce ") + word, {"unknown name", "did you mean 'gna'?"});
  check_refused("advise --preset hunyan --device h200", {"did you mean 'hunyuan-video'?"});
  check_refused("reproduce gna dash", {"work: takes one value", "|all"});
  for (const char* word : {"glossary", "tutorial", "help tutorial", "examples"})
    check_refused(word, {"did you mean 'help'?"});
  check_refused("help q-tile", {"'--q-tile' is an option of count, search"});
  check_refused("list papers", {"did you mean 'natten-sim reproduce'?"});
  check_refused("list algorithms", {"did you mean 'natten-sim schedule --help'?"});
  check_refused("reuse -i 32k", {"'32k'", "written out: 32000 or 32768"});
  check_refused("atomics --updates 10M", {"'10M'", "written out: 10000000 or 10485760"});
  CHECK(run("search -i 64 --min-speedup 5%").err.find("nearest") == std::string::npos);  // 5 times, or 5% more?
  for (const char* name : {"'fig 4.5'", "'Fig. 4.5'", "fig.4.5", "'FIGURE 4.5'"})
    CHECK(run(std::string("reproduce gna --csv --figure ") + name).out == run("reproduce gna --csv --figure 4.5").out);
  CHECK(run("help").out.find("docs/glossary.md") != std::string::npos);
}

TEST_CASE("one thing is singular, and times without a unit are said to be in that of the costs") {
  for (const char* line : {"schedule --q-tiles 8 --algorithm spt", "schedule --q-tiles 8 --quiet"})
    CHECK(run(line).out.find("8 Q x 8 KV tiles, 1 head, 8 workers; times in the unit of the costs") !=
          std::string::npos);
  CHECK(run("schedule --q-tiles 8 --workers 1 --heads 2 --algorithm spt").out.find("2 heads, 1 worker;") !=
        std::string::npos);
  CHECK(run("reuse -i 4096").out.find("   1 worker   ") != std::string::npos);
  CHECK(run("sweep count -i 64 --over window=16").err.find("the point was answered") != std::string::npos);
}

TEST_CASE("completion proposes names of the catalog") {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    INFO(shell);
    const std::string script = run(std::string("completion ") + shell).out;
    for (const char* name : {"hunyuan-video", "h200", "hopper-fna", "fa2", "B1_640_d256_L4", "symmetric-shift"})
      CHECK(script.find(name) != std::string::npos);
    CHECK(script.find("kernel-size") == std::string::npos);  // read, not listed
  }
}

}  // namespace spellings_test

// What the program says of lines that it does not understand: what was meant, and never the opposite.
#include <algorithm>

#include "catch.hpp"
#include "program.hpp"

namespace hints_test {

using namespace natten_sim::test;

void check_no_guess(const std::string& line, const std::vector<std::string>& words = {}) {
  check_refused(line, words);
  const std::string err = run(line).err;
  INFO(err);
  CHECK(err.find("did you mean") == std::string::npos);
  CHECK(err.find("nearest valid") == std::string::npos);
}

TEST_CASE("a hint is what was meant, or there is none") {
  check_no_guess("diff a b --tolerance 2x", {"tolerance", "'2x'"});   // a share: 2 would be 2 per cent
  check_no_guess("schedule --q-tiles 4 --algorithm lpt", {"'lpt'"});  // spt is its opposite
  check_no_guess("atomics --device gb10", {"'gb10'", "l2_effective_bytes"});  // known, and no other card
  check_no_guess("advise -w 3");
  check_no_guess("schedule -w 3");
  check_no_guess("count --ms 3");
  check_refused("count -i 64 -o f", {"did you mean '--output'?"});
  check_refused("count -i 64 -Q", {"see natten-sim count --help"});
  check_refused("count -i 64 -q", {"did you mean '--quiet'?"});
  check_refused("count -I 64", {"did you mean '-i'?"});
  check_refused("count -i 64 --backward", {"did you mean '--backprop'?"});
  check_refused("count -i 64 --batch 2", {"a readable file", "--batch-size"});
}

TEST_CASE("a number is that of a figure, and tables are named") {
  check_refused("reproduce dash --figure 1", {"'figure 1', 'table 1'", "several"});
  check_refused("reproduce all --figure 1", {"'figure 1', 'table 1'", "several"});
  check_refused("reproduce msda --figure 1", {"unknown name '1'", "did you mean 'table 1'?"});
  check_refused("reproduce gna --figure 4.2", {"did you mean 'table 4.2'?"});
  check_refused("reproduce gna --figure 9.9",
                {"'figure 4.5', 'figure 4.7', 'table 4.2'"});  // names may hold commas
  const std::string figure = run("reproduce gna --csv --figure 4.5").out;
  for (const char* name : {"fig4.5", "figure-4.5", "Fig.4.5", "figure4.5"})
    CHECK(run(std::string("reproduce gna --csv --figure ") + name).out == figure);
  CHECK(run("reproduce gna --csv --figure tab4.2").out ==
        run("reproduce gna --csv --figure 'table 4.2'").out);
  check_refused("reproduce 4.5", {"'figure 4.5' is one of gna, by --figure"});
  check_refused("reproduce fig4.5", {"'figure 4.5' is one of gna, by --figure"});
  CHECK(run("reproduce gna --table 4.4").out == run("reproduce gna --figure 4.4").out);
}

TEST_CASE("one value stands for all axes where an option has a value an axis, and tiles are shapes") {
  CHECK(result_of("count --preset flux -w 80 -s 16") == result_of("count --preset flux -w 80 80 -s 16 16"));
  CHECK(result_of("count -i 64 64 64 -w 8 --dilation 2") ==
        result_of("count -i 64 64 64 -w 8 8 8 --dilation 2 2 2"));
  CHECK(result_of("count -i 64 64 --dilation 2") == result_of("count -i 64 64 --dilation 2 2"));
  CHECK(result_of("search -i 48 64 -w 16 --stride 1 --dilation 2 --top 2") ==
        result_of("search -i 48 64 -w 16 16 --stride 1 1 --dilation 2 2 --top 2"));
  CHECK(result_of("reuse -i 64 64 --q-tile 8 8 --kv-tile 8 8 -w 9 -s 3") ==
        result_of("reuse -i 64 64 --q-tile 8 8 --kv-tile 8 8 -w 9 9 -s 3 3"));
  const Run swept = run("sweep count -i 64 64 -w 16 16 --jsonl --quiet --over stride=1:3");
  CHECK(swept.exit_code == 0);
  CHECK(Json::parse(swept.out.substr(0, swept.out.find('\n')))["result"] ==
        result_of("count -i 64 64 -w 16 16 -s 1 1"));
  check_refused("count -i 64 64 --q-tile 8 --kv-tile 8", {"q_tile"});
  check_refused("count -i 64 64 64 -w 8 8", {"window", "3 values"});
}

TEST_CASE("a short name that several sizes of a model begin with says which was taken") {
  const std::string line = "count --preset cosmos -w 8 ";
  CHECK(run(line).err.find(
            "preset cosmos-predict1-7b: cosmos is also the beginning of cosmos-predict2-2b-720p") !=
        std::string::npos);
  CHECK(run(line + "--quiet").err.empty());
  CHECK(run("search --preset nat -w 7 7 --top 1").err.find("nat-tiny-224-stage4") != std::string::npos);
  CHECK(run("advise --preset wan --device h200").err.find("preset wan2-1-14b-720p:") != std::string::npos);
  for (const char* whole : {"flux", "wan2-1-14b-720p", "Wan2.1-14B-720p", "cogvideox"}) {
    INFO(whole);
    CHECK(run(std::string("count -w 7 --preset ") + whole).err.find("beginning of") == std::string::npos);
  }
  check_refused("count --preset wan-1.3b", {"did you mean 'wan2-1-1-3b-480p'?"});
  check_refused("count --preset wan14b", {"did you mean 'wan2-1-14b-720p'?"});
  check_refused("count --preset cosmos2", {"did you mean 'cosmos-predict2-2b-720p'?"});
  check_no_guess("count --preset wan-3.3");
}

TEST_CASE("a picture has an ending that is known, or none") {
  for (const char* ending : {".svg.gz", ".", ".txt", ".json"})
    check_refused("count -i 64 -w 8 --quiet --picture '" + scratch_folder() + "/x" + ending + "'",
                  {".svg, .png or .pdf, or -"});
  const std::string none = scratch_folder() + "/picture";
  CHECK(run("count -i 64 -w 8 --picture '" + none + "'").exit_code == 0);
  CHECK(read_text(none).starts_with("<svg "));
}

TEST_CASE("factors may end with x, bytes with KiB, MiB or GiB") {
  const std::string advise = "advise -i 128 128 -n 24 -d 128 --device h200 --speedup ";
  CHECK(result_of(advise + "4x") == result_of(advise + "4"));
  const std::string search = "search -i 64 64 --top 1 --min-speedup ";
  CHECK(result_of(search + "5x") == result_of(search + "5"));
  const std::string reuse = "reuse -i 4096 --l2-bytes ";
  CHECK(result_of(reuse + "50MiB") == result_of(reuse + "52428800"));
  CHECK(result_of(reuse + "1GiB") == result_of(reuse + "1073741824"));
  check_refused(reuse + "50MB", {"'50MB'", "written out: 50000000 or 52428800"});
  check_refused("reuse -i 32KiB", {"'32KiB'"});  // tokens are no bytes
  check_refused("sweep reuse --over seqlen=16k:64k:x2", {"'16k'", "written out: 16000 or 16384"});
  check_refused("sweep reuse --over seqlen=16:64k", {"'64k'", "written out: 64000 or 65536"});
}

TEST_CASE("a bound and a range of sparsities say how they are read") {
  check_refused("search -i 64 --sparsity half", {"a range LO:HI", "HI for at most HI"});
  check_refused("advise -i 64 64 --sparsity 0.92:0.9", {"LO <= HI"});
  check_refused("advise -i 64 64 --sparsity 1", {"sparsity: 1 is not valid", "above 0 and below 1"});
  CHECK(run("help advise").out.find("0..1 [") == std::string::npos);
}

TEST_CASE("a sweep reads letters of options, and says how shards are joined") {
  const std::string line = "sweep reuse --csv -d 64 --over ";
  CHECK(run("sweep reuse -d 64 --quiet --over i=4096,8192").out ==
        run("sweep reuse -d 64 --quiet --over seqlen=4096,8192").out);
  CHECK(run("sweep schedule --q-tiles 8 --algorithm spt --quiet --over n=1:3").out ==
        run("sweep schedule --q-tiles 8 --algorithm spt --quiet --over heads=1:3").out);
  for (const char* words : {"merge", "sweep merge a.jsonl b.jsonl", "sweep --merge a.jsonl b.jsonl",
                            "sweep count -i 64 --over window=8 --resume"})
    check_refused(words, {"--journal"});
}

TEST_CASE("completion proposes values of an option, and nothing where it knows none") {
  const auto proposed = [](const std::string& words, const std::string& last) {
    const std::string file = scratch_folder() + "/out";
    const int code = shell_exit_code("\"$PROGRAM\" completion bash > '" + file + ".sh'; bash -c 'source \"" +
                                     file + ".sh\"; COMP_WORDS=(" + words + " \"" + last +
                                     "\"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _natten_sim; "
                                     "echo \"${COMPREPLY[*]}\"' > '" +
                                     file + "'");
    CHECK(code == 0);
    return read_text(file);
  };
  CHECK(proposed("natten-sim reproduce gna --figure", "figure-4.5") == "figure-4.5\n");
  CHECK(proposed("natten-sim schedule --mask", "ca") == "causal\n");
  CHECK(proposed("natten-sim reuse --order", "s") == "sawtooth\n");
  CHECK(proposed("natten-sim msda --order", "").find("all") != std::string::npos);
  CHECK(proposed("natten-sim count --input", "") == "\n");
  CHECK(proposed("natten-sim count --wi", "--wi") != "\n");
}

TEST_CASE("a kernel without measured costs comes with what has some") {
  const Run none = run("schedule --kernel fa3 --device h200 -i 4096");
  INFO(none.out);
  CHECK(none.out.find("there are fa3-h100-d128 (h100, head dim 128)") != std::string::npos);
}

TEST_CASE("list shows one entry by its name, from each list that has it") {
  for (const auto& [name, list] : {std::pair{"h200", "devices"}, std::pair{"hunyuan-video", "presets"},
                                   std::pair{"hopper-fna", "backends"}, std::pair{"hopper-fna", "kernels"}}) {
    const Json all = result_of(std::string("list ") + list)[list],
               one = result_of(std::string("list ") + name)[list];
    REQUIRE(one.size() == 1);
    CHECK(one[0]["name"] == name);
    CHECK(std::find(all.begin(), all.end(), one[0]) != all.end());
  }
  CHECK(run("list hopper-fna").out.find("\nhopper-fna   ") != std::string::npos);  // the second of two
  // Two lists have other columns: none is dropped silently.
  check_refused("list hopper-fna --csv", {"several lists", "backends or kernels"});
  CHECK(run("list h200 --csv").exit_code == 0);
  check_refused("list h21", {"unknown name 'h21'", "a name in one"});
}

}  // namespace hints_test

// BibTeX of this software and of the works whose models it uses.
#include <algorithm>
#include <set>
#include <string>

#include "catch.hpp"
#include "places.hpp"
#include "program.hpp"

namespace cite_test {

using namespace natten_sim::test;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("cite prints entries whose braces close, with keys that differ, this software first") {
  const Run all = run("cite");
  REQUIRE(all.exit_code == 0);
  CHECK(all.out.starts_with("@software{natten_sim,\n"));
  int open = 0;
  std::set<std::string> keys;
  for (std::size_t i = 0; i < all.out.size(); ++i) {
    open += all.out[i] == '{' ? 1 : all.out[i] == '}' ? -1 : 0;
    REQUIRE(open >= 0);
    if (all.out[i] != '@') continue;
    CHECK(open == 0);
    const std::size_t brace = all.out.find('{', i);
    CHECK(keys.insert(all.out.substr(brace + 1, all.out.find(',', brace) - brace - 1)).second);
  }
  CHECK(open == 0);
  CHECK(keys.size() == 6);  // the five source papers and the software
}

TEST_CASE("of a subcommand cite prints what its model is taken from") {
  const Run schedule = run("cite schedule");
  REQUIRE(schedule.exit_code == 0);
  CHECK(has(schedule.out, "@software{natten_sim,"));
  CHECK(has(schedule.out, "author = {Qiang, Xinwei and Chen, Hongmin and Sun, Shixuan and Leng, Jingwen and Liu, Xin and Guo, Minyi}"));
  CHECK(has(schedule.out, "eprint = {2601.21824}"));
  CHECK(std::count(schedule.out.begin(), schedule.out.end(), '@') == 2);
  const Run reuse = run("cite reuse");
  CHECK(has(reuse.out, "Sawtooth Wavefront Reordering"));
  CHECK(has(reuse.out, "TiledAttention"));
  const std::string path = scratch_folder() + "/references.bib";
  CHECK(run("cite schedule --output '" + path + "'").out.empty());
  CHECK(read_text(path) == schedule.out);
  check_refused("cite scedule", {"subcommand", "schedule", "atomics"});
}

TEST_CASE("what cite prints is what CITATION.cff says") {
  const std::string all = run("cite").out, file = read_text(std::string(natten_sim::test::kSourceDir) + "/CITATION.cff");
  for (const char* text : {"Neighborhood Attention: Fast and Flexible Sparse Attention", "Georgia Institute of Technology",
                           "DASH: Deterministic Attention Scheduling for High-throughput Reproducible LLM Training",
                           "2601.21824", "Sawtooth Wavefront Reordering: Enhanced CuTile FlashAttention on NVIDIA GB10",
                           "2601.16032", "TiledAttention: a CUDA Tile SDPA Kernel for PyTorch", "2603.01960",
                           "Efficient Multi-Scale Deformable Attention on GPUs"}) {
    INFO(text);
    CHECK(has(all, text));
    CHECK(has(file, text));
  }
  const std::size_t version = file.find("\nversion: ") + 10;
  CHECK(has(all, "version = {" + file.substr(version, file.find('\n', version) - version) + "}"));
}

}  // namespace cite_test

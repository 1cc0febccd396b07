// What a search with cyclic axes prints for NATTEN, which has none: the call of the padded layout.
#include "catch.hpp"
#include "program.hpp"

namespace cyclic_search_test {

using namespace natten_sim::test;

std::string values(const Json& sizes) {
  std::string text;
  for (const Json& size : sizes) text += " " + size.dump();
  return text;
}

TEST_CASE("a search with cyclic axes emits what a count of its winner emits, for both kinds of NATTEN's calls") {
  for (const std::string device : {"h100", "a100"}) {
    const std::string problem = "-i 64 128 -n 16 -d 128 --cyclic 0 1 --device " + device;
    const std::string line = "search " + problem + " --sparsity 0.9 --top 1";
    const Json best = result_of(line)["candidates"][0];
    const std::string count = "count " + problem + " -w" + values(best["window"]) + " -s" + values(best["stride"]) +
                              " --q-tile" + values(best["q_tile"]) + " --kv-tile" + values(best["kv_tile"]);
    for (const std::string kind : {"natten", "natten-profiler"}) {
      const Run searched = run(line + " --emit " + kind), counted = run(count + " --emit " + kind);
      CAPTURE(device, kind, searched.err);
      CHECK(searched.exit_code == 0);
      CHECK(searched.out == counted.out);
      CHECK(searched.out.find(kind == "natten" ? "natten.na2d(" : "natten.profiler") != std::string::npos);
    }
  }
}

TEST_CASE("without a device windows of one token are searched on cyclic axes, which FlexAttention runs by itself") {
  const Run found = run("search -i 16 16 --cyclic --top 1 --sparsity 0.9 --emit natten-profiler");
  CAPTURE(found.err);
  CHECK(found.exit_code == 0);
  CHECK(result_of("search -i 16 16 --cyclic --window-range 1:1 1:1 --top 1")["candidates"][0]["window"] == Json({1, 1}));
}

}  // namespace cyclic_search_test

// The seeds of the fuzz targets are in the tree: a target without one would mutate nothing like what it reads.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include "catch.hpp"
#include "places.hpp"

namespace fuzz_seeds_test {

namespace fs = std::filesystem;

const fs::path kRoot = natten_sim::test::kSourceDir;

TEST_CASE("each seed that scripts/make_fuzz_corpus.sh names has its file") {
  std::ifstream script(kRoot / "scripts/make_fuzz_corpus.sh");
  const std::string text(std::istreambuf_iterator<char>(script), {});
  static const std::regex kSeed(R"(\bseed ([a-z_]+) ([a-z0-9-]+)(?=[\s)]))");
  int seeds = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), kSeed), end; at != end; ++at, ++seeds) {
    const fs::path file = kRoot / "tests/fuzz/corpus" / (*at)[1].str() / ("seed-" + (*at)[2].str());
    INFO(file);
    CHECK(fs::is_regular_file(file));
  }
  CHECK(seeds >= 25);
}

}  // namespace fuzz_seeds_test

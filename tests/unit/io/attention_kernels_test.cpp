// Kernel files: what they may say, and that what is written is read back.
#include <filesystem>
#include <fstream>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/attention_kernels.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/json_text.hpp>

#include "catch.hpp"

namespace attention_kernels_test {

using namespace natten_sim;

const char* kMine = R"({"schema": "natten-sim.attention-kernels/1", "kernels": [{
  "name": "mine", "title": "my kernel", "q_tile": 128, "kv_tiles": [{"head_dim": 128, "kv_tile": 64, "stages": 3}],
  "schedule": "grid", "launch": "heads-first", "order": "descending", "longest_first": true, "ctas_per_sm": 2,
  "masking": "visited-tiles", "backward": {"tiles": [{"head_dims": [1, 128], "masks": ["full"], "q_tile": 64, "kv_tile": 128}],
    "launches": [{"mode": "deterministic", "masks": ["full"], "algorithm": "ascending", "launch_order": "a grid", "dq_order": "ascending"}]},
  "dtype": "bf16", "names": ["my_attention"], "grid": ["heads", "q-tiles"], "rates": [], "source": "this test"}]})";

std::string with(const std::string& from, const std::string& to) {
  std::string text = kMine;
  const std::size_t place = text.find(from);
  REQUIRE(place != std::string::npos);
  return text.replace(place, from.size(), to);
}

std::string refusal_of(const std::string& text) {
  try {
    (void)parse_kernel_file(text, "here");
  } catch (const MalformedData& error) {
    return error.what();
  }
  return "accepted";
}

TEST_CASE("a kernel file says how a kernel walks, is launched and named") {
  const std::vector<AttentionKernel> kernels = parse_kernel_file(kMine, "here");
  REQUIRE(kernels.size() == 1);
  const AttentionKernel& kernel = kernels.front();
  CHECK(kernel.name == "mine");
  CHECK(kernel.order == KvOrder::kDescending);
  CHECK(kernel.launch == LaunchOrder::kHeadsFirst);
  CHECK(kernel.longest_first);
  CHECK(kernel.masking == KernelMasking::kVisitedTiles);
  CHECK(kernel.dtype == Dtype::kBf16);
  CHECK(kernel.names == std::vector<std::string>{"my_attention"});
  CHECK(kernel.grid.heads == 0);
  CHECK(kernel.grid.q_tiles == 1);
  CHECK_FALSE(kernel.grid.batch);
  REQUIRE(kernel.backward);
  CHECK(kernel.backward->name == "mine");
  CHECK(kernel.backward->dtypes == std::vector<Dtype>{Dtype::kBf16});
  CHECK(kernel.backward->launches.front().algorithm == "ascending");
}

TEST_CASE("kernels that ship and those of files are written as they are read") {
  std::vector<AttentionKernel> kernels = parse_kernel_file(kMine, "here");
  kernels.insert(kernels.end(), builtin_catalog().kernels.begin(), builtin_catalog().kernels.end());
  const std::vector<AttentionKernel> again = parse_kernel_file(kernel_file_text(kernels), "again");
  REQUIRE(again.size() == kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    INFO(kernels[i].name);
    CHECK(json_text(to_json(again[i])) == json_text(to_json(kernels[i])));
  }
}

TEST_CASE("a kernel file may leave out the rates") {
  const std::vector<AttentionKernel> kernels = parse_kernel_file(with("\"rates\": [], ", ""), "here");
  CHECK(kernels.front().rates.empty());
  CHECK(json_text(to_json(kernels.front())) == json_text(to_json(parse_kernel_file(kMine, "here").front())));
}

/// A file of the test's own, which is gone with it.
struct WrittenFile {
  explicit WrittenFile(const std::string& text)
      : path((std::filesystem::temp_directory_path() / "natten-sim-kernel-choice-test.json").string()) {
    std::ofstream(path) << text;
  }
  WrittenFile(const WrittenFile&) = delete;
  WrittenFile& operator=(const WrittenFile&) = delete;
  ~WrittenFile() { std::filesystem::remove(path); }
  std::string path;
};

TEST_CASE("an option of kernels takes a name, a file of one, or one of several by its name") {
  CHECK(parse_kernel_choice("kernel", "fa2").name == "fa2");
  CHECK_FALSE(parse_kernel_choice("kernel", "fa2").own);
  const WrittenFile one(kMine);
  const KernelChoice mine = parse_kernel_choice("kernel", one.path);
  CHECK(mine == "mine");
  CHECK(to_string(mine) == one.path);
  REQUIRE(mine.own);
  CHECK(mine.own->q_tile == 128);
  CHECK(mine.own->file == one.path);
  const WrittenFile several(kernel_file_text(builtin_catalog().kernels));
  CHECK_THROWS_AS(parse_kernel_choice("kernel", several.path), InvalidParameter);
  CHECK_THROWS_AS(parse_kernel_choice("kernel", several.path + "#fa22"), UnknownName);
  const KernelChoice shipped = parse_kernel_choice("kernel", several.path + "#cudnn");
  CHECK(shipped == "cudnn");
  CHECK_FALSE(shipped.own);  // unchanged: the one that ships
  CHECK(kernels_of("kernel", several.path).size() == builtin_catalog().kernels.size());
  CHECK(kernels_of("kernel", "fa3").front().name == "fa3");
  CHECK_THROWS_AS(kernels_of("kernel", "fa22"), UnknownName);
  CHECK_THROWS_AS(parse_kernel_choice("kernel", "nowhere.json"), InvalidParameter);
}

TEST_CASE("a file's kernel takes the place of one that has its name") {
  Catalog catalog = builtin_catalog();
  const std::size_t shipped = catalog.kernels.size();
  add_kernel(catalog, parse_kernel_file(with("\"mine\"", "\"fa2\""), "here").front());
  CHECK(catalog.kernels.size() == shipped);
  CHECK(catalog.kernel("fa2").title == "my kernel");
}

TEST_CASE("what a kernel file gets wrong is refused by its key") {
  CHECK(refusal_of(kMine) == "accepted");
  for (const auto& [text, key] :
       {std::pair{with("\"heads\", \"q-tiles\"", "\"heads\", \"heads\""), "grid"},
        std::pair{with("\"heads\", \"q-tiles\"", "\"rows\""), "grid"},
        std::pair{with("heads-first", "sideways"), "launch"}, std::pair{with("\"bf16\"", "\"int7\""), "dtype"},
        std::pair{with("\"q_tile\": 128", "\"q_tile\": 0"), "q_tile"},
        std::pair{with("visited-tiles", "rows"), "masking"}, std::pair{with("\"deterministic\"", "\"sure\""), "sure"},
        std::pair{with("\"title\"", "\"titel\""), "titel"},
        std::pair{with("\"rates\": []", "\"rates\": [{}]"), "device"}}) {
    INFO(text);
    CHECK(refusal_of(text).find(key) != std::string::npos);
  }
  const std::string twice = kMine;
  CHECK(refusal_of(twice.substr(0, twice.size() - 2) + ", " + twice.substr(twice.find("[{") + 1)).find("kernels") !=
        std::string::npos);
  CHECK(refusal_of(R"({"schema": "natten-sim.attention-kernels/1", "kernels": []})").find("kernels") != std::string::npos);
}

}  // namespace attention_kernels_test

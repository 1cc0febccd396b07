// Kernel files: what they may say, and that what is written is read back.
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
  const std::vector<KernelFile> files = parse_kernel_file(kMine, "here");
  REQUIRE(files.size() == 1);
  const KernelFile& file = files.front();
  CHECK(file.kernel.name == "mine");
  CHECK(file.kernel.order == KvOrder::kDescending);
  CHECK(file.launch == LaunchOrder::kHeadsFirst);
  CHECK(file.longest_first);
  CHECK(file.dtype == Dtype::kBf16);
  CHECK(file.names == std::vector<std::string>{"my_attention"});
  CHECK(file.grid.heads == 0);
  CHECK(file.grid.q_tiles == 1);
  CHECK_FALSE(file.grid.batch);
}

TEST_CASE("kernels that ship and those of files are written as they are read") {
  std::vector<KernelFile> files = parse_kernel_file(kMine, "here");
  for (const AttentionKernel& kernel : builtin_catalog().kernels) files.push_back({.kernel = kernel});
  for (const KernelFile& file : files) {
    const Json written = {{"schema", kKernelFileSchema}, {"kernels", Json::array({to_json(file)})}};
    INFO(file.kernel.name);
    CHECK(json_text(to_json(parse_kernel_file(json_text(written), "again").front())) == json_text(to_json(file)));
  }
}

TEST_CASE("a file's kernel takes the place of one that has its name") {
  Catalog catalog = builtin_catalog();
  const std::size_t shipped = catalog.kernels.size();
  add_kernel(catalog, parse_kernel_file(with("\"mine\"", "\"fa2\""), "here").front().kernel);
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
        std::pair{with("\"title\"", "\"titel\""), "titel"}, std::pair{with("\"rates\": [], ", ""), "rates"}}) {
    INFO(text);
    CHECK(refusal_of(text).find(key) != std::string::npos);
  }
  CHECK(refusal_of(R"({"schema": "natten-sim.attention-kernels/1", "kernels": []})").find("kernels") != std::string::npos);
}

}  // namespace attention_kernels_test

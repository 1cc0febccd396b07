// What explain() takes from a kernel file, and what was frozen of a kernel before it was profiled.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include <natten_sim/io/attention_kernels.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/study/explain.hpp>

#include "catch.hpp"
#include "places.hpp"

namespace kernel_file_test {

using namespace natten_sim;
using namespace natten_sim::study;

/// Heads vary fastest, keys are walked from the last: no family does so.
const char* kMine = R"({"schema": "natten-sim.attention-kernels/1", "kernels": [{
  "name": "mine", "title": "my kernel", "q_tile": 128, "kv_tiles": [{"head_dim": 128, "kv_tile": 64}],
  "schedule": "grid", "launch": "heads-first", "order": "descending", "ctas_per_sm": 1,
  "names": ["my_attention"], "grid": ["heads", "q-tiles"], "rates": [], "source": "this test"}]})";

const std::vector<AttentionKernel>& mine() {
  static const std::vector<AttentionKernel> files = parse_kernel_file(kMine, "here");
  return files;
}

/// 4 heads of 8192 tokens.
ProfiledKernel launched(double sectors) {
  ProfiledKernel launch{.name = "my_attention_0d1d2d", .grid = {4, 64, 1}, .block = {256, 1, 1}};
  launch.gpu = "NVIDIA H200";
  launch.l2_read_sectors = sectors;
  launch.time_ns = 4e5;
  return launch;
}

/// Sectors of 32 bytes that the 64 Q tiles of 4 heads load: `visits` KV tiles of 64 rows each of K and of V, and Q once.
double sectors_of(double visits) {
  constexpr double kRowSectors = 128 * 2 / 32.0;
  return 4 * (visits * 2 * 64 + 8192) * kRowSectors;
}

std::optional<KnownFrom> known(const ExplainedKernel& kernel, const std::string& member) {
  for (const KnownMember& each : kernel.known) {
    if (each.member == member) return each.from;
  }
  return std::nullopt;
}

TEST_CASE("explain finds the launches that a kernel file names, and the counter tells their mask") {
  const double full = sectors_of(64 * 128), causal = sectors_of(2 * 64 * 65 / 2.0);
  for (const auto& [sectors, is_causal] : {std::pair{full, false}, std::pair{causal, true}}) {
    const ExplainAnswer answer = explain({.launches = {launched(sectors)}, .kernels = mine()}, default_context());
    REQUIRE(answer.kernels.size() == 1);
    const ExplainedKernel& kernel = answer.kernels.front();
    CHECK(kernel.family == "mine");
    CHECK(kernel.missing.empty());
    CHECK(kernel.problem.seqlen == 8192);
    CHECK(kernel.problem.heads == 4);
    CHECK(kernel.problem.causal == is_causal);
    CHECK(kernel.problem.order == KvOrder::kDescending);
    CHECK(known(kernel, "kv-tile") == KnownFrom::kFile);
    CHECK(known(kernel, "heads") == KnownFrom::kGrid);
    CHECK(known(kernel, "causal") == KnownFrom::kSectors);
    CHECK(kernel.predicted_sectors == sectors);
    CHECK(kernel.read->predicted_bytes() >= 3.0 * 4 * 8192 * 256);
  }
}

TEST_CASE("without the kernel file the launch is not known as attention") {
  CHECK(explain({.launches = {launched(sectors_of(64 * 128))}}, default_context()).kernels.empty());
}

TEST_CASE("of several head dims one is to be said") {
  ExplainQuestion question{.launches = {launched(sectors_of(64 * 128))}, .kernels = mine()};
  question.kernels.front().kv_tiles.push_back({.head_dim = 64, .kv_tile = 128, .stages = {}});
  CHECK(explain(question, default_context()).kernels.front().missing == std::vector<std::string>{"dim", "kv-tile"});
  question.given.head_dim = 128;
  CHECK(explain(question, default_context()).kernels.front().problem.kv_tile == 64);
}

TEST_CASE("a Triton kernel that nobody knew: sectors exact, DRAM and time as frozen before it was profiled") {
  std::ifstream text(std::string(natten_sim::test::kSourceDir) + "/data/triton-attention.json");
  std::ostringstream read;
  read << text.rdbuf();
  const Json record = parse_json(read.str());
  for (const Json& point : record.at("points")) {
    const Json& predicted = point.at("predicted");
    const Json& measured = point.at("measured");
    const auto off = [&](const char* counter) {
      return std::abs(predicted.at(counter).get<double>() / measured.at(counter).get<double>() - 1);
    };
    CHECK(off("sectors") < 0.0001);
    CHECK(off("dram_read_bytes") < 0.09);
    CHECK(off("time_ms") < record.at("time_interval").get<double>());
  }
}

}  // namespace kernel_file_test

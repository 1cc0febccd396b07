// natten-sim reuse against what is shipped: predictions that were stored, and causal rates that were
// measured.
#include <cmath>
#include <string>
#include <vector>

#include "catch.hpp"
#include "places.hpp"
#include "program.hpp"

namespace reuse_predictions_test {

using namespace natten_sim::test;

/// Recomputes those predictions that are to be checked; returns how many.
template <typename Checked>
std::size_t check_predictions(const Checked& checked) {
  const std::string path = std::string(natten_sim::test::kSourceDir) + "/data/predictions/h200_sdpa_dram.json";
  const Json table = Json::parse(read_text(path));
  REQUIRE(table.is_array());
  REQUIRE(table.size() == 2 * 7 * 2 * 2 * 2);
  std::size_t recomputed = 0;
  for (const Json& row : table) {
    CHECK(row.size() == 6);
    if (!checked(row)) continue;
    const std::string line = "reuse --kernel " + row["kernel"].get<std::string>() +
                             " --device h200 -b 1 --dtype bf16 -i " + row["seqlen"].dump() + " -d " +
                             row["head_dim"].dump() + " -n " + row["heads"].dump() +
                             (row["causal"] == true ? " --causal" : "") + " --fidelity timed";
    INFO(line);
    CHECK(result_of(line)["dram_read_bytes"] == row["dram_read_bytes"]);
    ++recomputed;
  }
  return recomputed;
}

TEST_CASE("shipped predictions of short sequences are what the command makes") {
  // Of both kernels and masks: one head of each dim, and four heads of dim 64. All are `reuse --predictions`.
  CHECK(check_predictions([](const Json& row) {
          return row["seqlen"] == 16384 && (row["heads"] == 1 || row["head_dim"] == 64);
        }) == 2 * 2 * (2 + 1));
  check_refused("reuse --predictions -i 4096", {"--seqlen", "--predictions"});
}

TEST_CASE("shipped predictions of longer sequences are what the command makes", "[.nightly][long]") {
  CHECK(check_predictions([](const Json& row) {
          return row["seqlen"] <= (row["heads"] == 4 ? 32768 : 65536);
        }) == 2 * (2 * 8 + 4));
}

struct CausalRate {
  const char* kernel;
  double measured, tolerance;
};

void check_causal_rate(const CausalRate& each, int draws) {
  // 16 heads of 16384 tokens, head dim 128, on an H200: 318 and 628 TFLOP/s were measured. What is drawn
  // (tile times of fa2 vary by 2.3%) moves an answer for fa2 by up to 2% either way, so the mean of eight
  // draws is judged; for cuDNN, by less than 0.1%, four suffice.
  INFO(each.kernel);
  const double flops = 4.0 * 128 * 16 * 16384.0 * 16384.0 / 2;
  double rates = 0;
  for (int seed = 0; seed < draws; ++seed) {
    const Json result = result_of(
        std::string("reuse --device h200 -i 16384 -d 128 -n 16 --causal --dtype bf16 --fidelity timed ") +
        "--kernel " + each.kernel + " --seed " + std::to_string(seed));
    rates += flops / double(result["time_ns"]) * 1e-3;
  }
  CHECK(std::abs(rates / draws / each.measured - 1) < each.tolerance);
}

TEST_CASE("the timed model gives cuDNN's measured causal rate from the full one") {
  check_causal_rate({"cudnn", 628, 0.01}, 4);
}

TEST_CASE("the timed model gives measured causal rates from full ones, on average of eight draws",
          "[.nightly][long]") {
  check_causal_rate({"fa2", 318, 0.04}, 8);
  check_causal_rate({"cudnn", 628, 0.01}, 8);
}

}  // namespace reuse_predictions_test

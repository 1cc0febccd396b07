// study::explain of kernels that nobody knows: what grid, shared memory and sectors force, and what is
// guessed.
#include <natten_sim/core/error.hpp>
#include <natten_sim/study/explain.hpp>

#include "catch.hpp"
#include "shared_context.hpp"

namespace explain_unknown_test {

using namespace natten_sim;
using namespace natten_sim::study;
using natten_sim::test::shared_context;

ProfiledKernel launched(const std::string& name, std::array<std::int64_t, 3> grid, std::int64_t threads,
                        std::optional<double> sectors = {}) {
  ProfiledKernel launch{.name = name, .grid = grid, .block = {threads, 1, 1}};
  launch.gpu = "NVIDIA H200";
  launch.l2_read_sectors = sectors;
  return launch;
}

/// How a member of the only kernel is known; none: it is not.
std::optional<KnownFrom> known(const ExplainAnswer& answer, const std::string& member) {
  for (const KnownMember& each : answer.kernels.front().known) {
    if (each.member == member) return each.from;
  }
  return std::nullopt;
}

TEST_CASE("explain: a family that the question names takes launches that no name tells") {
  ExplainQuestion question;
  question.launches = {launched("my_kernel", {64, 8, 1}, 128)};
  question.as = "triton";
  question.given = {.seqlen = 8192, .head_dim = 64, .kv_tile = 64};
  const ExplainAnswer answer = explain(question, shared_context());
  REQUIRE(answer.kernels.size() == 1);
  CHECK(answer.kernels[0].family == "triton");
  CHECK(answer.kernels[0].problem.heads == 8);
  CHECK(answer.kernels[0].problem.q_tile == 128);  // 8192 tokens in 64 Q tiles
  CHECK(answer.kernels[0].read.has_value());
  question.as = "tritn";
  CHECK_THROWS_AS(explain(question, shared_context()), UnknownName);
}

/// A launch of a kernel that nobody knows: `heads` of `tokens`, head dim 128 in bf16, Q tiles of `q_tile`
/// rows. Each Q tile reads 16 sectors a key of K and V, and 8 a query.
ProfiledKernel unknown_launch(std::int64_t tokens, std::int64_t heads, std::int64_t q_tile,
                              double keys_per_tile) {
  const auto q_tiles = static_cast<double>(tokens / q_tile);
  const double sectors =
      static_cast<double>(heads) * (8.0 * static_cast<double>(tokens) + q_tiles * 16 * keys_per_tile);
  return launched("fused_attention_mine", {tokens / q_tile, heads, 1}, 256, sectors);
}

TEST_CASE(
    "explain: of a kernel that is not known, sectors force the Q tile, heads and mask, and tiles are "
    "guessed") {
  ExplainQuestion question;
  question.as = kAnyFamily;
  question.given = {.seqlen = 8192, .head_dim = 128};
  // Full: every Q tile has all keys, so any KV tile reads as much.
  question.launches = {unknown_launch(8192, 6, 64, 8192)};
  const ExplainAnswer full = explain(question, shared_context());
  REQUIRE(full.kernels.size() == 1);
  CHECK(full.kernels[0].problem.q_tile == 64);
  CHECK(full.kernels[0].problem.heads == 6);
  CHECK(full.kernels[0].problem.causal == false);
  CHECK(known(full, "q-tile") == KnownFrom::kSectors);
  CHECK(known(full, "heads") == KnownFrom::kSectors);
  CHECK(known(full, "causal") == KnownFrom::kSectors);
  CHECK(known(full, "kv-tile") == KnownFrom::kGuessed);
  CHECK(known(full, "order") == KnownFrom::kGuessed);
  CHECK(full.kernels[0].read.has_value());
  // Causal with Q and KV tiles of 128: Q tile i of 64 tiles has i + 1 KV tiles, so 32.5 of 128 keys on
  // average.
  question.launches = {unknown_launch(8192, 6, 128, 32.5 * 128)};
  question.launches[0].shared_bytes = (128 + 2 * 3 * 128) * 256;
  const ExplainAnswer causal = explain(question, shared_context());
  CHECK(causal.kernels.at(0).problem.q_tile == 128);
  CHECK(causal.kernels.at(0).problem.causal == true);
  CHECK(causal.kernels.at(0).problem.kv_tile == 128);  // fills the shared memory with three stages
}

TEST_CASE("explain: counters that no tiles explain are told as such, and nothing is invented") {
  ExplainQuestion question;
  question.as = kAnyFamily;
  question.given = {.seqlen = 8192, .head_dim = 128};
  question.launches = {unknown_launch(8192, 6, 64, 3 * 8192)};
  const ExplainedKernel kernel = explain(question, shared_context()).kernels.at(0);
  CHECK(kernel.missing == std::vector<std::string>{"q-tile", "kv-tile"});
  CHECK_FALSE(kernel.read);
}

TEST_CASE(
    "explain: counters of other kernels are shown, the longest first, and those that are known are not") {
  ExplainQuestion question;
  for (const double time : {1.0, 3.0, 2.0}) {
    question.launches.push_back(
        launched("kernel" + std::to_string(static_cast<int>(time)), {1, 1, 1}, 32, 100 * time));
    question.launches.back().time_ns = time;
  }
  const ExplainAnswer answer = explain(question, shared_context());
  REQUIRE(answer.others.size() == 3);
  CHECK(answer.others[0].name == "kernel3");
  CHECK(answer.others[0].l2_read_sectors == 300);
  CHECK(answer.others[2].name == "kernel1");
}

}  // namespace explain_unknown_test

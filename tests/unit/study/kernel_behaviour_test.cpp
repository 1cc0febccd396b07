// What real kernels do, as questions: batches of variable length, pairs of CTAs, chains of KV heads, time
// limits, and the memory that schedules take.
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/schedule_mask_text.hpp>
#include <natten_sim/study/schedule_parts.hpp>

#include "catch.hpp"

namespace kernel_behaviour_test {

using namespace natten_sim;
using study::FinishedSchedule;
using study::ScheduleAnswer;
using study::ScheduleQuestion;

ScheduleAnswer answered(const ScheduleQuestion& question) {
  static const study::Context kCatalog = study::default_context();
  return study::schedule(question, kCatalog);
}

const FinishedSchedule& only(const ScheduleAnswer& answer) {
  REQUIRE(answer.results.size() == 1);
  return study::require_finished(answer.results.front());
}

ScheduleQuestion token_question(std::int64_t tokens, const std::string& mask, const std::string& algorithm) {
  ScheduleQuestion question;
  question.sizes = study::TokenSizes{.q_tokens = tokens};
  const auto parsed = parse_schedule_mask(mask);
  question.mask = std::get<ScheduleMask>(parsed);
  question.algorithms = {algorithm};
  question.costs = {.compute = 7, .reduce = 2};
  return question;
}

TEST_CASE("sequences of a batch do not wait for each other, and empty CTAs cost what they cost") {
  // 3 sequences of 2, 1 and 2 tiles of 128, causal: 6 CTAs, one of which exits; each sequence alone on one
  // worker a chain takes at most 2 tasks, so the makespan is that of 256 tokens.
  ScheduleQuestion question = token_question(640, "varlen:causal:256,128,256", "descending");
  const ScheduleAnswer answer = answered(question);
  CHECK(answer.problem.mask.kv_tiles == 6);
  CHECK(only(answer).run.makespan ==
        only(answered(token_question(256, "causal", "descending"))).run.makespan);
  question.costs.early_exit = 3;
  question.workers = 1;
  CHECK(only(answered(question)).run.makespan ==
        (3 + 1 + 3) * 9 + 3);  // tasks one after the other, and an exit
}

TEST_CASE("a pair of CTAs is one worker with two KV tiles, and reduces at half the cost") {
  ScheduleQuestion question = token_question(1024, "full", "ascending");  // 8 x 8 tiles
  question.ctas_per_chain = 2;
  question.costs.reduce = 4;
  const ScheduleAnswer answer = answered(question);
  CHECK(answer.problem.mask.kv_tiles == 4);
  CHECK(answer.ctas == 8);
  CHECK(answer.problem.workers == 4);
  CHECK(only(answer).run.makespan == 8 * (7 + 2) + 3 * 2);  // m n (c + r) + (n - 1) r with 4 KV tiles, r = 2
  const study::ScheduleParts parts = study::parts_of({}, answer);
  CHECK(parts.kv_tiles == 8);
  CHECK(parts.workers == 8);
  CHECK(parts.question.costs.reduce == 4);
}

TEST_CASE("chains of KV heads take the tasks of all their heads, and reduce no dK/dV") {
  ScheduleQuestion question = token_question(512, "full", "shift");  // 4 x 4 tiles
  question.heads = 4;
  question.heads_kv = 2;
  question.gqa_chains = study::GqaChains::kKvHeads;
  question.workers = 8;
  const ScheduleAnswer answer = answered(question);
  CHECK(answer.problem.heads == 2);
  CHECK(only(answer).run.makespan == 2 * 4 * (7 + 2));  // 8 chains of 8 tasks on 8 workers, no waits
  CHECK(study::table_of("shift", only(answer)).problem.merged_heads == 2);
  CHECK(study::parts_of({}, answer).q_tiles == 4);
}

TEST_CASE("the memory of a schedule: one fp32 dQ, one a split, none for two passes") {
  ScheduleQuestion question = token_question(1024, "full", "spt");
  question.heads = 4;
  question.workers = 16;
  question.head_dim = 64;
  const std::int64_t dq = 4 * 1024 * 64 * 4, counters = 4 * 8 * 4;  // heads, rows or tiles, bytes
  CHECK(only(answered(question)).workspace_bytes == dq + counters);
  question.algorithms = {"unordered"};
  CHECK(only(answered(question)).workspace_bytes == dq);
  question.algorithms = {"fa2-split"};
  CHECK(only(answered(question)).workspace_bytes == 4 * dq);  // 16 workers for 4 heads: 4 splits
  question.algorithms = {"two-pass"};
  CHECK(only(answered(question)).workspace_bytes == 0);
}

TEST_CASE("heads that share a KV head keep fp32 dK/dV, or split ones a dK/dV a head") {
  ScheduleQuestion question = token_question(1024, "full", "spt");
  question.heads = 4;
  question.heads_kv = 2;
  question.workers = 16;
  question.head_dim = 64;
  const std::int64_t dq = 4 * 1024 * 64 * 4, dkv = 2 * 2 * 1024 * 64 * 4;
  CHECK(only(answered(question)).workspace_bytes == dq + dkv + 4 * 8 * 4 + 2 * 8 * 4);
  question.algorithms = {"fa2-split"};
  CHECK(only(answered(question)).workspace_bytes == 4 * dq + 2 * 4 * 1024 * 64 * 2);
  question.algorithms = {"two-pass"};
  CHECK(only(answered(question)).workspace_bytes == dkv + 2 * 8 * 4);
  question.algorithms = {"spt"};
  question.gqa_chains = study::GqaChains::kKvHeads;
  CHECK(only(answered(question)).workspace_bytes == dq + 4 * 8 * 4);
}

TEST_CASE("under a time limit a small problem is searched until it is proved") {
  ScheduleQuestion question;
  question.sizes = study::TileSizes{.q_tiles = 4, .kv_tiles = 3};
  question.mask = {SlidingWindowMask{1, 1}};
  question.heads = 2;
  question.workers = 2;
  question.algorithms = {"best"};
  question.costs = {.compute = 5, .reduce = 3, .handoff = 2};
  question.time_limit_s = 60;
  CHECK(only(answered(question)).run.optimality_gap == 0);
  question.time_limit_s = -1;
  CHECK_THROWS_AS(answered(question), InvalidParameter);
}

}  // namespace kernel_behaviour_test

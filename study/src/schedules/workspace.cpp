#include "schedules/workspace.hpp"

#include <string>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>

namespace natten_sim::study {
namespace {

constexpr std::int64_t kFloatBytes = 4, kCounterBytes = 4;
constexpr std::int64_t kMostHeadDim = 65536;

std::int64_t bytes_of(std::int64_t matrices, std::int64_t heads, std::int64_t tokens,
                      std::int64_t row_bytes) {
  const std::int64_t rows = checked_multiply(heads, tokens, "workspace");
  return checked_multiply(checked_multiply(matrices, rows, "workspace"), row_bytes, "workspace");
}

}  // namespace

std::int64_t workspace_bytes(const FinishedSchedule& finished, const ScheduleAnswer& answer,
                             const ScheduleQuestion& question) {
  if (question.head_dim < 1 || question.head_dim > kMostHeadDim)
    throw InvalidParameter("dim", std::to_string(question.head_dim), "1 to 65536");
  const SequenceTiling& tokens = answer.tokens.value();
  const natten_sim::PlanMemory& memory = finished.plan.memory;
  const std::int64_t heads = std::int64_t{answer.heads} * answer.batch;
  const std::int64_t heads_kv = std::int64_t{answer.heads_kv} * answer.batch;
  std::int64_t bytes = bytes_of(memory.dq_buffers, heads, tokens.q_tokens, question.head_dim * kFloatBytes);
  const bool shared = answer.problem.heads_per_kv_head > 1;  // dK/dV, by several chains
  if (shared && memory.dkv == DkvMemory::kOneAQueryHead)
    bytes = checked_add(
        bytes, bytes_of(2, heads, tokens.kv_tokens, question.head_dim * element_bytes(question.dtype)),
        "workspace");
  if (shared && memory.dkv == DkvMemory::kOneAKvHead)
    bytes = checked_add(bytes, bytes_of(2, heads_kv, tokens.kv_tokens, question.head_dim * kFloatBytes),
                        "workspace");
  if (memory.dq_counters)
    bytes = checked_add(bytes, bytes_of(1, heads, answer.tiles.q_tiles.value(), kCounterBytes), "workspace");
  if (shared && memory.dkv_counters)
    bytes = checked_add(
        bytes, bytes_of(answer.costs.kv_turns(), heads_kv, answer.tiles.kv_tiles.value(), kCounterBytes),
        "workspace");
  return bytes;
}

}  // namespace natten_sim::study

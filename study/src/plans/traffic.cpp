#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/dtype.hpp>

#include "plan_parts.hpp"

namespace natten_sim::study {
namespace {

constexpr const char* kQuantity = "bytes";

std::int64_t row_bytes(const Setting& setting, std::int64_t heads, std::int64_t channels) {
  return checked_multiply(checked_multiply(setting.batch, heads, kQuantity), channels * element_bytes(*setting.dtype),
                          kQuantity);
}

}  // namespace

std::int64_t kv_bytes(const Setting& setting) {
  return row_bytes(setting, *setting.heads_kv, *setting.head_dim + *setting.head_dim_value);
}

std::int64_t qo_bytes(const Setting& setting) {
  return row_bytes(setting, *setting.heads, *setting.head_dim + *setting.head_dim_value);
}

std::int64_t head_traffic(const PlanQuestion& question, std::int64_t tokens) {
  const Setting& setting = question.setting;
  const std::int64_t bytes = checked_multiply(tokens, qo_bytes(setting) + kv_bytes(setting), kQuantity);
  // A GPU has 1/P of the heads or tokens of what it needs, which is 1/P of all. Backward the gradients do the same.
  const std::int64_t received = bytes / question.gpus / question.gpus * (question.gpus - 1);
  return question.use == AdviseUse::kTraining ? 2 * received : received;
}

std::int64_t token_traffic(const PlanQuestion& question, std::int64_t foreign_tokens) {
  const std::int64_t bytes = checked_multiply(foreign_tokens, kv_bytes(question.setting), kQuantity);
  if (question.use == AdviseUse::kInference) return bytes;
  // Backward dK and dV go back; round a ring K and V come once more.
  return (question.split == GpuSplit::kRing ? 3 : 2) * bytes;
}

Bounded transfer_ms(std::int64_t bytes, const Link& link) {
  const auto at = [&](double share) { return 1e3 * static_cast<double>(bytes) / (share * link.bytes_per_s); };
  return {at((link.least_share + link.most_share) / 2), at(link.most_share), at(link.least_share)};
}

}  // namespace natten_sim::study

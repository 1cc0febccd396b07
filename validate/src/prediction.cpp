#include <natten_sim/validate/prediction.hpp>

#include <algorithm>
#include <cmath>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>

namespace natten_sim::validate {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

const DeviceValue* value_of(const Device& device, const char* name) {
  const auto found = std::find_if(device.values.begin(), device.values.end(),
                                  [&](const DeviceValue& value) { return value.name == name; });
  return found == device.values.end() ? nullptr : &*found;
}

/// A whole number of the device profile. @throws InvalidParameter when the profile lacks it.
std::int64_t number_of(const Device& device, const char* name) {
  const DeviceValue* const value = value_of(device, name);
  if (value == nullptr) throw InvalidParameter(name, "absent", "a device profile that has it (" + device.name + ")");
  return std::llround(value->value);
}

/// Every CTA reads every sector in every pass.
std::vector<Prediction> stream_sectors(const Point& point, const Device& device) {
  const auto* const stream = std::get_if<StreamPoint>(&point);
  if (stream == nullptr) return {};
  const std::int64_t ctas = stream->ctas == 0 ? number_of(device, "sms") : stream->ctas;
  const std::int64_t sectors = checked_multiply(ctas * stream->passes, stream->buffer_mib * kMiB, "stream bytes") /
                               number_of(device, "l2_sector_bytes");
  return {{"l2_read_sectors", "every load", static_cast<double>(sectors), false}};
}

/// LRU of the effective capacity in front of repeated scans: a cyclic scan that does not fit misses everything, a
/// sawtooth finds what it read last. All CTAs in step.
std::vector<Prediction> stream_dram(const Point& point, const Device& device) {
  const auto* const stream = std::get_if<StreamPoint>(&point);
  if (stream == nullptr || value_of(device, "l2_effective_bytes") == nullptr) return {};
  const std::int64_t bytes = stream->buffer_mib * kMiB;
  const std::int64_t capacity = number_of(device, "l2_effective_bytes");
  const std::int64_t again = bytes <= capacity                                   ? 0
                             : stream->order == kernels::StreamOrder::kSawtooth ? bytes - capacity
                                                                                : bytes;
  return {{"dram_read_bytes", "LRU of the effective capacity, all CTAs in step",
           static_cast<double>(bytes + (stream->passes - 1) * again), false}};
}

/// Split-Q: each Q tile loads its own rows, and the K and V rows of every KV tile that it visits; whole tiles on the
/// diagonal, of a trailing tile only its own rows.
std::vector<Prediction> attention_sectors(const Point& point, const Device& device) {
  const auto* const attention = std::get_if<AttentionPoint>(&point);
  if (attention == nullptr) return {};
  const kernels::AttentionProblem& problem = attention->problem;
  const kernels::AttentionVariant& variant = attention->variant;
  std::int64_t rows = problem.tokens;
  for (std::int64_t first = 0; first < problem.tokens; first += variant.q_tile) {
    const std::int64_t end = std::min(first + variant.q_tile, problem.tokens);
    const std::int64_t visited = problem.causal ? ceil_divide(end, variant.kv_tile) * variant.kv_tile : problem.tokens;
    rows = checked_add(rows, 2 * std::min(visited, problem.tokens), "rows");
  }
  const std::int64_t sectors_a_row = problem.head_dim * 2 / number_of(device, "l2_sector_bytes");
  const std::int64_t sectors =
      checked_multiply(checked_multiply(rows, sectors_a_row, "sectors"), problem.batch * problem.heads, "sectors");
  return {{"l2_read_sectors", "split-Q sectors, closed form", static_cast<double>(sectors), false}};
}

}  // namespace

const std::vector<Predictor>& predictors() {
  static const std::vector<Predictor> all = {stream_sectors, stream_dram, attention_sectors};
  return all;
}

std::vector<Prediction> predict(const Point& point, const Device& device) {
  std::vector<Prediction> predictions;
  for (const Predictor& predictor : predictors()) {
    for (Prediction& prediction : predictor(point, device)) predictions.push_back(std::move(prediction));
  }
  return predictions;
}

}  // namespace natten_sim::validate

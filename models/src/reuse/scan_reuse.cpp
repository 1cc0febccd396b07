#include <algorithm>
#include <limits>
#include <string>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/reuse/attention_traffic.hpp>
#include <natten_sim/models/reuse/scan_reuse.hpp>

namespace natten_sim {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 62;

void require_in(const char* parameter, std::int64_t value, std::int64_t lo, std::int64_t hi) {
  if (value >= lo && value <= hi) return;
  throw InvalidParameter(parameter, std::to_string(value), std::to_string(lo) + ".." + std::to_string(hi),
                         std::to_string(value < lo ? lo : hi));
}

void require_valid(const RepeatedScan& scan) {
  require_in("bytes", scan.bytes, 1, kMaxBytes / 4);
  require_in("block_bytes", scan.block_bytes, 1, kMaxBytes / 4);
  require_in("passes", scan.passes, 1, kMaxBytes);
  require_in("between_bytes", scan.between_bytes, 0, kMaxBytes / 4);
  if (scan.last_between_bytes) require_in("last_between_bytes", *scan.last_between_bytes, 0, kMaxBytes / 4);
  require_in("first_pass", scan.first_pass, 0, kMaxBytes);
}

/// Passes after the first, by direction. The bytes before the last of them may differ.
struct Reuses {
  std::int64_t ascending = 0;
  std::int64_t descending = 0;
  bool last_descending = false;
};

Reuses reuses(const RepeatedScan& scan) {
  if (scan.order != KvOrder::kSawtooth) return {scan.passes - 1, 0, false};
  const std::int64_t first = scan.first_pass + 1, count = scan.passes - 1;
  const std::int64_t odd = count / 2 + (count % 2 != 0 && first % 2 != 0 ? 1 : 0);
  return {count - odd, odd, (scan.first_pass + scan.passes - 1) % 2 != 0};
}

/// Missed bytes of one pass that follows another one, with `between` bytes between them.
std::int64_t missed_in_pass(const RepeatedScan& scan, bool descending, std::int64_t between,
                            std::int64_t capacity) {
  if (scan.bytes + between <= capacity) return 0;
  if (scan.order != KvOrder::kSawtooth) return scan.bytes;
  const std::int64_t room = capacity - between;
  if (room <= 0) return scan.bytes;
  if (!descending) return scan.bytes - room / scan.block_bytes * scan.block_bytes;  // not all: see above
  // Block i ends bytes - i * block before the turn; those with more than `room` to go miss.
  const std::int64_t missed_blocks = ceil_divide(scan.bytes - room, scan.block_bytes);
  return missed_blocks >= ceil_divide(scan.bytes, scan.block_bytes) ? scan.bytes
                                                                    : missed_blocks * scan.block_bytes;
}

/// Sum over the bytes of one reusing pass of their distances.
double distance_sum(const RepeatedScan& scan, bool descending, std::int64_t between) {
  const auto bytes = static_cast<double>(scan.bytes), gap = static_cast<double>(between);
  if (scan.order != KvOrder::kSawtooth) return bytes * (bytes + gap);
  const auto block = static_cast<double>(std::min(scan.block_bytes, scan.bytes));
  const auto full = static_cast<double>(scan.bytes / scan.block_bytes);
  const double rest = bytes - full * block;
  if (descending) return block * (full * (bytes + gap) - block * full * (full - 1) / 2) + rest * (rest + gap);
  return block * (block * full * (full + 1) / 2 + full * gap) + rest * (bytes + gap);
}

/// Applies `of(descending, between)` to every reusing pass and adds up.
template <typename Sum, typename Of, typename Times>
Sum over_reuses(const RepeatedScan& scan, const Of& of, const Times& times) {
  Reuses count = reuses(scan);
  Sum sum{};
  if (scan.passes > 1 && scan.last_between_bytes) {
    sum = of(count.last_descending, *scan.last_between_bytes);
    --(count.last_descending ? count.descending : count.ascending);
  }
  sum = times(sum, of(false, scan.between_bytes), count.ascending);
  return times(sum, of(true, scan.between_bytes), count.descending);
}

std::int64_t add_times(std::int64_t sum, std::int64_t value, std::int64_t count) {
  return checked_add(sum, checked_multiply(value, count, "missed bytes"), "missed bytes");
}

}  // namespace

std::int64_t missed_bytes(const RepeatedScan& scan, std::int64_t capacity_bytes) {
  require_valid(scan);
  require_in("capacity_bytes", capacity_bytes, 0, kMaxBytes);
  const auto pass = [&](bool descending, std::int64_t between) {
    return missed_in_pass(scan, descending, between, capacity_bytes);
  };
  return checked_add(scan.bytes, over_reuses<std::int64_t>(scan, pass, add_times), "missed bytes");
}

std::optional<double> mean_stack_distance_bytes(const RepeatedScan& scan) {
  require_valid(scan);
  if (scan.passes == 1) return std::nullopt;
  const double sum = over_reuses<double>(
      scan, [&](bool descending, std::int64_t between) { return distance_sum(scan, descending, between); },
      [](double total, double value, std::int64_t count) {
        return total + value * static_cast<double>(count);
      });
  return sum / (static_cast<double>(scan.bytes) * static_cast<double>(scan.passes - 1));
}

namespace {

bool misses_more_than_once(SplitQProblem problem, std::int64_t length, std::int64_t workers,
                           std::int64_t capacity_bytes) {
  problem.mask[0].length = length;
  problem.mask[0].window = length;
  const std::optional<LockstepReuse> reuse =
      lockstep_reuse(problem, KvOrder::kCyclic, workers, capacity_bytes);
  return !reuse || reuse->miss_sectors > attention_traffic(problem).cold.total;
}

/// The first length from `length` on at which the closed form has misses that are not compulsory. It can be
/// above `length`, because fewer bytes lie between the passes when the last wave is not full. Where there is
/// no closed form, or pairs of tokens are more than 63 bits count, `length` itself.
std::int64_t first_missing_length(const SplitQProblem& problem, std::int64_t length, std::int64_t workers,
                                  std::int64_t capacity_bytes) {
  const AxisMask& axis = problem.mask[0];
  if (axis.causal || axis.window < axis.length || problem.sizes.batch * problem.sizes.heads_kv > 1)
    return length;
  const std::int64_t tile = problem.tiles.q_tile[0];
  const std::int64_t last = length + 2 * workers * tile;
  if (static_cast<Int128>(last) * last > std::numeric_limits<std::int64_t>::max() / problem.sizes.heads)
    return length;
  std::int64_t known = length;
  while (known < last && !misses_more_than_once(problem, known, workers, capacity_bytes)) {
    poll();
    known += tile;
  }
  for (std::int64_t exact = std::max(length, known - tile + 1); exact < known; ++exact) {
    poll();
    if (misses_more_than_once(problem, exact, workers, capacity_bytes)) return exact;
  }
  return known;
}

}  // namespace

std::optional<std::int64_t> first_noncompulsory_seqlen(const SplitQProblem& problem, std::int64_t workers,
                                                       std::int64_t capacity_bytes) {
  require_valid(problem);
  require_in("workers", workers, 1, std::int64_t{1} << 31);
  require_in("capacity_bytes", capacity_bytes, 0, kMaxBytes);
  const AxisMask& axis = problem.mask[0];
  if (problem.mask.rank() != 1 || axis.stride != 1 || problem.keys || problem.rows) return std::nullopt;
  const OperandSizes& sizes = problem.sizes;
  const std::int64_t row = sizes.key_row_bytes() + sizes.value_row_bytes();
  const Int128 between = static_cast<Int128>(workers) * problem.tiles.q_tile[0] * row;
  const Int128 room = capacity_bytes - between;
  const Int128 by_capacity = std::max<Int128>(room, 0) / row + 1;
  if (axis.window < axis.length && axis.window < by_capacity) return std::nullopt;
  // The first length with more Q tiles than one wave takes.
  const Int128 by_waves = static_cast<Int128>(workers / sizes.group()) * problem.tiles.q_tile[0] + 1;
  const Int128 length = std::max(by_capacity, by_waves);
  if (length > (Int128{1} << 40)) return std::nullopt;
  return first_missing_length(problem, static_cast<std::int64_t>(length), workers, capacity_bytes);
}

}  // namespace natten_sim

#include <algorithm>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/reuse/attention_traffic.hpp>
#include <natten_sim/models/reuse/scan_reuse.hpp>

namespace natten_sim {
namespace {

/// The scan of one KV head, and the number of equal heads that follow each other.
struct HeadScan {
  RepeatedScan scan;
  std::int64_t kv_heads = 1;
  std::int64_t q_tiles = 0;  ///< that read the head
};

std::optional<HeadScan> head_scan(const SplitQProblem& problem, KvOrder order, std::int64_t workers) {
  const OperandSizes& sizes = problem.sizes;
  if (!is_dense(problem) || problem.mask.rank() != 1) return std::nullopt;
  const std::int64_t key = sizes.key_row_bytes(), value = sizes.value_row_bytes();
  if (key % sizes.sector_bytes != 0 || value % sizes.sector_bytes != 0) return std::nullopt;
  const std::int64_t length = problem.mask[0].length, q_tile = problem.tiles.q_tile[0];
  const std::int64_t kv_tile = std::min(problem.tiles.kv_tile[0], key_length(problem, 0));
  const std::int64_t kv_heads = sizes.batch * sizes.heads_kv;
  const std::int64_t q_tiles = checked_multiply(ceil_divide(length, q_tile), sizes.group(), "q_tiles");
  const bool cut = length % q_tile != 0;
  if (kv_heads > 1 && q_tiles % workers != 0) return std::nullopt;
  if (sizes.batch > 1 && sizes.group() > 1) return std::nullopt;  // other batches lie between a head's visits
  if (cut && (kv_heads > 1 || sizes.group() > 1)) return std::nullopt;
  HeadScan head{{.bytes = kv_head_bytes(problem),
                 .block_bytes = kv_tile * (key + value),
                 .passes = ceil_divide(q_tiles, workers),
                 .order = order,
                 .between_bytes = 0,
                 .last_between_bytes = std::nullopt},
                kv_heads,
                q_tiles};
  if (head.scan.passes > 1) {
    const std::int64_t wave = checked_multiply(workers, q_tile, "rows of a wave");
    const std::int64_t rows = checked_multiply(length, sizes.group(), "rows");
    head.scan.between_bytes = checked_multiply(wave, key + value, "bytes of a wave");
    head.scan.last_between_bytes = wave * value + (rows - (head.scan.passes - 1) * wave) * key;
  }
  return head;
}

/// Heads follow each other, and a sawtooth goes on where the last head left it.
template <typename Visit>
void for_each_parity(const HeadScan& head, const Visit& visit) {
  if (head.scan.order != KvOrder::kSawtooth || head.scan.passes % 2 == 0) {
    visit(head.scan, head.kv_heads);
    return;
  }
  RepeatedScan scan = head.scan;
  visit(scan, ceil_divide(head.kv_heads, 2));
  scan.first_pass = 1;
  if (head.kv_heads > 1) visit(scan, head.kv_heads / 2);
}

std::int64_t kv_missed_bytes(const HeadScan& head, std::int64_t capacity) {
  std::int64_t missed = 0;
  for_each_parity(head, [&](const RepeatedScan& scan, std::int64_t heads) {
    missed = checked_add(missed, checked_multiply(missed_bytes(scan, capacity), heads, "missed bytes"),
                         "missed bytes");
  });
  return missed;
}

/// K and V loads of all heads, and the capacities at which they hit.
class KvLoads {
 public:
  KvLoads(const SplitQProblem& problem, const HeadScan& head, const AttentionTraffic& traffic)
      : head_(head), sector_(problem.sizes.sector_bytes) {
    sectors_ = checked_add(traffic.sectors.k, traffic.sectors.v, "sectors");
    all_bytes_ = checked_multiply(head.scan.bytes, head.kv_heads, "bytes");
    passes_bytes_ = checked_multiply(all_bytes_, head.scan.passes, "bytes");
    followers_ = sectors_ - passes_bytes_ / sector_;
    block_ = std::min(head.scan.block_bytes, head.scan.bytes);
    rest_ = head.scan.bytes % block_;
    cut_followers_ = rest_ / sector_ * (head.q_tiles - head.scan.passes) * head.kv_heads;
  }

  [[nodiscard]] std::int64_t sectors() const { return sectors_; }
  [[nodiscard]] std::int64_t reused() const { return sectors_ - all_bytes_ / sector_; }

  [[nodiscard]] std::int64_t hits(std::int64_t capacity) const {
    return (passes_bytes_ - kv_missed_bytes(head_, capacity)) / sector_ +
           (block_ <= capacity ? followers_ - cut_followers_ : 0) + (rest_ <= capacity ? cut_followers_ : 0);
  }

  /// Over the reused sectors.
  [[nodiscard]] double mean_bytes() const {
    double distances = static_cast<double>(followers_ - cut_followers_) * static_cast<double>(block_) +
                       static_cast<double>(cut_followers_) * static_cast<double>(rest_);
    for_each_parity(head_, [&](const RepeatedScan& scan, std::int64_t heads) {
      if (scan.passes == 1) return;
      distances += *mean_stack_distance_bytes(scan) * static_cast<double>(scan.bytes / sector_) *
                   static_cast<double>(scan.passes - 1) * static_cast<double>(heads);
    });
    return distances / static_cast<double>(reused());
  }

 private:
  HeadScan head_;
  std::int64_t sector_ = 32, sectors_ = 0, all_bytes_ = 0, passes_bytes_ = 0;
  // Followers read what was read in the same step. Its block is on top of the stack: their distance is the
  // block, or the cut last one.
  std::int64_t followers_ = 0, cut_followers_ = 0, block_ = 0, rest_ = 0;
};

std::optional<HeadScan> checked_head_scan(const SplitQProblem& problem, KvOrder order, std::int64_t workers) {
  require_valid(problem);
  if (workers < 1) throw InvalidParameter("workers", std::to_string(workers), "1 or more", "1");
  return head_scan(problem, order, workers);
}

}  // namespace

std::optional<LockstepReuse> lockstep_reuse(const SplitQProblem& problem, KvOrder order, std::int64_t workers,
                                            std::int64_t capacity_bytes) {
  const std::optional<HeadScan> head = checked_head_scan(problem, order, workers);
  if (!head) return std::nullopt;
  const AttentionTraffic traffic = attention_traffic(problem);
  const KvLoads loads(problem, *head, traffic);
  LockstepReuse reuse;
  reuse.passes = head->scan.passes;
  reuse.kv_miss_sectors = loads.sectors() - loads.hits(capacity_bytes);
  reuse.load_miss_sectors = reuse.kv_miss_sectors + traffic.cold.q;
  reuse.store_miss_sectors = traffic.cold.o;
  reuse.miss_sectors = reuse.load_miss_sectors + reuse.store_miss_sectors;
  return reuse;
}

std::optional<LockstepDistances> lockstep_distances(const SplitQProblem& problem, KvOrder order,
                                                    std::int64_t workers) {
  const std::optional<HeadScan> head = checked_head_scan(problem, order, workers);
  if (!head) return std::nullopt;
  const KvLoads loads(problem, *head, attention_traffic(problem));
  LockstepDistances distances;
  const std::int64_t reused = loads.reused();
  if (reused == 0) return distances;
  distances.mean_bytes = loads.mean_bytes();
  for (std::int64_t upto = 1, below = 0; below < reused; upto *= 2) {
    const std::int64_t upto_hits = loads.hits(upto);
    if (upto_hits > 0) distances.histogram.push_back({upto, upto_hits - below});
    below = upto_hits;
  }
  return distances;
}

}  // namespace natten_sim

#include "complete.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/reuse/attention_traffic.hpp>

namespace natten_sim::study {
namespace {

using P = ExplainedProblem;
constexpr std::int64_t kMaxTokens = std::int64_t{1} << 31;
constexpr std::int64_t kMaxTile = 512, kMinTile = 16;
/// DRAM counters may miss as much of what is read once: what other kernels left in the L2.
constexpr double kCounted = 1.1;

/// Fills members one by one and notes how each is known.
class Completion {
 public:
  Completion(const Recognised& found, const ProfiledKernel& launch, const P& given)
      : found_(found), launch_(launch), given_(given), done_{found.problem, found.known, {}} {}

  Completed run() {
    take_given();
    measure_rows();
    if (!done_.problem.head_dim && found_.head_dim_upto)
      set(&P::head_dim, *found_.head_dim_upto, "dim", KnownFrom::kAssumed);
    require(done_.problem.seqlen.has_value(), "seqlen");
    require(done_.problem.head_dim.has_value(), "dim");
    require(done_.problem.q_tile.has_value(), "q-tile");
    require(done_.problem.kv_tile.has_value(), "kv-tile");
    if (done_.missing.empty()) settle_by_sectors();
    fill_defaults();
    return done_;
  }

 private:
  template <typename T>
  void set(std::optional<T> P::*member, const T& value, const char* option, KnownFrom from) {
    done_.problem.*member = value;
    std::erase_if(done_.known, [&](const KnownMember& known) { return known.member == option; });
    done_.known.push_back({option, from});
  }
  template <typename T>
  void take(std::optional<T> P::*member, const char* option) {
    if (!(done_.problem.*member) && given_.*member) set(member, *(given_.*member), option, KnownFrom::kGiven);
  }
  void require(bool is_known, const char* option) {
    if (!is_known) done_.missing.emplace_back(option);
  }

  void take_given() {
    take(&P::q_tile, "q-tile");
    take(&P::kv_tile, "kv-tile");
    take(&P::causal, "causal");
    take(&P::seqlen_k, "seqlen-k");
    take(&P::batch, "batch-size");
    take(&P::heads, "heads");
    take(&P::heads_kv, "heads-kv");
    take(&P::dtype, "dtype");
    take(&P::order, "order");
    take(&P::schedule, "schedule");
    take(&P::longest_first, "longest-first");
    const bool fits = !found_.head_dim_upto || !given_.head_dim || *given_.head_dim <= *found_.head_dim_upto;
    if (fits) take(&P::head_dim, "dim");
  }

  [[nodiscard]] bool has_rows(std::int64_t seqlen, std::int64_t q_tile) const {
    return !found_.q_tiles || ceil_divide(seqlen, q_tile) == *found_.q_tiles;
  }

  /// Length and Q tile, of which the grid has the quotient.
  void measure_rows() {
    P& problem = done_.problem;
    if (problem.seqlen) return;
    if (!found_.q_tiles) {
      take(&P::seqlen, "seqlen");
      return;
    }
    if (!problem.q_tile && given_.seqlen) {
      for (std::int64_t tile = kMinTile; tile <= kMaxTile && !problem.q_tile; tile *= 2) {
        if (has_rows(*given_.seqlen, tile)) set(&P::q_tile, tile, "q-tile", KnownFrom::kGrid);
      }
    }
    if (!problem.q_tile) return;
    if (given_.seqlen && has_rows(*given_.seqlen, *problem.q_tile)) {
      set(&P::seqlen, *given_.seqlen, "seqlen", KnownFrom::kGiven);
    } else if (*found_.q_tiles <= kMaxTokens / *problem.q_tile) {
      set(&P::seqlen, *found_.q_tiles * *problem.q_tile, "seqlen",
          found_.whole_q_tiles ? KnownFrom::kGrid : KnownFrom::kAssumed);
    }
  }

  [[nodiscard]] bool is_assumed(const char* option) const {
    const auto is = [&](const KnownMember& known) { return known.member == option; };
    const auto known = std::find_if(done_.known.begin(), done_.known.end(), is);
    return known == done_.known.end() || known->from == KnownFrom::kAssumed;
  }

  [[nodiscard]] double loaded(const P& problem) const { return loaded_sectors(problem, found_.reloads_q); }

  /// By how much sectors of the problem and the counter differ, as a share.
  [[nodiscard]] double miss(const P& problem) const {
    return std::abs(loaded(problem) / *launch_.l2_read_sectors - 1);
  }

  /// Keeps what the counter decides among things that nothing else tells.
  void settle_by_sectors() {
    if (!launch_.l2_read_sectors || *launch_.l2_read_sectors <= 0) return;
    const bool mask_open = !done_.problem.causal;
    std::vector<bool> masks = {false, true};
    if (!mask_open) masks = {*done_.problem.causal};
    for (const bool other_keys : {false, true}) {
      for (const bool causal : masks) {
        P trial = done_.problem;
        trial.causal = causal;
        if (!settle_rest(trial, other_keys)) continue;
        if (mask_open) set(&P::causal, causal, "causal", KnownFrom::kSectors);
        keep(trial);
        return;
      }
    }
  }

  /// Heads and length of `trial`, or its keys if they may be others than the queries, one of them at a time. Whether one
  /// of them explains the counter.
  bool settle_rest(P& trial, bool other_keys) const {
    const P first = trial;
    if (is_assumed("seqlen") && found_.q_tiles && !found_.whole_q_tiles) shorten(trial);
    if (miss(trial) <= kSameSectors) {
      if (!trial.heads) trial.heads = 1;
      return true;
    }
    trial = first;
    if (!trial.heads) {
      const double heads = std::round(*launch_.l2_read_sectors / loaded(trial));
      if (heads >= 1 && heads < 1e6) trial.heads = static_cast<std::int64_t>(heads);
      return miss(trial) <= kSameSectors;
    }
    if (trial.seqlen_k || !other_keys) return false;
    lengthen_keys(trial);
    return miss(trial) <= kSameSectors;
  }

  /// The length above all but one Q tile whose sectors come closest.
  void shorten(P& trial) const {
    std::int64_t lo = (*found_.q_tiles - 1) * *trial.q_tile + 1, hi = *trial.seqlen;
    P best = trial;
    while (lo <= hi) {
      trial.seqlen = lo + (hi - lo) / 2;
      if (miss(trial) < miss(best)) best = trial;
      if (loaded(trial) < *launch_.l2_read_sectors) {
        lo = *trial.seqlen + 1;
      } else {
        hi = *trial.seqlen - 1;
      }
    }
    trial = best;
  }

  void lengthen_keys(P& trial) const {
    std::int64_t lo = trial.causal.value_or(false) ? *trial.seqlen : 1, hi = kMaxTokens;
    while (lo < hi) {
      const std::int64_t middle = lo + (hi - lo) / 2;
      trial.seqlen_k = middle;
      if (loaded(trial) < *launch_.l2_read_sectors * (1 - 1e-6)) {
        lo = middle + 1;
      } else {
        hi = middle;
      }
    }
    trial.seqlen_k = lo;
  }

  void keep(const P& settled) {
    P& problem = done_.problem;
    if (settled.seqlen != problem.seqlen || (is_assumed("seqlen") && !found_.whole_q_tiles))
      set(&P::seqlen, *settled.seqlen, "seqlen", KnownFrom::kSectors);
    if (settled.heads && settled.heads != problem.heads)
      set(&P::heads, *settled.heads, "heads", KnownFrom::kSectors);
    if (settled.seqlen_k && settled.seqlen_k != problem.seqlen_k && settled.seqlen_k != settled.seqlen)
      set(&P::seqlen_k, *settled.seqlen_k, "seqlen-k", KnownFrom::kSectors);
  }

  /// As many KV heads as heads, unless less was read than they have: then the most that fit.
  void share_heads() {
    const std::int64_t heads = *done_.problem.heads;
    KnownFrom from = KnownFrom::kAssumed;
    std::int64_t shared = heads;
    for (; shared > 1 && launch_.dram_read_bytes; --shared) {
      if (heads % shared != 0) continue;
      P trial = done_.problem;
      trial.heads_kv = shared;
      const SectorCounts cold = attention_traffic(split_problem_of(trial)).cold;
      const auto once = static_cast<double>((cold.q + cold.k + cold.v) * OperandSizes{}.sector_bytes);
      if (once <= kCounted * *launch_.dram_read_bytes) break;
      from = KnownFrom::kReads;
    }
    set(&P::heads_kv, shared, "heads-kv", from);
  }

  void fill_defaults() {
    P& problem = done_.problem;
    const auto assume = [&](auto member, const auto& value, const char* option) {
      if (!(problem.*member)) set(member, value, option, KnownFrom::kAssumed);
    };
    assume(&P::causal, false, "causal");
    // With the length, sectors would tell.
    if (!problem.heads && (done_.missing.empty() || !launch_.l2_read_sectors)) require(false, "heads");
    assume(&P::batch, std::int64_t{1}, "batch-size");
    if (problem.heads && done_.missing.empty() && !problem.heads_kv) share_heads();
    assume(&P::dtype, Dtype::kBf16, "dtype");
    assume(&P::order, kReuseDefaults.order, "order");
    assume(&P::schedule, kReuseDefaults.schedule, "schedule");
    assume(&P::longest_first, false, "longest-first");
  }

  const Recognised& found_;
  const ProfiledKernel& launch_;
  const P& given_;
  Completed done_;
};

constexpr std::array<std::int64_t, 5> kQTiles = {128, 64, 256, 192, 32}, kKvTiles = {64, 128, 32, 256, 16};
constexpr std::int64_t kMostCtas = std::int64_t{1} << 31;
/// Counters of known problems are within .0001 of the formula; half the tile and twice the heads of a full
/// mask differ by little more than kSameSectors.
constexpr double kInferredSectors = 0.0005;
/// Barriers and statistics beside the tiles.
constexpr std::int64_t kOtherSharedBytes = 4096;

std::int64_t ctas_of(const ProfiledKernel& launch) {
  std::int64_t ctas = 1;
  for (const std::int64_t size : launch.grid) {
    if (size < 1 || ctas > kMostCtas / size) return 0;
    ctas *= size;
  }
  return ctas;
}

bool fits_counter(const P& problem, const ProfiledKernel& launch) {
  if (!launch.l2_read_sectors) return true;
  return std::abs(loaded_sectors(problem, false) - *launch.l2_read_sectors) <=
         kInferredSectors * *launch.l2_read_sectors;
}

/// Whether a Q tile and one to four stages of K and V are what a CTA has of shared memory.
bool fills_shared(const P& problem, const ProfiledKernel& launch) {
  if (!launch.shared_bytes) return false;
  const std::int64_t row = *problem.head_dim * element_bytes(problem.dtype.value_or(Dtype::kBf16));
  constexpr std::int64_t kMostStages = 4;
  for (std::int64_t stages = 1; stages <= kMostStages; ++stages) {
    const std::int64_t bytes = (*problem.q_tile + 2 * stages * *problem.kv_tile) * row;
    if (*launch.shared_bytes >= bytes && *launch.shared_bytes <= bytes + kOtherSharedBytes) return true;
  }
  return false;
}

/// All tiles and masks that explain the launch, the likeliest first.
std::vector<P> candidates_of(const ProfiledKernel& launch, const P& given) {
  std::vector<P> fitting;
  const std::int64_t ctas = ctas_of(launch);
  for (const std::int64_t q_tile : kQTiles) {
    const std::int64_t q_tiles = ceil_divide(*given.seqlen, q_tile);
    if ((given.q_tile && *given.q_tile != q_tile) || ctas < q_tiles || ctas % q_tiles != 0) continue;
    P problem = given;
    problem.q_tile = q_tile;
    problem.heads = ctas / q_tiles;
    problem.batch = 1;
    if (given.heads && *given.heads * given.batch.value_or(1) != *problem.heads) continue;
    if (*problem.heads > std::int64_t{1} << 20) continue;
    for (const std::int64_t kv_tile : kKvTiles) {
      if (given.kv_tile && *given.kv_tile != kv_tile) continue;
      problem.kv_tile = kv_tile;
      for (const bool causal : {false, true}) {
        problem.causal = causal;
        if ((!given.causal || *given.causal == causal) && fits_counter(problem, launch))
          fitting.push_back(problem);
      }
    }
  }
  std::stable_partition(fitting.begin(), fitting.end(),
                        [&](const P& problem) { return fills_shared(problem, launch); });
  return fitting;
}

template <typename T>
void tell_common(const std::vector<P>& candidates, bool counted, std::optional<T> P::*member,
                 const char* option, Recognised& found) {
  const std::optional<T>& first = candidates.front().*member;
  const bool agreed =
      std::all_of(candidates.begin(), candidates.end(), [&](const P& each) { return each.*member == first; });
  tell(found, member, *first, option, agreed && counted ? KnownFrom::kSectors : KnownFrom::kGuessed);
}

}  // namespace

Recognised infer(const ProfiledKernel& launch, const ExplainedProblem& given) {
  Recognised found;
  tell(found, &P::schedule, CtaSchedule::kGrid, "schedule", KnownFrom::kGuessed);
  tell(found, &P::order, KvOrder::kCyclic, "order", KnownFrom::kGuessed);
  tell(found, &P::longest_first, false, "longest-first", KnownFrom::kGuessed);
  if (!given.seqlen || !given.head_dim) return found;
  const std::vector<P> candidates = candidates_of(launch, given);
  if (candidates.empty()) return found;
  const bool counted = launch.l2_read_sectors.has_value();
  tell_common(candidates, counted, &P::q_tile, "q-tile", found);
  tell_common(candidates, counted, &P::kv_tile, "kv-tile", found);
  tell_common(candidates, counted, &P::causal, "causal", found);
  if (!given.heads) tell_common(candidates, counted, &P::heads, "heads", found);
  return found;
}

Completed complete(const Recognised& found, const ProfiledKernel& launch, const ExplainedProblem& given) {
  return Completion(found, launch, given).run();
}

SplitQProblem split_problem_of(const ExplainedProblem& problem) {
  SplitQProblem split;
  split.mask = make_mask(Extents{*problem.seqlen}, Extents{*problem.seqlen}, {}, {},
                         PerAxis<bool>(1, problem.causal.value_or(false)));
  split.tiles = {Extents{*problem.q_tile}, Extents{*problem.kv_tile}};
  const std::int64_t heads = problem.heads.value_or(1);
  split.sizes = {.batch = problem.batch.value_or(1),
                 .heads = heads,
                 .heads_kv = problem.heads_kv.value_or(heads),
                 .head_dim = *problem.head_dim,
                 .head_dim_value = *problem.head_dim,
                 .element_bytes = element_bytes(problem.dtype.value_or(Dtype::kBf16))};
  if (problem.seqlen_k && problem.seqlen_k != problem.seqlen) split.keys = problem.seqlen_k;
  return split;
}

double loaded_sectors(const ExplainedProblem& problem, bool reloads_q) {
  const SplitQProblem split = split_problem_of(problem);
  const SectorCounts sectors = attention_traffic(split).sectors;
  const auto streamed = static_cast<double>(sectors.k + sectors.v);
  if (!reloads_q) return streamed + static_cast<double>(sectors.q);
  double rows = 0;
  const std::int64_t length = split.mask[0].length, tile = split.tiles.q_tile[0];
  for (std::int64_t i = 0; i * tile < length; ++i) {
    const std::int64_t own = std::min(tile, length - i * tile);
    rows += static_cast<double>(own * visited_kv_tiles(split, 0, i).size());
  }
  return streamed + static_cast<double>(sectors.q) * rows / static_cast<double>(length);
}

}  // namespace natten_sim::study

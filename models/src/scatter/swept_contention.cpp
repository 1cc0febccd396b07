#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include <natten_sim/models/scatter/swept_contention.hpp>

#include "scatter/load_parts.hpp"

namespace natten_sim {
namespace {

/// Where updates meet.
struct HotRows {
  double updates = 1;  ///< of one of them
  double share = 0;    ///< of all updates that one of them receives
  double rows = 1;     ///< as hot as the hottest
};

HotRows hot_rows(const ScatterLoad& load) {
  const double updates = static_cast<double>(load.updates);
  HotRows hot;
  hot.rows = static_cast<double>(load.hottest_rows);
  hot.updates = static_cast<double>(load.serial_multiplicity);
  if (hot.rows > 1)  // the largest of many counts says how chance spread them
    hot.updates = std::min(static_cast<double>(load.max_multiplicity), updates / hot.rows);
  hot.share = hot.updates / updates;
  return hot;
}

/// Bytes that the DRAM reads and writes for rows of the destination that left the L2 since their last update.
double returning_bytes(const ScatterLoad& load, const SweepConstants& sweep) {
  const double updates = static_cast<double>(load.updates), row = static_cast<double>(row_bytes(load));
  double rows = static_cast<double>(load.rows_touched);
  if (load.close_updates > 0) rows = std::min(rows, (kCloseBlock - 1) / load.close_updates);
  const double between = rows * (load.streamed_bytes / updates + row);
  return 2 * updates * row * std::exp(-sweep.reuse_bytes / between);
}

/// How much of a stream lies in the L2 since the run before: all of a short one.
double staying_share(const ScatterLoad& load, const SweepConstants& sweep) {
  if (sweep.warm_bytes == 0) return 0;
  const double full = load.streamed_bytes / sweep.warm_bytes;
  return std::exp(-full * full);
}

/// A construct of one's own, which reads one row number a row.
bool is_own(const ScatterLoad& load) { return load.issue_ns.has_value(); }

/// Whether its reductions may come as fast as all slices of the L2 take them.
bool slices_limit(const ScatterLoad& load) { return is_own(load) && load.path != InstructionPath::kCas; }

/// What a warp instruction covers.
std::int64_t warp_bytes(const ScatterLoad& load) {
  return kWarpLanes * load.vector_width * element_bytes(load.type);
}

/// Warp instructions for each update that end with the beginning of the next one. The operator that was swept
/// cuts the elements of all updates into warps wherever rows end.
double cut_share(const ScatterLoad& load) {
  if (is_own(load)) return 0;
  const std::int64_t warp = warp_bytes(load);
  return 1 - static_cast<double>(std::gcd(row_bytes(load), warp)) / static_cast<double>(warp);
}

/// Sectors that an update sends: as counted, or on average over rows that begin anywhere and warps that end
/// anywhere in them. A piece that begins at a multiple of g bytes covers 1 - g/32 sectors more than its
/// length.
double sectors_per_update(const ScatterLoad& load) {
  if (load.sent_sectors) return *load.sent_sectors / static_cast<double>(load.updates);
  const std::int64_t row = row_bytes(load), warp = warp_bytes(load);
  const double split = static_cast<double>(row - std::gcd(row, warp)) / static_cast<double>(warp);
  const double more = 1 - static_cast<double>(std::gcd(row, kSectorBytes)) / kSectorBytes;
  return static_cast<double>(row) / kSectorBytes + (1 + split) * more;
}

double raised(double share_of_limit, double exponent) {
  return std::pow(std::min(share_of_limit, 1.0), exponent);
}

/// Rows of a KiB are served by one slice after the other, longer ones by several at once.
double kib_limit(const ScatterLoad& load) { return 1024 / static_cast<double>(row_bytes(load)); }

double lanes_per_row(const ScatterLoad& load) {
  return static_cast<double>(load.width) / static_cast<double>(load.vector_width);
}

/// Rows on the resident threads, as many as wait for an atomic in the operator that was swept.
double rows_in_flight(const ScatterLoad& load, const ContentionProfile& profile) {
  const double warps = load.resident_warps.value_or(profile.warps_per_sm * static_cast<double>(profile.sms));
  const bool loop = is_own(load) && profile.sweep->remedies.has_value();
  return warps * kWarpLanes / lanes_per_row(load) * (loop ? profile.sweep->remedies->loop_rows : 1);
}

/// Share of all that is in flight that comes to a row which has `waiting` rows to begin with.
double gathered_share(const ScatterLoad& load, const SweepConstants& sweep, const HotRows& hot,
                      double waiting) {
  const bool several = hot.rows > 1;
  const double updates = sweep.gather_updates *
                         std::pow(256 / lanes_per_row(load), sweep.gather_width_exponent) *
                         std::pow(hot.rows, sweep.gather_rows_exponent);
  const double least = several ? sweep.waiting_several : sweep.waiting_single;
  double queued = std::pow(hot.updates / (hot.updates + updates), sweep.gather_exponent) /
                  (1 + std::pow(least / waiting, sweep.waiting_exponent));
  if (several) queued /= 1 + std::pow(sweep.threshold_rows / waiting, sweep.threshold_exponent);
  return hot.share + (1 - hot.share) * queued;
}

/// Rows that wait for one of the hottest, on average over the run.
double waiting_rows(const ScatterLoad& load, const ContentionProfile& profile, const HotRows& hot) {
  const SweepConstants& sweep = profile.sweep->constants;
  const double in_flight = rows_in_flight(load, profile);
  const double turns = static_cast<double>(load.updates) / in_flight;
  const double eta = kElementsInTurn * static_cast<double>(lanes_per_word(load));
  const double ending = turns >= eta ? 1 - eta / (2 * turns) : turns / (2 * eta);
  const double gathered = gathered_share(load, sweep, hot, in_flight * hot.share);
  return in_flight / hot.rows * std::pow(ending, std::pow(gathered, sweep.turn_exponent)) * gathered;
}

/// Failures for each success, over all updates.
double retries_of(const ScatterLoad& load, const ContentionProfile& profile, const HotRows& hot,
                  double waiting, double share) {
  if (hot.updates <= 1) return 0;
  const SweepConstants& sweep = profile.sweep->constants;
  const double lanes = lanes_per_row(load);
  const double change =
      sweep.change_exponent * std::pow(std::max(256 / lanes, 1.0), sweep.change_narrow_exponent);
  return std::min(hot.rows * hot.share, 1.0) * sweep.retry_scale * std::pow(waiting, sweep.retry_exponent) *
         raised(lanes / kWarpLanes, sweep.narrow_exponent) * raised(kib_limit(load), sweep.wide_exponent) *
         std::pow(share, change);
}

/// Time of a failed sector, over that of rows within a KiB: between one slice for the row and one for each
/// half KiB, which `swept_interval` reaches to.
double server_share(const ScatterLoad& load, const SweepConstants& sweep) {
  const double share = raised(kib_limit(load), sweep.wide_server_exponent);
  const std::int64_t row = row_bytes(load);
  const bool aligned = row <= kSoleRowBytes && std::has_single_bit(static_cast<std::uint64_t>(row));
  if (load.rows_touched != 1 || aligned) return share;
  const double spread = raised(sweep.sole_bytes / static_cast<double>(row), sweep.sole_exponent);
  return std::min(share, std::max(spread, sweep.sole_server_share));
}

/// The least that it can be, of rows beyond a KiB.
double spread_share(const ScatterLoad& load) { return 512 / static_cast<double>(row_bytes(load)); }

/// Sectors of one pass over all updates and both lanes of a word.
double cas_sectors(const ScatterLoad& load) {
  return static_cast<double>(load.updates) * static_cast<double>(sectors_per_row(load)) *
         static_cast<double>(lanes_per_word(load));
}

void add_compare_and_swap(const ScatterLoad& load, const ContentionProfile& profile, double stream_ns,
                          ContentionPrediction& prediction) {
  const SweepConstants& sweep = profile.sweep->constants;
  const HotRows hot = hot_rows(load);
  const double waiting = waiting_rows(load, profile, hot);
  prediction.changing_share = changing_share_of(load);
  const double retries = retries_of(load, profile, hot, waiting, prediction.changing_share);
  const double lanes = static_cast<double>(lanes_per_word(load));
  const double updates = static_cast<double>(load.updates);
  const double sectors = cas_sectors(load);
  const double failing = sweep.cas_sector_ns * sectors * retries * server_share(load, sweep);
  const double in_turn = hot.updates * lanes * sweep.success_ns * prediction.changing_share;
  // Each lane's swap is served, even one that succeeds at once because the word no longer changes.
  const double served = sweep.cas_sector_ns * lanes * load.slice_sectors.value_or(0);
  prediction.hottest_address_ns = std::max({failing, in_turn, served});
  prediction.launch_ns += sweep.cas_launch_ns;
  prediction.time_ns += sweep.cas_launch_ns + std::max({stream_ns + failing, in_turn, served});
  prediction.collapsed = failing > stream_ns;
  prediction.contenders = std::max(waiting, 1.0) * static_cast<double>(requests_per_line(load));
  const double words = static_cast<double>(ceil_divide(row_bytes(load), 4));
  prediction.cas_retries = to_count(updates * words * lanes * retries, "cas_retries");
  prediction.atom_sectors =
      to_count(updates * sectors_per_update(load) * lanes + sectors * retries, "sectors");
}

void add_reductions(const ScatterLoad& load, const SweepConstants& sweep, double stream_ns,
                    ContentionPrediction& prediction) {
  const HotRows hot = hot_rows(load);
  // A row fills the slice's half of a KiB at most; longer ones go on at other slices.
  const double row = static_cast<double>(row_bytes(load));
  const double on_slice = row <= 512 ? std::min(static_cast<double>(sectors_per_row(load)), 8.0)
                                     : std::min(std::ceil(row / 64), 16.0);
  const double cut = sectors_per_update(load) / static_cast<double>(sectors_per_row(load));
  const double sectors = load.slice_sectors.value_or(hot.updates * on_slice) * cut;
  const double twice = hot.updates * hot.share * cut_share(load);  // the next update is of the same row
  const double hot_ns =
      (std::max(hot.updates * sweep.same_sector_ns, sectors * sweep.sector_ns) + twice * sweep.cut_ns) *
      static_cast<double>(lanes_per_word(load));
  prediction.hottest_address_ns = hot_ns;
  const double issued = stream_ns + sweep.hidden_ns;
  prediction.time_ns +=
      std::pow(std::pow(issued, sweep.overlap) + std::pow(hot_ns, sweep.overlap), 1 / sweep.overlap) -
      sweep.hidden_ns;
  const std::int64_t all = to_count(static_cast<double>(load.updates) * sectors_per_update(load), "sectors");
  (load.path == InstructionPath::kRed ? prediction.red_sectors : prediction.atom_sectors) = all;
}

/// Issue, DRAM and slices. Returns the stream's time.
double add_stream(const ScatterLoad& load, const ContentionProfile& profile,
                  ContentionPrediction& prediction) {
  const SweepConstants& sweep = profile.sweep->constants;
  const bool cas = load.path == InstructionPath::kCas;
  const double staying = staying_share(load, sweep);
  const double issue_ns = cas ? std::max(load.issue_ns.value_or(0), sweep.issue_cas_ns)
                              : load.issue_ns.value_or(sweep.issue_red_ns);
  double issue_warm = cas ? sweep.warm_cas_share : sweep.warm_share;
  if (load.steady_issue || (cas && is_own(load))) issue_warm = 0;
  prediction.issue_ns = (1 - issue_warm * staying) * static_cast<double>(warp_instructions(load)) * issue_ns;
  prediction.dram_bytes = load.streamed_bytes + returning_bytes(load, sweep);
  prediction.dram_ns = (1 - sweep.warm_share * staying) * prediction.dram_bytes / sweep.dram_bytes_per_ns;
  double stream_ns = std::max(prediction.issue_ns, prediction.dram_ns);
  if (slices_limit(load)) {
    const double sectors = static_cast<double>(load.updates) * sectors_per_update(load);
    stream_ns = std::max(stream_ns, sectors / profile.slice_sectors_per_ns);
  }
  return stream_ns + (1 - staying) * sweep.cold_ns;
}

ContentionBound bound_of(const ContentionPrediction& p, double stream_ns, bool slices_limit) {
  const double longest = std::max(stream_ns, p.hottest_address_ns);
  if (longest < p.launch_ns - p.host_launch_ns) return ContentionBound::kLaunch;
  if (p.hottest_address_ns > stream_ns) return ContentionBound::kHottestAddress;
  if (slices_limit && p.slice_throughput_ns > std::max(p.issue_ns, p.dram_ns))
    return ContentionBound::kSliceThroughput;
  return p.issue_ns >= p.dram_ns ? ContentionBound::kIssue : ContentionBound::kDram;
}

/// What the hottest rows cost at most: all rows in flight wait for them, and one slice serves them.
double most_hot_ns(const ScatterLoad& load, const ContentionProfile& profile) {
  const SweepConstants& sweep = profile.sweep->constants;
  const HotRows hot = hot_rows(load);
  const double lanes = static_cast<double>(lanes_per_word(load));
  if (load.path != InstructionPath::kCas)
    return lanes * std::max(hot.updates * sweep.same_sector_ns,
                            hot.updates * static_cast<double>(sectors_per_row(load)) * sweep.sector_ns);
  if (hot.updates <= 1) return 0;
  const double waiting = std::max(rows_in_flight(load, profile) / hot.rows, 1.0);
  const double retries =
      std::min(hot.rows * hot.share, 1.0) * sweep.retry_scale * std::pow(waiting, sweep.retry_exponent);
  return std::max(sweep.cas_sector_ns * cas_sectors(load) * retries, hot.updates * lanes * sweep.success_ns);
}

}  // namespace

ContentionPrediction predict_swept(const ScatterLoad& load, const ContentionProfile& profile) {
  const SweepConstants& sweep = profile.sweep->constants;
  ContentionPrediction prediction;
  prediction.host_launch_ns = sweep.host_launch_ns;
  prediction.launch_ns = prediction.time_ns = sweep.launch_ns + sweep.host_launch_ns;
  prediction.words = checked_multiply(load.rows_touched, ceil_divide(row_bytes(load), 4), "addresses");
  if (load.updates == 0) return prediction;
  const double stream_ns = add_stream(load, profile, prediction);
  if (load.path == InstructionPath::kCas) {
    add_compare_and_swap(load, profile, stream_ns, prediction);
  } else {
    add_reductions(load, sweep, stream_ns, prediction);
  }
  const std::int64_t sectors = checked_add(prediction.red_sectors, prediction.atom_sectors, "sectors");
  prediction.slice_throughput_ns = static_cast<double>(sectors) / profile.slice_sectors_per_ns;
  prediction.service_ns_per_update =
      prediction.hottest_address_ns / static_cast<double>(load.serial_multiplicity);
  prediction.bound = bound_of(prediction, stream_ns, slices_limit(load));
  return prediction;
}

std::optional<TimeInterval> swept_interval(const ScatterLoad& load, const ContentionProfile& profile,
                                           const ContentionPrediction& prediction,
                                           const CalibrationError& error) {
  if (!error.unfitted_worst_ratio || load.updates == 0) return std::nullopt;
  const double worst = *error.unfitted_worst_ratio, time_ns = prediction.time_ns;
  if (error.outside == std::vector<std::string>{"rows"}) {
    // More rows than were swept change only how many of them left the L2: none, or all.
    const SweepConstants& sweep = profile.sweep->constants;
    const double all = 2 * static_cast<double>(load.updates) * static_cast<double>(row_bytes(load));
    const double returning = returning_bytes(load, sweep);
    const double least = std::max(time_ns - returning / sweep.dram_bytes_per_ns, prediction.launch_ns);
    return TimeInterval{least / worst, (time_ns + (all - returning) / sweep.dram_bytes_per_ns) * worst};
  }
  if (!error.outside.empty()) {
    ContentionPrediction stream;
    const double alone = prediction.launch_ns + add_stream(load, profile, stream);
    return TimeInterval{alone / worst, std::max(alone + most_hot_ns(load, profile), time_ns) * worst};
  }
  if (error.kind != ScatterKind::kLongCollapse) return TimeInterval{time_ns / worst, time_ns * worst};
  const double one_slice = prediction.hottest_address_ns / server_share(load, profile.sweep->constants);
  const double rest = time_ns - prediction.hottest_address_ns, mean = *error.unfitted_mean_ratio;
  return TimeInterval{(rest + one_slice * spread_share(load)) / mean, (rest + one_slice) * mean};
}

ScatterKind kind_of(const ScatterLoad& load, const ContentionPrediction& prediction) {
  if (prediction.bound != ContentionBound::kHottestAddress) return ScatterKind::kStream;
  if (load.path != InstructionPath::kCas) return ScatterKind::kReduction;
  return row_bytes(load) > kServedRowBytes ? ScatterKind::kLongCollapse : ScatterKind::kCollapse;
}

std::vector<std::string> outside_sweep(const ScatterLoad& load, const ContentionSweep& sweep) {
  std::vector<std::string> outside;
  const SweepRange& range = sweep.range;
  if (load.width < range.least_width || load.width > range.most_width) outside.emplace_back("width");
  if (load.updates < range.least_updates || load.updates > range.most_updates)
    outside.emplace_back("updates");
  if (load.rows_touched > range.most_rows) outside.emplace_back("rows");
  return outside;
}

}  // namespace natten_sim

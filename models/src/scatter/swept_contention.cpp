#include <algorithm>
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

/// What a stream costs of what it would cost from DRAM: operands of a short one lie in the L2 since the run
/// before.
double cold_share(const ScatterLoad& load, const SweepConstants& sweep) {
  if (sweep.warm_share == 0) return 1;
  const double full = load.streamed_bytes / sweep.warm_bytes;
  return 1 - sweep.warm_share * std::exp(-full * full);
}

/// Sectors that an update sends: as counted, or on average over rows that begin anywhere and warps that end
/// anywhere in them. A piece that begins at a multiple of g bytes covers 1 - g/32 sectors more than its
/// length.
double sectors_per_update(const ScatterLoad& load) {
  if (load.sent_sectors) return *load.sent_sectors / static_cast<double>(load.updates);
  const std::int64_t row = row_bytes(load);
  const std::int64_t warp = kWarpLanes * load.vector_width * element_bytes(load.type);
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
  const double warps = load.resident_warps.value_or(profile.warps_per_sm * static_cast<double>(profile.sms));
  const double in_flight = warps * kWarpLanes / lanes_per_row(load);
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

/// Time of a failed sector, over that of rows within a KiB.
double server_share(const ScatterLoad& load, const SweepConstants& sweep, const HotRows& hot) {
  const std::int64_t row = row_bytes(load);
  const bool alone = hot.share > 0.9 && row > 2048 && row < 4096;
  return raised(kib_limit(load), sweep.wide_server_exponent) * (alone ? sweep.alone_server : 1);
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
  const double sectors = updates * static_cast<double>(sectors_per_row(load)) * lanes;
  const double failing = sweep.cas_sector_ns * sectors * retries * server_share(load, sweep, hot);
  const double in_turn = hot.updates * lanes * sweep.success_ns * prediction.changing_share;
  prediction.hottest_address_ns = std::max(failing, in_turn);
  prediction.launch_ns += sweep.cas_launch_ns;
  prediction.time_ns += sweep.cas_launch_ns + std::max(stream_ns + failing, in_turn);
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
  const double hot_ns = std::max(hot.updates * sweep.same_sector_ns, sectors * sweep.sector_ns);
  prediction.hottest_address_ns = hot_ns;
  prediction.time_ns +=
      std::pow(std::pow(stream_ns, sweep.overlap) + std::pow(hot_ns, sweep.overlap), 1 / sweep.overlap);
  const std::int64_t all = to_count(static_cast<double>(load.updates) * sectors_per_update(load), "sectors");
  (load.path == InstructionPath::kRed ? prediction.red_sectors : prediction.atom_sectors) = all;
}

}  // namespace

ContentionPrediction predict_swept(const ScatterLoad& load, const ContentionProfile& profile) {
  const SweepConstants& sweep = profile.sweep->constants;
  const bool cas = load.path == InstructionPath::kCas;
  ContentionPrediction prediction;
  prediction.host_launch_ns = sweep.host_launch_ns;
  prediction.launch_ns = prediction.time_ns = sweep.launch_ns + sweep.host_launch_ns;
  prediction.words = checked_multiply(load.rows_touched, ceil_divide(row_bytes(load), 4), "addresses");
  if (load.updates == 0) return prediction;
  const double cold = cold_share(load, sweep);
  prediction.issue_ns = cold * static_cast<double>(warp_instructions(load)) *
                        load.issue_ns.value_or(cas ? sweep.issue_cas_ns : sweep.issue_red_ns);
  prediction.dram_bytes = load.streamed_bytes + returning_bytes(load, sweep);
  prediction.dram_ns = cold * prediction.dram_bytes / sweep.dram_bytes_per_ns;
  const double stream_ns = std::max(prediction.issue_ns, prediction.dram_ns);
  if (cas) {
    add_compare_and_swap(load, profile, stream_ns, prediction);
  } else {
    add_reductions(load, sweep, stream_ns, prediction);
  }
  const std::int64_t sectors = checked_add(prediction.red_sectors, prediction.atom_sectors, "sectors");
  prediction.slice_throughput_ns = static_cast<double>(sectors) / profile.slice_sectors_per_ns;
  prediction.service_ns_per_update =
      prediction.hottest_address_ns / static_cast<double>(load.serial_multiplicity);
  prediction.bound = prediction.hottest_address_ns > stream_ns   ? ContentionBound::kHottestAddress
                     : prediction.issue_ns >= prediction.dram_ns ? ContentionBound::kIssue
                                                                 : ContentionBound::kDram;
  return prediction;
}

ScatterKind kind_of(const ScatterLoad& load, const ContentionPrediction& prediction) {
  if (prediction.bound != ContentionBound::kHottestAddress) return ScatterKind::kStream;
  return load.path == InstructionPath::kCas ? ScatterKind::kCollapse : ScatterKind::kReduction;
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

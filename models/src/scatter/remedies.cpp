#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/scatter/remedies.hpp>

namespace natten_sim {
namespace {

constexpr std::int64_t kCopies = 8;
constexpr double kWarpGroup = 32, kBlockGroup = 256;
constexpr std::int64_t kCtaPieces = 512;  // of one CTA: 128 lanes, four pieces each
constexpr double kSortedBlock = 64;       // sorted updates that one thread adds up

/// Updates of a row that remain when each group of `group` updates writes it once: the expected number of
/// groups that contain the row, to the nearest, given `multiplicity` updates of it among `updates`.
std::int64_t reduced(std::int64_t multiplicity, std::int64_t updates, double group) {
  if (updates == 0) return 0;
  const double share = static_cast<double>(multiplicity) / static_cast<double>(updates);
  const double groups = std::max(1.0, static_cast<double>(updates) / group);
  // Groups that do not contain the row: none only where all updates are the row's, however small the power.
  const double without =
      multiplicity < updates
          ? std::max(groups * std::pow(1 - share, group), std::numeric_limits<double>::min())
          : 0;
  // Half a group more, rounded down. A difference that no double holds decides a tie.
  const double above = groups + 0.5;  // exact
  double left = std::floor(above - without);
  if (without > above - left) --left;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(left), 1, multiplicity);
}

ScatterLoad pre_reduced(ScatterLoad load, double group) {
  load.slice_sectors.reset();
  load.sent_sectors.reset();
  load.max_multiplicity = reduced(load.max_multiplicity, load.updates, group);
  load.serial_multiplicity =
      std::max(load.max_multiplicity, reduced(load.serial_multiplicity, load.updates, group));
  load.close_updates = std::min(load.close_updates, kCloseBlock / group - 1);  // once a group at most
  return load;
}

ScatterLoad sorted(ScatterLoad load) {
  load.slice_sectors.reset();
  load.sent_sectors.reset();
  load.updates = load.rows_touched;
  load.max_multiplicity = load.serial_multiplicity = load.updates > 0 ? 1 : 0;
  load.hottest_rows = std::max<std::int64_t>(load.rows_touched, 1);
  load.close_updates = 0;
  return load;
}

/// Copies that one row's updates come to when a CTA takes the copy of its number: all of them, unless updates
/// visit the rows in turn, so that a row meets the same CTAs' copies again and again.
std::int64_t copies_of_a_row(const ScatterLoad& load) {
  const std::int64_t lanes = ceil_divide(load.width, load.vector_width);
  if (load.turn_rows == 0 || (kCtaPieces % lanes != 0 && lanes % kCtaPieces != 0)) return kCopies;
  const std::int64_t round = std::max<std::int64_t>(kCopies * kCtaPieces / lanes, 1);  // updates
  return std::clamp<std::int64_t>(round / std::gcd(load.turn_rows, round), 1, kCopies);
}

ScatterLoad privatised(ScatterLoad load) {
  const std::int64_t copies = copies_of_a_row(load);
  load.prior_runs = 0;  // copies are zeroed
  load.slice_sectors.reset();
  load.sent_sectors.reset();
  load.rows_touched = std::min(load.updates, checked_multiply(load.rows_touched, copies, "rows_touched"));
  load.max_multiplicity = ceil_divide(load.max_multiplicity, copies);
  load.serial_multiplicity = std::max(load.max_multiplicity, ceil_divide(load.serial_multiplicity, copies));
  load.hottest_rows = std::clamp<std::int64_t>(checked_multiply(load.hottest_rows, copies, "hottest_rows"), 1,
                                               std::max<std::int64_t>(load.rows_touched, 1));
  load.close_updates /= static_cast<double>(copies);
  return load;
}

double half_or_fp32_rate(const RemedyCosts& costs, Dtype type) {
  return type == Dtype::kFp32 ? costs.fp32_bytes_per_ns : costs.half_bytes_per_ns;
}

/// Sort by row, then sums of kSortedBlock updates, one thread a column; the thread in whose block the hottest
/// row begins joins its blocks one after the other.
double sorted_ns(const ScatterLoad& load, const RemedyCosts& costs) {
  const double updates = static_cast<double>(load.updates);
  const double warps_a_row = static_cast<double>(load.width) / kWarpLanes;
  const double joined = std::max(static_cast<double>(load.max_multiplicity) / kSortedBlock - 1, 0.0);
  return costs.sort_ns + updates * (costs.sort_update_ns + warps_a_row * costs.sum_ns) +
         static_cast<double>(load.rows_touched) * warps_a_row * costs.write_ns + joined * costs.join_ns;
}

/// What all remedies are compared on.
struct Comparison {
  const ScatterLoad& load;
  std::int64_t elements = 0;     ///< of the destination
  std::int64_t destination = 0;  ///< its bytes
  const ContentionProfile& profile;
  std::vector<Remedy> remedies = {};

  /// Those of this device's own kernels; null where none were timed.
  [[nodiscard]] const RemedyCosts* costs() const {
    return profile.sweep && profile.sweep->remedies ? &*profile.sweep->remedies : nullptr;
  }

  void add(std::string name, RemedyEffort effort, const ScatterLoad& changed, double extra_ns = 0,
           std::int64_t extra_bytes = 0) {
    const ContentionPrediction prediction = predict_contention(changed, profile);
    remedies.push_back({.name = std::move(name),
                        .effort = effort,
                        .time_ns = prediction.time_ns + extra_ns,
                        .extra_bytes = extra_bytes,
                        .bound = prediction.bound});
  }
};

void add_fp32_accumulator(Comparison& comparison) {
  ScatterLoad wide = comparison.load;
  wide.type = Dtype::kFp32;
  wide.path = InstructionPath::kRed;
  wide.vector_width = 1;
  wide.slice_sectors.reset();
  wide.sent_sectors.reset();
  // Zeroed, read back, and added to the narrow type; one more launch each.
  const double bytes = static_cast<double>(comparison.elements) * (4 + 4 + 2 + 2);
  const RemedyCosts* const costs = comparison.costs();
  const double conversion =
      costs != nullptr ? bytes / costs->half_bytes_per_ns + 2 * costs->launch_ns
                       : bytes / comparison.profile.dram_bytes_per_ns + 2 * comparison.profile.launch_ns;
  comparison.add("fp32-accumulator", RemedyEffort::kBuffer, wide, conversion,
                 checked_multiply(comparison.elements, 4, "extra_bytes"));
}

void add_pre_reductions(const PreReductionCosts& costs, Comparison& comparison) {
  const ScatterLoad& load = comparison.load;
  const double updated = static_cast<double>(load.updates) * static_cast<double>(load.width);
  comparison.add("warp-pre-reduction", RemedyEffort::kKernel, pre_reduced(load, kWarpGroup), updated * costs.warp_ns);
  comparison.add("block-pre-reduction", RemedyEffort::kKernel, pre_reduced(load, kBlockGroup), updated * costs.block_ns);
  const std::int64_t sorted_bytes =
      checked_add(checked_multiply(load.updates, 16, "extra_bytes"),
                  checked_multiply(checked_multiply(load.updates, load.width, "extra_bytes"),
                                   element_bytes(load.type), "extra_bytes"),
                  "extra_bytes");
  if (const RemedyCosts* const own = comparison.costs(); own != nullptr && load.updates > 0) {
    const double host_ns = comparison.profile.sweep->constants.host_launch_ns;
    const bool joins =
        static_cast<double>(load.max_multiplicity) / kSortedBlock * own->join_ns > sorted_ns(load, *own) / 2;
    comparison.remedies.push_back(
        {.name = "sort-pre-reduction",
         .effort = RemedyEffort::kKernel,
         .time_ns = sorted_ns(load, *own) + host_ns,
         .extra_bytes = sorted_bytes,
         .bound = joins ? ContentionBound::kHottestAddress : ContentionBound::kIssue});
    return;
  }
  comparison.add("sort-pre-reduction", RemedyEffort::kKernel, sorted(load), updated * costs.sort_ns, sorted_bytes);
}

void add_private_copies(Comparison& comparison) {
  // Zeroed, read back, and added to the destination.
  const double bytes = static_cast<double>(comparison.destination) * (2 * kCopies + 2);
  const RemedyCosts* const costs = comparison.costs();
  const double adding_up =
      costs != nullptr ? bytes / half_or_fp32_rate(*costs, comparison.load.type) + 2 * costs->launch_ns
                       : bytes / comparison.profile.dram_bytes_per_ns + 2 * comparison.profile.launch_ns;
  comparison.add("private-copies-8", RemedyEffort::kKernel, privatised(comparison.load), adding_up,
                 checked_multiply(comparison.destination, kCopies, "extra_bytes"));
}

/// Fastest first, and of equally fast ones the one that asks least.
void rank(std::vector<Remedy>& remedies) {
  std::stable_sort(remedies.begin(), remedies.end(),
                   [](const Remedy& a, const Remedy& b) { return a.time_ns < b.time_ns; });
  for (auto first = remedies.begin(); first != remedies.end();) {
    const double most = kEquallyFast * first->time_ns;
    const auto last =
        std::find_if(first, remedies.end(), [&](const Remedy& remedy) { return remedy.time_ns > most; });
    std::stable_sort(first, last, [](const Remedy& a, const Remedy& b) { return a.effort < b.effort; });
    first = last;
  }
}

}  // namespace

std::vector<Remedy> compare_remedies(const ScatterLoad& load, std::int64_t table_rows,
                                     const ContentionProfile& profile,
                                     const std::vector<OtherConstruct>& others,
                                     const PreReductionCosts& costs) {
  const std::int64_t elements = checked_multiply(table_rows, load.width, "table elements");
  Comparison comparison{load, elements, checked_multiply(elements, element_bytes(load.type), "extra_bytes"),
                        profile};
  comparison.add(kAsIs, RemedyEffort::kNone, load);
  for (const OtherConstruct& other : others) {
    comparison.add(other.remedy, other.effort, other.load);
    comparison.remedies.back().construct = other.construct;
  }
  if (load.type != Dtype::kFp32) add_fp32_accumulator(comparison);
  add_pre_reductions(costs, comparison);
  add_private_copies(comparison);
  rank(comparison.remedies);
  return comparison.remedies;
}

}  // namespace natten_sim

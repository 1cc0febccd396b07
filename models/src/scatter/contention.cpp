#include <algorithm>
#include <cmath>
#include <limits>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/scatter/contention.hpp>
#include <natten_sim/models/scatter/swept_contention.hpp>

#include "scatter/load_parts.hpp"

namespace natten_sim {
namespace {

void require(bool holds, const char* name, const std::string& value, const char* accepted) {
  if (!holds) throw InvalidParameter(name, value, accepted);
}

void require_valid(const ScatterLoad& load) {
  require(load.updates >= 0, "updates", std::to_string(load.updates), "0 or more");
  require(load.width >= 1 && load.width <= (std::int64_t{1} << 24), "width", std::to_string(load.width),
          "1..2^24 elements");
  require(
      load.vector_width == 1 || load.vector_width == 2 || load.vector_width == 4 || load.vector_width == 8,
      "vector_width", std::to_string(load.vector_width), "1, 2, 4 or 8");
  require(load.rows_touched >= (load.updates > 0 ? 1 : 0) && load.rows_touched <= load.updates,
          "rows_touched", std::to_string(load.rows_touched), "1..updates");
  require(load.max_multiplicity >= (load.updates > 0 ? 1 : 0) && load.max_multiplicity <= load.updates,
          "max_multiplicity", std::to_string(load.max_multiplicity), "1..updates");
  require(load.serial_multiplicity >= load.max_multiplicity && load.serial_multiplicity <= load.updates,
          "serial_multiplicity", std::to_string(load.serial_multiplicity), "max_multiplicity..updates");
  require(load.hottest_rows >= 1 && load.hottest_rows <= std::max<std::int64_t>(load.rows_touched, 1),
          "hottest_rows", std::to_string(load.hottest_rows), "1..rows_touched");
  require(load.prior_runs >= 0, "prior_runs", std::to_string(load.prior_runs), "0 or more");
  require(load.close_updates >= 0 && load.close_updates < kCloseBlock, "close_updates",
          std::to_string(load.close_updates), "0..1023");
  const auto require_amount = [](const char* name, std::optional<double> value) {
    require(!value || (std::isfinite(*value) && *value >= 0), name, std::to_string(value.value_or(0)),
            "finite, 0 or more");
  };
  require_amount("streamed_bytes", load.streamed_bytes);
  require_amount("slice_sectors", load.slice_sectors);
  require_amount("warps_in_flight", load.warps_in_flight);
  require(!load.resident_warps || (std::isfinite(*load.resident_warps) && *load.resident_warps > 0),
          "resident_warps", std::to_string(load.resident_warps.value_or(0)), "finite, above 0");
  require_amount("issue_ns", load.issue_ns);
}

/// A destination that the L2 holds is read and written once, else as often as its sectors miss.
double destination_bytes(const ScatterLoad& load, const ContentionProfile& profile) {
  const double row = static_cast<double>(sectors_per_row(load) * kSectorBytes);
  const double footprint = static_cast<double>(load.rows_touched) * row;
  if (footprint <= profile.l2_bytes) return footprint;  // written back; it was in the L2 when it was zeroed
  const double miss = 1 - profile.l2_bytes / footprint;
  return std::max(2 * footprint, 2 * miss * static_cast<double>(load.updates) * row);
}

/// Sectors of work for the slices: one unit is a sector with every 4-byte lane active once.
double slice_units(const ScatterLoad& load) {
  const double sectors = static_cast<double>(load.updates) * static_cast<double>(sectors_per_row(load));
  // Two lanes a word: both try, one wins, the other tries again: 16 + 8 lanes of 8.
  return load.path == InstructionPath::kCas && lanes_per_word(load) == 2 ? 3 * sectors : sectors;
}

struct HotLine {
  double ns = 0;
  double contenders = 1;
  double share = 1;
  bool collapsed = false;
};

/// Average number of rows in flight on the hottest one, once they have gathered there.
double gathered_rows(const ScatterLoad& load, double most) {
  const double eta = load.hottest_rows > 1 ? kGatheringLength : 1;
  const double multiplicity = static_cast<double>(load.serial_multiplicity);
  const double mean =
      multiplicity >= eta * most ? most * (1 - eta * most / (2 * multiplicity)) : multiplicity / (2 * eta);
  return std::max(mean, 1.0);
}

double warps_in_flight(const ScatterLoad& load, const ContentionProfile& profile) {
  return load.warps_in_flight.value_or(profile.warps_in_flight * static_cast<double>(profile.sms));
}

/// Other updates of the same row that are in flight by chance together with one.
double others_in_flight(const ScatterLoad& load, const ContentionProfile& profile) {
  const double warps_per_row =
      static_cast<double>(load.width) / static_cast<double>(kWarpLanes * load.vector_width);
  return load.close_updates * warps_in_flight(load, profile) / warps_per_row / kCloseBlock;
}

/// 1 + 1/2 + .. + 1/n, within 0.02.
double harmonic_number(double n) { return std::log(n) + 0.5772 + 0.4228 / n; }

/// Whether one of the equally hot rows draws in the `in_flight` rows. A queue that is served within a round
/// trip has a rate that does not depend on its length, so queues are as long as exponential variables: the
/// longest of K holds H_K / K of all. It grows once it is served more slowly than updates come to it, that is
/// than the other rows are served, each of which is busy W / (W + K - 1) of the time.
bool queue_grows(const ScatterLoad& load, const ContentionProfile& profile, double in_flight,
                 double requests) {
  const double rows = static_cast<double>(load.hottest_rows);
  const double longest = in_flight * harmonic_number(rows) / rows;
  return longest * requests * profile.cas_service_ns * in_flight >
         profile.round_trip_ns * (in_flight + rows - 1);
}

HotLine hottest_line(const ScatterLoad& load, const ContentionProfile& profile, double share,
                     double stream_ns) {
  HotLine line;
  const double multiplicity = static_cast<double>(load.serial_multiplicity);
  if (load.path != InstructionPath::kCas) {
    line.ns = multiplicity * profile.red_service_ns;
    return line;
  }
  line.share = share;
  const double successes = multiplicity * static_cast<double>(lanes_per_word(load));
  const double requests = static_cast<double>(requests_per_line(load));
  // Either one success at a time, because waiting requests have stale values, or requests back to back, each
  // of which succeeds.
  const double alone =
      successes * std::max(profile.round_trip_ns * line.share, requests * profile.cas_service_ns);
  line.contenders = requests;
  line.ns = alone;
  const double most = most_contenders(load, profile) / requests;
  line.collapsed = alone > stream_ns && queue_grows(load, profile, most, requests);
  if (!line.collapsed) return line;
  line.contenders = requests * gathered_rows(load, most);
  const double pass = (requests + line.share * (line.contenders - requests)) * profile.cas_service_ns;
  line.ns = std::max(alone, successes * pass);
  return line;
}

/// Time of issuing all updates when each success of a compare-and-swap comes after so many failures.
double issue_time(const ScatterLoad& load, const ContentionProfile& profile, double retries_per_success) {
  const bool cas = load.path == InstructionPath::kCas;
  const double per_warp = load.issue_ns.value_or(cas ? profile.issue_cas_ns : profile.issue_red_ns);
  const double resident =
      load.resident_warps.value_or(profile.warps_per_sm * static_cast<double>(profile.sms));
  // A reduction does not block its warp; a CAS update is a load and a round trip for every attempt.
  const double lanes = static_cast<double>(lanes_per_word(load));
  const double trips = cas                                   ? 1 + lanes * (1 + retries_per_success)
                       : load.path == InstructionPath::kAtom ? 1
                                                             : 0;
  const double trip_ns = profile.round_trip_ns + (cas ? profile.cas_service_ns : profile.red_service_ns);
  return static_cast<double>(warp_instructions(load)) * std::max(per_warp, trips * trip_ns / resident);
}

/// `by_chance`: failures a success without a collapse.
void count_sectors(const ScatterLoad& load, const HotLine& line, double by_chance,
                   ContentionPrediction& prediction) {
  const std::int64_t words_per_row = ceil_divide(row_bytes(load), 4);
  prediction.words = checked_multiply(load.rows_touched, words_per_row, "addresses");
  const std::int64_t sectors = checked_multiply(load.updates, sectors_per_row(load), "sectors");
  if (load.path != InstructionPath::kCas) {
    (load.path == InstructionPath::kRed ? prediction.red_sectors : prediction.atom_sectors) = sectors;
    return;
  }
  const double words = static_cast<double>(words_per_row), lanes = static_cast<double>(lanes_per_word(load));
  const double waiting = line.contenders / static_cast<double>(requests_per_line(load)) - 1;
  double retries = static_cast<double>(load.updates) * words * lanes * by_chance;
  if (line.collapsed)
    retries =
        static_cast<double>(load.serial_multiplicity) * words * lanes * line.share * std::max(waiting, 0.0);
  prediction.cas_retries = to_count(retries, "cas_retries");
  const double words_per_sector = words / static_cast<double>(sectors_per_row(load));
  prediction.atom_sectors = checked_add(checked_multiply(sectors, lanes_per_word(load), "sectors"),
                                        to_count(retries / words_per_sector, "sectors"), "sectors");
}

}  // namespace

std::int64_t lanes_per_word(const ScatterLoad& load) {
  return load.vector_width == 1 && element_bytes(load.type) == 2 && load.width > 1 ? 2 : 1;
}

std::int64_t warp_instructions(const ScatterLoad& load) {
  const std::int64_t elements = checked_multiply(load.updates, load.width, "updated elements");
  return ceil_divide(elements, kWarpLanes * load.vector_width);
}

std::int64_t requests_per_line(const ScatterLoad& load) {
  const std::int64_t held = std::min(row_bytes(load), kLineBytes);
  return ceil_divide(held, kWarpLanes * load.vector_width * element_bytes(load.type));
}

double most_contenders(const ScatterLoad& load, const ContentionProfile& profile) {
  const double warps = std::min(warps_in_flight(load, profile), static_cast<double>(warp_instructions(load)));
  return warps * std::min(1.0, static_cast<double>(kLineBytes) / static_cast<double>(row_bytes(load)));
}

ContentionPrediction predict_contention(const ScatterLoad& load, const ContentionProfile& profile) {
  require_valid(load);
  if (profile.sweep) return predict_swept(load, profile);
  const bool cas = load.path == InstructionPath::kCas;
  ContentionPrediction prediction;
  prediction.launch_ns = profile.launch_ns;
  const double share = cas ? changing_share_of(load) : 1;
  const double by_chance = cas ? share * others_in_flight(load, profile) : 0;
  prediction.slice_throughput_ns = slice_units(load) / profile.slice_sectors_per_ns;
  prediction.dram_bytes = load.streamed_bytes + destination_bytes(load, profile);
  prediction.dram_ns = prediction.dram_bytes / profile.dram_bytes_per_ns;
  const auto stream_with = [&](double issue_ns) {
    return std::max({issue_ns, prediction.slice_throughput_ns, prediction.dram_ns});
  };
  const HotLine line = hottest_line(load, profile, share, stream_with(issue_time(load, profile, 0)));
  // Once collapsed, retries wait at the line, not in flight.
  prediction.issue_ns = issue_time(load, profile, line.collapsed ? 0 : by_chance);
  const double stream_ns = stream_with(prediction.issue_ns);
  prediction.hottest_address_ns = line.ns;
  prediction.contenders = line.contenders;
  prediction.changing_share = line.share;
  prediction.collapsed = line.collapsed;
  if (load.serial_multiplicity > 0)
    prediction.service_ns_per_update = line.ns / static_cast<double>(load.serial_multiplicity);

  prediction.bound = prediction.issue_ns >= stream_ns              ? ContentionBound::kIssue
                     : prediction.slice_throughput_ns >= stream_ns ? ContentionBound::kSliceThroughput
                                                                   : ContentionBound::kDram;
  if (line.ns > stream_ns) prediction.bound = ContentionBound::kHottestAddress;
  prediction.time_ns =
      load.updates == 0 ? profile.launch_ns : profile.launch_ns + std::max(stream_ns, line.ns);
  count_sectors(load, line, by_chance, prediction);
  return prediction;
}

}  // namespace natten_sim

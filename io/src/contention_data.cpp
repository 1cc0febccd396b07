
#include <natten_sim/core/catalog.hpp>
#include <natten_sim/io/contention_data.hpp>
#include <natten_sim/io/strict_object.hpp>

#include "device_atomics.hpp"
#include "embedded_data.hpp"

namespace natten_sim {
namespace {

const char* const kContentionFile = "data/contention.json";

Json parse_contention() {
  return parse_strict(embedded::contention, kContentionFile, "natten-sim.contention/2");
}

constexpr NumberField<ContentionConstants> kFittedConstants[] = {
    {"launch_ns", &ContentionConstants::launch_ns},
    {"issue_red_ns", &ContentionConstants::issue_red_ns},
    {"issue_cas_ns", &ContentionConstants::issue_cas_ns},
    {"red_service_ns", &ContentionConstants::red_service_ns},
    {"cas_service_ns", &ContentionConstants::cas_service_ns},
    {"warps_in_flight", &ContentionConstants::warps_in_flight},
    {"slice_sectors_per_ns", &ContentionConstants::slice_sectors_per_ns}};

constexpr NumberField<SweepConstants> kSweepConstants[] = {
    {"launch_ns", &SweepConstants::launch_ns},
    {"cas_launch_ns", &SweepConstants::cas_launch_ns},
    {"host_launch_ns", &SweepConstants::host_launch_ns},
    {"issue_red_ns", &SweepConstants::issue_red_ns},
    {"issue_cas_ns", &SweepConstants::issue_cas_ns},
    {"dram_bytes_per_ns", &SweepConstants::dram_bytes_per_ns},
    {"reuse_bytes", &SweepConstants::reuse_bytes},
    {"warm_share", &SweepConstants::warm_share},
    {"warm_bytes", &SweepConstants::warm_bytes},
    {"warm_cas_share", &SweepConstants::warm_cas_share},
    {"cold_ns", &SweepConstants::cold_ns},
    {"hidden_ns", &SweepConstants::hidden_ns},
    {"sector_ns", &SweepConstants::sector_ns},
    {"same_sector_ns", &SweepConstants::same_sector_ns},
    {"overlap", &SweepConstants::overlap},
    {"cas_sector_ns", &SweepConstants::cas_sector_ns},
    {"success_ns", &SweepConstants::success_ns},
    {"retry_scale", &SweepConstants::retry_scale},
    {"retry_exponent", &SweepConstants::retry_exponent},
    {"gather_updates", &SweepConstants::gather_updates},
    {"gather_exponent", &SweepConstants::gather_exponent},
    {"gather_width_exponent", &SweepConstants::gather_width_exponent},
    {"gather_rows_exponent", &SweepConstants::gather_rows_exponent},
    {"waiting_single", &SweepConstants::waiting_single},
    {"waiting_several", &SweepConstants::waiting_several},
    {"waiting_exponent", &SweepConstants::waiting_exponent},
    {"threshold_rows", &SweepConstants::threshold_rows},
    {"threshold_exponent", &SweepConstants::threshold_exponent},
    {"turn_exponent", &SweepConstants::turn_exponent},
    {"narrow_exponent", &SweepConstants::narrow_exponent},
    {"wide_exponent", &SweepConstants::wide_exponent},
    {"wide_server_exponent", &SweepConstants::wide_server_exponent},
    {"sole_bytes", &SweepConstants::sole_bytes},
    {"sole_exponent", &SweepConstants::sole_exponent},
    {"sole_server_share", &SweepConstants::sole_server_share},
    {"cut_ns", &SweepConstants::cut_ns},
    {"change_exponent", &SweepConstants::change_exponent},
    {"change_narrow_exponent", &SweepConstants::change_narrow_exponent}};

constexpr NumberField<RemedyCosts> kRemedyCosts[] = {{"launch_ns", &RemedyCosts::launch_ns},
                                                     {"half_bytes_per_ns", &RemedyCosts::half_bytes_per_ns},
                                                     {"fp32_bytes_per_ns", &RemedyCosts::fp32_bytes_per_ns},
                                                     {"sort_ns", &RemedyCosts::sort_ns},
                                                     {"sort_update_ns", &RemedyCosts::sort_update_ns},
                                                     {"sum_ns", &RemedyCosts::sum_ns},
                                                     {"write_ns", &RemedyCosts::write_ns},
                                                     {"join_ns", &RemedyCosts::join_ns},
                                                     {"loop_rows", &RemedyCosts::loop_rows}};

ContentionSweep read_sweep(const StrictObject& device) {
  const StrictObject fields =
      device.object("sweep", {"construct", "source", "constants", "range", "errors", "remedies"});
  ContentionSweep sweep;
  sweep.construct = fields.text("construct");
  fields.object("constants", keys_of(kSweepConstants)).numbers(kSweepConstants, sweep.constants);
  const StrictObject range =
      fields.object("range", {"least_width", "most_width", "least_updates", "most_updates", "most_rows"});
  sweep.range = {range.integer("least_width"), range.integer("most_width"), range.integer("least_updates"),
                 range.integer("most_updates"), range.integer("most_rows")};
  for (const Json& entry : fields.array("errors")) {
    const StrictObject error(
        entry, fields.where(),
        {"kind", "fitted_points", "unfitted_points", "unfitted_worst_ratio", "unfitted_mean_ratio"});
    sweep.errors.push_back({parse_name<ScatterKind>(error.text("kind")), error.integer("fitted_points"),
                            error.integer("unfitted_points"), error.number("unfitted_worst_ratio"),
                            error.number("unfitted_mean_ratio")});
  }
  if (fields.has("remedies")) {
    sweep.remedies.emplace();
    fields.object("remedies", keys_of(kRemedyCosts)).numbers(kRemedyCosts, *sweep.remedies);
  }
  return sweep;
}

}  // namespace

DeviceAtomics read_atomics(const Json& entry, const std::string& where) {
  const StrictObject fields(entry, where,
                            {"device", "fp32_flops_per_s", "warps_per_sm", "round_trip_cycles",
                             "l2_sector_ratio", "bare_instructions", "fitted", "sweep"});
  DeviceAtomics atomics;
  atomics.fp32_flops_per_s = fields.sourced("fp32_flops_per_s");
  atomics.warps_per_sm = fields.sourced("warps_per_sm");
  atomics.round_trip_cycles = fields.sourced("round_trip_cycles");
  atomics.l2_sector_ratio = fields.sourced("l2_sector_ratio");
  atomics.bare_instructions = fields.sourced("bare_instructions");
  fields.object("fitted", keys_of(kFittedConstants)).numbers(kFittedConstants, atomics.fitted);
  if (fields.has("sweep")) atomics.sweep = read_sweep(fields);
  return atomics;
}

void join_atomics(Catalog& catalog) {
  const Json document = parse_contention();
  for (const Json& entry : document["devices"]) {
    const std::string name = StrictObject(entry, kContentionFile).text("device");
    device_to_join(catalog, name, kContentionFile).atomics = read_atomics(entry, kContentionFile);
  }
}

std::vector<ContentionPoint> contention_points() {
  std::vector<ContentionPoint> points;
  const Json document = parse_contention();
  for (const Json& entry : document["points"]) {
    const StrictObject fields(entry, kContentionFile,
                              {"device", "source", "updates", "rows", "width", "distribution", "dtype",
                               "index", "max_multiplicity", "time_ms", "prior_runs", "fitted"});
    points.push_back({fields.text("device"), fields.text("source"), fields.integer("updates"),
                      fields.integer("rows"), fields.integer("width"),
                      parse_index_distribution(fields.text("distribution")),
                      parse_name<Dtype>(fields.text("dtype")), parse_name<IndexLayout>(fields.text("index")),
                      fields.integer("max_multiplicity"), fields.number("time_ms") * 1e6,
                      fields.integer("prior_runs"), fields.boolean("fitted")});
  }
  return points;
}

std::vector<ContentionCounter> contention_counters(const Catalog& catalog) {
  std::vector<ContentionCounter> counters;
  const Json document = parse_contention();
  for (const Json& entry : document["counters"]) {
    const StrictObject fields(
        entry, kContentionFile,
        {"device", "source", "updates", "width", "max_multiplicity", "dtype", "atom_sectors"});
    counters.push_back({fields.text("device"), fields.text("source"),
                        contention_profile(catalog.device(fields.text("device"))).sms,
                        fields.integer("updates"), fields.integer("width"),
                        fields.integer("max_multiplicity"), parse_name<Dtype>(fields.text("dtype")),
                        fields.number("atom_sectors")});
  }
  return counters;
}

PreReductionCosts measured_pre_reduction() {
  const Json document = parse_contention();
  const StrictObject fields(document["pre_reduction"], kContentionFile,
                            {"device", "source", "warp_ns", "block_ns", "sort_ns"});
  return {fields.text("device"), fields.number("warp_ns"), fields.number("block_ns"),
          fields.number("sort_ns")};
}

const std::map<std::string, BlindScore>& remedy_scores() {
  static const std::map<std::string, BlindScore> scores = [] {
    std::map<std::string, BlindScore> read;
    const Json document = parse_contention();
    for (const Json& entry : document["remedy_scores"]) {
      const StrictObject fields(entry, kContentionFile,
                                {"remedy", "device", "suite", "path", "points", "median_ratio", "mean_ratio",
                                 "interval_ratio", "worst_ratio"});
      read[fields.text("remedy")] = {fields.text("device"), fields.integer("points"),
                                     fields.number("median_ratio"), fields.number("mean_ratio"),
                                     fields.number("interval_ratio"), fields.number("worst_ratio")};
    }
    return read;
  }();
  return scores;
}

std::string_view published_msda_figures() { return embedded::msda_paper; }

}  // namespace natten_sim

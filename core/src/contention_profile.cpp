#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/contention_profile.hpp>
#include <natten_sim/core/error.hpp>

#include "embedded_data.hpp"
#include "strict_object.hpp"

namespace natten_sim {
namespace {

using Json = StrictObject::Json;
const char* const kWhere = "data/contention.json";

Json parse_contention() { return parse_strict(embedded::contention, kWhere, "natten-sim.contention/1"); }

constexpr NumberField<ContentionProfile> kFitted[] = {
    {"launch_ns", &ContentionProfile::launch_ns},
    {"issue_red_ns", &ContentionProfile::issue_red_ns},
    {"issue_cas_ns", &ContentionProfile::issue_cas_ns},
    {"red_service_ns", &ContentionProfile::red_service_ns},
    {"cas_service_ns", &ContentionProfile::cas_service_ns},
    {"warps_in_flight", &ContentionProfile::warps_in_flight},
    {"slice_sectors_per_ns", &ContentionProfile::slice_sectors_per_ns}};

ContentionProfile read_profile(const Json& entry, const Json& bare) {
  const StrictObject fields(entry, kWhere,
                            {"device", "sms", "clock_hz", "dram_bytes_per_s", "fp32_flops_per_s", "l2_bytes",
                             "warps_per_sm", "round_trip_cycles", "l2_sector_ratio", "fitted"});
  ContentionProfile profile;
  profile.device = fields.text("device");
  profile.sms = static_cast<std::int64_t>(fields.sourced("sms"));
  profile.dram_bytes_per_ns = fields.sourced("dram_bytes_per_s") * 1e-9;
  profile.fp32_flops_per_ns = fields.sourced("fp32_flops_per_s") * 1e-9;
  profile.l2_bytes = fields.sourced("l2_bytes");
  profile.warps_per_sm = fields.sourced("warps_per_sm");
  profile.round_trip_ns = fields.sourced("round_trip_cycles") / fields.sourced("clock_hz") * 1e9;
  profile.l2_sector_ratio = fields.sourced("l2_sector_ratio");
  const StrictObject kernel(bare, std::string(kWhere) + ": bare_kernel",
                            {"instructions", "measured", "source"});
  constexpr double kSchedulers = 4;  // of an SM, one warp instruction a cycle each
  profile.issue_bare_ns = kernel.number("instructions") / kSchedulers / static_cast<double>(profile.sms) /
                          (fields.sourced("clock_hz") * 1e-9);
  fields.object("fitted", keys_of(kFitted)).numbers(kFitted, profile);
  return profile;
}

}  // namespace

ContentionProfile contention_profile(std::string_view device) {
  const Json document = parse_contention();
  for (const Json& entry : document["devices"]) {
    if (entry["device"] == device) return read_profile(entry, document["bare_kernel"]);
  }
  const std::vector<std::string> names = contention_devices();
  std::string known;
  for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
  throw UnknownName("device", std::string(device), closest_name(device, names),
                    known + " (only these have measured contention)");
}

std::vector<std::string> contention_devices() {
  std::vector<std::string> names;
  const Json document = parse_contention();
  for (const Json& entry : document["devices"]) names.push_back(entry["device"].get<std::string>());
  return names;
}

std::vector<ContentionPoint> contention_points() {
  std::vector<ContentionPoint> points;
  const Json document = parse_contention();
  for (const Json& entry : document["points"]) {
    const StrictObject fields(entry, kWhere,
                              {"device", "source", "updates", "rows", "width", "distribution", "dtype",
                               "max_multiplicity", "time_ms", "prior_runs", "fitted"});
    points.push_back({fields.text("device"), fields.text("source"), fields.integer("updates"),
                      fields.integer("rows"), fields.integer("width"), fields.text("distribution"),
                      fields.text("dtype"), fields.integer("max_multiplicity"),
                      fields.number("time_ms") * 1e6, fields.integer("prior_runs"),
                      fields.boolean("fitted")});
  }
  return points;
}

std::vector<ContentionCounter> contention_counters() {
  std::vector<ContentionCounter> counters;
  const Json document = parse_contention();
  for (const Json& entry : document["counters"]) {
    const StrictObject fields(
        entry, kWhere, {"device", "source", "updates", "width", "max_multiplicity", "dtype", "atom_sectors"});
    counters.push_back({fields.text("device"), fields.text("source"), fields.integer("updates"),
                        fields.integer("width"), fields.integer("max_multiplicity"), fields.text("dtype"),
                        fields.number("atom_sectors")});
  }
  return counters;
}

PreReductionCosts pre_reduction_costs(std::string_view device) {
  const Json document = parse_contention();
  const StrictObject fields(document["pre_reduction"], kWhere,
                            {"device", "source", "warp_ns", "block_ns", "sort_ns"});
  double measured_rate = 0, rate = 0;
  for (const Json& entry : document["devices"]) {
    const double sms_times_clock =
        entry["sms"]["value"].get<double>() * entry["clock_hz"]["value"].get<double>();
    if (entry["device"] == fields.text("device")) measured_rate = sms_times_clock;
    if (entry["device"] == device) rate = sms_times_clock;
  }
  if (rate == 0) (void)contention_profile(device);  // names the devices that are known
  const double scale = measured_rate / rate;
  return {fields.number("warp_ns") * scale, fields.number("block_ns") * scale,
          fields.number("sort_ns") * scale};
}

std::string_view published_msda_figures() { return embedded::msda_paper; }

}  // namespace natten_sim

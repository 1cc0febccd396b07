#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <natten_sim/report/kernel_report.hpp>
#include <natten_sim/report/text_table.hpp>

namespace natten_sim::report {
namespace {

using study::KernelAnswer;
using study::KernelLaunch;
using study::KernelPass;

Json launch_fields(const KernelLaunch& launch) {
  const KernelVisits& visits = launch.visits;
  Json fields;
  fields["name"] = study::name_of(launch);
  fields["q_tile"] = to_json(launch.tiles.q_tile);
  fields["kv_tile"] = to_json(launch.tiles.kv_tile);
  fields["launched_tiles"] = visits.launched_tiles;
  fields["empty_tiles"] = visits.empty_tiles;
  fields["visited_tiles"] = visits.visited_tiles;
  fields["empty_visits"] = visits.empty_visits;
  fields["masking"] = to_string(masking_of(visits));
  fields["unmasked_tiles"] = visits.unmasked_tiles;
  fields["bounds_masked_tiles"] = visits.bounds_masked_tiles;
  fields["masked_tiles"] = visits.masked_tiles;
  fields["mma_pairs"] = launch.mma_pairs;
  return fields;
}

Json speedup_fields(const study::KernelSpeedups& speedup) {
  return {{"mean", speedup.mean}, {"worst", speedup.worst}, {"work", speedup.work}};
}

Json pass_fields(const KernelPass& pass) {
  Json fields = launch_fields(pass.attention);
  fields["dense_path"] = pass.dense_path;
  fields["schedule"] = pass.schedule.empty() ? Json() : Json(pass.schedule);
  fields["natten_fast_path"] = pass.natten_fast_path;
  fields["additional"] = pass.additional ? launch_fields(*pass.additional) : Json();
  fields["speedup"] = speedup_fields(pass.speedup);
  fields["permutation_bytes"] = pass.permutation ? Json(pass.permutation->bytes) : Json();
  if (!pass.floors) return fields;
  fields["permutation_ms"] = pass.floors->permutation_ms;
  fields["dense_ms"] = nullable(pass.floors->dense_ms);
  fields["dense_rate"] = pass.floors->dense_ms ? Json(pass.floors->dense_rate) : Json();
  fields["speedup_with_permutation"] =
      pass.with_permutation ? speedup_fields(*pass.with_permutation) : Json();
  return fields;
}

std::string tiles_text(const TilePair& tiles) {
  return "Q tile " + to_string(tiles.q_tile) + ", KV tile " + to_string(tiles.kv_tile);
}

std::string decimal_bytes_text(std::int64_t bytes) {
  const double value = static_cast<double>(bytes);
  if (value >= 1e9) return fmt::format("{:.3g} GB", 1e-9 * value);
  return value >= 1e6 ? fmt::format("{:.3g} MB", 1e-6 * value) : fmt::format("{:.3g} kB", 1e-3 * value);
}

std::string head_line(const KernelPass& pass) {
  const KernelLaunch& launch = pass.attention;
  std::string text = fmt::format("NATTEN runs {}", study::name_of(launch));
  if (pass.dense_path) text += ", since the window covers the input";
  text += ": " + tiles_text(launch.tiles);
  if (!pass.schedule.empty()) text += ", schedule " + pass.schedule;
  return text + "\n";
}

std::vector<std::vector<std::string>> copy_rows(const KernelPass& pass) {
  if (!pass.permutation || pass.permutation->bytes == 0) return {};
  std::vector<std::vector<std::string>> rows = {
      {"copies into tiles and back", "", decimal_bytes_text(pass.permutation->bytes)}};
  if (pass.floors)
    rows.push_back(
        {"  at the device's bandwidth", "", fmt::format("{:.3g} ms", pass.floors->permutation_ms)});
  return rows;
}

}  // namespace

void add_kernel_fields(const KernelAnswer& answer, Walk walk, Json& fields) {
  const std::optional<KernelPass>& pass = walk == Walk::kForward ? answer.forward : answer.backward;
  fields["kernel"] = pass ? pass_fields(*pass) : Json();
  if (walk == Walk::kForward && answer.end_to_end) {
    fields["kernel"]["e2e_speedup"] = {{"mean", answer.end_to_end->mean},
                                       {"worst", answer.end_to_end->worst}};
  }
  if (walk == Walk::kBackward || !answer.refusal) return;
  const NattenRefusal& refusal = *answer.refusal;
  fields["kernel_refusal"] = {{"rule", refusal.rule},
                              {"parameter", refusal.parameter},
                              {"value", refusal.value},
                              {"accepted", refusal.accepted}};
  if (!refusal.nearest.empty()) fields["kernel_refusal"]["hint"] = refusal.nearest;
}

std::string kernel_text(const KernelAnswer& answer, Walk walk, const TileCount& mask) {
  const std::optional<KernelPass>& pass = walk == Walk::kForward ? answer.forward : answer.backward;
  std::string text;
  if (answer.refusal && walk == Walk::kForward) {
    const NattenRefusal& refusal = *answer.refusal;
    text = fmt::format("NATTEN refuses the call: {} ({} {}; accepted: {})\n", refusal.rule, refusal.parameter,
                       refusal.value, refusal.accepted);
    if (pass) text += "With these tiles compiled in:\n";
  }
  if (!pass) return text;
  const KernelVisits& visits = pass->attention.visits;
  std::vector<std::vector<std::string>> rows = {
      {"", "the mask needs", "the kernel does"},
      {walk == Walk::kForward ? "Q tiles launched" : "KV tiles launched", grouped(mask.walked_tiles()),
       grouped(visits.launched_tiles)},
      {"tiles visited", grouped(mask.visited_tiles), grouped(visits.visited_tiles)},
      {"tiles masked", grouped(mask.partial_tiles()), grouped(visits.masked_tiles)},
  };
  if (visits.bounds_masked_tiles > 0)
    rows.push_back({"tiles checked for bounds", "", grouped(visits.bounds_masked_tiles)});
  if (pass->additional) {
    rows.push_back({fmt::format("{} for additional keys", study::name_of(*pass->additional)), "",
                    grouped(pass->additional->visits.visited_tiles) + " tiles of " +
                        to_string(pass->additional->tiles.q_tile) + " x " +
                        to_string(pass->additional->tiles.kv_tile)});
  }
  for (std::vector<std::string>& row : copy_rows(*pass)) rows.push_back(std::move(row));
  return text + head_line(*pass) + text_table(rows);
}

}  // namespace natten_sim::report

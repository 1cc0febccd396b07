#include <fmt/format.h>

#include <natten_sim/report/kernel_report.hpp>
#include <natten_sim/report/text_table.hpp>

#include "kernel_members.hpp"

namespace natten_sim::report {
namespace {

using study::KernelAnswer;
using study::KernelLaunch;
using study::KernelPass;

std::string tiles_text(const TilePair& tiles) {
  return "Q tile " + to_string(tiles.q_tile) + ", KV tile " + to_string(tiles.kv_tile);
}

std::string decimal_bytes_text(std::int64_t bytes) {
  const double value = static_cast<double>(bytes);
  if (value >= 1e9) return fmt::format("{:.3g} GB", 1e-9 * value);
  return value >= 1e6 ? fmt::format("{:.3g} MB", 1e-6 * value) : fmt::format("{:.3g} kB", 1e-3 * value);
}

std::string head_line(const KernelPass& pass, const KernelAnswer& answer) {
  const KernelLaunch& launch = pass.attention;
  std::string text = fmt::format("NATTEN {} runs {}", answer.version, study::name_of(launch));
  if (answer.unused_backend) text += fmt::format(", not {}", to_string(*answer.unused_backend));
  if (pass.dense_path) text += ", since the window covers the input";
  text += ": " + tiles_text(launch.tiles);
  if (!pass.schedule.empty()) text += ", schedule " + pass.schedule;
  return text + "\n";
}

/// not a faster backend: hopper-fna runs some head dims only (dim 80; accepted: 32, 64, 128, 256)
std::string passed_over_lines(const KernelAnswer& answer) {
  std::string text;
  for (const PassedOverBackend& each : answer.passed_over)
    text += "not a faster backend: " + reason_of(each) + "\n";
  return text;
}

std::vector<std::vector<std::string>> copy_rows(const KernelPass& pass) {
  if (!pass.permutation || pass.permutation->bytes == 0) return {};
  std::vector<std::vector<std::string>> rows = {
      {"copies into tiles and back", "", decimal_bytes_text(pass.permutation->bytes)}};
  if (pass.floors && !pass.floors->permutation_timed)
    rows.push_back(
        {"  at the device's bandwidth", "", fmt::format("{:.3g} ms", pass.floors->permutation_ms)});
  return rows;
}

}  // namespace

std::string kernel_text(const KernelAnswer& answer, Walk walk, const TileCount& mask) {
  const std::optional<KernelPass>& pass = walk == Walk::kForward ? answer.forward : answer.backward;
  std::string text;
  if (answer.refusal && walk == Walk::kForward) {
    const NattenRefusal& refusal = *answer.refusal;
    text = fmt::format("NATTEN {} refuses the call: {} ({} {}; accepted: {})\n", answer.version, refusal.rule,
                       refusal.parameter, refusal.value, refusal.accepted);
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
  return text + head_line(*pass, answer) + passed_over_lines(answer) + text_table(rows);
}

}  // namespace natten_sim::report

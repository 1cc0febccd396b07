#include "explain_fields.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace natten_sim::report {

using study::ExplainedChange;
using study::ExplainedKernel;
using study::ExplainedProblem;
using study::ExplainedReads;

std::string change_name(const ExplainedChange& change) {
  if (change.order) return fmt::format("{} order", to_string(*change.order));
  if (change.launch) return "heads first";
  return *change.longest_first ? "the longest Q tile first" : "the longest Q tile last";
}

ScoreOfReads score_of(const ExplainedKernel& kernel) {
  return score_of_reads(
      {.fidelity = kernel.read->fidelity, .kernel = kernel.family, .causal = *kernel.problem.causal});
}

namespace {

Json sizes_json(const std::array<std::int64_t, 3>& sizes) {
  return Json::array({sizes[0], sizes[1], sizes[2]});
}

template <typename T>
Json name_or_null(const std::optional<T>& value) {
  return value ? Json(to_string(*value)) : Json();
}

Json problem_fields(const ExplainedProblem& problem) {
  return {{"seqlen", nullable(problem.seqlen)},
          {"seqlen_k", nullable(problem.seqlen_k)},
          {"batch_size", nullable(problem.batch)},
          {"heads", nullable(problem.heads)},
          {"heads_kv", nullable(problem.heads_kv)},
          {"head_dim", nullable(problem.head_dim)},
          {"dtype", name_or_null(problem.dtype)},
          {"causal", nullable(problem.causal)},
          {"q_tile", nullable(problem.q_tile)},
          {"kv_tile", nullable(problem.kv_tile)},
          {"schedule", name_or_null(problem.schedule)},
          {"order", name_or_null(problem.order)},
          {"longest_first", nullable(problem.longest_first)}};
}

/// The change as an option of `reuse`, by its name in `input`.
Json change_option(const ExplainedChange& change) {
  if (change.order) return {{"order", to_string(*change.order)}};
  if (change.launch) return {{"interleave_heads", true}};
  return {{"longest_first", *change.longest_first}};
}

Json change_fields(const ExplainedChange& change) {
  return {{"change", change_name(change)},
          {"options", change_option(change)},
          {"predicted_bytes", change.predicted_bytes},
          {"saved_share", change.saved_share},
          {"expected_bytes", change.expected_bytes}};
}

Json score_fields(const ScoreOfReads& score) {
  if (score.score == nullptr) return nullptr;
  return {{"suite", score.suite},
          {"points", score.score->points},
          {"predicted_first", score.predicted_first},
          {"median_deviation", score.score->median},
          {"p90_deviation", score.score->p90}};
}

Json read_fields(const ExplainedKernel& kernel) {
  if (!kernel.read) return nullptr;
  const ExplainedReads& read = *kernel.read;
  const ScoreOfReads held_out = score_of_reads({.fidelity = read.fidelity, .causal = *kernel.problem.causal});
  return {{"measured_bytes", nullable(read.measured_bytes)},
          {"compulsory_bytes", read.compulsory_bytes},
          {"lockstep_bytes", read.lockstep_bytes},
          {"drift_bytes", read.drift_bytes},
          {"unexplained_bytes", nullable(read.unexplained_bytes)},
          {"predicted_bytes", read.predicted_bytes()},
          {"fidelity", to_string(read.fidelity)},
          {"held_out_median_deviation", held_out.score != nullptr ? Json(held_out.score->median) : Json()},
          {"score", score_fields(score_of(kernel))}};
}

}  // namespace

Json kernel_fields(const ExplainedKernel& kernel) {
  const study::ProfiledKernel& launch = kernel.launch;
  Json known = Json::object();
  for (const study::KnownMember& member : kernel.known) {
    std::string key = member.member;
    std::replace(key.begin(), key.end(), '-', '_');
    known[key] = to_string(member.from);
  }
  const Json sectors = {{"measured", nullable(launch.l2_read_sectors)},
                        {"predicted", nullable(kernel.predicted_sectors)}};
  Json changes = Json::array();
  for (const ExplainedChange& change : kernel.changes) changes.push_back(change_fields(change));
  return {{"family", kernel.family},
          {"title", kernel.title},
          {"name", launch.name},
          {"launches", kernel.launches},
          {"grid", sizes_json(launch.grid)},
          {"block", sizes_json(launch.block)},
          {"shared_bytes", nullable(launch.shared_bytes)},
          {"ctas_per_sm", nullable(launch.ctas_per_sm)},
          {"time_ns", nullable(launch.time_ns)},
          {"dram_read_bytes", nullable(launch.dram_read_bytes)},
          {"dram_write_bytes", nullable(launch.dram_write_bytes)},
          {"dram_bytes", nullable(launch.dram_bytes)},
          {"problem", problem_fields(kernel.problem)},
          {"known", known},
          {"missing", kernel.missing},
          {"unmodelled", nullable(kernel.unmodelled)},
          {"sectors", sectors},
          {"read", read_fields(kernel)},
          {"changes", changes},
          {"assumed_numbers", kernel.assumed}};
}

Json other_fields(const study::ProfiledKernel& launch) {
  return {{"name", launch.name},
          {"grid", sizes_json(launch.grid)},
          {"block", sizes_json(launch.block)},
          {"shared_bytes", nullable(launch.shared_bytes)},
          {"time_ns", nullable(launch.time_ns)},
          {"dram_read_bytes", nullable(launch.dram_read_bytes)},
          {"dram_write_bytes", nullable(launch.dram_write_bytes)},
          {"dram_bytes", nullable(launch.dram_bytes)},
          {"l2_read_sectors", nullable(launch.l2_read_sectors)}};
}

}  // namespace natten_sim::report

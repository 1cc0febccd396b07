#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <natten_sim/report/count_report.hpp>
#include <natten_sim/report/csv.hpp>
#include <natten_sim/report/search_report.hpp>
#include <natten_sim/report/text_table.hpp>

namespace natten_sim::report {
namespace {

Json candidate_fields(const study::SearchCandidate& candidate) {
  const TilingProblem& problem = candidate.counted.problem;
  const std::string& backend = candidate.tiles.backend;
  Json fields;
  fields["window"] = to_json(window_of(problem.mask));
  fields["stride"] = to_json(stride_of(problem.mask));
  fields["dilation"] = to_json(dilation_of(problem.mask));
  fields["q_tile"] = to_json(problem.tiles.q_tile);
  fields["kv_tile"] = to_json(problem.tiles.kv_tile);
  fields["backend"] = backend.empty() ? Json() : Json(backend);
  fields.update(count_fields(candidate.counted));
  return fields;
}

/// The columns of the candidates that the question would have: only their names matter.
Json columns_of(const study::SearchQuestion& question) {
  study::SearchCandidate candidate;
  candidate.counted.flops = Flops{};
  if (question.setting.add_kv > 0) candidate.counted.extra_kv = ExtraKvCount{};
  if (question.setting.attention_share) candidate.counted.end_to_end = study::EndToEndSpeedup{};
  return candidate_fields(candidate);
}

std::vector<std::string> candidate_row(const study::SearchCandidate& candidate) {
  const TilingProblem& problem = candidate.counted.problem;
  const TileCount& count = candidate.counted.count;
  std::vector<std::string> row = {to_string(window_of(problem.mask)),
                                  to_string(stride_of(problem.mask)),
                                  to_string(problem.tiles.q_tile),
                                  to_string(problem.tiles.kv_tile),
                                  fmt::format("{:.2f}%", 100.0 * count.sparsity()),
                                  fmt::format("{:.2f}x", count.speedup_work()),
                                  fmt::format("{:.2f}x", count.speedup_worst()),
                                  fmt::format("{:.2f}x", count.speedup_mean()),
                                  fmt::format("{:.2f}x", count.speedup_flop()),
                                  count.fully_block_sparse() ? "yes" : "no"};
  if (candidate.counted.end_to_end)
    row.push_back(fmt::format("{:.2f}x", candidate.counted.end_to_end->worst));
  return row;
}

std::string kind_line(const study::SearchAnswer& answer) {
  const char* objective = to_string(*answer.question.objective);
  switch (answer.question.kind) {
    case study::SearchKind::kLadder:
      return "stride ladder: best worst-case speedup for each product of strides";
    case study::SearchKind::kPareto:
      return fmt::format("Pareto front over sparsity, stride product and {} speedup: {} points", objective,
                         answer.candidates.size());
    case study::SearchKind::kBest:
      break;
  }
  return fmt::format("best {} by {} speedup", answer.candidates.size(), objective);
}

}  // namespace

Json search_result(const study::SearchAnswer& answer) {
  Json fields;
  fields["space_size"] = answer.space_size;
  fields["evaluated"] = answer.evaluated;
  fields["candidates"] = Json::array();
  for (const study::SearchCandidate& candidate : answer.candidates)
    fields["candidates"].push_back(candidate_fields(candidate));
  return fields;
}

std::string search_csv(const study::SearchAnswer& answer) {
  std::vector<Json> rows;
  for (const study::SearchCandidate& candidate : answer.candidates)
    rows.push_back(candidate_fields(candidate));
  return csv_table(columns_of(answer.question), rows);
}

std::string search_text(const study::SearchAnswer& answer) {
  if (answer.candidates.empty()) return "";
  std::vector<std::vector<std::string>> rows = {
      {"window", "stride", "Q tile", "KV tile", "sparsity", "work", "worst", "mean", "flop", "block-sparse"}};
  if (answer.question.setting.attention_share) rows[0].push_back("e2e worst");
  for (const study::SearchCandidate& candidate : answer.candidates) rows.push_back(candidate_row(candidate));
  const Extents& input = answer.question.setting.input;
  std::string text;
  if (answer.preset) text += preset_line(*answer.preset, input);
  text += fmt::format("layout {}   {} combinations   {}\n\n", to_string(input), grouped(answer.space_size),
                      kind_line(answer));
  return text + text_table(rows);
}

std::string nothing_found(const study::SearchAnswer& answer) {
  const std::optional<SparsityRange>& sparsity = answer.question.constraints.sparsity;
  if (answer.nearest_sparsity && sparsity) {
    // Bounds of six digits around it, so that the printed range can be used as an option.
    const double nearest = *answer.nearest_sparsity;
    return fmt::format(
        "no configuration has a sparsity in {}:{}; the nearest feasible sparsity is {}, in --sparsity {}:{}",
        sparsity->lo, sparsity->hi, nearest, std::floor(nearest * 1e6) / 1e6, std::ceil(nearest * 1e6) / 1e6);
  }
  return std::string("no configuration meets the constraints") + (sparsity ? ", whatever the sparsity" : "");
}

}  // namespace natten_sim::report

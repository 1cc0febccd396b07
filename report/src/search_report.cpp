#include <cmath>

#include <fmt/format.h>

#include <natten_sim/report/count_report.hpp>
#include <natten_sim/report/csv.hpp>
#include <natten_sim/report/search_report.hpp>
#include <natten_sim/report/text_table.hpp>

namespace natten_sim::report {
namespace {

using study::SearchAnswer;
using study::SearchCandidate;
using study::SearchQuestion;

Json candidate_fields(const SearchQuestion& question, const SearchCandidate& candidate) {
  const TilingProblem& problem = candidate.counted.problem;
  const std::string& backend = candidate.tiles.backend;
  Json fields;
  fields["window"] = to_json(window_of(problem.mask));
  fields["stride"] = to_json(stride_of(problem.mask));
  fields["dilation"] = to_json(dilation_of(problem.mask));
  if (has_pass(question.phase, Walk::kForward)) {
    fields["q_tile"] = to_json(problem.tiles.q_tile);
    fields["kv_tile"] = to_json(problem.tiles.kv_tile);
  }
  fields["backend"] = backend.empty() ? Json() : Json(backend);
  fields["tile_size"] = candidate.tile_size;
  fields["speedup"] = candidate.speedup;
  fields["dense_path"] = candidate.dense_path;
  if (has_pass(question.phase, Walk::kForward)) {
    fields.update(count_fields(candidate.counted));
  } else {
    const TileCount& count = candidate.counted.count;
    fields["attended_pairs"] = count.attended_pairs;
    fields["dense_pairs"] = count.dense_pairs;
    fields["sparsity"] = count.sparsity();
    fields["speedup_flop"] = count.speedup_flop();
    fields["natten_fast_path"] = candidate.counted.natten_fast_path;
  }
  if (candidate.backward) fields["backward"] = backward_fields(*candidate.backward);
  return fields;
}

/// The columns of the candidates that the question would have: only their names matter.
Json columns_of(const SearchQuestion& question) {
  SearchCandidate candidate;
  candidate.counted.flops = Flops{};
  if (question.setting.add_kv > 0) candidate.counted.extra_kv = ExtraKvCount{};
  if (question.setting.attention_share && question.phase == SearchPhase::kForward)
    candidate.counted.end_to_end = study::EndToEndSpeedup{};
  if (has_pass(question.phase, Walk::kBackward)) {
    candidate.backward.emplace();
    candidate.backward->flops = Flops{};
  }
  return candidate_fields(question, candidate);
}

std::string times(double factor) { return fmt::format("{:.2f}x", factor); }

using Cells = std::vector<std::string>;

void add_speedups(const TileCount& count, Cells& row) {
  for (const double speedup :
       {count.speedup_work(), count.speedup_worst(), count.speedup_mean(), count.speedup_flop()})
    row.push_back(times(speedup));
}

Cells header_of(const SearchQuestion& question) {
  const std::string objective = to_string(*question.objective);
  Cells header = {"window", "stride"};
  if (question.phase == SearchPhase::kBoth) {
    header.insert(header.end(), {"Q tile", "KV tile", "backward Q", "backward KV", "sparsity",
                                 "forward " + objective, "backward " + objective, "both"});
  } else {
    header.insert(header.end(), {"Q tile", "KV tile", "sparsity", "work", "worst", "mean", "flop"});
  }
  header.emplace_back("fast path");
  if (question.setting.attention_share && question.phase == SearchPhase::kForward)
    header.emplace_back("e2e worst");
  return header;
}

double speedup_in(const TileCount& count, study::SearchObjective objective) {
  switch (study::row_of(objective).ranks_by) {
    case Objective::kWork:
      return count.speedup_work();
    case Objective::kMean:
      return count.speedup_mean();
    case Objective::kFlop:
      return count.speedup_flop();
    case Objective::kWorst:
      break;
  }
  return count.speedup_worst();
}

Cells row_of(const SearchQuestion& question, const SearchCandidate& candidate) {
  const TilingProblem& problem = candidate.counted.problem;
  const TileCount& count = candidate.counted.count;
  Cells row = {to_string(window_of(problem.mask)), to_string(stride_of(problem.mask)),
               to_string(problem.tiles.q_tile), to_string(problem.tiles.kv_tile)};
  const std::string sparsity = fmt::format("{:.2f}%", 100.0 * count.sparsity());
  if (question.phase == SearchPhase::kBoth) {
    const TilePair& tiles = candidate.backward->problem.tiles;
    row.insert(row.end(), {to_string(tiles.q_tile), to_string(tiles.kv_tile), sparsity,
                           times(speedup_in(count, *question.objective)),
                           times(speedup_in(candidate.backward->count, *question.objective)),
                           times(candidate.speedup)});
  } else {
    row.push_back(sparsity);
    add_speedups(count, row);
  }
  row.emplace_back(candidate.dense_path         ? "dense"
                   : fast_path_of(candidate)    ? "yes"
                                                : "no");
  if (candidate.counted.end_to_end) row.push_back(times(candidate.counted.end_to_end->worst));
  return row;
}

std::string kind_line(const SearchAnswer& answer) {
  const SearchQuestion& question = answer.question;
  const std::string passes = question.phase == SearchPhase::kForward    ? ""
                             : question.phase == SearchPhase::kBackward ? ", backward pass"
                                                                        : ", forward and backward pass";
  const std::string objective = to_string(*question.objective);
  switch (question.kind) {
    case study::SearchKind::kLadder:
      return "stride ladder: best worst-case speedup for each product of strides" + passes;
    case study::SearchKind::kPareto:
      return fmt::format("Pareto front over sparsity, stride product and {} speedup: {} points{}", objective,
                         answer.candidates.size(), passes);
    case study::SearchKind::kBest:
      break;
  }
  const char* what = "";
  switch (*question.distinct) {
    case Distinct::kWindow:
      what = " windows";
      break;
    case Distinct::kStride:
      what = " windows and strides";
      break;
    case Distinct::kTiles:
    case Distinct::kNone:
      break;
  }
  return fmt::format("best {}{} by {} speedup{}", answer.candidates.size(), what, objective, passes);
}

/// What the reader should know of how the space was cut.
std::string space_lines(const SearchAnswer& answer) {
  std::string text;
  for (const study::SearchExclusion& excluded : answer.excluded) {
    text += fmt::format("left out: {} combinations that NATTEN refuses: {} (--any keeps them)\n",
                        grouped(excluded.combinations), excluded.refusal.rule);
  }
  if (answer.imbalance_defaulted) {
    text += fmt::format("length/window differs by at most {:g} between axes (--max-imbalance)\n",
                        *answer.question.constraints.max_imbalance);
  }
  if (!answer.complete)
    text += "more than 65,536 combinations are alike: fewer answers than asked for\n";
  return text;
}

std::string heading_of(const study::HeldTiles& held) {
  std::string text;
  if (held.forward) text += fmt::format("Q tiles of {} tokens", *held.forward);
  if (held.backward)
    text += fmt::format("{}KV tiles of {} tokens{}", text.empty() ? "" : ", ", *held.backward,
                        text.empty() ? "" : " in the backward pass");
  return text + ":\n";
}

/// One table, or one for each tile size.
std::string tables_of(const SearchAnswer& answer) {
  if (answer.tile_sizes.size() == 1) {
    std::vector<Cells> rows = {header_of(answer.question)};
    for (const SearchCandidate& candidate : answer.candidates)
      rows.push_back(row_of(answer.question, candidate));
    return text_table(rows);
  }
  std::string text =
      "Tiles of different size are not compared: a smaller one visits less, and takes longer a token.\n";
  for (std::size_t size = 0; size < answer.tile_sizes.size(); ++size) {
    std::vector<Cells> rows = {header_of(answer.question)};
    for (const SearchCandidate& candidate : answer.candidates) {
      if (candidate.tile_size == size) rows.push_back(row_of(answer.question, candidate));
    }
    if (rows.size() > 1) text += "\n" + heading_of(answer.tile_sizes[size]) + text_table(rows);
  }
  return text;
}

}  // namespace

Json search_result(const SearchAnswer& answer) {
  Json fields;
  fields["space_size"] = answer.space_size;
  fields["evaluated"] = answer.evaluated;
  fields["excluded"] = Json::array();
  for (const study::SearchExclusion& excluded : answer.excluded) {
    fields["excluded"].push_back({{"rule", excluded.refusal.rule},
                                  {"parameter", excluded.refusal.parameter},
                                  {"accepted", excluded.refusal.accepted},
                                  {"combinations", excluded.combinations}});
  }
  fields["tile_sizes"] = Json::array();
  for (const study::HeldTiles& held : answer.tile_sizes) {
    fields["tile_sizes"].push_back({{"forward", held.forward ? Json(*held.forward) : Json()},
                                    {"backward", held.backward ? Json(*held.backward) : Json()}});
  }
  fields["complete"] = answer.complete;
  fields["candidates"] = Json::array();
  for (const SearchCandidate& candidate : answer.candidates)
    fields["candidates"].push_back(candidate_fields(answer.question, candidate));
  return fields;
}

std::string search_csv(const SearchAnswer& answer) {
  std::vector<Json> rows;
  for (const SearchCandidate& candidate : answer.candidates)
    rows.push_back(candidate_fields(answer.question, candidate));
  return csv_table(columns_of(answer.question), rows);
}

std::string search_text(const SearchAnswer& answer) {
  if (answer.candidates.empty()) return "";
  const Extents& input = answer.question.setting.input;
  std::string text;
  if (answer.preset) text += preset_line(*answer.preset, input);
  text += fmt::format("layout {}   {} combinations   {}\n", to_string(input), grouped(answer.space_size),
                      kind_line(answer));
  return text + space_lines(answer) + "\n" + tables_of(answer);
}

std::string nothing_found(const SearchAnswer& answer) {
  const std::optional<SparsityRange>& sparsity = answer.question.constraints.sparsity;
  if (answer.nearest_sparsity && sparsity) {
    // Bounds of six digits around it, so that what is printed can be asked for.
    const double nearest = *answer.nearest_sparsity;
    return fmt::format(
        "no configuration has a sparsity in {}:{}; the nearest feasible sparsity is {}, in --sparsity {}:{}",
        sparsity->lo, sparsity->hi, nearest, std::floor(nearest * 1e6) / 1e6, std::ceil(nearest * 1e6) / 1e6);
  }
  return std::string("no configuration meets the constraints") + (sparsity ? ", whatever the sparsity" : "");
}

}  // namespace natten_sim::report

#include "count_json.hpp"

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/version.hpp>
#include <natten_sim/models/fast_path.hpp>

namespace natten_sim::cli {
namespace {

void flatten(const Json& object, const std::string& prefix, Json& flat) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) {
      flatten(value, prefix + key + "_", flat);
    } else {
      flat[prefix + key] = value;
    }
  }
}

/// Counts that fit do not fail because their FLOPs do not: those are null then.
Json flops_json(const TileCount& count, const Workload& workload) {
  try {
    const Flops operations = flops(count, workload);
    return {{"attended", operations.attended}, {"mma", operations.mma}, {"dense", operations.dense}};
  } catch (const OverflowError&) {
    return {{"attended", nullptr}, {"mma", nullptr}, {"dense", nullptr}};
  }
}

}  // namespace

Json to_json(const Extents& extents) {
  Json array = Json::array();
  for (std::int64_t extent : extents) array.push_back(extent);
  return array;
}

Json to_json(const PerAxis<bool>& values) {
  Json array = Json::array();
  for (bool value : values) array.push_back(value);
  return array;
}

Json count_fields(const CountReport& report) {
  const TileCount& count = report.count;
  Json fields;
  fields["q_tiles"] = count.q_tiles;
  fields["kv_tiles"] = count.kv_tiles;
  fields["dense_tiles"] = count.dense_tiles;
  fields["visited_tiles"] = count.visited_tiles;
  fields["full_tiles"] = count.full_tiles;
  fields["partial_tiles"] = count.partial_tiles();
  fields["max_tiles_per_q_tile"] = count.max_tiles_per_walked_tile;
  fields["attended_pairs"] = count.attended_pairs;
  fields["dense_pairs"] = count.dense_pairs;
  fields["sparsity"] = count.sparsity();
  fields["speedup_flop"] = count.speedup_flop();
  fields["speedup_mean"] = count.speedup_mean();
  fields["speedup_worst"] = count.speedup_worst();
  fields["mma_pairs"] = count.mma_pairs;
  fields["speedup_work"] = count.speedup_work();
  fields["fully_block_sparse"] = count.fully_block_sparse();
  fields["natten_fast_path"] = natten_fast_path(report.problem);
  fields["flops"] = flops_json(count, report.workload);
  fields["wasted_flop_share"] = count.wasted_share();
  if (report.add_kv > 0) {
    const ExtraKvCount extra = count_extra_kv(report.problem, count, report.add_kv);
    fields["add_kv"] = {{"tokens", extra.tokens},
                        {"kv_tiles", extra.kv_tiles},
                        {"visited_tiles", extra.visited_tiles},
                        {"attended_pairs", extra.attended_pairs},
                        {"mma_pairs", extra.mma_pairs}};
  }
  if (report.share) {
    fields["e2e_speedup"] = {{"flop", end_to_end_speedup(*report.share, count.speedup_flop())},
                             {"mean", end_to_end_speedup(*report.share, count.speedup_mean())},
                             {"worst", end_to_end_speedup(*report.share, count.speedup_worst())}};
  }
  return fields;
}

Json backward_fields(const TilingProblem& problem, const TileCount& count, const Workload& workload) {
  Json fields;
  fields["q_tile"] = to_json(problem.tiles.q_tile);
  fields["kv_tile"] = to_json(problem.tiles.kv_tile);
  fields["kv_tiles"] = count.kv_tiles;
  fields["q_tiles"] = count.q_tiles;
  fields["dense_tiles"] = count.dense_tiles;
  fields["visited_tiles"] = count.visited_tiles;
  fields["full_tiles"] = count.full_tiles;
  fields["partial_tiles"] = count.partial_tiles();
  fields["max_tiles_per_kv_tile"] = count.max_tiles_per_walked_tile;
  fields["speedup_mean"] = count.speedup_mean();
  fields["speedup_worst"] = count.speedup_worst();
  fields["mma_pairs"] = count.mma_pairs;
  fields["speedup_work"] = count.speedup_work();
  fields["fully_block_sparse"] = count.fully_block_sparse();
  fields["flops"] = flops_json(count, workload);
  fields["wasted_flop_share"] = count.wasted_share();
  return fields;
}

void add_workload(const Workload& workload, std::int64_t heads_kv, const std::string& dtype,
                  const std::optional<AttentionShare>& share, Json& input) {
  input["batch_size"] = workload.batch;
  input["heads"] = workload.heads;
  input["heads_kv"] = heads_kv;
  input["head_dim"] = workload.head_dim;
  input["dim_value"] = workload.head_dim_value;
  input["dtype"] = dtype;
  if (!share) return;
  input["attention_share"] = share->share;
  input["dense_steps"] = std::to_string(share->dense_steps) + "/" + std::to_string(share->steps);
}

std::string envelope(const std::string& subcommand, Json input, Json result) {
  Json object;
  object["schema"] = "natten-sim." + subcommand + "/1";
  object["version"] = version();
  object["input"] = std::move(input);
  object["result"] = std::move(result);
  // File names are bytes, JSON is Unicode.
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string csv_cell(const Json& value) {
  std::string text;
  if (value.is_array()) {
    for (const Json& element : value) text += (text.empty() ? "" : "x") + element.dump();
  } else if (value.is_string()) {
    text = value.get<std::string>();
  } else if (!value.is_null()) {
    text = value.dump();
  }
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

Json flattened(const Json& object) {
  Json flat = Json::object();
  flatten(object, "", flat);
  return flat;
}

std::string csv_table(const Json& header, const std::vector<Json>& rows) {
  std::string text;
  const Json columns = flattened(header);
  for (const auto& [column, ignored] : columns.items()) text += (text.empty() ? "" : ",") + column;
  text += "\n";
  for (const Json& row : rows) {
    const Json flat = flattened(row);
    std::string line;
    bool first = true;
    for (const auto& [column, ignored] : columns.items()) {
      line += (first ? "" : ",") + csv_cell(flat.contains(column) ? flat[column] : Json());
      first = false;
    }
    text += line + "\n";
  }
  return text;
}

}  // namespace natten_sim::cli
